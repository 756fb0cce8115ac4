"""No process outlives `dslint validate`, however it ends; and what stands in its way is said in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from played import ROOT, alive, importers, played, validate_command, wait_until

from dslint.engine import running, waits
from dslint.engine.running import CannotRun, Launcher
from dslint.engine.trial import Trial

pytestmark = pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="processes are looked up in /proc, which is not here"
)

# Starts a grandchild in a session of its own, as torchrun does, and then hangs with it.
HANGS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open(os.path.join(os.environ["PLAYED_FOLDER"], "grandchild"), "w").write(str(child.pid))
time.sleep(600)
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text('{"train_batch_size": 8}')
    return str(path)


def started(tmp_path, config, *arguments):
    """`dslint validate` with an engine that hangs, at the point where all its processes are there."""
    environment = played(tmp_path, HANGS)
    process = subprocess.Popen(
        validate_command(config, *arguments),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    there = wait_until(lambda: (tmp_path / "grandchild").exists() and (tmp_path / "grandchild").read_text())
    assert there, process.communicate(timeout=5)
    return process, [*importers(tmp_path), int((tmp_path / "grandchild").read_text())]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_every_process(tmp_path, config, number):
    process, others = started(tmp_path, config)
    assert all(map(alive, others))
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert wait_until(lambda: not any(map(alive, others)), 2), "a process outlived the command"


def test_the_workers_end_when_the_command_is_killed_outright(tmp_path, config, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process, others = started(tmp_path, config)
    process.kill()
    process.communicate(timeout=10)
    assert wait_until(lambda: not any(map(alive, others)), 30), "they go on without the command that asked"
    assert list(scratch.iterdir()) == []


def test_the_time_limit_ends_every_process(tmp_path, config):
    before = time.monotonic()
    process, others = started(tmp_path, config, "--timeout", "3")
    out, _ = process.communicate(timeout=40)
    assert process.returncode == 2
    assert "the time limit of 3 s was over while importing torch and deepspeed" in out
    assert time.monotonic() - before < 30
    assert not any(map(alive, others))


def test_no_folder_is_left_behind(tmp_path, config):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**played(tmp_path, "raise RuntimeError('broken')"), "TMPDIR": str(scratch)}
    subprocess.run(validate_command(config), env=environment, capture_output=True, check=False)
    assert list(scratch.iterdir()) == []


def test_the_command_itself_imports_neither_torch_nor_deepspeed(tmp_path, config):
    environment = played(tmp_path, "raise RuntimeError('broken')")
    process = subprocess.Popen(
        validate_command(config), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.communicate(timeout=60)
    assert process.pid not in importers(tmp_path)


def test_an_engine_that_can_not_be_imported_is_no_fault_of_the_config(tmp_path, config):
    environment = played(tmp_path, "raise ImportError('libcudart.so.12: cannot open shared object file')")
    done = subprocess.run(
        validate_command(config), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "not run" in done.stdout
    assert "libcudart.so.12" in done.stdout


def test_a_process_that_dies_without_a_word_is_told_as_that(tmp_path, config):
    environment = played(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    done = subprocess.run(
        validate_command(config), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "not run" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["deepspeed", "torch"])
def test_a_missing_engine_is_one_line_that_says_what_to_install(tmp_path, config, missing):
    environment = played(tmp_path, "")
    other = {"deepspeed": "torch", "torch": "deepspeed"}[missing]
    hidden = tmp_path / "sitecustomize.py"
    # The real ones may be installed where the tests run.
    hidden.write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        f"util.find_spec = lambda name, *rest: None if name == {missing!r} else find(name, *rest)\n"
    )
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    done = subprocess.run(
        validate_command(config), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"{missing} is not installed" in done.stderr
    assert "pip install 'deepspeed-lint[engine]'" in done.stderr
    assert other


def refused(tmp_path, *arguments):
    """What is said in the one line of a command that does no work."""
    done = subprocess.run(
        validate_command(*arguments),
        cwd=tmp_path,
        env=played(tmp_path, ""),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


def test_a_config_that_is_not_there_is_one_line(tmp_path):
    assert refused(tmp_path, "nowhere.json").startswith("dslint: nowhere.json cannot be read")


def test_a_pipe_a_folder_and_a_device_are_one_line_each(tmp_path, config):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    assert "pipe.json is no regular file" in refused(tmp_path, "pipe.json")
    assert "folder.json is a folder" in refused(tmp_path, "folder.json")
    assert "/dev/null is no regular file" in refused(tmp_path, "/dev/null")
    assert "pipe.json is no regular file" in refused(tmp_path, config, "--compare", "pipe.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads what its mode forbids")
def test_an_unreadable_config_is_one_line(tmp_path, config):
    os.chmod(config, 0)
    assert "permission denied" in refused(tmp_path, config).lower()


def test_what_only_names_a_config_is_refused(tmp_path):
    (tmp_path / "accelerate.yaml").write_text("distributed_type: DEEPSPEED\n")
    assert "give validate the config that it names" in refused(tmp_path, "accelerate.yaml")


def test_a_report_without_a_place_is_told_before_anything_runs(tmp_path, config):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert "folder is a folder" in refused(tmp_path, config, "--report", "folder")
    assert "is not there" in refused(tmp_path, config, "--report", "nowhere/report.html")
    assert "no regular file" in refused(tmp_path, config, "--report", "pipe")
    assert importers(tmp_path) == []


def test_a_launcher_without_a_hostfile_would_stay_on_this_machine(tmp_path, config):
    assert "go with --hostfile" in refused(tmp_path, config, "--launcher", "slurm")
    assert "is no file" in refused(tmp_path, config, "--hostfile", "nowhere")


def test_a_trial_that_finds_no_place_is_one_line(tmp_path, config, monkeypatch):
    monkeypatch.setattr(
        running.tempfile, "mkdtemp", lambda **_: (_ for _ in ()).throw(PermissionError(13, "no"))
    )
    with pytest.raises(CannotRun, match="none can be made in"), running.folder_for(Launcher()):
        pass


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--storm", "3"), "--storm says how long --stress lasts"),
        (("--model", "mine"), "MODULE:FACTORY"),
        (("--framework", "deepspeed", "--argument", "bf16=true"), "--framework transformers"),
        (("--argument", "bf16"), "NAME=VALUE"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, config, arguments, said):
    done = subprocess.run(
        validate_command(config, *arguments),
        env=played(tmp_path, ""),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr


class TestCommand:
    def command(self, launcher=Launcher(), **asked):  # noqa: B008
        return running.command(Trial("{}", "ds_config.json", **asked), Path("/f"), launcher)

    def test_one_process_is_started_directly(self):
        assert self.command() == [sys.executable, "-m", "dslint.engine.worker", "/f"]

    def test_several_on_cpus_go_through_torchrun(self):
        command = self.command(processes=3, device="cpu")
        assert command[1:3] == ["-m", "torch.distributed.run"]
        assert command[-3:] == ["-m", "dslint.engine.worker", "/f"]
        assert command[command.index("--nproc-per-node") + 1] == "3"

    def test_several_on_gpus_go_through_the_deepspeed_launcher(self):
        command = self.command(processes=4)
        assert command[1:3] == ["-m", "deepspeed.launcher.runner"]
        assert command[-2:] == [f"/f/{running.SCRIPT}", "/f"]
        assert command[command.index("--num_gpus") + 1] == "4"

    def test_a_hostfile_that_nobody_named_is_not_found(self):
        command = self.command(processes=4)
        assert command[command.index("--hostfile") + 1] == os.devnull

    def test_hostfile_and_slurm_are_passed_through(self):
        launcher = Launcher("hosts", "slurm", "--partition=long", 2)
        command = self.command(launcher, processes=8)
        for option, value in (
            ("--hostfile", os.path.abspath("hosts")),
            ("--launcher", "slurm"),
            ("--num_nodes", "2"),
        ):
            assert command[command.index(option) + 1] == value
        assert "--launcher_args=--partition=long" in command

    def test_with_other_machines_even_one_process_a_node_is_launched(self):
        assert "deepspeed.launcher.runner" in self.command(Launcher("hosts"), processes=1)


class TestEnvironment:
    def environment(self, launcher=Launcher(), **asked):  # noqa: B008
        return running.environment(Trial("{}", "ds_config.json", **asked), "token", launcher)

    def test_one_process_is_told_that_it_is_alone(self):
        environment = self.environment()
        assert (environment["RANK"], environment["WORLD_SIZE"]) == ("0", "1")

    def test_launched_processes_are_told_by_their_launcher(self, monkeypatch):
        monkeypatch.delenv("RANK", raising=False)
        assert "RANK" not in self.environment(processes=2)
        assert "RANK" not in self.environment(Launcher("hosts"))

    def test_a_cpu_trial_sees_no_gpu(self):
        environment = self.environment(device="cpu")
        assert (environment["DS_ACCELERATOR"], environment["CUDA_VISIBLE_DEVICES"]) == ("cpu", "")

    def test_trackers_stay_off_the_network(self):
        assert self.environment()["WANDB_MODE"] == "disabled"

    def test_site_packages_are_not_put_before_the_standard_library(self, monkeypatch):
        monkeypatch.setattr(running, "__file__", "/venv/lib/python3/site-packages/dslint/engine/running.py")
        monkeypatch.setenv("PYTHONPATH", "mine")
        assert running.python_path() == str(Path.cwd() / "mine")


class TestLocks:
    def write(self, folder, **event):
        (folder / "rank-0.jsonl").write_text(json.dumps({"event": "waits", **event}) + "\n")

    def test_the_lock_of_a_build_that_the_trial_began_is_removed(self, tmp_path):
        lock = tmp_path / "fused_adam" / "lock"
        lock.parent.mkdir()
        before = time.time() - 1
        lock.touch()
        self.write(tmp_path, lock=str(lock), build=str(lock.parent))
        running.unlock(tmp_path, before)
        assert not lock.exists()

    def test_the_lock_of_another_build_is_left(self, tmp_path):
        lock = tmp_path / "fused_adam" / "lock"
        lock.parent.mkdir()
        lock.touch()
        self.write(tmp_path, lock=str(lock), build=None)
        running.unlock(tmp_path, 0)
        assert lock.exists()

    def test_a_lock_older_than_the_trial_is_left(self, tmp_path):
        lock = tmp_path / "fused_adam" / "lock"
        lock.parent.mkdir()
        lock.touch()
        self.write(tmp_path, lock=str(lock), build=str(lock.parent))
        running.unlock(tmp_path, time.time() + 60)
        assert lock.exists()

    def test_only_an_old_lock_is_stale(self, tmp_path):
        lock = tmp_path / "lock"
        assert not waits.is_stale(str(lock))
        lock.touch()
        assert not waits.is_stale(str(lock))
        os.utime(lock, (time.time() - waits.STALE - 1,) * 2)
        assert waits.is_stale(str(lock))


class TestTimeLimit:
    """A process that takes 50 seconds of a clock that goes on by one at each look, under a limit of 10."""

    def outcome(self, tmp_path, monkeypatch, *events):
        (tmp_path / "rank-0.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        passed = iter(range(10**6))
        monkeypatch.setattr(waits.time, "monotonic", lambda: float(next(passed)))

        class Process:
            looks = 0

            def wait(self, timeout):
                self.looks += 1
                if self.looks < 50:
                    raise subprocess.TimeoutExpired("it", timeout)

        return running.wait(Process(), Trial("{}", "a.json", seconds=10), tmp_path, None)

    WAITS: ClassVar = {"event": "waits", "lock": "/x/fused_adam/lock", "build": "/x/fused_adam"}

    def test_it_counts_what_a_run_takes(self, tmp_path, monkeypatch):
        assert self.outcome(tmp_path, monkeypatch) is True

    def test_it_does_not_count_what_a_kernel_takes_to_compile(self, tmp_path, monkeypatch):
        assert self.outcome(tmp_path, monkeypatch, self.WAITS) is False

    def test_it_counts_again_when_the_kernel_is_there(self, tmp_path, monkeypatch):
        assert self.outcome(tmp_path, monkeypatch, self.WAITS, {"event": "waited"}) is True

    def test_a_build_that_never_ends_is_not_waited_for(self, tmp_path, monkeypatch):
        monkeypatch.setattr(waits, "FORGIVEN", 20)
        assert self.outcome(tmp_path, monkeypatch, self.WAITS) is True


def test_a_trial_is_the_same_after_its_way_through_json():
    trial = Trial(
        "{}", "a.json", stress="overflow", arguments={"bf16": "true"}, folders=("/x",), parent=("host", 7)
    )
    assert Trial.loaded(trial.dumped()) == trial


def test_a_half_written_event_is_not_read(tmp_path):
    path = tmp_path / "rank-0.jsonl"
    path.write_text('{"event": "reached", "stage": "load"}\n{"event": "rea')
    assert running.events_of(path) == [{"event": "reached", "stage": "load"}]


def test_a_missing_framework_is_named(monkeypatch):
    monkeypatch.setattr(running, "find_spec", lambda name: None if name == "transformers" else object())
    with pytest.raises(CannotRun, match=r"transformers is not installed.*pip install transformers"):
        running.check_installed("transformers")


def test_the_repository_is_where_the_tests_think():
    assert (ROOT / "dslint" / "engine" / "worker.py").is_file()
