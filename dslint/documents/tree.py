"""The one shape that every file is read into: sources, nodes with spans, documents.

A node's span is a pair of character offsets into its source's text, so a config that stands inside a script (a heredoc,
a dict literal) has its true place in that script without translation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

Kind = Literal["object", "array", "string", "number", "boolean", "null", "unknown"]
Syntax = Literal["json", "yaml", "python", "shell"]
Dialect = Literal["deepspeed", "accelerate", "training", "neox", "script", "program", "launch"]


MANY: Final = 200
"""Members from which on an object keeps an index of them: no config has so many, and a search would be quadratic."""


class Unknown:
    """A value that only a run would show: from the environment, computed, or a template's placeholder."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; test `is UNKNOWN` first")


UNKNOWN: Final = Unknown()


class Position(NamedTuple):
    """A place as people count: rows and columns from 1, columns in Unicode characters."""

    row: int
    column: int


class Source:
    """A file's whole text. `path` is as the user gave it, relative to the working directory, with `/`."""

    __slots__ = ("_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None

    def position(self, offset: int) -> Position:
        """The row and column of a character offset; `\\n`, `\\r\\n` and a lone `\\r` end a row; a BOM has no column."""
        starts = self._starts
        if starts is None:
            starts = self._starts = line_starts(self.text)
        row = bisect_right(starts, offset)
        column = offset - starts[row - 1] + 1
        if row == 1 and offset > 0 and self.text.startswith("\ufeff"):
            column -= 1
        return Position(row, column)

    def line(self, row: int) -> str:
        """The text of a row, without its line end."""
        if self._starts is None:
            self._starts = line_starts(self.text)
        start = self._starts[row - 1]
        end = self._starts[row] if row < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]


class Member(NamedTuple):
    """A key with its value; the key's span includes its quotes."""

    key: str
    key_start: int
    key_end: int
    node: Node


NO_PLACES: Final[tuple[list[Member], int, dict[str, int]]] = ([], 0, {})


class Node:
    """A value of the tree. Scalars hold `value`; an unknown node holds UNKNOWN.

    `origin` is set in derived trees alone (an Accelerate YAML seen as the DeepSpeed config that it makes): the JSON
    Pointer, in the file, of what the node was made from. `open` objects may hold more than what is written here
    (`**options`, a later update), so nothing is known to be absent from them.
    """

    # Written out, as a dataclass costs every cold start more than the file that it reads.
    __slots__ = ("_places", "end", "items", "kind", "members", "open", "origin", "start", "value")

    def __init__(
        self,
        kind: Kind,
        start: int,
        end: int,
        value: Any = None,
        members: list[Member] | None = None,
        items: list[Node] | None = None,
        origin: str | None = None,
        open: bool = False,
    ) -> None:
        self.kind: Kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.members: list[Member] = [] if members is None else members
        self.items: list[Node] = [] if items is None else items
        self.origin = origin
        self.open = open
        self._places = NO_PLACES

    def but(self, **changes: Any) -> Node:
        """A node like this one with other attributes; its members and items are shared, not copied."""
        return Node(**{name: getattr(self, name) for name in self.__slots__ if name != "_places"} | changes)

    def member(self, key: str) -> Member | None:
        """The member that counts for `key`: the last, when it stands twice."""
        if len(self.members) > MANY:
            place = self.places().get(key)
            return None if place is None else self.members[place]
        for member in reversed(self.members):
            if member.key == key:
                return member
        return None

    def places(self) -> dict[str, int]:
        """Where in a large object each key stands, found out when first asked, and anew when there are other members."""
        members, size, places = self._places
        if members is not self.members or size != len(members):
            places = {member.key: place for place, member in enumerate(self.members)}
            self._places = (self.members, len(self.members), places)
        return places

    def get(self, key: str) -> Node | None:
        """The value of `member`. Written out for small objects, as nothing is asked more often."""
        members = self.members
        if len(members) > MANY:
            member = self.member(key)
            return member.node if member else None
        for name, _, _, node in reversed(members):
            if name == key:
                return node
        return None

    def plain(self) -> Any:
        """The value as `json.loads` would give it, with UNKNOWN where nothing is known."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        if self.kind == "array":
            return [item.plain() for item in self.items]
        return self.value


Loader = Literal["json", "hjson", "yaml"]


class Problem(NamedTuple):
    """What a loader would say of the text. `kind` is one of the names below; `refused_by` tells which loaders stop.

    Kinds: syntax (no loader reads it), duplicate-key, comment, trailing-comma, quoteless, single-quotes, number-form,
    constant (NaN, Infinity), not-an-object, and so on; the parser's module lists them.
    """

    kind: str
    message: str
    start: int
    end: int
    pointer: str
    refused_by: frozenset[Loader]


class Document(NamedTuple):
    """A tree with where it came from. `derived` trees are made up from another file's keys: no edits by pointer."""

    source: Source
    root: Node
    syntax: Syntax
    dialect: Dialect = "deepspeed"
    problems: tuple[Problem, ...] = ()
    derived: bool = False

    def node(self, pointer: str) -> Node | None:
        return find(self.root, pointer)


class Place(NamedTuple):
    """Somewhere in a file: a span, and the pointer of what stands there when it is part of a config."""

    source: Source
    start: int
    end: int
    pointer: str | None = None


def split_pointer(pointer: str) -> list[str]:
    """RFC 6901: `/a~1b/0` → `["a/b", "0"]`; the root is the empty string."""
    if not pointer:
        return []
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def join_pointer(parent: str, key: str | int) -> str:
    text = key if isinstance(key, str) else str(key)
    if "~" in text or "/" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    return f"{parent}/{text}"


def find(root: Node, pointer: str) -> Node | None:
    """The node at a pointer, or None."""
    node: Node | None = root
    for key in split_pointer(pointer):
        if node is None:
            return None
        if node.kind == "object":
            node = node.get(key)
        elif node.kind == "array" and key.isdecimal() and int(key) < len(node.items):
            node = node.items[int(key)]
        else:
            return None
    return node


def find_member(root: Node, pointer: str) -> Member | None:
    """The member (key and value) that a pointer names, or None for the root, an array's item or nothing."""
    parent, _, _ = pointer.rpartition("/")
    node = find(root, parent) if pointer else None
    return node.member(split_pointer(pointer)[-1]) if node is not None and node.kind == "object" else None


def walk(node: Node, pointer: str = "") -> Iterator[tuple[str, Node]]:
    """Every node below and including this one, with its pointer, in the order of the text."""
    stack = [(pointer, node)]
    while stack:
        here, current = stack.pop()
        yield here, current
        children = [(join_pointer(here, m.key), m.node) for m in current.members]
        children += [(join_pointer(here, i), item) for i, item in enumerate(current.items)]
        stack.extend(reversed(children))
