"""One rank of a trial: `python -m dslint.engine.worker FOLDER`, started by dslint/engine/running.py or by a launcher.

FOLDER holds trial.json; the rank's events go to FOLDER/rank-N.jsonl. Exit status 0 when every step was taken, 1 when the
engine raised, 2 when this machine stood in the way.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Final

from dslint.engine.fitting import content_of
from dslint.engine.loading import communicate_by_gloo
from dslint.engine.models import NoModel
from dslint.engine.processes import MARK, is_alive, kill_marked
from dslint.engine.ranks import local_rank, processes, rank
from dslint.engine.recorder import Events
from dslint.engine.session import Device, Session
from dslint.engine.storm import endures, fp16_of, storm_for
from dslint.engine.trial import EngineError, Trial, config_path, portable
from dslint.engine.waits import Clock, Wait, is_stale, name_of, what_main_waits_for

# Texts of errors that tell of this machine and not of the config.
MACHINE: Final = (
    "Unable to JIT load",
    "Error building extension",
    "Error compiling objects",
    "Ninja is required",
    "CUDA_HOME",
    "MissingCUDAException",
    "nvcc",
    "No module named",
    "Cannot find compatible",
    "not been implemented on CPU backend",
    "Address already in use",
)
GRACE: Final = 15.0


def main(arguments: list[str]) -> int:
    folder = Path(next(argument for argument in reversed(arguments) if not argument.startswith("--")))
    trial = Trial.loaded((folder / "trial.json").read_text(encoding="utf-8"))
    events = Events(folder, rank())
    clock = Clock()
    threading.Thread(target=watch_over, args=(trial, events, folder, clock), daemon=True).start()
    sys.path[:0] = [path for path in trial.folders if path not in sys.path]
    try:
        device = prepare(trial, events)
    except NoGpu as error:
        events("trouble", text=str(error))
        return 2
    except Exception as error:
        events("trouble", text=sentence(error))
        return 2
    content = content_of(trial.text, trial.shown)
    storm = storm_for(trial.stress, trial.storm, content, trial.steps)
    session = Session(trial, events, config_path(folder, trial), content, storm, device, clock)
    events("machine", facts={"endures": endures(fp16_of(content)), "storm": storm._asdict()})
    try:
        loop_of(trial)(session)
    except NoModel as error:
        events("trouble", text=str(error))
        return 2
    except BaseException as error:
        return tell(session, error)
    if session.steps is not None and session.steps.number < session.wanted:
        events.note(
            f"the time was enough for {session.steps.number} of {session.wanted} steps; --timeout gives more"
        )
    measured(session)
    events("end")
    return 0


class NoGpu(Exception):
    """A GPU was asked for, and there is none."""


def loop_of(trial: Trial) -> Any:
    if trial.framework == "transformers":
        from dslint.engine.under_transformers import train
    elif trial.framework == "accelerate":
        from dslint.engine.under_accelerate import train
    else:
        from dslint.engine.under_deepspeed import train
    return train


def prepare(trial: Trial, events: Events) -> Device:
    """Import the engine, tell the machine, lift what a CPU alone refuses.

    Raises:
        Exception: this machine can't run the trial; the message says why.
    """
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator

    accelerator = get_accelerator()
    device = str(accelerator.device_name())
    if "cuda" in (trial.device, device) and not torch.cuda.is_available():
        raise NoGpu("torch sees no CUDA GPU here; --device cpu runs without one")
    torch.manual_seed(0)
    if device == "cuda":
        torch.cuda.set_device(local_rank())
    events("machine", facts=machine(deepspeed, torch, device))
    return Device(device, lift(accelerator) if device == "cpu" else False)


def machine(deepspeed: Any, torch: Any, device: str) -> dict[str, Any]:
    import importlib.metadata

    facts: dict[str, Any] = {
        "deepspeed": str(deepspeed.__version__).partition("+")[0].strip(),
        "torch": str(torch.__version__),
        "device": device,
        "device_name": torch.cuda.get_device_name() if device == "cuda" else device.upper(),
        "processes": processes(),
    }
    for package in ("transformers", "accelerate"):
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return facts


def lift(accelerator: Any) -> bool:
    """Lift two limits of a CPU that say nothing of a config made for GPUs; was fp16 one of them?"""
    communicate_by_gloo()
    if not accelerator.is_fp16_supported():
        type(accelerator).is_fp16_supported = lambda self: True
        return True
    return False


def measured(session: Session) -> None:
    """What is known at the end, be it good or bad."""
    if session.steps is not None:
        session.events(
            "facts",
            facts={"gradients": session.steps.gradient_dtype, "last_scale": portable(session.steps.scale)},
        )
        session.events("peak", memory=peak_memory(session.device))


def tell(session: Session, error: BaseException) -> int:
    """An error as an event; what tells of the machine alone is no fault of the config."""
    traceback.print_exc()
    measured(session)
    text = sentence(error)
    if session.at in ("start", "init") and any(sign in text for sign in MACHINE):
        session.events("trouble", text=text)
        return 2
    session.events.error(
        EngineError(session.at, type(error).__name__, str(error).strip(), where(error), session.step, rank())
    )
    return 1


def sentence(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def where(error: BaseException) -> str:
    """The last frame outside of this module's package: the line that raised, as far as it is the engine's own."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        parts = Path(frame.filename).parts
        for package in ("deepspeed", "transformers", "accelerate"):
            if package in parts and "dslint" not in parts:
                inner = "/".join(parts[len(parts) - 1 - parts[::-1].index(package) :])
                return f"{inner}:{frame.lineno}"
    return ""


def peak_memory(device: str) -> int | None:
    """The most memory in use, in bytes: the GPU's that torch allocated, or on a CPU the process's."""
    import torch

    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def watch_over(trial: Trial, events: Events, folder: Path, clock: Clock) -> None:
    """Beside the work: tell what it waits for; end it when the one that asked is gone, or when it was not ended in time.

    Nobody is left then to take the trial's folder away, so that is done here.
    """
    local = trial.parent is not None and trial.parent[0] == socket.gethostname()
    told: Wait | None = None
    while clock.spent < trial.seconds + GRACE:
        time.sleep(0.5)
        if local and trial.parent is not None and not is_alive(trial.parent[1]):
            shutil.rmtree(folder, ignore_errors=True)
            break
        now = what_main_waits_for()
        clock.tick(now is not None)
        if now != told:
            events("waited") if now is None else events("waits", **now._asdict())
            told = now
        if now is not None and now.build is None and is_stale(now.lock):
            events(
                "trouble",
                text=f"a build of {name_of(now)} was killed and left its lock, and every run waits for it: "
                f"delete {now.lock}",
            )
            break
    if MARK in os.environ:
        kill_marked(os.environ[MARK])
    os._exit(3)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the engine and its communication may hold an ordinary exit up.
    os._exit(status)
