"""How a JSON text is laid out: rows, indentation, commas, quotes. Only looks, changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from dslint.documents.tree import Member, Node, walk

BARE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_GAP: Final = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_BLANKS: Final = re.compile(r"[ \t]*")
_ROW_COMMENT: Final = re.compile(
    r"[ \t]*(?:#[^\r\n]*|//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*)?(?=[\r\n]|\Z)"
)


class Entry(NamedTuple):
    """An entry of a container: a member from its key on, or an item."""

    start: int
    end: int
    node: Node


class Tail(NamedTuple):
    """What follows an entry. `comment_end` and `row_end` are -1 when more than a comment does in the row."""

    end: int  # past the comma, if there is one
    has_comma: bool
    comment_end: int  # past the comment that ends the row, if there is one
    row_end: int  # past the line end


class Style(NamedTuple):
    """How the entries of a container are written."""

    rows: bool  # a row for each entry
    blocks: bool  # new objects stand over several rows
    indent: str  # what stands before each entry, when each has a row
    unit: str  # what one level of indentation is
    colon: str
    space: str  # behind a comma in a row
    pad: str  # inside of the brackets in a row
    quote: str  # of keys: ", ' or none
    commas: bool


class Layout:
    """A text with its tree. `end` is where the config's part of the text ends."""

    def __init__(self, text: str, root: Node, end: int) -> None:
        self.text = text
        self.root = root
        self.end = end

    # --- places -----------------------------------------------------------------------------------------

    def inside(self, node: Node) -> tuple[int, int]:
        """The span between a container's brackets, or the whole of a root without them."""
        if self.is_bare(node):
            return node.start, node.end
        return node.start + 1, node.end - 1

    def is_bare(self, node: Node) -> bool:
        """Whether this is a root without braces."""
        return node.end < node.start + 2 or self.text[node.start] not in "{["

    def comma_after(self, pos: int) -> int:
        """Where the comma behind an entry stands, or -1."""
        match = _GAP.match(self.text, pos, self.end)
        here = match.end() if match else pos
        return here if self.text[here : here + 1] == "," else -1

    def tail(self, entry: Entry) -> Tail:
        comma = self.comma_after(entry.end)
        end = comma + 1 if comma >= 0 else entry.end
        match = _ROW_COMMENT.match(self.text, end, self.end)
        if match is None:
            return Tail(end, comma >= 0, -1, -1)
        stop = match.end()
        return Tail(end, comma >= 0, stop, past_newline(self.text, stop) if stop < len(self.text) else -1)

    def row_start(self, pos: int) -> int:
        return max(self.text.rfind("\n", 0, pos), self.text.rfind("\r", 0, pos)) + 1

    def starts_row(self, pos: int) -> bool:
        return not self.text[self.row_start(pos) : pos].strip("\ufeff \t")

    def indent(self, pos: int) -> str:
        """The blanks that the row of `pos` starts with."""
        start = self.row_start(pos)
        return self.text[start : self.past_blanks(start)]

    def past_blanks(self, pos: int) -> int:
        match = _BLANKS.match(self.text, pos)
        return match.end() if match else pos

    def quote(self, member: Member) -> str:
        """The quotes of a key: `"`, `'` or none."""
        first = self.text[member.key_start : member.key_start + 1]
        return first if first in ('"', "'") else ""

    def is_quoteless(self, node: Node) -> bool:
        """Whether a value is a text that runs to the end of its row."""
        return node.kind == "string" and self.text[node.start : node.start + 1] not in ('"', "'")

    # --- style ------------------------------------------------------------------------------------------

    def style(self, node: Node) -> Style:
        """How entries of this container are written, by its own ones or else those of the whole text."""
        own = entries(node)
        rows = self.has_rows(node)
        unit = self.unit()
        indent = "" if self.is_bare(node) else self.indent(node.start) + unit
        if rows:
            # The last one's, as a new entry comes after it.
            indent = next((self.indent(e.start) for e in reversed(own) if self.starts_row(e.start)), indent)
        sample = self.sample(node)
        colon = self.text[sample.key_end : sample.node.start] if sample else ": "
        if colon.strip(" \t") != ":":
            colon = ": "
        return Style(
            rows=rows,
            blocks=rows and self.has_blocks(node),
            indent=indent,
            unit=unit,
            colon=colon,
            space=self.space(own, " " if rows or colon != ":" else ""),
            pad="" if rows or not own else self.pad(node),
            quote=self.quote(sample) if sample else '"',
            commas=self.has_commas(node),
        )

    def sample(self, node: Node) -> Member | None:
        """A member that shows how members are written: the last one here, else the first of the text."""
        if node.members:
            return node.members[-1]
        return next((member for other in self.containers() for member in other.members), None)

    def space(self, own: list[Entry], default: str) -> str:
        for one, other in pairwise(own):
            gap = self.text[one.end : other.start]
            if gap[:1] == "," and not gap[1:].strip(" "):
                return gap[1:]
        return default

    def pad(self, node: Node) -> str:
        start, end = self.inside(node)
        return " " if self.text[start] == " " and self.text[end - 1] == " " else ""

    def has_rows(self, node: Node) -> bool:
        """Whether the entries of this container have rows of their own."""
        own = entries(node)
        start, end = self.inside(node)
        if own and self.is_bare(node):
            return True
        if len(own) > 1:
            return any(has_newline(self.text[one.end : other.start]) for one, other in pairwise(own))
        if has_newline(self.text[start:end]):
            return not own or has_newline(self.text[start : own[0].start])
        if own or node.kind == "array" or node is self.root:
            return False
        return self.has_rows(self.root) and self.has_blocks(self.root)

    def has_blocks(self, node: Node) -> bool:
        """Whether objects below stand over several rows: as those here do, else as those of the text."""
        everywhere = (other for other in self.containers() if other is not self.root)
        for scope in ((member.node for member in node.members), everywhere):
            objects = [other for other in scope if other.members]
            if objects:
                return any(has_newline(self.text[other.start : other.end]) for other in objects)
        return True

    def has_commas(self, node: Node) -> bool:
        """Whether commas stand between entries; Hjson can do without where each has a row."""
        own = entries(node)
        if len(own) > 1:
            return any(self.comma_after(entry.end) >= 0 for entry in own[:-1])
        others = [one for other in self.containers() for one, _ in pairwise(entries(other))]
        if not others:
            return not self.is_bare(self.root)
        return any(self.comma_after(entry.end) >= 0 for entry in others)

    def unit(self) -> str:
        for node in self.containers():
            outer = "" if self.is_bare(node) else self.indent(node.start)
            for entry in entries(node):
                inner = self.indent(entry.start)
                own_row = self.starts_row(entry.start) and self.row_start(entry.start) > node.start
                if own_row and inner.startswith(outer) and inner != outer:
                    return inner[len(outer) :]
        return "  "

    def containers(self) -> Iterator[Node]:
        return (node for _, node in walk(self.root) if node.members or node.items)


def entries(node: Node) -> list[Entry]:
    if node.kind == "object":
        return [Entry(member.key_start, member.node.end, member.node) for member in node.members]
    return [Entry(item.start, item.end, item) for item in node.items]


def newline_of(text: str) -> str:
    match = re.search(r"\r\n|\r|\n", text)
    return match[0] if match else "\n"


def has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def past_newline(text: str, pos: int) -> int:
    return pos + 2 if text.startswith("\r\n", pos) else min(pos + 1, len(text))


def is_embedded(text: str, root: Node) -> bool:
    """Whether the config stands inside of another text, such as a script."""
    before = _GAP.match(text, 1 if text.startswith("\ufeff") else 0)
    after = _GAP.match(text, root.end)
    return (before is not None and before.end() < root.start) or (
        after is not None and after.end() < len(text)
    )
