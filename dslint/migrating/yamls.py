"""Accelerate's and the trainers' YAML in the other format."""

from __future__ import annotations

from typing import Final

from dslint.documents.tree import Document, Node, Place
from dslint.fixing.fix import Change
from dslint.launches.accelerate import AccelerateConfig
from dslint.launches.training_yaml import TrainingConfig
from dslint.migrating.configs import CLIP, State, clips, move_config, switch_state
from dslint.migrating.formats import FP16_ONLY, NAMES, OTHER, SWITCHES, Format, respelled
from dslint.migrating.moves import Moves
from dslint.releases.release import Release

# Axolotl's old names for its switches.
OLD_NAMES: Final[dict[Format, str]] = {"fp16": "float16", "bf16": "bfloat16"}


def move_accelerate(moves: Moves, accelerate: AccelerateConfig, release: Release) -> None:
    document, root = accelerate.document, accelerate.document.root
    changes: list[Change] = []
    texts: list[str] = []
    precision = root.get("mixed_precision")
    old = root.get("fp16")
    if precision is not None and precision.kind == "unknown":
        leave(moves, document, precision, "mixed_precision")
    elif precision is not None and (word := respelled(precision.value, moves.to)) is not None:
        changes.append(Change("set", "/mixed_precision", word))
        texts.append(f"mixed_precision {precision.value} → {word}")
    elif precision is None and old is not None and old.value is True and moves.to == "bf16":
        changes += [Change("rename", "/fp16", "mixed_precision"), Change("set", "/mixed_precision", "bf16")]
        texts.append("fp16: true → mixed_precision: bf16")
    if not changes:
        return
    if (
        accelerate.derived is not None
        and "gradient_clipping" not in accelerate.settings
        and not clips(release)
    ):
        changes.append(Change("set", "/deepspeed_config/gradient_clipping", CLIP))
        texts.append(f"gradient_clipping is {CLIP} now, for DeepSpeed {release.name} clips only when told")
    moves.change(document, changes, "; ".join(texts))


def move_training(moves: Moves, training: TrainingConfig, release: Release) -> None:
    document, root = training.document, training.document.root
    changes: list[Change] = []
    texts: list[str] = []
    for switch in SWITCHES:
        move_switch(moves, document, switch, changes, texts)
    for member in root.members:
        word = respelled(member.node.value, moves.to, member.key) if member.key in NAMES else None
        if word is not None:
            changes.append(Change("set", f"/{member.key}", word))
            texts.append(f"{member.key} {member.node.value} → {word}")
        elif moves.to == "bf16" and member.key in FP16_ONLY:
            changes.append(Change("remove", f"/{member.key}"))
            texts.append(f"{member.key} removed, which is for fp16 alone")
    if training.inline is not None:
        inner = move_config(training.inline.root, moves.to, release, "transformers")
        changes += [below(change) for change in inner.changes]
        texts += inner.texts
        for pointer in inner.unknown:
            node = training.inline.node(pointer)
            leave(moves, document, node or training.inline.root, f"deepspeed{pointer.replace('/', '.')}")
    if changes:
        moves.change(document, changes, "; ".join(texts))


def below(change: Change) -> Change:
    """A change of the config that stands under `deepspeed:`, as one of the whole file."""
    value = f"/deepspeed{change.value}" if change.op == "move" else change.value
    return Change(change.op, f"/deepspeed{change.pointer}", value)


def move_switch(
    moves: Moves, document: Document, switch: str, changes: list[Change], texts: list[str]
) -> None:
    root = document.root
    old, new = key_of(root, OTHER[moves.to], switch), key_of(root, moves.to, switch)
    there, here = state_of(root, old), state_of(root, new)
    if there == "unknown" or (there == "on" and here == "unknown"):
        node = root.get(old if there == "unknown" else new)
        assert node is not None
        leave(moves, document, node, old if there == "unknown" else new)
    elif there == "on" and here == "absent":
        changes.append(Change("rename", f"/{old}", new))
        texts.append(f"{old} → {new}")
    elif there == "on" or (there == "auto" and here == "off"):
        changes.append(Change("set", f"/{old}", False))
        if here != "on":
            changes.append(Change("set", f"/{new}", True))
        texts.append(f"{old} off, {new} on")
    elif there == "auto" and here == "absent":
        changes.append(Change("rename", f"/{old}", new))
        changes.append(Change("set", f"/{new}", True))
        texts.append(f"{old}: auto → {new}: true")


def key_of(root: Node, name: Format, switch: str) -> str:
    old = OLD_NAMES[name]
    return old if not switch and root.member(name) is None and root.member(old) is not None else name + switch


def state_of(root: Node, key: str) -> State:
    node = root.get(key)
    if node is None:
        return "absent"
    # Axolotl's `full` is on, too.
    return "on" if node.value == "full" else switch_state(node.value)


def leave(moves: Moves, document: Document, node: Node, name: str) -> None:
    moves.leave(Place(document.source, node.start, node.end), f"{name} is only known to a run")
