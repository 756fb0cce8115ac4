"""The smaller blocks: what their own validation asks for, which no schema can say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dslint.documents.tree import UNKNOWN, Node, find
from dslint.launches.launch import Launch
from dslint.releases.schema import schema_for
from dslint.rules.checks.schema import violations
from dslint.rules.match import Match

ELASTICITY: Final = "/elasticity"
BATCH_KEYS: Final = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
# The newest form of the elasticity block that DeepSpeed ever had.
NEWEST_ELASTICITY: Final = 0.2

# What each schedule of curriculum learning looks up in schedule_config.
SCHEDULES: Final[Mapping[str, Sequence[str]]] = {
    "fixed_linear": ("total_curriculum_step", "difficulty_step"),
    "fixed_root": ("total_curriculum_step", "difficulty_step", "root_degree"),
    "fixed_discrete": ("difficulty", "max_step"),
    "custom": (),
}
CURRICULUM: Final = ("min_difficulty", "max_difficulty", "schedule_type")
RANDOM_LTD: Final = ("total_layer_num", "random_ltd_layer_num", "random_ltd_schedule")
RANDOM_LTD_SCHEDULE: Final = ("min_value", "max_value", "schedule_type", "schedule_config")
RANDOM_LTD_STEPS: Final = ("require_steps", "seq_per_step")
LAYER_DROP: Final = ("theta", "gamma")

# What the pipeline block says in vain, and the argument of PipelineModule that says it.
PIPELINE_ARGUMENTS: Final[Mapping[str, str]] = {
    "stages": "num_stages",
    "partition": "partition_method",
    "seed_layers": "seed_layers",
}
PIPELINE_DEFAULTS: Final[Mapping[str, Any]] = {"stages": "auto", "partition": "best", "seed_layers": False}


def block_at(launch: Launch, pointer: str) -> Node | None:
    """A block whose keys are all known."""
    node = find(launch.config.root, pointer)
    return node if node is not None and node.kind == "object" and not node.open else None


def missing(launch: Launch, pointer: str, keys: Sequence[str]) -> Iterator[Match]:
    block = block_at(launch, pointer)
    for key in keys if block is not None else ():
        if block is not None and block.get(key) is None:
            yield Match(f"{pointer}/{key}", values={"key": key})


def elasticity_with_batch(launch: Launch) -> Iterator[Match]:
    """Batch keys beside an elasticity block that takes them over, and is not told to ignore them."""
    for key in BATCH_KEYS:
        if launch.config.root.get(key) is not None:
            yield Match(f"/{key}", values={"key": key}, mark="key")


def elasticity_refused(launch: Launch) -> Iterator[Match]:
    """Numbers of an elasticity block that do not go together; the first, since the engine stops there."""
    block = block_at(launch, ELASTICITY)
    for key, said in () if block is None else elasticity_faults(block.plain()):
        yield Match(f"{ELASTICITY}/{key}", values={"said": said})
        return


def elasticity_faults(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    micro, largest = block.get("micro_batch_sizes"), block.get("max_train_batch_size")
    if micro is not None and not isinstance(micro, list):
        yield "micro_batch_sizes", "micro_batch_sizes has to be a list"
    elif isinstance(micro, list) and not all(isinstance(one, int) and one > 0 for one in micro):
        yield "micro_batch_sizes", "micro_batch_sizes has to hold whole numbers above 0"
    least, most = block.get("min_gpus", 1), block.get("max_gpus", 10000)
    if numbers(least, most):
        if least < 1:
            yield "min_gpus", "min_gpus has to be above 0"
        elif most < least:
            yield "max_gpus", f"max_gpus is {most} and min_gpus is {least}"
    version = block.get("version", NEWEST_ELASTICITY)
    if numbers(version) and version > NEWEST_ELASTICITY:
        yield "version", f"version is {version}, and {NEWEST_ELASTICITY} is the newest"
    size = block.get("model_parallel_size", 1)
    if numbers(version, size) and version < NEWEST_ELASTICITY and size > 1:
        yield "model_parallel_size", f"model_parallel_size is {size}, which version {version} does not do"
    if isinstance(micro, list) and numbers(largest, *micro) and micro and max(micro) > largest:
        yield "micro_batch_sizes", f"a micro batch of {max(micro)} is above max_train_batch_size, {largest}"


def numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def curriculum_incomplete(launch: Launch) -> Iterator[Match]:
    """The legacy block without what its schedule looks up."""
    yield from missing(launch, "/curriculum_learning", CURRICULUM)
    kind = find(launch.config.root, "/curriculum_learning/schedule_type")
    wanted = SCHEDULES.get(kind.value) if kind is not None and kind.kind == "string" else None
    if not wanted:
        return
    pointer = "/curriculum_learning/schedule_config"
    if find(launch.config.root, pointer) is None:
        yield Match(pointer, values={"key": "schedule_config"})
    yield from missing(launch, pointer, wanted)


def curriculum_type_unknown(launch: Launch) -> Iterator[Match]:
    kind = find(launch.config.root, "/curriculum_learning/schedule_type")
    if kind is not None and kind.kind == "string" and kind.value not in SCHEDULES:
        yield Match("/curriculum_learning/schedule_type", values={"known": ", ".join(SCHEDULES)})


def layer_drop_incomplete(launch: Launch) -> Iterator[Match]:
    yield from missing(launch, "/progressive_layer_drop", LAYER_DROP)


def random_ltd_incomplete(launch: Launch) -> Iterator[Match]:
    pointer = "/data_efficiency/data_routing/random_ltd"
    yield from missing(launch, pointer, RANDOM_LTD)
    schedule = f"{pointer}/random_ltd_schedule"
    yield from missing(launch, schedule, RANDOM_LTD_SCHEDULE)
    yield from missing(launch, f"{schedule}/schedule_config", RANDOM_LTD_STEPS)


def tensor_parallel_not_dividing(launch: Launch) -> Iterator[Match]:
    """A tensor-parallel size that does not divide the number of GPUs."""
    size = find(launch.config.root, "/tensor_parallel/autotp_size")
    world = launch.world_size
    if size is None or not numbers(size.value) or world is None or size.value < 2:
        return
    if world % size.value:
        yield Match("/tensor_parallel/autotp_size", values={"world": world})


def tensor_parallel_sizes_at_odds(launch: Launch) -> Iterator[Match]:
    """Two sizes in one tensor_parallel block, neither of which is the default."""
    outer = find(launch.config.root, "/tensor_parallel/autotp_size")
    for name in ("tp", "tensor_parallel"):
        pointer = f"/tensor_parallel/{name}/tp_size"
        inner = find(launch.config.root, pointer)
        if outer is None or inner is None or not numbers(outer.value, inner.value):
            continue
        if outer.value > 1 and inner.value not in (1, outer.value):
            yield Match(pointer, values={"outer": outer.value})


def monitor_path_unexpanded(launch: Launch) -> Iterator[Match]:
    """A path with ~ or a variable, which the monitors join and create as it stands."""
    for block in ("tensorboard", "csv_monitor"):
        pointer = f"/{block}/output_path"
        path = find(launch.config.root, pointer)
        if path is not None and path.kind == "string" and (path.value.startswith("~") or "$" in path.value):
            yield Match(pointer)


def expert_word(launch: Launch) -> Iterator[Match]:
    """A word of the expert_parallel block that is not among those it knows; checked only when the block is on."""
    for violation in violations(launch):
        if violation.kind == "not-allowed" and violation.pointer.startswith("/expert_parallel/"):
            allowed = ", ".join(violation.details["allowed"])
            key = violation.pointer.rpartition("/")[2]
            yield Match(violation.pointer, values={"key": key, "allowed": allowed})


def expert_parallel_refused(launch: Launch) -> Iterator[Match]:
    """Settings of the expert_parallel block that do not go together; the first, since the engine stops there."""
    block = block_at(launch, "/expert_parallel")
    known = schema_for(launch.release)["properties"].get("expert_parallel", {}).get("properties", {})
    if block is None:
        return
    given = {key: value for key, value in block.plain().items() if key in known and value is not UNKNOWN}
    for key, said in expert_faults(given, known, alone_size(launch)):
        yield Match(f"/expert_parallel/{key}", values={"said": said})
        return


def alone_size(launch: Launch) -> int | None:
    """How many GPUs experts are spread over, where nothing else cuts the model: all of them."""
    folded = any(launch.config.root.get(key) is not None for key in ("tensor_parallel", "pipeline"))
    return None if folded else launch.world_size


def expert_faults(
    given: Mapping[str, Any], known: Mapping[str, Any], world: int | None
) -> Iterator[tuple[str, str]]:
    backend = given.get("comm_backend", "comm")
    size, cut = given.get("autoep_size", 1), given.get("expert_tensor_parallel_size", 1)
    if given.get("combine_impl") == "fused_weighted_sum":
        if numbers(cut) and cut > 1:
            yield "combine_impl", "combine_impl fused_weighted_sum needs an expert_tensor_parallel_size of 1"
        if backend == "deepep" and numbers(size) and size > 1:
            yield "combine_impl", "combine_impl fused_weighted_sum does not go with comm_backend deepep"
    if world is not None and numbers(size, cut) and size * cut > 0 and world % (size * cut):
        yield "autoep_size", f"{size} x {cut} GPUs for the experts do not divide {world} GPUs"
    if given.get("gate_up_impl") == "fused" and given.get("use_grouped_mm", True) is False:
        yield "gate_up_impl", "gate_up_impl fused needs use_grouped_mm"
    if given.get("row_weighting_impl") == "fused":
        if backend != "deepep":
            yield "row_weighting_impl", "row_weighting_impl fused needs comm_backend deepep"
        elif given.get("autoep_size", 1) == 1:
            yield "row_weighting_impl", "row_weighting_impl fused needs an autoep_size above 1"
    for key, least in (("comm_num_sm", 1), ("comm_qp_margin", 0), ("comm_max_tokens_per_rank", 0)):
        if numbers(given.get(key)) and given[key] < least:
            yield key, f"{key} has to be at least {least}"
    tokens = "comm_max_tokens_per_rank"
    if backend == "deepep" and tokens in known and given.get(tokens, 0) == 0:
        yield tokens, f"comm_backend deepep needs {tokens}"
    limited: Any = given.get("num_limited_groups")
    groups: Any = given.get("num_expert_groups")
    for key, value in (("num_limited_groups", limited), ("num_expert_groups", groups)):
        if numbers(value) and value < 1:
            yield key, f"{key} has to be at least 1"
    scaling = given.get("routed_scaling_factor", "auto")
    if scaling != "auto" and not isinstance(scaling, (int, float)):
        yield "routed_scaling_factor", "routed_scaling_factor has to be a number or auto"
    if numbers(limited, groups) and limited > groups:
        yield "num_limited_groups", f"num_limited_groups is {limited} and num_expert_groups is {groups}"


def autotuning_left_on(launch: Launch) -> Iterator[Match]:
    """Autotuning in a command that does not start the tuner."""
    command = launch.command
    if command is None or any(launcher.open for launcher in command.launchers):
        return
    if not any("autotuning" in launcher.options for launcher in command.launchers):
        yield Match("/autotuning/enabled")


def pipeline_key_unread(launch: Launch) -> Iterator[Match]:
    """Keys of the pipeline block that the engine copies and never looks at, where they ask for something."""
    for key, argument in PIPELINE_ARGUMENTS.items():
        node = find(launch.config.root, f"/pipeline/{key}")
        if node is not None and node.value not in (PIPELINE_DEFAULTS[key], None, UNKNOWN, "auto"):
            yield Match(f"/pipeline/{key}", values={"key": key, "argument": argument}, mark="key")


BLOCK_CHECKS: Final = {
    "pipeline-key-unread": pipeline_key_unread,
    "autotuning-left-on": autotuning_left_on,
    "expert-parallel-word": expert_word,
    "expert-parallel-refused": expert_parallel_refused,
    "monitor-path-unexpanded": monitor_path_unexpanded,
    "elasticity-with-batch": elasticity_with_batch,
    "elasticity-refused": elasticity_refused,
    "curriculum-incomplete": curriculum_incomplete,
    "curriculum-type-unknown": curriculum_type_unknown,
    "layer-drop-incomplete": layer_drop_incomplete,
    "random-ltd-incomplete": random_ltd_incomplete,
    "tensor-parallel-not-dividing": tensor_parallel_not_dividing,
    "tensor-parallel-sizes-at-odds": tensor_parallel_sizes_at_odds,
}
