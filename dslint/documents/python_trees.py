"""Trees of values that a program builds: copies, merges, and parts of which nothing is known any more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dslint.documents.tree import UNKNOWN, Node


class Override(NamedTuple):
    """A change in the program to a config that it loaded from a file. `node` is None where a key is
    removed.
    """

    path: tuple[str, ...]
    node: Node | None
    certain: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a program loads from a JSON file: `path` as written, with what the program then changes in it.

    `blurred`: something may have changed anything in it. `shared`: under another name, at any time. An empty path
    is what `attribute` ("args.config") gives.
    """

    path: str
    start: int
    end: int
    overrides: tuple[Override, ...] = ()
    blurred: bool = False
    attribute: str = ""
    shared: bool = False

    def but(self, **changes: Any) -> Loaded:
        return replace(self, **changes)


Value = Node | Loaded


def weight(value: Value) -> int:
    """About how much there is to look at."""
    if isinstance(value, Loaded):
        return len(value.overrides) // 4
    return (len(value.members) + len(value.items)) // 4


def unseen(value: Value) -> Value:
    """An object of which nothing can be told."""
    return replace(value, blurred=True) if isinstance(value, Loaded) else blurred(value)


def copied(value: Value) -> Value:
    """The same value in a tree of its own; what a file gave is never changed in place."""
    return value if isinstance(value, Loaded) else copied_node(value)


def copied_node(node: Node) -> Node:
    return node.but(
        members=[member._replace(node=copied_node(member.node)) for member in node.members],
        items=[copied_node(item) for item in node.items],
    )


def blurred(node: Node) -> Node:
    return Node("unknown", node.start, node.end, UNKNOWN)


def blur(node: Node) -> None:
    """Anything in it may have changed."""
    if node.kind == "object":
        node.open = True
        node.members = [member._replace(node=blurred(member.node)) for member in node.members]
    else:
        node.kind, node.value, node.items = "unknown", UNKNOWN, []


def erase(node: Node) -> None:
    """Anything in it may change at any time, so that no later change tells what is in it."""
    node.kind, node.value, node.open = "unknown", UNKNOWN, False
    node.members, node.items = [], []


def spread(result: Node, value: Value) -> None:
    """`**value` in a dict: its keys win over those before it."""
    if isinstance(value, Loaded) or value.kind != "object":
        blur(result)
        return
    if value.open:
        blur(result)
    given = {member.key for member in value.members}
    result.members = [member for member in result.members if member.key not in given] + value.members


def remove(target: Node, key: str, certain: bool) -> None:
    if certain:
        target.members = [member for member in target.members if member.key != key]
        return
    for number, member in enumerate(target.members):
        if member.key == key:
            target.members[number] = member._replace(node=blurred(member.node))


def element_of(value: Value, key: Any) -> Node | None:
    if isinstance(value, Loaded):
        return None
    if value.kind == "object" and isinstance(key, str):
        return value.get(key)
    if value.kind == "array" and isinstance(key, int) and -len(value.items) <= key < len(value.items):
        return value.items[key]
    return None


def same_content(one: Any, other: Any) -> bool:
    """Equal, where unknown parts are equal to each other."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_content(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_content, one, other))
    if one is UNKNOWN or other is UNKNOWN:
        return one is other
    return bool(one == other) and type(one) is type(other)


def truth_of(value: Value) -> bool | None:
    if isinstance(value, Loaded) or value.kind == "unknown":
        return None
    if value.kind == "object":
        if any(member.node.kind != "unknown" for member in value.members):
            return True
        # A member of unknown value need not be there.
        return None if value.open or value.members else False
    if value.kind == "array":
        return bool(value.items)
    return bool(value.value)
