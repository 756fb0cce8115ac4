"""Changes of a config that is written as a dict in a Python program, and of a call's keywords → edits of its
text.

Only literals are edited, in their own style: quotes, indentation, trailing commas. What comes from a name, an
argument or another statement is left alone, as a change there would reach further than the config.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dslint.documents.editing import CannotEdit, Draft, check_target, name_of
from dslint.documents.python import Call, Program, read_program
from dslint.documents.tree import (
    Document,
    Member,
    Node,
    Source,
    find,
    join_pointer,
    line_starts,
    split_pointer,
)
from dslint.fixing.fix import Change, Edit

OPENING: Final = frozenset({"{", "[", "("})
CLOSING: Final = frozenset({"}", "]", ")"})


def edits(document: Document, changes: Sequence[Change]) -> list[Edit]:
    """What to replace in the program's text to make the changes, one after the other.

    Raises:
        CannotEdit: a change does not fit, or what it is about is not written as a literal there.
    """
    if document.source.path.endswith(".ipynb"):
        raise CannotEdit(f"{document.source.path} is a notebook, whose cells are not edited")
    sheet = Sheet(document)
    for change in changes:
        sheet.make(change)
    return sheet.draft.edits()


class Entry(NamedTuple):
    """One entry between the brackets of a literal or a call, with the comma after it."""

    start: int
    end: int
    comma: int | None


class Brackets(NamedTuple):
    """What stands between two brackets: `start` is after the opening one, `end` before the closing one."""

    start: int
    end: int
    entries: list[Entry]


def brackets(text: str, start: int, end: int) -> Brackets:
    """The entries of the first pair of brackets in a balanced piece of code.

    Raises:
        CannotEdit: the piece is not balanced.
    """
    piece = text[start:end]
    rows = line_starts(piece)
    entries: list[Entry] = []
    depth = 0
    inside = first = last = -1

    def at(position: tuple[int, int]) -> int:
        return start + rows[position[0] - 1] + position[1]

    try:
        # Universal line ends keep rows apart as `line_starts` does.
        tokens = list(tokenize.generate_tokens(io.StringIO(piece, newline=None).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError) as error:
        raise CannotEdit("the dict's brackets cannot be told apart") from error
    for token in tokens:
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.string in OPENING and token.type == tokenize.OP:
            depth += 1
            if depth == 1 and inside < 0:
                inside = at(token.end)
                continue
        elif token.string in CLOSING and token.type == tokenize.OP:
            depth -= 1
            if depth == 0:
                if first >= 0:
                    entries.append(Entry(first, last, None))
                return Brackets(inside, at(token.start), entries)
        elif depth == 1 and token.string == "," and token.type == tokenize.OP:
            entries.append(Entry(first, last, at(token.start)))
            first = -1
            continue
        if depth >= 1:
            first = at(token.start) if first < 0 else first
            last = at(token.end)
    raise CannotEdit("the dict's brackets cannot be told apart")


class Moved(str):
    """A value's own text, on its way to another place."""

    __slots__ = ()


