"""What the loops under each framework share: the trial, its events, and the marks on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from dslint.engine import gauges
from dslint.engine.effective import effective
from dslint.engine.ranks import processes, rank
from dslint.engine.recorder import Events, Steps
from dslint.engine.storm import Storm
from dslint.engine.trial import Stage, Trial
from dslint.engine.waits import Clock

# Of the time limit, this part may pass in steps; the rest is for the end.
SHARE: Final = 0.8


LIFTED: Final = (
    "this CPU has no fp16 arithmetic of its own, and DeepSpeed would refuse it; dslint let it pass and torch's fp16 ran: it "
    "overflows at 65504 as a GPU's does, but its times say nothing of a GPU"
)


class Device(NamedTuple):
    """What the ranks run on. `fp16_lifted` says that DeepSpeed would not have let fp16 run on it."""

    name: str
    fp16_lifted: bool


class Session:
    """One rank's run of a trial. `config` is the path of the config's text, `content` its plain content as far as it reads.

    `at` is the stage under way.
    """

    def __init__(
        self,
        trial: Trial,
        events: Events,
        config: Path,
        content: Any,
        storm: Storm,
        device: Device,
        clock: Clock,
    ) -> None:
        self.trial = trial
        self.events = events
        self.config = str(config)
        self.device = device.name
        self._fp16_lifted = device.fp16_lifted
        self.processes = processes()
        self.content = content
        self.storm = storm
        self.wanted = max(trial.steps, storm.steps) if trial.stress == "overflow" else trial.steps
        self.at: Stage = "start"
        self.steps: Steps | None = None
        self._clock = clock

    def stage(self, stage: Stage) -> None:
        """The stage that begins; what is raised from now on is its error."""
        self.at = stage
        self.events.reached(stage)

    def own(self, optimizer: dict[str, Any]) -> dict[str, Any]:
        """The optimizer that a program hands over because its config names none; told, since the config did not ask for it."""
        if optimizer:
            self.events("facts", facts={"own_optimizer": True})
        return optimizer

    def is_late(self) -> bool:
        """Is the part of the time over that may pass in steps?"""
        return self._clock.spent > SHARE * self.trial.seconds

    def steps_for(self, model: Any) -> Steps:
        """What listens to the steps. Before the engine is made: hooks must be on the parameters before ZeRO's are."""
        self.steps = Steps(self.events, self.storm, self.wanted, self.is_late, model)
        return self.steps

    def built(self, engine: Any) -> None:
        """The engine stands: tell what took effect, and listen in."""
        assert self.steps is not None
        self.events("facts", facts=effective(engine))
        if self._fp16_lifted and gauges.fp16_enabled(engine):
            self.events.note(LIFTED)
        # The ranks' models are alike; what they learn from is not.
        import torch

        torch.manual_seed(1 + rank())
        self.stage("step")
        self.steps.attach(engine)

    @property
    def step(self) -> int | None:
        """The optimizer step under way."""
        return None if self.steps is None or self.at != "step" else self.steps.number + 1
