"""The hooks, run by the real pre-commit: `try-repo` with both, and then as a team's .pre-commit-config.yaml has them."""

import json
import os
import subprocess
import sys

import pytest
from source_copy import copy_sources, tool

pytestmark = pytest.mark.slow

BAD = '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true, "min_loss_scale": 1e-10},  // floor\n}\n'
MENDED = BAD.replace("1e-10", "1")
GOOD = '{"train_batch_size": 8, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n'
OTHERS = {"package.json": '{"name": "site"}\n', "run.sh": "echo hello\n", "tool.py": "print('hello')\n"}
SETTINGS = """repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: dslint
      - id: dslint-fix
"""


def git(folder, *arguments):
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    command = [tool("git"), *who, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """The project as a repository of its own, with the present state committed."""
    pytest.importorskip(
        "pre_commit", reason="pre-commit is absent, so the hooks were not run; install the test extra"
    )
    tool("git")
    folder = copy_sources(tmp_path_factory.mktemp("hooks") / "dslint")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "As it is")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where pre-commit keeps what it installs, so that the tests share it."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def sample(tmp_path, hooks):
    """A team's repository."""
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    settings = SETTINGS.format(repository=hooks, revision=git(hooks, "rev-parse", "HEAD"))
    (tmp_path / ".pre-commit-config.yaml").write_text(settings, encoding="utf-8")
    git(tmp_path, "init", "-q")
    return tmp_path


def pre_commit(folder, home, *arguments):
    git(folder, "add", "-A")
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"},
    )  # fmt: skip


def write_config(folder, text):
    (folder / "ds_config.json").write_text(text, encoding="utf-8")


def read_config(folder):
    return (folder / "ds_config.json").read_text(encoding="utf-8")


def test_try_repo_is_green_for_both_hooks_on_a_good_repository(sample, hooks, home):
    write_config(sample, GOOD)
    done = pre_commit(sample, home, "try-repo", str(hooks), "--all-files", "--verbose")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Passed") == 2
    assert read_config(sample) == GOOD


def test_the_check_hook_fails_on_a_bad_config_and_leaves_it(sample, home):
    write_config(sample, BAD)
    done = pre_commit(sample, home, "run", "dslint", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "min-loss-scale-fractional" in done.stdout
    assert read_config(sample) == BAD


def test_the_fix_hook_fails_once_with_the_config_mended_and_is_green_then(sample, home):
    write_config(sample, BAD)
    done = pre_commit(sample, home, "run", "dslint-fix", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert read_config(sample) == MENDED
    again = pre_commit(sample, home, "run", "--all-files")
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_config_is_judged_with_the_script_that_is_committed_beside_it(sample, home):
    sizes = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}
    write_config(sample, json.dumps({**sizes, "bf16": {"enabled": True}, "gradient_clipping": 1.0}))
    launch = "deepspeed --num_gpus 4 train.py --deepspeed_config ds_config.json\n"
    (sample / "train.sh").write_text(launch, encoding="utf-8")
    (sample / "train.py").write_text("import deepspeed\n", encoding="utf-8")
    done = pre_commit(sample, home, "run", "dslint", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "batch-equation" in done.stdout
