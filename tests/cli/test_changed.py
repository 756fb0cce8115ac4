"""`--changed REF`: what a pull request touches is reported, seen together with all that it did not touch."""

import json
import os
import shutil
import subprocess

import pytest
from cli_runs import BOTH, GOOD, dslint, git, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is absent, so nothing was compared")

SIZES = """{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 4,
"gradient_accumulation_steps": 1, "gradient_clipping": 1.0}
"""
SCRIPT = "deepspeed --num_gpus {gpus} train.py --deepspeed_config ds_config.json\n"
PROGRAM = "import deepspeed\nengine = deepspeed.initialize(args, model=model)\n"


@pytest.fixture
def repository(tmp_path):
    """A branch beside main, with nothing changed on it yet."""
    write(
        tmp_path,
        {
            "ds_config.json": SIZES,
            "train.sh": SCRIPT.format(gpus=2),
            "train.py": PROGRAM,
            "old/ds_config.json": BOTH,
            "README.md": "A team's training.\n",
        },
    )
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "topic")
    return tmp_path


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "As it is")


def changed(folder, *arguments, reference="main"):
    """Where findings are, and the rules, of a run on what has changed."""
    done = dslint(folder, "--changed", reference, "--output-format", "json", *arguments)
    assert done.returncode in (0, 1), done.err
    return {(finding["filename"], finding["name"]) for finding in json.loads(done.out)}


def test_nothing_changed_is_nothing_found(repository):
    done = dslint(repository, "--changed", "main")
    assert done.returncode == 0
    assert "no launch takes part in what has changed since main" in done.out


@pytest.mark.parametrize("state", ["committed", "staged", "unstaged"])
def test_a_changed_config_is_reported_however_far_the_change_has_come(repository, state):
    write(repository, {"ds_config.json": BOTH})
    if state != "unstaged":
        git(repository, "add", "-A")
    if state == "committed":
        commit(repository)
    assert changed(repository) == {("ds_config.json", "fp16-and-bf16")}


def test_a_file_that_git_does_not_know_is_new(repository):
    write(repository, {"new.json": BOTH})
    assert changed(repository) == {("new.json", "fp16-and-bf16")}


def test_a_changed_script_is_judged_with_the_config_that_did_not_change(repository):
    write(repository, {"train.sh": SCRIPT.format(gpus=3)})
    assert changed(repository) == {("ds_config.json", "batch-equation")}


def test_a_launch_of_the_same_config_that_did_not_change_stays_unsaid(repository):
    git(repository, "checkout", "-q", "main")
    write(repository, {"three.sh": SCRIPT.format(gpus=3)})
    commit(repository)
    git(repository, "checkout", "-q", "-B", "topic")
    write(repository, {"train.sh": "# two GPUs\n" + SCRIPT.format(gpus=2)})
    assert changed(repository) == set()
    write(repository, {"ds_config.json": SIZES.replace("4", "4 ")})
    assert changed(repository) == {("ds_config.json", "batch-equation")}


def test_what_main_has_won_since_is_no_change_of_the_branch(repository):
    write(repository, {"README.md": "The branch's.\n"})
    commit(repository)
    git(repository, "checkout", "-q", "main")
    write(repository, {"ds_config.json": GOOD})
    commit(repository)
    git(repository, "checkout", "-q", "topic")
    assert changed(repository) == set()


def test_a_config_that_is_gone_concerns_the_script_that_names_it(repository):
    (repository / "ds_config.json").unlink()
    found = changed(repository)
    assert {name for name, _ in found} == {"train.sh"}, found


def test_a_release_that_is_pinned_anew_concerns_its_launches_and_another_package_does_not(repository):
    git(repository, "checkout", "-q", "main")
    write(repository, {"requirements.txt": "deepspeed==0.16.0\n"})
    commit(repository)
    git(repository, "checkout", "-q", "-B", "topic")
    write(repository, {"requirements.txt": "deepspeed==0.16.0\nblack\n"})
    assert changed(repository) == set()
    write(repository, {"requirements.txt": "deepspeed==0.18.9\n"})
    assert ("old/ds_config.json", "fp16-and-bf16") in changed(repository)


def test_new_settings_concern_every_launch_and_the_rest_of_pyproject_none(repository):
    write(repository, {"pyproject.toml": "[tool.black]\nline-length = 80\n"})
    commit(repository)
    git(repository, "branch", "-f", "main")
    write(repository, {"pyproject.toml": "[tool.black]\nline-length = 100\n"})
    assert changed(repository) == set()
    write(repository, {"pyproject.toml": '[tool.dslint]\nfail-on = "error"\n'})
    assert changed(repository) == {("old/ds_config.json", "fp16-and-bf16")}


def test_line_ends_that_git_turned_are_no_change(repository):
    for name in ("ds_config.json", "old/ds_config.json"):
        path = repository / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert changed(repository) == set()


