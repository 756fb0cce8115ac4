"""The targets by name. A target module has `one(data)`, `seeds()` and `WORDS`, and is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, cast

NAMES: Final = ("json", "yaml", "shell", "python", "notebook", "settings", "rules", "log", "fixes")


class Target(Protocol):
    """What a target module offers.

    - one: tries some bytes; raises where dslint breaks a promise, AssertionError where it does so silently.
    - seeds: inputs to begin with.
    - WORDS: pieces of text that such files are made of.
    """

    WORDS: Sequence[str]

    def one(self, data: bytes) -> None: ...
    def seeds(self) -> Iterable[bytes]: ...


def target(name: str) -> Target:
    """The target of a name.

    Raises:
        KeyError: there is no such target.
    """
    if name not in NAMES:
        raise KeyError(name)
    return cast("Target", importlib.import_module(f"fuzz.targets.{name}_target"))
