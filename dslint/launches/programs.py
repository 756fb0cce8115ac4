"""A Python program's part in launches: which config it hands to which framework, with which arguments beside
it.

Plain facts, for whoever joins files to launches: nothing here looks at other files or at the command line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dslint.documents.python import Call, Given, Loaded, LocalClass, Parser, Program
from dslint.documents.python_calls import CONFIG_PARAMETERS
from dslint.documents.python_trees import blurred, copied_node
from dslint.documents.tree import UNKNOWN, Document, Member, Node, Place, Source, Unknown
from dslint.launches.launch import Argument, Framework
from dslint.launches.programs_accelerate import plugin_config
from dslint.launches.programs_lightning import lightning_config, lightning_world_size
from dslint.launches.recognise import is_config
from dslint.launches.trainer import trl_defaults

FAMILY: Final = "transformers.TrainingArguments"

# What a program gives as its config: a dict of its own (or what a framework makes of arguments), a file,
# something only a run would show, or nothing, so that the command line or the environment decides.
ConfigGiven = Document | Loaded | Unknown | None


class ConfigUse(NamedTuple):
    """A call that takes a DeepSpeed config, with what it is given.

    `place` is the config's place, or the call's name where none is given. `arguments` are by the parameter
    names of the framework: TrainingArguments fields, DeepSpeedPlugin's, or those of Lightning's Trainer.
    `complete`: no other argument is given. `world_size` is None unless the program itself fixes it.
    """

    framework: Framework | None
    call: Call
    config: ConfigGiven
    place: Place
    arguments: Mapping[str, Argument]
    complete: bool
    world_size: int | None = None

    @property
    def option(self) -> str:
        """The command line's option (its attribute, "deepspeed_config") that gives the config's path, or ""."""
        return next((given.option for given in self.given() if given.option), "")

    @property
    def loaded(self) -> Loaded | None:
        """The file that is loaded from the path that `option` gives (its own is empty), with what is changed in it."""
        return next((given.file for given in self.given() if given.option), None)

    def given(self) -> Iterator[Given]:
        for parameter in CONFIG_PARAMETERS.get(self.call.name, ()):
            if parameter in self.call.arguments:
                yield self.call.arguments[parameter]


class ParsedArguments(NamedTuple):
    """TrainingArguments that a dataclass parser fills from the command line or a file.

    `arguments` are the defaults that the program's own class gives; `complete`: every other field has the
    TrainingArguments' default unless the command line gives it. `command_line`, `file`: where values come
    from.
    """

    parser: Parser
    place: Place
    arguments: Mapping[str, Argument]
    complete: bool
    command_line: bool
    file: bool


def config_uses(program: Program, versions: Mapping[str, str] | None = None) -> list[ConfigUse]:
    """Every call of a program that takes a config, in the order of the text.

    `versions` are those of the libraries, where they are known ({"trl": "0.15.2"}).
    """
    uses = [
        *training_arguments(program, versions),
        *initializations(program),
        *plugins(program),
        *strategies(program),
        *references(program),
    ]
    written = {posixpath.normpath(path): document for path, document in written_configs(program)}
    if written:
        uses = [with_own_file(use, written) for use in uses]
    return sorted(uses, key=lambda use: use.call.order)


def with_own_file(use: ConfigUse, written: Mapping[str, Document]) -> ConfigUse:
    """A use of a file that the program itself writes takes what it writes."""
    if not isinstance(use.config, Loaded) or use.config.overrides or use.config.blurred:
        return use
    document = written.get(posixpath.normpath(use.config.path))
    return use if document is None else use._replace(config=document)


# Transformers.


def training_arguments(program: Program, versions: Mapping[str, str] | None = None) -> list[ConfigUse]:
    """The calls of TrainingArguments and its family, with their fields as a Launch wants them."""
    return [
        training_use(program, call, versions or {})
        for call in program.named(FAMILY)
        # Before trl 0.12 PPOConfig was no TrainingArguments; these need an output_dir.
        if not call.dotted.endswith(".PPOConfig") or "output_dir" in call.arguments
    ]


def training_use(program: Program, call: Call, versions: Mapping[str, str]) -> ConfigUse:
    arguments = arguments_of(program.source, call.arguments)
    complete = call.complete
    callee = Place(program.source, call.callee_start, call.callee_end)
    local = program.classes.get(call.dotted)
    if local is not None:
        arguments = {**arguments_of(program.source, local.fields), **arguments}
        complete = complete and local.complete
    arguments.update(own_defaults(local.base if local else call.dotted, arguments, versions, callee))
    for name in call.changed:
        given = arguments.get(name)
        arguments[name] = Argument(UNKNOWN, given.place if given else callee)
    return ConfigUse(
        framework="transformers",
        call=call,
        config=given_config(program.source, call.arguments.get("deepspeed"), call.complete),
        place=place_of(program.source, call, "deepspeed"),
        arguments=arguments,
        complete=complete,
    )


def own_defaults(
    dotted: str, given: Mapping[str, Argument], versions: Mapping[str, str], place: Place
) -> dict[str, Argument]:
    """What trl's classes set beyond the Trainer's defaults."""
    if not dotted.startswith("trl."):
        return {}
    found = trl_defaults(dotted.rpartition(".")[2], given, parsed_version(versions.get("trl")))
    return {name: Argument(value, place) for name, value in found.items()}


def parsed_arguments(program: Program, versions: Mapping[str, str] | None = None) -> list[ParsedArguments]:
    """The dataclass parsers that fill TrainingArguments, or that may: an unknown class makes them
    incomplete.
    """
    return [found for parser in program.parsers if (found := parsed_use(program, parser, versions or {}))]


def parsed_use(program: Program, parser: Parser, versions: Mapping[str, str]) -> ParsedArguments | None:
    known = [name for name in parser.classes or () if program.family_of(name) == FAMILY]
    foreign = [name for name in parser.classes or () if is_elsewhere(program, name)]
    if not known and not foreign and parser.classes is not None:
        return None
    callee = Place(program.source, parser.call.callee_start, parser.call.callee_end)
    arguments: dict[str, Argument] = {}
    complete = bool(known)
    if known:
        local: LocalClass | None = program.classes.get(known[0])
        if local is not None:
            arguments.update(arguments_of(program.source, local.fields))
            complete = local.complete
        arguments.update(own_defaults(local.base if local else known[0], arguments, versions, callee))
    sources = parser.sources
    return ParsedArguments(
        parser,
        callee,
        arguments,
        complete and "program" not in sources,
        command_line=bool(sources & {"command line", "command line or file"}),
        file=bool(sources & {"file", "command line or file"}),
    )


def is_elsewhere(program: Program, name: str) -> bool:
    """A class of another file whose name says that it may be a TrainingArguments."""
    last = name.rpartition(".")[2]
    return (
        name not in program.classes
        and "." in name
        and last.startswith(("Training", "Train", "SFT", "DPO", "GRPO"))
    )


# Bare DeepSpeed.


def initializations(program: Program) -> list[ConfigUse]:
    """The calls of deepspeed.initialize; without a config of their own, the command line names it."""
    found: list[ConfigUse] = []
    for call in program.named("deepspeed.initialize"):
        name = "config" if "config" in call.arguments else "config_params"
        given = call.arguments.get(name)
        if given is not None and given.value is None:
            given = None
        found.append(
            ConfigUse(
                framework="deepspeed",
                call=call,
                config=given_config(program.source, given, call.complete),
                place=place_of(program.source, call, name),
                arguments={},
                complete=call.complete,
            )
        )
    return found


def references(program: Program) -> list[ConfigUse]:
    """Configs that are only looked at: `HfDeepSpeedConfig(…)`, `zero.Init(config_dict_or_path=…)`."""
    found: list[ConfigUse] = []
    for config in program.configs:
        call = config.call
        if call is not None and call.name in ("transformers.HfDeepSpeedConfig", "deepspeed.zero.Init"):
            given = call.arguments[config.parameter]
            place = place_of(program.source, call, config.parameter)
            found.append(
                ConfigUse(None, call, given_config(program.source, given, True), place, {}, call.complete)
            )
    return found


# Accelerate and Lightning.


def plugins(program: Program) -> list[ConfigUse]:
    """The calls of Accelerate's DeepSpeedPlugin, with the config that each is given or makes."""
    found: list[ConfigUse] = []
    for call in program.named("accelerate.DeepSpeedPlugin"):
        given = call.arguments.get("hf_ds_config")
        if given is None or given.value is None:
            accelerators = [
                other
                for other in program.named("accelerate.Accelerator")
                if (plugin := other.arguments.get("deepspeed_plugin")) is not None
                and plugin.made_by == call.order
            ]
            config: ConfigGiven = plugin_config(
                program.source, call, accelerators[0] if len(accelerators) == 1 else None
            )
        else:
            config = given_config(program.source, given, True)
        found.append(
            ConfigUse(
                framework="accelerate",
                call=call,
                config=config,
                place=place_of(program.source, call, "hf_ds_config"),
                arguments=arguments_of(program.source, call.arguments),
                complete=call.complete,
            )
        )
    return found


