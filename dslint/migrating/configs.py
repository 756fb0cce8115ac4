"""A DeepSpeed config in the other format: its two blocks, the settings that only one format has, the clipping.

`"auto"` stays where it stands, for the framework fills it; elsewhere the block that is on takes the other's name, or, where
both are written out, they swap their switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from dslint.documents.tree import UNKNOWN, Node, find, walk
from dslint.fixing.fix import Change
from dslint.launches.launch import Framework
from dslint.migrating.formats import OTHER, Format, respelled
from dslint.releases.release import Release
from dslint.releases.schema import default_at, property_at, schema_for
from dslint.releases.walk import is_comment

State = Literal["absent", "on", "off", "auto", "unknown"]

# Keys whose value names a format by a word.
DTYPES: Final = (
    "/communication_data_type",
    "/seq_parallel_communication_data_type",
    "/data_types/grad_accum_dtype",
    "/data_types/param_dtype",
    "/torch_autocast/dtype",
)
MASTER_WEIGHTS: Final = {
    "fp16_master_weights_and_grads": "bf16_master_weights_and_grads",
    "bf16_master_weights_and_grads": "fp16_master_weights_and_grads",
}
CLIP: Final = 1.0


class ConfigMove(NamedTuple):
    """The changes that move a config, what they do in words, and the pointers that only a run would show."""

    changes: list[Change]
    texts: list[str]
    unknown: list[str]


def move_config(root: Node, to: Format, release: Release, framework: Framework | None) -> ConfigMove:
    """What to change in a config so that it trains in `to`; nothing where it does, or trains in fp32."""
    move = ConfigMove([], [], [])
    if root.kind != "object":
        return move
    source, target = block_name(root, OTHER[to]), block_name(root, to)
    states = state_of(root, source), state_of(root, target)
    if "unknown" in states:
        name = source if states[0] == "unknown" else target
        move.unknown.append(f"/{name}/enabled" if find(root, f"/{name}/enabled") else f"/{name}")
        return move
    switch(move, root, source, target, states, release)
    without_amp(move, root, target, states, to)
    dtypes(move, root, to)
    if move.changes:
        clipping(move, root, release, framework)
    return move


def block_name(root: Node, name: Format) -> str:
    """The block as the file names it: bf16 has an old name."""
    return "bfloat16" if name == "bf16" and root.member("bf16") is None and root.member("bfloat16") else name


def state_of(root: Node, name: str) -> State:
    block = root.get(name)
    if block is None:
        return "absent"
    if block.kind != "object":
        return "unknown" if block.kind == "unknown" else "off"
    enabled = block.get("enabled")
    if enabled is None:
        return "unknown" if block.open else "off"
    return switch_state(enabled.value)


def switch_state(value: Any) -> State:
    if value is UNKNOWN:
        return "unknown"
    if isinstance(value, str):
        word = value.lower()
        return "auto" if word == "auto" else "on" if word == "true" else "off"
    return "on" if value else "off"


def switch(
    move: ConfigMove,
    root: Node,
    source: str,
    target: str,
    states: tuple[State, State],
    release: Release,
) -> None:
    there, here = states
    if there == "auto" and here in ("absent", "off"):
        move.changes.append(Change("set", f"/{target}/enabled", "auto"))
        move.texts.append(f'{target}.enabled is "auto", as {source}.enabled is')
    elif there == "on" and here == "absent":
        move.changes.append(Change("rename", f"/{source}", target))
        move.texts.append(f"{source} → {target}")
        leave_behind(move, root, source, target, target, release)
    elif there == "on" and here == "auto":
        move.changes.append(Change("set", f"/{source}/enabled", "auto"))
        move.texts.append(f'{source}.enabled is "auto", as {target}.enabled is')
    elif there == "on":
        move.changes.append(Change("set", f"/{source}/enabled", False))
        if here == "off":
            move.changes.append(Change("set", f"/{target}/enabled", True))
        move.texts.append(f"{source} off, {target} on")
        leave_behind(move, root, source, source, target, release)


def leave_behind(move: ConfigMove, root: Node, source: str, now: str, target: str, release: Release) -> None:
    """The settings of the block `source`, whose name is `now` by now, that the format `target` has not."""
    known = block_keys(release, target)
    own = block_keys(release, source)
    block = root.get(source)
    gone: list[str] = []
    for member in block.members if block is not None else ():
        key, counterpart = member.key, MASTER_WEIGHTS.get(member.key)
        if key == "enabled" or key in known or (key not in own and (now != target or is_comment(key))):
            continue
        if now == target and counterpart in known:
            move.changes.append(Change("rename", f"/{now}/{key}", counterpart))
        else:
            move.changes.append(Change("remove", f"/{now}/{key}"))
            gone.append(key)
    if gone:
        move.texts.append(f"{listed(gone)} removed, which {target} has not")


def block_keys(release: Release, name: str) -> frozenset[str]:
    entry = property_at(schema_for(release), f"/{'bf16' if name == 'bfloat16' else name}")
    properties = entry.get("properties", {}) if entry is not None else {}
    return frozenset(key for key, inner in properties.items() if "x-removed" not in inner)


def without_amp(move: ConfigMove, root: Node, target: str, states: tuple[State, State], to: Format) -> None:
    """Apex's amp is fp16 with a loss scale, and does not go together with bf16."""
    if to != "bf16" or state_of(root, "amp") != "on":
        return
    move.changes.append(Change("remove", "/amp"))
    move.texts.append("amp removed")
    if states[1] in ("absent", "off") and states[0] != "on":
        move.changes.append(Change("set", f"/{target}/enabled", True))
        move.texts.append(f"{target} on")


def dtypes(move: ConfigMove, root: Node, to: Format) -> None:
    for pointer in DTYPES:
        node = find(root, pointer)
        if node is not None and (word := respelled(node.value, to)) is not None:
            move.changes.append(Change("set", pointer, word))
            move.texts.append(f"{pointer[1:].replace('/', '.')} {node.value} → {word}")


def clipping(move: ConfigMove, root: Node, release: Release, framework: Framework | None) -> None:
    """Clipping comes where this release clips only when told; Lightning writes its own."""
    if framework == "lightning" or root.member("gradient_clipping") or root.open or clips(release):
        return
    auto = framework in ("transformers", "accelerate") and has_auto(root)
    value = "auto" if auto else CLIP
    move.changes.append(Change("set", "/gradient_clipping", value))
    shown = '"auto"' if auto else str(value)
    move.texts.append(f"gradient_clipping is {shown} now, for this release clips only when told")


def clips(release: Release) -> bool:
    """Whether a release clips gradients when it is told nothing."""
    return bool(default_at(release, "/gradient_clipping"))


def has_auto(root: Node) -> bool:
    return any(node.kind == "string" and node.value == "auto" for _, node in walk(root))


def listed(names: Sequence[str]) -> str:
    """`loss_scale, hysteresis and min_loss_scale`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
