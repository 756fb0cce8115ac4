"""What a record amounts to, in sentences and numbers for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from dslint.engine.trial import Record, Step

MINIMUM: Final = "Current loss scale already at minimum"
# From this share of zero gradients on, the weights that they belong to stand still.
VANISHED: Final = 0.5
HEADLINES: Final = {
    "accepted": "accepted",
    "refused": "refused",
    "died": "died",
    "late": "not done in time",
    "not-run": "not run",
}
STAGES: Final = {
    "start": "while starting",
    "load": "while its config was loaded",
    "init": "while it was initialized",
    "step": "in step {step}",
}


def headline(record: Record) -> str:
    """accepted, refused while its config was loaded, died in step 21, …"""
    if record.ended == "accepted":
        return "lived" if record.trial.stress == "overflow" else "accepted"
    if record.ended == "not-run" or record.error is None:
        return HEADLINES[record.ended]
    return f"{HEADLINES[record.ended]} {STAGES[record.error.stage].format(step=record.error.step)}"


def consequences(record: Record) -> list[str]:
    """What the numbers mean, a sentence each."""
    if not record.steps:
        return []
    if record.trial.stress == "overflow":
        return overflowed(record)
    if record.trial.stress == "underflow":
        return underflowed(record)
    return trained(record)


def overflowed(record: Record) -> list[str]:
    storm = [step for step in record.steps if step.stressed]
    skipped = sum(step.skipped for step in storm)
    scales = [step.scale for step in storm if step.scale is not None]
    if scales and record.ended == "died" and record.facts.get("last_scale") is not None:
        scales.append(float(record.facts["last_scale"]))
    fell = f", and the loss scale fell from {short(scales[0])} to {short(scales[-1])}" if scales else ""
    said: list[str] = []
    if skipped:
        said.append(f"{count(skipped, 'step')} in a row overflowed and {was(skipped)} skipped{fell}")
    elif storm:
        said.append(f"{count(len(storm), 'step')} under stress {was(len(storm))} taken as any other")
    if record.ended == "died" and record.error is not None and MINIMUM in record.error.message:
        said.append(
            f"the next overflow, in step {record.error.step}, met the loss scale at its floor, where DeepSpeed gives up"
        )
    if record.ended == "accepted":
        said += afterwards(record, storm)
    return said


def afterwards(record: Record, storm: Sequence[Step]) -> list[str]:
    last = storm[-1].number if storm else 0
    after = [step for step in record.steps if step.number > last]
    if not after:
        return []
    if all(step.skipped for step in after):
        return [f"it did not stop, but it learns nothing: every step since {last + 1} was skipped as well"]
    if not all(math.isfinite(step.loss) for step in after):
        return ["afterwards its loss was no number any more"]
    loss = short(after[-1].loss)
    if not any(step.skipped for step in storm):
        return [f"it trained on, to a loss of {loss}"]
    first = next(step.number for step in after if not step.skipped)
    return [f"from step {first} on it trained again, to a loss of {loss}"]


def underflowed(record: Record) -> list[str]:
    stressed = share(record.steps, True)
    if stressed is None:
        return []
    scales = [step.scale for step in record.steps if step.stressed and step.scale]
    under = f"under a loss scale of {short(max(scales))}" if scales else "with nothing scaled"
    said = [f"{percent(stressed)} of the gradient's elements were 0 {under}"]
    if stressed >= VANISHED:
        said.append("the weights behind them stand still, while the run seems healthy")
    return said


def trained(record: Record) -> list[str]:
    if any(not math.isfinite(step.loss) for step in record.steps):
        first = next(step.number for step in record.steps if not math.isfinite(step.loss))
        return [f"from step {first} on the loss was no number"]
    if record.skipped and record.skipped == len(record.steps):
        return ["every step overflowed and was skipped: the weights are as they were"]
    zeros = share(record.steps, False)
    if zeros is not None and zeros >= VANISHED and record.trial.model == "tiny":
        return [f"{percent(zeros)} of the gradient's elements were 0"]
    return []


def share(steps: Sequence[Step], stressed: bool) -> float | None:
    """The mean share of zero gradients in the steps under stress, or in the others."""
    shares = [step.zeros for step in steps if step.zeros is not None and step.stressed is stressed]
    return sum(shares) / len(shares) if shares else None


def comparison(given: Record, other: Record) -> str:
    """One sentence on two runs."""
    names = given.trial.shown, other.trial.shown
    storm = (
        "under the same storm "
        if given.trial.stress == "overflow"
        else "under the same stress "
        if given.trial.stress
        else ""
    )
    return f"{storm}{names[0]} {end_of(given)}; {names[1]} {end_of(other)}"


def end_of(record: Record) -> str:
    if record.trial.stress == "underflow" and record.ended == "accepted" and record.steps:
        zeros = share(record.steps, True) or 0.0
        lost = "lost nothing" if zeros < 0.01 else f"lost {percent(zeros)} of its gradient"
        return f"{lost} and came to a loss of {short(record.steps[-1].loss)}"
    return (
        headline(record) if record.ended != "accepted" else "lived" if record.trial.stress else "was accepted"
    )


def short(value: float) -> str:
    """A number as people write it: 65536, 0.5, 1.2e-05."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.3g}"


def percent(value: float) -> str:
    if value == 0:
        return "none"
    if value < 0.001:
        return "less than 0.1 %"
    return f"{100 * value:.1f} %"


def count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def was(number: int) -> str:
    return "was" if number == 1 else "were"


def size(value: int) -> str:
    """Bytes as MB or GB (10^6, 10^9)."""
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"
