"""One config to train with on the real engine, and the record of it: plain data, importable without torch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

Framework = Literal["deepspeed", "transformers", "accelerate"]
Device = Literal["auto", "cuda", "cpu"]
Stress = Literal["overflow", "underflow"]
Stage = Literal["start", "load", "init", "step"]
Ended = Literal["accepted", "refused", "died", "late", "not-run"]

STEPS: Final = 20


class Trial(NamedTuple):
    """What is asked.

    `text` is the config, `shown` its path as people know it; `original` is the file's text where the config had to be
    changed for the trial, and `notes` say what was changed or assumed. `steps` are optimizer steps. `model` is "tiny" or
    MODULE:FACTORY, looked for in `folders` first. `arguments` are TrainingArguments fields by name, as text; of Accelerate's,
    mixed_precision. `storm` is the number of steps under stress, None to let the config decide. `seconds` is the time limit;
    `parent` is the host and the process without which the workers end themselves.
    """

    text: str
    shown: str
    framework: Framework = "deepspeed"
    steps: int = STEPS
    device: Device = "auto"
    processes: int = 1
    model: str = "tiny"
    stress: Stress | None = None
    storm: int | None = None
    arguments: Mapping[str, str] = {}
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    original: str | None = None
    seconds: float = 300.0
    parent: tuple[str, int] | None = None

    def dumped(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def loaded(cls, text: str) -> Trial:
        # JSON has no tuples.
        fields: Any = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in json.loads(text).items()
        }
        return cls(**fields)


def config_path(folder: Path, trial: Trial) -> Path:
    """Where the config's text lies for the engine, under its own name; the ending decides how some loaders read it."""
    path = folder / "config" / Path(trial.shown).name
    return path if path.suffix in (".json", ".hjson") else path.with_name(path.name + ".json")


class Step(NamedTuple):
    """One optimizer step. `scale` is the loss scale that it was taken under, None where nothing is scaled.

    `norm` is the gradient's 2-norm before clipping, unscaled, None where the engine does not tell it. `zeros` and
    `infinite` are the shares of gradient elements that were 0, and that were infinite or NaN; None where not counted.
    `stressed` says that the gradients were made too large or too small on purpose. `lr` is the rate that it was taken with.
    """

    number: int
    loss: float
    scale: float | None = None
    norm: float | None = None
    skipped: bool = False
    seconds: float = 0.0
    zeros: float | None = None
    infinite: float | None = None
    stressed: bool = False
    lr: float | None = None


class EngineError(NamedTuple):
    """What the engine raised, and where. `step` is the optimizer step under way, for the stage "step" alone."""

    stage: Stage
    type: str
    message: str
    where: str = ""
    step: int | None = None
    rank: int = 0

    @property
    def sentence(self) -> str:
        return ": ".join(filter(None, (self.type, self.message)))


class Record(NamedTuple):
    """What happened to a trial.

    accepted: every step was taken. refused: an error before the first step. died: an error in a step. late: the time limit
    came first. not-run: this machine, not the config, stood in the way; `error` says how.
    `machine` is where it ran (deepspeed, torch, device, …); `facts` what took effect; `notes` are sentences that limit
    what the record shows; `said` is the end of what the engine printed.
    """

    trial: Trial
    ended: Ended
    error: EngineError | None = None
    machine: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    steps: tuple[Step, ...] = ()
    peak_memory: int | None = None
    notes: tuple[str, ...] = ()
    said: str = ""
    seconds: float = 0.0

    @property
    def release(self) -> str | None:
        return self.machine.get("deepspeed")

    @property
    def skipped(self) -> int:
        return sum(step.skipped for step in self.steps)

    @property
    def step_seconds(self) -> float | None:
        """The median time of a step, the first two left out: they allocate and compile."""
        times = sorted(step.seconds for step in self.steps[2:] or self.steps)
        return times[len(times) // 2] if times else None


def finite(value: Any) -> float | None:
    """A JSON number, back to a float: what JSON has no form for travels as text."""
    return None if value is None else float(value)


def portable(value: Any) -> Any:
    """A value for JSON; infinite and NaN as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def step_of(event: Mapping[str, Any]) -> Step:
    numbers = {name: finite(event.get(name)) for name in ("scale", "norm", "zeros", "infinite", "lr")}
    return Step(
        number=int(event["number"]),
        loss=float(event["loss"]),
        skipped=bool(event["skipped"]),
        seconds=float(event["seconds"]),
        stressed=bool(event["stressed"]),
        **numbers,
    )


class Story(NamedTuple):
    """The events of one rank, folded: how far it came and what it told.

    `waits` is what it waits for, None while it goes on: dslint/engine/waits.py.
    """

    machine: dict[str, Any]
    facts: dict[str, Any]
    steps: list[Step]
    notes: list[str]
    error: EngineError | None
    trouble: str | None
    reached: Stage
    peak_memory: int | None
    finished: bool
    waits: Mapping[str, Any] | None


def story(events: Iterable[Mapping[str, Any]]) -> Story:
    """A rank's events in their order → one Story."""
    machine: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    steps: list[Step] = []
    notes: list[str] = []
    error: EngineError | None = None
    trouble: str | None = None
    reached: Stage = "start"
    peak: int | None = None
    finished = False
    waits: Mapping[str, Any] | None = None
    for event in events:
        kind = event["event"]
        if kind == "machine":
            machine.update(event["facts"])
        elif kind == "facts":
            facts.update(event["facts"])
        elif kind == "reached":
            reached, waits = event["stage"], None
        elif kind == "step":
            steps.append(step_of(event))
        elif kind == "waits":
            waits = event
        elif kind == "waited":
            waits = None
        elif kind == "note":
            notes.append(event["text"])
        elif kind == "trouble":
            trouble = event["text"]
        elif kind == "error":
            error = EngineError(**{name: event[name] for name in EngineError._fields})
        elif kind == "peak":
            peak = event["memory"]
        elif kind == "end":
            finished = True
    return Story(machine, facts, steps, notes, error, trouble, reached, peak, finished, waits)
