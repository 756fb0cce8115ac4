"""Changes by pointer → edits of JSON text, in the file's own style.

What is not changed stays byte for byte. New entries take indentation, quotes, colons, commas and line ends
from what stands around them; a moved value keeps its spelling; a comment goes only with the entry whose row
it ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dslint.documents.editing import CannotEdit, Draft, check_target, name_of
from dslint.documents.json import parse
from dslint.documents.json_layout import (
    BARE_KEY,
    Layout,
    Style,
    entries,
    has_newline,
    is_embedded,
    newline_of,
)
from dslint.documents.tree import UNKNOWN, Document, Node, Source, find, join_pointer, split_pointer
from dslint.fixing.fix import Change, Edit


def edits(document: Document, changes: Sequence[Change]) -> list[Edit]:
    """What to replace in the text to make the changes, one after the other.

    Raises:
        CannotEdit: the text has a syntax error, or a change does not fit it.
    """
    sheet = Sheet(document)
    for change in changes:
        sheet.make(change)
    return sheet.draft.edits()


class Moved(NamedTuple):
    """A value on its way: its text, the indentation of its row, and the comment that ends its row."""

    text: str
    indent: str
    comment: str

    def at(self, indent: str) -> str:
        """The text with the rows after its first shifted to a new depth; ''' texts live by their blanks."""
        if "'''" in self.text or self.indent == indent:
            return self.text

        def shift(match: re.Match[str]) -> str:
            newline, blanks = match.groups()
            known = blanks.startswith(self.indent)
            return newline + indent + blanks[len(self.indent) :] if known else match[0]

        return re.sub(r"(\r\n|\r|\n)([ \t]*)(?=[^ \t\r\n])", shift, self.text)

    def inline_comment(self) -> str:
        """The comment in a form that other text may follow."""
        comment = self.comment.strip()
        if not comment or comment.startswith("/*"):
            return self.comment
        return f" /* {comment.lstrip('#/').replace('*/', '* /').strip()} */"


class Parent(NamedTuple):
    """An object with one member, made because it was missing."""

    key: str
    value: Any


