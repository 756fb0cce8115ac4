"""GPU kinds: architecture, compute capability, memory, and which number formats they compute in."""

from __future__ import annotations

from typing import NamedTuple


class Profile(NamedTuple):
    """What a kind of accelerator can do. Memory in GB, as sold."""

    name: str
    title: str
    vendor: str
    architecture: str
    compute_capability: tuple[int, int] | None
    memory: tuple[int, ...]
    fp16: bool
    bf16: bool
    tf32: bool
    fp8: bool
