"""Where reports go: several at once, to files and to standard output, whatever that can show."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from cli_runs import BOTH, GOOD, dslint, write
from places import ROOT


@pytest.fixture
def bad(tmp_path):
    write(tmp_path, {"ds_config.json": BOTH})
    return tmp_path


def kind(text):
    """The format of a report, by its looks."""
    for name, mark in {
        "sarif": '"$schema"', "junit": "<testsuites", "github": "::error", "full": " --> ", "gitlab": '"check_name"',
        "json": '"pointer"', "concise": "error[DS201]",
    }.items():  # fmt: skip
        if mark in text:
            return name
    return text


def reports(folder, *options):
    done = dslint(folder, *options, "ds_config.json")
    assert done.returncode == 1, done.err
    files = {path.name: kind(path.read_text()) for path in folder.iterdir() if path.suffix == ".out"}
    return files | ({"-": kind(done.out)} if done.out else {})


def option(name, value):
    return (f"--output-{name}", value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"-": "full"}),
        ("format=json", {"-": "json"}),
        ("file=a.out", {"a.out": "full"}),
        ("file=-", {"-": "full"}),
        ("format=sarif file=a.out", {"a.out": "sarif"}),
        ("file=a.out format=sarif", {"a.out": "sarif"}),
        ("format=sarif file=a.out format=github", {"a.out": "sarif", "-": "github"}),
        ("format=github format=sarif file=a.out", {"a.out": "sarif", "-": "github"}),
        ("file=a.out format=sarif format=github", {"a.out": "sarif", "-": "github"}),
        ("file=a.out format=sarif file=b.out format=junit", {"a.out": "sarif", "b.out": "junit"}),
        (
            "format=sarif file=a.out format=junit file=b.out format=gitlab file=c.out format=concise",
            {"a.out": "sarif", "b.out": "junit", "c.out": "gitlab", "-": "concise"},
        ),
        ("format=json file=- format=sarif file=a.out", {"a.out": "sarif", "-": "json"}),
    ],
)
def test_a_file_belongs_to_the_format_before_it(bad, options, expected):
    arguments = [word for part in options.split() for word in option(*part.split("="))]
    assert reports(bad, *arguments) == expected
    joined = [f"--output-{part}" for part in options.split()]
    assert reports(bad, *joined) == expected


@pytest.mark.parametrize(
    "options",
    [
        ("--output-format", "json", "--output-format", "sarif"),
        ("--output-file", "a.out", "--output-file", "a.out"),
        ("--output-file", "a.out", "--output-file", "./a.out", "--output-format", "json"),
    ],
)
def test_two_reports_for_one_place_are_refused(bad, options):
    done = dslint(bad, *options)
    assert done.returncode == 2
    assert "Two reports would go to" in done.err
    assert not (bad / "a.out").exists()


def test_a_setting_is_the_format_of_a_file_that_has_no_other(bad):
    write(bad, {"dslint.toml": 'output-format = "json"\n'})
    assert reports(bad, "--output-file", "a.out") == {"a.out": "json"}


def test_a_report_in_a_file_has_no_colour_and_the_mode_of_any_new_file(bad):
    path = bad / "report.txt"
    done = dslint(bad, "--output-file", "report.txt", CLICOLOR="1")
    assert done.out == ""
    assert "\x1b" not in path.read_text()
    write(bad, {"other.txt": ""})
    assert path.stat().st_mode == (bad / "other.txt").stat().st_mode


def test_what_was_there_stays_when_the_report_cannot_be_written(bad):
    """No part of a report is left, nor a temporary file."""
    write(bad, {"report.txt": "before\n"})
    (bad / "folder").mkdir()
    for name in ("folder", "report.txt/inner", "gone/report.txt"):
        done = dslint(bad, "--output-file", name, "ds_config.json")
        assert done.returncode == 2
        assert len(done.err.splitlines()) == 1, done.err
        assert name in done.err
    assert (bad / "report.txt").read_text() == "before\n"
    assert sorted(path.name for path in bad.iterdir()) == ["ds_config.json", "folder", "report.txt"]
    done = dslint(bad, "--output-file", "report.txt", "gone.json")
    assert done.returncode == 2
    assert (bad / "report.txt").read_text() == "before\n"


def test_a_link_and_a_pipe_are_written_through(bad):
    (bad / "link.txt").symlink_to("target.txt")
    dslint(bad, "--output-file", "link.txt", "--output-format", "json")
    assert (bad / "link.txt").is_symlink()
    assert json.loads((bad / "target.txt").read_text())
    if Path("/dev/stdout").exists():
        assert json.loads(dslint(bad, "--output-file", "/dev/stdout", "--output-format", "json").out)


@pytest.mark.parametrize("name", ["full", "concise", "json", "sarif", "github", "gitlab", "junit"])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_output_dies_of_a_character_that_its_encoding_lacks(tmp_path, name, encoding):
    key = "gradient_clipping\u6743\u2192\U0001f525\u202e"
    text = f'{{"train_batch_size": 8, "{key}": "\u635f\u5931", "fp16": {{"enabled": true}}, "bf16": {{"enabled": true}}}}\n'
    write(tmp_path, {"\u914d\u7f6e.json": text})
    done = dslint(tmp_path, "--output-format", name, PYTHONIOENCODING=encoding, LANG="C", LC_ALL="C")
    assert done.returncode == 1, done.err
    assert b"fp16-and-bf16" in done.stdout
    assert not done.err
    if name in ("json", "sarif", "gitlab"):
        json.loads(done.stdout)
    if name == "junit":
        ET.fromstring(done.stdout)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_is_a_file_s_text_keeps_its_bytes(tmp_path, encoding):
    text = BOTH.replace("{\n", "{\n  // \u635f\u5931 \u00fc\r\n", 1)
    done = dslint(
        tmp_path, "--fix", "--unsafe-fixes", "-", stdin=text.encode(), PYTHONIOENCODING=encoding, LC_ALL="C"
    )
    assert done.stdout == text.replace('"fp16": {"enabled": true', '"fp16": {"enabled": false').encode()
    write(tmp_path, {"ds_config.json": text})
    done = dslint(
        tmp_path, "--diff", "--unsafe-fixes", "ds_config.json", PYTHONIOENCODING=encoding, LC_ALL="C"
    )
    assert "// \u635f\u5931 \u00fc".encode() in done.stdout


def test_statistics_of_a_format_for_programs_go_to_standard_error(bad):
    done = dslint(bad, "--output-format", "json", "--statistics")
    assert json.loads(done.out)
    assert done.err == "1  error    DS201 fp16-and-bf16 (1 with a fix)\n"
    done = dslint(bad, "--output-format", "concise", "--statistics")
    assert "1  error    DS201 fp16-and-bf16 (1 with a fix)\n" in done.out
    write(bad, {"ds_config.json": GOOD})
    assert dslint(bad, "--output-format", "json", "--statistics").err == ""


def test_sarif_tells_of_a_rule_what_the_rule_says_not_what_was_found(bad):
    write(bad, {"dslint.toml": '[severity]\n"fp16-and-bf16" = "warning"\n'})
    done = dslint(bad, "--output-format", "sarif")
    (run,) = json.loads(done.out)["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["defaultConfiguration"]["level"] == "error"
    assert run["results"][0]["level"] == "warning"
    assert rule["shortDescription"]["text"] != "fp16 and bf16"
    assert rule["fullDescription"]["text"].startswith("A model trains in one half-precision format")


def test_the_job_summary_is_written_beside_other_reports(bad):
    done = dslint(
        bad, "--output-format", "github", "--output-format", "sarif", "--output-file", "a.sarif",
        GITHUB_STEP_SUMMARY=str(bad / "summary.md"),
    )  # fmt: skip
    assert done.out.startswith("::error ")
    assert "| error | DS201 [fp16-and-bf16]" in (bad / "summary.md").read_text()
    assert json.loads((bad / "a.sarif").read_text())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to be full")
def test_a_full_disk_is_one_line(bad):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dslint.cli.main"], cwd=bad, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "dslint: the output can't be written: No space left on device\n"


def test_closed_streams_end_no_run(bad):
    if shutil.which("sh") is None:
        pytest.skip("sh is absent, so no stream was closed")
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = f"{sys.executable} -m dslint.cli.main {closed}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=bad, capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert done.stderr == ""
