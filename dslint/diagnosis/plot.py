"""The loss scale as a plot of text: powers of two upwards, the log from left to right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from dslint.diagnosis.scaling import Point

WIDTH: Final = 60
HEIGHT: Final = 8


def plot_scale(points: Sequence[Point], width: int = WIDTH, height: int = HEIGHT) -> Iterator[str]:
    """Lines of a plot; none where there is nothing to see (fewer than four points, or one level throughout)."""
    levels = [math.log2(max(point.scale, 2.0**-64)) for point in points]
    if len(levels) < 4 or max(levels) - min(levels) < 1:
        return
    columns = _columns(levels, min(width, len(levels)))
    top, bottom = max(columns), min(columns)
    if top - bottom < 1:
        return
    rows = min(height, max(2, round(top - bottom) + 1))
    step = (top - bottom) / (rows - 1)
    marks = [round((level - bottom) / step) for level in columns]
    for row in range(rows - 1, -1, -1):
        line = "".join(
            "●" if mark == row else "│" if _passes(marks, at, row) else " " for at, mark in enumerate(marks)
        )
        yield f"{_label(bottom + row * step):>7} ┤{line.rstrip()}"
    first, last = points[0].line, points[-1].line
    ruler = f"line {first:,}".ljust(max(len(columns) - len(f"line {last:,}"), len(f"line {first:,}") + 2))
    yield f"{'':>7} └{'─' * len(columns)}"
    yield f"{'':>7}  {ruler}line {last:,}"


def _columns(levels: Sequence[float], width: int) -> list[float]:
    """One level a column: the lowest of those that fall into it."""
    size = len(levels) / width
    return [
        min(levels[int(at * size) : max(int(at * size) + 1, int((at + 1) * size))]) for at in range(width)
    ]


def _passes(marks: Sequence[int], at: int, row: int) -> bool:
    """Whether the line from the column before passes through a row, where levels are further apart than a row."""
    if at == 0:
        return False
    low, high = sorted((marks[at - 1], marks[at]))
    return low < row < high


def _label(level: float) -> str:
    return f"2^{round(level)}"
