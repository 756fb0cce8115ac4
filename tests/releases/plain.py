"""Trees made from plain values, for tests that need no text."""

from __future__ import annotations

from itertools import count
from typing import Any

from dslint.documents.tree import UNKNOWN, Member, Node


def node_of(value: Any, places: Any = None) -> Node:
    """The tree that the parser would give for a value, with made-up places in the order of the text."""
    places = places or count()
    at = next(places)
    if value is UNKNOWN:
        return Node("unknown", at, at + 1, UNKNOWN)
    if isinstance(value, dict):
        node = Node("object", at, at + 1)
        for key, item in value.items():
            place = next(places)
            node.members.append(Member(key, place, place + 1, node_of(item, places)))
        return node
    if isinstance(value, list):
        return Node("array", at, at + 1, items=[node_of(item, places) for item in value])
    if isinstance(value, bool):
        return Node("boolean", at, at + 1, value)
    if value is None:
        return Node("null", at, at + 1)
    return Node("string" if isinstance(value, str) else "number", at, at + 1, value)
