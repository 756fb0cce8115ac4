"""The values of optimizer.params: what the classes refuse, and what they compute nonsense with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from dslint.documents.tree import Node, find
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.rules.checks.optimizer import class_in_use, entry_of, is_ours, optimizer_type
from dslint.rules.conditions import as_number
from dslint.rules.match import Match

# Parameters that each class computes with. Muon's and mup's classes are left out: they read some by halves.
NUMBERS: Final = frozenset({"lr", "eps", "weight_decay", "momentum", "lr_decay", "max_coeff", "min_coeff"})
OWN: Final = frozenset({"adam", "adamw", "adagrad", "lamb", "lion"})
# Own classes in C++ and CUDA, which check nothing; the others are torch's, which raise ValueError.
UNCHECKED: Final = frozenset({"adam", "adamw", "lamb", "lion"})
# Schedulers that set the learning rate before the first step, so that the optimizer's own is not used.
SET_THE_RATE: Final = frozenset({"LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"})


def read(launch: Launch) -> tuple[str, Node] | None:
    """The optimizer's name in lower case and its parameters, when the engine builds it from them."""
    name = optimizer_type(launch)
    params = find(launch.config.root, "/optimizer/params")
    if name is None or params is None or params.kind != "object" or is_ours(launch):
        return None
    known = entry_of(launch) is None or name.lower() in OWN
    return (name.lower(), params) if known else None


def has_scheduler(launch: Launch) -> bool:
    """Is there a scheduler block, or may there be one?"""
    return launch.config.root.get("scheduler") is not None or launch.config.root.open


def text(launch: Launch) -> Iterator[Match]:
    """Text, or null, where the optimizer computes with a number."""
    found = read(launch)
    for pointer, node in () if found is None else numbers_in(found[1]):
        key = pointer.split("/")[3]
        if key == "lr" and has_scheduler(launch):
            continue
        if node.kind == "null":
            yield Match(pointer, values={"key": key}, message=NULL)
        elif node.kind == "string" and node.value != "auto":
            yield Match(pointer, values={"key": key}, fix=unquoted(pointer, node.value))


NULL: Final = (
    "{key} is null; DeepSpeed {release} hands it to the optimizer as it stands, which stops with a TypeError"
)


def numbers_in(params: Node) -> Iterator[tuple[str, Node]]:
    """Where the classes look for numbers, a pair of betas included."""
    for member in params.members:
        pointer = f"/optimizer/params/{member.key}"
        if member.key in NUMBERS:
            yield pointer, member.node
        elif member.key == "betas" and len(member.node.items) == 2:
            yield from ((f"{pointer}/{index}", item) for index, item in enumerate(member.node.items))


def unquoted(pointer: str, word: str) -> Fix | None:
    """The fix for a number in quotes; None where the text is no number."""
    number = as_number(word)
    if number is None or not isfinite(number):
        return None
    return Fix("safe", f"take the quotes off: {number:g}", (Change("set", pointer, number),))


def betas(launch: Launch) -> Iterator[Match]:
    """Betas that are no pair."""
    found = read(launch)
    node = None if found is None else found[1].get("betas")
    if node is None or node.kind == "unknown" or (node.kind == "string" and len(node.value) in (2, 4)):
        # "auto" may be filled, and a text of two characters is taken apart all the same.
        return
    if node.kind != "array" or len(node.items) != 2:
        yield Match("/optimizer/params/betas")


def amsgrad(launch: Launch) -> Iterator[Match]:
    """amsgrad with one of DeepSpeed's own classes, which have none."""
    found = read(launch)
    if found is None or found[0] not in UNCHECKED or class_in_use(launch) not in ("gpu", "cpu"):
        return
    if class_in_use(launch) == "cpu" and launch.release.version < CPU_AMSGRAD_REFUSED:
        return
    node = found[1].get("amsgrad")
    if node is not None and node.kind == "boolean" and node.value:
        yield Match("/optimizer/params/amsgrad", values={"name": optimizer_type(launch)})


