"""YAML events → a tree of nodes with exact spans: aliases, merges, tags and keys as PyYAML's `safe_load`
has them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Kind, Member, Node, Problem, join_pointer
from dslint.documents.yaml_events import RefusalError, events
from dslint.documents.yaml_scalars import GOES_ON, STANDARD, STOPS, Scalar, plain, tagged
from dslint.documents.yaml_templates import is_placeholder

DEEPEST: Final = 100
LARGEST: Final = 100_000
"""Nodes that a document may have with its aliases written out; further aliases stay unknown."""

LINE_ENDS: Final = dict.fromkeys(map(ord, "\x85\u2028\u2029"), "\n")
PROPERTY: Final = re.compile(r"(?:&[0-9A-Za-z_-]*|![^\s,\[\]{}]*)[ \t]*(?:\r?\n\s*)?")
COLLECTION_TAGS: Final = frozenset(STANDARD + name for name in ("map", "seq", "set", "omap", "pairs"))


class Key(NamedTuple):
    """A key that waits for its value. `identity` is what Python's dict tells it by."""

    text: str
    start: int
    end: int
    identity: Hashable
    merges: bool = False


class Frame:
    """A collection that is being filled, and the key whose value comes next."""

    __slots__ = ("anchor", "before", "is_key", "key", "keys", "merges", "node", "pointer")

    def __init__(self, node: Node, pointer: str, anchor: str | None, before: int, is_key: bool) -> None:
        self.node = node
        self.pointer = pointer
        self.anchor = anchor
        self.before = before
        self.is_key = is_key
        self.key: Key | None = None
        self.keys: dict[Hashable, Member] = {}
        self.merges: list[Node] = []


