"""What the fast search looks for on the way through a log, and the words by which patterns are then picked.

A line that matters has the name of an exception, a level, or one of a few words: is not supported, does not match. These
pieces stand in next to no line of a healthy log. Those that begin with a capital are searched for together, a capital at a
time: capitals are rare, and the search skips to each as fast as memory is read. Each of the others costs a pass over the
bytes, about 0.4 ns a byte, so there are as few as will do. A line that holds one is then looked at whole: its words pick
the few patterns worth trying.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

ANCHORS: Final[tuple[str, ...]] = (
    "Error",
    "Exception",
    "ERROR",
    "WARN",
    "Warning",
    "not ",
    "mismatch",
    "return code",
    "exitcode",
    "unrecognized",
    ", input_type=",
)

_WORD: Final = re.compile(r"[A-Za-z_]{2,}")
_COMMON: Final = frozenset(
    {"Error", "error", "the", "is", "to", "in", "of", "be", "for", "and", "not", "with", "DeepSpeed"}
)
WORDS_EACH: Final = 3


Search = Callable[[bytes, int, int], Iterator[int]]


def searches(anchors: Iterable[str]) -> list[Search]:
    """Functions that give the places of anchors in `buffer[start:end]`, ascending; all of them together give all anchors."""
    found: list[Search] = []
    capitals: dict[str, list[str]] = {}
    for anchor in anchors:
        if anchor[0].isascii() and anchor[0].isupper():
            capitals.setdefault(anchor[0], []).append(anchor[1:])
        else:
            found.append(partial(_places_of_text, anchor.encode()))
    for capital, rests in capitals.items():
        # One literal character before the alternatives is what makes the search skip.
        pattern = f"{capital}(?:{'|'.join(map(re.escape, rests))})"
        found.append(partial(_places_of_pattern, re.compile(pattern.encode())))
    return found


def _places_of_text(anchor: bytes, buffer: bytes, start: int, end: int) -> Iterator[int]:
    at = buffer.find(anchor, start, end)
    while at >= 0:
        yield at
        at = buffer.find(anchor, at + len(anchor), end)


def _places_of_pattern(pattern: re.Pattern[bytes], buffer: bytes, start: int, end: int) -> Iterator[int]:
    return map(re.Match.start, pattern.finditer(buffer, start, end))


def words_of(text: str) -> set[str]:
    """The words of a line of a log, as `Pattern.words` are to be compared with them."""
    return set(_WORD.findall(text))


def whole_words(literals: Iterable[str]) -> list[str]:
    """The words of a template's fixed pieces that a line must hold whole: none that runs into a hole."""
    pieces = list(literals)
    words: list[str] = []
    for place, piece in enumerate(pieces):
        for match in _WORD.finditer(piece):
            runs_into_hole = (match.start() == 0 and place > 0) or (
                match.end() == len(piece) and place < len(pieces) - 1
            )
            if not runs_into_hole:
                words.append(match[0])
    return words


def rarest(words: Iterable[str], counts: Counter[str]) -> list[str]:
    """The few words of a pattern that are rarest in the whole catalogue; any of them on a line makes it worth trying."""
    ordered = sorted(set(words) - _COMMON, key=lambda word: (counts[word], -len(word), word))
    return ordered[:WORDS_EACH] or sorted(set(words))[:WORDS_EACH]
