"""Two texts → the fewest and smallest replacements that make the one the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Replacement(NamedTuple):
    """Replace the characters `start:end` of the old text by `content`."""

    start: int
    end: int
    content: str


# A run of letters and figures, a run of blanks, or one sign.
TOKENS: Final = re.compile(r"\w+|[^\S\r\n]+|\r\n|.", re.DOTALL)
# Beyond so many tokens in a stretch of changed rows, what lies between its first and last change is replaced whole.
MOST: Final = 4000


def replacements(old: str, new: str) -> list[Replacement]:
    """First by rows, then by words in the rows that differ."""
    found: list[Replacement] = []
    for rows in differences(old.splitlines(keepends=True), new.splitlines(keepends=True)):
        before, after = TOKENS.findall(old[rows.start : rows.end]), TOKENS.findall(rows.content)
        if len(before) + len(after) > MOST:
            found.append(trimmed(old, rows))
        else:
            found += [
                Replacement(rows.start + part.start, rows.start + part.end, part.content)
                for part in differences(before, after)
            ]
    return found


def differences(before: list[str], after: list[str]) -> Iterator[Replacement]:
    """Where two sequences of texts differ; the places are offsets into the first one's whole text."""
    # Imported here: only a fix needs it.
    from difflib import SequenceMatcher

    starts = list(offsets(before))
    for tag, first, last, new_first, new_last in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            yield Replacement(starts[first], starts[last], "".join(after[new_first:new_last]))


def offsets(rows: list[str]) -> Iterator[int]:
    at = 0
    yield at
    for row in rows:
        at += len(row)
        yield at


def trimmed(old: str, whole: Replacement) -> Replacement:
    """A replacement without the beginning and the end that both sides share; a `\\r\\n` stays whole."""
    text, content = old[whole.start : whole.end], whole.content
    most = min(len(text), len(content))
    head = 0
    while head < most and text[head] == content[head]:
        head += 1
    tail = 0
    while tail < most - head and text[-1 - tail] == content[-1 - tail]:
        tail += 1
    if head and text[head - 1] == "\r":
        head -= 1
    if tail and text[len(text) - tail] == "\n":
        tail -= 1
    return Replacement(whole.start + head, whole.end - tail, content[head : len(content) - tail])
