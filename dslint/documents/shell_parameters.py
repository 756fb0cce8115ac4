"""What `${NAME%.*}`, `${NAME:0:3}`, `${NAME/old/new}` and `${NAME^^}` make of a text that is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dslint.documents.shell_words import Piece, Text, Trail


def trimmed(pieces: Sequence[Piece], operator: str, argument: str, use: Trail) -> list[Piece] | None:
    """Cuts from the ends, slices and letter case, on a text that is known."""
    whole = Text(pieces)
    text = whole.text
    if operator in ("%", "%%", "#", "##"):
        span = cut(text, operator, argument)
        return None if span is None else whole.pieces(*span)
    if operator in ("^", "^^", ",", ",,"):
        if argument:
            return None
        changed = text.upper() if operator[0] == "^" else text.lower()
        if len(operator) == 1:
            changed = changed[:1] + text[1:]
        return [Piece(changed, use)]
    if operator == ":":
        numbers = re.fullmatch(r"(\d{1,6})(?::(\d{1,6}))?", argument)
        if numbers is None:
            return None
        start = int(numbers[1])
        return whole.pieces(start, start + int(numbers[2]) if numbers[2] else len(text))
    if operator in ("/", "//"):
        old, _, new = argument.partition("/")
        if not old or re.search(r"[$`\\*?\[\"'#%]", argument):
            return None
        return [Piece(text.replace(old, new, -1 if operator == "//" else 1), use)]
    return None


def cut(text: str, operator: str, pattern: str) -> tuple[int, int] | None:
    """The span that `${NAME%pattern}` and its like leave; None for a pattern that is not read here."""
    pattern = pattern.strip("\"'")
    if not pattern or re.search(r"[$`\\\[(\"']", pattern) or pattern.count("*") > 2 or len(text) > 300:
        return None
    glob = "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    matches = re.compile(glob, re.DOTALL).fullmatch
    if operator[0] == "%":
        places = range(len(text) + 1) if operator == "%%" else range(len(text), -1, -1)
        return next(((0, place) for place in places if matches(text, place)), (0, len(text)))
    places = range(len(text), -1, -1) if operator == "##" else range(len(text) + 1)
    return next(((place, len(text)) for place in places if matches(text, 0, place)), (0, len(text)))