class Sheet:
    """A program's text under change, read anew after each change."""

    def __init__(self, document: Document) -> None:
        self.draft = Draft(document.source)
        self.path = document.source.path
        self.root = document.root
        found = documents_of(read_program(document.source))
        places = [number for number, other in enumerate(found) if same_place(other.root, document.root)]
        if not places:
            raise CannotEdit(f"the config is not found again in {self.path}")
        self.number = places[0]
        self.newline = "\r\n" if "\r\n" in document.source.text else "\n"

    @property
    def text(self) -> str:
        return self.draft.text

    def replace(self, start: int, end: int, content: str) -> None:
        self.draft.replace(start, end, content)

    def read_again(self) -> None:
        found = documents_of(read_program(Source(self.path, self.text)))
        if self.number >= len(found):
            raise CannotEdit(f"after the change the config is not found again in {self.path}")
        self.root = found[self.number].root

    def make(self, change: Change) -> None:
        path = split_pointer(change.pointer)
        if not path:
            raise CannotEdit("a config in a program is not replaced as a whole")
        if change.op == "set":
            self.set(path, change.value)
        else:
            parent, member = self.member(path)
            if change.op == "remove":
                self.remove(parent, member, path)
            else:
                target = [*path[:-1], change.value] if change.op == "rename" else split_pointer(change.value)
                check_target(self.root.plain(), path, target)
                if target[:-1] == path[:-1]:
                    self.rename(parent, member, target[-1], path)
                else:
                    self.move(parent, member, path, target)
        self.read_again()

    # The four changes.

    def set(self, path: list[str], value: Any) -> None:
        node = find(self.root, pointer_of(path))
        if node is None:
            self.insert(path, value)
            return
        if is_known(node) and repr(node.plain()) == repr(value):
            return
        written = self.text[node.start : node.end]
        if not is_literal(written):
            raise CannotEdit(f"{name_of(path)} comes from `{shortened(written)}`; change it there")
        parent = find(self.root, pointer_of(path[:-1])) or self.root
        indent = indent_at(self.text, node.start)
        self.replace(node.start, node.end, self.rendered(value, self.quote(parent), indent, self.unit()))

    def insert(self, path: list[str], value: Any) -> None:
        depth = 1
        while find(self.root, pointer_of(path[:depth])) is not None:
            depth += 1
        parent = find(self.root, pointer_of(path[: depth - 1]))
        if parent is None or parent.kind != "object":
            raise CannotEdit(f"{name_of(path)} cannot be set: {name_of(path[: depth - 1])} is no dict")
        for key in reversed(path[depth:]):
            value = {key: value}
        self.add(parent, path[depth - 1], value)

    def add(self, parent: Node, key: str, value: Any) -> None:
        """A new entry at the end of a dict."""
        found = self.literal(parent)
        call = self.is_call(parent)
        if call and not key.isidentifier():
            raise CannotEdit(f"`{key}` cannot be a keyword of dict()")
        quote = self.quote(parent)
        shown = key if call else quoted(key, quote)
        sign = "=" if call else ": "
        if not found.entries:
            rendered = self.rendered(value, quote, indent_at(self.text, found.start), "")
            self.replace(found.start, found.end, f"{shown}{sign}{rendered}")
            return
        last = found.entries[-1]
        if not self.is_spread_out(found):
            rendered = self.rendered(value, quote, "", "")
            content = f" {shown}{sign}{rendered}" if last.comma is not None else f", {shown}{sign}{rendered}"
            at = last.end if last.comma is None else last.comma + 1
            if last.comma is not None:
                content += ","
            self.replace(at, at, content)
            return
        indent = indent_at(self.text, found.entries[0].start)
        rendered = self.rendered(value, quote, indent, self.unit(), last.comma is not None)
        at = after_comment(self.text, last.end if last.comma is None else last.comma + 1, found.end)
        tail = "," if last.comma is not None else ""
        self.replace(at, at, f"{self.newline}{indent}{shown}{sign}{rendered}{tail}")
        if last.comma is None:
            self.replace(last.end, last.end, ",")

    def remove(self, parent: Node, member: Member, path: list[str]) -> None:
        found = self.literal(parent)
        index = self.index(found, member, path)
        start, end = removal(self.text, found, index)
        self.replace(start, end, "")
        if index and index == len(found.entries) - 1 and found.entries[index].comma is None:
            comma = found.entries[index - 1].comma
            if comma is not None and comma < start:
                self.replace(comma, comma + 1, "")

    def rename(self, parent: Node, member: Member, key: str, path: list[str]) -> None:
        written = self.text[member.key_start : member.key_end]
        if self.is_call(parent) and written.isidentifier():
            if not key.isidentifier():
                raise CannotEdit(f"`{key}` cannot be a keyword of dict()")
            self.replace(member.key_start, member.key_end, key)
            return
        if not is_text_literal(written):
            raise CannotEdit(f"the key of {name_of(path)} is `{shortened(written)}`, no plain text")
        self.replace(member.key_start, member.key_end, quoted(key, "'" if written.endswith("'") else '"'))

    def move(self, parent: Node, member: Member, path: list[str], target: list[str]) -> None:
        value = Moved(self.text[member.node.start : member.node.end])
        if not self.within(member.node, parent):
            raise CannotEdit(f"{name_of(path)} is written elsewhere in the program")
        self.remove(parent, member, path)
        self.read_again()
        self.insert(target, value)

    # What stands where.

    def member(self, path: list[str]) -> tuple[Node, Member]:
        parent = find(self.root, pointer_of(path[:-1]))
        member = parent.member(path[-1]) if parent is not None and parent.kind == "object" else None
        if parent is None or member is None:
            raise CannotEdit(f"{name_of(path)} is not there")
        if sum(other.key == path[-1] for other in parent.members) > 1:
            raise CannotEdit(f"{name_of(path)} stands twice; which one is meant?")
        return parent, member

    def literal(self, node: Node) -> Brackets:
        """The entries of a dict that is written out.

        Raises:
            CannotEdit: it is made in another way.
        """
        written = self.text[node.start : node.end]
        if not written.startswith("{") and not self.is_call(node):
            raise CannotEdit(f"the dict comes from `{shortened(written)}`; change it there")
        if written.startswith("{") and not written.endswith("}"):
            raise CannotEdit(f"the dict is put together by `{shortened(written)}`")
        return brackets(self.text, node.start, node.end)

    def is_call(self, node: Node) -> bool:
        return re.match(r"dict\s*\(", self.text[node.start : node.end]) is not None

    def index(self, found: Brackets, member: Member, path: list[str]) -> int:
        for index, entry in enumerate(found.entries):
            if entry.start <= member.key_start and member.key_end <= entry.end:
                return index
        raise CannotEdit(f"{name_of(path)} is set by another statement of the program")

    def within(self, node: Node, parent: Node) -> bool:
        return parent.start <= node.start and node.end <= parent.end

    def is_spread_out(self, found: Brackets) -> bool:
        """Whether entries have rows of their own."""
        return (
            is_first_in_row(self.text, found.entries[0].start) and "\n" in self.text[found.start : found.end]
        )

    def quote(self, node: Node) -> str:
        """The quotes that the dict's own keys have, else the config's."""
        for place in (node, self.root):
            for member in place.members:
                written = self.text[member.key_start : member.key_end]
                if is_text_literal(written):
                    return "'" if written.endswith("'") else '"'
        return '"'

    def unit(self) -> str:
        """One step of indentation in this program."""
        found = re.search(r"\n([ \t]+)\S", self.text)
        if found is None:
            return "    "
        return "\t" if found[1].startswith("\t") else " " * min(len(found[1]), 4)

    def rendered(self, value: Any, quote: str, indent: str, unit: str, trailing: bool = True) -> str:
        """A value as Python code; dicts over several rows where `unit` says how far to indent them, with a
        comma after the last row's entry where that is the style.
        """
        if isinstance(value, Moved):
            return str(value)
        if isinstance(value, str):
            return quoted(value, quote)
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.rendered(item, quote, indent, "") for item in value) + "]"
        if not isinstance(value, dict):
            return repr(value)
        if not value:
            return "{}"
        inner = indent + unit
        entries = [
            f"{quoted(key, quote)}: {self.rendered(item, quote, inner, unit, trailing)}"
            for key, item in value.items()
        ]
        if not unit:
            return "{" + ", ".join(entries) + "}"
        rows = f",{self.newline}".join(f"{inner}{entry}" for entry in entries)
        return f"{{{self.newline}{rows}{',' if trailing else ''}{self.newline}{indent}}}"


