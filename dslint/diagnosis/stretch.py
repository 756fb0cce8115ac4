"""A part of a log, for those who read all of it, and what a place in it is called."""

from __future__ import annotations

from typing import Final, NamedTuple

from dslint.diagnosis.lines import clean, split_prefix
from dslint.diagnosis.sightings import Evidence

SHOWN: Final = 600


class Stretch(NamedTuple):
    """The buffer, from where to where, and the number of the first line."""

    buffer: bytes
    start: int
    end: int
    line: int


def row_around(buffer: bytes, at: int, begin: int, end: int) -> tuple[int, int]:
    """Where the row that holds a place starts and stops."""
    stop = buffer.find(b"\n", at, end)
    return buffer.rfind(b"\n", begin, at) + 1 or begin, end if stop < 0 else stop


def line_around(buffer: bytes, at: int, begin: int, end: int) -> tuple[int, int]:
    """Where the line that holds a place starts and stops; a carriage return ends a line of a progress bar."""
    start, stop = row_around(buffer, at, begin, end)
    start = buffer.rfind(b"\r", start, at) + 1 or start
    bar = buffer.find(b"\r", at, stop)
    return start, stop if bar < 0 else bar


def evidence_at(stretch: Stretch, at: int, number: int | None = None) -> Evidence:
    """The line of a place as evidence; `number` spares counting it."""
    start, stop = line_around(stretch.buffer, at, stretch.start, stretch.end)
    if number is None:
        number = stretch.line + stretch.buffer.count(b"\n", stretch.start, at)
    line = split_prefix(clean(stretch.buffer[start : min(stop, start + SHOWN)]))
    return Evidence(number, line.rank, line.text.strip(), None)
