"""Runs of senseless values in a log's numbers: a loss, gradient norm or learning rate that is 0 or not a number.

A healthy log holds none, so the search is for the senseless value alone; only when one is met are the values around it
read one by one. That keeps the pass over a good log to one look for the name of the number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from dslint.diagnosis.sightings import Evidence
from dslint.diagnosis.steps import step_near
from dslint.diagnosis.stretch import Stretch, evidence_at, line_around

Kind = Literal["nan", "zero"]

_NOT_FINITE: Final = rb"[-+]?(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)"
_ZERO: Final = rb"(?![-+]?[0.]*[1-9])[-+]?\d[\d.]*(?:[eE][-+]?\d+)?"
_NUMBER: Final = rb"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?"
_BETWEEN: Final = rb"['\"]?[:= ]{1,3}['\"]?(?:tensor\()?"


@dataclass(slots=True)
class Run:
    """Equal senseless values one after another. `at_start`: nothing came before them; `to_end`: nothing came after."""

    kind: Kind
    value: str
    evidence: Evidence
    step: int | None
    records: int = 1
    at_start: bool = False
    to_end: bool = False


class Series:
    """Watches one number, whose name is `head` and then the pattern `rest`.

    `zeros` tells whether 0 is senseless for it; `alien` is text of lines where it is normal.
    """

    def __init__(
        self, head: bytes, rest: bytes = b"", *, zeros: bool = True, alien: tuple[bytes, ...] = ()
    ) -> None:
        odd = _NOT_FINITE + rb"|" + _ZERO if zeros else _NOT_FINITE
        self._head = head
        self._odd = re.compile(head + rest + _BETWEEN + rb"(" + odd + rb")")
        self._any = re.compile(head + rest + _BETWEEN + rb"(" + _NOT_FINITE + rb"|" + _NUMBER + rb")")
        self._zeros = zeros
        self._alien = alien
        self._open: Run | None = None
        self._spelt = b""
        self._had_any = False
        self.runs: list[Run] = []

    def __call__(self, stretch: Stretch) -> None:
        position = stretch.start
        while position < stretch.end:
            if self._open is None:
                match = self._first_odd(stretch, position)
                end = match.start() if match else stretch.end
                self._had_any = self._had_any or bool(self._any.search(stretch.buffer, position, end))
                if match is None:
                    return
                self._begin(stretch, match)
                position = match.end()
            position = self._follow(stretch, position)

    def _first_odd(self, stretch: Stretch, position: int) -> re.Match[bytes] | None:
        for match in self._odd.finditer(stretch.buffer, position, stretch.end):
            # `0..` looks like a number to the pattern, and is none.
            if self._counts(stretch, match) and self._kind(match[1]) is not None:
                return match
        return None

    def longest(self, kind: Kind) -> Run | None:
        """The longest run of a kind, of equal ones the first."""
        runs = [run for run in self._all() if run.kind == kind]
        return max(runs, key=lambda run: run.records, default=None)

    def _all(self) -> list[Run]:
        if self._open is not None:
            self._open.to_end = True
            return [*self.runs, self._open]
        return self.runs

    def _follow(self, stretch: Stretch, position: int) -> int:
        """Count on while the run lasts; the place where it is over, or the end."""
        run = self._open
        assert run is not None
        same = stretch.buffer.count(self._spelt, position, stretch.end)
        if same == stretch.buffer.count(self._head, position, stretch.end):
            # The usual sick log: the same again and again. Counting it is as fast as not looking.
            run.records += same
            return stretch.end
        for match in self._any.finditer(stretch.buffer, position, stretch.end):
            if not self._counts(stretch, match):
                continue
            if self._kind(match[1]) == run.kind:
                run.records += 1
                continue
            self._close()
            if self._kind(match[1]):
                self._begin(stretch, match)
            return match.end()
        return stretch.end

    def _begin(self, stretch: Stretch, match: re.Match[bytes]) -> None:
        kind = self._kind(match[1])
        assert kind is not None
        evidence = evidence_at(stretch, match.start())
        step = step_near(stretch, match.start())
        self._open = Run(kind, match[1].decode(), evidence, step, at_start=not self._had_any)
        self._spelt = match[0]
        self._had_any = True

    def _close(self) -> None:
        run = self._open
        assert run is not None
        self._open = None
        self.runs.append(run)
        if len(self.runs) > 64:
            # The first few say where it began, the longest how bad it was.
            self.runs = sorted(
                sorted(self.runs, key=lambda r: -r.records)[:32], key=lambda r: r.evidence.line
            )

    def _counts(self, stretch: Stretch, match: re.Match[bytes]) -> bool:
        """Whether the match is this number, and not another whose name ends alike or that may well be 0."""
        buffer, at = stretch.buffer, match.start()
        before = buffer[max(0, at - 3) : at]
        if before[-1:] in (b"_", b"/", b"-") or before[-1:].isalnum():
            own = before == b"lm_" or buffer[max(0, at - 6) : at] == b"train/"
            if not own:
                return False
        if self._alien:
            start, stop = line_around(buffer, at, stretch.start, stretch.end)
            line = buffer[start:stop]
            return not any(text in line for text in self._alien)
        return True

    def _kind(self, value: bytes) -> Kind | None:
        if value.lower().endswith((b"nan", b"inf", b"infinity")):
            return "nan"
        try:
            return "zero" if self._zeros and float(value) == 0 else None
        except ValueError:
            return None
