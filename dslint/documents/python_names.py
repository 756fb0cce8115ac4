"""A Python file's names: where each is bound, what may change the object behind it, and which calls there
are.

One walk over the syntax tree; nothing is executed. Values are worked out afterwards, from what is collected
here, by `python_values`. Positions are `(row, utf-8 column)` pairs as `ast` gives them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

Position = tuple[int, int]
START: Final[Position] = (0, 0)


class Block:
    """A run of statements. Two branches of one statement have the same `owner`; a loop's body may run
    again.
    """

    __slots__ = ("branch", "depth", "loop", "owner", "parent")

    def __init__(self, parent: Block | None, owner: ast.AST | None, branch: str, loop: bool = False) -> None:
        self.parent = parent
        self.owner = owner
        self.branch = branch
        self.loop = loop
        self.depth: int = parent.depth + 1 if parent else 0

    def lineage(self) -> list[Block]:
        """From the outermost block to this one."""
        blocks: list[Block] = []
        block: Block | None = self
        while block is not None:
            blocks.append(block)
            block = block.parent
        blocks.reverse()
        return blocks


def encloses(outer: Block, inner: Block) -> bool:
    """Whether everything in `inner` runs only after `outer` was entered."""
    block: Block | None = inner
    while block is not None and block.depth > outer.depth:
        block = block.parent
    return block is outer


def exclude_each_other(one: Block, other: Block) -> bool:
    """Whether the blocks lie in two branches of the same `if`, `match` or list of `except`s."""
    for left, right in zip(one.lineage(), other.lineage(), strict=False):
        if left is not right:
            return (
                left.owner is not None
                and left.owner is right.owner
                and "try" not in (left.branch, right.branch)
            )
    return False


def shared_loop(one: Block, other: Block) -> Block | None:
    """The innermost loop that both blocks are in."""
    loop = None
    for left, right in zip(one.lineage(), other.lineage(), strict=False):
        if left is not right:
            break
        if left.loop:
            loop = left
    return loop


class Binding(NamedTuple):
    """A name gets a value. `value` is None where it is not an expression: a parameter, an import, a loop's
    target.
    """

    kind: Literal["value", "with", "parameter", "definition", "opaque"]
    scope: Scope
    block: Block
    position: Position
    value: ast.expr | None = None
    node: ast.AST | None = None


class Alteration(NamedTuple):
    """Something may change the object behind a name.

    set: `name[path] = value`. update: `name[path].update(value)`. remove: `del name[path]`. escape: the
    object at `path` was handed on (to `callee`, or to another name) and may be changed there. A part of a
    path is the expression between the brackets.
    """

    kind: Literal["set", "update", "default", "remove", "escape"]
    scope: Scope
    block: Block
    position: Position
    path: tuple[ast.expr, ...]
    value: ast.expr | None = None
    node: ast.AST | None = None
    alias: str = ""
    shallow: bool = False


class Scope:
    """A module, class or function with what happens to its names."""

    __slots__ = (
        "alterations",
        "attributes",
        "bindings",
        "block",
        "elsewhere",
        "kind",
        "name",
        "node",
        "parent",
        "returns",
    )

    def __init__(
        self, kind: Literal["module", "class", "function"], name: str, parent: Scope | None, node: ast.AST
    ) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.node = node
        self.block = Block(None, None, "body")
        self.bindings: dict[str, list[Binding]] = defaultdict(list)
        self.alterations: dict[str, list[Alteration]] = defaultdict(list)
        # Of a class: `self.x = …` in its methods.
        self.attributes: dict[str, list[Binding]] = defaultdict(list)
        self.elsewhere: set[str] = set()  # declared global or nonlocal
        self.returns: list[tuple[ast.expr | None, Block]] = []

    def owner(self, name: str) -> Scope | None:
        """The scope whose `name` this is, seen from here; None for a builtin or an unknown name."""
        scope: Scope | None = self
        while scope is not None:
            if (
                name in scope.bindings
                and name not in scope.elsewhere
                and (scope is self or scope.kind != "class")
            ):
                return scope
            scope = scope.parent
        return None

    def enclosing_class(self) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and scope.kind != "class":
            scope = scope.parent
        return scope


class Site(NamedTuple):
    """A call with where it stands."""

    node: ast.Call
    scope: Scope
    block: Block
    target: str


class Names:
    """What one walk over a file collects."""

    __slots__ = (
        "attributes_set",
        "attributes_set_by_name",
        "calls",
        "classes",
        "functions",
        "globals_set",
        "imports",
        "module",
        "scopes",
        "star_positions",
        "stars",
    )

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope("module", "", None, tree)
        self.scopes: list[Scope] = [self.module]
        self.imports: dict[str, set[str]] = defaultdict(set)  # local name → dotted names
        self.stars: list[str] = []  # what `from … import *` takes names from
        self.star_positions: list[Position] = []
        # Whether something may set any global variable (`exec`, `globals().update(…)`), or any attribute (`setattr`).
        self.globals_set = False
        self.attributes_set_by_name = False
        self.calls: list[Site] = []
        self.classes: dict[str, tuple[ast.ClassDef, Scope]] = {}
        self.functions: dict[str, list[Scope]] = defaultdict(list)
        self.attributes_set: dict[str, list[tuple[ast.expr, Scope, Block, Position]]] = defaultdict(list)
        Walk(self).statements(tree.body, self.module, self.module.block)

    def dotted(self, node: ast.expr) -> str:
        """`ds.zero.Init` with `import deepspeed as ds` → "deepspeed.zero.Init"; "" when it is no chain of
        names.
        """
        parts: list[str] = []
        while type(node) is ast.Attribute:
            parts.append(node.attr)
            node = node.value
        if type(node) is not ast.Name:
            return ""
        known = self.imports.get(node.id)
        if known is None:
            parts.append(node.id)
        else:
            parts.append(min(known))
        parts.reverse()
        return ".".join(parts)


# Fields with expressions in them, without contexts and operators: what a walk has to look at.
CHILDREN: Final[dict[type[ast.AST], tuple[str, ...]]] = {}
SKIPPED: Final = frozenset(
    {"ctx", "op", "ops", "kind", "type_comment", "id", "attr", "arg", "conversion", "is_async"}
)


def children(kind: type[ast.AST]) -> tuple[str, ...]:
    known = CHILDREN.get(kind)
    if known is None:
        known = CHILDREN[kind] = tuple(name for name in kind._fields if name not in SKIPPED)
    return known


def start_of(node: ast.expr | ast.stmt) -> Position:
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def chain(node: ast.expr) -> tuple[str, tuple[ast.expr, ...]]:
    """`a["b"]["c"]` → ("a", the expressions between the brackets); `self.a["b"]` → ("self.a", …); else
    ("", ()).
    """
    path: list[ast.expr] = []
    while True:
        kind = type(node)
        if kind is ast.Subscript:
            assert isinstance(node, ast.Subscript)
            path.append(node.slice)
            node = node.value
        elif kind is ast.Name:
            assert isinstance(node, ast.Name)
            name = node.id
            break
        elif kind is ast.Attribute:
            assert isinstance(node, ast.Attribute)
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                name = f"self.{node.attr}"
                break
            return "", ()
        elif kind is ast.Call:
            # `a.get("b")` and `a.setdefault("b", {})` reach the same object as `a["b"]`.
            assert isinstance(node, ast.Call)
            function = node.func
            if not (
                isinstance(function, ast.Attribute) and function.attr in ("get", "setdefault") and node.args
            ):
                return "", ()
            path.append(node.args[0])
            node = function.value
        else:
            return "", ()
    path.reverse()
    return name, tuple(path)


class Walk:
    """The walk itself: statements in order, expressions inside them in no order."""

    __slots__ = ("names",)

    def __init__(self, names: Names) -> None:
        self.names = names

    def statements(self, body: list[ast.stmt], scope: Scope, block: Block) -> None:
        for statement in body:
            handler = HANDLERS.get(type(statement))
            if handler is None:
                self.expressions(statement, scope, block)
            else:
                handler(self, statement, scope, block)

    # Statements that bind.

    def assign(self, node: ast.Assign, scope: Scope, block: Block) -> None:
        at = end_of(node)
        for target in node.targets:
            self.bind(target, node.value, scope, block, at)
        named = [target.id for target in node.targets if isinstance(target, ast.Name)]
        # One object of several names: each can be changed by the others from here on.
        after = (at[0], at[1] + 1)
        for one in named:
            for other in named:
                if one != other:
                    self.alias(one, (), other, scope, block, after)
        self.expressions(node.value, scope, block, named[0] if named else "")

    def annotated(self, node: ast.AnnAssign, scope: Scope, block: Block) -> None:
        if node.value is not None:
            self.bind(node.target, node.value, scope, block, end_of(node))
            target = node.target.id if isinstance(node.target, ast.Name) else ""
            self.expressions(node.value, scope, block, target)

    def augmented(self, node: ast.AugAssign, scope: Scope, block: Block) -> None:
        name, path = chain(node.target)
        at = end_of(node)
        if isinstance(node.op, ast.BitOr) and name:
            scope.alterations[name].append(Alteration("update", scope, block, at, path, node.value, node))
        elif path:
            scope.alterations[name].append(Alteration("set", scope, block, at, path, None, node.target))
        else:
            self.bind(node.target, None, scope, block, at)
        self.expressions(node.value, scope, block)

    def bind(
        self,
        target: ast.expr,
        value: ast.expr | None,
        scope: Scope,
        block: Block,
        at: Position,
        kind: str = "value",
    ) -> None:
        if isinstance(target, ast.Name):
            self.bind_name(target.id, value, scope, block, at, "with" if kind == "with" else "value")
            if value is not None:
                self.note_alias(target.id, value, scope, block, at)
        elif isinstance(target, ast.Subscript):
            self.note_namespace(target.value)
            name, path = chain(target)
            if name:
                scope.alterations[name].append(Alteration("set", scope, block, at, path, value, target))
                if value is not None:
                    self.note_content(name, value, scope, block, at)
            self.expressions(target, scope, block)
        elif isinstance(target, ast.Attribute):
            self.bind_attribute(target, value, scope, block, at)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None, scope, block, at)
        elif isinstance(target, ast.Tuple | ast.List):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                starred = any(isinstance(each, ast.Starred) for each in (*value.elts, *target.elts))
                values = [None] * len(target.elts) if starred else list(value.elts)
            for each, part in zip(target.elts, values, strict=True):
                self.bind(each, part, scope, block, at)

    def bind_name(
        self,
        name: str,
        value: ast.expr | None,
        scope: Scope,
        block: Block,
        at: Position,
        kind: Literal["value", "with"],
    ) -> None:
        if name in scope.elsewhere:
            # Bound in an outer scope, whenever this function is called.
            self.names.module.bindings[name].append(Binding("opaque", scope, block, at))
            return
        bound: Literal["value", "with", "opaque"] = "opaque" if value is None else kind
        scope.bindings[name].append(Binding(bound, scope, block, at, value))

    def bind_attribute(
        self, target: ast.Attribute, value: ast.expr | None, scope: Scope, block: Block, at: Position
    ) -> None:
        self.names.attributes_set[target.attr].append((target.value, scope, block, at))
        owner = scope.enclosing_class()
        if owner is not None and isinstance(target.value, ast.Name) and target.value.id == "self":
            kind: Literal["value", "opaque"] = "opaque" if value is None else "value"
            owner.attributes[target.attr].append(Binding(kind, scope, block, at, value))
            if value is not None:
                self.note_alias(f"self.{target.attr}", value, scope, block, at)
        elif value is not None:
            self.note_alias("", value, scope, block, at)

    def note_alias(self, name: str, value: ast.expr, scope: Scope, block: Block, at: Position) -> None:
        """`b = a`, `b = a["c"]`: what changes b changes a. `b = a.copy()`, `b = {"c": a}`: what changes
        deep inside b does. Noted for before the new name is bound, as that may be the old one.
        """
        at = start_of(value)
        root, path = chain(value)
        if root:
            self.alias(root, path, name, scope, block, at)
        elif isinstance(value, ast.Dict):
            for each in value.values:
                self.note_content(name, each, scope, block, at)
        elif isinstance(value, ast.List | ast.Tuple):
            for each in value.elts:
                self.note_content(name, each, scope, block, at)
        elif isinstance(value, ast.Call):
            self.note_result(name, value, scope, block, at)
        elif isinstance(value, ast.IfExp):
            self.note_alias(name, value.body, scope, block, at)
            self.note_alias(name, value.orelse, scope, block, at)
        elif isinstance(value, ast.BoolOp):
            for each in value.values:
                self.note_alias(name, each, scope, block, at)
        elif isinstance(value, ast.NamedExpr):
            self.note_alias(name, value.value, scope, block, at)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
            self.note_content(name, value.left, scope, block, at)
            self.note_content(name, value.right, scope, block, at)
        elif isinstance(value, ast.Subscript | ast.ListComp | ast.DictComp | ast.GeneratorExp):
            for part in ast.walk(value):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                    self.alias(part.id, (), name, scope, block, at)

    def note_result(self, name: str, value: ast.Call, scope: Scope, block: Block, at: Position) -> None:
        """`b = f(a)`: the result may be a, or hold it."""
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("copy", "items", "values"):
            root, path = chain(value.func.value)
            if root:
                self.alias(root, path, name, scope, block, at, shallow=value.func.attr == "copy")
        shallow = isinstance(value.func, ast.Name) and value.func.id in ("dict", "list", "tuple")
        for each in (*value.args, *(keyword.value for keyword in value.keywords)):
            root, path = chain(each)
            if root:
                self.alias(root, path, name, scope, block, at, shallow=shallow, call=value)

    def note_content(self, name: str, value: ast.expr, scope: Scope, block: Block, at: Position) -> None:
        """An object inside of another."""
        at = start_of(value)
        root, path = chain(value)
        if root:
            self.alias(root, path, name, scope, block, at, shallow=True)
        elif not isinstance(value, ast.Constant):
            self.note_alias(name, value, scope, block, at)

    def alias(
        self,
        root: str,
        path: tuple[ast.expr, ...],
        name: str,
        scope: Scope,
        block: Block,
        at: Position,
        shallow: bool = False,
        call: ast.Call | None = None,
    ) -> None:
        found = Alteration("escape", scope, block, at, path, None, call, name, shallow)
        scope.alterations[root].append(found)

    def delete(self, node: ast.Delete, scope: Scope, block: Block) -> None:
        at = end_of(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.bindings[target.id].append(Binding("opaque", scope, block, at))
            elif isinstance(target, ast.Subscript):
                name, path = chain(target)
                if name:
                    scope.alterations[name].append(Alteration("remove", scope, block, at, path, None, target))

    def imported(self, node: ast.Import, scope: Scope, block: Block) -> None:
        for each in node.names:
            local = each.asname or each.name.partition(".")[0]
            self.names.imports[local].add(each.name if each.asname else local)
            scope.bindings[local].append(Binding("opaque", scope, block, end_of(node)))

    def imported_from(self, node: ast.ImportFrom, scope: Scope, block: Block) -> None:
        origin = "." * node.level + (node.module or "")
        for each in node.names:
            if each.name == "*":
                self.names.stars.append(origin)
                self.names.star_positions.append(end_of(node))
                continue
            local = each.asname or each.name
            dotted = f"{origin}{each.name}" if origin.endswith(".") else f"{origin}.{each.name}"
            self.names.imports[local].add(dotted)
            scope.bindings[local].append(Binding("opaque", scope, block, end_of(node)))

    def declared(self, node: ast.Global | ast.Nonlocal, scope: Scope, block: Block) -> None:
        scope.elsewhere.update(node.names)

    # Statements with blocks.

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, block: Block) -> None:
        scope.bindings[node.name].append(Binding("definition", scope, block, start_of(node), None, node))
        for decorator in node.decorator_list:
            self.expressions(decorator, scope, block)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.expressions(default, scope, block)
        inner = Scope("function", f"{scope.name}.{node.name}" if scope.name else node.name, scope, node)
        self.names.scopes.append(inner)
        self.names.functions[node.name].append(inner)
        self.parameters(node.args, inner)
        self.statements(node.body, inner, inner.block)

    def parameters(self, arguments: ast.arguments, scope: Scope) -> None:
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for each in plain:
            scope.bindings[each.arg].append(Binding("parameter", scope, scope.block, START, None, each))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                scope.bindings[rest.arg].append(Binding("opaque", scope, scope.block, START))

    def class_(self, node: ast.ClassDef, scope: Scope, block: Block) -> None:
        scope.bindings[node.name].append(Binding("definition", scope, block, start_of(node), None, node))
        for each in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.expressions(each, scope, block)
        inner = Scope("class", f"{scope.name}.{node.name}" if scope.name else node.name, scope, node)
        self.names.scopes.append(inner)
        self.names.classes[node.name] = (node, inner)
        self.statements(node.body, inner, inner.block)

    def if_(self, node: ast.If, scope: Scope, block: Block) -> None:
        self.expressions(node.test, scope, block)
        if is_main_guard(node.test):
            self.statements(node.body, scope, block)
            self.statements(node.orelse, scope, Block(block, node, "else"))
            return
        self.statements(node.body, scope, Block(block, node, "if"))
        self.statements(node.orelse, scope, Block(block, node, "else"))

    def for_(self, node: ast.For | ast.AsyncFor, scope: Scope, block: Block) -> None:
        self.expressions(node.iter, scope, block)
        body = Block(block, None, "loop", loop=True)
        at = end_of(node.target)
        self.bind(node.target, None, scope, body, at)
        for target in ast.walk(node.target):
            if isinstance(target, ast.Name):
                each = node.iter.elts if isinstance(node.iter, ast.List | ast.Tuple) else [node.iter]
                for value in each:
                    self.note_alias(target.id, value, scope, block, at)
        self.statements(node.body, scope, body)
        self.statements(node.orelse, scope, Block(block, None, "after"))

    def while_(self, node: ast.While, scope: Scope, block: Block) -> None:
        body = Block(block, None, "loop", loop=True)
        self.expressions(node.test, scope, body)
        self.statements(node.body, scope, body)
        self.statements(node.orelse, scope, Block(block, None, "after"))

    def with_(self, node: ast.With | ast.AsyncWith, scope: Scope, block: Block) -> None:
        for item in node.items:
            self.expressions(item.context_expr, scope, block)
            if item.optional_vars is not None:
                at = end_of(item.optional_vars)
                self.bind(item.optional_vars, item.context_expr, scope, block, at, "with")
        self.statements(node.body, scope, block)

    def try_(self, node: ast.Try, scope: Scope, block: Block) -> None:
        self.statements(node.body, scope, Block(block, node, "try"))
        for number, handler in enumerate(node.handlers):
            inside = Block(block, node, f"except {number}")
            if handler.type is not None:
                self.expressions(handler.type, scope, inside)
            if handler.name:
                scope.bindings[handler.name].append(Binding("opaque", scope, inside, (handler.lineno, 0)))
            self.statements(handler.body, scope, inside)
        self.statements(node.orelse, scope, Block(block, None, "after"))
        self.statements(node.finalbody, scope, block)

    def match_(self, node: ast.Match, scope: Scope, block: Block) -> None:
        self.expressions(node.subject, scope, block)
        for number, case in enumerate(node.cases):
            inside = Block(block, node, f"case {number}")
            for each in ast.walk(case.pattern):
                name = getattr(each, "name", None) or getattr(each, "rest", None)
                if isinstance(name, str):
                    scope.bindings[name].append(Binding("opaque", scope, inside, start_of(node.subject)))
            if case.guard is not None:
                self.expressions(case.guard, scope, inside)
            self.statements(case.body, scope, inside)

    def return_(self, node: ast.Return, scope: Scope, block: Block) -> None:
        scope.returns.append((node.value, block))
        if node.value is not None:
            self.expressions(node.value, scope, block)

    # Expressions.

    def expressions(self, root: ast.AST, scope: Scope, block: Block, target: str = "") -> None:
        """Every call below a node; lambdas and comprehensions are scopes of their own."""
        stack: list[ast.AST | None] = [root]
        name, constant, call = ast.Name, ast.Constant, ast.Call
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is name or kind is constant or node is None:
                continue
            if kind is call:
                assert isinstance(node, ast.Call)
                self.call(node, scope, block, target if node is root else "")
            elif kind in OWN_SCOPE:
                self.own_scope(node, scope, block)
                continue
            elif kind is ast.NamedExpr:
                assert isinstance(node, ast.NamedExpr)
                self.bind(node.target, node.value, scope, block, end_of(node))
            elif kind is ast.IfExp:
                assert isinstance(node, ast.IfExp)
                stack.append(node.test)
                self.expressions(node.body, scope, Block(block, node, "if"))
                self.expressions(node.orelse, scope, Block(block, node, "else"))
                continue
            elif kind is ast.BoolOp:
                assert isinstance(node, ast.BoolOp)
                stack.append(node.values[0])
                for value in node.values[1:]:
                    self.expressions(value, scope, Block(block, None, "if"))
                continue
            assert node is not None
            for field in children(type(node)):
                part: Any = getattr(node, field, None)
                if type(part) is list:
                    stack.extend(part)
                elif isinstance(part, ast.AST):
                    stack.append(part)

    def own_scope(self, node: ast.AST, scope: Scope, block: Block) -> None:
        if isinstance(node, ast.Lambda):
            inner = Scope("function", f"{scope.name}.<lambda>" if scope.name else "<lambda>", scope, node)
            self.names.scopes.append(inner)
            self.parameters(node.args, inner)
            self.expressions(node.body, inner, Block(inner.block, None, "lambda"))
            return
        assert isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp)
        inner = Scope("function", scope.name, scope, node)
        self.names.scopes.append(inner)
        inside = Block(inner.block, None, "loop", loop=True)
        for generator in node.generators:
            for each in ast.walk(generator.target):
                if isinstance(each, ast.Name):
                    inner.bindings[each.id].append(Binding("opaque", inner, inner.block, START))
            self.expressions(generator.iter, inner, inside)
            for test in generator.ifs:
                self.expressions(test, inner, inside)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self.expressions(part, inner, inside)

    def call(self, node: ast.Call, scope: Scope, block: Block, target: str) -> None:
        self.names.calls.append(Site(node, scope, block, target))
        function = node.func
        if isinstance(function, ast.Name):
            if function.id == "exec":
                self.names.globals_set = True
            elif function.id == "setattr":
                self.names.attributes_set_by_name = True
        elif isinstance(function, ast.Attribute) and function.attr in ("update", "setdefault", "__setattr__"):
            self.note_namespace(function.value)
            if function.attr == "__setattr__":
                self.names.attributes_set_by_name = True
        if isinstance(function, ast.Attribute) and function.attr in METHODS:
            name, path = chain(function.value)
            if name:
                self.method(node, function.attr, name, path, scope, block)
                if function.attr not in METHODS_OF_LISTS:
                    return
        # `callee(name)` may change what it gets; whether it does is asked when somebody needs the value.
        for argument in node.args:
            self.handed(argument, node, scope, block)
        for keyword in node.keywords:
            self.handed(keyword.value, node, scope, block)

    def note_namespace(self, node: ast.expr) -> None:
        """`globals()` or `x.__dict__` in a place where they are changed."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            self.names.attributes_set_by_name = True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("globals", "locals"):
                self.names.globals_set = True
            elif node.func.id == "vars":
                self.names.globals_set = self.names.globals_set or not node.args
                self.names.attributes_set_by_name = True

    def handed(self, argument: ast.expr, call: ast.Call, scope: Scope, block: Block) -> None:
        kind = type(argument)
        if kind is ast.Name or kind is ast.Subscript or kind is ast.Attribute:
            name, path = chain(argument)
            if name:
                found = Alteration("escape", scope, block, end_of(call), path, argument, call)
                scope.alterations[name].append(found)
        elif isinstance(argument, ast.Starred):
            self.handed(argument.value, call, scope, block)

    def method(
        self, call: ast.Call, method: str, name: str, path: tuple[ast.expr, ...], scope: Scope, block: Block
    ) -> None:
        at = end_of(call)
        add = scope.alterations[name].append
        if method == "update":
            for argument in call.args:
                add(Alteration("update", scope, block, at, path, argument, call))
            for keyword in call.keywords:
                if keyword.arg is None:
                    add(Alteration("update", scope, block, at, path, keyword.value, call))
                else:
                    key = ast.copy_location(ast.Constant(keyword.arg), keyword)
                    key.end_col_offset = key.col_offset + len(keyword.arg.encode())
                    key.end_lineno = key.lineno
                    add(Alteration("set", scope, block, at, (*path, key), keyword.value, call))
        elif method in ("pop", "__delitem__") and call.args:
            add(Alteration("remove", scope, block, at, (*path, call.args[0]), None, call))
        elif method == "setdefault" and call.args:
            value = call.args[1] if len(call.args) > 1 else None
            add(Alteration("default", scope, block, at, (*path, call.args[0]), value, call.args[0]))
        else:
            add(Alteration("escape", scope, block, at, path, None, call))


