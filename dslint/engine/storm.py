"""Stress on purpose: gradients that no fp16 number can hold, or that vanish in fp16, for a stretch of steps.

The loss is multiplied by a power of two. Adam's update hardly depends on the gradient's size, so a format with the range for
it trains on as if nothing were; fp16 ends at 65504 and, downwards, at about 6e-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dslint.engine.trial import Stress

# The largest gradient of a small model in training is around 1; 2^40 of it is beyond fp16 under any loss scale from 1 up,
# and its square still fits into float32, in which norms are summed.
OVERFLOW: Final = 2.0**40
# Most gradients are then below fp16's least number under a scale of 1, and above it under the usual 2^16.
UNDERFLOW: Final = 2.0**-16

CALM: Final = 3
AFTER: Final = 3
# For a config that no number of overflows kills.
ENDLESS: Final = 20
MOST: Final = 200


class Storm(NamedTuple):
    """Steps count from 1: `calm` steps as they are, then `length` under `factor`, then `after` as they are again."""

    factor: float = 1.0
    calm: int = 0
    length: int = 0
    after: int = 0

    @property
    def steps(self) -> int:
        return self.calm + self.length + self.after

    def over(self, step: int) -> bool:
        return self.calm < step <= self.calm + self.length

    def at(self, step: int) -> float:
        return self.factor if self.over(step) else 1.0


def storm_for(stress: Stress | None, length: int | None, config: Any, steps: int) -> Storm:
    """The storm for a config's content. Its length: as told, else one step more than the config's loss scale endures."""
    if stress is None:
        return Storm()
    if stress == "underflow":
        # From the first step on: after larger gradients Adam's second moment would keep any small one from showing.
        return Storm(UNDERFLOW, 0, steps if length is None else length)
    if length is None:
        endured = endures(fp16_of(config))
        length = ENDLESS if endured is None else min(endured + 1, MOST)
    return Storm(OVERFLOW, CALM, length, AFTER)


def fp16_of(config: Any) -> Mapping[str, Any]:
    """The fp16 block when it is on, else an empty one. "auto" counts as off: who fills it says so elsewhere."""
    block = config.get("fp16") if isinstance(config, Mapping) else None
    return block if isinstance(block, Mapping) and block.get("enabled") is True else {}


def endures(fp16: Mapping[str, Any]) -> int | None:
    """How many overflowing steps in a row the dynamic loss scale takes; the next one ends the run under ZeRO.

    None where there is no such number: fp16 is off, the scale is static, or it never falls.
    https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/fp16/loss_scaler.py
    """
    if not fp16 or number(fp16, "loss_scale", 0):
        return None
    scale = 2.0 ** number(fp16, "initial_scale_power", 16)
    floor = number(fp16, "min_loss_scale", 1)
    count = int(number(fp16, "hysteresis", 2)) - 1
    if count < 0:
        return None  # the scale moves when the count of patience is 1, which it then never is
    while scale != floor and count < MOST:
        scale = max(scale / 2, floor)
        count += 1
    return count


def number(block: Mapping[str, Any], key: str, default: float) -> float:
    value = block.get(key, default)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default
