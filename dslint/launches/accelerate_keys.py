"""What each Accelerate release reads of its configuration file: keys, values, and what it does with them.

Read from accelerate 0.12 to 1.15 (`commands/config/config_args.py`, `commands/launch.py`, `utils/launch.py`,
`utils/dataclasses.py`), and held against the real releases by tests.
"""

from __future__ import annotations

from typing import Final, NamedTuple

Version = tuple[int, ...]

NEWEST: Final[Version] = (1, 15, 0)
ALWAYS: Final[Version] = (0,)


class Span(NamedTuple):
    """From `since` on, and before `until`."""

    since: Version = ALWAYS
    until: Version | None = None

    def holds(self, version: Version) -> bool:
        return version >= self.since and (self.until is None or version < self.until)


# Every release of the class `ClusterConfig` reads these; another key stops the launch.
TOP_KEYS: Final[dict[str, Span]] = {
    **dict.fromkeys(
        (
            *("compute_environment", "distributed_type", "mixed_precision", "use_cpu", "num_processes"),
            *(
                "machine_rank",
                "num_machines",
                "main_process_ip",
                "main_process_port",
                "main_training_function",
            ),
            *("deepspeed_config", "fsdp_config", "downcast_bf16", "fp16"),
        ),
        Span(),
    ),
    "gpu_ids": Span((0, 13)),
    "rdzv_backend": Span((0, 13)),
    "same_network": Span((0, 13)),
    "megatron_lm_config": Span((0, 14)),
    "tpu_name": Span((0, 14)),
    "tpu_zone": Span((0, 14)),
    "command_file": Span((0, 14)),
    "commands": Span((0, 14)),
    "dynamo_backend": Span((0, 15)),
    "dynamo_config": Span((0, 17)),
    "tpu_use_cluster": Span((0, 17)),
    "tpu_use_sudo": Span((0, 17)),
    "tpu_vm": Span((0, 17)),
    "tpu_env": Span((0, 17)),
    "ipex_config": Span((0, 19), (1, 13)),
    "debug": Span((0, 22)),
    "mpirun_config": Span((0, 28)),
    "enable_cpu_affinity": Span((0, 29)),
    "fp8_config": Span((0, 34)),
    "tp_config": Span((1, 4), (1, 7)),
    "parallelism_config": Span((1, 10)),
}

# `DistributedType`; another value stops the launch.
DISTRIBUTED_TYPES: Final[dict[str, Span]] = {
    **dict.fromkeys(("NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP"), Span()),
    "TPU": Span(until=(0, 28)),
    "MPS": Span(until=(0, 20)),
    "MEGATRON_LM": Span((0, 14)),
    "MULTI_XPU": Span((0, 20)),
    "MULTI_NPU": Span((0, 21)),
    "XLA": Span((0, 28)),
    "MULTI_MLU": Span((0, 29)),
    "MULTI_MUSA": Span((0, 33)),
    "TP": Span((1, 4), (1, 10)),
    "MULTI_SDAA": Span((1, 5)),
    "MULTI_HPU": Span((1, 5)),
    "MULTI_NEURON": Span((1, 13)),
}

PRECISIONS: Final = ("no", "fp16", "bf16", "fp8")

# `deepspeed_multinode_launcher`: `standard` is torchrun on every machine, the others are the deepspeed command's, which
# takes any case of theirs; `standard` it does not know.
LAUNCHERS: Final[dict[str, Span]] = {
    **dict.fromkeys(("pdsh", "standard", "openmpi", "mvapich", "mpich", "slurm", "impi"), Span()),
    "nossh": Span((1, 6)),
}

# Keys of `deepspeed_config` that make the DeepSpeed config, with what they become in it.
DERIVED: Final[dict[str, str]] = {
    "gradient_accumulation_steps": "/gradient_accumulation_steps",
    "gradient_clipping": "/gradient_clipping",
    "zero_stage": "/zero_optimization/stage",
    "offload_optimizer_device": "/zero_optimization/offload_optimizer/device",
    "offload_param_device": "/zero_optimization/offload_param/device",
    "offload_optimizer_nvme_path": "/zero_optimization/offload_optimizer/nvme_path",
    "offload_param_nvme_path": "/zero_optimization/offload_param/nvme_path",
    "zero3_save_16bit_model": "/zero_optimization/stage3_gather_16bit_weights_on_model_save",
}
# The launcher passes none of these on: the DeepSpeed config gets the path "none" (all releases to 1.15).
NOT_PASSED_ON: Final = ("offload_optimizer_nvme_path", "offload_param_nvme_path")

