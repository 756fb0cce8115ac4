"""What the Transformers Trainer makes of a DeepSpeed config: the pairs that it fills or compares.

`HfTrainerDeepSpeedConfig.trainer_config_process` and `trainer_config_finalize` walk these pairs: "auto" is
replaced by the TrainingArguments' value, and anything else that differs from it stops the run. Read from
transformers 4.30 to 5.24; where releases differ, `version` decides, and without a version only what all of
them agree on is known.

    up to 4.57   amp is compared, and fp16 counts as off under `fp16_backend="apex"`
    5.0          `warmup_ratio` becomes a name for `warmup_steps`, whose fractions are shares of all steps
    5.15         `warmup_ratio` is gone
    5.18         `warmup_num_steps` is at least 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN
from dslint.launches.launch import Argument

Version = tuple[int, ...]

# One release of each kind of behaviour.
KINDS: Final[tuple[Version, ...]] = ((4, 40, 2), (5, 0, 0), (5, 15, 0), (5, 18, 0))

# The defaults of the fields that the pairs read, and of some more; the same from 4.30 to 5.24, but that
# warmup_ratio is None in 5.0 to 5.14.
DEFAULTS: Final[dict[str, Any]] = {
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "max_grad_norm": 1.0,
    "learning_rate": 5e-5,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "weight_decay": 0.0,
    "warmup_steps": 0,
    "warmup_ratio": 0.0,
    "max_steps": -1,
    "num_train_epochs": 3.0,
    "lr_scheduler_type": "linear",
    "fp16": False,
    "bf16": False,
    "fp16_full_eval": False,
    "bf16_full_eval": False,
    "fp16_backend": "auto",
    "half_precision_backend": "auto",
    "fp16_opt_level": "O1",
    "save_on_each_node": False,
    "save_only_model": False,
    "load_best_model_at_end": False,
    "auto_find_batch_size": False,
    "gradient_checkpointing": False,
    "do_train": False,
    "do_eval": False,
    "do_predict": False,
    "deepspeed": None,
    "use_cpu": False,
}

INTEGERS: Final = frozenset(
    {"per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps", "max_steps"}
)
FRACTIONS: Final = frozenset(
    {
        *("max_grad_norm", "learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay"),
        *("warmup_ratio", "num_train_epochs"),
    }
)
WORDS: Final = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}
SWITCHES: Final = frozenset(name for name, default in DEFAULTS.items() if isinstance(default, bool))


class Facts:
    """The arguments of one launch as the pairs ask for them."""

    __slots__ = ("_arguments", "_complete", "version", "world_size")

    def __init__(
        self, arguments: Mapping[str, Argument], complete: bool, world_size: int | None, version: Version
    ) -> None:
        self._arguments = arguments
        self._complete = complete
        self.world_size: Any = UNKNOWN if world_size is None else world_size
        self.version = version

    def get(self, name: str) -> Any:
        """A field's value; UNKNOWN where it may have been given without our seeing it."""
        given = self._arguments.get(name)
        if given is not None:
            return given.value
        if not self._complete:
            return UNKNOWN
        if name == "warmup_ratio" and self.version >= (5,):
            return None
        return DEFAULTS.get(name, UNKNOWN)


def plain(name: str) -> Callable[[Facts], Any]:
    return lambda facts: facts.get(name)


def train_batch_size(facts: Facts) -> Any:
    micro, steps = facts.get("per_device_train_batch_size"), facts.get("gradient_accumulation_steps")
    parts = (facts.world_size, micro, steps)
    if not all(is_number(part) for part in parts):
        return UNKNOWN
    return parts[0] * parts[1] * parts[2]


def betas(facts: Facts) -> Any:
    return [facts.get("adam_beta1"), facts.get("adam_beta2")]


def either(first: Any, second: Any) -> Any:
    """Python's `first or second`; UNKNOWN where it hangs on something unknown."""
    if first is UNKNOWN:
        return UNKNOWN
    return first or second


def fp16(facts: Facts) -> Any:
    on = either(facts.get("fp16"), facts.get("fp16_full_eval"))
    if facts.version >= (5,) or on is UNKNOWN or not on:
        return on
    backend = facts.get("fp16_backend")
    return UNKNOWN if backend is UNKNOWN else backend != "apex"


def bf16(facts: Facts) -> Any:
    return either(facts.get("bf16"), facts.get("bf16_full_eval"))


def apex(facts: Facts) -> Any:
    on = either(facts.get("fp16"), facts.get("fp16_full_eval"))
    if on is UNKNOWN or not on:
        return UNKNOWN if on is UNKNOWN else False
    backend = facts.get("fp16_backend")
    return UNKNOWN if backend is UNKNOWN else backend == "apex"


def total_steps(facts: Facts) -> Any:
    """`max_steps` where it is given; else what the length of the data makes of the epochs."""
    steps = facts.get("max_steps")
    return steps if is_number(steps) and steps > 0 else UNKNOWN


