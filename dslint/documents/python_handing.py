"""Objects that are handed on, to functions or to other names: may they be changed there?"""

from __future__ import annotations

import ast
from typing import Final

from dslint.documents.python_calls import family
from dslint.documents.python_frames import function_called, is_shallow, scope_of
from dslint.documents.python_names import Alteration, Names, Scope
from dslint.documents.python_signatures import parameter_of

# fmt: off
# Functions that leave what they are given as it is, by their last name.
HARMLESS: Final = frozenset({
    "print", "pprint", "pformat", "len", "str", "repr", "isinstance", "type", "bool", "id", "format",
    "sorted", "list", "dict", "tuple", "set", "iter", "enumerate", "zip", "any", "all", "hasattr", "getattr",
    "min", "max", "dump", "dumps", "safe_dump", "deepcopy", "copy", "info", "debug", "warning", "error",
    "log", "log_dict", "write", "write_text", "join", "rank_zero_info", "print_rank_0", "log_dist", "DeepSpeedConfig",
})
# fmt: on
# Of these, the ones whose result may hold what they are given.
SHARING: Final = frozenset(
    {"dict", "list", "tuple", "set", "iter", "enumerate", "zip", "sorted", "copy", "min", "max"}
)


class Handing:
    """Answers for the hand-overs of one file."""

    __slots__ = ("_harmless", "_names")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._harmless: dict[int, bool] = {}

    def is_harmless(self, change: Alteration) -> bool:
        """Whether handing an object on leaves it as it is, wherever it goes from there."""
        known = self._harmless.get(id(change))
        if known is not None:
            return known
        seen = {id(change)}
        todo = [change]
        while todo:
            reached = self.leads_to(todo.pop())
            if reached is None or any(each.kind != "escape" for each in reached):
                self._harmless[id(change)] = False
                return False
            for each in reached:
                if id(each) not in seen:
                    seen.add(id(each))
                    todo.append(each)
        self._harmless.update(dict.fromkeys(seen, True))
        return True

    def leads_to(self, change: Alteration) -> list[Alteration] | None:
        """What happens to an object under the name that it is handed on to; None when that cannot be seen."""
        if not change.alias:
            if isinstance(change.node, ast.Call):
                return self.happens_inside(change)
            return [] if change.node is None else None
        if isinstance(change.node, ast.Call) and self.gives_something_new(change.node):
            return []
        scopes = self._names.scopes
        if change.alias.startswith("self."):
            owner = change.scope.enclosing_class()
            scopes = [scope for scope in scopes if scope.enclosing_class() is owner]
        else:
            own = change.scope.owner(change.alias)
            scopes = [scope for scope in scopes if scope.owner(change.alias) is own]
        changes = [each for scope in scopes for each in scope.alterations.get(change.alias, ())]
        return [each for each in changes if not (change.shallow and is_shallow(each))]

    def gives_something_new(self, call: ast.Call) -> bool:
        """Whether a call's result holds nothing of the objects that it is given."""
        dotted = self._names.dotted(call.func)
        last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted
        return bool(family(dotted)) or (last in HARMLESS and last not in SHARING)

    def happens_inside(self, change: Alteration) -> list[Alteration] | None:
        """What a called function does to an argument."""
        call = change.node
        assert isinstance(call, ast.Call)
        function = call.func
        dotted = self._names.dotted(function)
        last = function.attr if isinstance(function, ast.Attribute) else dotted.rpartition(".")[2]
        scope, skip = function_called(self._names, call, change.scope)
        if scope is None and isinstance(function, ast.Name) and function.id in self._names.classes:
            scope, skip = self.initializer(function.id), 1
        if scope is None:
            return [] if last in HARMLESS or family(dotted) else None
        if not isinstance(scope.node, ast.FunctionDef) or change.value is None:
            return None
        name = parameter_of(scope.node.args, call, change.value, skip)
        if name is None or any(
            name in inner.alterations for inner in self._names.scopes if inner.parent is scope
        ):
            return None
        return scope.alterations.get(name, [])

    def initializer(self, name: str) -> Scope | None:
        _, scope = self._names.classes[name]
        bindings = scope.bindings.get("__init__", [])
        return scope_of(self._names, bindings[0].node, "__init__") if len(bindings) == 1 else None
