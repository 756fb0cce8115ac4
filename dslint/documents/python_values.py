"""Static evaluation: an expression → the tree of what it gives, with UNKNOWN wherever only a run would show
it.

A scalar has the span of the expression that gives it; an object or array has the span of its literal, so that
its keys have their true places. Every evaluation makes a fresh tree. A name counts when one binding alone can
reach its use, and an object is what its literal says with every later change in straight-line code applied; a
change under a condition, a computed key or a hand-over to code that may change it makes that part unknown.
"""

from __future__ import annotations

import ast
import math
import operator
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from dslint.documents.python_calls import family
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
    start_of,
)
from dslint.documents.python_offsets import Offsets
from dslint.documents.tree import UNKNOWN, Member, Node

MAX_STEPS: Final = 10_000  # of one file; the longest real ones take some 2,000
MAX_DEPTH: Final = 60
MAX_BITS: Final = 256


class PathText(str):
    """A path. `anchored`: found from the program's own place (`__file__`), so relative to the working
    directory here.
    """

    anchored: bool = False

    def __truediv__(self, other: str) -> PathText:
        return joined(self, [other])


def joined(first: str, rest: list[str]) -> PathText:
    result = PathText(posixpath.normpath(posixpath.join(first, *rest)))
    parts = [first, *rest]
    # What stands before an absolute part is dropped.
    last = max((i for i, part in enumerate(parts) if part.startswith("/")), default=0)
    result.anchored = getattr(parts[last], "anchored", False)
    return result


