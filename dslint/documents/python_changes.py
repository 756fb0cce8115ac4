"""What happens to an object between its binding and its use, applied to its tree.

A change in straight-line code is made; one under a condition, under a computed key, or by code that is not seen, makes
the part that it may be about unknown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from dslint.documents.python_frames import Frame, reaching, timing
from dslint.documents.python_handing import Handing
from dslint.documents.python_names import Alteration, Binding, Names, Scope, start_of
from dslint.documents.python_trees import (
    Loaded,
    Override,
    Value,
    blur,
    blurred,
    erase,
    remove,
    spread,
    unseen,
    weight,
)
from dslint.documents.tree import UNKNOWN, Member, Node

if TYPE_CHECKING:
    import ast

    from dslint.documents.python_values import Values


When = Literal["yes", "no", "maybe"]


def is_shared(change: Alteration) -> bool:
    """Whether another name has the object from here on: in which order the two change it is not followed."""
    return bool(change.alias) or change.node is None


class Changes:
    """Applies the changes of one file; new values and keys are evaluated by `values`."""

    __slots__ = ("_handing", "_names", "_values")

    def __init__(self, names: Names, values: Values) -> None:
        self._names = names
        self._values = values
        self._handing = Handing(names)

    def altered(self, value: Value, name: str, owner: Scope, binding: Binding, frame: Frame) -> Value:
        """An object with everything that happens to it between its binding and its use."""
        found: list[tuple[Alteration, When]] = []
        for scope in self._names.scopes:
            if name in scope.alterations and self.means(name, scope, owner):
                # Looking at a change is little work; at tens of thousands, for each use of the name, it is not.
                if self._values.is_spent(len(scope.alterations[name]) // 4):
                    return unseen(value)
                for each in scope.alterations[name]:
                    when = timing(each, binding, frame)
                    if when != "no":
                        when = self.aimed(each, name, owner, binding, when)
                    if when != "no":
                        found.append((each, when))
        found.sort(key=lambda pair: (pair[0].scope is frame.scope, pair[0].position))
        for alteration, when in found:
            if self._values.is_spent(1 + weight(value)):
                return unseen(value)
            value = self.alter(value, alteration, when == "yes", frame)
        return value

    def aimed(self, change: Alteration, name: str, owner: Scope, binding: Binding, when: When) -> When:
        """A change goes to the object that its name is bound to there: another one, after the name was
        bound anew.
        """
        if name.startswith("self.") or len(owner.bindings[name]) == 1:
            return when
        # In `a = change(a)` the change is over when the name is bound.
        before = (change.position[0], change.position[1] - 1)
        seen = reaching(self._names, owner, name, Frame(change.scope, change.block, before))
        if seen is None:
            return "maybe"
        return when if seen is binding else "no"

    def means(self, name: str, scope: Scope, owner: Scope) -> bool:
        if name.startswith("self."):
            return scope.enclosing_class() is owner
        return scope.owner(name) is owner

    def alter(self, value: Value, change: Alteration, certain: bool, frame: Frame) -> Value:
        if change.kind == "escape" and self._handing.is_harmless(change):
            return value
        bound = frame.bound if change.scope is frame.scope else None
        # The new value and the keys are looked at from before the change.
        place = change.value or (change.path[0] if change.path else None)
        at = start_of(place) if place is not None else change.position
        inner = frame.within(change.scope, change.block, at, bound)
        inner = inner._replace(depth=frame.depth + 1, shallow=change.kind == "update")
        keys = [self._values.text(part, inner) for part in change.path]
        if isinstance(value, Loaded):
            return self.alter_loaded(value, change, certain, keys, inner)
        self.alter_node(value, change, certain, keys, inner)
        return value

    def alter_node(
        self, root: Node, change: Alteration, certain: bool, keys: list[str | None], inner: Frame
    ) -> None:
        if change.kind in ("escape", "update"):
            target = self.reach(root, keys)
            if target is None:
                return
            if change.kind == "escape" and is_shared(change):
                erase(target)
            elif change.kind == "escape":
                blur(target)
            else:
                self.update(target, change, certain, inner)
            return
        if not keys:
            blur(root)
            return
        target = self.reach(root, keys[:-1])
        if target is None:
            return
        key = keys[-1]
        if key is None or target.kind != "object":
            blur(target)
        elif change.kind == "remove":
            remove(target, key, certain)
        elif change.kind != "default" or (target.get(key) is None and not target.open):
            self.set(target, key, change.path[-1], self.new_value(change, certain, inner))
        elif target.get(key) is None:
            self.set(target, key, change.path[-1], self._values.unknown(change.path[-1]))

    def new_value(self, change: Alteration, certain: bool, inner: Frame) -> Node:
        if change.value is None:
            return self._values.unknown(change.path[-1])
        return self._values.node_of(change.value, inner) if certain else self._values.unknown(change.value)

    def reach(self, root: Node, keys: list[str | None]) -> Node | None:
        """The node at a path; None when it is unknown already. What lies under a computed key is blurred."""
        node = root
        for key in keys:
            if key is None or node.kind != "object":
                blur(node)
                return None
            found = node.get(key)
            if found is None or found.kind == "unknown":
                return None
            node = found
        return node

    def set(self, target: Node, key: str, place: ast.expr, node: Node) -> None:
        start, end = self._values.span(place)
        target.members = [member for member in target.members if member.key != key]
        target.members.append(Member(key, start, end, node))

    def update(self, target: Node, change: Alteration, certain: bool, inner: Frame) -> None:
        if target.kind != "object":
            blur(target)
            return
        value = self._values.value(change.value, inner) if change.value is not None else None
        if not isinstance(value, Node) or value.kind != "object":
            blur(target)
            return
        if not certain:
            for member in value.members:
                member.node.kind, member.node.value = "unknown", UNKNOWN
                member.node.members, member.node.items = [], []
        spread(target, value)

    def alter_loaded(
        self, value: Loaded, change: Alteration, certain: bool, keys: list[str | None], inner: Frame
    ) -> Loaded:
        if change.kind == "escape" and is_shared(change):
            return replace(value, blurred=True, shared=True)
        if value.shared:
            return value
        path: list[str] = []
        for key in keys:
            if key is None:
                break
            path.append(key)
        whole = len(path) == len(keys)
        if change.kind == "set" and whole and path:
            node = self.new_value(change, certain, inner)
        elif change.kind == "remove" and whole and path and certain:
            return replace(value, overrides=(*value.overrides, Override(tuple(path), None, True)))
        elif change.kind == "update" and whole and change.value is not None:
            return self.update_loaded(value, change, certain, path, inner)
        else:
            node = Node("unknown", value.start, value.end, UNKNOWN)
        if not path:
            return replace(value, blurred=True)
        return replace(value, overrides=(*value.overrides, Override(tuple(path), node, certain)))

    def update_loaded(
        self, value: Loaded, change: Alteration, certain: bool, path: list[str], inner: Frame
    ) -> Loaded:
        assert change.value is not None
        given = self._values.value(change.value, inner)
        if not isinstance(given, Node) or given.kind != "object" or given.open:
            return replace(value, blurred=True)
        added = tuple(
            Override((*path, member.key), member.node if certain else blurred(member.node), certain)
            for member in given.members
        )
        return replace(value, overrides=(*value.overrides, *added))

    def is_handed_on(self, name: str, owner: Scope, binding: Binding, frame: Frame) -> bool:
        """Whether code that is not seen may have set attributes of an object."""
        return any(
            timing(each, binding, frame) != "no" and not self._handing.is_harmless(each)
            for scope in self._names.scopes
            if name in scope.alterations and self.means(name, scope, owner)
            for each in scope.alterations[name]
        )
