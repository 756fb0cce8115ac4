"""Loss scaling, where a table of conditions does not say it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dslint.launches.launch import Launch
from dslint.rules.conditions import as_number, reach
from dslint.rules.match import Match

# Keys of the fp16 block that are about the loss scale, and mean nothing in bf16's.
LOSS_SCALE_KEYS: Final = (
    "loss_scale",
    "initial_scale_power",
    "loss_scale_window",
    "hysteresis",
    "consecutive_hysteresis",
    "min_loss_scale",
)
# DeepSpeed's own defaults (runtime/precision_config.py).
INITIAL_SCALE_POWER: Final = 16
MIN_LOSS_SCALE: Final = 1
LOSS_SCALE_WINDOW: Final = 1000
HYSTERESIS: Final = 2

LARGEST_FP16: Final = 65504


def no_room(launch: Launch) -> Iterator[Match]:
    """Dynamic scaling whose floor is at or above its start."""
    loss_scale = number_at(launch, "loss_scale", 0)
    power = number_at(launch, "initial_scale_power", INITIAL_SCALE_POWER)
    floor = number_at(launch, "min_loss_scale", MIN_LOSS_SCALE)
    if loss_scale != 0 or power is None or floor is None or not -1000 < power < 1000:
        return
    start = 2.0**power
    if floor >= start:
        given = reach(launch.config.root, ("fp16", "min_loss_scale")).node is not None
        key = "min_loss_scale" if given else "initial_scale_power"
        yield Match(f"/fp16/{key}", values={"floor": f"{floor:g}", "start": f"{start:g}"})


def number_at(launch: Launch, key: str, default: float) -> float | None:
    """A number of the fp16 block; its default where it is absent, None where it is no number."""
    node = reach(launch.config.root, ("fp16", key)).node
    return default if node is None else as_number(node.value)


def loss_scale_key_in_bf16(launch: Launch) -> Iterator[Match]:
    block = reach(launch.config.root, ("bf16",))
    for member in () if block.node is None else block.node.members:
        if member.key in LOSS_SCALE_KEYS:
            yield Match(f"{block.pointer}/{member.key}", values={"key": member.key})


def window_small(launch: Launch) -> Iterator[Match]:
    """A window so small that the scale runs into an overflow every few steps."""
    window = number_at(launch, "loss_scale_window", LOSS_SCALE_WINDOW)
    hysteresis = number_at(launch, "hysteresis", HYSTERESIS)
    if window is not None and window >= 1 and hysteresis is not None and hysteresis >= 1:
        # Up once in `window` good steps, then one bad step for each of the hysteresis and one step between.
        share = hysteresis / (window + 1 + hysteresis)
        yield Match("/fp16/loss_scale_window", values={"share": f"{100 * share:.0f} %"})


def static_harmful(launch: Launch) -> Iterator[Match]:
    """A static scale of 1 or below, which scales nothing, or one that gradients overflow under."""
    scale = number_at(launch, "loss_scale", 0)
    if scale is None or scale <= 0:
        return
    if scale <= 1:
        harm = "nothing lifts gradients below 6e-8, which are 0 in fp16"
    else:
        harm = f"gradients above {LARGEST_FP16 / scale:.1g} overflow, and their steps are skipped for ever"
    yield Match("/fp16/loss_scale", values={"harm": harm})
