"""What a DeepSpeed engine shows while it trains, through its own accessors. Nothing is imported for it."""

from __future__ import annotations

from typing import Any, Final

# Where the optimizer wrappers of the releases keep the scale that the loss was multiplied by.
SCALES: Final = ("loss_scaler.cur_scale", "loss_scale_config.cur_scale", "cur_scale", "loss_scale")
FLOORS: Final = ("loss_scaler.min_scale", "loss_scale_config.min_loss_scale", "min_loss_scale")
PATIENCE: Final = ("loss_scaler.cur_hysteresis",)


def loss_scale(engine: Any) -> float | None:
    """The loss scale in force; None where nothing is scaled (bf16, float32)."""
    scaler = getattr(engine, "torch_autocast_z0_gradscaler", None)
    if scaler is not None and callable(getattr(scaler, "get_scale", None)):
        return float(scaler.get_scale())
    scale = first_number(engine.optimizer, SCALES)
    if scale is None or (scale == 1.0 and not fp16_enabled(engine)):
        return None
    return scale


def scale_floor(engine: Any) -> float | None:
    """The value below which the dynamic loss scale does not fall; None where it is static or absent."""
    if loss_scale(engine) is None or not is_dynamic(engine):
        return None
    return first_number(engine.optimizer, FLOORS)


def patience(engine: Any) -> int | None:
    """How many overflows the scaler takes before it lowers the scale, counted down to 1; None where it does not count."""
    left = first_number(engine.optimizer, PATIENCE)
    return None if left is None else int(left)


def is_dynamic(engine: Any) -> bool:
    """Does the loss scale move by itself?"""
    optimizer = engine.optimizer
    for holder in (
        getattr(optimizer, "loss_scaler", None),
        getattr(optimizer, "loss_scale_config", None),
        optimizer,
    ):
        for name in ("dynamic", "dynamic_loss_scale"):
            value = getattr(holder, name, None)
            if isinstance(value, bool):
                return value
    return False


def stops_at_floor(engine: Any) -> bool:
    """Does an overflow at the floor end the run? ZeRO's scaler raises; the fp16 wrappers of stage 0 skip on and on."""
    return bool(getattr(getattr(engine.optimizer, "loss_scaler", None), "raise_error_at_min_scale", False))


def fp16_enabled(engine: Any) -> bool:
    enabled = getattr(engine, "fp16_enabled", None)
    return bool(enabled()) if callable(enabled) else bool(enabled)


def gradient_norm(engine: Any) -> Any:
    """The gradient's 2-norm of the last step, as the engine keeps it: a number, a tensor with one, or None."""
    ask = getattr(engine, "get_global_grad_norm", None)
    return None if ask is None else ask()


def learning_rate(engine: Any) -> float | None:
    """The first parameter group's learning rate, as the next step will have it."""
    try:
        return float(engine.get_lr()[0])
    except (AttributeError, IndexError, KeyError, TypeError):
        return None


def skipped_steps(engine: Any) -> int:
    return int(getattr(engine, "skipped_steps", 0))


def was_skipped(engine: Any) -> bool:
    """Was the last optimizer step left out because its gradients were infinite or NaN?"""
    return bool(getattr(engine.optimizer, "overflow", False))


def first_number(holder: Any, paths: tuple[str, ...]) -> float | None:
    for path in paths:
        value = holder
        for part in path.split("."):
            value = getattr(value, part, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None
