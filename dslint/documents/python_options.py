"""The command line that a program takes with argparse: its options, and whether these are surely all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from dslint.documents.python_calls import family
from dslint.documents.python_frames import Frame
from dslint.documents.python_names import Binding, Scope, Site, start_of
from dslint.documents.python_values import Values
from dslint.documents.tree import UNKNOWN

GROUPS: Final = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
ADDERS: Final = frozenset({"deepspeed.add_config_arguments", "deepspeed.add_tuning_arguments"})
# What deepspeed.add_config_arguments adds, in any release (`--deepspeed_mpi` up to 0.12).
CONFIG_FLAGS: Final = ("--deepspeed", "--deepscale", "--deepspeed_mpi")
CONFIG_TEXTS: Final = ("--deepspeed_config", "--deepscale_config")
STORED: Final = {"store_true": False, "store_false": True, "count": None}
# Actions that take no value from the command line.
FLAGS: Final = frozenset(
    {"store_true", "store_false", "store_const", "append_const", "count", "help", "version"}
)


class Option(NamedTuple):
    """One option, as `add_argument` makes it.

    `takes_value` is None where its action is unknown. `default`, `choices` and `type` are UNKNOWN where only
    a run would show them, and None (`choices` and `type`) where they are not given. The spans are those of
    the call, and of the values of `default` and `choices` where these are given.
    """

    names: tuple[str, ...]
    dest: str
    start: int
    end: int
    action: Any = "store"
    takes_value: bool | None = True
    type: Any = None
    default: Any = None
    choices: Any = None
    nargs: Any = None
    required: Any = False
    default_span: tuple[int, int] | None = None
    choices_span: tuple[int, int] | None = None


class CommandLine(NamedTuple):
    """What argparse makes of a command line.

    `options` is by name ("--dtype"), each name of an option an entry. `complete`: the program takes no other
    option than these. `abbreviations`: a beginning of a name is taken for it. `tolerant`: unknown options are
    passed over. `reads_arguments`: the parser is asked for the words after the program's name.
    """

    options: dict[str, Option]
    complete: bool = False
    abbreviations: bool = True
    tolerant: bool = False
    reads_arguments: bool = False
    positionals: int = 0

    def matching(self, text: str) -> list[Option]:
        """The options that a word such as "--dtype" or "--dty=bf16" may mean: none, one, or several when
        ambiguous.
        """
        name = text.partition("=")[0]
        if name in self.options:
            return [self.options[name]]
        if not self.abbreviations or not name.startswith("--"):
            return []
        found = {id(option): option for known, option in self.options.items() if known.startswith(name)}
        return list(found.values())


NO_COMMAND_LINE: Final = CommandLine({})


def command_line(values: Values) -> CommandLine:
    """Reads every `add_argument` of a file."""
    return Reader(values).read()


class Reader:
    """Gathers the options of all parsers of a file, and what speaks against these being all."""

    __slots__ = ("_complete", "_names", "_options", "_parsers", "_positionals", "_values")

    def __init__(self, values: Values) -> None:
        self._values = values
        self._names = values.names
        self._options: dict[str, Option] = {}
        self._complete = True
        self._positionals = 0
        self._parsers: set[str] = set()

    def read(self) -> CommandLine:
        made = [site for site in self._names.calls if self.family_of(site) == "argparse.ArgumentParser"]
        added = [site for site in self._names.calls if attribute_of(site) == "add_argument"]
        if not made and not added:
            return NO_COMMAND_LINE
        self._parsers.update(site.target for site in made if site.target)
        for site in added:
            self.add(site)
        for site in self._names.calls:
            if self.family_of(site) == "deepspeed.add_config_arguments":
                self.add_config_arguments(site)
        asked = [
            site for site in self._names.calls if attribute_of(site) in ("parse_args", "parse_known_args")
        ]
        reads = any(not explicit_arguments(site.node) for site in asked)
        self._complete = self._complete and bool(made) and self.is_closed(made, asked)
        return CommandLine(
            self._options,
            complete=self._complete,
            abbreviations=not any(self.is_given(site, "allow_abbrev") for site in made),
            tolerant=any(attribute_of(site) == "parse_known_args" for site in asked),
            reads_arguments=reads,
            positionals=self._positionals,
        )

    def family_of(self, site: Site) -> str:
        return family(self._names.dotted(site.node.func))

    def frame(self, site: Site) -> Frame:
        return Frame(site.scope, site.block, start_of(site.node))

    def is_given(self, site: Site, name: str) -> bool:
        return any(keyword.arg == name for keyword in site.node.keywords)

    def add(self, site: Site) -> None:
        node, frame = site.node, self.frame(site)
        names: list[str] = []
        for argument in node.args:
            name = self._values.text(argument, frame)
            if name is None:
                self._complete = False
                return
            names.append(name)
        if not names:
            self._complete = self._complete and any(keyword.arg == "dest" for keyword in node.keywords)
            return
        if not names[0].startswith("-"):
            self._positionals += 1
            return
        option = self.option(tuple(names), node, frame)
        for name in self.all_names(names, option):
            self._options[name] = option

    @staticmethod
    def all_names(names: list[str], option: Option) -> Iterator[str]:
        yield from names
        if option.action == "BooleanOptionalAction":
            yield from (f"--no-{name[2:]}" for name in names if name.startswith("--"))

    def option(self, names: tuple[str, ...], node: ast.Call, frame: Frame) -> Option:
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        open_ended = any(keyword.arg is None for keyword in node.keywords)
        start, end = self._values.span(node)

        def value(name: str, default: Any) -> Any:
            if name not in given:
                return UNKNOWN if open_ended else default
            found = self._values.value(given[name], frame)
            return found.plain() if hasattr(found, "plain") else UNKNOWN

        action = value("action", "store")
        if action is UNKNOWN and "action" in given:
            last = self._values.names.dotted(given["action"]).rpartition(".")[2]
            action = last if last == "BooleanOptionalAction" else UNKNOWN
        kind: Any = UNKNOWN if open_ended else None
        if "type" in given:
            kind = self._values.names.dotted(given["type"]) or UNKNOWN
        dest = value("dest", None)
        return Option(
            names=names,
            dest=dest if isinstance(dest, str) else destination(names),
            start=start,
            end=end,
            action=action,
            takes_value=takes_value(action, value("nargs", None)),
            type=kind,
            default=value("default", STORED.get(action) if isinstance(action, str) else None),
            choices=value("choices", None),
            nargs=value("nargs", None),
            required=value("required", False),
            default_span=self._values.span(given["default"]) if "default" in given else None,
            choices_span=self._values.span(given["choices"]) if "choices" in given else None,
        )

    def add_config_arguments(self, site: Site) -> None:
        start, end = self._values.span(site.node)
        for name in CONFIG_FLAGS:
            option = Option((name,), destination((name,)), start, end, "store_true", False, default=False)
            self._options.setdefault(name, option)
        for name in CONFIG_TEXTS:
            self._options.setdefault(name, Option((name,), destination((name,)), start, end, type="str"))

    # Are these all?

    def is_closed(self, made: list[Site], asked: list[Site]) -> bool:
        """Whether no code outside of this file can add an option, or take the command line itself."""
        if not asked or any(self.is_given(s, "parents") or self.is_given(s, "prefix_chars") for s in made):
            return False
        if "argv" in self._names.attributes_set:
            return False
        return all(self.keeps_closed(site) for site in self._names.calls)

    def keeps_closed(self, site: Site) -> bool:
        attribute, kind = attribute_of(site), self.family_of(site)
        if attribute in ("add_subparsers", "add_parser") or kind in (
            "transformers.HfArgumentParser",
            "deepspeed.add_tuning_arguments",
        ):
            return False
        if attribute in ("add_argument", *GROUPS):
            return self.is_plain_receiver(site)
        if kind == "deepspeed.add_config_arguments" or self.is_local(site):
            return True
        handed = (*site.node.args, *(keyword.value for keyword in site.node.keywords))
        return not any(self.is_parser(argument, site.scope) for argument in handed)

    def is_parser(self, node: ast.expr, scope: Scope) -> bool:
        if not isinstance(node, ast.Name):
            return False
        owner = scope.owner(node.id)
        return owner is not None and any(self.makes_parser(each, ()) for each in owner.bindings[node.id])

    def is_local(self, site: Site) -> bool:
        """A function of this file: what it adds is seen, as it stands here too."""
        function = site.node.func
        return isinstance(function, ast.Name) and function.id in self._names.functions

    def is_plain_receiver(self, site: Site) -> bool:
        function = site.node.func
        assert isinstance(function, ast.Attribute)
        return self.is_known_parser(function.value, site.scope, ())

    def is_known_parser(self, node: ast.expr, scope: Scope, seen: tuple[str, ...]) -> bool:
        """An expression that is a parser, or a group of one, that this file made (or a function's
        parameter).
        """
        if isinstance(node, ast.Call):
            if attribute(node) in GROUPS:
                assert isinstance(node.func, ast.Attribute)
                return self.is_known_parser(node.func.value, scope, seen)
            if family(self._names.dotted(node.func)) in ("argparse.ArgumentParser", *ADDERS):
                return True
            return isinstance(node.func, ast.Name) and self.returns_parser(node.func.id, seen)
        if not isinstance(node, ast.Name) or node.id in seen:
            return isinstance(node, ast.Name)
        owner = scope.owner(node.id)
        if owner is None:
            return False
        return all(
            each.kind == "parameter" or self.makes_parser(each, (*seen, node.id))
            for each in owner.bindings[node.id]
        )

    def returns_parser(self, name: str, seen: tuple[str, ...]) -> bool:
        return name not in seen and any(
            self.is_known_parser(result, scope, (*seen, name))
            for scope in self._names.functions.get(name, ())
            for result, _ in scope.returns
            if isinstance(result, ast.Name | ast.Call)
        )

    def makes_parser(self, binding: Binding, seen: tuple[str, ...]) -> bool:
        if binding.value is None:
            return False
        return isinstance(binding.value, ast.Call | ast.Name) and self.is_known_parser(
            binding.value, binding.scope, seen
        )


def attribute(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def attribute_of(site: Site) -> str:
    return attribute(site.node)


def explicit_arguments(node: ast.Call) -> bool:
    """`parse_args(["--stage", "2"])`, `parse_args("--stage 2".split())`: not what the command line says."""
    given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "args")]
    if not given:
        return False
    words = given[0]
    if isinstance(words, ast.Call):
        return isinstance(words.func, ast.Attribute) and words.func.attr == "split"
    return isinstance(words, ast.List | ast.Tuple)


def destination(names: tuple[str, ...]) -> str:
    """The attribute that argparse puts the value in."""
    long = next((name for name in names if name.startswith("--")), names[0])
    return long.lstrip("-").replace("-", "_")


def takes_value(action: Any, nargs: Any) -> bool | None:
    if action is UNKNOWN:
        return None
    if action in FLAGS or action == "BooleanOptionalAction":
        return False
    return nargs != 0 if nargs is not UNKNOWN else None
