"""`dslint upgrade`: what another release means for some files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dslint.cli.upgrade import command
from dslint.releases.pins import forget
from dslint.releases.release import KNOWN, parse_version
from dslint.releases.schema import default_at

CONFIG = """\
{
  "train_batch_size": 16,
  "fp16": {"enabled": true, "min_loss_scale": 1e-5},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
  "sparse_attention": {"mode": "fixed"}
}
"""


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    forget()
    yield
    forget()


def upgrade(*words):
    return CliRunner().invoke(command, ["--isolated", *words])


def write(config=CONFIG, pin="deepspeed==0.16.4\n"):
    Path("ds.json").write_text(config)
    if pin:
        Path("requirements.txt").write_text(pin)


def found(*words):
    result = upgrade("--format", "json", *words)
    return json.loads(result.stdout)


def test_it_says_what_stops_what_changes_and_what_to_bump():
    write()
    result = upgrade("--to", "0.19.8")
    assert result.exit_code == 1
    for line in (
        "Stops at 0.19.8:",
        "  ds.json:3:47: min-loss-scale-fractional: ",
        "  ds.json:5:3: removed-key-refused: ",
        "  ds.json:1:1: gradient_clipping is not given: 0.0 at 0.16.4, 1.0 at 0.19.8; ",
        "  requirements.txt:1:1: deepspeed==0.16.4 does not let 0.19.8 in",
        "From 0.16.4 to 0.19.8: 2 faults stop, 2 defaults change.",
    ):
        assert line in result.output


def test_nothing_changes_between_releases_that_are_alike_for_the_file():
    write(pin="deepspeed>=0.16\n")
    result = upgrade("--from", "0.16.5", "--to", "0.16.9")
    assert result.exit_code == 0
    assert result.output == "From 0.16.5 to 0.16.9, nothing changes for these files.\n"


def test_the_same_release_has_nothing_to_upgrade():
    write()
    assert upgrade("--to", "0.16.4").output == "The files are for 0.16.4 already.\n"


def test_a_downgrade_is_told_in_the_same_way():
    text = '{"train_batch_size": 8, "bf16": {"enabled": true, "check_grad_overflow": true}, "gradient_clipping": 1.0}'
    write(text, pin=None)
    report = found("--from", "0.19.8", "--to", "0.16.4")
    assert [item["name"] for item in report["new"]] == ["future-key"]
    assert [item["pointer"] for item in report["new"]] == ["/bf16/check_grad_overflow"]
    assert upgrade("--from", "0.19.8", "--to", "0.16.4").exit_code == 1


def test_a_key_that_is_ignored_on_both_sides_is_no_news():
    write('{"train_batch_size": 8, "gradient_clipping": 1.0, "no_such_key": 1}', pin=None)
    report = found("--from", "0.19.6", "--to", "0.19.7")
    assert report["ignored"] == []
    assert report["new"] == []


@pytest.mark.parametrize(
    ("config", "start", "to", "wanted"),
    [
        ('{"train_batch_size": 8}', "0.19.2", "0.19.3", {"/gradient_clipping": (0.0, 1.0)}),
        ('{"train_batch_size": 8, "gradient_clipping": 0.5}', "0.19.2", "0.19.3", {}),
        (
            '{"train_batch_size": 8, "gradient_clipping": 1, "bf16": {"enabled": true}}',
            "0.19.2",
            "0.19.3",
            {"/bf16/check_grad_overflow": (False, True)},
        ),
        (
            '{"train_batch_size": 8, "gradient_clipping": 1, "bf16": {"enabled": false}}',
            "0.19.2",
            "0.19.3",
            {},
        ),
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}',
            "0.19.4",
            "0.19.5",
            {"/zero_optimization/offload_param/pin_memory": (False, True)},
        ),
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "none"}}}',
            "0.19.4",
            "0.19.5",
            {},
        ),
    ],
)
def test_defaults_that_change_for_what_the_file_has(config, start, to, wanted):
    write(config, pin=None)
    report = found("--from", start, "--to", to)
    assert {
        item["pointer"]: (item["from"]["default"], item["to"]["default"]) for item in report["defaults"]
    } == wanted


def test_every_default_that_is_told_is_the_schemas_own():
    write(pin=None)
    for before, after in zip(KNOWN[::6], KNOWN[6::6], strict=False):
        for item in found("--from", before.name, "--to", after.name)["defaults"]:
            assert (
                default_at(parse_version(item["from"]["release"]), item["pointer"]) == item["from"]["default"]
            )
            assert default_at(parse_version(item["to"]["release"]), item["pointer"]) == item["to"]["default"]
            assert item["from"]["default"] != item["to"]["default"]


def test_fixes_are_shown_by_diff_and_made_by_fix():
    write()
    shown = upgrade("--to", "0.19.8", "--diff")
    assert '+  "fp16": {"enabled": true, "min_loss_scale": 1},' in shown.stdout
    assert Path("ds.json").read_text() == CONFIG
    made = upgrade("--to", "0.19.8", "--fix", "--unsafe-fixes")
    assert made.exit_code == 1
    assert "Stops at" not in made.output
    assert "Changes its default" in made.output
    assert "sparse_attention" not in Path("ds.json").read_text()


def test_a_range_that_lets_the_release_in_needs_no_bump():
    write(pin="deepspeed>=0.16,<0.20\n")
    Path("Dockerfile").write_text("FROM base\nRUN pip install deepspeed==0.16.4\n")
    report = found("--from", "0.16.4", "--to", "0.19.8")
    assert [(pin["filename"], pin["specifier"]) for pin in report["pins"]] == [("Dockerfile", "==0.16.4")]


@pytest.mark.parametrize(
    "words",
    [("--to", "0.99.0"), ("--to", "new"), ("--to", "0.19.8", "--from", "0.15.9"), ("--to", "0.19.8", "-")],
)
def test_what_can_not_be_told_is_one_line_and_status_2(words):
    write()
    result = upgrade(*words)
    assert result.exit_code == 2
    assert len(result.output.splitlines()) == 1


def test_a_folder_without_configs_says_so():
    assert upgrade("--to", "0.19.8").output == "No DeepSpeed config and no launch of one is here.\n"
