"""Static evaluation: an expression → the tree of what it gives, with UNKNOWN wherever only a run would show
it.

A scalar has the span of the expression that gives it; an object or array has the span of its literal, so that
its keys have their true places. Every evaluation makes a fresh tree. A name counts when one binding alone can
reach its use, and an object is what its literal says with every later change in straight-line code applied; a
change under a condition, a computed key or a hand-over to code that may change it makes that part unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from dslint.documents.python_changes import Changes
from dslint.documents.python_frames import Bound, Frame, function_called, reaching
from dslint.documents.python_names import Binding, Names, Position, Scope, start_of
from dslint.documents.python_offsets import Offsets
from dslint.documents.python_scalars import (
    COMPARISONS,
    CONVERSIONS,
    PathText,
    anchored,
    computed,
    converted,
    joined,
    path_part,
    type_of,
)
from dslint.documents.python_signatures import argument_for, default_for
from dslint.documents.python_trees import (
    Loaded,
    Value,
    blur,
    blurred,
    copied,
    element_of,
    same_content,
    spread,
    truth_of,
    weight,
)
from dslint.documents.tree import UNKNOWN, Member, Node

MAX_STEPS: Final = 10_000  # of one file; the longest real ones take some 2,000
MAX_DEPTH: Final = 60


LOADERS: Final = frozenset({"json.load", "hjson.load"})
TEXT_LOADERS: Final = frozenset({"json.loads", "hjson.loads"})
WRAPPERS: Final = frozenset({"HfDeepSpeedConfig", "HfTrainerDeepSpeedConfig"})


class Values:
    """Evaluates the expressions of one file."""

    __slots__ = ("_changes", "_known", "_offsets", "_steps", "names", "path")

    def __init__(self, names: Names, offsets: Offsets, path: str) -> None:
        self.names = names
        self.path = path
        self._offsets = offsets
        self._steps = 0
        # Containers behind names, by use: a change whose new value reads the same name would else be worked
        # out anew for every change after it.
        self._known: dict[tuple[int, Position], Value] = {}
        self._changes = Changes(names, self)

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

    def is_spent(self, steps: int) -> bool:
        """Counts steps of work; whether they are more than one file gets."""
        self._steps += steps
        return self._steps > MAX_STEPS

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression gives."""
        if self.is_spent(1) or frame.depth > MAX_DEPTH:
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
        return value.but(start=start, end=end)

    def name(self, node: ast.Name, frame: Frame) -> Value:
        if node.id == "__file__":
            path = PathText(self.path)
            path.anchored = True
            return self.scalar(path, node)
        owner = frame.scope.owner(node.id)
        if owner is None:
            return self.unknown(node)
        # A name that is bound thousands of times takes a look at each of them at every use.
        if self.is_spent(len(owner.bindings[node.id]) // 4):
            return self.unknown(node)
        binding = reaching(self.names, owner, node.id, frame)
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
            value = self._changes.altered(value, node.id, owner, binding, frame)
            if alone:
                self._known[key] = copied(value)
        return self.at_use(value, node)

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
            value = self._changes.altered(value, f"self.{node.attr}", owner, bindings[0], frame)
        return self.at_use(value, node)

    def class_attribute(self, node: ast.Attribute, name: str, frame: Frame) -> Value | None:
        """`Config.lr`, and `config.lr` with `config = Config(…)`, where nothing in the file sets that
        attribute.
        """
        if node.attr in self.names.attributes_set or self.names.attributes_set_by_name:
            return None
        owner = frame.scope.owner(name)
        binding = reaching(self.names, owner, name, frame) if owner is not None else None
        if owner is None or binding is None or self._changes.is_handed_on(name, owner, binding, frame):
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
                spread(result, self.value(value, frame._replace(shallow=True)))
                continue
            name = self.text(key, frame)
            if name is None:
                # It may be any key: those before it may be overridden.
                blur(result)
                if self.is_spent(0):
                    break
                continue
            key_start, key_end = self.span(key)
            result.members.append(Member(name, key_start, key_end, self.node_of(value, frame)))
        return result

    def node_of(self, node: ast.expr, frame: Frame) -> Node:
        """An expression's value as a part of a tree; a part that is loaded from a file is unknown here."""
        value = self.value(node, frame._replace(shallow=False))
        return value if isinstance(value, Node) else self.unknown(node)

    def dict_call(self, node: ast.Call, frame: Frame) -> Value:
        start, end = self.span(node)
        result = Node("object", start, end)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                blur(result)
            else:
                spread(result, self.value(argument, frame._replace(shallow=True)))
        for keyword in node.keywords:
            if keyword.arg is None:
                spread(result, self.value(keyword.value, frame._replace(shallow=True)))
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
            spread(result, right)
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
        return file.but(start=start, end=end)

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
            return self.scalar(path_part(known[0], "name"), node)
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
        now = self.value(function.value, frame._replace(observer=None, shallow=False))
        if not isinstance(now, Node) or now.kind != "object" or now.open or now.get(key) is not None:
            return None
        return self.value(node.args[1], frame) if len(node.args) > 1 else self.scalar(None, node)

    def returned(self, node: ast.Call, frame: Frame) -> Value | None:
        """What a function of this file gives back, when its body ends in one `return`."""
        scope, skip = function_called(self.names, node, frame.scope)
        if scope is None or not isinstance(scope.node, ast.FunctionDef) or scope.node.decorator_list:
            return None
        if len(scope.returns) != 1:
            return None
        result, block = scope.returns[0]
        if result is None or block is not scope.block:
            return None
        inner = Frame(scope, block, start_of(result), Bound(scope, node, frame, skip), frame.depth)
        return self.value(result, inner)

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
            binding = reaching(self.names, owner, node.id, frame) if owner is not None else None
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