class Composer:
    """Events → a tree, without recursion.

    `offset` is where the text stands in its source. `texts` are the spans, in the text, of quoted and block
    scalars: anything may stand in them. `count` is the number of nodes with all aliases written out.
    """

    __slots__ = ("anchors", "count", "frames", "is_over", "offset", "problems", "root", "text", "texts")

    def __init__(self, text: str, offset: int) -> None:
        self.text = text
        self.offset = offset
        self.problems: list[Problem] = []
        self.texts: list[tuple[int, int]] = []
        self.frames: list[Frame] = []
        self.anchors: dict[str, tuple[Node, int] | None] = {}
        self.count = 0
        self.is_over = False
        self.root: Node | None = None

    def compose(self) -> Node | None:
        """The document's root, or None where there is no content."""
        # A version directive changes nothing for `safe_load`; as a comment it is out of the way.
        text = re.sub(r"^%(?=YAML )", "#", self.text, flags=re.M) if "%YAML" in self.text else self.text
        # YAML 1.1 has these for line ends, the reader has not.
        text = text.translate(LINE_ENDS)
        try:
            for event in events(text):
                if not self.take(event):
                    break
        except RefusalError as refusal:
            self.complain("syntax", f"this is not YAML: {refusal.problem}", refusal.offset, refusal.offset)
        while self.frames:
            self.close(self.offset + len(self.text))
        return self.root

    def take(self, event: Any) -> bool:
        """Take one event in; False when enough has been read."""
        name = type(event).__name__
        if self.is_over:
            # A chunk holds one document; what follows it can only be a fault, which the events raise.
            return True
        if name == "ScalarEvent":
            self.scalar(event)
        elif name == "MappingStartEvent":
            return self.open("object", event)
        elif name == "SequenceStartEvent":
            return self.open("array", event)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self.close(self.offset + event.end_mark.index)
        elif name == "AliasEvent":
            self.alias(event)
        elif name == "DocumentEndEvent":
            self.is_over = True
        return True

    # --- where things stand

    def complain(
        self, kind: str, message: str, start: int, end: int, pointer: str | None = None, refused: bool = True
    ) -> None:
        if pointer is None:
            pointer = self.frames[-1].pointer if self.frames else ""
        by = STOPS if refused else GOES_ON
        self.problems.append(Problem(kind, message, self.offset + start, self.offset + end, pointer, by))

    def after_properties(self, event: Any) -> int:
        """Where the value itself starts, behind its tag and anchor."""
        index: int = event.start_mark.index
        if event.anchor is None and event.ctag is None:
            return index
        for _ in range(2):
            match = PROPERTY.match(self.text, index)
            if match is None:
                break
            index = match.end()
        return index

    def empty_place(self, index: int) -> int:
        """Where a value that is not written would stand: behind the colon of its key, or the dash before
        it.
        """
        key = self.frames[-1].key if self.frames else None
        if key is not None:
            return self.text.find(":", key.end - self.offset, index) + 1 or index
        return len(self.text[:index].rstrip()) if self.frames else index

    def is_key_due(self) -> bool:
        return bool(self.frames) and self.frames[-1].node.kind == "object" and self.frames[-1].key is None

    def next_pointer(self) -> str:
        if not self.frames:
            return ""
        frame = self.frames[-1]
        if frame.node.kind == "array":
            return join_pointer(frame.pointer, len(frame.node.items))
        return join_pointer(frame.pointer, frame.key.text) if frame.key else frame.pointer

    # --- values

    def scalar(self, event: Any) -> None:
        self.count += 1
        start, end = self.after_properties(event), event.end_mark.index
        if event.style in ("|", ">"):
            end = start + len(self.text[start:end].rstrip())
        if event.style:
            self.texts.append((start, event.end_mark.index))
        if event.value == "" and not event.style:
            start = end = self.empty_place(start)
        value = Scalar("string", "=") if event.value == "=" and self.is_key_due() else typed(event)
        if value.trouble:
            kind = "unknown-tag" if value.trouble.startswith("the tag") else "bad-scalar"
            message = f"`yaml.safe_load` stops here: {value.trouble}"
            self.complain(kind, message, start, end, self.next_pointer())
        node = Node(value.kind, self.offset + start, self.offset + end, value.value)
        if event.anchor is not None:
            self.claim_anchor(event.anchor, start)
            self.anchors[event.anchor] = (node, 1)
        self.give(node, event.value)

    def alias(self, event: Any) -> None:
        start, end, name = event.start_mark.index, event.end_mark.index, event.anchor
        known = self.anchors.get(name)
        self.count += 1
        node = Node("unknown", self.offset + start, self.offset + end, UNKNOWN)
        if name not in self.anchors:
            message = f"*{name} names an anchor that no value before it has"
            self.complain("undefined-alias", message, start, end, self.next_pointer())
        elif known is not None and self.count + known[1] > LARGEST:
            message = (
                f"with aliases written out there are more than {LARGEST:,} values; this one stays unknown"
            )
            self.complain("too-large", message, start, end, self.next_pointer(), refused=False)
        elif known is not None:
            target, size = known
            self.count += size
            node = Node(target.kind, node.start, node.end, target.value, target.members, target.items)
        self.give(node, str(node.value) if node.kind == "string" else self.text[start:end])

    def claim_anchor(self, name: str, start: int) -> None:
        if name in self.anchors:
            self.complain("duplicate-anchor", f"the anchor &{name} stands twice", start, start)
        # Until its collection is closed, an alias within it would hold itself: it stays unknown.
        self.anchors[name] = None

    # --- collections

    def open(self, kind: Kind, event: Any) -> bool:
        self.count += 1
        start, pointer = self.after_properties(event), self.next_pointer()
        if len(self.frames) >= DEEPEST:
            message = f"nested deeper than {DEEPEST} levels; the rest is not read"
            self.complain("too-deep", message, start, start, pointer, refused=False)
            return False
        tag = event.tag
        if tag is not None and tag != "!" and tag not in COLLECTION_TAGS:
            message = f"`yaml.safe_load` stops here: the tag {tag[:60]} means nothing to it"
            self.complain("unknown-tag", message, start, start, pointer)
        node = Node(kind, self.offset + start, self.offset + start)
        self.frames.append(Frame(node, pointer, event.anchor, self.count - 1, self.is_key_due()))
        if event.anchor is not None:
            self.claim_anchor(event.anchor, start)
        return True

    def close(self, end: int) -> None:
        frame = self.frames.pop()
        node = frame.node
        is_flow = self.text.startswith(("{", "["), node.start - self.offset)
        node.end = end if is_flow else last_end(node)
        for merged in frame.merges:
            merge_into(node, merged)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (node, self.count - frame.before)
        if frame.is_key:
            self.collection_key(node)
        else:
            self.place(node)

    # --- where a finished value goes

    def give(self, node: Node, text: str) -> None:
        """A scalar or an alias: a key where one is due, else a value."""
        if not self.is_key_due():
            self.place(node)
        elif node.kind in ("object", "array"):
            self.collection_key(node)
        else:
            merges = self.text[node.start - self.offset : node.end - self.offset] == "<<"
            identity = object() if node.kind == "unknown" else node.value
            self.frames[-1].key = Key(text, node.start, node.end, identity, merges)

    def collection_key(self, node: Node) -> None:
        start, end = node.start - self.offset, node.end - self.offset
        self.frames[-1].key = Key(self.text[start:end], node.start, node.end, object())
        message = "`yaml.safe_load` stops here: a list or a mapping cannot be a key"
        self.complain("key-type", message, start, end)

    def place(self, node: Node) -> None:
        if not self.frames:
            self.root = node
            return
        frame = self.frames[-1]
        key, frame.key = frame.key, None
        if frame.node.kind == "array":
            frame.node.items.append(node)
        elif key is None:
            # A text that breaks off within a key: there is nothing to hang the value on.
            return
        elif key.merges:
            self.merge(frame, key, node)
        else:
            member = Member(key.text, key.start, key.end, node)
            self.check_duplicate(frame, key, member)
            frame.node.members.append(member)

    def check_duplicate(self, frame: Frame, key: Key, member: Member) -> None:
        first = frame.keys.get(key.identity)
        if first is not None:
            message = f"the key {key.text!r} stands twice; `yaml.safe_load` takes the last without a word"
            start, end = first.key_start - self.offset, first.key_end - self.offset
            pointer = join_pointer(frame.pointer, first.key)
            self.complain("duplicate-key", message, start, end, pointer, refused=False)
        frame.keys[key.identity] = member

    def merge(self, frame: Frame, key: Key, node: Node) -> None:
        parts = node.items if node.kind == "array" else [node]
        if any(part.kind not in ("object", "unknown") for part in parts):
            message = "`yaml.safe_load` stops here: `<<` takes a mapping, or a list of mappings"
            start, end = key.start - self.offset, key.end - self.offset
            self.complain("merge", message, start, end, join_pointer(frame.pointer, "<<"))
            return
        frame.node.end = node.end
        frame.merges.extend(part for part in parts if part.kind == "object")


