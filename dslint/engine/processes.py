"""Processes that must not outlive a trial: found by a mark in their environment, wherever they have moved, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Final

# The environment variable that marks every process of a trial, with the trial's own token.
MARK: Final = "DSLINT_TRIAL"
PATIENCE: Final = 5.0


def end(process: subprocess.Popen[bytes], token: str) -> None:
    """End a process, its group and whatever else it has started, first politely: launchers end their workers themselves."""
    if process.poll() is None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE)
    signal_group(process.pid, signal.SIGKILL)
    kill_marked(token)
    process.wait()


def signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def kill_marked(token: str) -> None:
    """Kill every process that carries the mark, but this one."""
    for process in marked(token):
        if process != os.getpid():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


def marked(token: str) -> list[int]:
    """Processes that carry the trial's mark in their environment; none where /proc is not."""
    found = []
    wanted = f"{MARK}={token}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
