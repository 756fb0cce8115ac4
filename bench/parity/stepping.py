"""What DeepSpeed reads is taken further: built into an engine, and three optimizer steps, on CPU.

Two samples of it: configs in which dslint sees an error to come, which must stop there, and configs in which it sees none,
which must not.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from bench.parity.judging import gist
from bench.parity.mutate import Config
from bench.parity.reducing import smallest
from dslint.engine.pool import Pool
from dslint.engine.verdict import Run

MACHINE = (
    "ModuleNotFoundError",
    "No module named",
    "TimeLimit",
    "can't allocate memory",
    "CROSS_SIZE",  # the deepspeed launcher sets it
    "Please install",
    "Error building extension",
    "unsupported grad type",  # in older releases the CPU's list has no fp16
    "unexpected keyword argument",  # progressive layer drop asks the model for an argument of its own
    "object cannot be interpreted as an integer",  # the loop around the engine counts the accumulation steps
)
"""Ends of a run that tell of the machine, or of the program around the engine, and not of the config."""


class Stop(NamedTuple):
    """A kind of config that the engine stops at and dslint says nothing of: how often, its message, its smallest form."""

    times: int
    error: str
    config: Config


class Stepped(NamedTuple):
    """`told` configs with an error to come, `ran` those of them that ran all the same; `quiet` others, and their `stops`."""

    told: int
    ran: tuple[Config, ...]
    quiet: int
    machine: int
    stops: tuple[Stop, ...]

    @property
    def missed(self) -> int:
        return sum(stop.times for stop in self.stops)


class Asked(Protocol):
    """Whatever tells how runs end."""

    def errors(self, configs: Sequence[Config]) -> list[str | None]: ...


class Engine:
    """One release, asked for whole runs."""

    def __init__(self, sdist: Path | None, python: str) -> None:
        self._pool = Pool(sdist, python)

    def errors(self, configs: Sequence[Config]) -> list[str | None]:
        """What ends each run; None where three steps went well."""
        runs = [Run(json.dumps(config), "steps", "deepspeed") for config in configs]
        return [verdict.error for verdict in self._pool.ask(runs)]

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()


def step(
    engine: Asked,
    told: Sequence[Config],
    quiet: Sequence[Config],
    size: int,
    seed: int,
    is_quiet: Callable[[Config], bool],
) -> Stepped:
    """Up to `size` of each list; `is_quiet` says whether dslint is silent about a config, while one is made smaller."""
    chance = random.Random(seed)
    told = chance.sample(told, min(size, len(told)))
    quiet = chance.sample(quiet, min(size, len(quiet)))
    ran = [config for config, error in zip(told, engine.errors(told), strict=True) if error is None]
    groups: dict[str, list[tuple[Config, str]]] = defaultdict(list)
    machine = 0
    for config, error in zip(quiet, engine.errors(quiet), strict=True):
        if error is not None and any(sign in error for sign in MACHINE):
            machine += 1
        elif error is not None:
            groups[gist(error)].append((config, error))
    stops = [reduced(engine, group, is_quiet) for group in groups.values()]
    return Stepped(
        len(told), tuple(ran), len(quiet), machine, tuple(sorted(stops, key=lambda one: -one.times))
    )


def reduced(engine: Asked, group: Sequence[tuple[Config, str]], is_quiet: Callable[[Config], bool]) -> Stop:
    config, error = min(group, key=lambda one: len(json.dumps(one[0])))

    def holds(smaller: Config) -> bool:
        if not is_quiet(smaller):
            return False
        (ended,) = engine.errors([smaller])
        return ended is not None and gist(ended) == gist(error)

    return Stop(len(group), error, smallest(config, holds))