METHODS_OF_LISTS: Final = frozenset({"append", "extend", "insert", "remove", "sort", "reverse"})
METHODS_OF_DICTS: Final = frozenset(
    {"update", "pop", "popitem", "setdefault", "clear", "__delitem__", "__setitem__"}
)
METHODS: Final = METHODS_OF_LISTS | METHODS_OF_DICTS
OWN_SCOPE: Final = frozenset({ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp})


def is_main_guard(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, which holds for a program that is launched."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
    )


HANDLERS: Final[dict[type[ast.AST], Callable[[Walk, Any, Scope, Block], None]]] = {
    ast.Assign: Walk.assign,
    ast.AnnAssign: Walk.annotated,
    ast.AugAssign: Walk.augmented,
    ast.Delete: Walk.delete,
    ast.Import: Walk.imported,
    ast.ImportFrom: Walk.imported_from,
    ast.Global: Walk.declared,
    ast.Nonlocal: Walk.declared,
    ast.FunctionDef: Walk.function,
    ast.AsyncFunctionDef: Walk.function,
    ast.ClassDef: Walk.class_,
    ast.If: Walk.if_,
    ast.For: Walk.for_,
    ast.AsyncFor: Walk.for_,
    ast.While: Walk.while_,
    ast.With: Walk.with_,
    ast.AsyncWith: Walk.with_,
    ast.Try: Walk.try_,
    ast.Match: Walk.match_,
    ast.Return: Walk.return_,
}
if hasattr(ast, "TryStar"):  # from Python 3.11
    HANDLERS[ast.TryStar] = Walk.try_
