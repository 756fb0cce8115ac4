"""What a Python program tells of launches, as plain facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dslint.documents.python_calls import family
from dslint.documents.python_options import NO_COMMAND_LINE, CommandLine, Option
from dslint.documents.python_trees import Loaded
from dslint.documents.tree import Document, Node, Place, Problem, Source

Framework = Literal["deepspeed", "transformers", "accelerate", "lightning"]


class Given(NamedTuple):
    """One argument of a call.

    `value` is its plain value, or UNKNOWN; texts that are paths found from `__file__` are anchored
    `PathText`s. `node` is the tree of a value that is written in this file, `file` what is loaded from a JSON
    file instead. `made_by` is the order of the known call that gives the value. `option` is the attribute of
    the parsed command line that gives it (`args.lr` → "lr", see `Option.dest`). The spans are the value's and
    the keyword's; the keyword's is None for an argument given by place, or through a dict (`**arguments`).
    """

    value: Any
    start: int
    end: int
    keyword: tuple[int, int] | None = None
    node: Node | None = None
    file: Loaded | None = None
    made_by: int | None = None
    option: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of something that matters for a launch.

    `name` is the family ("transformers.TrainingArguments" for trl's SFTConfig too), `dotted` what is called,
    with import aliases resolved; for a class of this file, its own name. `complete` is False where arguments
    may be given that are not listed (`**unknown`, `*values`). `receiver` is what stands before a method's
    dot. `scope` is "" for the module, else a name as "main" or "Model.load"; `conditional`, whether it stands
    in a branch or loop. `changed` lists attributes of the result that the program sets afterwards.
    """

    name: str
    dotted: str
    start: int
    end: int
    callee_start: int
    callee_end: int
    arguments: Mapping[str, Given]
    complete: bool
    order: int
    scope: str = ""
    target: str = ""
    receiver: str = ""
    conditional: bool = False
    changed: frozenset[str] = frozenset()


class Config(NamedTuple):
    """A DeepSpeed config in a program: a dict (`document`), or a file that it loads or names (`file`).

    `call` takes it as `parameter`; or, `written_to` a path, it is dumped as JSON.
    """

    place: Place
    document: Document | None
    file: Loaded | None
    call: Call | None = None
    parameter: str = ""
    written_to: str | None = None


class LocalClass(NamedTuple):
    """A class of the program that derives from a known family, with the defaults of its own fields.

    `complete` is False where a base is unknown, or where the class may change its fields after they are
    given.
    """

    name: str
    family: str
    base: str
    fields: Mapping[str, Given]
    complete: bool
    start: int
    end: int


class Parser(NamedTuple):
    """A dataclass parser (`HfArgumentParser`): its call, the classes it fills, and where their values come
    from.

    `classes` are dotted names, or names of `Program.classes`; None where they are unknown. `sources` are of
    "command line", "file", "command line or file" and "program".
    """

    call: Call
    classes: tuple[str, ...] | None
    sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Program:
    """What a Python file tells of a launch.

    `problem` says why it could not be read; it is then empty. `definitions` are dict literals by the name of
    the function that returns them or of the module's variable, for programs that import them.
    """

    source: Source
    problem: Problem | None = None
    calls: tuple[Call, ...] = ()
    configs: tuple[Config, ...] = ()
    classes: Mapping[str, LocalClass] = field(default_factory=dict)
    parsers: tuple[Parser, ...] = ()
    command_line: CommandLine = NO_COMMAND_LINE
    definitions: Mapping[str, Document] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    adds_config_arguments: Place | None = None
    framework: Framework | None = None
    framework_place: Place | None = None

    def named(self, *names: str) -> list[Call]:
        """The calls of some families, in the order of the text."""
        return [call for call in self.calls if call.name in names]

    @property
    def options(self) -> Mapping[str, Option]:
        """The options that argparse takes, by name."""
        return self.command_line.options

    @property
    def takes_local_rank(self) -> bool | None:
        """Whether `--local_rank` is an option of the program; None when that is unknown."""
        if any(name in self.options for name in ("--local_rank", "--local-rank")):
            return True
        for parser in self.parsers:
            known = [self.family_of(name) for name in parser.classes or ()]
            if "transformers.TrainingArguments" in known:
                return True
        return False if self.command_line.complete and not self.parsers else None

    def family_of(self, name: str) -> str:
        """The family of a class by its dotted name, or by its name in this program; "" when it is in none."""
        local = self.classes.get(name)
        return local.family if local is not None else family(name)
