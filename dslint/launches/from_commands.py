"""A launch command → the launches that it makes: with the program that it runs and the config that one of them names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dslint.documents.python import Program
from dslint.documents.script import Script, same_path
from dslint.documents.tree import UNKNOWN, Document, Place, Unknown
from dslint.hardware.profiles import Profile, profile
from dslint.launches.accelerate import AccelerateConfig, accelerate_config, derived_from_flags
from dslint.launches.commands import LaunchCommand, Launcher, Option
from dslint.launches.from_programs import config_of, uses_of
from dslint.launches.from_scripts import Written
from dslint.launches.launch import Argument, Framework, Launch
from dslint.launches.programs import ConfigUse, ParsedArguments, parsed_arguments, with_unknown_members
from dslint.launches.reading import stub
from dslint.launches.resolve import find_file
from dslint.launches.trainer import DEFAULTS, INTEGERS, SWITCHES, typed
from dslint.releases.release import parse_version

if TYPE_CHECKING:
    from dslint.launches.join import Join

# Tools that hand their arguments to the HF Trainer.
TRAINER_TOOLS: Final = frozenset({"llamafactory-cli", "llamafactory", "swift", "axolotl", "xtuner"})
PARALLEL: Final = re.compile(r"parallel|(^|_)(tp|pp|mp|cp|sp|ep)(_size|_degree)?$|ulysses")
FIELDS: Final = frozenset(DEFAULTS) | INTEGERS | SWITCHES


class Started(NamedTuple):
    """What a command starts: the program's path and what it holds, where they can be read."""

    command: LaunchCommand
    script: Script
    path: str | None
    program: Program | None


def started(command: LaunchCommand, script: Script, join: Join) -> Started:
    word = command.program
    path = None
    if word is not None and command.kind == "script" and isinstance(word.text, str):
        path = find_file(in_folder(command, word.text), command.source, join.reading.workspace)
    return Started(command, script, path, None if path is None else join.reading.program(path))


def in_folder(command: LaunchCommand, path: str) -> str | None:
    """A path of a command from the folder that it runs in; None where a `cd` leads nobody knows where."""
    folder = command.command.folder
    if folder is None:
        return None
    return os.path.join(folder.path, path) if folder.path else path


def command_launches(join: Join, at: Started, written: Sequence[Written]) -> list[Launch]:
    """The launches of one command: one for each config that it, or its program, takes."""
    uses = [] if at.program is None else uses_of(at.program, join.around(at.command.source.path).versions)
    accelerate = accelerate_of(join, at)
    named = named_config(join, at, written) or accelerates_config(join, at, accelerate)
    found = []
    if named is not None:
        found.append(launch_of(join, at, named, trainer_use(uses), accelerate))
    for use in uses:
        given = None if at.program is None else config_of(use, at.program, join.reading)
        if given is not None and not any(launch.config.root is given[1].root for launch in found):
            found.append(launch_of(join, at, given[1], use))
    return found or [launch_of(join, at, stub(at.command.source, "shell", "launch"), trainer_use(uses))]


def accelerate_of(join: Join, at: Started) -> AccelerateConfig | None:
    """The Accelerate file that `accelerate launch --config_file` names, with the command's flags."""
    launcher = at.command.launcher("accelerate")
    word = None if launcher is None else launcher.value("config_file")
    if launcher is None or word is None or not isinstance(word.text, str):
        return None
    path = find_file(in_folder(at.command, word.text), at.command.source, join.reading.workspace)
    source = None if path is None else join.reading.source(path)
    if source is None:
        return None
    from dslint.documents import yaml

    flags = flags_of(at.command, launcher)
    version = version_of(join, at, "accelerate")
    found = (accelerate_config(document, flags, version) for document in yaml.parse(source))
    return next((config for config in found if config is not None), None)


def flags_of(command: LaunchCommand, launcher: Launcher) -> dict[str, Argument]:
    """A launcher's options as texts by name; a flag counts as true."""
    return {
        name: Argument(
            True
            if option.value is None
            else UNKNOWN
            if isinstance(option.value.text, Unknown)
            else option.value.text,
            option_place(command, option),
        )
        for name, option in launcher.options.items()
    }


def version_of(join: Join, at: Started, package: str) -> tuple[int, ...] | None:
    text = join.around(at.command.source.path).versions.get(package)
    release = parse_version(text) if text else None
    return None if release is None else release.version


def accelerates_config(join: Join, at: Started, accelerate: AccelerateConfig | None) -> Document | None:
    """The DeepSpeed config that Accelerate names or makes, from its file or from the flags alone."""
    if accelerate is not None:
        if accelerate.derived is not None or accelerate.config_file is None:
            return accelerate.derived
        named = accelerate.config_file
        path = find_file(named.value, named.place.source, join.reading.workspace)
        return None if path is None else join.reading.config(path)
    launcher = at.command.launcher("accelerate")
    if launcher is None or launcher.open or not {"use_deepspeed", "zero_stage"} <= launcher.options.keys():
        return None
    home = Place(at.command.source, at.command.command.start, at.command.command.end)
    return derived_from_flags(
        at.command.source, flags_of(at.command, launcher), home, version_of(join, at, "accelerate")
    )


def trainer_use(uses: Sequence[ConfigUse]) -> ConfigUse | None:
    """The use whose arguments stand beside a config that the command line names."""
    return next((use for use in uses if use.framework == "transformers"), None)


