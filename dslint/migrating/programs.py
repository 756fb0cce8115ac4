"""A program in the other format: TrainingArguments and its family, Accelerate, Lightning, dtypes of models, defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from dslint.documents.editing import CannotEdit
from dslint.documents.python import Call, Given, Program
from dslint.documents.python_editing import (
    add_keyword,
    code_of,
    is_literal,
    remove_keyword,
    rename_keyword,
    set_keyword,
)
from dslint.documents.tree import UNKNOWN, Place, Source
from dslint.fixing.fix import Edit
from dslint.migrating.configs import CLIP, listed
from dslint.migrating.formats import FP16_ONLY, NAMES, OTHER, SWITCHES, respelled, spellings
from dslint.migrating.moves import CannotMove, Moves, row_of

FAMILY: Final = "transformers.TrainingArguments"
LIGHTNING_SCALE: Final = (
    "loss_scale",
    "initial_scale_power",
    "loss_scale_window",
    "hysteresis",
    "min_loss_scale",
)
# Calls whose dtype is that of the model that trains.
DTYPE_CALLS: Final = frozenset({"transformers.from_pretrained", "transformers.BitsAndBytesConfig"})
DTYPE_KEYWORDS: Final = ("torch_dtype", "dtype", "bnb_4bit_compute_dtype")


def move_program(moves: Moves, program: Program) -> None:
    """The calls, classes and defaults of a program that train in the other format now.

    Raises:
        CannotMove: a value is known, but can't be edited where it stands.
    """
    before = len(moves.edits)
    for call in program.calls:
        move_call(moves, program, call)
    for local in program.classes.values():
        if local.family == FAMILY:
            move_fields(moves, program, local.fields)
    move_defaults(moves, program)
    if len(moves.edits) > before and program.source.path.endswith(".ipynb"):
        raise CannotMove(
            f"{program.source.path} is a notebook, whose cells are not edited; move it by hand, or give the other paths"
        )


def move_call(moves: Moves, program: Program, call: Call) -> None:
    try:
        if call.name == FAMILY:
            move_arguments(moves, program, call)
        elif call.name == "accelerate.Accelerator":
            move_word(moves, program, call, "mixed_precision")
        elif call.name in ("lightning.Trainer", "lightning.Fabric"):
            move_lightning(moves, program, call)
        elif call.name == "lightning.DeepSpeedStrategy" and moves.to == "bf16":
            drop(moves, program, call, LIGHTNING_SCALE)
        elif call.name in DTYPE_CALLS:
            move_dtypes(moves, program, call)
    except CannotEdit as error:
        where = row_of(Place(program.source, call.callee_start, call.callee_end))
        raise CannotMove(f"{where}: {error}") from error


# --- TrainingArguments


def move_arguments(moves: Moves, program: Program, call: Call) -> None:
    for switch in SWITCHES:
        move_switch(moves, program, call, OTHER[moves.to] + switch, moves.to + switch)
    if moves.to == "bf16":
        drop(moves, program, call, FP16_ONLY)


def move_switch(moves: Moves, program: Program, call: Call, old: str, new: str) -> None:
    given, counterpart = call.arguments.get(old), call.arguments.get(new)
    if given is None:
        return
    if is_unknown(given) or (counterpart is not None and is_unknown(counterpart)):
        # Two options of one command line move with that line.
        if not (given.option and counterpart is not None and counterpart.option):
            unsure = given if is_unknown(given) or counterpart is None else counterpart
            leave(moves, program, unsure, old if unsure is given else new)
        return
    if not given.value:
        return
    source = program.source
    if counterpart is None:
        moves.edit(rename_keyword(source, call, old, new), f"{old}=True → {new}=True")
        return
    edits = set_keyword(source, call, old, False)
    if not counterpart.value:
        edits = edits + set_keyword(source, call, new, True)
    moves.edit(edits, f"{old}=False, {new}=True")


def drop(moves: Moves, program: Program, call: Call, names: Sequence[str]) -> None:
    source = program.source
    given = [name for name in names if name in call.arguments]
    edits = [edit for name in given for edit in remove_keyword(source, call, name)]
    if edits:
        text = f"{listed(given)} removed, for fp16 alone"
        moves.edit(merged(source, sorted(edits, key=lambda edit: edit.start)), text)


def merged(source: Source, removals: Sequence[Edit]) -> list[Edit]:
    """Removals of neighbours as one, with the comma that the last of a row leaves before the bracket."""
    result: list[Edit] = []
    for edit in removals:
        if result and edit.start <= result[-1].end:
            result[-1] = result[-1]._replace(end=max(edit.end, result[-1].end))
        else:
            result.append(edit)
    last = result[-1]
    comma = re.search(r",[ \t]*\Z", source.text[: last.start])
    if comma is not None and source.text.startswith(")", last.end):
        result[-1] = last._replace(start=comma.start())
    return result


def move_fields(moves: Moves, program: Program, fields: Mapping[str, Given]) -> None:
    """`fp16: bool = True` in a class of the program's own that derives from TrainingArguments."""
    for switch in SWITCHES:
        old, new = OTHER[moves.to] + switch, moves.to + switch
        given, counterpart = fields.get(old), fields.get(new)
        if given is None:
            continue
        if is_unknown(given):
            leave(moves, program, given, old)
        elif given.value and counterpart is None and given.keyword is not None:
            start, end = given.keyword
            moves.edit([Edit(program.source, start, end, new)], f"{old} = True → {new} = True")
        elif given.value and counterpart is not None and not is_unknown(counterpart):
            edits = [Edit(program.source, given.start, given.end, "False")]
            if not counterpart.value:
                edits.append(Edit(program.source, counterpart.start, counterpart.end, "True"))
            moves.edit(edits, f"{old} = False, {new} = True")


