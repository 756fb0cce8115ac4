"""The values of scheduler.params: what the schedulers refuse, and schedules that nobody means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from dslint.documents.tree import Node, find
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.names import nearest
from dslint.releases.schema import schedulers, torch_schedulers
from dslint.rules.checks.floats import stays_float
from dslint.rules.checks.scheduler import brought, entry_of, params_of, scheduler_type
from dslint.rules.conditions import as_number, is_auto, reach, truth
from dslint.rules.match import Match

PARAMS: Final = "/scheduler/params/"
WARMUP_TYPES: Final = ("log", "linear")
# Parameters of the warmup schedulers that they compute with.
NUMBERS: Final = frozenset({"warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps"})
# From here on the schedulers look at their step sizes, and OneCycle at its stair counts.
CHECKED_SINCE: Final = (0, 19, 4)


def own(launch: Launch, *names: str) -> tuple[Mapping[str, Any], Node] | None:
    """One of DeepSpeed's own schedulers, by its entry, and its parameters; None when it is another, or not built."""
    name, params = scheduler_type(launch), params_of(launch)
    entry = None if name is None else schedulers(launch.release).get(name)
    if entry is None or params is None or brought(launch) or (names and name not in names):
        return None
    return entry, params


def number(entry: Mapping[str, Any], params: Node, key: str) -> float | None:
    """A parameter's number, or its default; None where it is no number or not known."""
    node = params.get(key)
    value = entry["params"].get(key) if node is None else node.value
    return as_number(value) if node is None or node.kind == "number" else None


def without_params(launch: Launch) -> Iterator[Match]:
    """A scheduler whose block has no parameters at all, which the engine hands on as None."""
    block = launch.config.root.get("scheduler")
    if block is None or block.open or entry_of(launch) is None or brought(launch):
        return
    params = block.get("params")
    if params is None or params.kind == "null":
        yield Match("/scheduler/params", values={"name": scheduler_type(launch)})


def torch_scheduler_wrapped(launch: Launch) -> Iterator[Match]:
    """A scheduler of torch's where the engine wraps the optimizer in a class that torch does not take."""
    name = scheduler_type(launch)
    if (
        name is None
        or name in schedulers(launch.release)
        or name not in torch_schedulers()
        or brought(launch)
    ):
        return
    wrapped = wrapping(launch)
    if wrapped:
        yield Match("/scheduler/type", values={"name": name, "wrapped": wrapped})


def wrapping(launch: Launch) -> str:
    """Why the optimizer is wrapped, in words; empty where it is not, or that is not known."""
    stage = find(launch.config.root, "/zero_optimization/stage")
    if stage is not None and stage.kind == "number" and stage.value in (1, 2, 3):
        return f"ZeRO stage {stage.value}"
    for block in ("bf16", "fp16"):
        found = reach(launch.config.root, (block, "enabled"))
        if found.node is not None and not is_auto(found.node) and truth(found.node, found.pointer, launch):
            return block
    return ""


def warmup_too_long(launch: Launch) -> Iterator[Match]:
    """As many warmup steps as there are steps, or more."""
    found = own(launch, "WarmupDecayLR", "WarmupCosineLR")
    if found is None:
        return
    total, warmup = number(*found, "total_num_steps"), number(*found, "warmup_num_steps")
    if total is None or warmup is None or total > warmup:
        return
    key = "warmup_num_steps" if found[1].get("warmup_num_steps") is not None else "total_num_steps"
    then = (
        "the rate never reaches its peak"
        if total < warmup
        else "the rate falls to its end right after its peak"
    )
    default = "" if key == "warmup_num_steps" else ", its default,"
    yield Match(
        f"{PARAMS}{key}",
        values={"total": f"{total:g}", "warmup": f"{warmup:g}", "default": default, "then": then},
    )


def warmup_type_unknown(launch: Launch) -> Iterator[Match]:
    """A form of warmup that there is not; the scheduler says so once and takes log."""
    found = own(launch)
    node = None if found is None else found[1].get("warmup_type")
    if found is None or "warmup_type" not in found[0]["params"] or node is None or node.kind != "string":
        return
    if node.value not in WARMUP_TYPES:
        near = nearest(node.value, WARMUP_TYPES)
        safety, meant = ("unsafe", near[0]) if near and near[0] != "log" else ("safe", "log")
        fix = Fix(safety, f"set it to {meant}", (Change("set", f"{PARAMS}warmup_type", meant),))  # type: ignore[arg-type]
        yield Match(f"{PARAMS}warmup_type", fix=fix)


