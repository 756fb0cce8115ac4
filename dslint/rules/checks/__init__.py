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
    optimizer,
    precision,
    scheduler,
    syntax,
)
from dslint.rules.checks.offload import OFFLOAD_CHECKS
from dslint.rules.checks.optimizer_values import OPTIMIZER_VALUE_CHECKS
from dslint.rules.checks.schema import SCHEMA_CHECKS
from dslint.rules.checks.zero import ZERO_CHECKS
from dslint.rules.match import Match

Check = Callable[[Launch], Iterable[Match]]

CHECKS: Final[Mapping[str, Check]] = {
    **SCHEMA_CHECKS,
    **OPTIMIZER_VALUE_CHECKS,
    **ZERO_CHECKS,
    **OFFLOAD_CHECKS,
    "float-too-large": floats.too_large,
    "float-as-switch": floats.as_switch,
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
    "optimizer-unknown": optimizer.unknown,
    "optimizer-removed": optimizer.removed,
    "optimizer-parameter": optimizer.parameter,
    "optimizer-untested": optimizer.untested,
    "scheduler-unknown": scheduler.unknown,
    "scheduler-parameter": scheduler.parameter,
    "scheduler-parameter-missing": scheduler.missing_parameter,
    "warmup-not-positive": scheduler.warmup_not_positive,
    "learning-rates-at-odds": scheduler.rates_at_odds,
    "loss-scale-no-room": precision.no_room,
    "loss-scale-key-in-bf16": precision.loss_scale_key_in_bf16,
    "loss-scale-window-small": precision.window_small,
    "loss-scale-static-harmful": precision.static_harmful,
    "gradient-type-without-zero": precision.gradient_type_without_zero,
    "parameter-type-at-odds": precision.parameter_type_at_odds,
    "fp16-unsupported": precision.fp16_unsupported,
    "autocast-without-type": precision.autocast_without_type,
    "auto-unresolved": auto.unresolved,
    "auto-dropped": auto.dropped,
}

# Families that a config alone has no use for, imported when a rule of theirs is first asked.
LATER: Final = (
    "dslint.rules.checks.launch:LAUNCH_CHECKS",
    "dslint.rules.checks.script:SCRIPT_CHECKS",
    "dslint.rules.checks.trainer:TRAINER_CHECKS",
    "dslint.rules.checks.accelerate:ACCELERATE_CHECKS",
    "dslint.rules.checks.training:TRAINING_CHECKS",
)


def check_named(name: str) -> Check:
    """The check of a name.

    Raises:
        KeyError: there is no check of this name.
    """
    found = CHECKS.get(name)
    return found if found is not None else later_checks()[name]


@cache
def later_checks() -> dict[str, Check]:
    found: dict[str, Check] = {}
    for entry in LATER:
        module, _, table = entry.partition(":")
        found.update(getattr(__import__(module, fromlist=(table,)), table))
    return found
