"""From where an expression is looked at: which binding of a name it sees, and which changes have happened by then."""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from dslint.documents.python_names import (
    Alteration,
    Binding,
    Block,
    Names,
    Position,
    Scope,
    encloses,
    exclude_each_other,
    shared_loop,
)


class Bound(NamedTuple):
    """The call that a function's body is looked at for."""

    scope: Scope
    call: ast.Call
    frame: Frame
    skip: int  # parameters before the call's first argument: 1 for a method


class Frame(NamedTuple):
    """From where an expression is looked at.

    An object that is put into another one can be changed later under its own name: `observer` is from where
    the whole is looked at. `shallow`: the object is copied on the way, so that only its inner objects are
    still shared.
    """

    scope: Scope
    block: Block
    position: Position
    bound: Bound | None = None
    depth: int = 0
    observer: Frame | None = None
    shallow: bool = False

    def within(self, scope: Scope, block: Block, position: Position, bound: Bound | None = None) -> Frame:
        """The place of an inner expression, whose object is seen from here."""
        return Frame(scope, block, position, bound, self.depth, self.observer or self, self.shallow)


def reaching(names: Names, owner: Scope, name: str, frame: Frame) -> Binding | None:
    """The one binding that a use can see, or None when several can."""
    bindings = owner.bindings[name]
    if any(binding.scope is not owner for binding in bindings):
        return None
    if owner.kind == "module" and is_rebound_unseen(names, bindings):
        return None
    if owner is not frame.scope:
        return bindings[0] if len(bindings) == 1 else None
    before = [binding for binding in bindings if binding.position <= frame.position]
    later = [
        (binding, loop)
        for binding in bindings
        if binding.position > frame.position and (loop := shared_loop(binding.block, frame.block)) is not None
    ]
    certain = None
    for binding in before:
        if encloses(binding.block, frame.block):
            certain = binding
    rivals = [
        binding
        for binding in before
        if (certain is None or binding.position > certain.position)
        and binding is not certain
        and not exclude_each_other(binding.block, frame.block)
    ]
    if certain is None:
        return rivals[0] if len(rivals) == 1 and not later and not_undone(rivals[0]) else None
    if rivals or any(not encloses(loop, certain.block) for _, loop in later):
        return None
    return certain


def is_rebound_unseen(names: Names, bindings: list[Binding]) -> bool:
    """Whether a global variable may get another value by `exec`, `globals()` or a later `import *`."""
    if all(binding.kind == "definition" for binding in bindings):
        return False
    first = bindings[0].position if bindings else (0, 0)
    return names.globals_set or any(star > first for star in names.star_positions)


def not_undone(binding: Binding) -> bool:
    """A binding that need not have happened gives the value all the same: without it there is a NameError."""
    return binding.kind in ("value", "with", "parameter")


def timing(change: Alteration, binding: Binding, frame: Frame) -> Literal["yes", "no", "maybe"]:
    """Whether a change has happened to the object of `binding` by the time that `frame` looks."""
    if change.scope is binding.scope and change.position <= binding.position:
        return "no"
    if change.scope is frame.scope:
        if change.position <= frame.position:
            if exclude_each_other(change.block, frame.block):
                return "no"
            return "yes" if encloses(change.block, frame.block) else "maybe"
        if frame.observer is not None:
            return "no" if frame.shallow and is_shallow(change) else timing(change, binding, frame.observer)
        loop = shared_loop(change.block, frame.block)
        if loop is None or (binding.scope is frame.scope and encloses(loop, binding.block)):
            return "no"
        return "maybe"
    if frame.observer is not None:
        return "no" if frame.shallow and is_shallow(change) else timing(change, binding, frame.observer)
    if change.scope is binding.scope and encloses(change.block, binding.block):
        return "yes"
    return "maybe"


def is_shallow(change: Alteration) -> bool:
    """A change of an object's own keys, not of the objects in it."""
    return change.kind != "escape" and len(change.path) + (change.kind == "update") < 2


def function_called(names: Names, node: ast.Call, scope: Scope) -> tuple[Scope | None, int]:
    """The function of this file that a call goes to; how many parameters come before its arguments."""
    function = node.func
    if isinstance(function, ast.Name):
        owner = scope.owner(function.id)
        bindings = owner.bindings[function.id] if owner is not None else []
        if len(bindings) == 1 and bindings[0].kind == "definition":
            return scope_of(names, bindings[0].node, function.id), 0
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = scope.enclosing_class()
        if function.value.id == "self" and owner is not None:
            bindings = owner.bindings.get(function.attr, [])
            if len(bindings) == 1 and bindings[0].kind == "definition":
                return scope_of(names, bindings[0].node, function.attr), 1
    return None, 0


def scope_of(names: Names, node: ast.AST | None, name: str) -> Scope | None:
    return next((scope for scope in names.functions.get(name, ()) if scope.node is node), None)
