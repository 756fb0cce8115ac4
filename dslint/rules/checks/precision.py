"""Loss scaling, where a table of conditions does not say it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Final

from dslint.documents.tree import Node, find
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.rules.conditions import as_number, is_auto, reach, truth
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

# The optimizers of stage 0 stay at the floor and go on (runtime/fp16/fused_optimizer.py).
NO_ROOM_WITHOUT_ZERO: Final = (
    "min_loss_scale is {floor} and the scale starts at {start}, so it can't fall; "
    "without ZeRO DeepSpeed {release} skips every step that overflows, and goes on"
)

# The words of data_types (runtime/config.py, DtypeEnum), by the type that they stand for.
TYPES: Final = {
    **dict.fromkeys(("fp32", "float32", "float", "torch.float32"), "fp32"),
    **dict.fromkeys(("fp16", "float16", "half", "torch.float16"), "fp16"),
    **dict.fromkeys(("bf16", "bfloat16", "torch.bfloat16"), "bf16"),
    **dict.fromkeys(("int8", "torch.int8"), "int8"),
}
# From here on bf16 with fp32 gradients is refused without ZeRO.
BF16_WITH_FP32_GRADIENTS_UNTIL: Final = (0, 18, 5)

ALLOW_FP16: Final = "DS_ALLOW_DEPRECATED_FP16"
ALLOWED_SINCE: Final = (0, 13, 2)


def window_no_number(launch: Launch) -> Iterator[Match]:
    """A window that is no number, in releases that divide by it as it stands."""
    node = find(launch.config.root, "/fp16/loss_scale_window")
    if node is None or node.kind in ("number", "boolean", "unknown"):
        return
    if not is_auto(node) or launch.framework == "deepspeed":
        yield Match("/fp16/loss_scale_window", fix=unquoted("/fp16/loss_scale_window", node))


def numbers_in_text(launch: Launch) -> Iterator[Match]:
    """Text that the loss scaler computes with at the first overflow."""
    for key in ("hysteresis", "min_loss_scale"):
        node = find(launch.config.root, f"/fp16/{key}")
        if node is not None and node.kind == "string" and not is_auto(node):
            yield Match(f"/fp16/{key}", values={"key": key}, fix=unquoted(f"/fp16/{key}", node))


def unquoted(pointer: str, node: Node) -> Fix | None:
    value = as_number(node.value) if node.kind == "string" else None
    if value is None or not isfinite(value):
        return None
    plain = int(value) if value == int(value) else value
    return Fix("safe", f"take the quotes off: {plain:g}", (Change("set", pointer, plain),))


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
        stage = reach(launch.config.root, ("zero_optimization", "stage")).node
        ends = stage is not None and stage.value in (1, 2, 3)
        values = {"floor": f"{floor:g}", "start": f"{start:g}"}
        yield Match(f"/fp16/{key}", values=values, message=None if ends else NO_ROOM_WITHOUT_ZERO)


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


def gradient_type_without_zero(launch: Launch) -> Iterator[Match]:
    """A type for gradients that stage 0 has no optimizer for."""
    model, asked = model_type(launch), type_at(launch, "/data_types/grad_accum_dtype")
    if model is None or asked is None or asked == model:
        return
    if (model, asked) != ("bf16", "fp32") or launch.release.version >= BF16_WITH_FP32_GRADIENTS_UNTIL:
        yield Match("/data_types/grad_accum_dtype", values={"model": model})


def parameter_type_at_odds(launch: Launch) -> Iterator[Match]:
    """A type of parameters that is not that of fp16.enabled and bf16.enabled."""
    model, asked = model_type(launch), type_at(launch, "/data_types/param_dtype")
    if model is not None and asked is not None and asked != model:
        yield Match("/data_types/param_dtype", values={"model": model})


def model_type(launch: Launch) -> str | None:
    """fp16, bf16 or fp32, as the two switches say; None where one of them is not known."""
    for name in ("fp16", "bf16"):
        found = reach(launch.config.root, (name, "enabled"))
        if found.node is None:
            continue
        if found.node.kind == "unknown" or (is_auto(found.node) and launch.framework != "deepspeed"):
            return None
        if truth(found.node, found.pointer, launch) is not False:
            return name
    return "fp32"


def type_at(launch: Launch, pointer: str) -> str | None:
    node = find(launch.config.root, pointer)
    return TYPES.get(node.value) if node is not None and node.kind == "string" else None


def fp16_unsupported(launch: Launch) -> Iterator[Match]:
    """fp16 on a GPU that DeepSpeed refuses it for, unless the launch sets the variable that allows it."""
    allowed = launch.command is not None and ALLOW_FP16 in launch.command.environment
    if not allowed or launch.release.version < ALLOWED_SINCE:
        yield Match(reach(launch.config.root, ("fp16", "enabled")).pointer)


def autocast_without_type(launch: Launch) -> Iterator[Match]:
    """torch_autocast with no type, or with one that autocast does not cast to."""
    dtype = find(launch.config.root, "/torch_autocast/dtype")
    if dtype is None:
        said = "torch_autocast has no dtype, so torch casts to fp16 on CUDA and DeepSpeed {release} scales no gradients for it"
        yield Match("/torch_autocast/enabled", message=said)
    else:
        said = "torch_autocast.dtype is {value}, to which torch casts nothing; autocast is for bfloat16 and float16"
        yield Match("/torch_autocast/dtype", message=said)
