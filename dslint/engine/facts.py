"""What really took effect, read off the engine or its config under short names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

# Names of DeepSpeedConfig's attributes; releases agree on them from 0.14.5 to 0.19.8 unless two are given.
CONFIG_FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "clip": ("gradient_clipping",),
    "stage": ("zero_optimization_stage",),
    "fp16": ("float16_config.enabled", "fp16_enabled"),
    "bf16": ("bfloat16_config.enabled", "bfloat16_enabled"),
    "batch": ("train_batch_size",),
    "micro": ("train_micro_batch_size_per_gpu",),
    "accumulation": ("gradient_accumulation_steps",),
    "offload_optimizer": ("zero_config.offload_optimizer.device",),
    "offload_param": ("zero_config.offload_param.device",),
}

ENGINE_FACTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "optimizer": lambda engine: type(getattr(engine, "basic_optimizer", None) or engine.optimizer).__name__,
    "zero_optimizer": lambda engine: type(engine.optimizer).__name__,
    "scheduler": lambda engine: type(engine.lr_scheduler).__name__,
    "dtype": lambda engine: str(next(engine.module.parameters()).dtype).removeprefix("torch."),
    "loss_scale": lambda engine: getattr(engine.optimizer, "cur_scale", None) or engine.loss_scale(),
    "skipped": lambda engine: engine.skipped_steps,
    "lr": lambda engine: engine.get_lr()[0],
}


def read(names: Iterable[str], config: Any, engine: Any = None) -> dict[str, Any]:
    """The facts by name. A name that is in no table is a dotted attribute of the config, `engine.` or `optimizer.`."""
    return {name: plain(one(name, config, engine)) for name in names}


def one(name: str, config: Any, engine: Any) -> Any:
    if name in ENGINE_FACTS:
        return None if engine is None else ENGINE_FACTS[name](engine)
    if name.startswith("optimizer."):
        return None if engine is None else attribute(engine.optimizer, name.partition(".")[2])
    if name.startswith("engine."):
        return None if engine is None else attribute(engine, name.partition(".")[2])
    for path in CONFIG_FACTS.get(name, (name,)):
        value = attribute(config, path)
        if value is not MISSING:
            return value
    return None


MISSING: Final = object()


def attribute(holder: Any, path: str) -> Any:
    """A dotted attribute; None where something on the way is None, MISSING where there is no such attribute."""
    for part in path.split("."):
        if holder is None:
            return None
        if not hasattr(holder, part):
            return MISSING
        holder = getattr(holder, part)
    return holder


def plain(value: Any) -> Any:
    """A value as JSON has it: an enum by its value, what JSON has no form for by its text."""
    value = getattr(value, "value", value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)
