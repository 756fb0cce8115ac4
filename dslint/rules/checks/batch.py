"""The batch equation: train_batch_size = micro batch x accumulation steps x world size.

The arithmetic is DeepSpeedConfig._set_batch_related_parameters' own, floor divisions included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from dslint.documents.tree import Node
from dslint.launches.launch import Launch
from dslint.rules.conditions import FILLS_AUTO
from dslint.rules.finding import Related
from dslint.rules.match import Match

TRAIN: Final = "train_batch_size"
MICRO: Final = "train_micro_batch_size_per_gpu"
STEPS: Final = "gradient_accumulation_steps"
KEYS: Final = (TRAIN, MICRO, STEPS)


# From here on the batch is reckoned with the GPUs divided by sequence_parallel_size.
SHARED_SINCE: Final = (0, 17, 0)


class Batch(NamedTuple):
    """The three numbers as the file gives them; None where a key is absent (or null, which the engine reads alike)."""

    train: float | None
    micro: float | None
    steps: float | None


def equation(launch: Launch) -> Iterator[Match]:
    """The three numbers don't fit the known world size."""
    batch = read_batch(launch, shared=True)
    world = data_parallel_size(launch)
    if batch is None or world is None or world < 1 or not possible(batch):
        return
    train, micro, steps = solve(batch, world)
    if train == micro * steps * world and min(train, micro, steps) > 0:
        return
    key = TRAIN if batch.train is not None else MICRO
    yield Match(
        f"/{key}",
        values={"sum": spoken(train, micro, steps, world), "hint": hint(batch, world)},
        related=learned(launch),
    )


def impossible(launch: Launch) -> Iterator[Match]:
    """The numbers fit no world size at all, however many GPUs share a sequence."""
    batch = read_batch(launch, shared=True)
    if batch is None or possible(batch) or min(n for n in batch if n is not None) <= 0:
        return
    given = " and ".join(f"{key} {said(n)}" for key, n in zip(KEYS, batch, strict=True) if n is not None)
    yield Match(f"/{TRAIN}", values={"given": given})


def missing(launch: Launch) -> Iterator[Match]:
    """Neither the train batch size nor the micro batch size is there, and whoever hands the config over fills only "auto"."""
    root = launch.config.root
    if root.kind != "object" or root.open or is_elastic(root) or may_set_batch(launch):
        return
    if all(is_nothing(root.get(key)) for key in (TRAIN, MICRO)):
        yield Match(f"/{MICRO}")


def may_set_batch(launch: Launch) -> bool:
    """Does a program write a batch size into the config that it has read, as Axolotl does, or might it?"""
    if launch.framework == "deepspeed":
        return False
    if launch.training is not None and launch.training.kind != "llamafactory":
        return True
    return launch.program is not None and "deepspeed_config" in launch.program.source.text


def not_positive(launch: Launch) -> Iterator[Match]:
    """A batch number that is 0 or below."""
    for key in KEYS:
        node = launch.config.root.get(key)
        number = None if node is None else number_of(node)
        if number is not None and number <= 0:
            yield Match(f"/{key}", values={"key": key})


def data_parallel_size(launch: Launch) -> int | None:
    """How many GPUs, or groups of GPUs that share their sequences, train on data of their own; None when not known."""
    shared, world = launch.config.root.get("sequence_parallel_size"), launch.world_size
    if shared is None or world is None:
        return world
    # Before, only a program that says data_parallel_size as well shares sequences.
    if launch.release.version < SHARED_SINCE or shared.kind != "number" or shared.value < 1:
        return None
    return None if world % shared.value else int(world // shared.value)


def read_batch(launch: Launch, shared: bool = False) -> Batch | None:
    """The numbers, or None where one of them is not known, is no number, or would be filled by the framework.

    `shared`: also where GPUs share sequences, which counts only in some programs.
    """
    root = launch.config.root
    if root.kind != "object" or root.open or is_elastic(root):
        return None
    if root.get("sequence_parallel_size") is not None and not shared:
        return None
    found: list[float | None] = []
    for key in KEYS:
        node = root.get(key)
        if is_nothing(node):
            # The Trainer and Accelerate put their own number where a key is missing.
            if launch.framework in FILLS_AUTO and key != TRAIN:
                return None
            found.append(None)
        else:
            number = None if node is None else number_of(node)
            # What overflows to infinity, such as 1e999, is no number to reckon with.
            if number is None or (isinstance(number, float) and not math.isfinite(number)):
                return None
            found.append(number)
    batch = Batch(*found)
    return None if batch.train is None and batch.micro is None else batch


def is_elastic(root: Node) -> bool:
    """Does elastic training work the batch out?"""
    elasticity = root.get("elasticity")
    enabled = None if elasticity is None or elasticity.kind != "object" else elasticity.get("enabled")
    return enabled is not None and bool(enabled.plain())


def number_of(node: Node) -> float | None:
    """A number as the engine reckons with it: true is 1 and false is 0."""
    if node.kind == "boolean":
        return int(node.value)
    return node.value if node.kind == "number" else None


def is_nothing(node: Node | None) -> bool:
    return node is None or node.kind == "null"


def solve(batch: Batch, world: int) -> tuple[float, float, float]:
    """What the engine makes of the numbers; a 0 that it would divide by gives a 0, which never fits."""
    train, micro, steps = batch
    if train is not None and micro is not None:
        return train, micro, steps if steps is not None else over(over(train, micro), world)
    if train is not None:
        each = over(train, world)
        return (train, each, 1) if steps is None else (train, over(each, steps), steps)
    assert micro is not None
    return micro * (steps or 1) * world, micro, 1 if steps is None else steps


def over(number: float, by: float) -> float:
    return number // by if by else 0


def possible(batch: Batch) -> bool:
    """Does some world size fit? One GPU is the most forgiving, but for three given numbers any multiple will do."""
    if any(n is not None and n <= 0 for n in batch):
        return False
    if None not in batch:
        return batch.train % (batch.micro * batch.steps) == 0  # type: ignore[operator]
    train, micro, steps = solve(batch, 1)
    return train == micro * steps


def spoken(train: float, micro: float, steps: float, world: int) -> str:
    return f"{said(train)} is not {said(micro)} x {said(steps)} x {world}"


def hint(batch: Batch, world: int) -> str:
    if batch.micro is not None and batch.steps is not None:
        return f"{said(batch.micro * batch.steps * world)} would fit"
    return f"it has to be a multiple of {said((batch.micro or 1) * (batch.steps or 1) * world)}"


def said(number: float) -> str:
    """A batch size with all its digits, as long as a person can read them."""
    whole = isinstance(number, int) or (number == number // 1 and abs(number) < 1e15)
    text = str(int(number)) if whole else str(number)
    return text if len(text) <= 20 else f"{text[:8]}… ({len(text)} digits)"


def learned(launch: Launch) -> tuple[Related, ...]:
    place = launch.origins.get("world_size")
    return () if place is None else (Related(place, f"{launch.world_size} GPUs are asked for here"),)
