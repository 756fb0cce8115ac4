"""The callables that matter for a launch: under which names they come, and what their first parameters are
called.
"""

from __future__ import annotations

from typing import Final

# The first name of a dotted one → the library, as the tables below call it.
LIBRARIES: Final[dict[str, str]] = {
    "deepspeed": "deepspeed",
    "transformers": "transformers",
    "trl": "trl",
    "accelerate": "accelerate",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "lightning_fabric": "lightning",
    "peft": "peft",
    "sentence_transformers": "sentence_transformers",
    "argparse": "argparse",
}

# trl's configurations that are TrainingArguments. PPOConfig is one since trl 0.12; before, a class of its
# own.
# fmt: off
TRL_METHODS: Final = (
    "SFT", "DPO", "GRPO", "KTO", "ORPO", "PPO", "PPOv2", "Reward", "CPO", "RLOO", "OnlineDPO", "NashMD",
    "XPO", "GKD", "BCO", "PRM", "IterativeSFT", "Distillation", "SDPO", "GOLD", "TPO", "GMPO", "SDFT", "GFPO",
    "PAPO",
)
# fmt: on
TRL_CONFIGS: Final = frozenset(f"{method}Config" for method in TRL_METHODS)
TRL_TRAINERS: Final = frozenset(f"{method}Trainer" for method in TRL_METHODS)

# library → last name → the family that a call counts as.
KNOWN: Final[dict[str, dict[str, str]]] = {
    "deepspeed": {
        "initialize": "deepspeed.initialize",
        "init_inference": "deepspeed.init_inference",
        "init_distributed": "deepspeed.init_distributed",
        "Init": "deepspeed.zero.Init",
        "add_config_arguments": "deepspeed.add_config_arguments",
        "add_tuning_arguments": "deepspeed.add_tuning_arguments",
    },
    "transformers": {
        "TrainingArguments": "transformers.TrainingArguments",
        "Seq2SeqTrainingArguments": "transformers.TrainingArguments",
        "HfArgumentParser": "transformers.HfArgumentParser",
        "HfDeepSpeedConfig": "transformers.HfDeepSpeedConfig",
        "HfTrainerDeepSpeedConfig": "transformers.HfDeepSpeedConfig",
        "BitsAndBytesConfig": "transformers.BitsAndBytesConfig",
        "Trainer": "transformers.Trainer",
        "Seq2SeqTrainer": "transformers.Trainer",
    },
    "trl": {
        **dict.fromkeys(TRL_CONFIGS, "transformers.TrainingArguments"),
        **dict.fromkeys(TRL_TRAINERS, "transformers.Trainer"),
        "TrlParser": "transformers.HfArgumentParser",
    },
    "sentence_transformers": {
        "SentenceTransformerTrainingArguments": "transformers.TrainingArguments",
        "CrossEncoderTrainingArguments": "transformers.TrainingArguments",
        "SparseEncoderTrainingArguments": "transformers.TrainingArguments",
        "SentenceTransformerTrainer": "transformers.Trainer",
        "CrossEncoderTrainer": "transformers.Trainer",
        "SparseEncoderTrainer": "transformers.Trainer",
    },
    "accelerate": {
        "Accelerator": "accelerate.Accelerator",
        "DeepSpeedPlugin": "accelerate.DeepSpeedPlugin",
        "HfDeepSpeedConfig": "transformers.HfDeepSpeedConfig",
    },
    "lightning": {
        "Trainer": "lightning.Trainer",
        "Fabric": "lightning.Fabric",
        "DeepSpeedStrategy": "lightning.DeepSpeedStrategy",
        "DeepSpeedPlugin": "lightning.DeepSpeedStrategy",  # its name before 1.6
    },
    "peft": {
        "get_peft_model": "peft.get_peft_model",
        "LoraConfig": "peft.LoraConfig",
        "prepare_model_for_kbit_training": "peft.prepare_model_for_kbit_training",
    },
    "argparse": {"ArgumentParser": "argparse.ArgumentParser"},
}

# Names that are telling enough to count when a `from library import *` may have brought them.
LIBRARIES_BY_STAR: Final = frozenset({"deepspeed", "transformers", "trl", "accelerate", "lightning"})

# The names of the parameters that are given by place; beyond them a call is not complete.
PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "deepspeed.initialize": (
        "args",
        "model",
        "optimizer",
        "model_parameters",
        "training_data",
        "lr_scheduler",
    ),
    "deepspeed.init_inference": ("model", "config"),
    "deepspeed.init_distributed": ("dist_backend",),
    "deepspeed.zero.Init": ("module",),
    "deepspeed.add_config_arguments": ("parser",),
    "deepspeed.add_tuning_arguments": ("parser",),
    "transformers.TrainingArguments": ("output_dir",),
    "transformers.HfArgumentParser": ("dataclass_types",),
    "transformers.HfDeepSpeedConfig": ("config_file_or_dict",),
    "transformers.BitsAndBytesConfig": ("load_in_8bit", "load_in_4bit"),
    "transformers.Trainer": ("model", "args"),
    "accelerate.Accelerator": ("device_placement", "split_batches"),
    "accelerate.DeepSpeedPlugin": (
        "hf_ds_config",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "zero_stage",
        "is_train_batch_min",
        "offload_optimizer_device",
        "offload_param_device",
    ),
    "lightning.DeepSpeedStrategy": ("accelerator", "zero_optimization", "stage"),
    "lightning.Fabric": ("accelerator", "strategy", "devices", "num_nodes", "precision"),
    "transformers.from_pretrained": ("pretrained_model_name_or_path",),
}

# The parameters that take a DeepSpeed config: a dict or a path.
CONFIG_PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "deepspeed.initialize": ("config", "config_params"),
    "deepspeed.zero.Init": ("config_dict_or_path", "config"),
    "transformers.TrainingArguments": ("deepspeed",),
    "transformers.HfDeepSpeedConfig": ("config_file_or_dict",),
    "accelerate.DeepSpeedPlugin": ("hf_ds_config",),
    "lightning.DeepSpeedStrategy": ("config",),
}

# Methods that matter on a Trainer.
TRAINER_METHODS: Final = frozenset({"train", "predict", "evaluate", "save_model"})
# How a dataclass parser is asked, → where its values come from.
PARSING_METHODS: Final[dict[str, str]] = {
    "parse_args_into_dataclasses": "command line",
    "parse_args": "command line",
    "parse_known_args": "command line",
    "parse_args_and_config": "command line or file",
    "parse_json_file": "file",
    "parse_yaml_file": "file",
    "parse_dict": "program",
}


def family(dotted: str) -> str:
    """The family that a dotted name belongs to: "transformers.training_args.TrainingArguments" →
    "transformers.TrainingArguments"; "" for any other name."""
    library, _, rest = dotted.partition(".")
    known = KNOWN.get(LIBRARIES.get(library, ""))
    if not known or not rest:
        return ""
    found = known.get(rest.rpartition(".")[2], "")
    if found == "deepspeed.zero.Init" and ".zero." not in dotted:
        return ""
    if found == "deepspeed.initialize" and rest not in ("initialize", "runtime.initialize"):
        return ""
    return found
