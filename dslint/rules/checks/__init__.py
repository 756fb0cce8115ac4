"""Checks: the conditions that a table cannot say, by the name that a rule file gives as `check:`.

A check takes a launch and yields a Match for each place where it holds. It looks; it words nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dslint.launches.launch import Launch
from dslint.rules.checks import (
    batch,
    launch,
    offload,
    optimizer,
    precision,
    scheduler,
    script,
    syntax,
    trainer,
)
from dslint.rules.checks.accelerate import ACCELERATE_CHECKS
from dslint.rules.checks.schema import SCHEMA_CHECKS
from dslint.rules.checks.training import TRAINING_CHECKS
from dslint.rules.checks.zero import ZERO_CHECKS
from dslint.rules.match import Match

Check = Callable[[Launch], Iterable[Match]]

CHECKS: Final[Mapping[str, Check]] = {
    **SCHEMA_CHECKS,
    **ACCELERATE_CHECKS,
    **TRAINING_CHECKS,
    **ZERO_CHECKS,
    "config-missing": launch.config_missing,
    "deepspeed-takes-no-path": launch.deepspeed_takes_no_path,
    "unknown-argument": launch.unknown_argument,
    "local-rank-refused": launch.local_rank_refused,
    "visible-devices-ignored": launch.visible_devices_ignored,
    "starters-multiplied": launch.starters_multiplied,
    "broken-continuation": script.broken_continuation,
    "trainer-mismatch": trainer.mismatch,
    "both-formats-in-arguments": trainer.both_formats,
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
    "nvme-without-path": offload.nvme_without_path,
    "loss-scale-no-room": precision.no_room,
    "loss-scale-key-in-bf16": precision.loss_scale_key_in_bf16,
}
