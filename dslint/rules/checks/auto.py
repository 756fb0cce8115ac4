""" "auto" where nothing puts a value in its place: what stops at it, and what drops it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from dslint.documents.tree import Node, find, join_pointer, split_pointer
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.release import parse_version
from dslint.releases.schema import schema_for
from dslint.rules.checks.accelerate import is_given_to_plugin
from dslint.rules.checks.schema import FILLED, violations
from dslint.rules.conditions import COERCED_SINCE, reach
from dslint.rules.match import Match

# Numbers that nothing looks at when the config is read, and that the engine computes with later.
RECKONED_WITH: Final = frozenset({"gradient_clipping", "gradient_predivide_factor", "steps_per_print"})
# Parameters that the classes compute with; the engine builds these only when the program brings none of its own.
PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "optimizer": frozenset({"lr", "betas", "eps", "weight_decay"}),
    "scheduler": frozenset({"warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps"}),
}


def unresolved(launch: Launch) -> Iterator[Match]:
    """Each "auto" that DeepSpeed stops at: when it reads the config, builds an optimizer, or makes a step."""
    for violation in violations(launch):
        if violation.refused and violation.node.value == "auto":
            yield match(violation.pointer, "the engine refuses the config")
    for key in RECKONED_WITH:
        if is_auto(launch.config.root.get(key)):
            yield match(f"/{key}", "the engine stops in the first step, where it computes with it")
    for block, keys in PARAMETERS.items():
        params = find(launch.config.root, f"/{block}/params")
        kind = find(launch.config.root, f"/{block}/type")
        # Without a type nothing is built, and the parameters are not looked at.
        if (
            params is None
            or (kind is not None and kind.kind == "null")
            or launch.memo.get(f"own_{block}") is True
        ):
            continue
        for member in params.members:
            if member.key in keys and is_auto(member.node):
                yield match(
                    f"/{block}/params/{member.key}", f"the engine stops when its {block} computes with it"
                )


def dropped(launch: Launch) -> Iterator[Match]:
    """Each "auto" that DeepSpeed takes for a key that is not there, or for true."""
    yield from dropped_below(schema_for(launch.release), launch.config.root, "")
    if launch.release.version < COERCED_SINCE:
        for block in ("fp16", "bf16"):
            found = reach(launch.config.root, (block, "enabled"))
            if is_auto(found.node):
                fix = Fix("safe", "set it to true", (Change("set", found.pointer, True),))
                yield Match(found.pointer, values={"block": block}, message=TAKEN_FOR_TRUE, fix=fix)


TAKEN_FOR_TRUE: Final = (
    '{block}.enabled is "auto", which nothing fills under bare DeepSpeed; {release} takes any text for true'
)


def dropped_below(schema: Mapping[str, Any], node: Node, pointer: str) -> Iterator[Match]:
    for member in node.members:
        entry = schema.get("properties", {}).get(member.key)
        if entry is None:
            continue
        here = join_pointer(pointer, member.key)
        if member.node.kind == "object":
            yield from dropped_below(entry, member.node, here)
        elif is_auto(member.node) and schema.get("x-auto") == "dropped" and not entry.get("deprecated"):
            yield Match(here, values={"key": member.key, "default": spoken(entry)})


def spoken(entry: Mapping[str, Any]) -> str:
    """The default that an entry has, as JSON spells it."""
    default = entry.get("default")
    if default is None or isinstance(default, (dict, list)):
        return "its default"
    return "its default, " + (str(default).lower() if isinstance(default, bool) else str(default))


# What the HF Trainer or Accelerate write over, in some release, where a config says "auto".
WRITTEN_OVER: Final = FILLED | {
    "/steps_per_print",
    "/zero_optimization/offload_optimizer/nvme_path",
    "/zero_optimization/offload_param/nvme_path",
}
# What only the Trainer writes over, of what its optimizers have.
TRAINERS_OWN: Final = frozenset({"/optimizer/params/betas", "/optimizer/params/eps"})
NEITHER: Final = "neither the HF Trainer nor Accelerate fills"
# From this release on the Trainer prepares its model with Accelerate.
TRAINER_PREPARES: Final = (4, 31)


def unfilled(launch: Launch) -> Iterator[Match]:
    """Each "auto" that is left when the Trainer and Accelerate have filled in theirs; Accelerate then looks for it in vain."""
    transformers = parse_version(launch.versions.get("transformers", ""))
    if launch.config.derived or (transformers is not None and transformers.version < TRAINER_PREPARES):
        return
    if not is_given_to_plugin(launch) and "framework" not in launch.origins:
        # An option says who fills "auto", not that the model is prepared with Accelerate: a loop of one's own need not.
        return
    program = launch.program
    alone = (
        launch.framework == "accelerate" and program is not None and program.named("accelerate.Accelerator")
    )
    filled = WRITTEN_OVER - TRAINERS_OWN if alone else WRITTEN_OVER
    yield from unfilled_below(
        launch.config.root, "", filled, "Accelerate does not fill" if alone else NEITHER
    )


def unfilled_below(node: Node, pointer: str, filled: Set[str], who: str) -> Iterator[Match]:
    for member in node.members:
        here = join_pointer(pointer, member.key)
        if member.node.kind == "object":
            yield from unfilled_below(member.node, here, filled, who)
        elif is_auto(member.node) and here not in filled:
            yield Match(here, values={"key": member.key, "who": who})


def is_auto(node: Node | None) -> bool:
    return node is not None and node.kind == "string" and node.value == "auto"


def match(pointer: str, then: str) -> Match:
    return Match(pointer, values={"key": split_pointer(pointer)[-1], "then": then})
