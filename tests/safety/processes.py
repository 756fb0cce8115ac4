"""dslint as real processes that stop, wait or die where a test wants it: Python runs `sitecustomize.py` before all else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from places import ROOT

BAD = '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true}\n}\n'
"""A config with an error that --fix --unsafe-fixes mends."""


def start(
    folder: Path, *arguments: str, patch: str = "", before: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Start dslint in a folder, with some code that runs first."""
    hooks = folder.parent / f"hooks-{abs(hash(patch))}"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(patch, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": f"{hooks}{os.pathsep}{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    return subprocess.Popen(
        [*before, sys.executable, "-m", "dslint.cli.main", *arguments],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


class Done:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.out, self.err = process.communicate(timeout=120)
        self.status = process.returncode
        assert "Traceback" not in self.out + self.err
        assert "internal error" not in self.err

    @property
    def line(self) -> str:
        """The only line that was said."""
        (line,) = (self.out + self.err).splitlines()
        return line


def run(folder: Path, *arguments: str, patch: str = "", before: tuple[str, ...] = ()) -> Done:
    return Done(start(folder, *arguments, patch=patch, before=before))


def fix(folder: Path, name: str = "ds_config.json", **options) -> Done:
    return run(folder, "--isolated", "--fix", "--unsafe-fixes", name, **options)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a file is there, or the process is over without having made it, which is an error."""
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None or path.exists(), process.communicate()
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.01)


PAUSED = """
import os, time
fsync = os.fsync
def paused(descriptor):
    fsync(descriptor)
    if not os.path.exists({there!r}):
        open({there!r}, "w").close()
        while not os.path.exists({go!r}):
            time.sleep(0.01)
os.fsync = paused
"""
"""Waits with the new text written and the old one still in place, until the file `go` is there."""
