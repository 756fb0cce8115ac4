"""Which message a line is: the patterns that its words pick, tried on it as it is, joined with its neighbours, or cut off."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from dslint.diagnosis.anchors import words_of
from dslint.diagnosis.around import Around, Neighbour
from dslint.diagnosis.message import Catalogue, Message, Pattern
from dslint.diagnosis.template import squeeze

SQUEEZED_LEAST: Final = 18
CUT_LEAST: Final = 24


class Recognised(NamedTuple):
    """A message on a line, or on the lines from `first` to `last`, counted from the one that was looked at."""

    message: Message
    captures: Mapping[str, str]
    first: int = 0
    last: int = 0


class Found(NamedTuple):
    """A pattern's match, before its captures are read."""

    weight: int
    message: Message
    match: re.Match[str]


class Recogniser:
    """The catalogue, indexed by words."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._by_word: dict[str, list[tuple[Message, Pattern]]] = {}
        self._always: list[tuple[Message, Pattern]] = []
        for message in catalogue.messages:
            for pattern in message.patterns:
                for word in pattern.words:
                    self._by_word.setdefault(word, []).append((message, pattern))
                if not pattern.words:
                    self._always.append((message, pattern))
        # What may be cut off, in the catalogue's order, by its first characters.
        self._starts: dict[str, list[tuple[int, Message, str]]] = {}
        patterns = [(m, p) for m in catalogue.messages for p in m.patterns if not m.near and not m.needs]
        for order, (message, pattern) in enumerate(patterns):
            if len(pattern.literal) > CUT_LEAST:
                self._starts.setdefault(pattern.literal[:CUT_LEAST], []).append(
                    (order, message, pattern.literal)
                )
        self._longest = max((len(pattern.literal) for _, pattern in patterns), default=0)

    def on_line(self, line: str, around: Around) -> Recognised | None:
        """The message that stands on the line as it is; of several the one with most fixed text."""
        found = self._best(self._worth_trying(line), line, around, squeezed=False)
        return Recognised(found.message, captures_of(found, line, around)) if found else None

    def across_lines(self, line: str, around: Around) -> Recognised | None:
        """The message of which the line is a part, where a terminal or a collector has wrapped it."""
        close = [*around.close_before, Neighbour(0, line), *around.close_after]
        ends = list(accumulate(len(squeeze(neighbour.text)) for neighbour in close))
        here = len(around.close_before)
        start, end = ends[here - 1] if here else 0, ends[here]
        joined = "".join(squeeze(neighbour.text) for neighbour in close)
        worth_trying = self._worth_trying(" ".join(neighbour.text for neighbour in close))
        long_enough = [pair for pair in worth_trying if len(pair[1].squeezed_literal) >= SQUEEZED_LEAST]
        found = self._best(long_enough, joined, around, squeezed=True)
        # What stands whole on one line is that line's own affair.
        if found is None or not (found.match.start() < end and found.match.end() > start):
            return None
        first, last = bisect_right(ends, found.match.start()), bisect_left(ends, found.match.end())
        if first == last:
            return None
        return Recognised(
            found.message, captures_of(found, joined, around), close[first].offset, close[last].offset
        )

    def by_surroundings(self, line: str) -> bool:
        """Whether the line may be a message, if only its surroundings were others."""
        return any(message.near and pattern.literal in line for message, pattern in self._worth_trying(line))

    def cut_off(self, line: str) -> Recognised | None:
        """The message whose beginning ends the line, where a collector cut it off."""
        text = line.rstrip(" .…")
        if len(text) < CUT_LEAST:
            return None
        found: list[tuple[int, Message]] = []
        for start in range(max(0, len(text) - self._longest), len(text) - CUT_LEAST + 1):
            for order, message, literal in self._starts.get(text[start : start + CUT_LEAST], ()):
                if literal.startswith(text[start:]):
                    found.append((order, message))
        return Recognised(min(found, key=lambda pair: pair[0])[1], {}) if found else None

    def _worth_trying(self, text: str) -> list[tuple[Message, Pattern]]:
        found = list(self._always)
        by_word = self._by_word
        for word in words_of(text) & by_word.keys():
            found += by_word[word]
        return found

    def _best(
        self, pairs: Iterable[tuple[Message, Pattern]], text: str, around: Around, squeezed: bool
    ) -> Found | None:
        best: Found | None = None
        for message, pattern in pairs:
            literal = pattern.squeezed_literal if squeezed else pattern.literal
            if literal not in text or (
                best and pattern.weight <= best.weight and message is not best.message
            ):
                continue
            match = compiled(pattern.squeezed if squeezed else pattern.pattern).search(text)
            if match is None or any(word in text for word in message.unless):
                continue
            if message.near and not around.holds(message.near, text):
                continue
            best = heavier(best, Found(pattern.weight, message, match))
        return best


def heavier(one: Found | None, other: Found) -> Found:
    """Of two messages the one with more fixed text; of one message's patterns the one that captures more."""
    if one is None:
        return other
    if one.message is not other.message:
        return other if other.weight > one.weight else one
    kept = other if len(other.match.groupdict()) > len(one.match.groupdict()) else one
    return kept._replace(weight=max(one.weight, other.weight))


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def captures_of(found: Found, line: str, around: Around) -> dict[str, str]:
    """What the pattern's holes hold, with what the message's further captures find in the lines around."""
    message = found.message
    captures = {name: _tidy(value) for name, value in found.match.groupdict().items() if value}
    if message.captures:
        together = "\n".join((line, *(near.text for near in (*around.after[:20], *around.before[-20:]))))
        squeezed = squeeze(together)
        for further in message.captures:
            match = compiled(further.pattern).search(together) or compiled(further.squeezed).search(squeezed)
            for name, value in (match.groupdict() if match else {}).items():
                captures.setdefault(name, _tidy(value or ""))
    return captures


def _tidy(value: str) -> str:
    text = value.strip()
    return text if text.endswith("...") else text.rstrip(".,;:").rstrip()
