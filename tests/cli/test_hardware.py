"""`dslint hardware`."""

import json
import sys

import pytest
from click.testing import CliRunner

from dslint.cli.hardware import command
from dslint.hardware.table import PROFILES


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [])


def run(*arguments):
    return CliRunner().invoke(command, arguments)


def test_every_profile_is_listed_in_aligned_columns():
    result = run()
    assert result.exit_code == 0
    head, *lines = result.stdout.split("\n\n")[0].splitlines()
    assert head.split() == ["name", "title", "architecture", "cc", "memory", "fp16", "bf16", "tf32", "fp8"]
    assert [line.split()[0] for line in lines] == [each.name for each in PROFILES]
    at = head.index("bf16")
    assert {line[at : at + 3].strip() for line in lines} == {"yes", "no"}


def test_one_name_shows_one_row():
    result = run("NVIDIA A100-SXM4-80GB")
    assert result.stdout.splitlines()[1].split() == [
        *("a100", "NVIDIA", "A100", "Ampere", "8.0", "80", "yes", "yes", "yes", "no"),
    ]


def test_notes_stand_below_the_table():
    assert "p100: DeepSpeed refuses fp16" in run("p100").stdout


def test_json_holds_every_field():
    items = json.loads(run("--format", "json").stdout)
    assert len(items) == len(PROFILES)
    v100 = json.loads(run("v100", "--format", "json").stdout)
    assert v100["compute_capability"] == "7.0"
    assert v100["memory"] == [16, 32]
    assert (v100["fp16"], v100["bf16"]) == (True, False)


def test_an_unknown_name_is_one_line_and_exit_2():
    result = run("v1000")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Did you mean v100" in result.stderr


def test_detecting_nothing_is_one_line_and_exit_2(nothing):
    result = run("--detect")
    assert result.exit_code == 2
    assert result.stderr.startswith("dslint: no GPU was found")


def test_detecting_shows_the_profile_and_says_how(nothing, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!{sys.executable}\nprint('NVIDIA L4, 8.9, 23034')\n")
    program.chmod(0o755)
    result = run("--detect", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["name"] == "l4"
    assert result.stderr == "nvidia-smi reports 1 GPU: NVIDIA L4\n"


def test_a_name_and_detect_together_are_refused():
    assert run("a100", "--detect").exit_code == 2
