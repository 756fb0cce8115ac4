"""Launch commands: configs that are not there, options that nobody takes, launchers at odds with what they
start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dslint.documents.tree import Place
from dslint.launches.launch import Launch
from dslint.rules.finding import Related
from dslint.rules.match import Match

if TYPE_CHECKING:
    from dslint.launches.commands import LaunchCommand, Option

# Launchers that start one process a GPU by themselves.
STARTERS: Final = frozenset(
    {"deepspeed", "torchrun", "torch.distributed.launch", "torch.distributed.run", "accelerate"}
)
# An option that says where a program is to write.
MAKES: Final = re.compile(r"out|save|write|dump|dest|target")
CHOOSERS: Final = ("include", "exclude", "num_gpus", "num_nodes")


def place_of(command: LaunchCommand, option: Option) -> Place:
    from dslint.launches.from_commands import option_place

    return option_place(command, option)


def config_missing(launch: Launch) -> Iterator[Match]:
    """A config path that leads nowhere from any folder that the launch may start in, and that nothing
    writes.
    """
    from dslint.launches.resolve import folders_for, is_in_repository

    command, script = launch.command, launch.script
    word = None if command is None else command.config_path
    if command is None or script is None or word is None or launch.config.dialect == "deepspeed":
        return
    if command.source.path.lower().endswith((".yaml", ".yml")):
        # A container's files are those of its image.
        return
    path = word.text
    if command.config_option is not None and MAKES.search(command.config_option.name):
        return
    if not isinstance(path, str) or not path.lower().endswith(".json") or command.command.folder is None:
        return
    if (
        script.written(path)
        or not is_in_repository(path, command.source)
        or program_writes(launch, path)
        or named_elsewhere(launch, path)
    ):
        return
    tried = list(folders_for(command.source))
    if any(os.path.lexists(os.path.join(folder, command.command.folder.path, path)) for folder in tried):
        return
    yield Match(place=Place(command.source, word.start, word.end), values={"path": path})


def program_writes(launch: Launch, path: str) -> bool:
    """May the program write the file itself? Any JSON that it dumps to such a name will do."""
    if launch.program is None:
        return False
    name = os.path.basename(path)
    text = launch.program.source.text
    return name in text or "json.dump" in text


def named_elsewhere(launch: Launch, path: str) -> bool:
    """Does the script name the file to another command, which may well make it?"""
    command, script = launch.command, launch.script
    if command is None or script is None:
        return False
    return any(
        isinstance(word.text, str) and path in word.text
        for other in script.commands
        if (other.start, other.end) != (command.command.start, command.command.end)
        for word in other.words
    )


def deepspeed_takes_no_path(launch: Launch) -> Iterator[Match]:
    """A path behind `--deepspeed` where add_config_arguments makes that a flag."""
    command, program = launch.command, launch.program
    if command is None or program is None or program.adds_config_arguments is None:
        return
    option = command.arguments.get("deepspeed")
    line = program.command_line
    value = None if option is None else option.value
    if (
        option is None
        or value is None
        or not isinstance(value.text, str)
        or line.tolerant
        or line.positionals
        or program.parsers
    ):
        return
    yield Match(
        place=place_of(command, option),
        values={"path": spelled(option)},
        related=(Related(program.adds_config_arguments, "--deepspeed is added as a flag here"),),
    )


def spelled(option: Option) -> str:
    value = option.value
    return value.text if value is not None and isinstance(value.text, str) else "a value"


def unknown_argument(launch: Launch) -> Iterator[Match]:
    """An option that the program's parser does not have, where all that it has are known."""
    command, program = launch.command, launch.program
    if command is None or program is None or program.parsers:
        return
    line = program.command_line
    if not line.complete or line.tolerant or not line.reads_arguments:
        return
    for option in command.options:
        spelling = option.flag
        if not spelling.startswith("--") or spelling == "--" or line.matching(spelling):
            continue
        yield Match(
            place=Place(command.source, option.word.start, option.word.end), values={"option": spelling}
        )


def local_rank_refused(launch: Launch) -> Iterator[Match]:
    """A launcher that passes --local_rank to a program that does not take it."""
    command, program = launch.command, launch.program
    if command is None or program is None or program.takes_local_rank is not False:
        return
    line = program.command_line
    if line.tolerant or not line.reads_arguments or line.matching("--local_rank"):
        return
    for launcher in command.launchers:
        passes = launcher.name == "deepspeed" and "no_local_rank" not in launcher.options
        if passes and not launcher.open:
            yield Match(
                place=Place(command.source, launcher.word.start, launcher.word.end),
                related=(Related(Place(program.source, 0, 1), "this program's parser has no --local_rank"),),
            )


def visible_devices_ignored(launch: Launch) -> Iterator[Match]:
    """CUDA_VISIBLE_DEVICES beside options that make the deepspeed launcher ignore it, and that mean other
    GPUs.
    """
    command = launch.command
    devices = None if command is None else command.visible_devices
    launcher = None if command is None else command.launcher("deepspeed")
    if command is None or devices is None or launcher is None or not isinstance(devices.text, str):
        return
    wanted = [part.strip() for part in devices.text.split(",") if part.strip()]
    chosen = [launcher.options[name] for name in CHOOSERS if name in launcher.options]
    if not wanted or not chosen or chooses_same(chosen, wanted):
        return
    option = chosen[0]
    yield Match(
        place=place_of(command, option),
        values={"devices": devices.text, "option": option.flag},
        related=(Related(Place(command.source, devices.start, devices.end), "the devices are chosen here"),),
    )


def chooses_same(chosen: list[Option], wanted: list[str]) -> bool:
    """Do the launcher's options lead to the very same GPUs?"""
    for option in chosen:
        text = option.value.text if option.value is not None else None
        if not isinstance(text, str):
            return True
        if option.name == "num_gpus" and (
            not text.isdecimal() or wanted == [str(i) for i in range(int(text))]
        ):
            return True
        if option.name == "num_nodes" and len(chosen) == 1 and text != "1":
            return True
        if option.name == "include" and text.rpartition(":")[2].split(",") == wanted:
            return True
    return False


def starters_multiplied(launch: Launch) -> Iterator[Match]:
    """srun or mpirun with several tasks a node in front of a launcher that starts its own ranks."""
    command = launch.command
    if command is None:
        return
    names = [launcher.name for launcher in command.launchers]
    outer = next((name for name in names if name in ("srun", "mpirun")), None)
    inner = next((launcher for launcher in command.launchers if launcher.name in STARTERS), None)
    tasks = command.tasks_per_node
    if (
        outer is None
        or inner is None
        or tasks is None
        or tasks <= 1
        or names.index(outer) > names.index(inner.name)
    ):
        return
    place = command.origins.get("tasks")
    related = () if place is None else (Related(place, "the tasks are asked for here"),)
    words = command.launchers[names.index(outer)].word
    yield Match(
        place=Place(command.source, words.start, max(words.end, inner.word.end)),
        values={"outer": outer, "inner": inner.name, "tasks": tasks},
        related=related,
    )


LAUNCH_CHECKS: Final[Mapping[str, Callable[[Launch], Iterator[Match]]]] = {
    "config-missing": config_missing,
    "deepspeed-takes-no-path": deepspeed_takes_no_path,
    "unknown-argument": unknown_argument,
    "local-rank-refused": local_rank_refused,
    "visible-devices-ignored": visible_devices_ignored,
    "starters-multiplied": starters_multiplied,
}
