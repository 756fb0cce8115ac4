"""Changes by pointer → edits of YAML text, in the file's own style: indentation, quotes, flow or block,
line ends.

What is not changed stays byte for byte; a comment goes only with the member whose row it ends. A change
that aliases, anchors, merges or values of several rows make doubtful is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dslint.documents.editing import CannotEdit, Draft, changed, check_target, name_of
from dslint.documents.tree import UNKNOWN, Document, Member, Node, Source, split_pointer, walk
from dslint.documents.yaml import is_refused, parse
from dslint.documents.yaml_writing import block, flow, quoted, scalar
from dslint.fixing.fix import Change, Edit

REST: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?")
"""What may follow a value on its row."""


def edits(document: Document, changes: Sequence[Change]) -> list[Edit]:
    """What to replace in the text to make the changes, one after the other.

    Raises:
        CannotEdit: the text is broken, a change does not fit it, or what it would do is in doubt.
    """
    if is_refused(document):
        first = next(problem for problem in document.problems if "yaml" in problem.refused_by)
        row = document.source.position(first.start).row
        raise CannotEdit(f"row {row} has a fault, which must be mended first: {first.message}")
    sheet = Sheet(document)
    for change in changes:
        sheet.make(change)
    return sheet.draft.edits()


class Row(NamedTuple):
    """An entry of a collection: a member from its key on, or an item without its dash."""

    start: int
    end: int
    node: Node


class Sheet:
    """The text under change, read anew after each change."""

    def __init__(self, document: Document) -> None:
        text = document.source.text
        self.draft = Draft(document.source)
        self.root = document.root
        # A YAML document may be a part of its source; what is around that part keeps its length.
        self.start = text.rfind("\n", 0, document.root.start) + 1
        self.after = len(text) - row_end(text, document.root.end)
        self.newline = "\r\n" if "\r\n" in text else "\n"

    @property
    def text(self) -> str:
        return self.draft.text

    def make(self, change: Change) -> None:
        wanted = changed(self.root.plain(), [change])
        path = split_pointer(change.pointer)
        if not path:
            raise CannotEdit("a YAML file is not replaced as a whole")
        if change.op == "set":
            self.set(path, change.value)
        elif change.op == "remove":
            self.remove(path)
        else:
            target = [*path[:-1], change.value] if change.op == "rename" else split_pointer(change.value)
            check_target(self.root.plain(), path, target)
            if target[:-1] == path[:-1]:
                self.rename(path, target[-1])
            else:
                self.move(path, target)
        self.read_again(name_of(path), wanted)

    def read_again(self, name: str, wanted: Any) -> None:
        source = Source(self.draft.source.path, self.text)
        documents = parse(source, self.start, len(self.text) - self.after)
        if len(documents) != 1 or is_refused(documents[0]) or documents[0].root.plain() != wanted:
            raise CannotEdit(f"{name} cannot be changed without touching more of the YAML around it")
        self.root = documents[0].root

    # --- the way to a place

    def follow(self, path: list[str]) -> list[Node]:
        """The nodes from the root to a path's parent, as far as they are there."""
        nodes = [self.root]
        for key in path[:-1]:
            self.check_own(nodes[-1], path)
            child = self.child(nodes[-1], key, path)
            if child is None:
                break
            nodes.append(child)
        self.check_own(nodes[-1], path)
        return nodes

    def check_own(self, node: Node, path: list[str]) -> None:
        """A value that stands here alone, not an alias, nor something with a name or a tag."""
        line = self.text[self.text.rfind("\n", 0, node.start) + 1 : node.start]
        before = self.text[max(0, node.start - 80) : node.start].rstrip()
        named = re.search(r"[&!][^\s:,\[\]{}]*$", before if not line.strip() else line.rstrip())
        if self.text.startswith("*", node.start) or (named is not None and node.kind != "null"):
            raise CannotEdit(
                f"{name_of(path)} is shared by an anchor or has a tag, so other places would change too"
            )

    def child(self, node: Node, key: str, path: list[str]) -> Node | None:
        if node.kind == "array" and key.isdecimal() and int(key) < len(node.items):
            return node.items[int(key)]
        member = self.member(node, key, path)
        return member.node if member else None

    def member(self, node: Node, key: str, path: list[str]) -> Member | None:
        """The member of a key, if it stands in the node itself and once."""
        found = [member for member in node.members if member.key == key]
        if len(found) > 1:
            raise CannotEdit(f"{name_of(path)} stands twice")
        if found and not node.start <= found[0].key_start < node.end:
            raise CannotEdit(f"{name_of(path)} comes from another place by `<<`")
        return found[0] if found else None

    def is_flow(self, node: Node) -> bool:
        return self.text.startswith(("{", "["), node.start)

    def indent(self, node: Node) -> int:
        """The column of a block collection's entries."""
        return node.start - (self.text.rfind("\n", 0, node.start) + 1)

    def step(self) -> int:
        """How far the file indents: what its first nested block shows."""
        for member in self.root.members:
            if member.node.kind == "object" and member.node.members and not self.is_flow(member.node):
                return max(1, self.indent(member.node) - self.indent(self.root))
        return 2

    # --- changes

    def set(self, path: list[str], value: Any) -> None:
        nodes = self.follow(path)
        depth = len(nodes) - 1
        parent = nodes[-1]
        for key in reversed(path[depth + 1 :]):
            value = {key: value}
        if depth == len(path) - 1 and (old := self.child(parent, path[-1], path)) is not None:
            self.replace(old, value, path)
        elif parent.kind == "array" and not self.is_flow(parent):
            self.add_rows(parent, [f"- {flow(value)}"])
        elif parent.kind == "array" or self.is_flow(parent):
            self.add_to_flow(parent, path[depth], value)
        else:
            self.add_member(parent, path[depth], value)

    def replace(self, old: Node, value: Any, path: list[str]) -> None:
        self.check_own(old, path)
        text = self.text[old.start : old.end]
        if "\n" in text:
            raise CannotEdit(f"{name_of(path)} takes several rows")
        new = flow(value) if isinstance(value, (dict, list)) else scalar(value, text)
        space = " " if not text else ""
        self.draft.replace(old.start, old.end, space + new)

    def add_member(self, parent: Node, key: str, value: Any) -> None:
        indent = self.indent(parent)
        first, *rest = block(value, indent, self.step())
        quote = self.text[parent.members[0].key_start] if parent.members else ""
        self.add_rows(parent, [f"{quoted(key, quote)}:{first}"], rest)

    def add_rows(self, parent: Node, rows: list[str], below: Sequence[str] = ()) -> None:
        """Rows behind the last entry of a block collection, at its entries' column."""
        last = parent
        while last.members or last.items:
            last = last.members[-1].node if last.members else last.items[-1]
        if self.text.startswith(("|", ">"), last.start) and last.kind in ("string", "unknown"):
            raise CannotEdit("the last entry is a text of several rows, which a new row might join")
        pad = " " * self.indent(parent)
        self.insert_rows(parent.end, [*(pad + row for row in rows), *below])

    def insert_rows(self, after: int, rows: Sequence[str]) -> None:
        place = row_end(self.text, after)
        if not REST.fullmatch(self.text, after, place):
            raise CannotEdit("something else stands on the row behind which a new one would go")
        self.draft.replace(place, place, "".join(self.newline + row for row in rows))

    def add_to_flow(self, parent: Node, key: str, value: Any) -> None:
        quote = self.text[parent.members[0].key_start] if parent.members else ""
        new = flow(value) if parent.kind == "array" else f"{quoted(key, quote)}: {flow(value)}"
        entries = rows_of(parent)
        if not entries:
            self.draft.replace(parent.start + 1, parent.end - 1, new)
            return
        last = entries[-1]
        start_of_row = self.text.rfind("\n", 0, last.start) + 1
        lead = self.text[start_of_row : last.start]
        own_row = not lead.strip() and start_of_row > parent.start
        space = self.newline + lead if own_row else " "
        self.draft.replace(last.end, last.end, f",{space}{new}")

    def remove(self, path: list[str]) -> None:
        nodes = self.follow(path)
        parent = nodes[-1]
        if len(nodes) < len(path):
            raise CannotEdit(f"{name_of(path)} is not there")
        if parent.kind == "object":
            self.member(parent, path[-1], path)
        entries = rows_of(parent)
        index = self.index(parent, path)
        self.check_unnamed(entries[index], path)
        if self.is_flow(parent):
            self.remove_from_flow(entries, index)
        elif len(entries) == 1:
            self.empty(nodes, path)
        else:
            self.remove_rows(parent, entries, index, path)

    def index(self, parent: Node, path: list[str]) -> int:
        if parent.kind == "array":
            return int(path[-1])
        return next(i for i, member in enumerate(own_members(parent)) if member.key == path[-1])

    def check_unnamed(self, row: Row, path: list[str]) -> None:
        """An anchor in what goes would leave its aliases without a value."""
        if re.search(r"(?:^|[\s\[{,:-])[&*][^\s&]", self.text[row.start : row.end]):
            raise CannotEdit(f"{name_of(path)} holds an anchor or an alias")

    def remove_from_flow(self, entries: list[Row], index: int) -> None:
        if index + 1 < len(entries):
            self.draft.replace(entries[index].start, entries[index + 1].start, "")
        else:
            start = entries[index - 1].end if index else entries[0].start
            self.draft.replace(start, entries[index].end, "")

    def empty(self, nodes: list[Node], path: list[str]) -> None:
        """The only entry goes: an empty collection in braces or brackets stays."""
        node = nodes[-1]
        content = "{}" if node.kind == "object" else "[]"
        inner = self.text[node.start : node.end]
        if "#" in inner:
            raise CannotEdit(f"{name_of(path)} has comments around it that would be lost")
        start = len(self.text[: node.start].rstrip()) if len(nodes) > 1 else node.start
        if len(nodes) > 1 and self.text[start - 1] not in ":-":
            raise CannotEdit(f"{name_of(path)} has comments around it that would be lost")
        self.draft.replace(start, node.end, (" " if len(nodes) > 1 else "") + content)

    def remove_rows(self, parent: Node, entries: list[Row], index: int, path: list[str]) -> None:
        start, end = entries[index].start, entries[index].end
        if parent.kind == "array":
            start = self.text.rfind("-", 0, start)
        line = self.text.rfind("\n", 0, start) + 1
        place = row_end(self.text, end)
        if not REST.fullmatch(self.text, end, place):
            raise CannotEdit(f"{name_of(path)} shares its row with something else")
        if not self.text[line:start].strip():
            whole = place + (2 if self.text.startswith("\r\n", place) else 1)
            if place == len(self.text):
                line = len(self.text[:line].rstrip("\r\n")) if line else 0
                whole = place
            self.draft.replace(line, whole, "")
            return
        # The first of several members behind a dash: the second takes its place.
        following = entries[1].start if index == 0 else end
        if index != 0 or self.text[end:following].strip():
            raise CannotEdit(f"{name_of(path)} shares its row with something else")
        self.draft.replace(start, following, "")

    def rename(self, path: list[str], name: str) -> None:
        parent = self.follow(path)[-1]
        member = self.member(parent, path[-1], path) if parent.kind == "object" else None
        if member is None:
            raise CannotEdit(f"{name_of(path)} has no key of its own")
        self.draft.replace(member.key_start, member.key_end, quoted(name, self.text[member.key_start]))

    def move(self, path: list[str], target: list[str]) -> None:
        node = self.child(self.follow(path)[-1], path[-1], path)
        if node is None:
            raise CannotEdit(f"{name_of(path)} is not there")
        if any(inner.value is UNKNOWN for _, inner in walk(node)):
            raise CannotEdit(f"{name_of(path)} holds a value that only a run would show")
        if node.kind in ("object", "array") and "#" in self.text[node.start : node.end]:
            raise CannotEdit(f"{name_of(path)} has comments that would be lost")
        value = node.plain()
        wanted = changed(self.root.plain(), [Change("remove", pointer_of(path))])
        self.remove(path)
        self.read_again(name_of(path), wanted)
        self.set(target, value)


def pointer_of(path: list[str]) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


def own_members(node: Node) -> list[Member]:
    return [member for member in node.members if node.start <= member.key_start < node.end]


def rows_of(node: Node) -> list[Row]:
    if node.kind == "array":
        return [Row(item.start, item.end, item) for item in node.items]
    return [
        Row(member.key_start, max(member.key_end, member.node.end), member.node)
        for member in own_members(node)
    ]


def row_end(text: str, offset: int) -> int:
    """Where the row of an offset ends, before its line end."""
    match = re.compile(r"[\r\n]").search(text, offset)
    return match.start() if match else len(text)