# Before, DeepSpeedCPUAdam took amsgrad without a word and had none.
CPU_AMSGRAD_REFUSED: Final = (0, 19, 8)


def refused(launch: Launch) -> Iterator[Match]:
    """A number that torch's classes raise ValueError for."""
    found = read(launch)
    if found is None or (found[0] == "adagrad" and class_in_use(launch) != "gpu"):
        return
    if is_checked(launch, found[0]):
        yield from out_of_range(found[1])


def harmful(launch: Launch) -> Iterator[Match]:
    """A number that DeepSpeed's classes take, and ruin the weights with."""
    found = read(launch)
    if found is None or is_checked(launch, found[0]) or class_in_use(launch) is None:
        return
    for match in out_of_range(found[1]):
        key = str(match.values["key"])
        if key in HARMS and not (key == "lr" and has_scheduler(launch)):
            yield match._replace(values={**match.values, "harm": HARMS[key]})


HARMS: Final = {
    "lr": "each step climbs the loss instead of descending it",
    "betas": "the bias correction divides by 0 and all weights are NaN after one step",
}


def is_checked(launch: Launch, name: str) -> bool:
    """Is the class that is built one of torch's, which look at their numbers?"""
    return name not in UNCHECKED or class_in_use(launch) == "torch"


def out_of_range(params: Node) -> Iterator[Match]:
    for member in params.members:
        wanted, fits = RANGES.get(member.key, ("", always))
        if member.node.kind in ("number", "array") and not fits(member.node.plain()):
            yield Match(f"/optimizer/params/{member.key}", values={"key": member.key, "wanted": wanted})


def always(value: Any) -> bool:
    return True


def at_least_0(value: Any) -> bool:
    return not isinstance(value, (int, float)) or value >= 0


def are_rates(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return True
    return all(not isinstance(one, (int, float)) or 0 <= one < 1 for one in value)


RANGES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "lr": ("at least 0", at_least_0),
    "eps": ("at least 0", at_least_0),
    "weight_decay": ("at least 0", at_least_0),
    "momentum": ("at least 0", at_least_0),
    "betas": ("two numbers from 0 to below 1", are_rates),
}


def rate_of_0(launch: Launch) -> Iterator[Match]:
    yield from rate_that(launch, lambda rate: rate == 0)


def rate_too_high(launch: Launch) -> Iterator[Match]:
    """A learning rate of 1 or more for an optimizer whose steps are about as long as the rate."""
    yield from rate_that(launch, lambda rate: rate >= 1, OWN - {"adagrad"})


def rate_that(
    launch: Launch, holds: Callable[[float], bool], names: frozenset[str] | None = None
) -> Iterator[Match]:
    found = read(launch)
    if found is None or (names is not None and found[0] not in names) or has_scheduler(launch):
        return
    node = found[1].get("lr")
    if node is not None and node.kind == "number" and holds(node.value):
        yield Match("/optimizer/params/lr", values={"name": optimizer_type(launch)})


def rate_missing(launch: Launch) -> Iterator[Match]:
    """No learning rate, and no scheduler that sets one: the constructor's default holds."""
    name = optimizer_type(launch)
    block = launch.config.root.get("optimizer")
    if (
        name is None
        or name.lower() not in OWN - {"adagrad"}
        or block is None
        or block.open
        or is_ours(launch)
    ):
        return
    params = block.get("params")
    if has_scheduler(launch) or (
        params is not None and (params.kind not in ("object", "null") or params.open)
    ):
        return
    if params is None or params.get("lr") is None:
        yield Match("/optimizer/params/lr", values={"name": name})


OPTIMIZER_VALUE_CHECKS: Final = {
    "optimizer-parameter-text": text,
    "betas-not-two": betas,
    "amsgrad-unsupported": amsgrad,
    "optimizer-value-refused": refused,
    "optimizer-value-harmful": harmful,
    "learning-rate-zero": rate_of_0,
    "learning-rate-too-high": rate_too_high,
    "learning-rate-missing": rate_missing,
}