# Keywords of calls.


def set_keyword(source: Source, call: Call, name: str, value: Any) -> list[Edit]:
    """What to replace so that a call gives `name=value`.

    Raises:
        CannotEdit: the argument is given by place or through a dict, or its value is no literal.
    """
    given = call.arguments.get(name)
    if given is None:
        return add_keyword(source, call, name, value)
    written = source.text[given.start : given.end]
    if given.keyword is None or not is_literal(written):
        raise CannotEdit(f"`{name}` comes from `{shortened(written)}`; change it there")
    return [Edit(source, given.start, given.end, code_of(value, written))]


def add_keyword(source: Source, call: Call, name: str, value: Any) -> list[Edit]:
    """What to replace so that a call has one keyword more, at its end (before `**rest`)."""
    found = brackets(source.text, call.callee_end, call.end)
    shown = f"{name}={code_of(value)}"
    if not found.entries:
        return [Edit(source, found.start, found.end, shown)]
    last = found.entries[-1]
    text = source.text
    if text.startswith("**", last.start):
        spread_out = is_first_in_row(text, last.start)
        between = "\n" + indent_at(text, last.start) if spread_out else " "
        return [Edit(source, last.start, last.start, f"{shown},{between}")]
    if not is_first_in_row(text, found.entries[0].start):
        at = last.end if last.comma is None else last.comma + 1
        content = f", {shown}" if last.comma is None else f" {shown},"
        return [Edit(source, at, at, content)]
    newline = "\r\n" if "\r\n" in text else "\n"
    at = after_comment(text, last.end if last.comma is None else last.comma + 1, found.end)
    tail = "," if last.comma is not None else ""
    row = Edit(source, at, at, f"{newline}{indent_at(text, found.entries[0].start)}{shown}{tail}")
    if last.comma is not None:
        return [row]
    if at == last.end:
        return [row._replace(content="," + row.content)]
    return [Edit(source, last.end, last.end, ","), row]


