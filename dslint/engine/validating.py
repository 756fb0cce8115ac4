"""A config taken to the real engine, from the asking to the explained record."""

from __future__ import annotations

from typing import NamedTuple

from dslint.engine.explaining import Explanation, explain
from dslint.engine.running import CannotRun, Launcher, Progress, run
from dslint.engine.storm import OVERFLOW
from dslint.engine.trial import Device, Framework, Record, Trial
from dslint.engine.verdict import Point, Verdict


class Validated(NamedTuple):
    """A config's record with what explains it."""

    record: Record
    explanation: Explanation


class Pair(NamedTuple):
    """A config's run, and that of the one it is compared with under the same conditions."""

    given: Validated
    compared: Validated | None = None

    @property
    def all(self) -> tuple[Validated, ...]:
        return (self.given,) if self.compared is None else (self.given, self.compared)


def validate(trial: Trial, launcher: Launcher, progress: Progress | None = None) -> Validated:
    """Raises CannotRun where the engine is not installed."""
    record = run(trial, launcher, progress)
    return Validated(record, explain(record))


def compare(trial: Trial, other: Trial | None, launcher: Launcher, progress: Progress | None = None) -> Pair:
    """Run a config and then the other; what killed the one is done to the other for as long."""
    given = validate(trial, launcher, progress)
    if other is None:
        return Pair(given)
    if trial.stress == "overflow" and trial.storm is None:
        other = other._replace(storm=storm_length(given.record))
    return Pair(given, validate(other, launcher, progress))


def storm_length(record: Record) -> int | None:
    """How many steps of a record were under stress, the one that it died in included."""
    storm = record.machine.get("storm") or {}
    if storm.get("factor") != OVERFLOW:
        return None
    length = int(storm["length"])
    if record.ended == "died" and record.error is not None and record.error.step is not None:
        return max(1, min(length, record.error.step - int(storm["calm"])))
    return length


def accepted(
    config_text: str,
    framework: Framework = "deepspeed",
    *,
    shown: str = "ds_config.json",
    steps: int = 2,
    device: Device = "auto",
    processes: int = 1,
    seconds: float = 300.0,
    progress: Progress | None = None,
) -> Verdict:
    """Does the installed engine take a config's text, and train a few steps with it?

    Args:
        config_text: the file as it would be written; `shown` is its path as people know it.
        seconds: the time limit. A run that it ends is not accepted.

    Raises:
        CannotRun: deepspeed or torch is not installed, or this machine, not the config, stood in the way.
    """
    trial = Trial(config_text, shown, framework, steps, device, processes, seconds=seconds)
    record = run(trial, progress=progress)
    if record.ended == "not-run":
        raise CannotRun(
            f"{shown} could not be taken to the engine: {record.error.message if record.error else ''}"
        )
    return verdict(record)


def verdict(record: Record) -> Verdict:
    """A record in short: how far it came, and the error."""
    reached: Point | None = None
    if record.ended == "accepted":
        reached = "steps"
    elif record.error is not None and record.error.stage == "step":
        reached = "init"
    elif record.error is not None and record.error.stage == "init":
        reached = "load"
    error = None if record.error is None else record.error.sentence
    return Verdict(reached, error, record.facts, record.said, record.seconds)
