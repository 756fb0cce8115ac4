"""What a program does not take as its file has it, before a rule words it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """Something that the program that reads a file does not take as written.

    pointer: in the file; of a key that is missing, the pointer that it would have.
    parts: what a message needs, by name.
    refused: the program stops; else it goes on without what is written, or with something else.
    """

    kind: str
    pointer: str
    parts: Mapping[str, Any]
    refused: bool
