"""A program's syntax tree → its facts: the calls that matter, their arguments, and the configs that they take."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from dslint.documents.python_calls import (
    CONFIG_PARAMETERS,
    PARAMETERS,
    PARSING_METHODS,
    TRAINER_METHODS,
    family,
)
from dslint.documents.python_frames import Frame, reaching, scope_of
from dslint.documents.python_names import Binding, Names, Scope, Site, start_of
from dslint.documents.python_offsets import Offsets
from dslint.documents.python_options import command_line
from dslint.documents.python_program import Call, Config, Framework, Given, LocalClass, Parser, Program
from dslint.documents.python_trees import Loaded, Value
from dslint.documents.python_values import Values
from dslint.documents.tree import UNKNOWN, Document, Node, Place, Source

MAX_BASES: Final = 20  # classes in a line of descent


class Reader:
    """Puts a file's facts together."""

    __slots__ = ("_calls", "_destinations", "_families", "_names", "_orders", "_source", "_values")

    def __init__(self, source: Source, tree: ast.Module, offsets: Offsets) -> None:
        self._source = source
        self._names = Names(tree)
        self._values = Values(self._names, offsets, source.path)
        self._families: dict[str, str] = {}
        self._orders: dict[int, int] = {}
        self._destinations: set[str] = set()
        self._calls: list[Call] = []

    def program(self) -> Program:
        classes = self.local_classes()
        options = command_line(self._values)
        self._destinations = {option.dest for option in options.options.values()}
        sites = [(site, name) for site in self._names.calls if (name := self.family_of(site))]
        sites.sort(key=lambda pair: (start_of(pair[0].node), -(pair[0].node.end_lineno or 0)))
        self._orders = {id(site.node): number for number, (site, _) in enumerate(sites)}
        self._calls = [self.call(site, name) for site, name in sites]
        parsers = self.parsers(sites)
        framework, framework_place = self.framework(classes, parsers)
        return Program(
            source=self._source,
            calls=tuple(self._calls),
            configs=tuple(self.configs()),
            classes=classes,
            parsers=tuple(parsers),
            command_line=options,
            definitions=self.definitions(),
            imports={name: min(dotted) for name, dotted in self._names.imports.items()},
            adds_config_arguments=next(
                (self.callee(call) for call in self._calls if call.name == "deepspeed.add_config_arguments"),
                None,
            ),
            framework=framework,
            framework_place=framework_place,
        )

    # Which calls.

    def family_of(self, site: Site) -> str:
        function = site.node.func
        if isinstance(function, ast.Name):
            if function.id in self._families and self.is_class(site.scope, function.id):
                return self._families[function.id]
        elif isinstance(function, ast.Attribute):
            found = self.method_family(function, site)
            if found:
                return found
        return family(self.dotted(function))

    def dotted(self, node: ast.expr) -> str:
        """The dotted name; one that only `from library import *` can have brought counts as that
        library's.
        """
        dotted = self._names.dotted(node)
        if dotted and "." not in dotted and dotted not in self._names.imports:
            for origin in self._names.stars:
                if family(f"{origin}.{dotted}") and not self._names.module.bindings.get(dotted):
                    return f"{origin}.{dotted}"
        return dotted

    def is_class(self, scope: Scope, name: str) -> bool:
        owner = scope.owner(name)
        return owner is not None and any(isinstance(each.node, ast.ClassDef) for each in owner.bindings[name])

    def method_family(self, function: ast.Attribute, site: Site) -> str:
        attribute = function.attr
        if attribute == "from_pretrained":
            return "transformers.from_pretrained"
        if attribute == "resize_token_embeddings":
            return "transformers.resize_token_embeddings"
        if attribute in TRAINER_METHODS and isinstance(function.value, ast.Name):
            made = self.made_by(function.value, site)
            if made is not None and self.raw_family(made, site.scope) == "transformers.Trainer":
                return f"trainer.{attribute}"
        return ""

    def raw_family(self, node: ast.Call, scope: Scope) -> str:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in self._families
            and self.is_class(scope, node.func.id)
        ):
            return self._families[node.func.id]
        return family(self.dotted(node.func))

    def made_by(self, node: ast.expr, site: Site) -> ast.Call | None:
        """The call whose result an expression is, through names."""
        found, _ = self.followed(node, site)
        return found if isinstance(found, ast.Call) else None

    def followed(self, node: ast.expr, site: Site) -> tuple[ast.expr, Scope]:
        """The expression that a name stands for, with its scope; other expressions are themselves."""
        frame = self.frame(site)
        for _ in range(4):
            if not isinstance(node, ast.Name):
                break
            owner = frame.scope.owner(node.id)
            if owner is None or self._values.is_spent(len(owner.bindings[node.id]) // 4):
                break
            binding = reaching(self._names, owner, node.id, frame)
            if binding is None or binding.value is None:
                break
            node = binding.value
            frame = Frame(binding.scope, binding.block, start_of(node))
        return node, frame.scope

    def frame(self, site: Site) -> Frame:
        return Frame(site.scope, site.block, start_of(site.node))

    def local_classes(self) -> dict[str, LocalClass]:
        found: dict[str, LocalClass] = {}
        for name, (node, scope) in self._names.classes.items():
            base, kind = self.base_family(node, ())
            if not kind:
                continue
            self._families[name] = kind
            start, end = self._values._offsets.start(node.lineno, node.col_offset), 0
            end = start + len("class ") + len(name)
            fields = self.class_fields(node, scope)
            complete = self.is_plain_class(node, scope, ())
            found[name] = LocalClass(name, kind, base, fields, complete, start, end)
        return found

    def base_family(self, node: ast.ClassDef, seen: tuple[str, ...]) -> tuple[str, str]:
        """The known class that a class derives from, and its family."""
        if len(seen) > MAX_BASES:
            return "", ""
        for base in node.bases:
            if (
                isinstance(base, ast.Name)
                and base.id in self._names.classes
                and base.id not in (*seen, node.name)
            ):
                found = self.base_family(self._names.classes[base.id][0], (*seen, node.name))
                if found[1]:
                    return found
                continue
            dotted = self.dotted(base)
            kind = family(dotted)
            if kind in ("transformers.TrainingArguments", "transformers.Trainer", "lightning.Trainer"):
                return dotted, kind
        return "", ""

    def class_fields(self, node: ast.ClassDef, scope: Scope) -> dict[str, Given]:
        """The defaults of a class's fields, those of its bases in this file included."""
        fields: dict[str, Given] = {}
        for base in reversed(node.bases):
            if isinstance(base, ast.Name) and base.id in self._names.classes and base.id != node.name:
                inner, inner_scope = self._names.classes[base.id]
                if inner.lineno < node.lineno:
                    fields.update(self.class_fields(inner, inner_scope))
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and statement.value is not None:
                target: ast.expr = statement.target
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
            else:
                continue
            if isinstance(target, ast.Name) and statement.value is not None:
                frame = Frame(scope, scope.block, start_of(statement.value))
                value = self._values.field_default(statement.value, frame)
                key = self._values.span(target)
                fields[target.id] = self.given(value, key, None)
        return fields

    def is_plain_class(self, node: ast.ClassDef, scope: Scope, seen: tuple[str, ...]) -> bool:
        """Whether instances hold what they are given: no code of the class runs on making one."""
        if any(name in scope.bindings for name in ("__init__", "__post_init__", "__setattr__", "__new__")):
            return False
        for base in node.bases:
            if (
                isinstance(base, ast.Name)
                and base.id in self._names.classes
                and base.id not in (*seen, node.name)
            ):
                inner, inner_scope = self._names.classes[base.id]
                if not self.is_plain_class(inner, inner_scope, (*seen, node.name)):
                    return False
            elif not family(self.dotted(base)):
                return False
        return True

    # Their arguments.

    def call(self, site: Site, name: str) -> Call:
        node, function = site.node, site.node.func
        start, end = self._values.span(node)
        callee_start, callee_end = self._values.span(function)
        dotted = self.dotted(function) or (function.attr if isinstance(function, ast.Attribute) else "")
        arguments, complete = self.arguments(site, name)
        return Call(
            name=name,
            dotted=dotted,
            start=start,
            end=end,
            callee_start=callee_start,
            callee_end=callee_end,
            arguments=arguments,
            complete=complete,
            order=self._orders[id(node)],
            scope=site.scope.name,
            target=site.target,
            receiver=self._names.dotted(function.value) if isinstance(function, ast.Attribute) else "",
            conditional=site.block is not site.scope.block,
            changed=self.changed(site) if name == "transformers.TrainingArguments" else frozenset(),
        )

    def arguments(self, site: Site, name: str) -> tuple[dict[str, Given], bool]:
        parameters = PARAMETERS.get(name, ())
        frame = self.frame(site)
        found: dict[str, Given] = {}
        complete = True
        for index, argument in enumerate(site.node.args):
            if isinstance(argument, ast.Starred) or index >= len(parameters):
                complete = False
                break
            found[parameters[index]] = self.evaluated(argument, frame, None, site)
        for keyword in site.node.keywords:
            if keyword.arg is not None:
                start, _ = self._values.span(keyword)
                span = (start, start + len(keyword.arg))
                found[keyword.arg] = self.evaluated(keyword.value, frame, span, site)
                continue
            value = self._values.value(keyword.value, frame)
            if isinstance(value, Loaded) or value.kind != "object":
                complete = False
                continue
            complete = complete and not value.open
            for member in value.members:
                found[member.key] = self.given(member.node, None, None)
        return found, complete

    def evaluated(self, node: ast.expr, frame: Frame, keyword: tuple[int, int] | None, site: Site) -> Given:
        origin, scope = self.followed(node, site)
        value = self._values.value(node, frame)
        option = ""
        if isinstance(value, Loaded) and not value.path:
            name, _, attribute = value.attribute.partition(".")
            option = self.option(name, attribute, scope)
            if not option:
                value = self._values.unknown(node)
        elif isinstance(origin, ast.Attribute) and isinstance(origin.value, ast.Name):
            option = self.option(origin.value.id, origin.attr, scope)
        given = self.given(value, keyword, self._orders.get(id(origin)))
        return given._replace(option=option) if given.value is UNKNOWN else given

    def option(self, name: str, attribute: str, scope: Scope) -> str:
        """The option of the command line whose value `name.attribute` is."""
        if attribute not in self._destinations or attribute in self._names.attributes_set:
            return ""
        owner = scope.owner(name)
        bindings = owner.bindings[name] if owner is not None else []
        return attribute if bindings and all(self.is_parsed(each) for each in bindings) else ""

    @staticmethod
    def is_parsed(binding: Binding) -> bool:
        """What a parser or a function gave, or a parameter: `args = parser.parse_args()`, `def
        main(args)`.
        """
        return binding.kind == "parameter" or isinstance(binding.value, ast.Call)

    @staticmethod
    def given(value: Value, keyword: tuple[int, int] | None, made_by: int | None) -> Given:
        if isinstance(value, Loaded):
            return Given(UNKNOWN, value.start, value.end, keyword, None, value, made_by)
        plain = UNKNOWN if value.open else value.plain()
        return Given(plain, value.start, value.end, keyword, value, None, made_by)

    def changed(self, site: Site) -> frozenset[str]:
        """The attributes that the program sets on what a call made: `args.bf16 = True` after `args = …`."""
        if not site.target:
            return frozenset()
        return frozenset(
            attribute
            for attribute, places in self._names.attributes_set.items()
            if any(isinstance(value, ast.Name) and value.id == site.target for value, *_ in places)
        )

    def callee(self, call: Call) -> Place:
        return Place(self._source, call.callee_start, call.callee_end)

    # What they amount to.

    def configs(self) -> list[Config]:
        found: list[Config] = []
        for call in self._calls:
            for parameter in CONFIG_PARAMETERS.get(call.name, ()):
                given = call.arguments.get(parameter)
                if given is not None:
                    config = self.config(given, call, parameter)
                    if config is not None:
                        found.append(config)
        for site in self._names.calls:
            written = self.written(site)
            if written is not None:
                found.append(written)
        return found

    def config(self, given: Given, call: Call, parameter: str) -> Config | None:
        place = Place(self._source, given.start, given.end)
        if given.file is not None:
            return Config(place, None, given.file, call, parameter)
        node = given.node
        if node is not None and node.kind == "object":
            return Config(place, self.document(node), None, call, parameter)
        if isinstance(given.value, str):
            return Config(place, None, Loaded(given.value, given.start, given.end), call, parameter)
        return None

    def document(self, node: Node) -> Document:
        return Document(self._source, node, "python")

    def written(self, site: Site) -> Config | None:
        """`json.dump(config, file)` and `file.write(json.dumps(config))` to a path that ends in .json."""
        node, frame = site.node, self.frame(site)
        path: str | None = None
        inner: ast.expr | None = None
        if self._names.dotted(node.func) == "json.dump" and len(node.args) >= 2:
            path, inner = self.path_of(self._values.opened(node.args[1], frame)), node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("write", "write_text") and node.args:
            dumped = node.args[0]
            if (
                isinstance(dumped, ast.Call)
                and self._names.dotted(dumped.func) == "json.dumps"
                and dumped.args
            ):
                inner = dumped.args[0]
                if node.func.attr == "write":
                    path = self.path_of(self._values.opened(node.func.value, frame))
                else:
                    path = self.path_of(self._values.file_of(node.func.value, frame))
        if inner is None or path is None or not path.endswith(".json"):
            return None
        value = self._values.value(inner, frame)
        if isinstance(value, Loaded) or value.kind != "object":
            return None
        start, end = self._values.span(inner)
        return Config(Place(self._source, start, end), self.document(value), None, written_to=path)

    @staticmethod
    def path_of(file: Loaded | None) -> str | None:
        return file.path if file is not None and file.path else None

    def definitions(self) -> dict[str, Document]:
        found: dict[str, Document] = {}
        module = self._names.module
        for name, bindings in module.bindings.items():
            if len(bindings) != 1:
                continue
            binding = bindings[0]
            if binding.kind == "value" and isinstance(binding.value, ast.Dict):
                use = ast.copy_location(ast.Name(name, ast.Load()), binding.value)
                end = (2**31, 0)
                value = self._values.name(use, Frame(module, module.block, end))
            elif binding.kind == "definition" and isinstance(binding.node, ast.FunctionDef):
                scope = scope_of(self._names, binding.node, name)
                result = self.returned(scope) if scope is not None else None
                if result is None:
                    continue
                value = result
            else:
                continue
            if isinstance(value, Node) and value.kind == "object":
                found[name] = self.document(value)
        return found

    def returned(self, scope: Scope) -> Value | None:
        if len(scope.returns) != 1 or scope.returns[0][0] is None or scope.returns[0][1] is not scope.block:
            return None
        result = scope.returns[0][0]
        return self._values.value(result, Frame(scope, scope.block, start_of(result)))

    def parsers(self, sites: list[tuple[Site, str]]) -> list[Parser]:
        found: list[Parser] = []
        for (site, name), call in zip(sites, self._calls, strict=True):
            if name != "transformers.HfArgumentParser":
                continue
            given = site.node.args[0] if site.node.args else None
            for keyword in site.node.keywords:
                if keyword.arg in ("dataclass_types", "dataclasses"):
                    given = keyword.value
            classes = self.parsed_classes(given, self.frame(site)) if given is not None else None
            found.append(Parser(call, classes, self.sources(site)))
        return found

    def parsed_classes(self, node: ast.expr, frame: Frame) -> tuple[str, ...] | None:
        """The classes that a parser fills: `(A, B)`, `[A, B]`, `A`, or a name bound to these."""
        if isinstance(node, ast.Tuple | ast.List):
            parts = [self.parsed_classes(element, frame) for element in node.elts]
            return None if None in parts else tuple(name for part in parts for name in part or ())
        if isinstance(node, ast.Name):
            owner = frame.scope.owner(node.id)
            binding = reaching(self._names, owner, node.id, frame) if owner is not None else None
            if binding is not None and isinstance(binding.value, ast.Tuple | ast.List | ast.Name):
                return self.parsed_classes(
                    binding.value,
                    Frame(binding.scope, binding.block, start_of(binding.value), None, frame.depth + 1),
                )
        dotted = self.dotted(node)
        return (dotted,) if dotted else None

    def sources(self, site: Site) -> frozenset[str]:
        found: set[str] = set()
        for other in self._names.calls:
            function = other.node.func
            if not isinstance(function, ast.Attribute) or function.attr not in PARSING_METHODS:
                continue
            on = function.value
            if on is site.node or (isinstance(on, ast.Name) and on.id == site.target and site.target):
                source = PARSING_METHODS[function.attr]
                explicit = function.attr == "parse_args_into_dataclasses" and any(
                    keyword.arg in ("args", "args_filename") for keyword in other.node.keywords
                )
                found.add("program" if explicit else source)
        return frozenset(found)

    def framework(
        self, classes: Mapping[str, LocalClass], parsers: list[Parser]
    ) -> tuple[Framework | None, Place | None]:
        """The framework that the program hands its config to; None when several come into question, or none."""
        first: dict[Framework, Call] = {}
        others = {parser.call.order for parser in parsers if not may_fill_arguments(parser, classes)}
        for call in self._calls:
            kind = self.framework_of(call) if call.order not in others else None
            if kind is not None:
                first.setdefault(kind, call)
        # A Trainer makes its own Accelerator; scripts beside it ask an Accelerator for the process's number.
        if "transformers" in first:
            first.pop("accelerate", None)
        if len(first) != 1:
            return None, None
        kind, call = next(iter(first.items()))
        return kind, self.callee(call)

    def framework_of(self, call: Call) -> Framework | None:
        name = call.name
        if name in ("deepspeed.initialize", "deepspeed.add_config_arguments"):
            return "deepspeed"
        if name in (
            "transformers.TrainingArguments",
            "transformers.Trainer",
            "transformers.HfArgumentParser",
        ):
            return "transformers"
        if name in ("accelerate.Accelerator", "accelerate.DeepSpeedPlugin"):
            return "accelerate"
        if name == "lightning.DeepSpeedStrategy":
            return "lightning"
        if name in ("lightning.Trainer", "lightning.Fabric"):
            strategy = call.arguments.get("strategy")
            if (
                strategy is not None
                and isinstance(strategy.value, str)
                and strategy.value.startswith("deepspeed")
            ):
                return "lightning"
        return None


def may_fill_arguments(parser: Parser, classes: Mapping[str, LocalClass]) -> bool:
    """Whether a dataclass parser fills TrainingArguments: by its classes, or by what these are called."""
    return parser.classes is None or any(
        (name in classes and classes[name].family == "transformers.TrainingArguments")
        or family(name) == "transformers.TrainingArguments"
        or (name not in classes and "Training" in name.rpartition(".")[2])
        for name in parser.classes
    )
