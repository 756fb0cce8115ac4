"""The GitHub Action: its steps run here as the shell scripts that they are."""

import json
import os
import re
import subprocess
import sys

import pytest
from ruamel.yaml import YAML
from source_copy import ROOT, copy_sources, tool

pytestmark = pytest.mark.slow

BAD = '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true}\n}\n'
GOOD = '{"train_batch_size": 8, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n'
ACTION = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """A runner on which the action's first step is done; gives what runs the second one."""
    bash = tool("bash")
    home = tmp_path_factory.mktemp("runner")
    around = {
        **{name: value for name, value in os.environ.items() if name not in ("GITHUB_STEP_SUMMARY",)},
        "RUNNER_TEMP": str(home),
        "GITHUB_ACTION_PATH": str(copy_sources(home / "action")),
        "GITHUB_ACTIONS": "true",
    }

    def step(which, folder, **inputs):
        given = {name: entry["default"] for name, entry in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        values = {name: filled(text, given) for name, text in which["env"].items()}
        script = ["--noprofile", "--norc", "-eo", "pipefail", "-c", which["run"]]
        return subprocess.run(
            [bash, *script], cwd=folder, env={**around, **values}, capture_output=True, text=True, check=False
        )

    installed = step(INSTALL, home, python=sys.executable)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert "dslint" in installed.stdout
    return lambda folder, **inputs: step(CHECK, folder, **inputs)


def filled(text, given):
    """GitHub's `${{ inputs.name }}`, for inputs that exist."""
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: given[match[1]], text)


def test_a_bad_config_fails_the_step_with_an_annotation(runner, tmp_path):
    (tmp_path / "ds_config.json").write_text(BAD, encoding="utf-8")
    done = runner(tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error .*file=ds_config\.json,line=3", done.stdout, re.M), done.stdout


def test_a_good_config_passes(runner, tmp_path):
    (tmp_path / "ds_config.json").write_text(GOOD, encoding="utf-8")
    done = runner(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_paths_fail_on_and_args_reach_dslint(runner, tmp_path):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ds_config.json").write_text(BAD, encoding="utf-8")
    done = runner(tmp_path, paths="one\ntwo", fail_on="never", output_format="concise", args="--select DS201")
    assert done.returncode == 0, done.stderr
    assert "one/ds_config.json:3" in done.stdout
    assert "two/ds_config.json:3" in done.stdout
    assert "three" not in done.stdout


def test_a_pull_request_hears_of_what_it_changes_beside_the_baseline_and_sarif_is_written(runner, tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
        subprocess.run([tool("git"), *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "old.json").write_text(BAD, encoding="utf-8")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "As it was")
    git("checkout", "-q", "-b", "topic")
    (tmp_path / "new.json").write_text(BAD, encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "The change")
    # GitHub checks out the merge of both: its first parent is where the pull request goes.
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "Merge", "topic")
    done = runner(tmp_path, changed="HEAD^1", sarif_file="dslint.sarif", args="--select DS201")
    assert done.returncode == 1, done.stderr
    assert re.findall(r"file=(\w+\.json)", done.stdout) == ["new.json"]
    (run,) = json.loads((tmp_path / "dslint.sarif").read_text(encoding="utf-8"))["runs"]
    assert len(run["results"]) == 1
    (tmp_path / "known.json").write_text(
        '{"version": 1, "findings": {"new.json": [{"rule": "fp16-and-bf16", "pointer": "/fp16/enabled"}]}}',
        encoding="utf-8",
    )
    done = runner(tmp_path, changed="HEAD^1", baseline="known.json", args="--select DS201")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documentation_names_every_input():
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert [name for name in ACTION["inputs"] if f"| `{name}` |" not in page] == []


def test_nothing_in_an_input_is_run(runner, tmp_path):
    done = runner(tmp_path, paths="$(touch ran) `touch ran`; touch ran")
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()


def test_no_script_of_the_action_holds_an_input_in_its_text():
    assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step["run"]] == []
