"""The verdicts of real releases: a worker process each, and a file each that keeps what was once answered.

`python -m bench.parity.asking` is the worker: texts come in, a JSON string a line, and verdicts go out, a line each: "ok", or
the kind and text of what DeepSpeedConfig raises for a file with that text, as if one process trained.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from dslint.engine.pool import ROOT, environment

LIMIT = 20
"""Seconds that a release may take to read one config."""
LINES = 50
"""Configs handed over at a time."""


class Release:
    """One release, asked in a process that starts when it is first needed. Verdicts are kept in `store`, a JSON line each."""

    def __init__(self, name: str, python: str, sdist: Path | None, store: Path) -> None:
        self.name = name
        self._python, self._sdist, self._store = python, sdist, store
        self._process: subprocess.Popen[str] | None = None
        self._known: dict[str, str] = {}
        if store.exists():
            for line in store.read_text(encoding="utf-8").splitlines():
                if line.endswith("]"):  # the last line of a run that was stopped may be cut
                    digest, verdict = json.loads(line)
                    self._known[digest] = verdict

    def verdicts(
        self, configs: Sequence[Any], advance: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """What the release says of each config, in their order; what it said before is not asked again."""
        found: list[str] = []
        for start in range(0, len(configs), LINES):
            part = configs[start : start + LINES]
            texts = {digest_of(config): json.dumps(config) for config in part}
            self._ask({digest: text for digest, text in texts.items() if digest not in self._known})
            found += [self._known[digest_of(config)] for config in part]
            advance(len(part))
        return found

    def _ask(self, texts: dict[str, str]) -> None:
        if not texts:
            return
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with self._store.open("a", encoding="utf-8") as file:
            process.stdin.write("".join(f"{json.dumps(text)}\n" for text in texts.values()))
            process.stdin.flush()
            for digest, text in texts.items():
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError(f"DeepSpeed {self.name} ended without an answer to {text[:500]}")
                self._known[digest] = json.loads(line)
                file.write(json.dumps([digest, self._known[digest]]) + "\n")

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [self._python, "-m", "bench.parity.asking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(self._sdist),
            cwd=ROOT,
            text=True,
            encoding="utf-8",
        )
        assert process.stdout is not None
        version = json.loads(process.stdout.readline() or "null")
        if version is None:
            raise RuntimeError(f"{self._python} imports no deepspeed from {self._sdist}")
        if version.partition("+")[0].strip() != self.name:
            raise RuntimeError(f"{self._python} imports deepspeed {version}, not {self.name}")
        return process

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Release:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def digest_of(config: Any) -> str:
    return hashlib.sha1(json.dumps(config).encode()).hexdigest()


def serve() -> None:
    """The worker's whole life: the release's version, then a verdict for each line."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    import logging

    import deepspeed

    from dslint.engine.loading import load

    logging.disable(logging.CRITICAL)
    answers.write(json.dumps(deepspeed.__version__) + "\n")
    answers.flush()
    signal.signal(signal.SIGALRM, out_of_time)
    for line in sys.stdin:
        answers.write(json.dumps(verdict(load, json.loads(line))) + "\n")
        answers.flush()


def verdict(load: Callable[[Any], Any], text: str) -> str:
    before = dict(os.environ)
    signal.alarm(LIMIT)
    try:
        load(text)
    except BaseException as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    finally:
        signal.alarm(0)
        os.environ.clear()
        os.environ.update(before)
    return "ok"


def out_of_time(*_: object) -> None:
    raise TimeoutError(f"more than {LIMIT} seconds")


if __name__ == "__main__":
    serve()
