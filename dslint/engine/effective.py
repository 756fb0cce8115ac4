"""What a config really came to: read off the engine once it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslint.engine import facts


def effective(engine: Any) -> dict[str, Any]:
    """Facts by name; one that this release has no word for is left out."""
    asked: dict[str, Callable[[], Any]] = {
        "precision": lambda: precision(engine),
        "parameters": lambda: sorted({short(parameter.dtype) for parameter in engine.module.parameters()}),
        "accumulation_dtype": lambda: short(engine.get_data_types()[1]),
        "communication_dtype": lambda: short(engine.communication_data_type),
        "clip": engine.gradient_clipping,
        "stage": engine.zero_optimization_stage,
        "batch": lambda: {
            "train": engine.train_batch_size(),
            "micro": engine.train_micro_batch_size_per_gpu(),
            "accumulation": engine.gradient_accumulation_steps(),
            "processes": engine.world_size,
        },
        "scheduler": lambda: name_of(engine.lr_scheduler),
    }
    found = facts.read(("offload_optimizer", "offload_param"), engine._config, engine)
    found |= optimizers(engine)
    for name, ask in asked.items():
        try:
            found[name] = plain(ask())
        except (AttributeError, IndexError, TypeError, KeyError):
            continue
    return found


def precision(engine: Any) -> str:
    kind = "fp16" if engine.fp16_enabled() else "bf16" if engine.bfloat16_enabled() else "fp32"
    autocast = getattr(engine, "torch_autocast_enabled", None)
    if callable(autocast) and autocast():
        return f"{kind}, torch autocast to {short(engine.torch_autocast_dtype())}"
    return kind


def optimizers(engine: Any) -> dict[str, Any]:
    """The optimizer that updates, and DeepSpeed's own around it when there is one."""
    outer = engine.optimizer
    inner = getattr(engine, "basic_optimizer", None) or outer
    return {"optimizer": name_of(inner), "wrapper": None if outer is inner else name_of(outer)}


def name_of(thing: Any) -> str | None:
    return None if thing is None else type(thing).__name__


def short(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def plain(value: Any) -> Any:
    """`facts.plain`, into dicts too."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return facts.plain(value)
