"""Settings: found upwards, read strictly, told about in one sentence when wrong, and merged with options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dslint import settings as module
from dslint.settings import Settings, SettingsError, check_selectors, load, merge, selected

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "schemas" / "settings.json").read_text(encoding="utf-8"))


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str, name: str = "dslint.toml") -> str:
    written(folder, name, text)
    with pytest.raises(SettingsError) as caught:
        load(folder, None, False)
    return str(caught.value)


# Which file counts


def test_without_a_settings_file_everything_has_its_default(tmp_path):
    assert load(tmp_path, None, False) == Settings()


def test_the_nearest_file_upwards_counts_alone(tmp_path):
    written(tmp_path, "dslint.toml", 'fail-on = "never"\nworld-size = 8\n')
    written(tmp_path, "inner/pyproject.toml", '[tool.dslint]\nfail-on = "error"\n')
    (tmp_path / "inner" / "deeper").mkdir()
    found = load(tmp_path / "inner" / "deeper", None, False)
    assert found.fail_on == "error"
    assert found.world_size is None
    assert found.root == str(tmp_path / "inner")


def test_dslint_toml_goes_before_pyproject_in_the_same_folder(tmp_path):
    written(tmp_path, "dslint.toml", 'hardware = "V100"\n')
    written(tmp_path, "pyproject.toml", '[tool.dslint]\nhardware = "H100"\n')
    assert load(tmp_path, None, False).hardware == "V100"


@pytest.mark.parametrize(
    "text",
    [
        '[tool.dslint]\nhardware = "H100"\n',
        '[tool]\ndslint = {hardware = "H100"}\n',
        'tool.dslint.hardware = "H100"\n',
        '[ tool . "dslint" ]\nhardware = "H100"\n',
    ],
)
def test_every_spelling_of_the_table_is_found(tmp_path, text):
    written(tmp_path, "pyproject.toml", text)
    assert load(tmp_path, None, False).hardware == "H100"


def test_a_pyproject_without_the_table_does_not_stop_the_search(tmp_path):
    written(tmp_path, "dslint.toml", 'hardware = "H100"\n')
    written(tmp_path, "inner/pyproject.toml", '[project]\nname = "x"\ndependencies = ["dslint"]\n')
    assert load(tmp_path / "inner", None, False).hardware == "H100"


def test_a_pyproject_that_does_not_name_dslint_is_never_parsed(tmp_path):
    written(tmp_path, "pyproject.toml", "this is = no [TOML\n")
    assert load(tmp_path, None, False) == Settings()


def test_isolated_reads_no_file(tmp_path):
    written(tmp_path, "dslint.toml", 'hardware = "H100"\n')
    assert load(tmp_path, None, True) == Settings()


def test_isolated_with_a_config_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="--isolated"):
        load(tmp_path, tmp_path / "dslint.toml", True)


def test_a_named_config_is_read_instead_of_the_nearest(tmp_path):
    written(tmp_path, "dslint.toml", 'hardware = "H100"\n')
    other = written(tmp_path, "ci/strict.toml", 'hardware = "V100"\nrules = ["book"]\n')
    found = load(tmp_path, other, False)
    assert (found.hardware, found.rules) == ("V100", (str(tmp_path / "ci" / "book"),))


def test_a_named_pyproject_without_the_table_is_refused(tmp_path):
    path = written(tmp_path, "pyproject.toml", "[project]\n")
    with pytest.raises(SettingsError, match=r"no \[tool.dslint\]"):
        load(tmp_path, path, False)


def test_a_named_config_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path, tmp_path / "none.toml", False)


# What it says


def test_all_keys_are_read(tmp_path):
    written(
        tmp_path,
        "dslint.toml",
        """
