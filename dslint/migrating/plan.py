"""Launches → the moves that bring all their files to one format, and the new texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dslint.documents.editing import CannotEdit, edits
from dslint.documents.tree import Document, Place, Source
from dslint.fixing.apply import Overlap, apply
from dslint.fixing.fix import Edit
from dslint.fixing.mend import Plan
from dslint.hardware.profiles import Profile
from dslint.launches.launch import Launch
from dslint.launches.reading import parsed
from dslint.migrating.configs import move_config
from dslint.migrating.formats import Format
from dslint.migrating.moves import CannotMove, Moves, row_of
from dslint.migrating.programs import move_program
from dslint.migrating.scripts import move_command
from dslint.migrating.yamls import move_accelerate, move_training


class Planned(NamedTuple):
    """`texts` are the new sources by absolute path; `plan` what they shall say, for those who check it."""

    moves: Moves
    plan: Plan
    texts: dict[str, Source]


def plan_moves(launches: Sequence[Launch], to: Format) -> Planned:
    """The whole move of some launches.

    Raises:
        CannotMove: some part of it can't be made, or the hardware has no such format.
    """
    check_hardware(launches, to)
    moves = Moves(to)
    for launch in launches:
        move_launch(moves, launch)
    for program in {id(launch.program): launch.program for launch in launches}.values():
        if program is not None:
            move_program(moves, program)
    plan = planned(moves)
    return Planned(moves, plan, new_texts(plan))


def move_launch(moves: Moves, launch: Launch) -> None:
    move_command(moves, launch)
    if launch.accelerate is not None:
        move_accelerate(moves, launch.accelerate, launch.release)
    if launch.training is not None:
        move_training(moves, launch.training, launch.release)
    config = launch.config
    inline = launch.training.inline if launch.training is not None else None
    if config.dialect != "deepspeed" or config.derived or (inline is not None and config.root is inline.root):
        return
    move_document(moves, as_written(config), launch)


def as_written(document: Document) -> Document:
    """The config as its file has it, without what a program or a script is known to do to it later."""
    whole = document.syntax == "json" and not document.source.text[: document.root.start].strip(
        "\ufeff \t\r\n"
    )
    return parsed(document.source) if whole and document.root.open else document


def move_document(moves: Moves, document: Document, launch: Launch) -> None:
    found = move_config(document.root, moves.to, launch.release, launch.framework)
    if found.changes:
        moves.change(document, found.changes, "; ".join(found.texts))
    for pointer in found.unknown:
        node = document.node(pointer) or document.root
        name = pointer[1:].replace("/", ".")
        moves.leave(Place(document.source, node.start, node.end, pointer), f"{name} is only known to a run")


def planned(moves: Moves) -> Plan:
    plan = Plan({}, {}, dict(moves.changes), dict(moves.documents))
    for edit in moves.edits:
        add(plan, edit)
    for place, changes in moves.changes.items():
        document = moves.documents[place]
        try:
            for edit in edits(document, changes):
                add(plan, edit)
        except CannotEdit as error:
            where = row_of(Place(document.source, document.root.start, document.root.end))
            raise CannotMove(f"{where}: {error}") from error
    return plan


def add(plan: Plan, edit: Edit) -> None:
    path = os.path.abspath(edit.source.path)
    known = plan.edits.setdefault(path, [])
    if edit not in known:
        known.append(edit)
    plan.sources[path] = edit.source


def new_texts(plan: Plan) -> dict[str, Source]:
    try:
        return {
            path: Source(source.path, apply(source.text, plan.edits[path]))
            for path, source in plan.sources.items()
        }
    except Overlap as error:
        raise CannotMove(str(error)) from error


# --- hardware


def check_hardware(launches: Iterable[Launch], to: Format) -> None:
    """Refuse a format that the hardware does not compute in.

    Raises:
        CannotMove: with what to do instead.
    """
    for launch in launches:
        profile = launch.hardware
        if profile is not None and not can(profile, to):
            learned = launch.origins.get("hardware")
            where = f"{row_of(learned)}: " if learned is not None else ""
            raise CannotMove(f"{where}the {profile.title} has no {to}; {instead(profile, to)}")


def can(profile: Profile, to: Format) -> bool:
    # None: it depends on the machine.
    return profile.bf16 if to == "bf16" else profile.fp16 is not False


def instead(profile: Profile, to: Format) -> str:
    fp32 = "train in fp32, with gradient checkpointing to save the memory that it takes"
    if to == "bf16" and profile.fp16:
        return (
            "stay with fp16, a smaller learning rate and gradient_clipping at 1.0 or below, "
            f"or where the loss scale keeps falling {fp32}"
        )
    if to == "fp16" and profile.bf16:
        return f"stay with bf16, or {fp32}"
    return fp32
