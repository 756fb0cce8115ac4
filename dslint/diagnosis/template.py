"""What a message looks like in a log: literal text with named holes, as `train_batch_size is {train:int}`.

A template is written once and read in two ways: as it was printed, and with all white space gone, which is how a line
that a terminal wrapped or a collector re-flowed is recognised. Its literal pieces are what the fast search looks for.

Holes: `{name}` some text of the line, `{name:int}`, `{name:number}`, `{name:one}` (a 1), `{name:word}` (no space, no
quote), `{name:path}` (a
dotted key), `{name:list}` (in brackets), `{*}` anything on the line, `{**}` anything over several lines. `{{` and `}}`
are braces.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

HOLES: Final[dict[str, str]] = {
    "text": r"[^\n]{1,300}?",
    "rest": r"[^\n]{1,300}",
    "int": r"-?\d+",
    "number": r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)",
    "one": r"1(?![\d.])",
    "word": r"[^\s'\"`,;()\[\]{}]+",
    "path": r"[A-Za-z_][\w.]*[A-Za-z_\d]",
    "list": r"\[[^\]\n]{0,2000}\]?",
    "*": r"[^\n]{0,300}?",
    "**": r"[\s\S]{0,1500}?",
}
_HOLE: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z_]*|\*\*?)(?::(?P<kind>[a-z]+))?\}")
_SPACE: Final = re.compile(r"\s+")


class TemplateError(ValueError):
    """A template that cannot be read; the sentence says what is wrong."""


class Template(NamedTuple):
    """`pattern` for the text as printed, `squeezed` for it without white space; `literals` the fixed pieces."""

    pattern: str
    squeezed: str
    literals: tuple[str, ...]

    @property
    def longest(self) -> str:
        return max(self.literals, key=len)

    @property
    def weight(self) -> int:
        """How much fixed text must be there: the more, the more particular the template."""
        return sum(len(piece) for piece in self.literals)


def squeeze(text: str) -> str:
    """The text without any white space."""
    return _SPACE.sub("", text)


def read_template(text: str) -> Template:
    """Read a template's text. Raises TemplateError for an unknown kind of hole or a template with no fixed text."""
    pieces: list[tuple[str, str]] = []
    literal = ""
    position = 0
    for match in _HOLE.finditer(text):
        literal += text[position : match.start()]
        position = match.end()
        if match[0] in ("{{", "}}"):
            literal += match[0][0]
            continue
        if literal:
            pieces.append(("", literal))
            literal = ""
        pieces.append(_hole(match, text, at_end=match.end() == len(text)))
    literal += text[position:]
    if literal:
        pieces.append(("", literal))
    literals = tuple(piece for hole, piece in pieces if not hole)
    if not any(piece.strip() for piece in literals):
        raise TemplateError(f"the template {text!r} has no fixed text to search for")
    pattern = "".join(hole or re.escape(piece) for hole, piece in pieces)
    squeezed = "".join(hole or re.escape(squeeze(piece)) for hole, piece in pieces)
    return Template(pattern, squeezed, literals)


def _hole(match: re.Match[str], text: str, at_end: bool) -> tuple[str, str]:
    name, kind = match["name"], match["kind"] or "text"
    if name.startswith("*"):
        return HOLES[name], ""
    if kind not in HOLES:
        known = ", ".join(kind for kind in HOLES if kind.isalpha())
        raise TemplateError(
            f"the template {text!r} has a hole of the unknown kind {kind!r}; the kinds are {known}"
        )
    if kind == "text" and at_end:
        kind = "rest"
    return f"(?P<{name}>{HOLES[kind]})", ""