class Sheet:
    """The text under change, read anew after each change, so that each finds what the one before left."""

    def __init__(self, document: Document) -> None:
        for problem in document.problems:
            if problem.kind == "syntax":
                row = document.source.position(problem.start).row
                raise CannotEdit(f"row {row} has a syntax error that must be mended first: {problem.message}")
        text = document.source.text
        self.draft = Draft(document.source)
        self.path = document.source.path
        self.start = document.root.start
        self.rest = len(text) - document.root.end  # what follows the config keeps its length
        self.embedded = is_embedded(text, document.root)
        self.newline = newline_of(text)
        self.layout = Layout(text, document.root, document.root.end)
        self.stale = False

    def now(self) -> Layout:
        """The text as it is now, with its tree."""
        if self.stale:
            text = self.draft.text
            end = len(text) - self.rest
            substitute = (lambda _: UNKNOWN) if self.embedded else None
            self.layout = Layout(text, parse(Source(self.path, text), self.start, end, substitute).root, end)
            self.stale = False
        return self.layout

    def replace(self, start: int, end: int, content: str) -> None:
        if self.embedded and re.search(r"[$`'\\]", content):
            raise CannotEdit(f"`{content.strip()}` would not pass through the shell unchanged")
        self.draft.replace(start, end, content)
        self.stale = True

    # --- the four changes -------------------------------------------------------------------------------

    def make(self, change: Change) -> None:
        path = split_pointer(change.pointer)
        if change.op == "set":
            self.set(path, change.value)
            return
        if not path:
            raise CannotEdit("the config as a whole cannot be removed, renamed or moved")
        parent, index = self.entry(path)
        if change.op == "remove":
            self.remove(path, parent, index)
            return
        target = [*path[:-1], change.value] if change.op == "rename" else split_pointer(change.value)
        if target == path:
            return
        check_target(self.now().root.plain(), path, target)
        if sum(member.key == path[-1] for member in parent.members) > 1:
            raise CannotEdit(f"{name_of(path)} stands twice; which one is meant?")
        if target[:-1] == path[:-1]:
            self.rename(parent, index, target[-1])
        else:
            self.move(parent, index, target)

    def set(self, path: list[str], value: Any) -> None:
        layout = self.now()
        node = find(layout.root, pointer_of(path))
        if node is None:
            self.insert(path, value)
        elif node.kind == "unknown" and node.start == node.end:
            raise CannotEdit(f"{name_of(path)} has no value in the text")
        elif node.kind == "unknown" or repr(node.plain()) != repr(value):
            parent = find(layout.root, pointer_of(path[:-1])) if path else node
            style = layout.style(layout.root if parent is None else parent)
            self.replace(node.start, node.end, self.render(value, style, layout.indent(node.start)))

    def rename(self, parent: Node, index: int, key: str) -> None:
        member = parent.members[index]
        self.replace(member.key_start, member.key_end, key_text(key, self.now().quote(member)))

    def move(self, parent: Node, index: int, target: list[str]) -> None:
        layout = self.now()
        member = parent.members[index]
        node = member.node
        tail = layout.tail(entries(parent)[index])
        comment = ""
        if layout.starts_row(member.key_start) and tail.comment_end > tail.end:
            comment = layout.text[tail.end : tail.comment_end].rstrip()
        # A text without quotes would run on where more follows in its row.
        text = written(node.value) if layout.is_quoteless(node) else layout.text[node.start : node.end]
        moved = Moved(text, layout.indent(member.key_start), comment)
        self.remove_one(parent, index)
        self.insert(target, moved)

    def entry(self, path: list[str]) -> tuple[Node, int]:
        """The container that an entry stands in, and its number there; the last, when a key stands twice."""
        parent = find(self.now().root, pointer_of(path[:-1]))
        key = path[-1]
        if parent is not None and parent.kind == "object":
            for index in range(len(parent.members) - 1, -1, -1):
                if parent.members[index].key == key:
                    return parent, index
        if parent is not None and parent.kind == "array" and key.isdecimal() and int(key) < len(parent.items):
            return parent, int(key)
        raise CannotEdit(f"{name_of(path)} is not there")

    # --- removing ---------------------------------------------------------------------------------------

    def remove(self, path: list[str], parent: Node, index: int) -> None:
        """Take out an entry; of a key that stands twice every one, as what counts is that the key is gone."""
        twice = sum(member.key == path[-1] for member in parent.members)
        self.remove_one(parent, index)
        for _ in range(twice - 1):
            self.remove_one(*self.entry(path))

    def remove_one(self, parent: Node, index: int) -> None:
        """Take out an entry, its comma, the blanks around it, and the rows that it leaves empty."""
        layout = self.now()
        text = layout.text
        own = entries(parent)
        first, last = layout.inside(parent)
        start, tail = own[index].start, layout.tail(own[index])
        end = tail.end
        is_last = index == len(own) - 1
        # The last entry takes the comma before it along, unless one follows it.
        comma = layout.comma_after(own[index - 1].end) if is_last and index and not tail.has_comma else -1
        row = layout.row_start(start)
        following = last if is_last else own[index + 1].start
        if comma >= row and layout.starts_row(comma):  # commas stand at the start of rows
            start, comma = comma, -1
        if layout.starts_row(start) and tail.row_end >= 0 and row >= first:
            start, end = self.with_blank_row(row, tail.row_end, first)
        elif not is_last and not text[end:following].strip(" \t"):
            end = following
        elif comma >= 0 and not text[comma + 1 : start].strip():
            start, comma = comma, -1
        else:
            start = self.after_blanks(own[index - 1].end if index else first, start)
        if len(own) == 1 and not (text[first:start] + text[end:last]).strip():
            start, end = first, last
        self.replace(start, end, "")
        if comma >= 0:
            self.replace(comma, comma + 1, "")

    def after_blanks(self, least: int, start: int) -> int:
        """Where the blanks and the comma's end before `start` begin, if nothing else stands after `least`."""
        text = self.layout.text
        comma = text.find(",", least, start)
        begin = comma + 1 if comma >= 0 else least
        return start if text[least:start].strip(" \t\r\n,") else begin

    def with_blank_row(self, start: int, end: int, least: int) -> tuple[int, int]:
        """Rows that go, with the blank row before them where it would part nothing any more."""
        text = self.layout.text
        match = re.compile(r"[ \t]*([^ \t]?)").match(text, end)
        if match and match[1] in ("}", "]", "\r", "\n"):
            before = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\Z").search(text, least, start)
            if before is not None:
                return start - (len(before[0]) - (2 if before[0].startswith("\r\n") else 1)), end
        return start, end

    # --- inserting --------------------------------------------------------------------------------------

    def insert(self, path: list[str], value: Any) -> None:
        """Put a new entry at a path, with the parents that are missing."""
        node = self.now().root
        depth = 0
        while depth < len(path) - 1:
            child = find(node, pointer_of([path[depth]]))
            if child is None:
                break
            node, depth = child, depth + 1
        if node.kind == "object":
            for key in reversed(path[depth + 1 :]):
                value = Parent(key, value)
            self.insert_entry(node, path[depth], value)
        elif node.kind == "array" and depth == len(path) - 1 and path[-1] in ("-", str(len(node.items))):
            self.insert_entry(node, None, value)
        else:
            where = name_of(path[:depth]) if depth else "the config"
            raise CannotEdit(f"{name_of(path)} cannot be set: {where} is no object")

    def insert_entry(self, node: Node, key: str | None, value: Any) -> None:
        layout = self.now()
        style = layout.style(node)
        own = entries(node)
        if not own:
            self.insert_first(node, key, value, style)
            return
        place = place_for(node, key)
        before = own[place]
        is_last = place == len(own) - 1
        tail = layout.tail(before)
        if layout.is_quoteless(before.node) or (style.rows and (is_last or tail.row_end >= 0)):
            entry = self.entry_text(key, value, style, style.indent)
            self.insert_row(node, place, entry, comment_of(value), style)
            return
        entry = self.entry_text(key, value, style, "", inline=True)
        self.replace(before.end, before.end, f",{style.space}{entry}")

    def insert_row(self, node: Node, place: int, entry: str, comment: str, style: Style) -> None:
        """Put an entry into a row of its own, behind the entry before it and its comment."""
        layout = self.now()
        text = layout.text
        before = entries(node)[place]
        tail = layout.tail(before)
        last = layout.inside(node)[1]
        wants_comma = style.commas and (place < len(node.members or node.items) - 1 or tail.has_comma)
        row = f"{self.newline}{style.indent}{entry}{',' if wants_comma else ''}{comment}"
        at = tail.end
        if tail.comment_end >= 0 and not has_newline(text[before.end : tail.end]):
            at += len(text[tail.end : min(tail.comment_end, last)].rstrip())
        elif comment and not has_newline(text[tail.end : last]):
            row += self.newline + layout.indent(node.start)
        self.replace(at, at, row)
        if style.commas and not tail.has_comma and not layout.is_quoteless(before.node):
            self.replace(before.end, before.end, ",")

    def insert_first(self, node: Node, key: str | None, value: Any, style: Style) -> None:
        layout = self.now()
        start, end = layout.inside(node)
        inner = layout.text[start:end].rstrip()
        if start == node.start:  # an empty text
            self.replace(start, end, f"{{{self.entry_text(key, value, style, '', inline=True)}}}")
        elif style.rows or inner:
            entry = self.entry_text(key, value, style, style.indent) + comment_of(value)
            closing = layout.indent(node.start)
            self.replace(
                start + len(inner), end, f"{self.newline}{style.indent}{entry}{self.newline}{closing}"
            )
        else:
            self.replace(start, end, self.entry_text(key, value, style, "", inline=True))

    # --- writing ----------------------------------------------------------------------------------------

    def entry_text(self, key: str | None, value: Any, style: Style, indent: str, inline: bool = False) -> str:
        """The text of an entry; `inline` with the comment that moves along, so that text may follow."""
        text = self.render(value, style, indent)
        if inline and isinstance(value, Moved):
            text += value.inline_comment()
        return text if key is None else f"{key_text(key, style.quote)}{style.colon}{text}"

    def render(self, value: Any, style: Style, indent: str) -> str:
        """The text of a value; rows after its first are indented from `indent` on."""
        if isinstance(value, Moved):
            return value.at(indent)
        if isinstance(value, Parent):
            return self.render_object([(value.key, value.value)], style, indent, comment_of(value.value))
        if isinstance(value, dict) and value:
            return self.render_object([(str(key), inner) for key, inner in value.items()], style, indent)
        if isinstance(value, (list, tuple)):
            one_row = style._replace(rows=False, blocks=False)
            return f"[{f',{style.space}'.join(self.render(item, one_row, indent) for item in value)}]"
        return written(value, style.quote)

    def render_object(
        self, members: list[tuple[str, Any]], style: Style, indent: str, comment: str = ""
    ) -> str:
        if not style.blocks:
            row = f",{style.space}".join(
                self.entry_text(k, v, style, indent, inline=True) for k, v in members
            )
            return f"{{{style.pad}{row}{style.pad}}}"
        inner = indent + style.unit
        rows = f",{self.newline}{inner}".join(self.entry_text(k, v, style, inner) for k, v in members)
        return f"{{{self.newline}{inner}{rows}{comment}{self.newline}{indent}}}"


