"""The schemas against the DeepSpeed that is installed here, and, on demand, against the sources of all releases.

DSLINT_ENGINE_PYTHON     an interpreter that imports deepspeed; by default the one that runs the tests
DSLINT_ENGINE_SOURCES    a folder of unpacked source distributions, deepspeed-X.Y.Z, for the matrix tests
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from probes import ask, differences, probes

from dslint.releases.release import KNOWN, parse_version
from dslint.releases.schema import known_schemas, schema_for

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("DSLINT_ENGINE_PYTHON", sys.executable)
SOURCES = os.environ.get("DSLINT_ENGINE_SOURCES")
sys.path.insert(0, str(ROOT / "schemas"))

FIND = """
import importlib.util, json
spec = importlib.util.find_spec("deepspeed")
print(json.dumps(spec and spec.origin))
"""


def schema_of(name: str) -> dict[str, Any]:
    release = parse_version(name)
    assert release is not None
    return dict(schema_for(release))


@pytest.fixture(scope="module")
def installed() -> tuple[str, Path]:
    """The version of the installed deepspeed, and the folder that its package lies in."""
    found = subprocess.run([PYTHON, "-c", FIND], capture_output=True, text=True, check=False)
    origin = json.loads(found.stdout or "null")
    if origin is None:
        pytest.skip(f"{PYTHON} imports no deepspeed, so the schemas were not held against a real one")
    folder = Path(origin).parents[1]
    version, _ = ask(PYTHON, [], None)
    if version not in {release.name for release in KNOWN}:
        pytest.skip(f"deepspeed {version} is none of the releases that dslint knows")
    return version, folder


def undated(value: Any) -> Any:
    """A schema without what only the other releases tell: when keys came and went."""
    if isinstance(value, dict):
        dates = (
            "x-since",
            "x-until",
            "x-absent",
            "x-absent-optimizers",
            "x-absent-schedulers",
            "since",
            "until",
            "gone",
        )
        return {
            key: True if key == "x-removed" else undated(part)
            for key, part in value.items()
            if key not in dates
        }
    return [undated(part) for part in value] if isinstance(value, list) else value


def generated(folder: Path) -> dict[str, Any]:
    from generate import Builder, load_overlay, load_yaml
    from reading import Package
    from signatures import optimizer_table, scheduler_table

    package = Package(folder)
    schema = Builder(package, load_overlay(), load_yaml("definitions")).build()
    schema["x-optimizers"] = optimizer_table(package, load_yaml("optimizers"))
    schema["x-schedulers"] = scheduler_table(package)
    return schema


def same_but_for_dates(name: str, folder: Path) -> None:
    stored = undated(schema_of(name))
    for key in ("$schema", "title", "x-release", "x-wrong-names", "x-foreign"):
        stored.pop(key)
    assert json.loads(json.dumps(undated(generated(folder)))) == stored


@pytest.mark.engine
def test_the_installed_release_gives_the_stored_schema_again(installed):
    same_but_for_dates(*installed)


@pytest.mark.engine
def test_the_installed_release_refuses_exactly_what_its_schema_does(installed):
    version, _ = installed
    schema = schema_of(version)
    asked = probes(schema)
    assert len(asked) > 5000
    _, verdicts = ask(PYTHON, [probe.config for probe in asked], None)
    assert differences(schema, asked, verdicts) == []


MODELS = """
import importlib, json, sys
found = {}
for module, name in json.loads(sys.argv[1]):
    model = getattr(importlib.import_module("deepspeed." + module), name)
    fields = {}
    for key, field in model.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=False)
        default = getattr(default, "value", default)
        if not isinstance(default, (bool, int, float, str, list, type(None))):
            default = "?"
        bounds = {part: getattr(limit, part) for limit in field.metadata for part in ("ge", "gt", "le", "lt")
                  if hasattr(limit, part)}
        extra = field.json_schema_extra or {}
        fields[key] = [field.alias, default, bounds, bool(extra.get("deprecated")), extra.get("new_param")]
    found[name] = fields
print(json.dumps(found))
"""


@pytest.mark.engine
def test_what_is_read_of_the_models_is_what_they_are(installed):
    """The reading of the sources against the imported classes: fields, aliases, defaults, bounds, deprecations."""
    from reading import UNKNOWN, Package

    version, folder = installed
    if parse_version(version) < parse_version("0.15.0"):
        pytest.skip(f"deepspeed {version} has models of pydantic 1, which this test does not look into")
    package = Package(folder)
    wanted = [
        (model.file[: -len(".py")].replace("/", "."), model.name)
        for model in package.models.values()
        if not model.values and model.file != "inference/config.py" and package.is_config_model(model)
    ]
    environment = {**os.environ, "DS_ACCELERATOR": "cpu"}
    done = subprocess.run(
        [PYTHON, "-c", MODELS, json.dumps(wanted)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    real = json.loads(done.stdout.splitlines()[-1])
    assert len(real) > 12
    for name, fields in real.items():
        read = {field.name: field for field in package.fields_of(package.models[name])}
        assert list(read) == list(fields), name
        for key, (alias, default, bounds, deprecated, new) in fields.items():
            assert read[key].alias == alias, f"{name}.{key}"
            assert read[key].bounds == bounds, f"{name}.{key}"
            assert (read[key].deprecated, read[key].new_param) == (deprecated, new), f"{name}.{key}"
            if read[key].default is not UNKNOWN and default != "?":
                assert read[key].default == default, f"{name}.{key}"


MATRIX = [release.name for release in KNOWN] if SOURCES else ["every release"]


def source_of(name: str) -> Path:
    if SOURCES is None:
        pytest.skip(
            "DSLINT_ENGINE_SOURCES names no folder of DeepSpeed sources, so no other release was asked"
        )
    folder = Path(SOURCES) / f"deepspeed-{name}"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent, so DeepSpeed {name} was not asked")
    return folder


@pytest.mark.matrix
@pytest.mark.parametrize("name", MATRIX)
def test_a_release_gives_its_schema_again(name):
    same_but_for_dates(name, source_of(name))


@pytest.mark.matrix
@pytest.mark.parametrize("name", MATRIX)
def test_a_release_refuses_exactly_what_its_schema_does(name):
    folder = source_of(name)
    schema = schema_of(name)
    asked = probes(schema)
    version, verdicts = ask(PYTHON, [probe.config for probe in asked], folder)
    assert version == name
    assert differences(schema, asked, verdicts) == []


@pytest.mark.matrix
def test_schemas_are_stored_at_the_releases_where_something_changes():
    before = None
    changes = []
    for release in KNOWN:
        schema = json.dumps(generated(source_of(release.name)), sort_keys=True)
        if schema != before:
            changes.append(release.name)
        before = schema
    assert changes == known_schemas()