def named_config(join: Join, at: Started, written: Sequence[Written]) -> Document | None:
    """The config that the command names: one that its script writes, or a file's."""
    word = at.command.config_path
    if word is None or not isinstance(word.text, str):
        return None
    for one in written:
        if one.path is not None and same_path(one.path, word.text):
            return one.document
    path = find_file(in_folder(at.command, word.text), at.command.source, join.reading.workspace)
    if path is None or not path.lower().endswith((".json", ".hjson", ".json5", ".jsonc")):
        return None
    document = join.reading.config(path)
    if document is not None and (at.script.modified(word.text) or at.script.written(word.text)):
        return document._replace(root=with_unknown_members(document.root))
    return document


def launch_of(
    join: Join,
    at: Started,
    config: Document,
    use: ConfigUse | None,
    accelerate: AccelerateConfig | None = None,
) -> Launch:
    command = at.command
    parsed = parsed_of(join, at)
    arguments, complete = arguments_of(at, use, parsed)
    framework, place = framework_of(at, use, parsed)
    origins: dict[str, Place] = dict(command.origins)
    if command.config_option is not None:
        origins["config"] = option_place(command, command.config_option)
    elif use is not None:
        origins["config"] = use.place
    world_size = command.world_size if command.world_size is not None else (use.world_size if use else None)
    if accelerate is not None:
        world_size = accelerate.world_size if world_size is None else world_size
    if accelerate is not None or any("use_deepspeed" in launcher.options for launcher in command.launchers):
        framework = framework or "accelerate"
    if splits_model(at):
        # Then the batch is divided among fewer than all ranks, and how many is the program's to say.
        world_size = None
    return join.launch(
        config,
        command.source.path,
        framework,
        place,
        world_size=world_size,
        hardware=hardware_of(command),
        arguments=arguments,
        arguments_complete=complete,
        origins=origins,
        command=command,
        script=at.script,
        program=at.program,
        accelerate=accelerate,
    )


def splits_model(at: Started) -> bool:
    """Do several ranks hold one copy of the model: tensor, pipeline, sequence or expert parallelism?"""
    if any(PARALLEL.search(name) for name in at.command.arguments):
        return True
    if at.program is None:
        return False
    calls = at.program.named("deepspeed.initialize")
    return any("mpu" in call.arguments for call in calls) or "PipelineModule" in at.program.source.text


def parsed_of(join: Join, at: Started) -> ParsedArguments | None:
    """The parser that fills TrainingArguments from this command line."""
    if at.program is None:
        return None
    versions = join.around(at.command.source.path).versions
    return next((parsed for parsed in parsed_arguments(at.program, versions) if parsed.command_line), None)


def framework_of(
    at: Started, use: ConfigUse | None, parsed: ParsedArguments | None
) -> tuple[Framework | None, Place | None]:
    """What hands the config to DeepSpeed, and where that was learned."""
    if parsed is not None:
        return "transformers", parsed.place
    if use is not None and use.framework is not None:
        return use.framework, use.place
    if at.program is not None and at.program.framework is not None:
        return at.program.framework, at.program.framework_place
    command = at.command
    place = Place(command.source, command.command.start, command.command.end)
    if any(launcher.name in TRAINER_TOOLS for launcher in command.launchers):
        return "transformers", place
    if at.program is None and is_trainers(command):
        return "transformers", place
    return None, None


def is_trainers(command: LaunchCommand) -> bool:
    """Is this the HF Trainer's command line, as far as the words alone tell? Its batch size, and --deepspeed with a path."""
    option = command.config_option
    named = option is not None and option.name == "deepspeed" and option.value is not None
    return named and "per_device_train_batch_size" in command.arguments


def arguments_of(
    at: Started, use: ConfigUse | None, parsed: ParsedArguments | None
) -> tuple[Mapping[str, Argument], bool]:
    """The Trainer's arguments: the program's own, and over them what the command line gives."""
    command = at.command
    if parsed is not None:
        given = {**parsed.arguments, **command_arguments(command)}
        return given, parsed.complete and not command.open and not command.lost and not parsed.file
    if use is not None:
        return use.arguments, use.complete
    if at.program is None and is_trainers(command):
        return command_arguments(command), False
    return {}, False


def command_arguments(command: LaunchCommand) -> dict[str, Argument]:
    """The options of a command that are TrainingArguments fields, with the values that HfArgumentParser gives them."""
    found: dict[str, Argument] = {}
    for option in command.options:
        name = option.name.removeprefix("no_") if option.name.startswith("no_") else option.name
        if name not in FIELDS:
            continue
        found[name] = Argument(value_of(option, name), option_place(command, option))
    return found


def value_of(option: Option, name: str) -> object:
    if option.name != name:
        return False
    if option.value is None:
        return True if name in SWITCHES else UNKNOWN
    text = option.value.text
    return typed(name, text) if isinstance(text, str) else UNKNOWN


def option_place(command: LaunchCommand, option: Option) -> Place:
    """An option with its value; where they come from different places, the option alone."""
    last = option.values[-1] if option.values else option.word
    end = (
        last.end
        if option.word.start <= last.start and last.end - option.word.start < 400
        else option.word.end
    )
    return Place(command.source, option.word.start, max(end, option.word.end))


def hardware_of(command: LaunchCommand) -> Profile | None:
    """The GPU kind that the job asks for, when its words name just one."""
    found = {
        known for word in command.hardware if isinstance(word.text, str) and (known := profile(word.text))
    }
    return found.pop() if len(found) == 1 else None
