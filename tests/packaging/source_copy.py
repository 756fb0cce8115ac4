"""What the tests of packaging share: a copy of what git tracks, so that no build writes into the working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str) -> str:
    """The path of a program; the test is skipped where it is absent."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(
            f"{name} is not on the PATH, so nothing of this was tested; install the test extra and {name}"
        )
    return found


def copy_sources(target: Path) -> Path:
    """The files that git knows here, as they now are, or the whole of an unpacked sdist."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        shutil.copytree(
            ROOT, target, ignore=shutil.ignore_patterns(".venv", ".git", "dist", "site", ".*_cache")
        )
        return target
    for name in sorted(set(os.fsdecode(listed.stdout).split("\0")) - {""}):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target
