"""Python tracebacks in a log: the first error of each rank, known to the catalogue or not, and whose code led to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dslint.diagnosis.around import Around, Neighbour
from dslint.diagnosis.lines import Line

TRACEBACK: Final = "Traceback (most recent call last)"
KEPT: Final = 32
_FRAME: Final = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+), in ')
_EXCEPTION: Final = re.compile(r"^[A-Za-z_][\w.]*(?:: .*|:?$)")
_GOES_ON: Final = ("During handling of the above exception", "The above exception was the direct cause")
_LIBRARY: Final = re.compile(
    r"site-packages|dist-packages|/lib/python\d|^<|/torch/|/deepspeed/|/transformers/|/accelerate/"
)


class FirstError(NamedTuple):
    """The end of a traceback: where it begins, where its last line stands, whose it is, and what it says."""

    begins: int
    line: int
    rank: str | None
    text: str


class FirstErrors:
    """The first tracebacks of a log, a few dozen at most."""

    def __init__(self) -> None:
        self.errors: list[FirstError] = []

    @property
    def is_full(self) -> bool:
        return len(self.errors) >= KEPT

    def begins(self, number: int, line: Line, after: Sequence[Neighbour]) -> None:
        """Note the traceback that begins on a line, unless it goes on an earlier one (a chain of exceptions)."""
        if self.is_full or any(e.begins <= number <= e.line and e.rank == line.rank for e in self.errors):
            return
        end = end_of_traceback(after)
        if end is not None:
            offset, text = end
            self.errors.append(FirstError(number, number + offset, line.rank, text))


def end_of_traceback(after: Sequence[Neighbour]) -> tuple[int, str] | None:
    """How many lines below its first line a traceback's exception stands, and that line; of a chain the last one."""
    found: tuple[int, str] | None = None
    for offset, text in after:
        if not text.strip() or text[0].isspace() or text.startswith(TRACEBACK):
            continue
        if text.startswith(_GOES_ON):
            found = None
            continue
        if found is not None:
            break
        if _EXCEPTION.match(text):
            found = (offset, text)
        elif not text.startswith(("^", "~", "|", "+")):
            break
    return found


def innermost_frame(before: Sequence[Neighbour]) -> str | None:
    """`train.py:28`: the last frame above a line that is in nobody's library, so most likely the user's own."""
    for _, text in reversed(before):
        if text.startswith((TRACEBACK, "[")):
            return None
        match = _FRAME.match(text)
        if match and not _LIBRARY.search(match["path"]):
            return f"{match['path']}:{match['line']}"
    return None


def is_source(text: str, around: Around) -> bool:
    """Whether a line is the source code that a traceback shows below a frame: it quotes the message, and says it not."""
    return text[:3].isspace() and any(_FRAME.match(above.text) for above in around.close_before[-3:])
