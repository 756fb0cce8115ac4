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
        if record.trial.stress != "overflow":
            return "accepted"
        return "lived, but learns nothing" if idle_after(record) else "lived"
    if record.ended == "not-run" or record.error is None:
        return HEADLINES[record.ended]
    return f"{HEADLINES[record.ended]} {STAGES[record.error.stage].format(step=record.error.step)}"


def tone(record: Record) -> str:
    """Which of the ways to end a record looks like: one that lived and learns nothing is no good end."""
    return "late" if record.trial.stress == "overflow" and idle_after(record) else record.ended


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
        said.append(f"{count(skipped, 'step')} overflowed and {was(skipped)} skipped{fell}")
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
    after = steps_after(record)
    if not after:
        return []
    first = after[0].number
    if all(step.skipped for step in after):
        return [f"it did not stop, but it learns nothing: every step since {first} was skipped as well"]
    if not all(math.isfinite(step.loss) for step in after):
        return ["afterwards its loss was no number any more"]
    if idle_after(record):
        scale = after[-1].scale
        under = f" under the loss scale of {short(scale)} that was left" if scale is not None else ""
        return [
            f"it did not stop, but it learns nothing: from step {first} on, {percent(share(after, False) or 0.0)} of the "
            f"gradient's elements were 0{under}"
        ]
    loss = short(after[-1].loss)
    if not any(step.skipped for step in storm):
        return [f"it trained on, to a loss of {loss}"]
    first = next(step.number for step in after if not step.skipped)
    return [f"from step {first} on it trained again, to a loss of {loss}"]


def steps_after(record: Record) -> list[Step]:
    """The steps after the last one under stress."""
    last = max((step.number for step in record.steps if step.stressed), default=0)
    return [step for step in record.steps if step.number > last]


def idle_after(record: Record) -> bool:
    """After the storm, was every step skipped, or its gradient mostly 0?"""
    after = steps_after(record)
    return bool(after) and (all(step.skipped for step in after) or (share(after, False) or 0.0) >= VANISHED)


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
    if record.ended == "accepted":
        return headline(record) if record.trial.stress else "was accepted"
    return headline(record) if record.ended == "died" else f"was {headline(record)}"


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
