"""ZeRO, where a table of conditions does not say it: keys of another stage, sizes in bytes, groups of a known world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dslint.documents.tree import UNKNOWN, Node
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.rules.conditions import as_number, reach, truth
from dslint.rules.finding import Related
from dslint.rules.match import Match

BLOCK: Final = "zero_optimization"
HPZ: Final = "zero_hpz_partition_size"
MICS: Final = "mics_shard_size"
GB: Final = 10**9

# What the optimizer of stage 3 alone is given (DeepSpeedEngine._configure_zero_optimizer), under both of its names.
STAGE_3_SIZES: Final = frozenset(
    (
        "sub_group_size",
        *("stage3_max_live_parameters", "max_live_parameters"),
        *("stage3_max_reuse_distance", "max_reuse_distance"),
        *("stage3_prefetch_bucket_size", "prefetch_bucket_size"),
        *("stage3_param_persistence_threshold", "param_persistence_threshold"),
        *("stage3_model_persistence_threshold", "model_persistence_threshold"),
        *("stage3_module_granularity_threshold", "module_granularity_threshold"),
    )
)
STAGE_3_SWITCHES: Final = frozenset(
    (
        *("stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save"),
        *("stage3_use_all_reduce_for_fetch_params", "use_all_reduce_for_fetch_params"),
        *("stage3_allgather_sequential", "allgather_sequential"),
        "stage3_gather_fp16_weights_on_model_save",
    )
)

# What only the optimizer of stages 1 and 2 is given: sizes, and switches by the value that asks for something.
STAGE_2_SIZES: Final = ("allgather_bucket_size",)
STAGE_2_SWITCHES: Final[Mapping[str, bool]] = {
    "round_robin_gradients": True,
    "parameter_alignment": True,
    "elastic_checkpoint": True,
    "ignore_unused_parameters": False,
    "use_multi_rank_bucket_allreduce": False,
}

# Buffers below this are no harm on any GPU that ZeRO is used on, and this share of a known GPU's memory is.
LARGE_BUFFER: Final = 16 * GB
LARGE_SHARE: Final = 0.2


def stage_of(launch: Launch) -> int | None:
    """The ZeRO stage; None where it is not given as a number from 0 to 3."""
    node = reach(launch.config.root, (BLOCK, "stage")).node
    if node is None or node.kind != "number" or node.value not in (0, 1, 2, 3):
        return None
    return int(node.value)


def setting(launch: Launch, key: str) -> Node | None:
    return reach(launch.config.root, (BLOCK, key)).node


def switch(launch: Launch, key: str) -> bool | None:
    """A boolean of the block as the engine takes it; None where it is absent or not known."""
    node = setting(launch, key)
    return None if node is None else truth(node, f"/{BLOCK}/{key}", launch)


def size(launch: Launch, key: str) -> float | None:
    node = setting(launch, key)
    return None if node is None else as_number(node.value)


def stage_3_keys(launch: Launch) -> Iterator[Match]:
    """Keys of stage 3 at stage 1 or 2, told once at the first of them."""
    if stage_of(launch) in (1, 2):
        yield from idle_match(
            launch, lambda key: key in STAGE_3_SIZES or (key in STAGE_3_SWITCHES and switch(launch, key))
        )


def stage_2_keys(launch: Launch) -> Iterator[Match]:
    """Keys of stages 1 and 2 at stage 3, told once at the first of them."""
    if stage_of(launch) == 3:
        yield from idle_match(
            launch,
            lambda key: key in STAGE_2_SIZES or switch(launch, key) is STAGE_2_SWITCHES.get(key, UNKNOWN),
        )


def idle_match(launch: Launch, is_idle: Callable[[str], object]) -> Iterator[Match]:
    node = setting_block(launch)
    written = [member.key for member in node.members if is_idle(member.key)] if node else []
    if not written:
        return
    changes = tuple(Change("remove", f"/{BLOCK}/{key}") for key in written)
    several = len(written) > 1
    yield Match(
        f"/{BLOCK}/{written[0]}",
        values={"keys": ", ".join(written), "do": "do" if several else "does", "stage": stage_of(launch)},
        fix=Fix("safe", f"remove {'them' if several else written[0]}", changes),
    )


def setting_block(launch: Launch) -> Node | None:
    node = reach(launch.config.root, (BLOCK,)).node
    return node if node is not None and node.kind == "object" else None


def bucket_memory(launch: Launch) -> Iterator[Match]:
    """Gradient buffers that take a large part of a GPU: reduce_bucket_size elements, twice when reduction overlaps."""
    stage, elements = stage_of(launch), size(launch, "reduce_bucket_size")
    if stage not in (1, 2, 3) or elements is None or switch(launch, "contiguous_gradients") is False:
        return
    width = 4 if full_precision(launch) else 2
    # Only what is plainly on counts: stage 3 has one buffer in any case.
    buffers = 2 if stage != 3 and switch(launch, "overlap_comm") else 1
    taken = elements * width * buffers
    memory = max(launch.hardware.memory, default=None) if launch.hardware else None
    if taken >= (LARGE_BUFFER if memory is None else LARGE_SHARE * memory * GB):
        yield Match(
            f"/{BLOCK}/reduce_bucket_size",
            values={
                "elements": f"{elements:g}",
                "taken": f"{taken / GB:.3g}",
                "sum": f"{buffers} x {elements:g} x {width} bytes",
                "of": f" of its {memory} GB" if memory else "",
            },
        )


def full_precision(launch: Launch) -> bool:
    """Is neither half-precision format on, and none left to the framework?"""
    for block in ("fp16", "bf16"):
        found = reach(launch.config.root, (block, "enabled"))
        if found.node is not None and truth(found.node, found.pointer, launch) is not False:
            return False
    return not launch.config.root.open


def groups(launch: Launch, key: str) -> tuple[int, int] | None:
    """(size of a group, GPUs) for a key that parts the GPUs of stage 3 in groups, where both are known."""
    group, world = size(launch, key), launch.world_size
    if (
        stage_of(launch) != 3
        or group is None
        or world is None
        or world < 1
        or group <= 1
        or group != int(group)
    ):
        return None
    return int(group), world


def hpz_not_dividing(launch: Launch) -> Iterator[Match]:
    """A secondary partition that does not divide the world (utils/groups.py cuts it to the world size first)."""
    found = groups(launch, HPZ)
    if found is not None and found[1] % min(found):
        yield group_match(launch, HPZ, found[1])


def hpz_whole_world(launch: Launch) -> Iterator[Match]:
    """A secondary partition over all GPUs, which is the first one over again."""
    found = groups(launch, HPZ)
    if found is not None and 1 < found[1] <= found[0]:
        yield group_match(launch, HPZ, found[1])


def mics_not_dividing(launch: Launch) -> Iterator[Match]:
    """A MiCS shard that does not divide the world (runtime/zero/mics_utils.py)."""
    found = groups(launch, MICS)
    if found is not None and found[1] % found[0]:
        yield group_match(launch, MICS, found[1])


def group_match(launch: Launch, key: str, world: int) -> Match:
    place = launch.origins.get("world_size")
    related = (Related(place, f"{world} GPUs are asked for here"),) if place is not None else ()
    return Match(f"/{BLOCK}/{key}", values={"world": world}, related=related)


ZERO_CHECKS: Final[Mapping[str, Callable[[Launch], Iterator[Match]]]] = {
    "stage-3-key-below-stage-3": stage_3_keys,
    "stage-2-key-at-stage-3": stage_2_keys,
    "bucket-memory": bucket_memory,
    "hpz-not-dividing": hpz_not_dividing,
    "hpz-whole-world": hpz_whole_world,
    "mics-not-dividing": mics_not_dividing,
}
