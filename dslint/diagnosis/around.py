"""The lines around a line of a log, of the same process as far as prefixes tell; cut out of the buffer when asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from dslint.diagnosis.lines import Line, clean, split_prefix

FAR: Final = 1 << 13
FAR_LINES: Final = 60
CLOSE: Final = 1 << 10
LONGEST_LINE: Final = 4000


class Neighbour(NamedTuple):
    """A line around: `offset` lines below the line in question (above, where it is negative)."""

    offset: int
    text: str


class Around:
    """What stands before and after a line. `close_before` and `close_after` are its nearest few neighbours."""

    def __init__(self, buffer: bytes, start: int, stop: int, line: Line) -> None:
        self._buffer = buffer
        self._start = start
        self._stop = stop
        self._source = line.source

    @cached_property
    def before(self) -> tuple[Neighbour, ...]:
        return self._above(FAR)

    @cached_property
    def after(self) -> tuple[Neighbour, ...]:
        return self._below(FAR)

    @cached_property
    def close_before(self) -> tuple[Neighbour, ...]:
        return self._above(CLOSE)[-4:]

    @cached_property
    def close_after(self) -> tuple[Neighbour, ...]:
        return self._below(CLOSE)[:6]

    @cached_property
    def together(self) -> str:
        """All that stands around, as one text."""
        return "\n".join(neighbour.text for neighbour in (*self.before, *self.after))

    def holds(self, texts: Iterable[str], line: str) -> bool:
        """Whether one of the texts stands on the line or around it."""
        return any(text in line or text in self.together for text in texts)

    def _above(self, reach: int) -> tuple[Neighbour, ...]:
        begin = max(0, self._start - reach)
        raw = self._buffer[begin : self._start]
        # The line in question may be a progress bar's piece: then what is left of it stands before its own line's start.
        pieces = raw.split(b"\n")
        if begin > 0:
            pieces = pieces[1:]
        last = len(pieces) - 1
        rows = [(row - last, piece) for row, piece in enumerate(pieces)][-FAR_LINES - 1 :]
        return self._of_source((offset, text) for offset, piece in rows for text in piece.split(b"\r"))

    def _below(self, reach: int) -> tuple[Neighbour, ...]:
        raw = self._buffer[self._stop : self._stop + reach]
        pieces = raw.split(b"\n")
        if self._stop + reach < len(self._buffer):
            pieces = pieces[:-1]
        rows = list(enumerate(pieces))[: FAR_LINES + 1]
        return self._of_source((offset, text) for offset, piece in rows for text in piece.split(b"\r"))

    def _of_source(self, rows: Iterable[tuple[int, bytes]]) -> tuple[Neighbour, ...]:
        lines = ((offset, split_prefix(clean(text[:LONGEST_LINE]))) for offset, text in rows if text)
        return tuple(Neighbour(offset, line.text) for offset, line in lines if line.source == self._source)
