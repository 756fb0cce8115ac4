"""schemas/rule.json, which editors check rule files with, is what the loader accepts."""

import json

from places import ROOT

from dslint.rules.model import RuleFile

PATH = ROOT / "schemas" / "rule.json"


def drawn():
    """The schema of rule files; `python tests/rules/test_rule_schema.py` writes it."""
    schema = RuleFile.model_json_schema()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://deepspeed-lint.github.io/schemas/rule.json",
    }
    return {**head, **schema, "title": "dslint rule"}


def test_the_schema_in_the_repository_is_drawn_from_the_model():
    # pydantic's releases word a few things differently; what is accepted must be the same.
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    assert kept["properties"].keys() == drawn()["properties"].keys()
    assert kept["required"] == drawn()["required"]
    assert kept["$defs"].keys() == drawn()["$defs"].keys()


def test_every_rule_file_fits_the_schema():
    from jsonschema import Draft202012Validator
    from ruamel.yaml import YAML

    validator = Draft202012Validator(json.loads(PATH.read_text(encoding="utf-8")))
    files = [path for path in (ROOT / "rules").rglob("*.yaml") if path.parent.name != "messages"]
    assert files
    yaml = YAML(typ="safe", pure=True)
    faults = [
        f"{path.name}: {error.message}"
        for path in files
        for error in validator.iter_errors(yaml.load(path.read_text(encoding="utf-8")))
    ]
    assert faults == []


if __name__ == "__main__":
    PATH.write_text(json.dumps(drawn(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