select = ["DS2", "unknown-key"]
ignore = ["DS203"]
extend-select = ["DS9"]
fail-on = "error"
hardware = "auto"
world-size = 16
framework = "transformers"
deepspeed-version = "0.19.8"
rules = ["infra/rules"]
include = ["configs/"]
exclude = ["legacy/"]
unfixable = ["DS1"]
unsafe-fixes = true
output-format = "json"
baseline = "known.json"
[per-file-ignores]
"old/**" = ["DS2"]
[severity]
DS203 = "error"
""",
    )
    assert load(tmp_path, None, False) == Settings(
        select=("DS2", "unknown-key"),
        ignore=("DS203",),
        extend_select=("DS9",),
        per_file_ignores={"old/**": ("DS2",)},
        severity={"DS203": "error"},
        fail_on="error",
        hardware="auto",
        world_size=16,
        framework="transformers",
        deepspeed_version="0.19.8",
        rules=(str(tmp_path / "infra" / "rules"),),
        include=("configs/",),
        exclude=("legacy/",),
        unfixable=("DS1",),
        unsafe_fixes=True,
        output_format="json",
        baseline=str(tmp_path / "known.json"),
        file=str(tmp_path / "dslint.toml"),
        root=str(tmp_path),
        origins=dict.fromkeys(module.READERS, "file"),
    )


def test_an_unknown_key_gets_its_row_and_the_nearest_key(tmp_path):
    said = refusal(tmp_path, '[project]\nname = "x"\n\n[tool.dslint]\nselct = ["DS2"]\n', "pyproject.toml")
    assert "pyproject.toml:5: there is no setting `selct`; did you mean `select`?" in said


def test_an_underscore_is_led_to_its_dash(tmp_path):
    assert "did you mean `fail-on`?" in refusal(tmp_path, 'fail_on = "error"\n')


def test_a_key_that_resembles_none_gets_the_list(tmp_path):
    assert "the settings are select, ignore" in refusal(tmp_path, "zzz = 1\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = "DS2"', "`select` must be a list of texts, not 'DS2'"),
        ("select = [1]", "`select` must be a list of texts, not [1]"),
        ("world-size = 0", "`world-size` must be a whole number from 1, not 0"),
        ("world-size = true", "`world-size` must be a whole number from 1, not true"),
        (
            "deepspeed-version = 0.19",
            '`deepspeed-version` must be a release in quotes, such as "0.19.8", not 0.19',
        ),
        ('fail-on = "fatal"', '`fail-on` must be one of "error", "warning", "info", "never", not \'fatal\''),
        ("unsafe-fixes = 1", "`unsafe-fixes` must be true or false, not 1"),
        ("hardware = []", "`hardware` must be a text, not an empty list"),
        ('severity = "error"', "`severity` must be a table of rules with their severity, not 'error'"),
    ],
)
def test_a_wrong_value_is_told_with_its_row(tmp_path, text, expected):
    assert f"dslint.toml:2: {expected}" in refusal(tmp_path, f"# comment\n{text}\n")


def test_a_wrong_value_in_a_table_is_told_with_the_row_of_the_table(tmp_path):
    said = refusal(tmp_path, '[tool.dslint]\n\n[tool.dslint.severity]\nDS203 = "loud"\n', "pyproject.toml")
    assert "pyproject.toml:3: `severity` must be a table of rules with their severity, each one of" in said


def test_broken_toml_is_one_sentence(tmp_path):
    said = refusal(tmp_path, "select = [\n")
    assert "dslint.toml: this is no valid TOML" in said
    assert "\n" not in said


def test_a_tool_dslint_that_is_no_table_is_refused(tmp_path):
    assert "write [tool.dslint]" in refusal(tmp_path, "[tool]\ndslint = 3\n", "pyproject.toml")


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "dslint.toml").write_bytes(b'hardware = "\xff"\n')
    with pytest.raises(SettingsError, match="not UTF-8"):
        load(tmp_path, None, False)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser can read every file")
def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    written(tmp_path, "dslint.toml", "").chmod(0)
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path, None, False)


# The schema


def test_the_schema_is_a_schema_and_has_every_setting():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(module.READERS)
    assert all("description" in entry for entry in SCHEMA["properties"].values())


def test_the_defaults_of_the_schema_are_those_of_the_settings():
    defaults = Settings()
    for key, entry in SCHEMA["properties"].items():
        value = getattr(defaults, key.replace("-", "_"))
        said = entry.get("default")
        assert (list(value) if isinstance(value, tuple) else value) == said, key


words = st.sampled_from(
    ["DS2", "fp16-and-bf16", "error", "info", "never", "json", "0.19.8", "0.1x", "", " ", "\t", "auto"]
)
scalars = st.one_of(words, st.text(max_size=3), st.integers(-2, 9), st.booleans(), st.just(0.5))
values = st.one_of(
    scalars, st.lists(scalars, max_size=3), st.dictionaries(words, st.one_of(scalars, st.lists(words)))
)
plausible = st.one_of(st.lists(words, max_size=2), words, st.integers(0, 3), st.booleans())
tables = st.dictionaries(
    st.sampled_from([*module.READERS, "selct"]), st.one_of(plausible, values), max_size=3
)


def is_taken(table):
    try:
        module.read(table, "dslint.toml")
    except SettingsError:
        return False
    return True


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables)
def test_the_loader_and_the_schema_agree(table):
    assert is_taken(table) == jsonschema.Draft202012Validator(SCHEMA).is_valid(table)


@pytest.mark.parametrize("key", list(module.READERS))
def test_each_setting_can_be_valid(key):
    """Guards the test above: it would agree on tables that are all refused."""
    examples = {
        "per-file-ignores": {"*.json": ["DS2"]},
        "severity": {"DS2": "info"},
        "world-size": 2,
        "unsafe-fixes": True,
        "fail-on": "never",
        "framework": "accelerate",
        "output-format": "sarif",
        "deepspeed-version": "0.9.5",
        "hardware": "T4",
        "baseline": "b.json",
    }
    table = {key: examples.get(key, ["DS2"])}
    jsonschema.Draft202012Validator(SCHEMA).validate(table)
    module.read(table, "dslint.toml")


# Options


def test_options_replace_settings_and_none_is_not_given():
    merged = merge(Settings(hardware="V100", world_size=8), {"hardware": "H100", "world_size": None})
    assert (merged.hardware, merged.world_size) == ("H100", 8)


def test_options_are_read_as_strictly_as_settings():
    with pytest.raises(SettingsError, match="--world-size must be a whole number from 1, not 0"):
        merge(Settings(), {"world-size": 0})


def test_options_may_come_as_tuples_with_either_spelling():
    merged = merge(Settings(), {"extend_select": ("DS2",), "fail-on": "never"})
    assert merged.options.extend_select == ("DS2",)
    assert merged.fail_on == "never"


# Selection

CLIPPING = ("DS203", "gradient-clipping-off")
BOTH = ("DS201", "fp16-and-bf16")


@pytest.mark.parametrize(
    ("chosen", "options", "expected"),
    [
        ({}, {}, {CLIPPING: True, BOTH: True}),
        ({"select": ("DS203",)}, {}, {CLIPPING: True, BOTH: False}),
        ({"select": ()}, {}, {CLIPPING: False, BOTH: False}),
        ({"select": ("gradient-clipping-off",)}, {}, {CLIPPING: True, BOTH: False}),
        ({"ignore": ("DS2",)}, {}, {CLIPPING: False, BOTH: False}),
        ({"select": ("DS203",), "ignore": ("DS2",)}, {}, {CLIPPING: True, BOTH: False}),
        ({"select": ("DS2",), "ignore": ("DS203",)}, {}, {CLIPPING: False, BOTH: True}),
        ({"select": ("DS2",), "ignore": ("DS2",)}, {}, {CLIPPING: False, BOTH: False}),
        ({"select": ("DS1",), "extend_select": ("DS201",)}, {}, {CLIPPING: False, BOTH: True}),
        ({"select": ("ALL",), "ignore": ("DS201",)}, {}, {CLIPPING: True, BOTH: False}),
        ({"ignore": ("ALL",), "extend_select": ("DS201",)}, {}, {CLIPPING: False, BOTH: True}),
        # Options go over the file, however close its selectors are.
        ({"select": ("DS201",)}, {"ignore": ("DS2",)}, {CLIPPING: False, BOTH: False}),
        ({"ignore": ("DS201",)}, {"extend_select": ("DS2",)}, {CLIPPING: True, BOTH: True}),
        ({"ignore": ("DS201",)}, {"select": ("DS2",)}, {CLIPPING: True, BOTH: True}),
        ({"select": ("DS201",)}, {"select": ("DS203",)}, {CLIPPING: True, BOTH: False}),
        ({"ignore": ("DS201",)}, {"ignore": ("DS203",)}, {CLIPPING: False, BOTH: False}),
    ],
)
def test_the_closest_selector_wins_and_options_go_over_the_file(chosen, options, expected):
    merged = merge(Settings(**chosen), options)
    assert {rule: selected(*rule, merged) for rule in expected} == expected


def test_severity_is_that_of_the_closest_selector():
    own = Settings(severity={"DS2": "info", "gradient-clipping-off": "error"})
    assert module.severity_of(*CLIPPING, "warning", own) == "error"
    assert module.severity_of(*BOTH, "error", own) == "info"
    assert module.severity_of("DS301", "other", "warning", own) == "warning"


def test_unfixable_rules_are_not_fixable():
    own = Settings(unfixable=("DS203",))
    assert not module.fixable(*CLIPPING, own)
    assert module.fixable(*BOTH, own)


def test_selectors_of_no_rule_are_refused_with_file_row_and_the_nearest(tmp_path):
    written(tmp_path, "dslint.toml", '\nignore = ["fp16-and-bf61"]\n')
    with pytest.raises(SettingsError) as caught:
        check_selectors(load(tmp_path, None, False), lambda: [CLIPPING, BOTH])
    assert (
        "dslint.toml:2: `ignore` names `fp16-and-bf61`, which is no rule; did you mean `fp16-and-bf16`?"
        in str(caught.value)
    )


def test_selectors_of_options_are_refused_by_the_option():
    with pytest.raises(SettingsError, match=r"^--select names `XX1`, which is no rule; `dslint rule --all`"):
        check_selectors(merge(Settings(), {"select": ["XX1"]}), lambda: [CLIPPING, BOTH])


@pytest.mark.parametrize("selector", ["ALL", "DS", "DS2", "DS203", "fp16-and-bf16"])
def test_selectors_of_some_rule_are_taken(selector):
    check_selectors(Settings(select=(selector,)), lambda: [CLIPPING, BOTH])


def test_rules_are_not_asked_for_when_nothing_is_selected():
    def never():
        raise AssertionError("the rules were loaded")

    check_selectors(Settings(), never)


# Costs and --show-settings


def test_shown_settings_are_settings_again(tmp_path):
    whole = Settings(select=("DS2",), severity={"a b": "info"}, world_size=4, unsafe_fixes=True)
    again = load(tmp_path, written(tmp_path, "again.toml", module.shown(whole)), False)
    assert (again.select, again.severity, again.world_size, again.unsafe_fixes) == (
        ("DS2",),
        {"a b": "info"},
        4,
        True,
    )


def test_importing_the_settings_costs_no_toml_parser_nor_pathlib():
    code = (
        "import sys; before = set(sys.modules); import dslint.settings as s; s.load('/', None, False);"
        "print(sorted({'tomllib', 'tomli', 'pydantic', 'json', 'difflib', 'pathlib', 'jsonschema'}"
        " & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_large_pyproject_of_other_tools_is_passed_over_and_one_with_our_table_is_refused(tmp_path):
    others = "[tool.other]\nnames = [\n" + '  "a-name-of-some-length",\n' * 20_000 + "]\n"
    project = tmp_path / "pyproject.toml"
    project.write_text(others)
    assert load(tmp_path, None, False).file is None
    project.write_text(others + "[tool.dslint]\nfail-on = 'error'\n")
    with pytest.raises(SettingsError, match="larger than"):
        load(tmp_path, None, False)