def typed(event: Any) -> Scalar:
    """A scalar event's kind and value."""
    text: str = event.value
    if is_placeholder(text):
        return Scalar("unknown", UNKNOWN)
    tag = event.tag
    if tag is not None and tag != "!":
        return tagged(tag, text)
    return plain(text) if not event.style and tag is None else Scalar("string", text)


def last_end(node: Node) -> int:
    """Where a block collection ends: with its last value, not with the blank lines and comments behind it."""
    ends = [node.end, *(item.end for item in node.items[-1:])]
    ends += [max(member.key_end, member.node.end) for member in node.members[-1:]]
    return max(ends)


def merge_into(node: Node, merged: Node) -> None:
    """Add a merged mapping's members before the node's own, which win.

    Where two merged mappings differ, the first wins by YAML's rule and the last in some releases of PyYAML:
    the value is unknown.
    """
    own = {member.key: index for index, member in enumerate(node.members)}
    taken = []
    for member in merged.members:
        index = own.get(member.key)
        if index is None:
            taken.append(member)
            continue
        rival = node.members[index]
        if not node.start <= rival.key_start < node.end and rival.node is not member.node:
            unknown = Node("unknown", rival.node.start, rival.node.end, UNKNOWN)
            node.members[index] = rival._replace(node=unknown)
    node.members[:0] = taken
