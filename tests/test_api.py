"""`dslint.lint` and `dslint.fix`: the same answers as the command's, from Python."""

from __future__ import annotations

import pytest

import dslint
from dslint.api import everything
from dslint.baseline import counted, write

BOTH = '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true}\n}\n'
FRACTIONAL = '{"train_batch_size": 8, "fp16": {"enabled": true, "min_loss_scale": 0.5}, "zero_optimization": {"stage": 1}}'
IGNORED = FRACTIONAL.replace("{", '{"//dslint": "ignore[DS204] for a test", ', 1)


def names(*given, **options):
    return {finding.name for finding in dslint.lint(*given, **{"deepspeed_version": "0.19.8", **options})}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with settings, seen from another working directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    folder = tmp_path / "repository"
    (folder / "configs").mkdir(parents=True)
    (folder / "configs" / "ds_config.json").write_text(BOTH)

    def with_settings(text):
        (folder / "dslint.toml").write_text(text)
        return folder

    return with_settings


def test_the_settings_nearest_to_the_path_count_wherever_python_runs(repository):
    folder = repository('ignore = ["fp16-and-bf16"]')
    assert names(folder) == names(folder / "configs" / "ds_config.json") == set()
    assert names(folder, isolated=True) == {"fp16-and-bf16"}


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ('[per-file-ignores]\n"configs/**" = ["DS2"]', {}, set()),
        ('[per-file-ignores]\n"legacy/**" = ["DS2"]', {}, {"fp16-and-bf16"}),
        ('exclude = ["configs"]', {}, set()),
        ('ignore = ["DS201"]', {"select": ["DS201"]}, {"fp16-and-bf16"}),
        ('select = ["DS1"]', {}, set()),
        ('hardware = "v100"', {}, {"fp16-and-bf16", "bf16-unsupported"}),
        ('hardware = "v100"', {"hardware": "a100"}, {"fp16-and-bf16"}),
    ],
)
def test_what_the_settings_say_and_the_arguments_over_it(repository, settings, options, expected):
    assert names(repository(settings), **options) == expected


def test_severities_are_the_settings(repository):
    [finding] = dslint.lint(repository('[severity]\nDS201 = "info"'))
    assert (finding.name, finding.severity) == ("fp16-and-bf16", "info")


def test_what_the_baseline_knows_is_left_out(repository):
    folder = repository('baseline = "known.json"')
    known = folder / "known.json"
    write(counted(dslint.lint(folder, isolated=True), str(known), "."), str(known))
    assert names(folder) == set()
    known.write_text("[")
    with pytest.raises(ValueError, match=r"known\.json"):
        dslint.lint(folder)


def test_ignores_in_a_text_count_and_idle_ones_are_reported():
    assert names(text=IGNORED) == set()
    assert names(text=IGNORED.replace("DS204", "DS201")) == {"min-loss-scale-fractional", "unused-ignore"}


def test_everything_is_told_to_those_who_explain_a_failed_run():
    found = everything(text=IGNORED, deepspeed_version="0.19.8")
    assert {finding.name for finding in found} == {"min-loss-scale-fractional"}


def test_a_fix_keeps_to_the_settings(repository):
    folder = repository('unfixable = ["DS201"]')
    fixed = dslint.fix(folder, unsafe=True)
    assert fixed.texts == {}
    assert {finding.name for finding in fixed.left} == {"fp16-and-bf16"}
    folder = repository("unsafe-fixes = true")
    assert {finding.name for finding in dslint.fix(folder).mended} == {"fp16-and-bf16"}
    assert dslint.fix(folder, isolated=True).texts == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either a path or a text"),
        ({"path": ".", "text": "{}"}, "either a path or a text"),
        ({"text": "{}", "hardware": "v10"}, "v10 is no known hardware"),
        ({"text": "{}", "deepspeed_version": "newest"}, "newest"),
        ({"text": "{}", "select": ["DS9999"]}, "DS9999"),
        ({"text": "{}", "framework": "keras"}, "keras"),
        ({"text": "{}", "world_size": 0}, "world"),
    ],
)
def test_what_is_not_known_is_a_value_error_that_names_it(given, said):
    with pytest.raises(ValueError, match=said):
        dslint.lint(**given)


def test_settings_that_cannot_be_used_are_a_value_error(repository):
    with pytest.raises(ValueError, match="no setting `selct`"):
        dslint.lint(repository('selct = ["DS2"]'))


def test_lint_writes_nothing_and_prints_nothing(repository, capfd):
    folder = repository("")
    for number in range(300):
        (folder / "configs" / f"ds_{number}.json").write_text(BOTH)
    assert len(dslint.lint(folder)) == 301
    assert capfd.readouterr() == ("", "")
