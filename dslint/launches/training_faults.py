"""What a training program refuses in its own YAML once DeepSpeed is on, and numbers that YAML reads as
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from dslint.documents.tree import Node, join_pointer
from dslint.documents.yaml_scalars import LOOKS_NUMERIC
from dslint.launches.fault import Fault
from dslint.launches.trainer import FRACTIONS
from dslint.launches.training_yaml import TrainingConfig, Version

# LLaMA-Factory reads with OmegaConf from here on, which takes `5e-5` for a number.
NUMBERS_SINCE: Final[Version] = (0, 9, 3)


class Asked(NamedTuple):
    """A file, the program's release where it is known, and the ZeRO stage of its DeepSpeed config."""

    config: TrainingConfig
    version: Version | None
    stage: int | None

    def on(self, key: str) -> bool:
        node = self.node(key)
        return node is not None and node.value is True

    def node(self, key: str) -> Node | None:
        return self.config.document.root.get(key)

    @property
    def uses_deepspeed(self) -> bool:
        config = self.config
        return config.config is not None or config.preset is not None or config.inline is not None


def faults(config: TrainingConfig, version: Version | None = None, stage: int | None = None) -> list[Fault]:
    """Every fault of a training YAML, in the order of its text.

    Args:
        version: of the program that reads it (LLaMA-Factory's for its files, and so on).
        stage: the ZeRO stage of the DeepSpeed config that it names, where it is known.
    """
    asked = Asked(config, version, stage)
    found = [fault for function in FAULTS.values() for fault in function(asked)]
    root = config.document.root

    def position(fault: Fault) -> int:
        member = root.member(fault.pointer[1:])
        return member.key_start if member else root.start

    return sorted(found, key=position)


def numbers_as_text(asked: Asked) -> Iterator[Fault]:
    """`learning_rate: 5e-5` is text by YAML 1.1; LLaMA-Factory hands it to TrainingArguments as it is up
    to 0.9.2.
    """
    mends = asked.version is not None and asked.version >= NUMBERS_SINCE
    if asked.config.kind != "llamafactory" or mends or not asked.uses_deepspeed:
        return
    source = asked.config.document.source
    for member in asked.config.document.root.members:
        node = member.node
        written = source.text[node.start : node.end]
        if member.key in FRACTIONS and node.kind == "string" and LOOKS_NUMERIC.fullmatch(written):
            parts = {"key": member.key, "value": written, "number": float(written)}
            yield Fault("number-as-text", join_pointer("", member.key), parts, asked.version is not None)


class Clash(NamedTuple):
    """A key that a program refuses beside DeepSpeed.

    value: what it must hold; None for anything that counts as true.
    stages: the ZeRO stages at which it is refused; None for every stage, unknown ones too.
    since: the first release that refuses.
    """

    key: str
    said: str
    value: Any = True
    stages: frozenset[int] | None = None
    since: Version = (0,)


STAGE_3: Final = frozenset({3})
BELOW_3: Final = frozenset({0, 1, 2})

# https://github.com/hiyouga/LLaMA-Factory: hparams/parser.py and model/model_utils/quantization.py of 0.8.3 to 0.9.3.
LLAMAFACTORY: Final = (
    Clash("use_galore", "GaLore is incompatible with DeepSpeed"),
    Clash("use_apollo", "APOLLO is incompatible with DeepSpeed", since=(0, 9, 2)),
    Clash("pure_bf16", "`pure_bf16` is incompatible with DeepSpeed ZeRO-3", stages=STAGE_3),
    Clash("pissa_init", "PiSSA cannot be initialized under DeepSpeed ZeRO-3", stages=STAGE_3),
    Clash("use_unsloth", "Unsloth is incompatible with DeepSpeed ZeRO-3", stages=STAGE_3),
    Clash(
        "predict_with_generate", "it is incompatible with DeepSpeed ZeRO-3", stages=STAGE_3, since=(0, 9, 0)
    ),
    Clash("quantization_bit", "ZeRO-3 takes 4-bit models only", value=8, stages=STAGE_3),
    Clash("badam_mode", "ratio-based BAdam does not support distributed training", value="ratio"),
)
# https://github.com/axolotl-ai-cloud/axolotl: utils/schemas/validation.py.
AXOLOTL: Final = (Clash("fsdp", "deepspeed and fsdp cannot be used together", value=None),)
CLASHES: Final = {"llamafactory": LLAMAFACTORY, "axolotl": AXOLOTL}


def clashes(asked: Asked) -> Iterator[Fault]:
    if not asked.uses_deepspeed:
        return
    for clash in CLASHES.get(asked.config.kind, ()):
        node = asked.node(clash.key)
        if node is None or (asked.version is not None and asked.version < clash.since):
            continue
        if clash.stages is not None and asked.stage not in clash.stages:
            continue
        if clash.key == "badam_mode" and not asked.on("use_badam"):
            continue
        if holds(node, clash.value):
            parts = {"key": clash.key, "said": clash.said, "program": asked.config.kind}
            yield Fault("clash", join_pointer("", clash.key), parts, True)


def holds(node: Node, value: Any) -> bool:
    if value is None:
        return bool(node.members or node.items or (node.kind == "string" and node.value))
    return type(node.value) is type(value) and bool(node.value == value)


def badam(asked: Asked) -> Iterator[Fault]:
    """LLaMA-Factory: layer-wise BAdam, the default, needs ZeRO-3."""
    if asked.config.kind != "llamafactory" or not asked.on("use_badam") or not asked.uses_deepspeed:
        return
    mode = asked.node("badam_mode")
    if (mode is None or mode.value == "layer") and asked.stage in BELOW_3:
        parts = {
            "key": "use_badam",
            "said": "layer-wise BAdam supports DeepSpeed ZeRO-3 only",
            "program": "llamafactory",
        }
        yield Fault("clash", "/use_badam", parts, True)


FAULTS: Final[dict[str, Callable[[Asked], Iterator[Fault]]]] = {
    "numbers-as-text": numbers_as_text,
    "clashes": clashes,
    "badam": badam,
}