def test_from_a_folder_inside_only_its_files_are_reported(repository):
    write(repository, {"old/ds_config.json": BOTH + "\n", "ds_config.json": BOTH})
    assert changed(repository / "old") == {("ds_config.json", "fp16-and-bf16")}
    assert changed(repository, "old") == {("old/ds_config.json", "fp16-and-bf16")}


def test_fix_mends_what_has_changed_alone(repository):
    write(repository, {"new.json": BOTH})
    done = dslint(repository, "--changed", "main", "--fix", "--unsafe-fixes")
    assert done.returncode == 0, done.out + done.err
    assert json.loads((repository / "new.json").read_text())["fp16"] == {"enabled": False}
    assert (repository / "old/ds_config.json").read_text() == BOTH


def test_an_ignore_in_a_file_that_did_not_change_is_not_called_unused(repository):
    git(repository, "checkout", "-q", "main")
    text = (
        '{"train_batch_size": 12, // dslint: ignore[batch-equation]\n"train_micro_batch_size_per_gpu": 4}\n'
    )
    write(repository, {"ds_config.json": text})
    commit(repository)
    git(repository, "checkout", "-q", "-B", "topic")
    write(repository, {"train.sh": SCRIPT.format(gpus="$N")})
    assert changed(repository) == set()


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere", "git knows no commit nowhere here"),
        ("--all", "no git reference"),
        ("", "no git reference"),
        ("main^{tree}", "git knows no commit"),
    ],
)
def test_a_reference_that_is_none_gets_one_line(repository, reference, said):
    done = dslint(repository, f"--changed={reference}")
    assert done.returncode == 2
    (line,) = (done.out + done.err).splitlines()
    assert said in line


def test_branches_without_a_common_ancestor_get_one_line(repository):
    git(repository, "checkout", "-q", "--orphan", "alone")
    write(repository, {"README.md": "Begun anew.\n"})
    commit(repository)
    done = dslint(repository, "--changed", "main")
    assert done.returncode == 2
    assert "no common ancestor" in done.err
    assert len(done.err.splitlines()) == 1


def test_outside_of_a_repository_and_without_git_there_is_one_line(tmp_path):
    write(tmp_path, {"ds_config.json": GOOD})
    done = dslint(tmp_path, "--changed", "main", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert (done.returncode, done.err) == (2, "dslint: --changed: this folder is in no git repository\n")
    done = dslint(tmp_path, "--changed", "main", PATH="/nowhere")
    assert done.returncode == 2
    assert "--changed needs git" in done.err


def test_before_the_first_commit_everything_differs_from_head(tmp_path):
    write(tmp_path, {"ds_config.json": BOTH})
    git(tmp_path, "init", "-q")
    assert changed(tmp_path, reference="HEAD") == {("ds_config.json", "fp16-and-bf16")}


def test_standard_input_has_not_changed_since_anything(repository):
    assert dslint(repository, "--changed", "main", "-").returncode == 2


def test_nothing_that_the_repository_names_is_started(repository):
    """Hooks, a file system monitor, filters, textconv, an external diff, a pager: each would leave a file."""
    trap = repository.parent / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository.parent}/sprung\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(trap.read_text(), encoding="utf-8")
        (hooks / name).chmod(0o755)
    for key, value in {
        "core.fsmonitor": trap, "core.pager": trap, "diff.external": trap, "diff.trap.textconv": trap,
        "filter.trap.clean": trap, "filter.trap.smudge": trap, "filter.trap.process": trap, "core.sshCommand": trap,
        "core.hooksPath": hooks, "filter.trap.required": "true", "core.untrackedCache": "true",
    }.items():  # fmt: skip
        git(repository, "config", key, str(value))
    (repository / ".gitattributes").write_text("* filter=trap diff=trap\n", encoding="utf-8")
    write(repository, {"ds_config.json": BOTH})
    os.utime(repository / "train.sh")
    assert changed(repository) == {("ds_config.json", "fp16-and-bf16")}
    assert not (repository.parent / "sprung").exists()
    # The trap is one: git itself springs it.
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert (repository.parent / "sprung").exists()


def test_a_submodule_changes_with_its_commit(repository, tmp_path_factory):
    inner = tmp_path_factory.mktemp("inner")
    write(inner, {"ds_config.json": BOTH})
    git(inner, "init", "-q")
    commit(inner)
    git(repository, "checkout", "-q", "main")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    commit(repository)
    git(repository, "checkout", "-q", "-B", "topic")
    assert changed(repository) == set()
    write(repository, {"lib/ds_config.json": BOTH + "\n"})
    commit(repository / "lib")
    commit(repository)
    assert changed(repository) == {("lib/ds_config.json", "fp16-and-bf16")}


def test_a_link_changes_with_what_it_leads_to(repository):
    git(repository, "checkout", "-q", "main")
    (repository / "link.json").symlink_to("ds_config.json")
    commit(repository)
    git(repository, "checkout", "-q", "-B", "topic")
    assert changed(repository, "link.json") == set()
    write(repository, {"ds_config.json": BOTH})
    assert {rule for _, rule in changed(repository, "link.json")} == {"fp16-and-bf16"}
