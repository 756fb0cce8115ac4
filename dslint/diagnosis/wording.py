"""The catalogue's sentences, filled with what was captured from the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dslint.documents.tree import join_pointer

_HOLE: Final = re.compile(r"\{([a-z_]+)\}")
_QUOTED_HOLE: Final = re.compile(r"`\{([a-z_]+)\}`")
# Parts the values that `together` joins; no log has it, since lines are cleaned of control characters.
_AND: Final = "\x1f"
LONGEST: Final = 240


def fill(text: str, captures: Mapping[str, str]) -> str | None:
    """The sentence with its holes filled; None when a capture is missing."""
    if any(not captures.get(name) for name in _HOLE.findall(text)):
        return None
    quoted = _QUOTED_HOLE.sub(lambda match: f"`{listed(captures[match[1]], '`')}`", text)
    return _HOLE.sub(lambda match: listed(captures[match[1]], ""), quoted)


def sentences(texts: Sequence[str], all_captures: Sequence[Mapping[str, str]]) -> list[str]:
    """Each sentence for each set of captures, each once; those whose captures are missing are left out."""
    said: list[str] = []
    for text in texts:
        for captures in all_captures or [{}]:
            filled = fill(text, captures)
            if filled is not None and filled not in said:
                said.append(filled)
    return said


def summary_of(text: str, all_captures: Sequence[Mapping[str, str]]) -> str:
    """What happened, in a line. A hole without a capture takes the end of the line with it, or becomes general."""
    filled = [fill(text, captures) for captures in all_captures or [{}]]
    distinct = list(dict.fromkeys(one for one in filled if one is not None))
    if distinct:
        more = len(distinct) - 1
        return distinct[0] + (f" (and {more} more)" if more else "")
    general = re.sub(r": \{[a-z_]+\}(?: and \{[a-z_]+\})?$", "", text)
    return _HOLE.sub(lambda match: "a setting" if match.start() == 0 else "…", general)


def pointers_of(templates: Iterable[str], all_captures: Sequence[Mapping[str, str]]) -> list[str]:
    """JSON Pointers; a dotted capture (`optimizer.params.lr`) becomes a path, and one without a capture is left out."""
    pointers: list[str] = []
    for template in templates:
        for captures in all_captures or [{}]:
            pointer = _pointer(template, captures)
            if pointer is not None and pointer not in pointers:
                pointers.append(pointer)
    return pointers


def _pointer(template: str, captures: Mapping[str, str]) -> str | None:
    pointer = ""
    for part in template.split("/")[1:]:
        match = _HOLE.fullmatch(part)
        if match is None:
            pointer = join_pointer(pointer, part)
            continue
        value = captures.get(match[1])
        if not value or value.startswith("("):
            return None
        for key in value.split("."):
            pointer = join_pointer(pointer, key)
    return pointer


def together(all_captures: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """All sets of captures as one, for a sentence that speaks of all of them."""
    names = {name for captures in all_captures for name in captures}
    return {
        name: _AND.join(dict.fromkeys(captures[name] for captures in all_captures if captures.get(name)))
        for name in names
    }


def listed(values: str, quote: str) -> str:
    """One value as it is, or several from `together`: a, b and c, each in its quotes but for the outermost."""
    *most, last = (shortened(value) for value in values.split(_AND))
    return f"{f'{quote}, {quote}'.join(most)}{quote} and {quote}{last}" if most else last


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
