"""What a fuzzed input brought to light: kept once for each place in the code, with the smallest input so far."""

from __future__ import annotations

import hashlib
import json
import os
import time
import traceback
from pathlib import Path
from typing import Final

from fuzz.targets import Target

SLOW: Final = 5.0
"""Seconds of processor time that no input of some kilobytes may take."""


class Recorder:
    """Tries inputs and keeps what fails, so that fuzzing goes on behind a failure. `folder` None keeps nothing."""

    def __init__(self, name: str, target: Target, folder: Path | None, summary: Path | None = None) -> None:
        self.name = name
        self.target = target
        self.folder = folder
        self.summary = summary
        self.runs = 0
        self.failures: dict[str, int] = {}
        self.told = 0.0

    def __call__(self, data: bytes) -> None:
        self.runs += 1
        if self.summary is not None and time.monotonic() > self.told + 1:
            # In a file, now and then: libFuzzer leaves without a word when it stops at an input.
            self.summary.write_text(json.dumps({"runs": self.runs, "failures": self.failures}))
            self.told = time.monotonic()
        started = time.thread_time()
        try:
            self.target.one(data)
        # A RecursionError or MemoryError is a finding as any other.
        except Exception as error:
            self.keep(data, fault_of(error), "".join(traceback.format_exception(error)))
        took = time.thread_time() - started
        if took > SLOW:
            self.keep(data, "slow", f"{took:.1f} s of processor time\n")

    def keep(self, data: bytes, fault: str, told: str) -> None:
        self.failures[fault] = self.failures.get(fault, 0) + 1
        if self.folder is None:
            return
        folder = self.folder / f"{self.name}-{hashlib.sha256(fault.encode()).hexdigest()[:10]}"
        folder.mkdir(parents=True, exist_ok=True)
        known = folder / "input"
        if known.exists() and known.stat().st_size <= len(data):
            return
        known.write_bytes(data)
        (folder / "told.txt").write_text(f"{fault}\n\n{told}", encoding="utf-8", errors="backslashreplace")


def fault_of(error: BaseException) -> str:
    """What makes two failures one: the kind of error, and the innermost line of dslint or of its promises."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        f for f in frames if f"{os.sep}dslint{os.sep}" in f.filename or f"{os.sep}fuzz{os.sep}" in f.filename
    ]
    last = (own or frames)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.name}:{last.line}"
