"""`--add-ignores`: everything that is found gets an ignore, and no file says anything else than before."""

import json
import shutil
import subprocess

import pytest
from cli_runs import BOTH, dslint, git, write
from ruamel.yaml import YAML

ACCELERATE = """distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 7
mixed_precision: fp16
"""
PROGRAM = """import deepspeed

deepspeed.initialize(
    config={"train_batch_size": 8, "fp16": {"enabled": True}, "bf16": {"enabled": True}},
)
"""
SCRIPT = """#!/bin/bash
cat > ds.json <<EOF
{"train_batch_size": 8,
 "fp16": {"enabled": true}, "bf16": {"enabled": true}}
EOF
deepspeed train.py \\
  --deepspeed_config ds.json
"""


@pytest.fixture
def repository(tmp_path):
    write(
        tmp_path,
        {
            "ds_config.json": BOTH,
            "remarks.json": BOTH.replace("{\n", "{\n  // remarks stand here already\n", 1),
            "accelerate.yaml": ACCELERATE,
            "other.py": PROGRAM,
            "train.sh": SCRIPT,
        },
    )
    assert {finding["filename"] for finding in findings(tmp_path)} == {p.name for p in tmp_path.iterdir()}
    return tmp_path


def findings(folder, *options):
    done = dslint(folder, "--output-format", "json", *options)
    assert done.returncode in (0, 1), done.err
    return json.loads(done.out)


def texts(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_a_run_is_green_then_and_stays_green(repository):
    count = len(findings(repository))
    done = dslint(repository, "--add-ignores")
    assert done.returncode == 0, done.out + done.err
    assert (
        f'ignored {count} findings in 5 files; write the reason in the place of "TODO: say why"' in done.err
    )
    assert findings(repository) == []
    before = texts(repository)
    assert dslint(repository, "--add-ignores").returncode == 0
    assert texts(repository) == before


def test_every_file_says_what_it_said_to_its_own_reader(repository):
    assert dslint(repository, "--add-ignores", "--reason", "as in the paper").returncode == 0
    plain = texts(repository)["ds_config.json"]
    assert json.loads(plain) == {**json.loads(BOTH), "//dslint": "ignore[fp16-and-bf16] as in the paper"}
    hjson = pytest.importorskip("hjson")
    remarks = texts(repository)["remarks.json"]
    assert json.loads(hjson.dumpsJSON(hjson.loads(remarks))) == json.loads(BOTH)
    assert "// dslint: ignore[fp16-and-bf16] as in the paper\n" in remarks
    yaml = YAML(typ="safe", pure=True)
    assert yaml.load(texts(repository)["accelerate.yaml"]) == yaml.load(ACCELERATE)
    program = texts(repository)["other.py"]
    assert compile(program, "other.py", "exec").co_code == compile(PROGRAM, "other.py", "exec").co_code
    script = texts(repository)["train.sh"]
    inside = script.partition("<<EOF\n")[2].partition("EOF\n")[0]
    assert hjson.loads(inside)["train_batch_size"] == 8
    assert script.endswith(SCRIPT.partition("EOF\n")[2].partition("EOF\n")[2])


def test_without_a_reason_there_is_a_place_for_one(repository):
    dslint(repository, "--add-ignores")
    assert all("] TODO: say why" in text for text in texts(repository).values())


def test_what_is_not_selected_or_in_the_baseline_is_not_ignored(repository):
    known = ("--baseline", "known.json", "ds_config.json")
    dslint(repository, *known, "--write-baseline")
    assert "ignored 0 findings" in dslint(repository, *known, "--add-ignores").err
    assert texts(repository)["ds_config.json"] == BOTH
    dslint(repository, "--add-ignores", "--select", "DS201")
    assert "accelerate.yaml" in {finding["filename"] for finding in findings(repository)}
    assert texts(repository)["accelerate.yaml"] == ACCELERATE


def test_diff_shows_the_ignores_and_writes_none(repository):
    before = texts(repository)
    done = dslint(repository, "--add-ignores", "--diff")
    assert done.returncode == 1
    assert '+  "//dslint": "ignore[fp16-and-bf16] TODO: say why"' in done.out
    assert texts(repository) == before


def test_the_difference_is_a_patch(repository):
    if shutil.which("git") is None:
        pytest.skip("git is absent, so no patch was applied")
    patch = dslint(repository, "--add-ignores", "--diff").stdout
    git(repository, "init", "-q")
    subprocess.run(["git", "apply", "-"], cwd=repository, input=patch, check=True)
    assert findings(repository) == []


def test_what_cannot_be_ignored_in_its_file_is_left_and_told(tmp_path):
    broken = '{"train_batch_size": 8, "fp16": {"ena'
    write(tmp_path, {"ds_config.json": broken})
    done = dslint(tmp_path, "--add-ignores")
    assert done.returncode == 1
    assert "ds_config.json:1: the ignore for syntax-error was left out" in done.err
    assert texts(tmp_path) == {"ds_config.json": broken}


@pytest.mark.parametrize(
    "options", [("--fix", "--add-ignores"), ("--reason", "x"), ("--add-ignores", "-")], ids=" ".join
)
def test_options_that_mean_nothing_together_are_refused(tmp_path, options):
    assert dslint(tmp_path, *options).returncode == 2
