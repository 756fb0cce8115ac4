"""The DeepSpeed config that Lightning makes of a strategy's arguments and the Trainer's.

As `DeepSpeedStrategy._create_default_config`, `_format_config` and `_format_precision_config` build it; the
same from pytorch_lightning 1.9 to lightning 2.6. The strategy's own defaults are part of it.
"""

from __future__ import annotations

from typing import Any, Final

from dslint.documents.python import Call, Given
from dslint.documents.tree import UNKNOWN, Document, Node, Source
from dslint.launches.programs_making import Maker

DEFAULTS: Final[dict[str, Any]] = {
    "zero_optimization": True,
    "stage": 2,
    "offload_optimizer": False,
    "offload_parameters": False,
    "offload_params_device": "cpu",
    "nvme_path": "/local_nvme",
    "params_buffer_count": 5,
    "params_buffer_size": 100_000_000,
    "max_in_cpu": 1_000_000_000,
    "offload_optimizer_device": "cpu",
    "optimizer_buffer_count": 4,
    "block_size": 1048576,
    "queue_depth": 8,
    "single_submit": False,
    "overlap_events": True,
    "thread_count": 1,
    "pin_memory": False,
    "sub_group_size": 1_000_000_000_000,
    "contiguous_gradients": True,
    "overlap_comm": True,
    "allgather_partitions": True,
    "reduce_scatter": True,
    "allgather_bucket_size": 200_000_000,
    "reduce_bucket_size": 200_000_000,
    "zero_allow_untested_optimizer": True,
    "loss_scale": 0,
    "initial_scale_power": 16,
    "loss_scale_window": 1000,
    "hysteresis": 2,
    "min_loss_scale": 1,
    "partition_activations": False,
    "cpu_checkpointing": False,
    "contiguous_memory_optimization": False,
    "synchronize_checkpoint_boundary": False,
}
# The strategies that have names, and what these stand for.
NAMED: Final[dict[str, dict[str, Any]]] = {
    "deepspeed": {},
    "deepspeed_stage_1": {"stage": 1},
    "deepspeed_stage_2": {"stage": 2},
    "deepspeed_stage_2_offload": {"stage": 2, "offload_optimizer": True},
    "deepspeed_stage_3": {"stage": 3},
    "deepspeed_stage_3_offload": {"stage": 3, "offload_optimizer": True, "offload_parameters": True},
    "deepspeed_stage_3_offload_nvme": {
        "stage": 3,
        "offload_optimizer": True,
        "offload_parameters": True,
        "offload_params_device": "nvme",
        "offload_optimizer_device": "nvme",
    },
}
ZERO_KEYS: Final = (
    "stage",
    "contiguous_gradients",
    "overlap_comm",
    "allgather_partitions",
    "reduce_scatter",
    "allgather_bucket_size",
    "reduce_bucket_size",
    "sub_group_size",
)
ACTIVATION_KEYS: Final = (
    "partition_activations",
    "cpu_checkpointing",
    "contiguous_memory_optimization",
    "synchronize_checkpoint_boundary",
)
AIO_KEYS: Final = ("block_size", "queue_depth", "single_submit", "overlap_events", "thread_count")
SCALE_KEYS: Final = ("loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale")
FP16: Final = frozenset({16, "16", "16-mixed", "16-true"})
BF16: Final = frozenset({"bf16", "bf16-mixed", "bf16-true"})


# Defaults that only tune: what is said of them is of no use to somebody who did not write them.
TUNING: Final = frozenset(
    {
        *ACTIVATION_KEYS,
        *AIO_KEYS,
        *SCALE_KEYS,
        *ZERO_KEYS,
        "optimizer_buffer_count",
        "params_buffer_count",
        "params_buffer_size",
        "max_in_cpu",
        "pin_memory",
    }
) - {"stage", "overlap_comm", "contiguous_gradients"}


class Settings:
    """A strategy's arguments: given, meant by its name, or defaults."""

    __slots__ = ("_complete", "_fixed", "_whole", "make")

    def __init__(self, make: Maker, fixed: dict[str, Any], complete: bool, whole: bool) -> None:
        self.make = make
        self._fixed = fixed
        self._complete = complete
        self._whole = whole

    def is_shown(self, name: str) -> bool:
        return self._whole or name not in TUNING or self.make.is_given(name)

    def object(
        self, *parts: tuple[str, str], near: str | None = None, head: tuple[str, Node] | None = None
    ) -> Node:
        """An object of settings, each a key and the setting's name; open where some are left out."""
        shown = [(key, self.node(name)) for key, name in parts if self.is_shown(name)]
        node = self.make.object(*([head] if head is not None else []), *shown, near=near)
        node.open = len(shown) < len(parts)
        return node

    def value(self, name: str) -> Any:
        default = self._fixed.get(name, DEFAULTS[name]) if self._complete else UNKNOWN
        return self.make.value(name, default)

    def node(self, name: str) -> Node:
        return self.make.scalar(self.value(name), name)


