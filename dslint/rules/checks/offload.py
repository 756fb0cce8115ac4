"""Offload to CPU and NVMe, and ZenFlow upon it, where a table of conditions does not say it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dslint.documents.tree import Node
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.rules.checks.zero import BLOCK, setting, stage_of
from dslint.rules.conditions import as_number, reach, truth
from dslint.rules.match import Match

BLOCKS: Final = ("offload_param", "offload_optimizer")

# What only the swapping to NVMe reads (runtime/swap_tensor/): values, and switches that ask for something when true.
NVME_VALUES: Final = ("nvme_path", "buffer_count", "buffer_size", "max_in_cpu")
NVME_SWITCHES: Final = ("pipeline_read", "pipeline_write", "fast_init")


def offload(launch: Launch, block: str) -> Node | None:
    """An offload block that is an object; None where it is absent or not known."""
    node = setting(launch, block)
    return node if node is not None and node.kind == "object" and not node.open else None


def device_of(launch: Launch, block: str) -> str | None:
    """Where a block offloads to; None where there is no block or its device is not known."""
    node = offload(launch, block)
    device = node.get("device") if node is not None else None
    return device.value if device is not None and device.kind == "string" else None


def nvme_without_path(launch: Launch) -> Iterator[Match]:
    """NVMe without a path at stage 3, the only one that swaps."""
    if stage_of(launch) != 3:
        return
    for block in BLOCKS:
        node = offload(launch, block)
        path = node.get("nvme_path") if node is not None else None
        if device_of(launch, block) == "nvme" and (path is None or path.kind == "null"):
            yield Match(f"/{BLOCK}/{block}/nvme_path", values={"block": block})


def nvme_keys_on_cpu(launch: Launch) -> Iterator[Match]:
    """Keys of the NVMe swapper in a block that offloads to the CPU, told once for each block."""
    for block in BLOCKS:
        node = offload(launch, block)
        if node is None or device_of(launch, block) != "cpu":
            continue
        idle = [
            member.key for member in node.members if asks_for_nvme(launch, block, member.key, member.node)
        ]
        if idle:
            yield nvme_keys_match(block, idle)


def asks_for_nvme(launch: Launch, block: str, key: str, node: Node) -> bool:
    if key in NVME_VALUES:
        return node.kind != "null"
    return key in NVME_SWITCHES and truth(node, f"/{BLOCK}/{block}/{key}", launch) is True


def nvme_keys_match(block: str, keys: list[str]) -> Match:
    several = len(keys) > 1
    return Match(
        f"/{BLOCK}/{block}/{keys[0]}",
        values={"keys": ", ".join(keys), "do": "do" if several else "does", "block": block},
        fix=Fix(
            "safe",
            f"remove {'them' if several else keys[0]}",
            tuple(Change("remove", f"/{BLOCK}/{block}/{key}") for key in keys),
        ),
    )


def aio_without_nvme(launch: Launch) -> Iterator[Match]:
    """An aio block while both offloads are known not to go to NVMe, and no checkpoint writer may use it."""
    root = launch.config.root
    aio = root.get("aio")
    if aio is None or aio.kind != "object" or root.open or root.get("checkpoint") is not None:
        return
    if all(offloads_elsewhere(launch, block) for block in BLOCKS):
        yield Match("/aio")


def offloads_elsewhere(launch: Launch, block: str) -> bool:
    zero = reach(launch.config.root, (BLOCK,)).node
    if zero is None:
        return True
    if zero.kind != "object" or zero.open:
        return False
    node = zero.get(block)
    if node is None or node.kind == "null":
        return True
    device = node.get("device") if node.kind == "object" and not node.open else None
    return device is not None and device.value in ("none", "cpu")


def zenflow_intervals(launch: Launch) -> Iterator[Match]:
    """Intervals that configure_zenflow refuses (runtime/zenflow/engine.py)."""
    block = setting(launch, "zenflow")
    if block is None or block.kind != "object" or block.open:
        return
    kind, interval, given = (
        block.get("select_strategy"),
        block.get("select_interval"),
        block.get("update_interval"),
    )
    select = as_number(interval.value) if interval is not None else None
    update = as_number(given.value) if given is not None else None
    name = "auto" if kind is None else kind.value
    pointer = f"/{BLOCK}/zenflow/select_interval"
    if name == "auto" and select is not None:
        said = 'is a number while select_strategy is "auto", which sets its own'
        yield Match(
            pointer, values={"said": said}, fix=Fix("safe", "remove it", (Change("remove", pointer),))
        )
    elif name in ("step", "epoch") and (interval is None or interval.value == "auto"):
        yield Match(pointer, values={"said": f'has to be a number when select_strategy is "{name}"'})
    elif name == "step" and select is not None and update is not None and 0 < select < update:
        yield Match(pointer, values={"said": f"is {select:g}, below the update_interval of {update:g}"})


OFFLOAD_CHECKS: Final[Mapping[str, Callable[[Launch], Iterator[Match]]]] = {
    "nvme-without-path": nvme_without_path,
    "nvme-key-on-cpu": nvme_keys_on_cpu,
    "aio-without-nvme": aio_without_nvme,
    "zenflow-intervals": zenflow_intervals,
}
