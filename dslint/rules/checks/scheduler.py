"""The scheduler block against the real signatures of a release's schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dslint.documents.tree import Node, find
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.names import nearest
from dslint.releases.schema import scheduler, schedulers
from dslint.rules.checks.floats import stays_float
from dslint.rules.checks.optimizer import is_given
from dslint.rules.conditions import FILLS_AUTO, as_number, is_auto, reach
from dslint.rules.match import Match

# What torch.optim.lr_scheduler brings, where DeepSpeed looks a name that is none of its own up.
TORCH_SCHEDULERS: Final = frozenset(
    {
        "ChainedScheduler",
        "ConstantLR",
        "CosineAnnealingLR",
        "CosineAnnealingWarmRestarts",
        "CyclicLR",
        "ExponentialLR",
        "LRScheduler",
        "LambdaLR",
        "LinearLR",
        "MultiStepLR",
        "MultiplicativeLR",
        "OneCycleLR",
        "PolynomialLR",
        "ReduceLROnPlateau",
        "SequentialLR",
        "StepLR",
    }
)
# The HF Trainer fills these when they are there and say "auto"; nobody adds them when they are absent.
WARMUPS: Final = frozenset({"WarmupLR", "WarmupDecayLR"})


def scheduler_type(launch: Launch) -> str | None:
    node = find(launch.config.root, "/scheduler/type")
    return node.value if node is not None and node.kind == "string" else None


def entry_of(launch: Launch) -> Mapping[str, Any] | None:
    """What a name stands for in this release: DeepSpeed's own scheduler, else torch's."""
    name = scheduler_type(launch)
    return None if name is None else scheduler(launch.release, name)


def params_of(launch: Launch) -> Node | None:
    """The parameters, when they can be read: an object whose keys are all known."""
    node = reach(launch.config.root, ("scheduler", "params")).node
    return node if node is not None and node.kind == "object" and not node.open else None


def unknown(launch: Launch) -> Iterator[Match]:
    """A name that neither DeepSpeed nor torch.optim.lr_scheduler has; case counts."""
    name = scheduler_type(launch)
    known = schedulers(launch.release)
    if name is None or name in known or name in TORCH_SCHEDULERS or not name or brought(launch):
        return
    folded = {word.lower(): word for word in (*known, *TORCH_SCHEDULERS)}
    near = (
        [folded[name.lower()]]
        if name.lower() in folded
        else nearest(name, sorted((*known, *TORCH_SCHEDULERS)))
    )
    hint = f"; did you mean {near[0]}?" if near else ""
    fix = Fix("safe", f"set it to {near[0]}", (Change("set", "/scheduler/type", near[0]),)) if near else None
    yield Match("/scheduler/type", values={"name": name, "hint": hint}, fix=fix)


def brought(launch: Launch) -> bool:
    """Does the program bring a scheduler of its own, so that the engine never builds this one?"""
    return is_given(launch, "lr_scheduler")


def parameter(launch: Launch) -> Iterator[Match]:
    """A parameter that the scheduler's constructor does not take."""
    entry, params = entry_of(launch), params_of(launch)
    if entry is None or params is None or brought(launch):
        return
    for member in params.members:
        if member.key in entry["params"]:
            continue
        pointer = f"/scheduler/params/{member.key}"
        near = [name for name in nearest(member.key, list(entry["params"])) if params.get(name) is None]
        hint = f"; did you mean {near[0]}?" if near else ""
        if near:
            fix = Fix("safe", f"rename it to {near[0]}", (Change("rename", pointer, near[0]),))
        else:
            fix = Fix("safe", f"remove {member.key}", (Change("remove", pointer),))
        yield Match(
            pointer,
            values={"key": member.key, "name": scheduler_type(launch), "hint": hint},
            mark="key",
            fix=fix,
        )


def missing_parameter(launch: Launch) -> Iterator[Match]:
    """A parameter that the constructor has no default for."""
    entry = entry_of(launch)
    scheduler = launch.config.root.get("scheduler")
    if entry is None or scheduler is None or scheduler.open or brought(launch):
        return
    params = scheduler.get("params")
    if params is not None and (params.kind != "object" or params.open):
        return
    for key in entry["required"]:
        if params is None or params.get(key) is None:
            yield Match(
                f"/scheduler/params/{key}",
                values={"key": key, "name": scheduler_type(launch)},
                fix=auto_fix(launch, key, params),
            )


def auto_fix(launch: Launch, key: str, params: Node | None) -> Fix | None:
    """Under the HF Trainer "auto" gives the number; elsewhere only the user knows it."""
    if launch.framework in FILLS_AUTO and key == "total_num_steps" and params is not None:
        pointer = f"/scheduler/params/{key}"
        return Fix("safe", f'set {key} to "auto", which the Trainer fills', (Change("set", pointer, "auto"),))
    return None


def warmup_not_positive(launch: Launch) -> Iterator[Match]:
    """A number of warmup steps that is no whole number above 0."""
    params, entry = params_of(launch), entry_of(launch)
    node = None if params is None else params.get("warmup_num_steps")
    if entry is None or "warmup_num_steps" not in entry["params"] or brought(launch):
        return
    if node is None or not (node.kind == "number" or node.value is False):
        return
    if node.value <= 0 or stays_float(launch, node):
        whole = int(node.value) if node.value == node.value // 1 else 0
        fix = None
        if whole > 0:
            fix = Fix(
                "safe", f"write it as {whole}", (Change("set", "/scheduler/params/warmup_num_steps", whole),)
            )
        yield Match("/scheduler/params/warmup_num_steps", fix=fix)


def rates_at_odds(launch: Launch) -> Iterator[Match]:
    """The optimizer's learning rate and the peak that the scheduler sets, which wins."""
    name, entry = scheduler_type(launch), entry_of(launch)
    params = params_of(launch)
    if name not in WARMUPS or entry is None or params is None or brought(launch):
        return
    rate = reach(launch.config.root, ("optimizer", "params", "lr")).node
    peak = params.get("warmup_max_lr")
    if rate is None or is_auto(rate):
        return
    first = as_number(rate.value)
    second = entry["params"]["warmup_max_lr"] if peak is None else as_number(peak.value)
    if first is None or not isinstance(second, (int, float)) or first == second:
        return
    values = {"lr": f"{first:g}", "peak": f"{second:g}", "name": name}
    yield Match(
        "/scheduler/params/warmup_max_lr", values=values, message=DEFAULT_PEAK if peak is None else None
    )


DEFAULT_PEAK: Final = (
    "warmup_max_lr is not given and is {peak} in {name} of DeepSpeed {release}; "
    "training peaks there, not at the optimizer's lr of {lr}"
)


SCHEDULER_CHECKS: Final = {
    "scheduler-unknown": unknown,
    "scheduler-parameter": parameter,
    "scheduler-parameter-missing": missing_parameter,
    "warmup-not-positive": warmup_not_positive,
    "learning-rates-at-odds": rates_at_odds,
}
