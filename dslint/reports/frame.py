"""The lines of source around a finding, with marks below what they are about; several files in one frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dslint.documents.tree import Place
from dslint.reports.colour import Paint
from dslint.reports.visible import shown, visible
from dslint.rules.finding import Finding

CUT: Final = "..."
TAB: Final = 4
MIN_ROOM: Final = 20
ROW_END: Final = r"[\r\n]"


class Mark(NamedTuple):
    """A place to show, with what is said below it; the primary one is the finding's own."""

    place: Place
    message: str
    primary: bool
    row: int
    column: int


class Drawn(NamedTuple):
    """A line as it is shown, and the columns, from 0, between which its mark stands."""

    text: str
    left: int
    right: int
    whole: bool


class Frame(NamedTuple):
    """The lines, and the width of the gutter that the row numbers stand in."""

    lines: list[str]
    gutter: int


def frame(finding: Finding, paint: Paint, width: int) -> Frame:
    """The finding's place and those it rests on: its own file first, each file's lines in their order."""
    groups = grouped(marks_of(finding))
    gutter = len(str(max(mark.row for group in groups for mark in group)))
    lines: list[str] = []
    for number, group in enumerate(groups):
        first = next((mark for mark in group if mark.primary), group[0])
        arrow = "-->" if number == 0 else ":::"
        where = f"{visible(first.place.source.path)}:{first.row}:{first.column}"
        lines.append(f"{' ' * gutter}{paint('gutter', arrow)} {where}")
        lines.append(bar(gutter, "", paint))
        lines += block(group, gutter, paint, width - gutter - 3)
    lines.append(bar(gutter, "", paint))
    return Frame(lines, gutter)


def marks_of(finding: Finding) -> Iterator[Mark]:
    yield mark_at(finding.place, "", True)
    for related in finding.related:
        yield mark_at(related.place, related.message, False)


def mark_at(place: Place, message: str, primary: bool) -> Mark:
    position = place.source.position(place.start)
    return Mark(place, message, primary, position.row, position.column)


def grouped(marks: Iterator[Mark]) -> list[list[Mark]]:
    """Marks by file, in the order in which the files come; in a file by row, on a row the primary first."""
    groups: dict[str, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(mark.place.source.path, []).append(mark)
    return [
        sorted(group, key=lambda mark: (mark.row, not mark.primary, mark.column)) for group in groups.values()
    ]


def block(group: list[Mark], gutter: int, paint: Paint, room: int) -> Iterator[str]:
    """The lines of one file. A row with several marks is shown once, unless it is cropped around each."""
    last = 0
    whole = False
    for mark in group:
        drawn = draw_mark(mark, room)
        if mark.row != last or not (whole and drawn.whole):
            if last and mark.row > last + 1:
                yield paint("gutter", CUT)
            yield f"{paint('gutter', f'{mark.row:>{gutter}} |')} {drawn.text}".rstrip()
        yield bar(gutter, below(mark, drawn, paint), paint)
        last, whole = mark.row, drawn.whole


def below(mark: Mark, drawn: Drawn, paint: Paint) -> str:
    sign = ("^" if mark.primary else "-") * max(1, drawn.right - drawn.left)
    said = f"{sign} {visible(mark.message)}" if mark.message else sign
    return " " * drawn.left + paint("error" if mark.primary else "related", said)


def bar(gutter: int, text: str, paint: Paint) -> str:
    start = paint("gutter", " " * gutter + " |")
    return f"{start} {text}" if text else start


def draw_mark(mark: Mark, room: int) -> Drawn:
    """The mark's first row; a span that goes on below is marked to the end of that row."""
    text, start = mark.place.source.text, mark.place.start
    room = max(MIN_ROOM, room)
    # Only what may be shown is looked at: a config can be one row of many megabytes.
    row_start = start - (mark.column - 1)
    first = max(row_start, start - room)
    near = text[start : start + 2 * room]
    row_end = re.search(ROW_END, near)
    rest = near if row_end is None else near[: row_end.start()]
    length = min(max(0, mark.place.end - start), len(rest.rstrip()))
    cut = row_end is None and start + len(near) < len(text)
    return draw(text[first:start] + rest, start - first, start - first + length, room, first > row_start, cut)


def draw(
    line: str, start: int, end: int, room: int, cut_left: bool = False, cut_right: bool = False
) -> Drawn:
    """A line in at most `room` columns, cropped around the characters `start:end`; tabs become spaces.

    `cut_left` and `cut_right` say that there is more of the line than is given.
    """
    cells = [cell(char) for char in line]
    columns = [0]
    for text, size in cells:
        columns.append(columns[-1] + (TAB - columns[-1] % TAB if text == "\t" else size))
    low, high = window(columns, start, room, cut_left, cut_right)
    before = CUT if cut_left or low > 0 else ""
    after = CUT if cut_right or high < len(cells) else ""
    shown_cells = [
        " " * (columns[i + 1] - columns[i]) if cells[i][0] == "\t" else cells[i][0] for i in range(low, high)
    ]
    left, right = (len(before) + columns[min(at, high)] - columns[low] for at in (start, end))
    return Drawn(before + "".join(shown_cells) + after, left, right, not before and not after)


def window(columns: list[int], start: int, room: int, cut_left: bool, cut_right: bool) -> tuple[int, int]:
    """The cells, from and to, that are shown: the mark's start is in sight, with some text before it."""
    low, high = 0, len(columns) - 1
    if columns[high] <= room and not cut_left and not cut_right:
        return low, high
    room -= 2 * len(CUT)
    while columns[start] - columns[low] > room // 3 and columns[high] - columns[low] > room:
        low += 1
    while high > low and columns[high] - columns[low] > room:
        high -= 1
    return low, high


def cell(char: str) -> tuple[str, int]:
    """A character as shown, and the columns that it takes; a tab is left to whoever knows its column."""
    if " " <= char <= "~":
        return char, 1
    if char == "\t":
        return char, 0
    if char.isprintable():
        return char, columns_of(char)
    text = shown(char)
    return text, 0 if text == char else len(text)


def columns_of(char: str) -> int:
    """How many terminal columns a printable character takes: East Asian wide ones 2, combining ones none."""
    if char < "\u0300":
        return 1
    # Imported here: nearly every config is plain ASCII.
    import unicodedata

    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
