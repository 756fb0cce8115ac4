"""A long-lived process that has imported torch and deepspeed, and forks a child for each run.

`python -m dslint.engine.forks` reads runs from its input, a JSON object a line, and writes verdicts, a line each, in the order
in which they end. The seconds that the imports take are paid once, and what a run leaves behind dies with its child.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import sys
import tempfile
import time
from typing import IO, Any, Final

from dslint.engine.loading import take
from dslint.engine.verdict import Run, Verdict

JOBS: Final = 2
SAID: Final = 20_000
USED: Final = (
    "comm.torch",
    "ops.adam",
    "runtime.bf16_optimizer",
    "runtime.zero.muon.muon_optimizer",
    "runtime.zero.stage3",
    "runtime.superoffload.superoffload_stage3",
    "module_inject.auto_ep_config",
)
"""Modules of deepspeed that building an engine imports."""


class Child:
    """One run under way, in a process for each of its ranks; the first that answers with an error, or rank 0, speaks."""

    def __init__(self, number: int, run: Run) -> None:
        self.number, self.run, self.started = number, run, time.monotonic()
        self.said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.folder = tempfile.TemporaryDirectory()
        self.answers: list[Verdict] = []
        self.ranks = 1 if run.at == "load" else run.world_size
        self.pids: dict[int, int] = {}
        for rank in range(self.ranks):
            reader, pid = self.fork(rank)
            self.pids[reader] = pid

    def fork(self, rank: int) -> tuple[int, int]:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self.live(rank, writer)
        os.close(writer)
        return reader, pid

    def live(self, rank: int, writer: int) -> None:
        """The child's whole life; it never returns into the parent's code."""
        try:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(self.said.fileno(), 1)
            os.dup2(self.said.fileno(), 2)
            os.chdir(self.folder.name)
            store = None if self.ranks == 1 else os.path.join(self.folder.name, "store")
            verdict = take(self.run, rank, store)
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(writer, json.dumps(verdict._asdict()).encode())
        finally:
            os._exit(0)

    def hear(self, reader: int) -> bool:
        """Take the answer of one rank; is the run over?"""
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        os.waitpid(self.pids.pop(reader), 0)
        self.answers.append(
            Verdict(**json.loads(text))
            if text
            else Verdict(None, "Died: the process ended without an answer")
        )
        return not self.pids or self.answers[-1].error is not None

    def end(self, why: str | None = None) -> Verdict:
        """The run's verdict; ranks that still live are killed."""
        for reader, pid in self.pids.items():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reader)
        if why is not None:
            self.answers.append(Verdict(None, why))
        self.said.seek(0)
        said = self.said.read()[-SAID:].decode("utf-8", "replace")
        self.said.close()
        self.folder.cleanup()
        failed = [answer for answer in self.answers if answer.error is not None]
        verdict = failed[0] if failed else self.answers[0]
        return verdict._replace(said=said, seconds=round(time.monotonic() - self.started, 3))

    @property
    def left(self) -> float:
        """The seconds that the run still has."""
        return max(0.0, self.run.limit - (time.monotonic() - self.started))


def serve(jobs: int = JOBS) -> None:
    """Answer runs until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what deepspeed prints while it is imported is no answer
    warm_up()
    waiting: list[tuple[int, Run]] = []
    living: dict[int, Child] = {}
    watch = selectors.DefaultSelector()
    watch.register(0, selectors.EVENT_READ)
    rest, open_ = b"", True
    while open_ or waiting or living:
        for key, _ in watch.select(timeout=min((child.left for child in living.values()), default=None)):
            if key.fd == 0:
                data = os.read(0, 1 << 16)
                *lines, rest = (rest + data).split(b"\n")
                waiting += [read_request(line) for line in lines]
                if not data:
                    open_ = False
                    watch.unregister(0)
            elif key.fd in living:
                child = living.pop(key.fd)
                watch.unregister(key.fd)
                if child.hear(key.fd):
                    finish(child, living, watch, answers)
        for child in {id(child): child for child in living.values()}.values():
            if not child.left:
                limit = f"{child.run.limit:g}"
                finish(child, living, watch, answers, f"TimeLimit: the run took more than {limit} seconds")
        while waiting and len({id(child) for child in living.values()}) < jobs:
            child = Child(*waiting.pop(0))
            for reader in child.pids:
                living[reader] = child
                watch.register(reader, selectors.EVENT_READ)


def warm_up() -> None:
    """Bring in what nearly every run needs: deepspeed, and the compiler that torch imports when it is first asked for."""
    import deepspeed
    import torch

    weight = torch.nn.Parameter(torch.zeros(1))
    torch.optim.AdamW([weight])
    torch.compile(lambda x: x)
    for name in USED:
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{deepspeed.__name__}.{name}")
    # Asks once which kernels could be built; the answer is kept.
    with contextlib.suppress(Exception):
        _ = deepspeed.ops.__compatible_ops__
    # The children never need to look for garbage among what is there now.
    gc.collect()
    gc.freeze()


def read_request(line: bytes) -> tuple[int, Run]:
    request: dict[str, Any] = json.loads(line)
    number = request.pop("number")
    request["facts"] = tuple(request["facts"])
    return number, Run(**request)


def finish(
    child: Child,
    living: dict[int, Child],
    watch: selectors.BaseSelector,
    answers: IO[str],
    why: str | None = None,
) -> None:
    for reader in child.pids:
        watch.unregister(reader)
        living.pop(reader, None)
    verdict = child.end(why)
    answers.write(json.dumps({"number": child.number, **verdict._asdict()}) + "\n")
    answers.flush()


if __name__ == "__main__":
    serve()
