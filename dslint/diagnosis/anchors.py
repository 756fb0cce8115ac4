"""The short texts that the fast search looks for, before any pattern is tried.

Error messages are made of a few words: something is not supported, cannot be, must be, is only for. A score of pieces of
such words stand in nearly all of the catalogue and in next to no line of a healthy log; what holds none of them brings
its own text. Each costs one pass over the bytes, about 0.4 ns a byte, so there are as few as will do.
"""

from __future__ import annotations

from typing import Final

ANCHORS: Final[tuple[str, ...]] = (
    "rror",
    "not ",
    "annot",
    "must ",
    "nvalid",
)
