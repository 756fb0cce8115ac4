"""What a framework hands to DeepSpeed for a config's text: its own loader, and its own numbers in the place of "auto"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from dslint.documents.tree import UNKNOWN
from dslint.launches.trainer import HF_PAIRS, content_at, expected, is_known

READS_JSON: Final = frozenset({"transformers", "accelerate", "lightning"})

# A model of this width stands behind "auto" in bucket sizes.
HIDDEN_SIZE: Final = 16
FROM_THE_MODEL: Final[Mapping[str, int]] = {
    "/zero_optimization/reduce_bucket_size": HIDDEN_SIZE * HIDDEN_SIZE,
    "/zero_optimization/stage3_prefetch_bucket_size": int(0.9 * HIDDEN_SIZE * HIDDEN_SIZE),
    "/zero_optimization/stage3_param_persistence_threshold": 10 * HIDDEN_SIZE,
    "/scheduler/params/total_num_steps": 100,
}


def handed_over(text: str, framework: str | None, world_size: int) -> str | dict[str, Any]:
    """The text for DeepSpeed's own loader, or the dict that a framework makes of it.

    Raises:
        ValueError: the framework's strict JSON loader refuses the text.
    """
    if framework not in READS_JSON:
        return text
    config = json.loads(text)
    if isinstance(config, dict):
        fill(config, world_size)
    return config  # type: ignore[no-any-return]


def fill(config: dict[str, Any], world_size: int) -> None:
    """Put the default TrainingArguments' numbers in the place of "auto". A key that is not there is not added."""
    for pair in HF_PAIRS:
        if content_at(config, pair.pointer) != "auto":
            continue
        value = FROM_THE_MODEL.get(pair.pointer, UNKNOWN)
        if value is UNKNOWN:
            value = expected(pair, {}, True, world_size)
        if is_known(value):
            put(config, pair.pointer, value)


def put(config: dict[str, Any], pointer: str, value: Any) -> None:
    *parents, key = pointer[1:].split("/")
    for parent in parents:
        config = config[parent]
    config[key] = value