def warmup_falls(launch: Launch) -> Iterator[Match]:
    """A warmup that starts above its peak."""
    found = own(launch, "WarmupLR", "WarmupDecayLR")
    if found is None:
        return
    start, peak = number(*found, "warmup_min_lr"), number(*found, "warmup_max_lr")
    if start is not None and peak is not None and start > peak:
        yield Match(f"{PARAMS}warmup_min_lr", values={"start": f"{start:g}", "peak": f"{peak:g}"})


def ratio_out_of_range(launch: Launch) -> Iterator[Match]:
    """A ratio of WarmupCosineLR's outside 0 to 1."""
    found = own(launch, "WarmupCosineLR")
    for key in () if found is None else ("cos_min_ratio", "warmup_min_ratio"):
        node = found[1].get(key) if found else None
        if node is not None and node.kind == "number" and not 0 <= node.value <= 1:
            yield Match(f"{PARAMS}{key}", values={"key": key})


def step_size_refused(launch: Launch) -> Iterator[Match]:
    """A number of steps that the scheduler refuses or divides by."""
    found = own(launch, "LRRangeTest", "OneCycle")
    checked = launch.release.version >= CHECKED_SINCE
    for key, (wanted, fits) in STEP_SIZES.items() if found is not None else ():
        node = found[1].get(key) if found else None
        if node is None or node.kind != "number":
            continue
        divided_by = node.value == 0 and key != "cycle_second_step_size"
        value = node.value if stays_float(launch, node) else int(node.value)
        if (checked and not fits(value)) or divided_by:
            yield Match(f"{PARAMS}{key}", values={"key": key, "wanted": wanted})


STEP_SIZES: Final[Mapping[str, tuple[str, Callable[[float], bool]]]] = {
    "lr_range_test_step_size": ("a whole number above 0", lambda n: isinstance(n, int) and n > 0),
    "cycle_first_step_size": ("above 0", lambda n: n > 0),
    "cycle_second_step_size": ("at least 0", lambda n: n >= 0),
}


def text(launch: Launch) -> Iterator[Match]:
    """Text where a warmup scheduler computes with a number."""
    found = own(launch, "WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
    for member in () if found is None else found[1].members:
        node = member.node
        if member.key in NUMBERS and node.kind == "string" and node.value != "auto":
            pointer = f"{PARAMS}{member.key}"
            value = as_number(node.value)
            fix = None
            if value is not None and isfinite(value):
                plain = int(value) if member.key.endswith("_steps") and value == int(value) else value
                fix = Fix("safe", f"take the quotes off: {plain:g}", (Change("set", pointer, plain),))
            yield Match(pointer, values={"key": member.key}, fix=fix)


def cycle_upside_down(launch: Launch) -> Iterator[Match]:
    """A cycle whose low end is above its high end."""
    found = own(launch, "OneCycle")
    if found is None:
        return
    low, high = number(*found, "cycle_min_lr"), number(*found, "cycle_max_lr")
    if low is not None and high is not None and low > high:
        yield Match(f"{PARAMS}cycle_min_lr", values={"low": f"{low:g}", "high": f"{high:g}"})


def stairs_unread(launch: Launch) -> Iterator[Match]:
    """OneCycle's stairs, in releases that climb without them."""
    found = own(launch, "OneCycle")
    for key in () if found is None else ("cycle_first_stair_count", "cycle_second_stair_count"):
        value = number(*found, key) if found else None
        if value is not None and value > 0:
            yield Match(f"{PARAMS}{key}", values={"key": key})


SCHEDULER_VALUE_CHECKS: Final = {
    "scheduler-without-params": without_params,
    "torch-scheduler-wrapped": torch_scheduler_wrapped,
    "warmup-too-long": warmup_too_long,
    "warmup-type-unknown": warmup_type_unknown,
    "warmup-falls": warmup_falls,
    "ratio-out-of-range": ratio_out_of_range,
    "step-size-refused": step_size_refused,
    "scheduler-parameter-text": text,
    "cycle-upside-down": cycle_upside_down,
    "stairs-unread": stairs_unread,
}
