"""Checks: the conditions that a table cannot say, by the name that a rule file gives as `check:`.

A check takes a launch and yields a Match for each place where it holds. It looks; it words nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from dslint.launches.launch import Launch
from dslint.rules.checks import (
    auto,
    batch,
    floats,
    precision,
    syntax,
)
from dslint.rules.checks.offload import OFFLOAD_CHECKS
from dslint.rules.checks.schema import SCHEMA_CHECKS
from dslint.rules.checks.zero import ZERO_CHECKS
from dslint.rules.match import Match

Check = Callable[[Launch], Iterable[Match]]

CHECKS: Final[Mapping[str, Check]] = {
    **SCHEMA_CHECKS,
    **ZERO_CHECKS,
    **OFFLOAD_CHECKS,
    "float-too-large": floats.too_large,
    "float-as-switch": floats.as_switch,
    "float-as-power": floats.as_power,
    "syntax-error": syntax.unreadable,
    "not-strict-json": syntax.not_strict_json,
    "not-hjson": syntax.not_hjson,
    "duplicate-key-refused": syntax.duplicate_key_refused,
    "duplicate-key": syntax.duplicate_key,
    "swallowed-comma": syntax.swallowed,
    "not-an-object": syntax.not_an_object,
    "empty-config": syntax.empty,
    "batch-equation": batch.equation,
    "batch-impossible": batch.impossible,
    "batch-missing": batch.missing,
    "batch-not-positive": batch.not_positive,
    "loss-scale-no-room": precision.no_room,
    "loss-scale-window-no-number": precision.window_no_number,
    "loss-scale-numbers-text": precision.numbers_in_text,
    "loss-scale-key-in-bf16": precision.loss_scale_key_in_bf16,
    "loss-scale-window-small": precision.window_small,
    "loss-scale-static-harmful": precision.static_harmful,
    "gradient-type-without-zero": precision.gradient_type_without_zero,
    "parameter-type-at-odds": precision.parameter_type_at_odds,
    "fp16-unsupported": precision.fp16_unsupported,
    "autocast-without-type": precision.autocast_without_type,
    "auto-unresolved": auto.unresolved,
    "auto-dropped": auto.dropped,
    "auto-unfilled": auto.unfilled,
}

# Families that many configs have no use for, imported in this order until one has the check that a rule asks for.
LATER: Final = (
    "dslint.rules.checks.optimizer:OPTIMIZER_CHECKS",
    "dslint.rules.checks.optimizer_values:OPTIMIZER_VALUE_CHECKS",
    "dslint.rules.checks.scheduler:SCHEDULER_CHECKS",
    "dslint.rules.checks.scheduler_values:SCHEDULER_VALUE_CHECKS",
    "dslint.rules.checks.blocks:BLOCK_CHECKS",
    "dslint.rules.checks.launch:LAUNCH_CHECKS",
    "dslint.rules.checks.script:SCRIPT_CHECKS",
    "dslint.rules.checks.trainer:TRAINER_CHECKS",
    "dslint.rules.checks.accelerate:ACCELERATE_CHECKS",
    "dslint.rules.checks.training:TRAINING_CHECKS",
)


@cache
def check_named(name: str) -> Check:
    """The check of a name.

    Raises:
        KeyError: there is no check of this name.
    """
    found = CHECKS.get(name)
    if found is not None:
        return found
    for table in LATER:
        checks = table_at(table)
        if name in checks:
            return checks[name]
    raise KeyError(name)


def table_at(entry: str) -> Mapping[str, Check]:
    module, _, table = entry.partition(":")
    found: Mapping[str, Check] = getattr(__import__(module, fromlist=(table,)), table)
    return found
