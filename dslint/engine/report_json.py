"""The record for programs: an array, an object for each config."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dslint.engine.judging import consequences, headline
from dslint.engine.trial import Step, portable
from dslint.engine.validating import Pair, Validated
from dslint.reports.as_json import item


def render(pairs: Sequence[Pair]) -> str:
    return json.dumps([pair_item(pair) for pair in pairs], indent=2) + "\n"


def pair_item(pair: Pair) -> dict[str, Any]:
    compared = None if pair.compared is None else validated_item(pair.compared)
    return {**validated_item(pair.given), "compared": compared}


def validated_item(validated: Validated) -> dict[str, Any]:
    """Times in seconds, memory in bytes; a number that JSON has no form for (NaN, infinity) is a text."""
    record, explanation = validated
    trial, steps = record.trial, record.steps
    cause = explanation.cause
    return {
        "filename": trial.shown,
        "ended": record.ended,
        "headline": headline(record),
        "error": None if record.error is None else record.error._asdict(),
        "explained_by": [item(finding) for finding in explanation.explaining],
        "unforeseen": explanation.unforeseen(record),
        "cause": None
        if cause is None
        else {"name": cause.message.name, "summary": cause.summary, "fix": cause.fix},
        "findings": [item(finding) for finding in explanation.findings],
        "asked": {
            name: getattr(trial, name)
            for name in ("framework", "steps", "device", "processes", "model", "stress")
        },
        "machine": dict(record.machine),
        "effective": dict(record.facts),
        "skipped_steps": record.skipped,
        "loss": {"first": portable(steps[0].loss), "last": portable(steps[-1].loss)} if steps else None,
        "trajectory": [step_item(step) for step in steps],
        "peak_memory": record.peak_memory,
        "step_seconds": record.step_seconds,
        "seconds": record.seconds,
        "means": consequences(record),
        "notes": list(record.notes),
    }


def step_item(step: Step) -> dict[str, Any]:
    return {name: portable(value) for name, value in step._asdict().items()}
