"""A training program's YAML: LLaMA-Factory, Axolotl, ms-swift, or plain TrainingArguments.

What it says becomes arguments by their TrainingArguments names, each with its place, and the DeepSpeed
config that it names or holds. A file is known by its keys; a doubt means no.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from dslint.documents.tree import UNKNOWN, Document, Member, Node, Place, join_pointer
from dslint.documents.yaml_scalars import LOOKS_NUMERIC
from dslint.launches.launch import Argument
from dslint.launches.trainer import FRACTIONS, INTEGERS, SWITCHES, typed

TrainingKind = Literal["llamafactory", "axolotl", "swift", "trainer"]
Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """What a training YAML says.

    document: the file, of the dialect "training".
    config: the DeepSpeed config that it names; the path is relative to the folder that the program runs in.
    preset: the name of a config that the program brings along (ms-swift's `deepspeed: zero3`).
    inline: the DeepSpeed config that stands in the file itself; its nodes' `origin` points into the file.
    arguments: by their TrainingArguments names, other keys by their own.
    complete: a TrainingArguments field that is not given has its default.
    """

    document: Document
    kind: TrainingKind
    config: Argument | None
    preset: Argument | None
    inline: Document | None
    arguments: Mapping[str, Argument]
    complete: bool


class Tool(NamedTuple):
    """A program's ways.

    renamed: its key → the TrainingArguments field.
    as_text: values go through a command line, which makes numbers of texts.
    raw: keys whose values it reads in a way of its own.
    complete: fields that are not given have the Trainer's defaults.
    presets: names that stand for configs of its own.
    """

    renamed: Mapping[str, str] = {}
    as_text: bool = False
    raw: frozenset[str] = frozenset()
    complete: bool = False
    presets: frozenset[str] = frozenset()


TOOLS: Final[dict[TrainingKind, Tool]] = {
    # https://github.com/hiyouga/LLaMA-Factory, hparams/parser.py: the mapping goes to HfArgumentParser.parse_dict.
    "llamafactory": Tool(complete=True),
    # https://github.com/axolotl-ai-cloud/axolotl, core/builders/base.py.
    "axolotl": Tool(
        renamed={
            "micro_batch_size": "per_device_train_batch_size",
            "eval_batch_size": "per_device_eval_batch_size",
            "num_epochs": "num_train_epochs",
            "lr_scheduler": "lr_scheduler_type",
            "optimizer": "optim",
        },
        as_text=True,
        raw=frozenset({"bf16", "fp16"}),
    ),
    # https://github.com/modelscope/ms-swift, cli/main.py: each key becomes a flag.
    "swift": Tool(
        as_text=True,
        presets=frozenset({"zero0", "zero1", "zero2", "zero3", "zero2_offload", "zero3_offload"}),
    ),
    # TrlParser, HfArgumentParser or a program's own loader: which, only the program shows.
    "trainer": Tool(as_text=True),
}


# --- which files

LLAMAFACTORY_STAGES: Final = frozenset({"pt", "sft", "rm", "ppo", "dpo", "kto"})
AXOLOTL_KEYS: Final = frozenset(
    {
        *("micro_batch_size", "sequence_len", "datasets", "adapter", "val_set_size", "num_epochs"),
        *("dataset_prepared_path", "sample_packing", "pretraining_dataset", "special_tokens"),
    }
)
SWIFT_KEYS: Final = frozenset(
    {"tuner_type", "train_type", "rlhf_type", "split_dataset_ratio", "swift_version"}
)
TRAINER_KEYS: Final = frozenset(
    {
        *("output_dir", "per_device_train_batch_size", "per_device_eval_batch_size", "learning_rate"),
        *(
            "gradient_accumulation_steps",
            "num_train_epochs",
            "max_steps",
            "lr_scheduler_type",
            "warmup_ratio",
        ),
        *(
            "warmup_steps",
            "weight_decay",
            "max_grad_norm",
            "gradient_checkpointing",
            "logging_steps",
            "save_steps",
        ),
        *("eval_steps", "save_total_limit", "report_to", "bf16", "fp16", "tf32"),
    }
)
# Files that share these words but are something else.
FOREIGN: Final = frozenset(
    {"distributed_type", "compute_environment", "zero_optimization", "apiVersion", "jobs"}
)


def kind_of(root: Node) -> TrainingKind | None:
    """Which program's file a tree is, if any."""
    if root.kind != "object":
        return None
    keys = {member.key for member in root.members}
    if keys & FOREIGN:
        return None
    if is_llamafactory(root, keys):
        return "llamafactory"
    if "base_model" in keys and len(keys & AXOLOTL_KEYS) >= 2:
        return "axolotl"
    common = keys & TRAINER_KEYS
    if "model" in keys and keys & SWIFT_KEYS and common:
        return "swift"
    if (
        len(common) >= 4
        and "per_device_train_batch_size" in keys
        and keys & {"model_name_or_path", "deepspeed"}
    ):
        return "trainer"
    return None


def is_llamafactory(root: Node, keys: set[str]) -> bool:
    stage = root.get("stage")
    staged = stage is not None and stage.value in LLAMAFACTORY_STAGES
    shown = keys & {"model_name_or_path", "dataset", "template", "adapter_name_or_path"}
    return bool(shown) and ("finetuning_type" in keys or (staged and "do_train" in keys))


def training_config(document: Document) -> TrainingConfig | None:
    """What a YAML document says to its training program, or None when it is no such file."""
    kind = kind_of(document.root)
    if kind is None:
        return None
    tool = TOOLS[kind]
    document = document._replace(dialect="training")
    given = document.root.member("deepspeed")
    reference = reference_of(document, given, tool)
    preset = reference if reference is not None and reference.value in tool.presets else None
    return TrainingConfig(
        document=document,
        kind=kind,
        config=None if preset else reference,
        preset=preset,
        inline=inline(document, given),
        arguments=arguments_of(document, kind),
        complete=tool.complete,
    )


# --- the DeepSpeed config


def reference_of(document: Document, given: Member | None, tool: Tool) -> Argument | None:
    """`deepspeed:` as a path, or as a name of the program's own; unknown where a placeholder stands."""
    if given is None or given.node.kind not in ("string", "unknown"):
        return None
    value = given.node.value
    if isinstance(value, str) and (not value.strip() or value.lstrip().startswith("{")):
        return None
    return Argument(value, place_of(document, given))


def place_of(document: Document, member: Member) -> Place:
    return Place(document.source, member.node.start, member.node.end, join_pointer("", member.key))


def inline(document: Document, given: Member | None) -> Document | None:
    if given is None or given.node.kind != "object":
        return None
    root = placed(given.node, "/deepspeed")
    problems = tuple(p for p in document.problems if given.node.start <= p.start < given.node.end)
    return Document(document.source, root, "yaml", "deepspeed", problems)


def placed(node: Node, pointer: str) -> Node:
    """A copy of a tree whose nodes know their pointers in the file."""
    members = [m._replace(node=placed(m.node, join_pointer(pointer, m.key))) for m in node.members]
    items = [placed(item, join_pointer(pointer, i)) for i, item in enumerate(node.items)]
    return Node(node.kind, node.start, node.end, node.value, members, items, pointer)


# --- the arguments


def arguments_of(document: Document, kind: TrainingKind) -> dict[str, Argument]:
    tool = TOOLS[kind]
    arguments = {}
    for member in document.root.members:
        name = tool.renamed.get(member.key, member.key)
        arguments[name] = Argument(value_of(member.node, name, tool), place_of(document, member))
    adapt = ADAPTED.get(kind)
    return adapt(arguments) if adapt else arguments


def value_of(node: Node, name: str, tool: Tool) -> Any:
    """A value as it reaches the Trainer."""
    value = node.plain()
    if value is None:
        return False if name in SWITCHES else UNKNOWN
    if isinstance(value, str) and name in FRACTIONS and LOOKS_NUMERIC.fullmatch(value):
        # Text to `safe_load`: some programs make a number of it, the others stop at it. The number was meant.
        return float(value)
    is_converted = tool.as_text and name in INTEGERS | FRACTIONS | SWITCHES and name not in tool.raw
    if is_converted and isinstance(value, (str, bool, int, float)):
        return typed(name, str(value))
    return value


def axolotl(arguments: dict[str, Argument]) -> dict[str, Argument]:
    """What Axolotl makes of its precision keys, and what it works out by itself."""
    adapted = dict(arguments)
    bf16 = read_precision(arguments, "bf16", "bfloat16")
    fp16 = read_precision(arguments, "fp16", "float16")
    for name in ("bf16", "fp16"):
        given = arguments.get(name) or arguments.get("bfloat16" if name == "bf16" else "float16")
        if given is not None:
            adapted[name] = Argument(bf16 if name == "bf16" else fp16_beside(fp16, bf16), given.place)
    if "warmup_steps" not in arguments and (ratio := arguments.get("warmup_ratio")) is not None:
        adapted["warmup_steps"] = Argument(UNKNOWN, ratio.place)
    if (scheduler := arguments.get("lr_scheduler_type")) is not None and scheduler.value in (
        "one_cycle",
        "rex",
    ):
        adapted["lr_scheduler_type"] = Argument("cosine", scheduler.place)
    return adapted


def read_precision(arguments: Mapping[str, Argument], name: str, old_name: str) -> Any:
    """True, False, or UNKNOWN for `auto`, which the GPU decides."""
    given = arguments.get(name)
    value = given.value if given is not None else False
    if value is False and (old := arguments.get(old_name)) is not None:
        value = old.value
    if value == "full":
        return True
    return value if isinstance(value, bool) else UNKNOWN


def fp16_beside(fp16: Any, bf16: Any) -> Any:
    """Axolotl takes fp16 only where bf16 is off."""
    if fp16 is False or bf16 is True:
        return False
    return True if fp16 is True and bf16 is False else UNKNOWN


def swift(arguments: dict[str, Argument]) -> dict[str, Argument]:
    """ms-swift sets the precision by `torch_dtype` where the flags are not given."""
    dtype = arguments.get("torch_dtype")
    if dtype is None or dtype.value not in ("bfloat16", "float16"):
        return arguments
    implied = {"bf16": dtype.value == "bfloat16", "fp16": dtype.value == "float16"}
    return {**{name: Argument(value, dtype.place) for name, value in implied.items()}, **arguments}


ADAPTED: Final[dict[TrainingKind, Callable[[dict[str, Argument]], dict[str, Argument]]]] = {
    "axolotl": axolotl,
    "swift": swift,
}
