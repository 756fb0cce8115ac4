"""What is asked of the real engine, and what it answers: plain data, importable without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

Point = Literal["load", "init", "steps"]
POINTS: Final[tuple[Point, ...]] = ("load", "init", "steps")
"""How far a config is taken, in this order."""


class Run(NamedTuple):
    """One config for the engine. `text` is the file as it stands; `framework` says who reads it first.

    `at` is how far it is taken; `world_size` the number of processes, which `load` only simulates. `facts` names what is
    to be read off the engine (dslint/engine/facts.py). `limit` is in seconds.
    """

    text: str
    at: Point = "load"
    framework: str | None = None
    world_size: int = 1
    facts: tuple[str, ...] = ()
    kernels: bool = False
    limit: float = 60.0


class Verdict(NamedTuple):
    """What the engine did. `reached` is the last point that it passed, None when it did not even load.

    `error` is the exception's type and text, None when all went well; `said` the end of what the engine printed.
    """

    reached: Point | None
    error: str | None
    facts: Mapping[str, Any] = {}
    said: str = ""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        return self.error is None
