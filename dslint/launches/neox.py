"""GPT-NeoX's dialect: one file with the model, the data, and DeepSpeed's keys among its own.

Its loader (megatron/neox_arguments) sorts the keys, fills what is missing, and hands DeepSpeed a config of
its own making, most often to DeeperSpeed, a fork at an older release. Nothing in the file is DeepSpeed's as
it stands, so none of it is checked; it is enough not to take such a file for a plain config.
"""

from __future__ import annotations

from typing import Final

from dslint.documents.tree import Document, Node

# Keys that GPT-NeoX alone has, in its two spellings made one.
OWN: Final = frozenset(
    {
        *("pipe_parallel_size", "model_parallel_size", "num_layers", "num_attention_heads", "seq_length"),
        *("max_position_embeddings", "norm", "pos_emb", "rotary_pct", "no_weight_tying", "gpt_j_residual"),
        *("output_layer_parallelism", "scaled_upper_triang_masked_softmax_fusion", "bias_gelu_fusion"),
        *("init_method", "output_layer_init_method", "min_lr", "data_impl", "checkpoint_activations"),
        *(
            "checkpoint_num_layers",
            "synchronize_each_layer",
            "hidden_dropout",
            "attention_dropout",
            "train_iters",
        ),
        *("lr_decay_iters", "lr_decay_style", "distributed_backend", "checkpoint_factor", "save_interval"),
        *(
            "keep_last_n_checkpoints",
            "log_interval",
            "tokenizer_type",
            "vocab_file",
            "data_path",
            "train_data_paths",
        ),
    }
)
ENOUGH: Final = 4


def is_neox(root: Node) -> bool:
    """Is this tree, of YAML or JSON, GPT-NeoX's? By how many of its own keys it has."""
    if root.kind != "object":
        return False
    return len(OWN & {member.key.replace("-", "_") for member in root.members}) >= ENOUGH


def neox_document(document: Document) -> Document | None:
    """The document in the dialect "neox", or None when it is something else."""
    return document._replace(dialect="neox") if is_neox(document.root) else None
