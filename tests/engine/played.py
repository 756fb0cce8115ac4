"""A torch and a deepspeed that are played: packages on a path that do what a test needs when they are imported."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]

TORCH = """
import os
__version__ = "9.9.9"
open(os.environ["PLAYED_IMPORTS"], "a").write(f"{os.getpid()}\\n")
def manual_seed(seed): pass
"""
ACCELERATOR = """
class Accelerator:
    def device_name(self): return "cpu"
    def is_fp16_supported(self): return True
def get_accelerator(): return Accelerator()
"""


def played(folder: Path, deepspeed: str) -> dict[str, str]:
    """An environment whose Python finds the played packages; `deepspeed` is what runs when deepspeed is imported."""
    packages = folder / "packages"
    for path, text in {
        "torch/__init__.py": TORCH,
        "deepspeed/__init__.py": 'import torch\n__version__ = "0.19.8"\n' + deepspeed,
        "deepspeed/accelerator.py": ACCELERATOR,
        "deepspeed/comm/__init__.py": "",
        "deepspeed/comm/torch.py": "",
    }.items():
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text(text, encoding="utf-8")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
        "PLAYED_IMPORTS": str(folder / "imports"),
        "PLAYED_FOLDER": str(folder),
    }


def importers(folder: Path) -> list[int]:
    """The processes that imported the played torch."""
    path = folder / "imports"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def validate_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dslint.cli.main", "validate", *arguments]


def alive(process: int) -> bool:
    """Does a process run? A zombie does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(true, seconds: float = 20.0) -> bool:
    """Poll gently; did it become true in time?"""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        if true():
            return True
        time.sleep(0.05)
    return bool(true())
