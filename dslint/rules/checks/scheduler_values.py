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
# Numbers that a scheduler looks at only with cycle_momentum, or when a run is taken up again.
SOMETIMES: Final = frozenset({"cycle_min_mom", "cycle_max_mom", "decay_mom_rate", "last_batch_iteration"})
# OneCycle turns these into floats, from text as well.
CONVERTED: Final = frozenset({"cycle_first_step_size", "cycle_second_step_size"})
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
    """A scheduler whose parameters are no object: left out, which the engine hands on as None, or something else."""
    block = launch.config.root.get("scheduler")
    if block is None or block.open or entry_of(launch) is None or brought(launch):
        return
    params = block.get("params")
    if params is not None and params.kind in ("object", "unknown"):
        return
    given = "no params" if params is None or params.kind == "null" else "params that are no object"
    yield Match("/scheduler/params", values={"name": scheduler_type(launch), "given": given})


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
    if scheduler_type(launch) == "WarmupCosineLR" and launch.release.version < CHECKED_SINCE:
        return
    if node.value not in WARMUP_TYPES:
        near = nearest(node.value, WARMUP_TYPES)
        safety, meant = ("unsafe", near[0]) if near and near[0] != "log" else ("safe", "log")
        fix = Fix(safety, f"set it to {meant}", (Change("set", f"{PARAMS}warmup_type", meant),))  # type: ignore[arg-type]
        yield Match(f"{PARAMS}warmup_type", fix=fix)


def cosine_warmup_type(launch: Launch) -> Iterator[Match]:
    """A form of warmup that WarmupCosineLR does not know, in releases that have no other way then."""
    found = own(launch, "WarmupCosineLR")
    node = None if found is None else found[1].get("warmup_type")
    if node is not None and node.kind != "unknown" and node.plain() not in WARMUP_TYPES:
        near = nearest(node.value, WARMUP_TYPES) if node.kind == "string" else []
        meant = near[0] if near else "log"
        fix = Fix("unsafe", f"set it to {meant}", (Change("set", f"{PARAMS}warmup_type", meant),))
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
    if found is None:
        return
    for key in ("cos_min_ratio", "warmup_min_ratio"):
        node = found[1].get(key)
        if node is not None and node.kind == "number" and not 0 <= node.value <= 1:
            yield Match(f"{PARAMS}{key}", values={"key": key})


def step_size_refused(launch: Launch) -> Iterator[Match]:
    """A number of steps that the scheduler refuses or divides by."""
    found = own(launch, "LRRangeTest", "OneCycle")
    if found is None:
        return
    checked = launch.release.version >= CHECKED_SINCE
    for key, (wanted, fits) in STEP_SIZES.items():
        node = found[1].get(key)
        if node is None or not (node.kind == "number" or node.value is False):
            continue
        divided_by = node.value == 0 and key != "cycle_second_step_size"
        value = node.value if node.value is False or stays_float(launch, node) else int(node.value)
        if (checked and not fits(value)) or divided_by:
            yield Match(f"{PARAMS}{key}", values={"key": key, "wanted": wanted})


STEP_SIZES: Final[Mapping[str, tuple[str, Callable[[float], bool]]]] = {
    "lr_range_test_step_size": ("a whole number above 0", lambda n: isinstance(n, int) and n > 0),
    "cycle_first_step_size": ("above 0", lambda n: n > 0),
    "cycle_second_step_size": ("at least 0", lambda n: n >= 0),
}


def wrong_kind(launch: Launch) -> Iterator[Match]:
    """A value that a scheduler of DeepSpeed's own cannot compute with: text, null, a list or an object."""
    found = own(launch)
    for member in () if found is None else found[1].members:
        if found is None or not reckoned(found[0], member.key, launch):
            continue
        if not fits_kind(found[0], member.key, member.node, launch):
            yield Match(
                f"{PARAMS}{member.key}", values={"key": member.key}, fix=unquoted(member.key, member.node)
            )


def reckoned(entry: Mapping[str, Any], key: str, launch: Launch) -> bool:
    """Does the scheduler compute with this parameter in every run?"""
    if key not in entry["params"] or key in SOMETIMES:
        return False
    if key.endswith("_stair_count") and launch.release.version < CHECKED_SINCE:
        return False
    default = entry["params"][key]
    return default is None or (isinstance(default, (int, float)) and not isinstance(default, bool))


def fits_kind(entry: Mapping[str, Any], key: str, node: Node, launch: Launch) -> bool:
    if node.kind == "null" and key == "warmup_max_lr":
        # WarmupDecayLR hands it on to WarmupLR, which takes the optimizer's rate for it once null is its default.
        return schedulers(launch.release)["WarmupLR"]["params"][key] is None
    if node.kind == "null":
        return entry["params"][key] is None and key not in entry["required"]
    if node.kind == "string":
        return is_auto(node) or (key in CONVERTED and as_number(node.value) is not None)
    if node.kind == "array":
        # One rate for each group of parameters; how many there are, only the program knows.
        return key.endswith("_lr")
    return node.kind != "object"


def unquoted(key: str, node: Node) -> Fix | None:
    value = as_number(node.value) if node.kind == "string" else None
    if value is None or not isfinite(value):
        return None
    plain = int(value) if "_step" in key and value == int(value) else value
    return Fix("safe", f"take the quotes off: {plain:g}", (Change("set", f"{PARAMS}{key}", plain),))


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
    if found is None:
        return
    for key in ("cycle_first_stair_count", "cycle_second_stair_count"):
        value = number(*found, key)
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
    "scheduler-parameter-kind": wrong_kind,
    "cosine-warmup-type": cosine_warmup_type,
    "cycle-upside-down": cycle_upside_down,
    "stairs-unread": stairs_unread,
}
