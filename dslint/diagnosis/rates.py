"""Numbers that are only worth reading when the log's head gives reason to: a rate that stays, a norm that is not clipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dslint.diagnosis.facts import Facts
from dslint.diagnosis.sightings import Evidence
from dslint.diagnosis.steps import step_near
from dslint.diagnosis.stretch import Stretch, evidence_at

_RATE: Final = re.compile(rb"learning[ _]rate['\"]?\s?[:=]\s?['\"]?(\d[\d.]*(?:[eE][-+]?\d+)?)")
_NORM: Final = re.compile(rb"grad[ _]norm['\"]?\s?[:=]\s?['\"]?(?:tensor\()?(\d[\d.]*(?:[eE][-+]?\d+)?)")


@dataclass(slots=True)
class Constant:
    """A learning rate that stays what it is from a line on."""

    value: float
    shown: str
    evidence: Evidence
    step: int | None
    records: int = 1


class ConstantRate:
    """Watches for a rate that rises and then stays, where the log says that WarmupLR made it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._rose = False
        self.current: Constant | None = None

    def __call__(self, stretch: Stretch) -> None:
        asked = self._facts.rate_asked or ""
        if self._facts.scheduler != "WarmupLR" or asked.lower().startswith("constant"):
            return
        for match in _RATE.finditer(stretch.buffer, stretch.start, stretch.end):
            value = float(match[1])
            current = self.current
            if current is not None and value == current.value:
                current.records += 1
                continue
            self._rose = self._rose or (current is not None and value > current.value)
            evidence = evidence_at(stretch, match.start())
            self.current = Constant(value, match[1].decode(), evidence, step_near(stretch, match.start()))

    @property
    def after_warmup(self) -> Constant | None:
        """The rate that the log ends with, when it had risen before and did not change any more."""
        return self.current if self._rose and self.current is not None and self.current.value > 0 else None


@dataclass(slots=True)
class LargeNorm:
    """How often the gradient norm was above what it should be clipped at, how large, and where first."""

    evidence: Evidence
    largest: float
    records: int = 0


class UnclippedNorm:
    """Watches for gradient norms above the Trainer's max_grad_norm, where the log says that DeepSpeed clips at 0."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.large: LargeNorm | None = None

    def __call__(self, stretch: Stretch) -> None:
        asked = self._facts.clip_asked
        if not asked or self._facts.clip != 0:
            return
        for match in _NORM.finditer(stretch.buffer, stretch.start, stretch.end):
            value = float(match[1])
            if value <= asked:
                continue
            if self.large is None:
                self.large = LargeNorm(evidence_at(stretch, match.start()), value)
            self.large.records += 1
            self.large.largest = max(self.large.largest, value)