def warmup_steps(facts: Facts) -> Any:
    steps, ratio = facts.get("warmup_steps"), facts.get("warmup_ratio")
    if facts.version < (5,):
        if is_number(steps) and steps > 0:
            return steps
        return share(ratio, facts) if is_number(steps) else UNKNOWN
    if facts.version < (5, 15) and ratio is not None:
        steps = ratio
    if not is_number(steps):
        return UNKNOWN
    result = int(steps) if steps >= 1 else share(steps, facts)
    return result if result is UNKNOWN or facts.version < (5, 18) else max(1, result)


def share(ratio: Any, facts: Facts) -> Any:
    """That share of all steps, rounded up."""
    if not is_number(ratio):
        return UNKNOWN
    if ratio == 0:
        return 0
    total = total_steps(facts)
    return UNKNOWN if total is UNKNOWN else math.ceil(total * ratio)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


class Pair(NamedTuple):
    """A key of the config and what the Trainer holds against it.

    `name` is what its message calls the value. `must_match` is False where "auto" is filled and nothing
    compared, `compute` None where the value comes from the model. `before` is the release that no longer
    knows the pair.
    """

    pointer: str
    name: str
    arguments: tuple[str, ...]
    compute: Callable[[Facts], Any] | None
    must_match: bool = True
    before: Version | None = None


HF_PAIRS: Final[tuple[Pair, ...]] = (
    Pair(
        "/train_micro_batch_size_per_gpu",
        "per_device_train_batch_size",
        ("per_device_train_batch_size",),
        plain("per_device_train_batch_size"),
    ),
    Pair(
        "/gradient_accumulation_steps",
        "gradient_accumulation_steps",
        ("gradient_accumulation_steps",),
        plain("gradient_accumulation_steps"),
    ),
    Pair(
        "/train_batch_size",
        "train_batch_size (calculated)",
        ("per_device_train_batch_size", "gradient_accumulation_steps"),
        train_batch_size,
    ),
    Pair("/gradient_clipping", "max_grad_norm", ("max_grad_norm",), plain("max_grad_norm")),
    Pair("/optimizer/params/lr", "learning_rate", ("learning_rate",), plain("learning_rate")),
    Pair("/optimizer/params/betas", "adam_beta1+adam_beta2", ("adam_beta1", "adam_beta2"), betas),
    Pair("/optimizer/params/eps", "adam_epsilon", ("adam_epsilon",), plain("adam_epsilon")),
    Pair("/optimizer/params/weight_decay", "weight_decay", ("weight_decay",), plain("weight_decay")),
    Pair("/scheduler/params/warmup_min_lr", "", (), lambda facts: 0, must_match=False),
    Pair("/scheduler/params/warmup_max_lr", "learning_rate", ("learning_rate",), plain("learning_rate")),
    Pair("/fp16/enabled", "fp16|fp16_full_eval", ("fp16", "fp16_full_eval"), fp16),
    Pair(
        "/amp/enabled",
        "fp16+fp16_backend(apex)",
        ("fp16", "fp16_full_eval", "fp16_backend"),
        apex,
        before=(5,),
    ),
    Pair("/amp/opt_level", "fp16_opt_level", ("fp16_opt_level",), plain("fp16_opt_level"), before=(5,)),
    Pair("/bf16/enabled", "bf16|bf16_full_eval", ("bf16", "bf16_full_eval"), bf16),
    Pair("/zero_optimization/reduce_bucket_size", "hidden_size²", (), None, must_match=False),
    Pair("/zero_optimization/stage3_prefetch_bucket_size", "0.9 hidden_size²", (), None, must_match=False),
    Pair(
        "/zero_optimization/stage3_param_persistence_threshold", "10 hidden_size", (), None, must_match=False
    ),
    Pair("/scheduler/params/total_num_steps", "num_training_steps (calculated)", ("max_steps",), total_steps),
    Pair(
        "/scheduler/params/warmup_num_steps", "warmup_steps", ("warmup_steps", "warmup_ratio"), warmup_steps
    ),
)

# Compared in the first attempt only; the batch size that `auto_find_batch_size` finds is put into the config.
FOUND_BATCH: Final = frozenset({"/train_micro_batch_size_per_gpu", "/train_batch_size"})


class Mismatch(NamedTuple):
    """A pair that stops the run: what the config says, and what the arguments make of it."""

    pair: Pair
    found: Any
    expected: Any


def expected(
    pair: Pair,
    arguments: Mapping[str, Argument],
    complete: bool,
    world_size: int | None = None,
    version: Version | None = None,
) -> Any:
    """What the Trainer fills in for "auto", and compares anything else with.

    Args:
        pair: one of HF_PAIRS.
        arguments: the TrainingArguments fields that are given, by name.
        complete: whether no other field is given, so that defaults hold.
        world_size: the number of processes; None when unknown.
        version: of transformers; None when unknown.

    Returns:
        the value, or UNKNOWN where it depends on something unknown; a list may hold UNKNOWNs.
    """
    if pair.compute is None:
        return UNKNOWN
    if version is not None:
        if pair.before is not None and version >= pair.before:
            return UNKNOWN
        return pair.compute(Facts(arguments, complete, world_size, version))
    if pair.before is not None:
        return UNKNOWN
    values = [pair.compute(Facts(arguments, complete, world_size, kind)) for kind in KINDS]
    return values[0] if all(same(value, values[0]) for value in values) else UNKNOWN


