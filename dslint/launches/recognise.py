"""Is this JSON a DeepSpeed config? By what it holds first, by its name where that tells nothing."""

from __future__ import annotations

import os
import re
from typing import Final

from dslint.documents.tree import Document, Node

# Keys that nothing but a DeepSpeed config has at its top.
TELLING: Final = frozenset(
    {
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer",
        "wall_clock_breakdown",
        "steps_per_print",
        "activation_checkpointing",
        "flops_profiler",
        "comms_logger",
        "communication_data_type",
        "prescale_gradients",
        "gradient_predivide_factor",
        "sparse_gradients",
        "fp32_allreduce",
        "hybrid_engine",
        "data_efficiency",
        "compression_training",
        "curriculum_learning",
        "progressive_layer_drop",
        "quantize_training",
        "bfloat16",
        "torch_autocast",
    }
)
# Keys that tell when they hold a block with a switch.
SWITCHED: Final = frozenset({"tensorboard", "csv_monitor", "amp", "aio", "compile"})
# Keys that other programs have too; three of them, or one beside a block of the right shape, tell.
COMMON: Final = frozenset(
    {
        "train_batch_size",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "optimizer",
        "scheduler",
        "fp16",
        "bf16",
        "data_types",
        "checkpoint",
        "elasticity",
        "autotuning",
        "wandb",
        "pipeline",
        "dump_state",
        "memory_breakdown",
        "dataloader_drop_last",
    }
)
# What the names of DeepSpeed's files hold; compiled when a name is asked, which most files' content spares.
NAMED: Final = r"(?i)(^|[^a-z])(ds|deepspeed|zero)([^a-z]|$)|deepspeed|ds_?config|zero_?(stage)?_?[0-3]"
# A quick look that spares parsing the many JSON files of a repository that are something else.
HINTS: Final = (
    *("zero_", "micro_batch", "train_batch_size", "gradient_", "fp16", "bf16", "bfloat16", "steps_per_print"),
    *("wall_clock", "activation_checkpointing", "flops_profiler", "optimizer", "scheduler", "elasticity"),
    *("autotuning", "compression", "aio", "amp", "deepspeed"),
)


def may_be_config(path: str, text: str) -> bool:
    """The quick look: could this text be a DeepSpeed config?"""
    return any(hint in text for hint in HINTS) or is_named(path)


def is_named(path: str) -> bool:
    return re.search(NAMED, os.path.basename(path)) is not None


def is_config(document: Document) -> bool:
    """Is this a DeepSpeed config? Foreign files must be left alone, so a doubt means no."""
    root = document.root
    if root.kind != "object":
        return is_named(document.source.path)
    keys = {member.key for member in root.members}
    if keys & FOREIGN:
        return False
    telling = sum(is_telling(member.key, member.node) for member in root.members)
    common = sum(member.key in COMMON for member in root.members)
    if telling or common >= 3:
        return True
    if common and any(has_shape(member.key, member.node) for member in root.members):
        return True
    return bool(common or not keys) and is_named(document.source.path)


# Keys of files that share words with DeepSpeed's: models, trainer states, packages, other trainers' arguments.
FOREIGN: Final = frozenset(
    {
        "architectures",
        "model_type",
        "per_device_train_batch_size",
        "log_history",
        "dependencies",
        "devDependencies",
    }
)


def is_telling(key: str, node: Node) -> bool:
    return key in TELLING or (key in SWITCHED and node.get("enabled") is not None)


def has_shape(key: str, node: Node) -> bool:
    """A block as DeepSpeed alone writes it: `fp16: {enabled: …}`, `optimizer: {type: Adam, params: {…}}`."""
    if key in ("fp16", "bf16"):
        return node.kind == "object" and node.get("enabled") is not None
    if key in ("optimizer", "scheduler"):
        return node.get("type") is not None and node.get("params") is not None
    if key in ("train_batch_size", "gradient_accumulation_steps"):
        return node.kind == "string" and str(node.value) == "auto"
    return False
