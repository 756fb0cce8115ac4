"""A launch command in the other format: switches, options that name a format, and Accelerate's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from dslint.documents.python import Program
from dslint.documents.shell_words import Word
from dslint.documents.tree import UNKNOWN, Place, Unknown
from dslint.fixing.fix import Edit
from dslint.launches.commands import LaunchCommand, Option
from dslint.launches.launch import Launch
from dslint.migrating.configs import CLIP, clips
from dslint.migrating.formats import FP16_ONLY, NAMES, OTHER, SWITCHES, respelled, spellings
from dslint.migrating.moves import Moves

TRUE: Final = frozenset({"true", "t", "yes", "y", "1"})
FALSE: Final = frozenset({"false", "f", "no", "n", "0"})
OVERRIDE: Final = re.compile(r"(fp16|bf16)=(\w+)")
# Starts other programs too; what runs below them counts.
NEUTRAL: Final = frozenset({"python", "srun", "mpirun", "jsrun"})
ENVIRONMENT: Final = "ACCELERATE_MIXED_PRECISION"


def move_command(moves: Moves, launch: Launch) -> None:
    """The words of a command that train in the other format now."""
    command = launch.command
    if command is None or not trains(launch, command):
        return
    for switch in SWITCHES:
        move_switch(moves, command, launch.program, switch)
    for option in command.options:
        if option.name in NAMES:
            move_word(moves, command, option, launch.program)
        elif option.name in FP16_ONLY and moves.to == "bf16":
            take_out(moves, command, option)
    for launcher in command.launchers:
        for option in launcher.options.values():
            if launcher.name == "accelerate" and option.name == "mixed_precision":
                before = len(moves.edits)
                move_word(moves, command, option, None)
                if len(moves.edits) > before:
                    clip(moves, launch, command, option)
    move_overrides(moves, command)
    given = command.environment.get(ENVIRONMENT)
    if given is not None:
        move_value(moves, command, given, ENVIRONMENT)


def trains(launch: Launch, command: LaunchCommand) -> bool:
    """Is it a training with DeepSpeed, or at least what a distributed launcher starts?"""
    return (
        launch.config.dialect == "deepspeed"
        or command.config_path is not None
        or any(launcher.name not in NEUTRAL for launcher in command.launchers)
    )


# --- switches: --fp16, --fp16 True


def move_switch(moves: Moves, command: LaunchCommand, program: Program | None, switch: str) -> None:
    old, new = OTHER[moves.to] + switch, moves.to + switch
    option = command.arguments.get(old)
    if option is None:
        return
    state = state_of(option)
    if state is None:
        moves.leave(place_of(command, option), f"the value of {option.flag} is only known to a run")
        return
    if not state:
        return
    if has_own(program, old) and not has_own(program, new):
        assert program is not None
        reason = f"{program.source.path} has an option {option.flag} of its own and none for {moves.to}"
        moves.leave(place_of(command, option), reason)
        return
    counterpart = command.arguments.get(new)
    if counterpart is None:
        rename(moves, command, option, old, new)
        return
    if state_of(counterpart) is None:
        moves.leave(place_of(command, counterpart), f"the value of {counterpart.flag} is only known to a run")
        return
    turn(moves, command, option, False)
    if state_of(counterpart) is False:
        turn(moves, command, counterpart, True)


def has_own(program: Program | None, name: str) -> bool:
    """Whether the program's own parser has the option; what fills TrainingArguments has both switches."""
    return program is not None and not program.parsers and f"--{name}" in program.options


def state_of(option: Option) -> bool | None:
    """On, off, or None where only a run would show it."""
    if option.value is None:
        return True
    text = option.value.text
    if isinstance(text, Unknown):
        return None
    # A word behind a plain flag may be another argument.
    return text.lower() not in FALSE


def rename(moves: Moves, command: LaunchCommand, option: Option, old: str, new: str) -> None:
    flag = option.flag
    at = flag.replace("-", "_").find(old)
    span = None if at < 0 else spot(option.word, at, at + len(old))
    if span is None:
        moves.leave(place_of(command, option), f"{flag} is put together from several texts")
        return
    # The dashes within a name stay as the script writes them.
    name = new.replace("_", "-") if "-" in flag[at:] else new
    moves.edit([Edit(command.source, *span, name)], f"{flag} → {flag[:at]}{name}")


def turn(moves: Moves, command: LaunchCommand, option: Option, on: bool) -> None:
    """A switch on or off where both of a pair are given."""
    value = option.value
    if value is None or isinstance(value.text, Unknown) or value.text.lower() not in TRUE | FALSE:
        if not on:
            take_out(moves, command, option)
        return
    word = "True" if on else "False"
    shown = word.lower() if value.text.islower() else word
    replace_value(moves, command, value, shown, option.flag)


