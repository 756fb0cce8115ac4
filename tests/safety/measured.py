"""What a run takes: processor time and the peak of its memory, which a busy machine does not change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from places import ROOT

# The rule book is compiled by the first run in a checkout; that is no part of what is measured.
COMPILED: list[bool] = []


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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*limited(limit), sys.executable, "-m", "dslint.cli.main", *arguments],
            cwd=folder, env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        return Taken(
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024),
            process.returncode,
            out.read().decode("utf-8", "replace"),
            err.read().decode("utf-8", "replace"),
        )


def limited(seconds: int) -> list[str]:
    """What ends a process that takes too much processor time, where the system has it."""
    return ["prlimit", f"--cpu={seconds}"] if shutil.which("prlimit") else []
