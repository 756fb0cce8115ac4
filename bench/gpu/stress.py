"""The stress runs on a GPU: blocks that die or learn nothing under it, each beside one that lives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from dslint.engine import judging
from dslint.engine.running import CannotRun, run
from dslint.engine.trial import Device, Record, Stress, Trial, portable


class Case(NamedTuple):
    """A config's blocks under a stress; `storm` is its length in steps, None until it must tell."""

    name: str
    blocks: dict[str, Any]
    stress: Stress
    storm: int | None = None


def fp16(**settings: Any) -> dict[str, Any]:
    return {"fp16": {"enabled": True, **settings}}


def zero(stage: int) -> dict[str, Any]:
    return {"zero_optimization": {"stage": stage}}


BF16 = {"bf16": {"enabled": True}}
CASES = (
    *(Case(f"fp16, defaults, ZeRO {stage}", {**fp16(), **zero(stage)}, "overflow") for stage in (1, 2, 3)),
    Case("fp16, defaults, ZeRO 0", fp16(), "overflow"),
    Case("fp16, min_loss_scale 4096, ZeRO 2", {**fp16(min_loss_scale=4096), **zero(2)}, "overflow"),
    Case("fp16, min_loss_scale 1, ZeRO 2, the same storm", {**fp16(), **zero(2)}, "overflow", 6),
    Case("bf16, ZeRO 2, the storm that kills the defaults", {**BF16, **zero(2)}, "overflow", 18),
    Case("fp16, loss_scale 0.5, ZeRO 2", {**fp16(loss_scale=0.5), **zero(2)}, "underflow"),
    Case("fp16, defaults, ZeRO 2", {**fp16(), **zero(2)}, "underflow"),
    Case("bf16, ZeRO 2", {**BF16, **zero(2)}, "underflow"),
)


def run_all(done: set[str], device: Device = "cuda", at_once: int = 5) -> Iterator[dict[str, Any]]:
    """A row for each case that is not done yet, in their order."""
    left = [case for case in CASES if key(case) not in done]
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda case: row(case, device), left)


def key(case: Case) -> str:
    return f"{case.stress}: {case.name}"


def row(case: Case, device: Device) -> dict[str, Any]:
    text = json.dumps({"train_micro_batch_size_per_gpu": 4, **case.blocks})
    try:
        record = run(
            Trial(text, "ds_config.json", device=device, stress=case.stress, storm=case.storm, seconds=120)
        )
    except CannotRun as error:
        return {"name": key(case), "headline": f"not run: {error}"}
    return {"name": key(case), **shown(record)}


def shown(record: Record) -> dict[str, Any]:
    """What the page tells of a run."""
    steps = record.steps
    return {
        "headline": judging.headline(record),
        "means": judging.consequences(record),
        "error": None if record.error is None else record.error.sentence.splitlines()[0],
        "steps": len(steps),
        "skipped": record.skipped,
        "loss": [portable(steps[0].loss), portable(steps[-1].loss)] if steps else [],
        "zeros": judging.share(steps, True),
        "notes": list(record.notes),
    }
