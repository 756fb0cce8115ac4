"""A trial's processes: started, watched, ended with all that they started. The parent imports neither torch nor deepspeed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from dslint.engine.processes import MARK, end
from dslint.engine.trial import Ended, EngineError, Record, Story, Trial, config_path, story
from dslint.engine.waits import Clock

SAID: Final = 20_000
SCRIPT: Final = "rank.py"
# Seconds between two looks at a trial, at least.
PAUSE: Final = 0.2
EXTRA: Final = "pip install 'deepspeed-lint[engine]'"
NEEDED: Final = {
    "deepspeed": ("deepspeed", "torch"),
    "transformers": ("transformers", "accelerate"),
    "accelerate": ("accelerate",),
}

# Told now and then while a trial runs: the optimizer steps so far, and what it waits for, in words.
Progress = Callable[[int, str], None]


class CannotRun(Exception):
    """No trial can be run here; the message is one sentence that says what to do."""


class Launcher(NamedTuple):
    """What is passed through to the `deepspeed` launcher. `hostfile` and `launcher` as it takes them."""

    hostfile: str | None = None
    launcher: str | None = None
    launcher_args: str | None = None
    nodes: int | None = None

    @property
    def spreads(self) -> bool:
        """May the ranks be on other machines?"""
        return self.hostfile is not None or self.launcher is not None


def run(trial: Trial, launcher: Launcher = Launcher(), progress: Progress | None = None) -> Record:  # noqa: B008
    """Train with a config in processes of its own, and tell what happened.

    Raises:
        CannotRun: deepspeed, torch or the framework is not installed.
    """
    check_installed(trial.framework)
    trial = trial._replace(parent=(socket.gethostname(), os.getpid()))
    started = time.monotonic()
    with folder_for(launcher) as folder:
        write(folder, trial)
        late = watch(trial, folder, launcher, progress)
        record = read(trial, folder, late)
    return record._replace(seconds=round(time.monotonic() - started, 3))


def check_installed(framework: str) -> None:
    for package in (*NEEDED["deepspeed"], *NEEDED[framework]):
        if find_spec(package) is None:
            more = EXTRA if package in NEEDED["deepspeed"] else f"pip install {package}"
            raise CannotRun(
                f"{package} is not installed for {sys.executable}, and validate runs the real engine; {more}"
            )


@contextlib.contextmanager
def folder_for(launcher: Launcher) -> Iterator[Path]:
    """A folder for one trial. With ranks on other machines it lies in the working directory, which they share."""
    base = os.getcwd() if launcher.spreads else None
    try:
        folder = tempfile.mkdtemp(prefix=".dslint-trial-" if launcher.spreads else "dslint-trial-", dir=base)
    except OSError as error:
        where = base or "the folder for temporary files (TMPDIR)"
        raise CannotRun(
            f"a trial needs a folder, and none can be made in {where}: {error.strerror}"
        ) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, trial: Trial) -> None:
    (folder / "trial.json").write_text(trial.dumped(), encoding="utf-8")
    (folder / SCRIPT).write_text(
        "import runpy\n\nrunpy.run_module('dslint.engine.worker', run_name='__main__')\n"
    )
    (folder / "config").mkdir()
    (folder / "work").mkdir()
    config_path(folder, trial).write_text(trial.text, encoding="utf-8", newline="")


def command(trial: Trial, folder: Path, launcher: Launcher) -> list[str]:
    worker = ["-m", "dslint.engine.worker", str(folder)]
    if trial.processes == 1 and not launcher.spreads:
        return [sys.executable, *worker]
    if trial.device == "cpu" and not launcher.spreads:
        ranks = ["--nproc-per-node", str(trial.processes)]
        return [sys.executable, "-m", "torch.distributed.run", "--standalone", *ranks, *worker]
    # A script and no module: the launcher takes no modules to Slurm.
    script = [str(folder / SCRIPT), str(folder)]
    return [sys.executable, "-m", "deepspeed.launcher.runner", *passed_on(trial, launcher), *script]


def passed_on(trial: Trial, launcher: Launcher) -> list[str]:
    """Options of the `deepspeed` launcher. Without a hostfile of the user's it must not find one by itself."""
    hostfile = os.devnull if launcher.hostfile is None else os.path.abspath(launcher.hostfile)
    options = ["--hostfile", hostfile, "--num_gpus", str(trial.processes)]
    if launcher.nodes is not None:
        options += ["--num_nodes", str(launcher.nodes)]
    if launcher.launcher is not None:
        options += ["--launcher", launcher.launcher]
    if launcher.launcher_args is not None:
        # In one word: on its own, a value that begins with a dash would be an option.
        options.append(f"--launcher_args={launcher.launcher_args}")
    return [*options, "--master_port", str(free_port()), "--no_local_rank"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def environment(trial: Trial, token: str, launcher: Launcher) -> dict[str, str]:
    """The user's environment; for one process also what a launcher would set."""
    settings = {
        **os.environ,
        MARK: token,
        "PYTHONPATH": python_path(),
        "PYTHONUNBUFFERED": "1",
        # The model is so small that more threads only wait for one another.
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        # A trial is nothing to keep: trackers that the config turns on stay off the network.
        "WANDB_MODE": "disabled",
        "COMET_MODE": "disabled",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    if trial.device == "cpu":
        settings |= {"DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    elif trial.device == "cuda":
        settings["DS_ACCELERATOR"] = "cuda"
    if trial.processes == 1 and not launcher.spreads:
        settings |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
        settings |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return settings


def python_path() -> str:
    """PYTHONPATH on which a worker in another folder finds this dslint, be it installed or not."""
    own = Path(__file__).parents[2]
    known = os.environ.get("PYTHONPATH", "")
    # site-packages is on every path already, and before the standard library it would shadow some of it.
    paths = [] if own.name in ("site-packages", "dist-packages") else [str(own)]
    return os.pathsep.join([*paths, *(os.path.abspath(path) for path in known.split(os.pathsep) if path)])


def watch(trial: Trial, folder: Path, launcher: Launcher, progress: Progress | None) -> bool:
    """Run the processes until they end or the time is over, which is what comes back. None of them outlives this call."""
    token = uuid.uuid4().hex
    started = time.time()
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            command(trial, folder, launcher),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=folder / "work",
            env=environment(trial, token, launcher),
            start_new_session=True,
        )
        try:
            return wait(process, trial, folder, progress)
        finally:
            end(process, token)
            if process.returncode != 0:
                unlock(folder, started)


def wait(process: subprocess.Popen[bytes], trial: Trial, folder: Path, progress: Progress | None) -> bool:
    clock, pause = Clock(), PAUSE
    while clock.spent < trial.seconds:
        try:
            process.wait(timeout=pause)
        except subprocess.TimeoutExpired:
            started = time.monotonic()
            told = story(events_of(folder / "rank-0.jsonl"))
            # A long run has many events; reading them must not take its processor.
            pause = max(PAUSE, 20 * (time.monotonic() - started))
            clock.tick(told.waits is not None)
            if progress is not None:
                progress(*doing(told))
        else:
            return False
    return True


def doing(told: Story) -> tuple[int, str]:
    """The steps so far, and what the run is about."""
    if told.steps:
        return len(told.steps), "training"
    if told.waits is not None:
        name = Path(told.waits["lock"]).parent.name
        if told.waits["build"] is None:
            return 0, f"waiting until another process has compiled {name}"
        return 0, f"compiling {name}, which takes minutes the first time"
    stages = {"start": "importing torch and deepspeed", "load": "loading the config"}
    return 0, stages.get(told.reached, "initializing")


def unlock(folder: Path, started: float) -> None:
    """Remove the lock of a build that this trial began and did not end: every later run would wait for it for ever."""
    for path in folder.glob("rank-*.jsonl"):
        waits = story(events_of(path)).waits
        if waits is None or waits["build"] is None:
            continue
        lock = Path(waits["lock"])
        with contextlib.suppress(OSError):
            if lock.stat().st_mtime >= started:
                lock.unlink()


def read(trial: Trial, folder: Path, late: bool) -> Record:
    """The record that the ranks' events and their words amount to."""
    said = tail(folder / "said.txt", SAID)
    ranks = {path: story(events_of(path)) for path in sorted(folder.glob("rank-*.jsonl"))}
    first = ranks.get(folder / "rank-0.jsonl") or story(())
    error = next((told.error for told in ranks.values() if told.error is not None), None)
    trouble = next((told.trouble for told in ranks.values() if told.trouble is not None), None)
    ended, error = outcome(trial, first, error, trouble, late, said)
    return Record(
        trial=trial._replace(parent=None),
        ended=ended,
        error=error,
        machine=first.machine,
        facts=first.facts,
        steps=tuple(first.steps),
        peak_memory=first.peak_memory,
        notes=(*trial.notes, *first.notes),
        said=said,
    )


def outcome(
    trial: Trial,
    first: Story,
    error: EngineError | None,
    trouble: str | None,
    late: bool,
    said: str,
) -> tuple[Ended, EngineError | None]:
    at, step = first.reached, len(first.steps) + 1 if first.reached == "step" else None
    if trouble is not None:
        return "not-run", EngineError(at, "", trouble)
    if error is not None:
        return ("died" if error.stage == "step" else "refused"), error
    if first.finished:
        return "accepted", None
    if late:
        return "late", EngineError(
            at, "", f"the time limit of {trial.seconds:g} s was over while {doing(first)[1]}", step=step
        )
    if not first.machine:
        return "not-run", EngineError("start", "", last_line(said))
    return ("died" if at == "step" else "refused"), EngineError(
        at, "", f"the process ended without a word of Python: {last_line(said)}", step=step
    )


def last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def events_of(path: Path) -> list[Mapping[str, Any]]:
    """The whole lines of a file of events; the last may be half written yet."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1]]


def tail(path: Path, size: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
