"""The other end of dslint/engine/forks.py: hand runs over, and wait for their verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from dslint.engine.verdict import Run, Verdict

ROOT: Final = Path(__file__).parents[2]


class Pool:
    """One forking process for one DeepSpeed release. Use as a context manager, or call close().

    Args:
        sdist: the folder of an unpacked source distribution to run instead of the installed deepspeed.
        python: the interpreter; it needs torch, and deepspeed's dependencies.
    """

    def __init__(self, sdist: Path | None = None, python: str = sys.executable) -> None:
        self._futures: dict[int, Future[Verdict]] = {}
        self._process = subprocess.Popen(
            [python, "-m", "dslint.engine.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(sdist),
            text=True,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def submit(self, run: Run) -> Future[Verdict]:
        """Hand a run over; its verdict comes when its turn has come."""
        future: Future[Verdict] = Future()
        number = len(self._futures)
        self._futures[number] = future
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"number": number, **run._asdict()}) + "\n")
        self._process.stdin.flush()
        return future

    def ask(self, runs: Sequence[Run]) -> list[Verdict]:
        """The verdicts of runs, in their order."""
        return [future.result() for future in [self.submit(run) for run in runs]]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            self._futures[answer.pop("number")].set_result(Verdict(**answer))
        for future in self._futures.values():
            if not future.done():
                future.set_exception(RuntimeError("the engine's process ended before it answered"))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def environment(sdist: Path | None) -> dict[str, str]:
    """This process's environment with the CPU as accelerator, the release first on the path, and kernels of its own."""
    path = [str(sdist)] if sdist else []
    path += [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kernels = Path.home() / ".cache" / "dslint" / "kernels" / (sdist.name if sdist else "installed")
    return {
        **os.environ,
        "DS_ACCELERATOR": os.environ.get("DS_ACCELERATOR", "cpu"),
        "PYTHONPATH": os.pathsep.join(path),
        "TORCH_EXTENSIONS_DIR": str(kernels),
        # The runs are many and small: one thread each is quickest.
        "OMP_NUM_THREADS": "1",
    }
