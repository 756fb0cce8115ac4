"""Derived configs: the tree that a framework makes of a call's arguments, each node at the argument that
it is from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslint.documents.python import Given
from dslint.documents.python_scalars import type_of
from dslint.documents.tree import UNKNOWN, Member, Node

Span = tuple[int, int]


class Maker:
    """Makes nodes. What no argument gives has the place of the call's name, `start` to `end`."""

    __slots__ = ("_arguments", "_default")

    def __init__(self, arguments: Mapping[str, Given], start: int, end: int) -> None:
        self._arguments = arguments
        self._default = (start, end)

    def span(self, name: str | None) -> Span:
        given = self._arguments.get(name) if name is not None else None
        return (given.start, given.end) if given is not None else self._default

    def is_given(self, name: str) -> bool:
        return name in self._arguments

    def value(self, name: str, default: Any = UNKNOWN) -> Any:
        """An argument's value. `None` counts as left out, as the frameworks' signatures have it."""
        given = self._arguments.get(name)
        return default if given is None or given.value is None else given.value

    def given(self, name: str, default: Any = UNKNOWN) -> Node:
        return self.scalar(self.value(name, default), name)

    def scalar(self, value: Any, near: str | None = None, span: Span | None = None) -> Node:
        start, end = span or self.span(near)
        if isinstance(value, list | dict) or value is UNKNOWN:
            return Node("unknown", start, end, UNKNOWN)
        return Node(type_of(value), start, end, value)

    def unknown(self, near: str | None = None) -> Node:
        start, end = self.span(near)
        return Node("unknown", start, end, UNKNOWN)

    def object(self, *members: tuple[str, Node], near: str | None = None, span: Span | None = None) -> Node:
        start, end = span or self.span(near)
        node = Node("object", start, end)
        for key, value in members:
            self.add(node, key, value)
        return node

    def add(self, node: Node, key: str, value: Node) -> None:
        node.members.append(Member(key, value.start, value.end, value))