def strategies(program: Program) -> list[ConfigUse]:
    """Lightning's Trainers and Fabrics with a DeepSpeed strategy, and strategies that no such call is seen
    to take.
    """
    found: list[ConfigUse] = []
    made = {call.order: call for call in program.named("lightning.DeepSpeedStrategy")}
    taken: set[int] = set()
    for call in program.named("lightning.Trainer", "lightning.Fabric"):
        strategy = call.arguments.get("strategy")
        if strategy is None:
            continue
        if strategy.made_by in made:
            taken.add(strategy.made_by)
            found.append(strategy_use(program, made[strategy.made_by], call))
        elif isinstance(strategy.value, str) and strategy.value.startswith("deepspeed"):
            found.append(strategy_use(program, None, call))
    found += [strategy_use(program, call, None) for order, call in made.items() if order not in taken]
    return found


def strategy_use(program: Program, strategy: Call | None, trainer: Call | None) -> ConfigUse:
    source = program.source
    given = strategy.arguments.get("config") if strategy is not None else None
    call = strategy or trainer
    assert call is not None
    if given is None or given.value is None:
        config: ConfigGiven = lightning_config(source, strategy, trainer)
        place = Place(source, call.callee_start, call.callee_end)
        if strategy is None and trainer is not None:
            named = trainer.arguments["strategy"]
            place = Place(source, named.start, named.end)
    else:
        config = given_config(source, given, True)
        place = Place(source, given.start, given.end)
    return ConfigUse(
        framework="lightning",
        call=trainer or call,
        config=config,
        place=place,
        arguments=arguments_of(source, trainer.arguments) if trainer is not None else {},
        complete=trainer is not None and trainer.complete and call.complete,
        world_size=lightning_world_size(trainer) if trainer is not None else None,
    )