def take_out(moves: Moves, command: LaunchCommand, option: Option) -> None:
    """The option goes, with its value where it takes one."""
    text, start = command.source.text, option.word.start
    value = option.value if option.name in FP16_ONLY else None
    end = option.word.end if value is None else value.end
    wanted = option.flag if value is None else f"{option.flag} {value.text}"
    if " ".join(text[start:end].replace("=", " ").split()) != wanted:
        moves.leave(place_of(command, option), f"{option.flag} stands among other words")
        return
    moves.edit([Edit(command.source, *without(text, start, end), "")], f"{option.flag} removed")


def without(text: str, start: int, end: int) -> tuple[int, int]:
    """The word with the blanks before it, or with its whole row where a continuation follows."""
    row = text.rfind("\n", 0, start) + 1
    alone = re.compile(r"[ \t]*\\\r?\n").match(text, end)
    if not text[row:start].strip() and alone is not None:
        return row, alone.end()
    before = re.search(r"(?:[ \t]|\\\r?\n)+\Z", text[:start])
    return (before.start() if before is not None else start), end


# --- words: --dtype fp16, --mixed_precision fp16


def move_word(moves: Moves, command: LaunchCommand, option: Option, program: Program | None) -> None:
    value = option.value
    if value is None:
        return
    if isinstance(value.text, Unknown):
        # Of a default or the values of branches, one of the other format is a reason to look.
        told = value.candidates
        if not told or any(respelled(text, moves.to, option.name) is not None for text in told):
            moves.leave(place_of(command, option), f"the value of {option.flag} is only known to a run")
        return
    choices = choices_of(program, option)
    word = respelled(value.text, moves.to, option.name)
    if word is None:
        return
    if choices is not None and word not in choices:
        word = next((other for other in spellings(moves.to) if other in choices), None)
    if word is None:
        reason = f"the program takes {option.flag} {value.text}, but no {moves.to}"
        moves.leave(place_of(command, option), reason)
        return
    replace_value(moves, command, value, word, option.flag)


def move_value(moves: Moves, command: LaunchCommand, value: Word, name: str) -> None:
    if isinstance(value.text, Unknown):
        moves.leave(command.place(value), f"the value of {name} is only known to a run")
    elif (word := respelled(value.text, moves.to)) is not None:
        replace_value(moves, command, value, word, name)


def clip(moves: Moves, launch: Launch, command: LaunchCommand, option: Option) -> None:
    """Clipping comes where Accelerate makes the config of the command's own flags."""
    config, value = launch.config, option.value
    made_of_flags = config.dialect == "deepspeed" and config.derived and config.source is command.source
    if not made_of_flags or value is None or not value.direct or config.root.member("gradient_clipping"):
        return
    if not clips(launch.release):
        text = f"--gradient_clipping {CLIP} added, for DeepSpeed {launch.release.name} clips only when told"
        moves.edit([Edit(command.source, value.end, value.end, f" --gradient_clipping {CLIP}")], text)


def choices_of(program: Program | None, option: Option) -> Sequence[object] | None:
    known = program.options.get(option.flag) if program is not None and not program.parsers else None
    if known is None or known.choices is UNKNOWN or not isinstance(known.choices, list | tuple):
        return None
    return known.choices


def move_overrides(moves: Moves, command: LaunchCommand) -> None:
    """`fp16=true` behind a YAML file, as LLaMA-Factory takes it."""
    given = {match[1]: (word, match) for word, match in overrides(command)}
    old, new = given.get(OTHER[moves.to]), given.get(moves.to)
    if old is None or old[1][2].lower() not in TRUE:
        return
    if new is None:
        span = spot(old[0], 0, len(OTHER[moves.to]))
        if span is not None:
            edit = Edit(command.source, *span, moves.to)
            moves.edit([edit], f"{old[1][0]} → {moves.to}={old[1][2]}")
        return
    for (word, match), shown in ((old, "false"), (new, "true")):
        span = spot(word, match.start(2), match.end(2))
        if span is not None and match[2].lower() != shown:
            moves.edit([Edit(command.source, *span, shown)], f"{match[0]} → {match[1]}={shown}")


def overrides(command: LaunchCommand) -> Iterator[tuple[Word, re.Match[str]]]:
    for word in command.command.words:
        match = OVERRIDE.fullmatch(word.text) if isinstance(word.text, str) else None
        if match is not None:
            yield word, match


# --- where the characters of a word stand


def replace_value(moves: Moves, command: LaunchCommand, value: Word, new: str, name: str) -> None:
    assert isinstance(value.text, str)
    span = spot(value, 0, len(value.text))
    if span is None:
        moves.leave(command.place(value), f"the value of {name} is put together from several texts")
    elif value.text != new:
        moves.edit([Edit(command.source, *span, new)], f"{name} {value.text} → {new}")


def spot(word: Word, start: int, end: int) -> tuple[int, int] | None:
    """Where some characters of a word are written; None where they come from several places."""
    place = 0
    for piece in word.pieces:
        if isinstance(piece.text, Unknown):
            return None
        if place <= start and end <= place + len(piece.text):
            part = piece.part(start - place, end - place)
            return part.trail[-1] if part.exact else None
        place += len(piece.text)
    return None


def place_of(command: LaunchCommand, option: Option) -> Place:
    return command.place(option.word)