def same(one: Any, other: Any) -> bool:
    if one is UNKNOWN or other is UNKNOWN:
        return one is other
    return bool(one == other)


def is_known(value: Any) -> bool:
    if isinstance(value, list):
        return all(is_known(item) for item in value)
    if isinstance(value, dict):
        return all(is_known(item) for item in value.values())
    return value is not UNKNOWN


def mismatches(
    config: Any,
    arguments: Mapping[str, Argument],
    complete: bool,
    world_size: int | None = None,
    version: Version | None = None,
) -> list[Mismatch]:
    """The pairs for which the Trainer stops, in its message's order. `config` is a config's plain content."""
    found: list[Mismatch] = []
    searching = Facts(arguments, complete, world_size, version or KINDS[-1]).get("auto_find_batch_size")
    for pair in HF_PAIRS:
        if not pair.must_match or (searching is not False and pair.pointer in FOUND_BATCH):
            continue
        value = content_at(config, pair.pointer)
        if value is None or value == "auto" or not is_known(value):
            continue
        wanted = expected(pair, arguments, complete, world_size, version)
        if is_known(wanted) and value != wanted:
            found.append(Mismatch(pair, value, wanted))
    return found


def content_at(config: Any, pointer: str) -> Any:
    """The plain content at a pointer; None where there is nothing."""
    for key in pointer[1:].split("/"):
        if not isinstance(config, dict):
            return None
        config = config.get(key)
    return config


def typed(name: str, text: str) -> Any:
    """A field's value from the command line, as HfArgumentParser reads it; UNKNOWN where it refuses the
    text.
    """
    try:
        if name in SWITCHES:
            return WORDS[text.lower()]
        if name in INTEGERS:
            return int(text)
        if name in FRACTIONS:
            return float(text)
        if name == "warmup_steps":
            return int(text) if text.strip().isdecimal() else float(text)
    except (ValueError, KeyError):
        return UNKNOWN
    return text


# trl's classes set some defaults of their own: field → class → (the first release read that has it, the
# default). Before that release the default is unknown.
TRL_DEFAULTS: Final[dict[str, dict[str, tuple[Version, Any]]]] = {
    "learning_rate": {
        "SFTConfig": ((0, 12, 2), 2e-5),
        "DPOConfig": ((0, 12, 2), 1e-6),
        "CPOConfig": ((0, 12, 2), 1e-6),
        "ORPOConfig": ((0, 12, 2), 1e-6),
        "KTOConfig": ((0, 12, 2), 1e-6),
        "OnlineDPOConfig": ((0, 11, 4), 5e-7),
        "GRPOConfig": ((0, 14, 0), 1e-6),
        "PRMConfig": ((0, 14, 0), 1e-5),
        "RLOOConfig": ((0, 22, 2), 1e-6),
        "RewardConfig": ((0, 24, 0), 1e-4),
    },
    "per_device_train_batch_size": {"GRPOConfig": ((0, 15, 2), 8)},
    "gradient_accumulation_steps": {"GRPOConfig": ((0, 15, 2), 1)},
}
# trl's fields besides, whose defaults differ from the Trainer's in some class and release.
TRL_BF16_ALWAYS_OFF: Final[Version] = (0, 18, 2)  # the last release read in which bf16 is off unless given
TRL_BF16_UNLESS_FP16: Final[Version] = (0, 19, 1)  # the first in which it is on unless fp16 is


def trl_defaults(name: str, given: Mapping[str, Argument], version: Version | None) -> dict[str, Any]:
    """The fields that a trl class leaves at other defaults than TrainingArguments, with these or UNKNOWN.

    `name` is the class's own name ("SFTConfig"), `given` what the call gives, `version` trl's.
    """
    found: dict[str, Any] = {}
    for field, classes in TRL_DEFAULTS.items():
        if field in given:
            continue
        since, default = classes.get(name, (None, None))
        if since is not None:
            found[field] = default if version is not None and version >= since else UNKNOWN
        elif field == "learning_rate":
            found[field] = UNKNOWN
    if "bf16" not in given:
        found["bf16"] = trl_bf16(given, version)
    return {field: value for field, value in found.items() if value is UNKNOWN or value != DEFAULTS[field]}


def trl_bf16(given: Mapping[str, Argument], version: Version | None) -> Any:
    if version is None or TRL_BF16_ALWAYS_OFF < version < TRL_BF16_UNLESS_FP16:
        return UNKNOWN
    if version <= TRL_BF16_ALWAYS_OFF:
        return False
    fp16_given = given.get("fp16")
    if fp16_given is None:
        return True
    return UNKNOWN if fp16_given.value is UNKNOWN else not fp16_given.value
