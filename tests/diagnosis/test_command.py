"""`dslint diagnose` as it is called: what it prints, and how it ends."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_logs import LOGS, START, realistic, steps, traceback_of

from dslint.cli.diagnose import command

ROOT = Path(__file__).parents[2]
BOTH = realistic(
    traceback_of("AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled", rank=3)
)


def run(*args: str, **options):
    return CliRunner().invoke(command, list(args), env={"NO_COLOR": "1", "COLUMNS": "100"}, **options)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "train.log"
    path.write_text(BOTH, encoding="utf-8")
    return str(path)


def test_it_says_what_why_which_setting_what_to_change_and_where_it_says_so(log):
    result = run(log)
    assert result.exit_code == 1
    line = next(at for at, text in enumerate(BOTH.split("\n"), start=1) if "simultaneously" in text)
    assert "error: fp16 and bf16 are both on" in result.output
    for label in ("  what ", "  why ", "  setting ", "  change ", f"  line {line} "):
        assert label in result.output
    assert "fp16.enabled, bf16.enabled" in result.output
    assert "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled" in result.output
    assert "dslint diagnose" in result.output


def test_with_the_config_it_shows_the_finding_and_its_fix(log, tmp_path):
    config = tmp_path / "ds_config.json"
    config.write_text(
        '{"train_batch_size": 8,\n "fp16": {"enabled": true},\n "bf16": {"enabled": true}}\n',
        encoding="utf-8",
    )
    result = run(log, str(config))
    assert result.exit_code == 1
    assert "fp16-and-bf16" in result.output
    assert "fix:" in result.output
    assert "dslint --fix" in result.output
    assert "^" in result.output


def test_json(log):
    result = run(log, "--format", "json")
    assert result.exit_code == 1
    content = json.loads(result.output)
    assert content["log"] == log
    assert content["lines"] == BOTH.count("\n")
    [cause] = content["causes"]
    assert cause["name"] == "both-precisions-on"
    assert (cause["severity"], cause["level"]) == ("error", "cause")
    assert cause["pointers"] == ["/fp16/enabled", "/bf16/enabled"]
    assert cause["evidence"]["rank"] == "3"
    assert BOTH.split("\n")[cause["evidence"]["line"] - 1].endswith(cause["evidence"]["text"])
    assert cause["findings"] == []


def test_json_holds_the_findings_as_dslint_check_writes_them():
    result = run(str(LOGS / "extra-key.log"), str(LOGS / "extra-key.json"), "--format", "json")
    found = json.loads(result.output)["causes"][0]["findings"][0]
    assert {
        "code",
        "name",
        "severity",
        "message",
        "filename",
        "location",
        "end_location",
        "pointer",
        "url",
        "fix",
        "related",
    } == set(found)
    assert found["fix"]["edits"]


def test_nothing_recognised_is_said_and_is_no_failure(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(START + steps(1, 50), encoding="utf-8")
    result = run(str(path))
    assert result.exit_code == 0
    assert "Nothing recognised" in result.output
    assert json.loads(run(str(path), "--format", "json").output)["causes"] == []


def test_an_unknown_first_error_is_shown_though_nothing_was_recognised(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(START + traceback_of("KeyError: 'labels'", rank=2) + "\n", encoding="utf-8")
    result = run(str(path))
    assert result.exit_code == 0
    assert "KeyError: 'labels'" in result.output
    assert "rank 2" in result.output


@pytest.mark.parametrize("args", [("-",), ()])
def test_from_a_pipe(args):
    result = run(*args, input=BOTH)
    assert result.exit_code == 1
    assert "fp16 and bf16 are both on" in result.output


def test_from_a_packed_file(tmp_path):
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(BOTH.encode()))
    assert run(str(path)).exit_code == 1


@pytest.mark.parametrize("what", ["missing", "folder", "broken gzip", "missing config"])
def test_what_cannot_be_read_is_one_clear_line(tmp_path, log, what):
    broken = tmp_path / "broken.gz"
    broken.write_bytes(b"\x1f\x8b" + b"\x00" * 50)
    args = {
        "missing": [str(tmp_path / "nowhere.log")],
        "folder": [str(tmp_path)],
        "broken gzip": [str(broken)],
        "missing config": [log, str(tmp_path / "nowhere.json")],
    }[what]
    result = run(*args)
    assert result.exit_code == 2
    assert result.output.startswith("dslint: ")
    assert result.output.count("\n") == 1
    assert "Traceback" not in result.output


def test_what_a_log_says_cannot_repaint_the_terminal(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(
        b"ValueError: Duplicate keys in DeepSpeed config: ['\xe2\x80\xae\x07\x1b]0;owned\x07fp16']\n"
    )
    output = run(str(path)).output
    assert "duplicate" in output.lower() or "twice" in output
    assert all(character.isprintable() or character == "\n" for character in output)


def test_a_terminal_that_knows_ascii_alone_gets_ascii(log):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main", "diagnose", str(LOGS / "loss-scale-at-minimum-0.16.9.log")],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"2^15 |**" in done.stdout
    assert done.stdout.isascii()


def test_colour_when_it_is_forced(log):
    result = CliRunner().invoke(command, [log], env={"FORCE_COLOR": "1", "NO_COLOR": ""}, color=True)
    assert "\x1b[1;31m" in result.output


def test_no_line_is_wider_than_the_terminal(monkeypatch):
    monkeypatch.chdir(LOGS)
    for width in ("60", "80", "100"):
        output = (
            CliRunner()
            .invoke(command, ["trainer-mismatch.log"], env={"NO_COLOR": "1", "COLUMNS": width})
            .output
        )
        long = [
            line
            for line in output.split("\n")
            if len(line) > int(width) and "https://" not in line and "diagnose" not in line
        ]
        assert long == []


def test_the_report_imports_no_yaml_and_no_pydantic(log):
    code = (
        "import sys; from click.testing import CliRunner; from dslint.cli.diagnose import command\n"
        f"CliRunner().invoke(command, [{log!r}])\n"
        "print(sorted(m for m in ('pydantic', 'ruamel.yaml', 'jsonschema', 'torch') if m in sys.modules))"
    )
    subprocess.run(
        [sys.executable, "-c", "from dslint.diagnosis.catalogue import load_catalogue; load_catalogue()"],
        cwd=ROOT,
        check=True,
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
