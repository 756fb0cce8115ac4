"""A DeepSpeed version and what it knows."""

from __future__ import annotations

from typing import NamedTuple


class Release(NamedTuple):
    """`version` is comparable, `name` is as people write it: (0, 19, 8) and "0.19.8"."""

    version: tuple[int, ...]
    name: str
