"""The worker's side of a record: events, a JSON object a line, written as they happen, so that none is lost with the process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dslint.engine import gauges
from dslint.engine.probe import Probe
from dslint.engine.storm import Storm
from dslint.engine.tap import Listener, tap
from dslint.engine.trial import EngineError, Stage, portable


class Events:
    """A rank's file of events."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._file = (folder / f"rank-{rank}.jsonl").open("a", encoding="utf-8")

    def __call__(self, event: str, **content: Any) -> None:
        self._file.write(json.dumps({"event": event, **content}) + "\n")
        self._file.flush()

    def reached(self, stage: Stage) -> None:
        self("reached", stage=stage)

    def note(self, text: str) -> None:
        self("note", text=text)

    def error(self, error: EngineError) -> None:
        self("error", **error._asdict())


class Steps:
    """Listens in on an engine, and tells each optimizer step as an event.

    `done` turns true when the steps that were asked for are taken, or when `is_late` says that the time for them is over; the
    loop around the engine then stops.
    """

    def __init__(
        self, events: Events, storm: Storm, wanted: int, is_late: Callable[[], bool], model: Any
    ) -> None:
        self.number = 0
        self._events, self._storm, self._wanted, self._is_late = events, storm, wanted, is_late
        self._probe = Probe(model)
        self._losses: list[Any] = []
        self._averaged = True
        self._scale: float | None = None
        self._norm: Any = None
        self._rate: float | None = None
        self._since = time.perf_counter()
        self._engine: Any = None

    def attach(self, engine: Any) -> None:
        self._engine = engine
        tap(engine, Listener(self._backward, self._before, self._after))
        self._since = time.perf_counter()

    @property
    def gradient_dtype(self) -> str | None:
        return self._probe.dtype

    @property
    def scale(self) -> float | None:
        """The loss scale now."""
        return None if self._engine is None else gauges.loss_scale(self._engine)

    @property
    def done(self) -> bool:
        return self.number >= self._wanted or (self.number > 0 and self._is_late())

    def _backward(self, loss: Any, averaged: bool) -> Any:
        self._losses.append(loss.detach().float())
        self._averaged = averaged
        factor = self._storm.at(self.number + 1)
        return loss if factor == 1.0 else loss * factor

    def _before(self, engine: Any) -> None:
        self._scale = gauges.loss_scale(engine)
        self._rate = gauges.learning_rate(engine)
        self._norm = None if hasattr(engine.optimizer, "overflow") else norm_of_plain(engine.module)

    def _after(self, engine: Any) -> None:
        self.number += 1
        skipped = gauges.was_skipped(engine)
        norm = number(self._norm if self._norm is not None else gauges.gradient_norm(engine))
        shares = self._probe.take()
        total = sum(loss.item() for loss in self._losses)
        self._events(
            "step",
            number=self.number,
            loss=portable(total / len(self._losses) if self._averaged else total),
            scale=portable(self._scale),
            # What was skipped was not measured: some releases leave the norm of the step before, or -1.
            norm=None if norm is None or skipped else portable(norm),
            skipped=skipped,
            seconds=time.perf_counter() - self._since,
            zeros=shares.zeros,
            infinite=shares.infinite,
            stressed=self._storm.over(self.number),
            lr=self._rate,
        )
        self._losses = []
        self._since = time.perf_counter()


def norm_of_plain(model: Any) -> Any:
    """The 2-norm of gradients that lie where torch leaves them, as at stage 0 in float32."""
    import torch

    norms = [parameter.grad.norm() for parameter in model.parameters() if parameter.grad is not None]
    return torch.linalg.vector_norm(torch.stack(norms)) if norms else None


def number(value: Any) -> float | None:
    """A number or a tensor with one, as a float."""
    if value is None:
        return None
    return float(value.item() if hasattr(value, "item") else value)
