"""What the numbers of a log amount to: which of their oddities are trouble, with what is to be said of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from dslint.diagnosis.facts import Facts
from dslint.diagnosis.plot import plot_scale
from dslint.diagnosis.rates import ConstantRate, UnclippedNorm
from dslint.diagnosis.scaling import Fall, LossScale, SkippedSteps
from dslint.diagnosis.series import Kind, Run, Series
from dslint.diagnosis.sightings import Evidence
from dslint.diagnosis.stretch import Stretch

# A loss or gradient of 0 is by design in some trainers of trl, whose records have rewards in them.
REWARDS: Final = (b"reward", b"'kl'", b'"kl"')
# Steps that the first search for a loss scale may skip, from the largest start in use (2^32) to a usable scale.
SEARCH: Final = 40
LOW_SCALE: Final = 32.0


class Trouble(NamedTuple):
    """`name` is that of the `metric` in the catalogue; `step` where it began, as far as the log tells."""

    name: str
    captures: dict[str, str]
    evidence: Evidence
    step: int | None = None
    times: int = 1
    plot: tuple[str, ...] = ()


class Numbers:
    """All that watches the numbers, as readers for the scanner."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.scale = LossScale()
        self.skipped = SkippedSteps()
        self.loss = Series(b"loss", alien=REWARDS)
        self.norm = Series(b"grad", rb"[ _]norm", alien=REWARDS)
        self.rate = Series(b"learning", rb"[ _]rate")
        self.constant = ConstantRate(self.facts)
        self.unclipped = UnclippedNorm(self.facts)
        self._readers: tuple[Callable[[Stretch], None], ...] = (
            self.facts,
            self.scale,
            self.skipped,
            self.loss,
            self.norm,
            self.rate,
            self.constant,
            self.unclipped,
        )

    def __call__(self, stretch: Stretch) -> None:
        for reader in self._readers:
            reader(stretch)

    def troubles(self) -> Iterator[Trouble]:
        yield from _scale(self.scale)
        yield from _skipped(self.skipped)
        yield from _run("loss-nan", self.loss, "nan")
        yield from _run("loss-zero", self.loss, "zero")
        yield from _run("gradient-nan", self.norm, "nan")
        yield from _run("gradient-zero", self.norm, "zero")
        yield from _run("rate-zero", self.rate, "zero")
        yield from _constant(self.constant)
        yield from _unclipped(self.unclipped, self.facts)
        yield from _world(self.facts)

    def notes(self) -> Iterator[str]:
        """What looks like trouble and is none."""
        fall = self.scale.worst
        if fall is not None and not _is_endless(fall) and fall.lowest > 1:
            yield (
                f"{_times(self.scale.overflows, 'step')} overflowed fp16 and {_was(self.scale.overflows)} skipped while the "
                f"loss scale settled (from {number(fall.first)} to {number(fall.lowest)}): that is the normal search."
            )


def _scale(scale: LossScale) -> Iterator[Trouble]:
    fall = scale.worst
    if fall is None:
        return
    captures = {
        "first": number(fall.first),
        "lowest": number(fall.lowest),
        "last": number(scale.points[-1].scale),
        "overflows": f"{fall.overflows:,}",
    }
    plot = tuple(plot_scale(scale.points)) if fall.first / max(fall.lowest, 1e-30) >= 16 else ()
    if fall.lowest <= 1 and fall.overflows >= 3:
        yield Trouble("loss-scale-floor", captures, fall.evidence, fall.step, fall.overflows, plot)
    elif _is_endless(fall):
        yield Trouble("overflow-run", captures, fall.evidence, fall.step, fall.overflows, plot)


def _is_endless(fall: Fall) -> bool:
    return fall.overflows >= SEARCH or (fall.overflows >= 8 and fall.lowest <= LOW_SCALE)


def _skipped(skipped: SkippedSteps) -> Iterator[Trouble]:
    longest = skipped.longest
    if longest is None:
        return
    to_end = longest.end == skipped.last_step
    if longest.steps >= SEARCH or (longest.steps >= 10 and to_end):
        captures = {"steps": f"{longest.steps:,}", "start": str(longest.start)}
        yield Trouble("all-steps-skipped", captures, longest.evidence, longest.start)


def _run(name: str, series: Series, kind: Kind) -> Iterator[Trouble]:
    run = series.longest(kind)
    if run is None or not _is_trouble(name, run):
        return
    captures = {"records": f"{run.records:,}", "value": run.value}
    yield Trouble(name, captures, run.evidence, run.step, run.records)


def _is_trouble(name: str, run: Run) -> bool:
    """Whether a run is more than a hiccup. A search for the loss scale makes a dozen gradients NaN; a schedule ends at 0."""
    if name == "loss-nan":
        return run.records >= 2 or (run.to_end and not run.at_start)
    if name == "loss-zero":
        return run.records >= 3
    if name == "gradient-nan":
        return run.records >= (SEARCH if run.at_start and not run.to_end else 3)
    return run.records >= 5


def _constant(rate: ConstantRate) -> Iterator[Trouble]:
    constant = rate.after_warmup
    if constant is not None and constant.records >= 20:
        captures = {"value": constant.shown, "records": f"{constant.records:,}"}
        yield Trouble("rate-constant", captures, constant.evidence, constant.step, constant.records)


def _unclipped(norm: UnclippedNorm, facts: Facts) -> Iterator[Trouble]:
    large = norm.large
    if large is not None and large.records >= 5:
        asked, clip = number(facts.clip_asked or 0), number(facts.clip or 0)
        captures = {"asked": asked, "clip": clip, "largest": number(large.largest)}
        yield Trouble("clip-missing", captures, large.evidence, None, large.records)


def _world(facts: Facts) -> Iterator[Trouble]:
    if not facts.world or (facts.machines or 1) < 2:
        return
    captures = {"world": str(facts.world), "machines": str(facts.machines)}
    if facts.processes and facts.processes > facts.world:
        captures["processes"] = str(facts.processes)
    elif facts.banners >= 2 and facts.banners == facts.machines:
        captures["banners"] = str(facts.banners)
    else:
        return
    yield Trouble("world-too-small", captures, facts.batch_evidence)


def number(value: float) -> str:
    """A number as people write it: 65536, 0.5, 1e-10."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 1e6 else str(int(value))
    return f"{value:.4g}"


def _times(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _was(count: int) -> str:
    return "was" if count == 1 else "were"
