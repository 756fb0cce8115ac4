"""At which training step a place in a log is: from the line itself, or from the progress bar just before it."""

from __future__ import annotations

import re
from typing import Final

from dslint.diagnosis.stretch import Stretch

REACH: Final = 600
_ON_LINE: Final = re.compile(
    rb"\b(?:global_step(?:/max_steps)?|step|Step|current_steps|iteration|iter)['\"]?\s{0,8}[:= ]\s{0,8}['\"]?(\d+)"
)
_BAR: Final = re.compile(rb"\b(\d+)/\d+ \[")


def step_near(stretch: Stretch, at: int) -> int | None:
    """The step that the line of a place names, or the last one that a bar or a line before it showed; None if none did."""
    buffer = stretch.buffer
    start = buffer.rfind(b"\n", 0, at) + 1
    stop = buffer.find(b"\n", at)
    line = buffer[start : stop if stop >= 0 else len(buffer)]
    on_line = _ON_LINE.search(line)
    if on_line:
        return int(on_line[1])
    before = buffer[max(0, at - REACH) : at]
    bars = _BAR.findall(before)
    if bars:
        return int(bars[-1])
    steps = _ON_LINE.findall(before)
    return int(steps[-1]) if steps else None
