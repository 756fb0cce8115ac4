"""What the main thread of a worker waits for, when it is torch that compiles an extension or waits until another does.

Such a wait is no part of a trial's time limit: a config that names an optimizer of DeepSpeed's own has a kernel compiled the
first time, which takes minutes and says nothing of the config.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

# The longest build that was seen took minutes; a lock of this age, in seconds, has lost its owner.
STALE: Final = 20 * 60.0
# Seconds of waiting that are forgiven, in all; what still waits then waits for ever.
FORGIVEN: Final = 30 * 60.0


class Wait(NamedTuple):
    """`lock` is the file that keeps others from building; `build` the folder built in, None where another process builds."""

    lock: str
    build: str | None


class Clock:
    """The seconds that a trial has taken, those of its waits left out."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._forgiven = 0.0
        self._last = time.monotonic()

    def tick(self, waits: bool) -> None:
        """Count the time since the last tick; `waits` says whether it was a wait."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if waits and self._forgiven < FORGIVEN:
            self._forgiven += passed
        else:
            self.spent += passed


def what_main_waits_for() -> Wait | None:
    """None while it does anything else."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        folder, name = os.path.split(frame.f_code.co_filename)
        if name == "file_baton.py" and frame.f_code.co_name == "wait":
            return Wait(str(frame.f_locals["self"].lock_file_path), None)
        if name == "cpp_extension.py" and folder.endswith("utils") and "build_directory" in frame.f_locals:
            build = str(frame.f_locals["build_directory"])
            if build != "None":
                return Wait(os.path.join(build, "lock"), build)
        frame = frame.f_back
    return None


def name_of(wait: Wait) -> str:
    """The extension's name."""
    return Path(wait.lock).parent.name


def is_stale(lock: str) -> bool:
    try:
        return time.time() - os.stat(lock).st_mtime > STALE
    except OSError:
        return False
