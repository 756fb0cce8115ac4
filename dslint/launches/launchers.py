"""The programs that start programs, with their own options: launchers of ranks, and wrappers that only pass on.

The options are those of the launchers' own parsers: deepspeed/launcher/runner.py of 0.11.2 to 0.19.8, torch/distributed/run.py
of 2.13, accelerate/commands/launch.py of 1.15, composer's cli/launcher.py; for srun, mpirun and containers, those that are
met in training scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

# What stands behind a launcher's options: a Python script (or a module, or any program, as its options say), any command,
# or the arguments of a tool that trains by itself.
Follows = Literal["script", "command", "arguments"]


class Table(NamedTuple):
    """A launcher's options as it spells them.

    - values: options with one value, by the name that code asks for; pairs: those with two values.
    - flags: options without a value.
    - abbreviated: an unambiguous beginning of a long option will do, as argparse has it.
    - lenient: an option that is not in the table is taken for one without a value, or with it behind `=`.
    """

    follows: Follows
    values: Mapping[str, str]
    flags: Mapping[str, str]
    pairs: Mapping[str, str] = {}
    abbreviated: bool = False
    lenient: bool = False


def spelled(*names: str) -> dict[str, str]:
    """Options that are asked for by their own name: `--num_gpus` → num_gpus."""
    return {name: name.lstrip("-").replace("-", "_") for name in names}


def both(*names: str) -> dict[str, str]:
    """Options that may be spelled with `-` or `_` between their words."""
    found: dict[str, str] = {}
    for name in names:
        found[f"--{name}"] = found["--" + name.replace("_", "-")] = name
    return found


DEEPSPEED: Final = Table(
    "script",
    {
        **spelled(
            "--hostfile",
            "--include",
            "--exclude",
            "--num_nodes",
            "--num_gpus",
            "--master_port",
            "--master_addr",
            "--node_rank",
            "--launcher",
            "--launcher_args",
            "--enable_each_rank_log",
            "--autotuning",
            "--bind_core_list",
            "--ssh_port",
            "--venv_script",
            "--log_level",
            "--min_elastic_nodes",
            "--max_elastic_nodes",
        ),
        "-H": "hostfile",
        "-i": "include",
        "-e": "exclude",
        "--num_accelerators": "num_gpus",
    },
    {
        **spelled(
            "--module",
            "--no_python",
            "--no_local_rank",
            "--no_ssh",
            "--no_ssh_check",
            "--force_multi",
            "--save_pid",
            "--elastic_training",
            "--bind_cores_to_rank",
            "--quiet",
            "--help",
        ),
        "-q": "quiet",
        "-h": "help",
    },
    abbreviated=True,
)

TORCHRUN: Final = Table(
    "script",
    {
        **both(
            "nnodes",
            "nproc_per_node",
            "rdzv_backend",
            "rdzv_endpoint",
            "rdzv_id",
            "rdzv_conf",
            "max_restarts",
            "monitor_interval",
            "start_method",
            "event_log_handler",
            "role",
            "log_dir",
            "redirects",
            "tee",
            "local_ranks_filter",
            "duplicate_stdout_filters",
            "duplicate_stderr_filters",
            "node_rank",
            "master_addr",
            "master_port",
            "local_addr",
            "logs_specs",
            "numa_binding",
            "signals_to_handle",
            "shutdown_timeout",
        ),
        "-r": "redirects",
        "-t": "tee",
    },
    {
        **both("standalone", "module", "no_python", "run_path", "virtual_local_rank", "use_env", "help"),
        "-m": "module",
        "-h": "help",
    },
    abbreviated=True,
)

ACCELERATE: Final = Table(
    "script",
    {
        **both(
            "config_file",
            "mixed_precision",
            "num_processes",
            "num_machines",
            "num_cpu_threads_per_process",
            "dynamo_backend",
            "dynamo_mode",
            "gpu_ids",
            "machine_rank",
            "main_process_ip",
            "main_process_port",
            "tee",
            "log_dir",
            "role",
            "rdzv_backend",
            "rdzv_conf",
            "max_restarts",
            "monitor_interval",
            "vm",
            "env",
            "main_training_function",
            "deepspeed_config_file",
            "zero_stage",
            "offload_optimizer_device",
            "offload_param_device",
            "offload_optimizer_nvme_path",
            "offload_param_nvme_path",
            "gradient_accumulation_steps",
            "gradient_clipping",
            "zero3_init_flag",
            "zero3_save_16bit_model",
            "deepspeed_hostfile",
            "deepspeed_exclusion_filter",
            "deepspeed_inclusion_filter",
            "deepspeed_multinode_launcher",
            "deepspeed_moe_layer_cls_names",
            "fsdp_version",
            "fsdp_offload_params",
            "fsdp_min_num_params",
            "fsdp_sharding_strategy",
            "fsdp_reshard_after_forward",
            "fsdp_auto_wrap_policy",
            "fsdp_transformer_layer_cls_to_wrap",
            "fsdp_backward_prefetch",
            "fsdp_backward_prefetch_policy",
            "fsdp_state_dict_type",
            "fsdp_forward_prefetch",
            "fsdp_use_orig_params",
            "fsdp_cpu_ram_efficient_loading",
            "fsdp_sync_module_states",
            "fsdp_activation_checkpointing",
            "fsdp_activation_checkpointing_offload",
            "aws_access_key_id",
            "aws_secret_access_key",
            "mpirun_hostfile",
            "mpirun_ccl",
        ),
        "-t": "tee",
    },
    {
        **both(
            "quiet",
            "cpu",
            "multi_gpu",
            "tpu",
            "enable_cpu_affinity",
            "dynamo_use_fullgraph",
            "dynamo_use_dynamic",
            "dynamo_use_regional_compilation",
            "use_deepspeed",
            "use_fsdp",
            "use_parallelism_config",
            "use_megatron_lm",
            "same_network",
            "module",
            "no_python",
            "tpu_cluster",
            "no_tpu_cluster",
            "tpu_use_sudo",
            "downcast_bf16",
            "fp8_use_autocast_during_eval",
            "debug",
            "use_xpu",
            "ipex",
            "help",
        ),
        "-q": "quiet",
        "-m": "module",
        "-h": "help",
    },
)
# Options of families that no rule asks for: they take a value each.
ACCELERATE_FAMILIES: Final = ("--megatron", "--fp8", "--parallelism")

COMPOSER: Final = Table(
    "script",
    {
        **both(
            "nproc", "stdout", "stderr", "world_size", "base_rank", "node_rank", "master_addr", "master_port"
        ),
        "-n": "nproc",
    },
    {**both("verbose", "module_mode", "command_mode"), "-m": "module", "-c": "no_python", "-v": "verbose"},
    abbreviated=True,
)

PYTHON: Final = Table(
    "script",
    {"-W": "W", "-X": "X", "--check-hash-based-pycs": "check"},
    spelled(
        "-b", "-B", "-d", "-E", "-i", "-I", "-O", "-OO", "-P", "-q", "-s", "-S", "-u", "-v", "-x", "-m", "-c"
    ),
    lenient=True,
)

# srun: counts are read by the rules of sbatch; here are the options that take their value as the next word.
SRUN: Final = Table(
    "command",
    {
        **spelled(
            "--account",
            "--chdir",
            "--comment",
            "--constraint",
            "--container-image",
            "--container-mounts",
            "--container-name",
            "--container-workdir",
            "--container-env",
            "--cpu-bind",
            "--cpu_bind",
            "--cpus-per-gpu",
            "--cpus-per-task",
            "--dependency",
            "--distribution",
            "--error",
            "--exclude",
            "--export",
            "--gpu-bind",
            "--gpus",
            "--gpus-per-node",
            "--gpus-per-task",
            "--gres",
            "--gres-flags",
            "--hint",
            "--het-group",
            "--input",
            "--job-name",
            "--jobid",
            "--mem",
            "--mem-per-cpu",
            "--mem-per-gpu",
            "--mpi",
            "--network",
            "--nodelist",
            "--nodes",
            "--ntasks",
            "--ntasks-per-node",
            "--ntasks-per-gpu",
            "--ntasks-per-socket",
            "--open-mode",
            "--output",
            "--partition",
            "--qos",
            "--relative",
            "--reservation",
            "--signal",
            "--time",
            "--tres-per-task",
            "--wait",
        ),
        "-A": "account",
        "-C": "constraint",
        "-c": "cpus_per_task",
        "-D": "chdir",
        "-d": "dependency",
        "-e": "error",
        "-G": "gpus",
        "-i": "input",
        "-J": "job_name",
        "-m": "distribution",
        "-N": "nodes",
        "-n": "ntasks",
        "-o": "output",
        "-p": "partition",
        "-q": "qos",
        "-r": "relative",
        "-t": "time",
        "-w": "nodelist",
        "-W": "wait",
        "-x": "exclude",
    },
    {
        **spelled(
            "--label",
            "--unbuffered",
            "--kill-on-bad-exit",
            "--pty",
            "--verbose",
            "--quiet",
            "--overlap",
            "--exclusive",
            "--exact",
            "--whole",
            "--no-kill",
            "--preserve-env",
            "--multi-prog",
            "--overcommit",
            "--oversubscribe",
            "--contiguous",
            "--disable-status",
            "--no-container-mount-home",
            "--container-mount-home",
            "--container-writable",
            "--no-container-remap-root",
        ),
        **spelled("-l", "-u", "-K", "-v", "-Q", "-O", "-s", "-k", "-X", "-Z", "-E", "-H"),
    },
    lenient=True,
)

MPIRUN: Final = Table(
    "command",
    {
        "-n": "np",
        "-np": "np",
        "--np": "np",
        "-c": "np",
        "-H": "host",
        "-host": "host",
        "--host": "host",
        "-hosts": "host",
        "-f": "hostfile",
        "-hostfile": "hostfile",
        "--hostfile": "hostfile",
        "-machinefile": "hostfile",
        "--machinefile": "hostfile",
        "-ppn": "per_node",
        "--ppn": "per_node",
        "-npernode": "per_node",
        "--npernode": "per_node",
        "-N": "per_node",
        "-perhost": "per_node",
        "--num-proc": "np",
        **spelled(
            "-x", "--map-by", "-map-by", "--bind-to", "-bind-to", "--rank-by", "-wdir", "--wdir", "-prefix"
        ),
        **spelled(
            "--prefix", "-genvlist", "-envlist", "-bootstrap", "-launcher", "-iface", "--mca-base", "--output"
        ),
        **spelled("--rankfile", "-rf", "--report-bindings-to", "--start-timeout", "--network-interface"),
        "-p": "p",
    },
    spelled(
        "--allow-run-as-root",
        "--oversubscribe",
        "--tag-output",
        "-tag-output",
        "-v",
        "--report-bindings",
        "-l",
        "-q",
    ),
    {**spelled("-mca", "--mca", "-gmca", "--gmca", "-genv", "-env")},
    lenient=True,
)

JSRUN: Final = Table(
    "command",
    {
        "-n": "n",
        "--nrs": "n",
        "-r": "r",
        "-a": "a",
        "-g": "g",
        "-c": "c",
        "-b": "b",
        "-d": "d",
        "-l": "l",
        "-E": "E",
    },
    {},
    lenient=True,
)


# Wrappers: what they start is what counts.
def wrapper(values: str = "", flags: str = "", follows: Follows = "command") -> Table:
    return Table(follows, spelled(*values.split()), spelled(*flags.split()), lenient=True)


CONTAINER_VALUES: Final = (
    "--add-host --cap-add --cap-drop --cpus --cpuset-cpus --device --entrypoint --env -e --env-file --gpus --group-add "
    "--hostname -h --ipc --label -l --log-driver --log-opt --memory -m --memory-swap --mount --name --net --network "
    "--pid --platform --publish -p --pull --restart --runtime --security-opt --shm-size --stop-timeout --tmpfs --ulimit "
    "--user -u --userns --uts --volume -v --volumes-from --workdir -w --cgroupns --annotation --cidfile --dns"
)
SINGULARITY_VALUES: Final = (
    "-B --bind --env --env-file -H --home -W --workdir --pwd --cwd --overlay -o --hostname --network --scratch -S --security "
    "--app --dns --add-caps --drop-caps --contain-library --fusemount --mount"
)

WRAPPERS: Final[Mapping[str, Table]] = {
    "nohup": wrapper(),
    "time": wrapper("-f -o --format --output"),
    "exec": wrapper("-a"),
    "command": wrapper(),
    "builtin": wrapper(),
    "env": wrapper("-u --unset -C --chdir -S"),
    "sudo": wrapper("-u --user -g --group -h --host -p --prompt -C -D --chdir"),
    "nice": wrapper("-n --adjustment"),
    "ionice": wrapper("-c --class -n --classdata -p"),
    "stdbuf": wrapper("-i -o -e --input --output --error"),
    "timeout": wrapper("-k --kill-after -s --signal"),
    "setsid": wrapper(),
    "numactl": wrapper("-m -N -C -p -i --membind --cpunodebind --physcpubind --preferred --interleave"),
    "taskset": wrapper(),
    "unbuffer": wrapper(),
    "catchsegv": wrapper(),
    "flock": wrapper("-w --wait --timeout"),
    "xvfb-run": wrapper("-s -n -e -f --server-args"),
    "strace": wrapper("-e -o -p -s"),
    "nsys": wrapper(
        "-t --trace -o --output -c --capture-range -s --sample -w --show-output -f --force-overwrite --cuda-memory-usage "
        "-x --stop-on-exit --capture-range-end -d --duration -y --delay -b --backtrace --gpu-metrics-device"
    ),
    "ncu": wrapper(
        "-o --export -k --kernel-name -c --launch-count --set --target-processes -s --launch-skip"
    ),
    "py-spy": wrapper("-o --output -d --duration -r --rate -f --format"),
    "singularity": wrapper(SINGULARITY_VALUES),
    "apptainer": wrapper(SINGULARITY_VALUES),
    "docker": wrapper(CONTAINER_VALUES),
    "podman": wrapper(CONTAINER_VALUES),
    "nerdctl": wrapper(CONTAINER_VALUES),
    "kubectl": wrapper("-n --namespace -c --container --context"),
    "poetry": wrapper("-C --directory -P --project"),
    "uv": wrapper(
        "--extra --group --with --with-editable --with-requirements --python -p --project --directory --package "
        "--index-url --extra-index-url --index --env-file --no-group --only-group"
    ),
    "pipenv": wrapper(),
    "pdm": wrapper("-p --project"),
    "hatch": wrapper("-e --env"),
    "pixi": wrapper("-e --environment --manifest-path"),
    "conda": wrapper("-n --name -p --prefix --cwd"),
    "mamba": wrapper("-n --name -p --prefix --cwd"),
    "micromamba": wrapper("-n --name -p --prefix --cwd"),
    "ssh": wrapper("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w"),
    "xargs": wrapper("-n -I -P -L -d -a -s"),
    "sbatch": wrapper(),
    "debugpy": wrapper("--listen --connect --log-to --configure-subProcess"),
    "cProfile": wrapper("-o -s", follows="script"),
    "scalene": wrapper("--outfile", follows="script"),
    "kernprof": wrapper("-o -s", follows="script"),
    "viztracer": wrapper("-o --output_file --tracer_entries", follows="script"),
    "coverage": wrapper("--source --rcfile --omit --include", follows="script"),
    "pdb": wrapper("-c", follows="script"),
    "trace": wrapper("--ignore-dir", follows="script"),
}
# A wrapper's own words before what it starts: `uv run`, `singularity exec IMAGE`, `timeout 2h`.
SUBCOMMANDS: Final[Mapping[str, frozenset[str]]] = {
    "singularity": frozenset({"exec", "run", "shell"}),
    "apptainer": frozenset({"exec", "run", "shell"}),
    "docker": frozenset({"run", "exec"}),
    "podman": frozenset({"run", "exec"}),
    "nerdctl": frozenset({"run", "exec"}),
    "kubectl": frozenset({"exec"}),
    "poetry": frozenset({"run"}),
    "uv": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pdm": frozenset({"run"}),
    "hatch": frozenset({"run"}),
    "pixi": frozenset({"run"}),
    "conda": frozenset({"run"}),
    "mamba": frozenset({"run"}),
    "micromamba": frozenset({"run"}),
    "nsys": frozenset({"profile", "launch"}),
    "py-spy": frozenset({"record", "top"}),
    "coverage": frozenset({"run"}),
}
OWN_WORDS: Final[Mapping[str, int]] = {
    "singularity": 1,
    "apptainer": 1,
    "docker": 1,
    "podman": 1,
    "nerdctl": 1,
    "kubectl": 1,
    "timeout": 1,
    "flock": 1,
    "taskset": 1,
    "ssh": 1,
}
CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl", "kubectl", "singularity", "apptainer"})
# What they start does not see the variables of the script.
CLOSED: Final = frozenset({"docker", "podman", "nerdctl", "kubectl", "ssh"})

LAUNCHERS: Final[Mapping[str, tuple[str, Table]]] = {
    "deepspeed": ("deepspeed", DEEPSPEED),
    "deepspeed.pt": ("deepspeed", DEEPSPEED),
    "ds": ("deepspeed", DEEPSPEED),
    "torchrun": ("torchrun", TORCHRUN),
    "torchrun_main": ("torchrun", TORCHRUN),
    "composer": ("composer", COMPOSER),
    "srun": ("srun", SRUN),
    "mpirun": ("mpirun", MPIRUN),
    "mpiexec": ("mpirun", MPIRUN),
    "mpiexec.hydra": ("mpirun", MPIRUN),
    "orterun": ("mpirun", MPIRUN),
    "horovodrun": ("mpirun", MPIRUN),
    "jsrun": ("jsrun", JSRUN),
}
# `python -m NAME` that starts a program by the rules of a launcher.
MODULES: Final[Mapping[str, tuple[str, Table]]] = {
    "torch.distributed.run": ("torchrun", TORCHRUN),
    "torch.distributed.launch": ("torch.distributed.launch", TORCHRUN),
    "torch.distributed.elastic.run": ("torchrun", TORCHRUN),
    "deepspeed.launcher.runner": ("deepspeed", DEEPSPEED),
    "accelerate.commands.launch": ("accelerate", ACCELERATE),
    "composer.cli.launcher": ("composer", COMPOSER),
}

# Programs that train by themselves, by the subcommands that do; some start their ranks with torchrun or accelerate.
TOOLS: Final[Mapping[str, frozenset[str]]] = {
    "llamafactory-cli": frozenset({"train"}),
    "lmf": frozenset({"train"}),
    "swift": frozenset({"sft", "pt", "rlhf"}),
    "megatron": frozenset({"sft", "pt", "rlhf"}),
    "xtuner": frozenset({"train", "dist_train"}),
    "axolotl": frozenset({"train"}),
    "trl": frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "ppo", "orpo", "cpo"}),
}
