"""One pass over a log, block by block, in constant memory: the lines that may matter are found, the rest is skipped.

A block is searched for the anchors (`anchors.py`); a line that holds one is looked at with the lines around it. What
fills a log is seen again and again, so lines are remembered by their shape, without digits: one that means nothing is
not looked at twice, and a message that was seen often is only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dslint.diagnosis.anchors import searches
from dslint.diagnosis.around import LONGEST_LINE, Around, Neighbour
from dslint.diagnosis.lines import Line, clean, split_prefix, unescape
from dslint.diagnosis.message import Catalogue
from dslint.diagnosis.recognise import Recognised, Recogniser
from dslint.diagnosis.sightings import Evidence, Sightings
from dslint.diagnosis.stretch import Stretch, line_around, row_around
from dslint.diagnosis.traceback import TRACEBACK, FirstErrors, innermost_frame, is_source
from dslint.diagnosis.validation import complaints, headless, is_part

LOOK_AHEAD: Final = 1 << 14
LOOK_BEHIND: Final = 1 << 14
LONGEST_UNBROKEN: Final = 1 << 22
SHAPES: Final = 1 << 14
OFTEN: Final = 200
VAIN: Final = 300  # looks at lines of one shape, each among other lines, behind which the shape means nothing
_DIGITS: Final = b"0123456789"
_NEWLINE: Final = 10


class Scanner:
    """Feed it blocks, then `finish`. `readers` are shown every stretch once, in order."""

    def __init__(self, catalogue: Catalogue, readers: tuple[Callable[[Stretch], None], ...] = ()) -> None:
        self.sightings = Sightings()
        self.first_errors = FirstErrors()
        self.lines = 0
        self.bytes = 0
        self._recogniser = Recogniser(catalogue)
        self._searches = searches((*catalogue.anchors, TRACEBACK))
        self._readers = readers
        self._buffer = b""
        self._done = 0
        self._shapes: dict[int, str | None] = {}
        self._vain: dict[int, int] = {}
        self._spoken_for: set[int] = set()

    def feed(self, block: bytes) -> None:
        self.bytes += len(block)
        self._buffer = self._buffer[max(0, self._done - LOOK_BEHIND) :] + block
        self._done = min(self._done, LOOK_BEHIND)
        limit = self._buffer.rfind(b"\n", self._done, max(self._done, len(self._buffer) - LOOK_AHEAD)) + 1
        if limit <= self._done and len(self._buffer) - self._done > LONGEST_UNBROKEN:
            limit = self._unbroken_limit()
        if limit > self._done:
            self._scan(limit)

    def finish(self) -> None:
        if self._done < len(self._buffer):
            if not self._buffer.endswith(b"\n"):
                self._buffer += b"\n"
            self._scan(len(self._buffer))

    def _unbroken_limit(self) -> int:
        """Where to break a text without line ends: at the last carriage return of a progress bar, or anywhere."""
        end = len(self._buffer) - LOOK_AHEAD
        return self._buffer.rfind(b"\r", self._done, end) + 1 or end

    def _scan(self, end: int) -> None:
        stretch = Stretch(self._buffer, self._done, end, self.lines + 1)
        for reader in self._readers:
            reader(stretch)
        number, counted = stretch.line, stretch.start
        shapes, buffer = self._shapes, self._buffer
        for start, stop in self._candidates(stretch):
            raw = buffer[start : min(stop, start + LONGEST_LINE)]
            # The shape's hash: shapes themselves, of long lines, would fill the memory that is to be constant.
            shape = hash(raw.translate(None, _DIGITS))
            known = shapes.get(shape, "")
            if known is None:
                continue
            if known and self.sightings.count(known) >= OFTEN:
                self.sightings.again(known)
                continue
            number += buffer.count(b"\n", counted, start)
            counted = start
            if number not in self._spoken_for:
                self._look(raw, start, stop, number, shape)
        self.lines += self._buffer.count(b"\n", self._done, end)
        self._done = end
        self._spoken_for = {number for number in self._spoken_for if number > self.lines}

    def _candidates(self, stretch: Stretch) -> list[tuple[int, int]]:
        buffer, begin, end, _ = stretch
        found: dict[int, int] = {}
        # Most logs have no progress bar in most of their blocks: then a line is between two line ends, and no more.
        around = line_around if buffer.find(b"\r", begin, end) >= 0 else row_around
        for search in self._searches:
            seen_to = begin
            for at in search(buffer, begin, end):
                if at >= seen_to:
                    start, seen_to = around(buffer, at, begin, end)
                    found[start] = seen_to
        return sorted(found.items())

    def _look(self, raw: bytes, start: int, stop: int, number: int, shape: int) -> None:
        line = split_prefix(clean(raw))
        around = Around(self._buffer, start, stop, line)
        if TRACEBACK in line.text and not self.first_errors.is_full:
            self.first_errors.begins(number, line, around.after)
        name = self._recognise(line, around, number)
        if len(self._shapes) >= SHAPES:
            self._shapes.clear()
            self._vain.clear()
        if name is not None:
            self._shapes[shape] = name
        elif not self._may_mean_more(line.text) or self._vain.get(shape, 0) >= VAIN:
            self._shapes[shape] = None
        else:
            self._vain[shape] = self._vain.get(shape, 0) + 1

    def _may_mean_more(self, text: str) -> bool:
        """Whether a line that was no message now may be one with other lines around it."""
        return TRACEBACK in text or is_part(text) or self._recogniser.by_surroundings(text)

    def _recognise(self, line: Line, around: Around, number: int) -> str | None:
        """The name of the last message that was noted for the line."""
        text = unescape(line.text)
        name: str | None = None
        if is_part(text):
            name = self._validation(line, text, around, number)
            if name:
                return name
        if is_source(line.text, around):
            return None
        for part in text.split("\n"):
            recognised = self._recogniser.on_line(part, around)
            if recognised:
                name = self._note(recognised, line, around, number)
        if name is None:
            recognised = self._recogniser.across_lines(text, around) or self._recogniser.cut_off(text)
            if recognised:
                name = self._note(recognised, line, around, number)
        return name

    def _validation(self, line: Line, text: str, around: Around, number: int) -> str | None:
        rows = [*(Neighbour(0, part) for part in text.split("\n")), *around.after]
        header = next((i for i, row in enumerate(rows[:4]) if "validation error" in row.text), 0)
        found = complaints(rows[header:])
        if not found and "validation error" not in text and around.close_before:
            if not around.holds(("deepspeed", "DeepSpeed"), text):
                return None
            cut = headless(around.close_before[-1].text, text)
            found = [cut] if cut else []
        name: str | None = None
        for complaint in found:
            recognised = self._recogniser.on_line(complaint.text, around)
            if recognised:
                shown = line._replace(text=_shown(complaint.text))
                name = self._note(recognised, shown, around, number + complaint.offset)
        return name

    def _note(self, recognised: Recognised, line: Line, around: Around, number: int) -> str:
        first, last = number + recognised.first, number + recognised.last
        self._spoken_for.update(range(first, last + 1))
        text = line.text
        if recognised.first < recognised.last:
            rows = (*around.close_before, Neighbour(0, line.text), *around.close_after)
            text = " ".join(
                row.text.strip() for row in rows if recognised.first <= row.offset <= recognised.last
            )
        evidence = Evidence(first, line.rank, text[:600].strip(), innermost_frame(around.before))
        self.sightings.note(recognised.message, recognised.captures, evidence)
        return recognised.message.name


def _shown(complaint: str) -> str:
    """A complaint as evidence: without the words that stand for the report's header."""
    return complaint.partition(": ")[2]