# --- words


def move_word(moves: Moves, program: Program, call: Call, name: str) -> None:
    """`mixed_precision="fp16"`."""
    given = call.arguments.get(name)
    if given is None or given.value is None:
        return
    if is_unknown(given):
        if not given.option:
            leave(moves, program, given, name)
        return
    word = respelled(given.value, moves.to, name)
    if word is not None:
        moves.edit(set_keyword(program.source, call, name, word), f'{name} "{given.value}" → "{word}"')


def move_lightning(moves: Moves, program: Program, call: Call) -> None:
    given = call.arguments.get("precision")
    strategy = call.arguments.get("strategy")
    if given is None or strategy is None:
        return
    before = len(moves.edits)
    if given.value == 16 and moves.to == "bf16":
        moves.edit([Edit(program.source, given.start, given.end, '"bf16"')], 'precision 16 → "bf16"')
    else:
        move_word(moves, program, call, "precision")
    clip = call.arguments.get("gradient_clip_val")
    moved = len(moves.edits) > before
    if moved and clip is None and call.complete and call.name == "lightning.Trainer":
        text = f"gradient_clip_val={CLIP} added, for Lightning clips only when told"
        moves.edit(add_keyword(program.source, call, "gradient_clip_val", CLIP), text)


def move_dtypes(moves: Moves, program: Program, call: Call) -> None:
    """`torch_dtype=torch.float16`, which is no literal: the text tells."""
    for name in DTYPE_KEYWORDS:
        given = call.arguments.get(name)
        if given is None or given.keyword is None:
            continue
        written = program.source.text[given.start : given.end]
        bare = written.strip("\"'")
        word = respelled(bare, moves.to)
        if word is not None and re.fullmatch(r"[\"']?[\w.]+[\"']?", written):
            edit = Edit(program.source, given.start, given.end, written.replace(bare, word))
            moves.edit([edit], f"{name} {bare} → {word}")


def move_defaults(moves: Moves, program: Program) -> None:
    """`add_argument("--dtype", default="fp16")`."""
    for option in {id(option): option for option in program.options.values()}.values():
        if option.dest not in NAMES or option.default_span is None:
            continue
        word = respelled(option.default, moves.to, option.dest)
        if word is None:
            continue
        start, end = option.default_span
        written = program.source.text[start:end]
        choices = option.choices
        if isinstance(choices, list | tuple) and word not in choices:
            word = next((other for other in spellings(moves.to) if other in choices), None)
        if word is None or not is_literal(written):
            reason = (
                f"the default of {option.names[0]} is {option.default}, and no {moves.to} can be set there"
            )
            moves.leave(Place(program.source, start, end), reason)
            continue
        edit = Edit(program.source, start, end, code_of(word, written))
        moves.edit([edit], f"{option.names[0]} is {word} by default, not {option.default}")


def is_unknown(given: Given) -> bool:
    return given.value is UNKNOWN


def leave(moves: Moves, program: Program, given: Given, name: str) -> None:
    moves.leave(Place(program.source, given.start, given.end), f"{name} is only known to a run")