# Keys of `deepspeed_config` that say how to launch.
LAUNCHING: Final = (
    "deepspeed_config_file",
    "zero3_init_flag",
    "deepspeed_multinode_launcher",
    "deepspeed_hostfile",
    "deepspeed_inclusion_filter",
    "deepspeed_exclusion_filter",
    "deepspeed_moe_layer_cls_names",
)
MOE_SINCE: Final[Version] = (0, 30)

# When values came to be read as they are.
AUTO_STEPS_SINCE: Final[Version] = (0, 23)
"""`gradient_accumulation_steps: auto`, and "auto" where it is not given: 1 before."""
AUTO_CLIPPING_SINCE: Final[Version] = (0, 30)
"""`gradient_clipping: auto`, and "auto" where it is not given: no such key before, and "none" was taken."""
BOOLEAN_PRECISION_REFUSED_SINCE: Final[Version] = (0, 34)
"""`mixed_precision: no` is false to YAML; it counted as "no" before."""
DEFAULTS_SINCE: Final[Version] = (0, 34)
"""Keys that are not given have defaults; before, `num_processes` and others had to be there."""
FLAGS_WIN_SINCE: Final[Version] = (1, 5)
"""Flags of `accelerate launch` win over `deepspeed_config`; the file won before."""

# Beside a DeepSpeed config file any of these stops the run, whatever its value (`_deepspeed_config_checks`).
REFUSED_BESIDE_FILE: Final = frozenset({*DERIVED, "mixed_precision"})

# What Accelerate sets by itself: a key that says the same is left out without harm.
SET_ANYWAY: Final[dict[str, object]] = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "zero_allow_untested_optimizer": True,
}

# The Trainer and plain DeepSpeed would read these, Accelerate does not: what to write instead.
INSTEAD: Final[dict[str, str]] = {
    "bf16": "mixed_precision: bf16",
    "bfloat16": "mixed_precision: bf16",
    "bf16:enabled": "mixed_precision: bf16",
    "fp16": "mixed_precision: fp16",
    "fp16:enabled": "mixed_precision: fp16",
    "stage": "zero_stage",
    "stage3_gather_16bit_weights_on_model_save": "zero3_save_16bit_model",
    "stage3_gather_fp16_weights_on_model_save": "zero3_save_16bit_model",
    "config_file": "deepspeed_config_file",
    "hostfile": "deepspeed_hostfile",
}

# A key of `deepspeed_config` with the name of any argument of `accelerate launch` becomes that argument.
LAUNCH_ARGUMENTS: Final = frozenset(
    {
        *("aws_access_key_id", "aws_secret_access_key", "config_file", "cpu", "debug", "downcast_bf16"),
        *("dynamo_backend", "dynamo_mode", "dynamo_use_dynamic", "dynamo_use_fullgraph"),
        *("dynamo_use_regional_compilation", "enable_cpu_affinity", "env", "gpu_ids", "ipex", "log_dir"),
        *("machine_rank", "main_process_ip", "main_process_port", "main_training_function", "max_restarts"),
        *("mixed_precision", "module", "monitor_interval", "mpirun_ccl", "mpirun_hostfile", "multi_gpu"),
        *(
            "no_python",
            "num_cpu_threads_per_process",
            "num_machines",
            "num_processes",
            "quiet",
            "rdzv_backend",
        ),
        *("rdzv_conf", "role", "same_network", "tee", "tp_size", "tpu", "tpu_cluster", "tpu_use_cluster"),
        *(
            "tpu_use_sudo",
            "use_cpu",
            "use_deepspeed",
            "use_fsdp",
            "use_megatron_lm",
            "use_parallelism_config",
        ),
        *("use_tp", "use_xpu", "vm"),
    }
)
LAUNCH_ARGUMENT_GROUPS: Final = ("fsdp_", "megatron_lm_", "fp8_", "parallelism_config_")
