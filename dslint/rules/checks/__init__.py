"""Checks: the conditions that a table cannot say, by the name that a rule file gives as `check:`.

A check takes a launch and yields a Match for each place where it holds. It looks; it words nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dslint.launches.launch import Launch
from dslint.rules.checks import batch, offload, precision, syntax
from dslint.rules.checks.schema import SCHEMA_CHECKS
from dslint.rules.match import Match

Check = Callable[[Launch], Iterable[Match]]

CHECKS: Final[Mapping[str, Check]] = {
    **SCHEMA_CHECKS,
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
    "nvme-without-path": offload.nvme_without_path,
    "loss-scale-no-room": precision.no_room,
    "loss-scale-key-in-bf16": precision.loss_scale_key_in_bf16,
}