def remove_keyword(source: Source, call: Call, name: str) -> list[Edit]:
    """What to replace so that a call no longer gives a keyword; its comma and the row that it leaves empty go
    too.

    Raises:
        CannotEdit: the argument is not written as a keyword of this call.
    """
    found, index = keyword_entry(source, call, name)
    start, end = removal(source.text, found, index)
    result = [Edit(source, start, end, "")]
    if index and index == len(found.entries) - 1 and found.entries[index].comma is None:
        comma = found.entries[index - 1].comma
        if comma is not None and comma < start:
            result.insert(0, Edit(source, comma, comma + 1, ""))
    return result


def rename_keyword(source: Source, call: Call, name: str, new: str) -> list[Edit]:
    """What to replace so that a keyword has another name.

    Raises:
        CannotEdit: the argument is not written as a keyword of this call.
    """
    keyword_entry(source, call, name)
    keyword = call.arguments[name].keyword
    assert keyword is not None
    return [Edit(source, keyword[0], keyword[1], new)]


def keyword_entry(source: Source, call: Call, name: str) -> tuple[Brackets, int]:
    given = call.arguments.get(name)
    if given is None:
        raise CannotEdit(f"the call gives no `{name}`")
    found = brackets(source.text, call.callee_end, call.end)
    if given.keyword is not None:
        for index, entry in enumerate(found.entries):
            if entry.start == given.keyword[0]:
                return found, index
    raise CannotEdit(f"`{name}` is not given as a keyword there")


# Small things.


def documents_of(program: Program) -> list[Document]:
    """Every config of a program, in an order that changes of values keep."""
    found = [config.document for config in program.configs if config.document is not None]
    return found + [document for _, document in sorted(program.definitions.items())]


def same_place(one: Node, other: Node) -> bool:
    return (one.start, one.end) == (other.start, other.end) and repr(one.plain()) == repr(other.plain())


def pointer_of(path: list[str]) -> str:
    pointer = ""
    for key in path:
        pointer = join_pointer(pointer, key)
    return pointer


def is_known(node: Node) -> bool:
    if node.kind == "object":
        return not node.open and all(is_known(member.node) for member in node.members)
    return node.kind != "unknown" and all(is_known(item) for item in node.items)


def is_literal(code: str) -> bool:
    """Code without any name in it: constants, arithmetic on them, and containers of these."""
    try:
        tree = ast.parse(f"({code}\n)", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(
        isinstance(node, ast.Name | ast.Call | ast.Lambda | ast.JoinedStr) for node in ast.walk(tree)
    )


def is_text_literal(code: str) -> bool:
    return re.fullmatch(r"\"[^\"\\\r\n]*\"|'[^'\\\r\n]*'", code) is not None


def quoted(text: str, quote: str) -> str:
    if quote == "'":
        return repr(text)
    shown = repr(text)
    if shown.startswith("'") and '"' not in shown and "\\'" not in shown:
        return f'"{shown[1:-1]}"'
    return shown


def code_of(value: Any, like: str = '"') -> str:
    return quoted(value, "'" if like.endswith("'") else '"') if isinstance(value, str) else repr(value)


def shortened(code: str) -> str:
    first = code.strip().split("\n", 1)[0].rstrip()
    return first if len(first) <= 40 else first[:37] + "..."


def row_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def indent_at(text: str, offset: int) -> str:
    """The blanks that the row of a place begins with."""
    start = row_start(text, offset)
    found = re.compile(r"[ \t]*").match(text, start)
    return found[0] if found else ""


def is_first_in_row(text: str, offset: int) -> bool:
    return not text[row_start(text, offset) : offset].strip()


def after_comment(text: str, offset: int, limit: int) -> int:
    """Past the blanks and the comment that end a row, if nothing else does."""
    found = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n])").match(text, offset, limit)
    return found.end() if found and "#" in found[0] else offset


def removal(text: str, found: Brackets, index: int) -> tuple[int, int]:
    """The characters to take out for an entry to go, with its comma and the row that it leaves empty."""
    entry = found.entries[index]
    end = entry.end if entry.comma is None else entry.comma + 1
    rest = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)").match(text, end)
    if is_first_in_row(text, entry.start) and rest is not None and rest.end() <= found.end + 1:
        return row_start(text, entry.start), rest.end()
    if entry.comma is None and index:
        before = found.entries[index - 1]
        return before.comma if before.comma is not None else before.end, end
    blanks = re.compile(r"[ \t]*").match(text, end)
    return entry.start, blanks.end() if blanks and index + 1 < len(found.entries) else end
