"""Offload to CPU and NVMe, where a table of conditions does not say it."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.launches.launch import Launch
from dslint.rules.conditions import reach
from dslint.rules.match import Match


def nvme_without_path(launch: Launch) -> Iterator[Match]:
    for block in ("offload_param", "offload_optimizer"):
        found = reach(launch.config.root, ("zero_optimization", block))
        node = found.node
        if node is None or node.kind != "object" or node.open:
            continue
        device = node.get("device")
        path = node.get("nvme_path")
        if device is not None and device.value == "nvme" and (path is None or path.kind == "null"):
            yield Match(f"{found.pointer}/nvme_path", values={"block": block})