# Configs that a program writes, and files that it changes.


def written_configs(program: Program) -> list[tuple[str, Document]]:
    """The DeepSpeed configs that a program dumps as JSON, with the paths that it gives them."""
    return [
        (config.written_to, config.document)
        for config in program.configs
        if config.written_to is not None and config.document is not None and is_config(config.document)
    ]


def as_loaded(document: Document, loaded: Loaded) -> Document:
    """A config file as the program has it that loads it: what it changes then is not known."""
    if not loaded.overrides and not loaded.blurred:
        return document
    root = copied_node(document.root)
    if loaded.blurred:
        root = with_unknown_members(root)
    for override in loaded.overrides:
        blur_at(root, override.path)
    return document._replace(root=root.but(open=True))


def with_unknown_members(root: Node) -> Node:
    """A config of which only the keys that it once had are known."""
    members = [member._replace(node=blurred(member.node)) for member in root.members]
    return root.but(open=True, members=members)


def blur_at(root: Node, path: tuple[str, ...]) -> None:
    """Makes unknown what stands at a path."""
    place = root
    for key in path[:-1]:
        found = place.get(key)
        if found is None or found.kind != "object":
            return
        place = found
    member = place.member(path[-1]) or Member(
        path[-1], root.start, root.end, Node("null", root.start, root.end)
    )
    place.members = [each for each in place.members if each.key != path[-1]]
    place.members.append(member._replace(node=blurred(member.node)))


# Small things.


def given_config(source: Source, given: Given | None, complete: bool) -> ConfigGiven:
    """What stands behind a config argument; absent, it is None only where no other argument can be given."""
    if given is None:
        return None if complete else UNKNOWN
    if given.file is not None:
        return given.file if given.file.path else UNKNOWN
    if given.node is not None and given.node.kind == "object":
        return Document(source, given.node, "python")
    if isinstance(given.value, str):
        return Loaded(given.value, given.start, given.end)
    return None if given.value is None else UNKNOWN


def arguments_of(source: Source, given: Mapping[str, Given]) -> dict[str, Argument]:
    return {name: Argument(each.value, argument_place(source, each)) for name, each in given.items()}


def argument_place(source: Source, given: Given) -> Place:
    """`name=value` where it stands so, else the value."""
    start = given.keyword[0] if given.keyword is not None and given.keyword[0] <= given.start else given.start
    return Place(source, start, given.end)


def place_of(source: Source, call: Call, parameter: str) -> Place:
    given = call.arguments.get(parameter)
    if given is None or given.value is None:
        return Place(source, call.callee_start, call.callee_end)
    return Place(source, given.start, given.end)


def parsed_version(text: str | None) -> tuple[int, ...] | None:
    """`0.15.2.dev0` → (0, 15, 2)."""
    found = re.match(r"\d+(?:\.\d+)*", text or "")
    return tuple(int(part) for part in found[0].split(".")) if found else None
