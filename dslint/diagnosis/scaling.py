"""The loss scale through a log: how often a step overflowed, how far the scale fell, and which steps were skipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from dslint.diagnosis.sightings import Evidence
from dslint.diagnosis.steps import step_near
from dslint.diagnosis.stretch import Stretch, evidence_at

POINTS: Final = 512
_SCALE: Final = re.compile(
    rb"loss[ _]scale['\"]?(?:: ?| from |=)(?P<from>\d[\d.]*(?:[eE][-+]?\d+)?)"
    rb"(?:,? (?:reducing )?to (?P<to>\d[\d.]*(?:[eE][-+]?\d+)?)|, but (?P<hysteresis>hysteresis))?"
)
_SKIPPED: Final = re.compile(rb"step=(\d+), skipped=(\d+)")


class Point(NamedTuple):
    """The loss scale after an event, the line where the log tells it, and how many events there had been."""

    line: int
    event: int
    scale: float


@dataclass(slots=True)
class Fall:
    """Overflow upon overflow, with no growth of the scale between."""

    first: float
    lowest: float
    evidence: Evidence
    step: int | None
    overflows: int = 0


class LossScale:
    """Watches the lines of DeepSpeed's loss scalers, and of Megatron and GPT-NeoX, which print the scale each time."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.overflows = 0
        self.worst: Fall | None = None
        self._fall: Fall | None = None
        self._events = 0
        self._every = 1

    def __call__(self, stretch: Stretch) -> None:
        line, counted = stretch.line, stretch.start
        for match in _SCALE.finditer(stretch.buffer, stretch.start, stretch.end):
            line += stretch.buffer.count(b"\n", counted, match.start())
            counted = match.start()
            self._event(stretch, match, line)

    def _event(self, stretch: Stretch, match: re.Match[bytes], line: int) -> None:
        before = float(match["from"])
        overflow = match["to"] is not None or match["hysteresis"] is not None
        after = float(match["to"]) if match["to"] else before
        if match["to"] and after > before:
            overflow = False
        if overflow:
            self.overflows += 1
            self._down(stretch, match, before, after, line)
        elif self.points and before > self.points[-1].scale:
            self._fall = None
        elif self.points and before < self.points[-1].scale:
            # Megatron prints no overflow; a smaller scale than the last tells of one.
            self.overflows += 1
            self._down(stretch, match, self.points[-1].scale, before, line)
        self._keep(Point(line, self._events, after))
        self._events += 1

    def _down(self, stretch: Stretch, match: re.Match[bytes], before: float, after: float, line: int) -> None:
        fall = self._fall
        if fall is None or before > fall.lowest:
            evidence = evidence_at(stretch, match.start(), line)
            fall = self._fall = Fall(before, before, evidence, step_near(stretch, match.start()))
        fall.overflows += 1
        fall.lowest = min(fall.lowest, after)
        if self.worst is None or (fall.first / max(fall.lowest, 1e-30), fall.overflows) > (
            self.worst.first / max(self.worst.lowest, 1e-30),
            self.worst.overflows,
        ):
            self.worst = fall

    def _keep(self, point: Point) -> None:
        """Bounded: every second, fourth, … point is kept as they become many."""
        if point.event % self._every == 0:
            self.points.append(point)
            if len(self.points) >= POINTS:
                self.points = self.points[::2]
                self._every *= 2
        elif self.points:
            self.points[-1] = self.points[-1]._replace(scale=min(self.points[-1].scale, point.scale))


@dataclass(slots=True)
class Skipping:
    """A stretch of steps that were all skipped, from `start` to `end`."""

    start: int
    end: int
    evidence: Evidence

    @property
    def steps(self) -> int:
        return self.end - self.start


class SkippedSteps:
    """Watches the engine's `step=…, skipped=…` lines for stretches in which every step was skipped."""

    def __init__(self) -> None:
        self.longest: Skipping | None = None
        self.last_step = 0
        self._last: tuple[int, int] = (0, 0)
        self._open: Skipping | None = None

    def __call__(self, stretch: Stretch) -> None:
        for match in _SKIPPED.finditer(stretch.buffer, stretch.start, stretch.end):
            self._report(stretch, match, int(match[1]), int(match[2]))

    def _report(self, stretch: Stretch, match: re.Match[bytes], step: int, skipped: int) -> None:
        last_step, last_skipped = self._last
        self._last = (step, skipped)
        self.last_step = step
        if step <= last_step:
            # A new run in the same log.
            self._open = None
            return
        if skipped - last_skipped < step - last_step:
            self._open = None
            return
        if self._open is None:
            self._open = Skipping(last_step, step, evidence_at(stretch, match.start()))
        self._open.end = step
        if self.longest is None or self._open.steps >= self.longest.steps:
            self.longest = self._open