def same_names(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


def lightning_config(
    source: Source, strategy: Call | None, trainer: Call | None, whole: bool = False
) -> Document:
    """The derived config of a strategy without a config of its own.

    `strategy` is None where the Trainer names it; `trainer` is None where no Trainer is seen to take the strategy.
    Defaults that only tune are left out, and the objects that they are in are open, unless the `whole` is asked for.
    """
    if strategy is not None:
        make = Maker(strategy.arguments, strategy.callee_start, strategy.callee_end)
        settings = Settings(make, {}, strategy.complete, whole)
    else:
        assert trainer is not None
        named = trainer.arguments["strategy"]
        make = Maker({}, named.start, named.end)
        settings = Settings(make, NAMED.get(named.value, {}), named.value in NAMED, whole)
    root = make.object()
    add_micro_batch(settings, root, strategy, trainer)
    add_zero(settings, root)
    add_shown(make, root, "activation_checkpointing", settings.object(*same_names(ACTIVATION_KEYS)))
    add_shown(make, root, "aio", settings.object(*same_names(AIO_KEYS)))
    if trainer is None:
        root.open = True
    else:
        if trainer.name == "lightning.Trainer":
            add_trainer(make, root, trainer)
        add_precision(settings, root, trainer)
    return Document(source, root, "python", derived=True)


def add_shown(make: Maker, root: Node, key: str, node: Node) -> None:
    if node.members:
        make.add(root, key, node)
    else:
        root.open = True


def add_micro_batch(settings: Settings, root: Node, strategy: Call | None, trainer: Call | None) -> None:
    """Given, or asked of the data; Fabric, which doesn't see the data, sets 1."""
    make = settings.make
    given = strategy.arguments.get("logging_batch_size_per_gpu") if strategy is not None else None
    if given is not None and given.value not in ("auto", None):
        make.add(
            root, "train_micro_batch_size_per_gpu", make.scalar(given.value, "logging_batch_size_per_gpu")
        )
    elif given is None and trainer is not None and trainer.name == "lightning.Fabric":
        complete = strategy is None or strategy.complete
        make.add(root, "train_micro_batch_size_per_gpu", make.scalar(1) if complete else make.unknown())
    else:
        make.add(root, "train_micro_batch_size_per_gpu", make.unknown())


def add_zero(settings: Settings, root: Node) -> None:
    make = settings.make
    on = settings.value("zero_optimization")
    if on is UNKNOWN:
        make.add(root, "zero_allow_untested_optimizer", make.unknown())
        make.add(root, "zero_optimization", make.unknown())
        return
    if not on:
        return
    make.add(root, "zero_allow_untested_optimizer", settings.node("zero_allow_untested_optimizer"))
    zero = settings.object(*same_names(ZERO_KEYS))
    if wanted(settings.value("offload_optimizer")):
        block = settings.object(
            ("device", "offload_optimizer_device"),
            ("nvme_path", "nvme_path"),
            ("buffer_count", "optimizer_buffer_count"),
            ("pin_memory", "pin_memory"),
            near="offload_optimizer",
        )
        make.add(zero, "offload_optimizer", certain(settings, "offload_optimizer", block))
    if wanted(settings.value("offload_parameters")):
        block = settings.object(
            ("device", "offload_params_device"),
            ("nvme_path", "nvme_path"),
            ("buffer_count", "params_buffer_count"),
            ("buffer_size", "params_buffer_size"),
            ("max_in_cpu", "max_in_cpu"),
            ("pin_memory", "pin_memory"),
            near="offload_parameters",
        )
        make.add(zero, "offload_param", certain(settings, "offload_parameters", block))
    make.add(root, "zero_optimization", zero)


def wanted(value: Any) -> bool:
    return value is UNKNOWN or bool(value)


def certain(settings: Settings, switch: str, block: Node) -> Node:
    """The block, where its switch is known to be on."""
    return settings.make.unknown(switch) if settings.value(switch) is UNKNOWN else block


def add_trainer(make: Maker, root: Node, trainer: Call) -> None:
    """What the Trainer puts in; a config of one's own keeps its clipping, and may not name the
    accumulation.
    """
    steps = from_trainer(trainer, "accumulate_grad_batches", 1)
    make.add(root, "gradient_accumulation_steps", at(make, trainer, "accumulate_grad_batches", steps))
    clip = from_trainer(trainer, "gradient_clip_val", 0.0)
    value = clip if clip is UNKNOWN else clip or 0.0
    make.add(root, "gradient_clipping", at(make, trainer, "gradient_clip_val", value))


def add_precision(settings: Settings, root: Node, trainer: Call) -> None:
    make = settings.make
    precision = from_trainer(trainer, "precision", "32-true")
    if precision is UNKNOWN or isinstance(precision, list | dict) or "plugins" in trainer.arguments:
        make.add(root, "fp16", make.unknown())
        make.add(root, "bf16", make.unknown())
    elif precision in FP16:
        switch = ("enabled", at(make, trainer, "precision", True))
        block = settings.object(*same_names(SCALE_KEYS), head=switch)
        block.start, block.end = span_of(trainer, "precision")
        make.add(root, "fp16", block)
    elif precision in BF16:
        switch = ("enabled", at(make, trainer, "precision", True))
        make.add(root, "bf16", make.object(switch, span=span_of(trainer, "precision")))


def from_trainer(trainer: Call, name: str, default: Any) -> Any:
    given = trainer.arguments.get(name)
    if given is None:
        return default if trainer.complete else UNKNOWN
    return default if given.value is None else given.value


def at(make: Maker, trainer: Call, name: str, value: Any) -> Node:
    return make.scalar(value, span=span_of(trainer, name))


def span_of(trainer: Call, name: str) -> tuple[int, int]:
    given: Given | None = trainer.arguments.get(name)
    return (given.start, given.end) if given is not None else (trainer.callee_start, trainer.callee_end)


def lightning_world_size(trainer: Call) -> int | None:
    """devices × num_nodes, where both are plain numbers; "auto" and -1 are as many as there are."""
    devices, nodes = from_trainer(trainer, "devices", "auto"), from_trainer(trainer, "num_nodes", 1)
    if isinstance(devices, list):
        devices = len(devices)
    if isinstance(devices, str) and devices.isdecimal():
        devices = int(devices)
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1 or not isinstance(nodes, int):
        return None
    return devices * nodes