def anchored(text: str, like: str) -> PathText:
    result = PathText(text)
    result.anchored = getattr(like, "anchored", False)
    return result


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

    `blurred`: something may have changed anything in it. An empty path is what `attribute` ("args.config") gives.
    """

    path: str
    start: int
    end: int
    overrides: tuple[Override, ...] = ()
    blurred: bool = False
    attribute: str = ""


Value = Node | Loaded


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


ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {"int": int, "float": float, "bool": bool, "str": str}

# Functions that leave what they are given as it is, by their last name.
# fmt: off
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
LOADERS: Final = frozenset({"json.load", "hjson.load"})
TEXT_LOADERS: Final = frozenset({"json.loads", "hjson.loads"})
WRAPPERS: Final = frozenset({"HfDeepSpeedConfig", "HfTrainerDeepSpeedConfig"})


def type_of(value: Any) -> Literal["string", "number", "boolean", "null", "unknown"]:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return "number"
    return "unknown"


class Values:
    """Evaluates the expressions of one file."""

    __slots__ = ("_harmless", "_known", "_offsets", "_steps", "names", "path")

    def __init__(self, names: Names, offsets: Offsets, path: str) -> None:
        self.names = names
        self.path = path
        self._offsets = offsets
        self._steps = 0
        # Containers behind names, by use: a change whose new value reads the same name would else be worked
        # out anew for every change after it.
        self._known: dict[tuple[int, Position], Value] = {}
        self._harmless: dict[int, bool] = {}

    # Nodes.

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        return self._offsets.start(node.lineno, node.col_offset), self._offsets.end(
            node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        )

    def unknown(self, node: ast.expr) -> Node:
        start, end = self.span(node)
        return Node("unknown", start, end, UNKNOWN)

    def scalar(self, value: Any, node: ast.expr) -> Node:
        start, end = self.span(node)
        kind = type_of(value)
        return Node(kind, start, end, UNKNOWN if kind == "unknown" else value)

    # Expressions.

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression gives."""
        self._steps += 1
        if self._steps > MAX_STEPS or frame.depth > MAX_DEPTH:
            return self.unknown(node)
        if type(node) is ast.Constant:
            return self.scalar(node.value, node)
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            return self.unknown(node)
        return handler(self, node, frame._replace(depth=frame.depth + 1))

    def known(self, node: ast.expr, frame: Frame) -> Any:
        """The plain scalar that an expression gives, or UNKNOWN."""
        value = self.value(node, frame)
        if isinstance(value, Node) and value.kind in ("string", "number", "boolean", "null"):
            return value.value
        return UNKNOWN

    def text(self, node: ast.expr, frame: Frame) -> str | None:
        value = self.known(node, frame)
        return value if isinstance(value, str) else None

    def at_use(self, value: Value, node: ast.expr) -> Value:
        """A scalar has its place where it is used."""
        if isinstance(value, Node) and value.kind in ("object", "array"):
            return value
        start, end = self.span(node)
        return replace(value, start=start, end=end)

    def name(self, node: ast.Name, frame: Frame) -> Value:
        if node.id == "__file__":
            path = PathText(self.path)
            path.anchored = True
            return self.scalar(path, node)
        owner = frame.scope.owner(node.id)
        if owner is None:
            return self.unknown(node)
        binding = self.reaching(owner, node.id, frame)
        if binding is None:
            return self.unknown(node)
        key = (id(node), frame.position)
        alone = frame.bound is None and frame.observer is None
        if alone and key in self._known:
            self._steps += weight(self._known[key])
            return copied(self._known[key])
        value = self.bound_value(binding, node.id, frame)
        if value is None:
            return self.unknown(node)
        if isinstance(value, Loaded) or value.kind in ("object", "array"):
            value = self.altered(value, node.id, owner, binding, frame)
            if alone:
                self._known[key] = copied(value)
        return self.at_use(value, node)

    def reaching(self, owner: Scope, name: str, frame: Frame) -> Binding | None:
        """The one binding that a use can see, or None when several can."""
        bindings = owner.bindings[name]
        if any(binding.scope is not owner for binding in bindings):
            return None
        if owner.kind == "module" and self.is_rebound_unseen(bindings):
            return None
        if owner is not frame.scope:
            return bindings[0] if len(bindings) == 1 else None
        before = [binding for binding in bindings if binding.position <= frame.position]
        later = [
            (binding, loop)
            for binding in bindings
            if binding.position > frame.position
            and (loop := shared_loop(binding.block, frame.block)) is not None
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

    def is_rebound_unseen(self, bindings: list[Binding]) -> bool:
        """Whether a global variable may get another value by `exec`, `globals()` or a later `import *`."""
        if all(binding.kind == "definition" for binding in bindings):
            return False
        first = bindings[0].position if bindings else (0, 0)
        return self.names.globals_set or any(star > first for star in self.names.star_positions)

    def bound_value(self, binding: Binding, name: str, frame: Frame) -> Value | None:
        if binding.kind == "value" and binding.value is not None:
            bound = frame.bound if frame.scope is binding.scope else None
            inner = frame.within(binding.scope, binding.block, start_of(binding.value), bound)
            return self.value(binding.value, inner)
        if binding.kind == "parameter":
            return self.parameter(binding, name, frame)
        return None

    def parameter(self, binding: Binding, name: str, frame: Frame) -> Value | None:
        """A parameter's value: of the call that is looked at, or of the only call that the file makes."""
        bound = frame.bound
        if bound is None or bound.scope is not binding.scope:
            bound = self.only_call(binding.scope, frame.depth)
        if bound is None:
            return None
        function = binding.scope.node
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        given = argument_for(function.args, name, bound.call, bound.skip)
        if given is not None:
            return self.value(given, bound.frame._replace(depth=frame.depth))
        default = default_for(function.args, name, bound.call)
        if default is None:
            return None
        outer = binding.scope.parent or binding.scope
        return self.value(default, Frame(outer, outer.block, start_of(default), None, frame.depth))

    def only_call(self, scope: Scope, depth: int) -> Bound | None:
        """The one place where a function of this file is called; None when there are several, or others
        may call it.
        """
        function = scope.node
        parent = scope.parent
        if not isinstance(function, ast.FunctionDef) or function.decorator_list or parent is None:
            return None
        name = function.name
        if parent.kind != "module" or len(parent.bindings[name]) != 1:
            return None
        if any(name in each.alterations for each in self.names.scopes):
            return None
        sites = [
            site
            for site in self.names.calls
            if isinstance(site.node.func, ast.Name)
            and site.node.func.id == name
            and site.scope.owner(name) is parent
        ]
        if len(sites) != 1:
            return None
        site = sites[0]
        return Bound(scope, site.node, Frame(site.scope, site.block, start_of(site.node), None, depth), 0)

    def attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        if isinstance(node.value, ast.Name):
            if node.value.id == "self":
                return self.own_attribute(node, frame)
            found = self.class_attribute(node, node.value.id, frame)
            if found is not None:
                return self.at_use(found, node)
        if node.attr in ("parent", "name", "stem"):
            path = self.known(node.value, frame)
            if isinstance(path, PathText):
                return self.scalar(path_part(path, node.attr), node)
        return self.unknown(node)

    def own_attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        owner = frame.scope.enclosing_class()
        if owner is None:
            return self.unknown(node)
        bindings = [*owner.attributes.get(node.attr, ()), *owner.bindings.get(node.attr, ())]
        if len(bindings) != 1 or bindings[0].kind != "value":
            return self.unknown(node)
        value = self.bound_value(bindings[0], node.attr, frame)
        if value is None:
            return self.unknown(node)
        if isinstance(value, Loaded) or value.kind in ("object", "array"):
            value = self.altered(value, f"self.{node.attr}", owner, bindings[0], frame)
        return self.at_use(value, node)

    def class_attribute(self, node: ast.Attribute, name: str, frame: Frame) -> Value | None:
        """`Config.lr`, and `config.lr` with `config = Config(…)`, where nothing in the file sets that
        attribute.
        """
        if node.attr in self.names.attributes_set or self.names.attributes_set_by_name:
            return None
        owner = frame.scope.owner(name)
        binding = self.reaching(owner, name, frame) if owner is not None else None
        if owner is None or binding is None or self.is_handed_on(name, owner, binding, frame):
            return None
        if binding.kind == "definition" and isinstance(binding.node, ast.ClassDef):
            return self.class_default(binding.node.name, node.attr, frame)
        call = binding.value
        if binding.kind != "value" or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        if call.func.id not in self.names.classes or call.args:
            return None
        for keyword in call.keywords:
            if keyword.arg is None:
                return None
            if keyword.arg == node.attr:
                return self.value(
                    keyword.value, Frame(binding.scope, binding.block, start_of(call), None, frame.depth)
                )
        return self.class_default(call.func.id, node.attr, frame)

    def is_handed_on(self, name: str, owner: Scope, binding: Binding, frame: Frame) -> bool:
        """Whether code that is not seen may have set attributes of an object."""
        return any(
            timing(each, binding, frame) != "no" and not self.is_harmless(each)
            for scope in self.names.scopes
            if name in scope.alterations and self.means(name, scope, owner)
            for each in scope.alterations[name]
        )

    def class_default(self, name: str, attribute: str, frame: Frame) -> Value | None:
        _, scope = self.names.classes[name]
        bindings = scope.bindings.get(attribute, ())
        if len(bindings) != 1 or bindings[0].kind != "value" or bindings[0].value is None:
            return None
        node = bindings[0].value
        return self.field_default(node, Frame(scope, bindings[0].block, start_of(node), None, frame.depth))

    def field_default(self, node: ast.expr, frame: Frame) -> Value:
        """A class body's value; of `field(default=1)` the default."""
        if isinstance(node, ast.Call) and self.names.dotted(node.func).rpartition(".")[2] in (
            "field",
            "Field",
        ):
            for keyword in node.keywords:
                if keyword.arg == "default":
                    return self.value(keyword.value, frame)
            return self.unknown(node)
        return self.value(node, frame)

    # Containers.

    def dict(self, node: ast.Dict, frame: Frame) -> Value:
        start, end = self.span(node)
        result = Node("object", start, end)
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.spread(result, self.value(value, frame._replace(shallow=True)))
                continue
            name = self.text(key, frame)
            if name is None:
                # It may be any key: those before it may be overridden.
                self.blur(result)
                continue
            key_start, key_end = self.span(key)
            result.members.append(Member(name, key_start, key_end, self.node_of(value, frame)))
        return result

    def node_of(self, node: ast.expr, frame: Frame) -> Node:
        """An expression's value as a part of a tree; a part that is loaded from a file is unknown here."""
        value = self.value(node, frame._replace(shallow=False))
        return value if isinstance(value, Node) else self.unknown(node)

    def spread(self, result: Node, value: Value) -> None:
        """`**value` in a dict: its keys win over those before it."""
        if isinstance(value, Loaded) or value.kind != "object":
            self.blur(result)
            return
        if value.open:
            self.blur(result)
        given = {member.key for member in value.members}
        result.members = [member for member in result.members if member.key not in given] + value.members

    def dict_call(self, node: ast.Call, frame: Frame) -> Value:
        start, end = self.span(node)
        result = Node("object", start, end)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self.blur(result)
            else:
                self.spread(result, self.value(argument, frame._replace(shallow=True)))
        for keyword in node.keywords:
            if keyword.arg is None:
                self.spread(result, self.value(keyword.value, frame._replace(shallow=True)))
            else:
                key_start, _ = self.span(keyword)
                result.members = [member for member in result.members if member.key != keyword.arg]
                member = Member(
                    keyword.arg, key_start, key_start + len(keyword.arg), self.node_of(keyword.value, frame)
                )
                result.members.append(member)
        return result

    def sequence(self, node: ast.List | ast.Tuple, frame: Frame) -> Value:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            return self.unknown(node)
        start, end = self.span(node)
        return Node("array", start, end, items=[self.node_of(element, frame) for element in node.elts])

    def subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        key = self.known(node.slice, frame)
        found = self.element(node.value, key, frame)
        return self.unknown(node) if found is None else self.at_use(found, node)

    def element(self, base: ast.expr, key: Any, frame: Frame) -> Node | None:
        """What `base[key]` is: now, and (an object inside of `base`) still when the whole is looked at."""
        now = element_of(self.value(base, frame._replace(observer=None, shallow=False)), key)
        if now is None or frame.observer is None or now.kind not in ("object", "array"):
            return now
        later = element_of(self.value(base, frame), key)
        if later is not None and same_content(now.plain(), later.plain()) and now.open == later.open:
            return now
        return blurred(now)

    # Operators.

    def unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.known(node.operand, frame)
        if value is UNKNOWN:
            return self.unknown(node)
        if isinstance(node.op, ast.Not):
            return self.scalar(not value, node)
        if isinstance(value, int | float) and isinstance(node.op, ast.USub | ast.UAdd):
            return self.scalar(-value if isinstance(node.op, ast.USub) else +value, node)
        return self.unknown(node)

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        if isinstance(node.op, ast.BitOr):
            return self.union(node, frame)
        left, right = self.known(node.left, frame), self.known(node.right, frame)
        if left is UNKNOWN or right is UNKNOWN:
            return self.unknown(node)
        return self.scalar(computed(node.op, left, right), node)

    def union(self, node: ast.BinOp, frame: Frame) -> Value:
        left = self.value(node.left, frame._replace(shallow=True))
        right = self.value(node.right, frame._replace(shallow=True))
        if isinstance(left, Node) and left.kind == "object":
            start, end = self.span(node)
            result = Node("object", start, end, members=left.members, open=left.open)
            self.spread(result, right)
            return result
        return self.unknown(node)

    def boolean(self, node: ast.BoolOp, frame: Frame) -> Value:
        result: Value = self.unknown(node)
        for part in node.values:
            result = self.value(part, frame)
            truth = truth_of(self.value(part, frame._replace(observer=None, shallow=False)))
            if truth is None:
                return self.unknown(node)
            if truth is isinstance(node.op, ast.Or):
                break
        return self.at_use(result, node)

    def compare(self, node: ast.Compare, frame: Frame) -> Value:
        if len(node.ops) != 1:
            return self.unknown(node)
        left, right = self.known(node.left, frame), self.known(node.comparators[0], frame)
        if left is UNKNOWN or right is UNKNOWN:
            return self.unknown(node)
        kind = type(node.ops[0])
        if kind in (ast.Is, ast.IsNot) and (left is None or right is None):
            return self.scalar((left is right) is (kind is ast.Is), node)
        compare = COMPARISONS.get(kind)
        if compare is None:
            return self.unknown(node)
        try:
            return self.scalar(bool(compare(left, right)), node)
        except TypeError:
            return self.unknown(node)

    def choice(self, node: ast.IfExp, frame: Frame) -> Value:
        truth = truth_of(self.value(node.test, frame._replace(observer=None, shallow=False)))
        if truth is None:
            return self.unknown(node)
        return self.value(node.body if truth else node.orelse, frame)

    def formatted(self, node: ast.JoinedStr, frame: Frame) -> Value:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            if (
                not isinstance(part, ast.FormattedValue)
                or part.format_spec is not None
                or part.conversion != -1
            ):
                return self.unknown(node)
            value = self.known(part.value, frame)
            if value is UNKNOWN:
                return self.unknown(node)
            if not parts and isinstance(value, PathText):
                parts.append(value)
            else:
                parts.append(str(value))
        text = "".join(parts)
        if parts and isinstance(parts[0], PathText):
            text = anchored(text, parts[0])
        return self.scalar(text, node)

    def named(self, node: ast.NamedExpr, frame: Frame) -> Value:
        return self.value(node.value, frame)

    # Calls.

    def call(self, node: ast.Call, frame: Frame) -> Value:
        function = node.func
        if isinstance(function, ast.Name) and frame.scope.owner(function.id) is None:
            found = self.builtin(function.id, node, frame)
            if found is not None:
                return found
        dotted = self.names.dotted(function)
        found = self.library(dotted, node, frame) if dotted else None
        if found is None and isinstance(function, ast.Attribute):
            found = self.method(function, node, frame)
        if found is None:
            found = self.returned(node, frame)
        return found if found is not None else self.unknown(node)

    def builtin(self, name: str, node: ast.Call, frame: Frame) -> Value | None:
        if name == "dict":
            return self.dict_call(node, frame)
        if len(node.args) != 1 or node.keywords:
            return None
        if name in CONVERSIONS:
            value = self.known(node.args[0], frame)
            return None if value is UNKNOWN else self.scalar(converted(name, value), node)
        if name in ("list", "tuple"):
            value = self.value(node.args[0], frame)
            return value if isinstance(value, Node) and value.kind == "array" else None
        return None

    def library(self, dotted: str, node: ast.Call, frame: Frame) -> Value | None:
        last = dotted.rpartition(".")[2]
        if dotted.startswith("os.") or dotted == "pathlib.Path":
            return self.path_call(dotted, node, frame)
        if dotted in LOADERS and node.args:
            return self.placed(self.opened(node.args[0], frame), node)
        if dotted in TEXT_LOADERS and node.args:
            return self.placed(self.read_from(node.args[0], frame), node)
        if dotted in ("copy.copy", "copy.deepcopy") and node.args:
            if dotted == "copy.deepcopy":
                return self.value(node.args[0], frame._replace(observer=None))
            return self.value(node.args[0], frame._replace(shallow=True))
        if dotted in ("collections.OrderedDict", "easydict.EasyDict"):
            return self.dict_call(node, frame)
        if last in WRAPPERS:
            return self.wrapped(node, frame)
        return None

    def placed(self, file: Loaded | None, node: ast.expr) -> Loaded | None:
        if file is None:
            return None
        start, end = self.span(node)
        return replace(file, start=start, end=end)

    def wrapped(self, node: ast.Call, frame: Frame) -> Value | None:
        """`HfDeepSpeedConfig(x)` holds what x is: a dict, or the file at a path."""
        inner = node.args[0] if node.args else None
        for keyword in node.keywords:
            if keyword.arg == "config_file_or_dict":
                inner = keyword.value
        if inner is None:
            return None
        value = self.value(inner, frame)
        if isinstance(value, Node) and value.kind == "string":
            return Loaded(value.value, value.start, value.end)
        return value

    def path_call(self, dotted: str, node: ast.Call, frame: Frame) -> Value | None:
        if dotted == "os.getcwd":
            return self.scalar(PathText("."), node)
        parts = [self.text(argument, frame) for argument in node.args]
        known = [part for part in parts if part is not None]
        if not known or len(known) != len(parts) or node.keywords:
            return None
        if dotted in ("os.path.join", "pathlib.Path"):
            return self.scalar(joined(known[0], known[1:]), node)
        if dotted in ("os.path.abspath", "os.path.realpath", "os.path.normpath", "os.fspath"):
            return self.scalar(anchored(known[0], known[0]), node)
        if dotted == "os.path.dirname":
            return self.scalar(path_part(known[0], "parent"), node)
        if dotted == "os.path.basename":
            return self.scalar(posixpath.basename(known[0]), node)
        return None

    def method(self, function: ast.Attribute, node: ast.Call, frame: Frame) -> Value | None:
        name = function.attr
        if name in ("copy", "get"):
            return self.dict_method(function, node, frame)
        if name in ("resolve", "absolute", "as_posix", "joinpath", "with_name"):
            path = self.known(function.value, frame)
            if not isinstance(path, PathText):
                return None
            parts = [self.text(argument, frame) for argument in node.args]
            known = [part for part in parts if part is not None]
            if len(known) != len(parts):
                return None
            if name == "joinpath":
                return self.scalar(joined(path, known), node)
            if name == "with_name" and known:
                return self.scalar(joined(path_part(path, "parent"), known), node)
            return self.scalar(path, node)
        return None

    def dict_method(self, function: ast.Attribute, node: ast.Call, frame: Frame) -> Value | None:
        base = self.value(function.value, frame._replace(shallow=True) if function.attr == "copy" else frame)
        if isinstance(base, Loaded):
            return base if function.attr == "copy" else None
        if base.kind != "object":
            return None
        if function.attr == "copy":
            return base
        key = self.text(node.args[0], frame) if node.args else None
        if key is None:
            return None
        found = self.element(function.value, key, frame)
        if found is not None:
            return self.at_use(found, node)
        if base.open:
            return None
        return self.value(node.args[1], frame) if len(node.args) > 1 else self.scalar(None, node)

    def returned(self, node: ast.Call, frame: Frame) -> Value | None:
        """What a function of this file gives back, when its body ends in one `return`."""
        scope, skip = self.function_called(node, frame)
        if scope is None or not isinstance(scope.node, ast.FunctionDef) or scope.node.decorator_list:
            return None
        if len(scope.returns) != 1:
            return None
        result, block = scope.returns[0]
        if result is None or block is not scope.block:
            return None
        inner = Frame(scope, block, start_of(result), Bound(scope, node, frame, skip), frame.depth)
        return self.value(result, inner)

    def function_called(self, node: ast.Call, frame: Frame) -> tuple[Scope | None, int]:
        """The function of this file that a call goes to; how many parameters come before its arguments."""
        function = node.func
        if isinstance(function, ast.Name):
            owner = frame.scope.owner(function.id)
            bindings = owner.bindings[function.id] if owner is not None else []
            if len(bindings) == 1 and bindings[0].kind == "definition":
                return self.scope_of(bindings[0].node, function.id), 0
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = frame.scope.enclosing_class()
            if function.value.id == "self" and owner is not None:
                bindings = owner.bindings.get(function.attr, [])
                if len(bindings) == 1 and bindings[0].kind == "definition":
                    return self.scope_of(bindings[0].node, function.attr), 1
        return None, 0

    def scope_of(self, node: ast.AST | None, name: str) -> Scope | None:
        return next((scope for scope in self.names.functions.get(name, ()) if scope.node is node), None)

    # Files.

    def opened(self, node: ast.expr, frame: Frame) -> Loaded | None:
        """The file behind `open(path)`, or behind a name that a `with` or an assignment gave it to."""
        if isinstance(node, ast.Call):
            dotted = self.names.dotted(node.func)
            if dotted in ("open", "io.open", "codecs.open") and node.args:
                return self.file_at(node.args[0], frame)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
                return self.file_of(node.func.value, frame)
            return None
        if isinstance(node, ast.Name):
            owner = frame.scope.owner(node.id)
            binding = self.reaching(owner, node.id, frame) if owner is not None else None
            if binding is not None and isinstance(binding.value, ast.Call):
                inner = Frame(binding.scope, binding.block, start_of(binding.value), None, frame.depth + 1)
                return self.opened(binding.value, inner)
        return None

    def read_from(self, node: ast.expr, frame: Frame) -> Loaded | None:
        """The file whose text an expression is: `file.read()`, `Path(path).read_text()`."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr == "read":
            return self.opened(node.func.value, frame)
        if node.func.attr == "read_text":
            return self.file_of(node.func.value, frame)
        return None

    def file_of(self, node: ast.expr, frame: Frame) -> Loaded | None:
        """The file that a path object stands for."""
        path = self.known(node, frame)
        if isinstance(path, PathText):
            return Loaded(path, 0, 0)
        if (
            isinstance(node, ast.Call)
            and self.names.dotted(node.func) == "pathlib.Path"
            and len(node.args) == 1
        ):
            return self.file_at(node.args[0], frame)
        return None

    def file_at(self, node: ast.expr, frame: Frame) -> Loaded | None:
        """The file at a path, or at the one that an attribute (of the parsed command line) gives."""
        path = self.text(node, frame)
        if path is not None:
            return Loaded(path, 0, 0)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id != "self":
            return Loaded("", 0, 0, attribute=f"{node.value.id}.{node.attr}")
        return None

    # Changes.

    def altered(self, value: Value, name: str, owner: Scope, binding: Binding, frame: Frame) -> Value:
        """An object with everything that happens to it between its binding and its use."""
        found: list[tuple[Alteration, str]] = []
        for scope in self.names.scopes:
            if name in scope.alterations and self.means(name, scope, owner):
                for each in scope.alterations[name]:
                    when = timing(each, binding, frame)
                    if when != "no":
                        when = self.aimed(each, name, owner, binding, when)
                    if when != "no":
                        found.append((each, when))
        found.sort(key=lambda pair: (pair[0].scope is frame.scope, pair[0].position))
        for alteration, when in found:
            self._steps += 1 + weight(value)
            if self._steps > MAX_STEPS:
                return unseen(value)
            value = self.alter(value, alteration, when == "yes", frame)
        return value

    def aimed(self, change: Alteration, name: str, owner: Scope, binding: Binding, when: str) -> str:
        """A change goes to the object that its name is bound to there: another one, after the name was
        bound anew.
        """
        if name.startswith("self.") or len(owner.bindings[name]) == 1:
            return when
        # In `a = change(a)` the change is over when the name is bound.
        before = (change.position[0], change.position[1] - 1)
        seen = self.reaching(owner, name, Frame(change.scope, change.block, before))
        if seen is None:
            return "maybe"
        return when if seen is binding else "no"

    def means(self, name: str, scope: Scope, owner: Scope) -> bool:
        if name.startswith("self."):
            return scope.enclosing_class() is owner
        return scope.owner(name) is owner

    def alter(self, value: Value, change: Alteration, certain: bool, frame: Frame) -> Value:
        if change.kind == "escape" and self.is_harmless(change):
            return value
        bound = frame.bound if change.scope is frame.scope else None
        # The new value and the keys are looked at from before the change.
        place = change.value or (change.path[0] if change.path else None)
        at = start_of(place) if place is not None else change.position
        if change.kind in ("update", "set", "default") and change.value is not None:
            at = min(at, change.position)
        inner = frame.within(change.scope, change.block, at, bound)
        inner = inner._replace(depth=frame.depth + 1, shallow=change.kind == "update")
        keys = [self.text(part, inner) for part in change.path]
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
            if change.kind == "escape":
                self.blur(target)
            else:
                self.update(target, change, certain, inner)
            return
        if not keys:
            self.blur(root)
            return
        target = self.reach(root, keys[:-1])
        if target is None:
            return
        key = keys[-1]
        if key is None or target.kind != "object":
            self.blur(target)
        elif change.kind == "remove":
            self.remove(target, key, certain)
        elif change.kind != "default" or (target.get(key) is None and not target.open):
            self.set(target, key, change.path[-1], self.new_value(change, certain, inner))
        elif target.get(key) is None:
            self.set(target, key, change.path[-1], self.unknown(change.path[-1]))

    def new_value(self, change: Alteration, certain: bool, inner: Frame) -> Node:
        if change.value is None:
            return self.unknown(change.path[-1])
        return self.node_of(change.value, inner) if certain else self.unknown(change.value)

    def reach(self, root: Node, keys: list[str | None]) -> Node | None:
        """The node at a path; None when it is unknown already. What lies under a computed key is blurred."""
        node = root
        for key in keys:
            if key is None or node.kind != "object":
                self.blur(node)
                return None
            found = node.get(key)
            if found is None or found.kind == "unknown":
                return None
            node = found
        return node

    def set(self, target: Node, key: str, place: ast.expr, node: Node) -> None:
        start, end = self.span(place)
        target.members = [member for member in target.members if member.key != key]
        target.members.append(Member(key, start, end, node))

    def remove(self, target: Node, key: str, certain: bool) -> None:
        if certain:
            target.members = [member for member in target.members if member.key != key]
            return
        for number, member in enumerate(target.members):
            if member.key == key:
                target.members[number] = member._replace(node=blurred(member.node))

    def update(self, target: Node, change: Alteration, certain: bool, inner: Frame) -> None:
        if target.kind != "object":
            self.blur(target)
            return
        value = self.value(change.value, inner) if change.value is not None else None
        if not isinstance(value, Node) or value.kind != "object":
            self.blur(target)
            return
        if not certain:
            for member in value.members:
                member.node.kind, member.node.value = "unknown", UNKNOWN
                member.node.members, member.node.items = [], []
        self.spread(target, value)

    def blur(self, node: Node) -> None:
        """Anything in it may have changed."""
        if node.kind == "object":
            node.open = True
            node.members = [member._replace(node=blurred(member.node)) for member in node.members]
        else:
            node.kind, node.value, node.items = "unknown", UNKNOWN, []

    def alter_loaded(
        self, value: Loaded, change: Alteration, certain: bool, keys: list[str | None], inner: Frame
    ) -> Loaded:
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
        given = self.value(change.value, inner)
        if not isinstance(given, Node) or given.kind != "object" or given.open:
            return replace(value, blurred=True)
        added = tuple(
            Override((*path, member.key), member.node if certain else blurred(member.node), certain)
            for member in given.members
        )
        return replace(value, overrides=(*value.overrides, *added))

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
        scopes = self.names.scopes
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
        dotted = self.names.dotted(call.func)
        last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted
        return bool(family(dotted)) or (last in HARMLESS and last not in SHARING)

    def happens_inside(self, change: Alteration) -> list[Alteration] | None:
        """What a called function does to an argument."""
        call = change.node
        assert isinstance(call, ast.Call)
        function = call.func
        dotted = self.names.dotted(function)
        last = function.attr if isinstance(function, ast.Attribute) else dotted.rpartition(".")[2]
        frame = Frame(change.scope, change.block, start_of(call))
        scope, skip = self.function_called(call, frame)
        if scope is None and isinstance(function, ast.Name) and function.id in self.names.classes:
            scope, skip = self.initializer(function.id), 1
        if scope is None:
            return [] if last in HARMLESS or family(dotted) else None
        if not isinstance(scope.node, ast.FunctionDef) or change.value is None:
            return None
        name = parameter_of(scope.node.args, call, change.value, skip)
        if name is None or any(
            name in inner.alterations for inner in self.names.scopes if inner.parent is scope
        ):
            return None
        return scope.alterations.get(name, [])

    def initializer(self, name: str) -> Scope | None:
        _, scope = self.names.classes[name]
        bindings = scope.bindings.get("__init__", [])
        return self.scope_of(bindings[0].node, "__init__") if len(bindings) == 1 else None


def not_undone(binding: Binding) -> bool:
    """A binding that need not have happened gives the value all the same: without it there is a NameError."""
    return binding.kind in ("value", "with", "parameter")


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
    return replace(
        node,
        members=[member._replace(node=copied_node(member.node)) for member in node.members],
        items=[copied_node(item) for item in node.items],
    )


def blurred(node: Node) -> Node:
    return Node("unknown", node.start, node.end, UNKNOWN)


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


def computed(kind: ast.operator, left: Any, right: Any) -> Any:
    """Arithmetic on known scalars; UNKNOWN where Python raises, or the result is out of all proportion."""
    if isinstance(left, PathText) and isinstance(right, str) and isinstance(kind, ast.Div):
        return left / right
    if isinstance(left, str) and isinstance(right, str) and isinstance(kind, ast.Add):
        return anchored(left + right, left) if isinstance(left, PathText) else left + right
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return UNKNOWN
    if isinstance(kind, ast.Pow):
        if abs(right) > MAX_BITS or abs(left) > 1e6:
            return UNKNOWN
        operation: Callable[[Any, Any], Any] | None = operator.pow
    else:
        operation = ARITHMETIC.get(type(kind))
    if operation is None or (isinstance(kind, ast.LShift) and right > MAX_BITS):
        return UNKNOWN
    try:
        result = operation(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    if isinstance(result, int) and result.bit_length() > 2 * MAX_BITS:
        return UNKNOWN
    return result if isinstance(result, int | float) else UNKNOWN


def converted(name: str, value: Any) -> Any:
    try:
        if name == "str" and isinstance(value, PathText):
            return value
        return CONVERSIONS[name](value)
    except (ValueError, TypeError, OverflowError):
        return UNKNOWN


def path_part(path: str, part: str) -> str:
    if part == "parent":
        return anchored(posixpath.dirname(path) or ".", path)
    name = posixpath.basename(path)
    return name if part == "name" else posixpath.splitext(name)[0]


def argument_for(parameters: ast.arguments, name: str, call: ast.Call, skip: int) -> ast.expr | None:
    """The expression that a call gives for a parameter, or None."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if name in positional:
        index = positional.index(name) - skip
        before = call.args[: index + 1]
        if 0 <= index < len(call.args) and not any(isinstance(each, ast.Starred) for each in before):
            return call.args[index]
    return None


def default_for(parameters: ast.arguments, name: str, call: ast.Call) -> ast.expr | None:
    """A parameter's default, when the call surely leaves it at that."""
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if name in positional:
        index = positional.index(name) - (len(positional) - len(parameters.defaults))
        return parameters.defaults[index] if index >= 0 else None
    for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        if each.arg == name:
            return default
    return None


def parameter_of(parameters: ast.arguments, call: ast.Call, value: ast.expr, skip: int) -> str | None:
    """The parameter that a call's argument goes to."""
    for keyword in call.keywords:
        if keyword.value is value:
            known = [each.arg for each in (*parameters.args, *parameters.kwonlyargs)]
            return keyword.arg if keyword.arg in known else None
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return None
        if argument is value:
            return positional[index + skip] if index + skip < len(positional) else None
    return None


EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Values, Any, Frame], Value]]] = {
    ast.Name: Values.name,
    ast.Attribute: Values.attribute,
    ast.Dict: Values.dict,
    ast.List: Values.sequence,
    ast.Tuple: Values.sequence,
    ast.Subscript: Values.subscript,
    ast.UnaryOp: Values.unary,
    ast.BinOp: Values.binary,
    ast.BoolOp: Values.boolean,
    ast.Compare: Values.compare,
    ast.IfExp: Values.choice,
    ast.JoinedStr: Values.formatted,
    ast.NamedExpr: Values.named,
    ast.Call: Values.call,
}
