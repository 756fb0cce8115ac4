"""What a run takes: processor time and the peak of its memory, which a busy machine does not change."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from places import ROOT

# The rule book is compiled by the first run in a checkout; that is no part of what is measured.
COMPILED: list[bool] = []
WAITING = 120.0


class Taken(NamedTuple):
    """`seconds` of processor time, `megabytes` at the peak, the exit status, and what was said."""

    seconds: float
    megabytes: float
    status: int
    out: str
    err: str


def run(folder: Path, *arguments: str, limit: int = 120) -> Taken:
    """Run dslint in a folder; more than `limit` seconds of processor time end it."""
    if not COMPILED:
        COMPILED.append(True)
        with tempfile.TemporaryDirectory() as empty:
            run(Path(empty), "--isolated", ".")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dslint.cli.main", *arguments]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.NamedTemporaryFile() as told,
    ):
        # A small process starts it: what the tests' own process has taken would count as the child's peak.
        done = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", STARTER, told.name, str(limit), *command],
            cwd=folder, env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        # A run that waits for something takes no processor time: it is ended by the clock, after very long.
        status = done.wait(WAITING)
        seconds, peak = map(float, told.read().split())
        for file in (out, err):
            file.seek(0)
        said = [file.read().decode("utf-8", "replace") for file in (out, err)]
        return Taken(seconds, peak / (1024 * 1024 if sys.platform == "darwin" else 1024), status, *said)


STARTER = """
import os, resource, signal, sys
told, limit, *command = sys.argv[1:]
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    os.execv(command[0], command)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(110)
_, status, usage = os.wait4(pid, 0)
with open(told, "w") as file:
    file.write(f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}")
sys.exit(max(os.waitstatus_to_exitcode(status), -1) % 256)
"""