def comment_of(value: Any) -> str:
    return value.comment if isinstance(value, Moved) else ""


def place_for(node: Node, key: str | None) -> int:
    """After which entry a new one goes: the last whose key starts with the same word, else the last."""
    word = (key or "").partition("_")[0]
    alike = [i for i, member in enumerate(node.members) if member.key.partition("_")[0] == word]
    return alike[-1] if alike else len(entries(node)) - 1


def pointer_of(path: list[str]) -> str:
    pointer = ""
    for key in path:
        pointer = join_pointer(pointer, key)
    return pointer


def key_text(key: str, quote: str) -> str:
    return key if not quote and BARE_KEY.fullmatch(key) else written(key, quote)


def written(value: Any, quote: str = '"') -> str:
    """A scalar as JSON writes it; a text in single quotes when these are the file's and it has none in it.

    Raises:
        CannotEdit: JSON has no way to write it.
    """
    # Imported here: a run without edits needs no encoder.
    import json

    if value is UNKNOWN or (isinstance(value, float) and value - value != 0):
        raise CannotEdit(f"{value!r} cannot be written in JSON")
    text = json.dumps(value, ensure_ascii=False)
    if quote == "'" and isinstance(value, str) and "'" not in value:
        return "'" + text[1:-1].replace('\\"', '"') + "'"
    return text
