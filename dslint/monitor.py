"""Watch the numbers of a real run: loss scale, skipped steps, gradient norm, NaN and infinity.

Under the Trainer:

    from dslint.monitor import NumericalStability
    trainer = Trainer(..., callbacks=[NumericalStability()])

Around a bare engine:

    monitor = NumericalStability(stop_on=("loss-not-finite",)).watch(engine)

or, in a loop of one's own, `monitor.step(engine, loss)` after each `engine.step()`.

Everything is read through DeepSpeed's own accessors, since under ZeRO `param.grad` is empty. What lies on the GPU is read one
step later, when it has long been computed, so the GPU is never waited for. torch, deepspeed and transformers are imported only
where they are needed; the callback works by its methods, so transformers need not be there.
"""

from __future__ import annotations

import logging
import math
import statistics
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal, NamedTuple

from dslint.engine import gauges
from dslint.engine.tap import Listener, tap

log = logging.getLogger("dslint.monitor")

Kind = Literal[
    "loss-not-finite",
    "gradient-not-finite",
    "gradient-spike",
    "gradient-zero",
    "overflow-run",
    "scale-at-floor",
    "scale-below-one",
]

# For each kind: the rules that a setting behind it meets, the likeliest first.
RULES: Final[dict[Kind, tuple[str, ...]]] = {
    "loss-not-finite": ("gradient-clipping-off", "bf16-unsupported", "overlap-race"),
    "gradient-not-finite": ("gradient-clipping-off", "bf16-unsupported", "overlap-race"),
    "gradient-spike": ("gradient-clipping-off", "max-grad-norm-in-optimizer-old"),
    "gradient-zero": ("min-loss-scale-below-one", "loss-scale-static-harmful", "initial-scale-low"),
    "overflow-run": (
        *("initial-scale-overflows", "initial-scale-high", "initial-scale-default-high"),
        *("hysteresis-not-positive", "loss-scale-static", "gradient-clipping-off"),
    ),
    "scale-at-floor": ("min-loss-scale-no-room", "gradient-clipping-off", "loss-scale-window-small"),
    "scale-below-one": ("min-loss-scale-below-one", "loss-scale-static-harmful"),
}
KINDS: Final = tuple(RULES)

# A search for the loss scale ends in the thousands: from 2^16 it skips some six steps in a row, from 2^32 more than twenty.
RUN: Final = 12
SETTLED: Final = 8
# A norm this many times the median of the last ones is a spike, once there are that many to compare with.
SPIKE: Final = 20.0
WINDOW: Final = 50
LEAST: Final = 10
KEPT: Final = 1000
# How often the parameters are searched for the one that is not finite; each search gathers every gradient.
SEARCHES: Final = 3
QUIET: Final = 100


class Reading(NamedTuple):
    """One optimizer step.

    `scale` is the loss scale after it, None where nothing is scaled; `norm` the gradient's before clipping, None where the
    engine does not tell it.
    """

    step: int
    loss: float | None
    scale: float | None
    norm: float | None
    skipped: bool


class Late(NamedTuple):
    """A step whose loss, norm and flag may still be on the GPU. `lost` is set where some rank's loss is not finite."""

    step: int
    loss: Any
    norm: Any
    scale: float | None
    skipped: bool
    lost: Any


class Alarm(NamedTuple):
    """Something seen. `rule` is the dslint rule that the run's own config meets and that explains it; None without one.

    `parameters` are those whose gradients were not finite, by name, where they were looked for.
    """

    step: int
    kind: Kind
    message: str
    rule: str | None = None
    parameters: tuple[str, ...] = ()


class UnstableTraining(RuntimeError):
    """The run was stopped by `stop_on`; `alarm` is why."""

    def __init__(self, alarm: Alarm) -> None:
        super().__init__(f"step {alarm.step}: {alarm.message}")
        self.alarm = alarm


class NumericalStability:
    """A TrainerCallback, and a hook for a bare engine.

    Args:
        stop_on: kinds of alarms (KINDS) that end the run: by `control.should_training_stop` under the Trainer, by raising
            UnstableTraining around a bare engine.
        search: look for the parameters whose gradients are not finite, in the step after one that was skipped for it. It
            gathers every gradient of the model, at most SEARCHES times in a run.
        on_alarm: called with each alarm, on rank 0; by default it is logged as a warning by the logger "dslint.monitor".
        explain: check the run's config with dslint's rules at the first alarm, to name the one behind it.

    Attributes:
        readings: the last KEPT steps.
        alarms: every alarm so far; one of a kind is not repeated within QUIET steps.

    Raises:
        ValueError: a name in `stop_on` is no kind of alarm.
    """

    def __init__(
        self,
        stop_on: Collection[str] = (),
        *,
        search: bool = True,
        on_alarm: Callable[[Alarm], None] | None = None,
        explain: bool = True,
    ) -> None:
        unknown = sorted(set(stop_on) - set(KINDS))
        if unknown:
            raise ValueError(
                f"stop_on: {', '.join(unknown)} is no kind of alarm; the kinds are {', '.join(KINDS)}"
            )
        self.readings: deque[Reading] = deque(maxlen=KEPT)
        self.alarms: list[Alarm] = []
        self._stop_on = frozenset(stop_on)
        self._searches = SEARCHES if search else 0
        self._on_alarm = on_alarm or warn
        self._explain = explain
        self._engine: Any = None
        self._undo: Callable[[], None] | None = None
        self._under_trainer = False
        self._stopping: Alarm | None = None
        self._losses: list[Any] = []
        self._averaged = True
        self._late: Late | None = None
        self._skipped_in_row = 0
        self._fell_from = 1.0
        self._norms: deque[float] = deque(maxlen=WINDOW)
        self._armed = False
        self._found: tuple[str, ...] = ()
        self._rules: frozenset[str] | None = None
        self._last: dict[Kind, int] = {}

    # A bare engine

    def watch(self, engine: Any) -> NumericalStability:
        """Listen to every backward and step of an engine from now on; gives the monitor itself."""
        self.unwatch()
        self._engine = engine
        self._undo = tap(engine, Listener(self._backward, self._before, self._after))
        return self

    def unwatch(self) -> None:
        """Look at the last step and leave the engine as it was."""
        if self._undo is not None:
            self._undo()
            self._undo = None
            self.finish()

    def step(self, engine: Any, loss: Any = None) -> None:
        """Look at the optimizer step that `engine.step()` has just taken; for loops that are not watched.

        Call it after every `engine.step()`; between accumulation boundaries it only keeps the loss.

        Raises:
            UnstableTraining: an alarm of a kind in `stop_on` was seen.
        """
        self._engine = engine
        if loss is not None:
            self._losses.append(detached(loss))
        taken = 0 if self._late is None else self._late.step
        if int(engine.global_steps) != taken:
            self._after(engine)

    def finish(self) -> None:
        """Look at what the last step left to be read."""
        if self._late is not None:
            self._look_at_late()

    def _backward(self, loss: Any, averaged: bool) -> Any:
        self._losses.append(detached(loss))
        self._averaged = averaged
        return loss

    def _before(self, engine: Any) -> None:
        if self._armed and self._searches:
            self._searches -= 1
            self._found = not_finite(engine)
        self._armed = False

    def _after(self, engine: Any) -> None:
        """The engine has stepped: read what the host knows now, and what the GPU knew a step ago."""
        step, skipped = int(engine.global_steps), gauges.was_skipped(engine)
        loss, self._losses = mean(self._losses, self._averaged), []
        lost = lost_anywhere(engine, loss) if "loss-not-finite" in self._stop_on else None
        late = self._late
        self._late = Late(step, loss, gauges.gradient_norm(engine), gauges.loss_scale(engine), skipped, lost)
        if late is not None:
            self._judge(late)
        self._watch_scale(engine, step, skipped)
        self._end_if_told()

    def _look_at_late(self) -> None:
        late, self._late = self._late, None
        if late is not None:
            self._judge(late)

    def _end_if_told(self) -> None:
        if self._stopping is not None and not self._under_trainer:
            alarm, self._stopping = self._stopping, None
            raise UnstableTraining(alarm)

    # What is seen

    def _watch_scale(self, engine: Any, step: int, skipped: bool) -> None:
        """What the host knows at once: skipped steps and the loss scale."""
        self._skipped_in_row = self._skipped_in_row + 1 if skipped else 0
        self._armed = skipped
        if self._skipped_in_row == 1:
            self._fell_from = gauges.loss_scale(engine) or 1.0
        if self._skipped_in_row == max(RUN, round(math.log2(max(self._fell_from, 1.0))) - SETTLED):
            many = self._skipped_in_row
            self._alarm(step, "overflow-run", f"{many} steps in a row overflowed and were skipped")
        scale, floor = gauges.loss_scale(engine), gauges.scale_floor(engine)
        if scale is None:
            return
        if scale < 1:
            self._alarm(
                step,
                "scale-below-one",
                f"the loss scale is {scale:g}: gradients are made smaller, and vanish in fp16",
            )
        if skipped and floor is not None and scale <= floor:
            left = (
                "the next overflow ends the run"
                if gauges.stops_at_floor(engine)
                else "every overflow is skipped from now on"
            )
            self._alarm(
                step, "scale-at-floor", f"the loss scale has fallen to its floor of {floor:g}; {left}"
            )

    def _judge(self, late: Late) -> None:
        """What the GPU knew a step ago: loss and norm."""
        step, skipped = late.step, late.skipped
        loss, norm = here(late.loss), here(late.norm)
        self.readings.append(Reading(step, loss, late.scale, norm, skipped))
        if loss is not None and not math.isfinite(loss):
            self._alarm(step, "loss-not-finite", f"the loss is {loss}")
        elif here(late.lost):
            self._alarm(step, "loss-not-finite", "the loss of another rank is infinite or NaN")
        if skipped:
            # With a loss scale to lower, that is the normal search; without one the gradients are at fault.
            if late.scale is None:
                self._alarm(
                    step,
                    "gradient-not-finite",
                    "the gradients are infinite or NaN, and no loss scale is in play",
                )
            return
        if norm is None:
            return
        if not math.isfinite(norm):
            self._armed = True
            self._alarm(step, "gradient-not-finite", f"the gradient's norm is {norm}, and the step was taken")
        elif norm == 0:
            self._alarm(step, "gradient-zero", "the gradient's norm is 0: nothing is learned")
        else:
            self._compare(step, norm)

    def _compare(self, step: int, norm: float) -> None:
        if len(self._norms) >= LEAST:
            usual = statistics.median(self._norms)
            if norm > SPIKE * usual:
                self._alarm(
                    step,
                    "gradient-spike",
                    f"the gradient's norm is {norm:.3g}, {norm / usual:.0f} times the usual",
                )
        self._norms.append(norm)

    def _alarm(self, step: int, kind: Kind, message: str) -> None:
        if step - self._last.get(kind, -QUIET) < QUIET:
            return
        self._last[kind] = step
        parameters, self._found = self._found, ()
        where = (
            f" (not finite: {', '.join(parameters[:3])}{' and more' if len(parameters) > 3 else ''})"
            if parameters
            else ""
        )
        alarm = Alarm(step, kind, message + where, self._rule_behind(kind), parameters)
        self.alarms.append(alarm)
        if kind in self._stop_on:
            self._stopping = self._stopping or alarm
        if getattr(self._engine, "global_rank", 0) == 0:
            self._on_alarm(alarm)

    def _rule_behind(self, kind: Kind) -> str | None:
        """The first of the kind's rules that the engine's own config meets."""
        if not self._explain:
            return None
        if self._rules is None:
            self._rules = rules_met(self._engine)
        return next((name for name in RULES[kind] if name in self._rules), None)

    # The Trainer's callback

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self._under_trainer = True
        engine = engine_around(model)
        if engine is not None:
            self.watch(engine)
        else:
            log.warning("dslint.monitor: DeepSpeed does not train this model, so there is nothing to watch")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if self._stopping is not None:
            control.should_training_stop = True
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.unwatch()

    def __getattr__(self, name: str) -> Any:
        """The Trainer calls every event of a callback; those that are not listened to do nothing."""
        if name.startswith("on_"):
            return nothing
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")


def nothing(*_: Any, **__: Any) -> None:
    """An event that is not listened to."""


def warn(alarm: Alarm) -> None:
    rule = f"; dslint rule {alarm.rule} explains it" if alarm.rule else ""
    log.warning("step %d: %s%s", alarm.step, alarm.message, rule)


def detached(loss: Any) -> Any:
    return loss.detach() if hasattr(loss, "detach") else loss


def mean(losses: Sequence[Any], averaged: bool) -> Any:
    """The loss of a step from those of its micro batches, where they lie; None without any."""
    if not losses:
        return None
    total = sum(losses[1:], losses[0])
    return total / len(losses) if averaged and len(losses) > 1 else total


def here(value: Any) -> float | None:
    """A number, fetched from the GPU where it is a tensor."""
    if value is None:
        return None
    return float(value.item() if hasattr(value, "item") else value)


def lost_anywhere(engine: Any, loss: Any) -> Any:
    """A flag, on the GPU, that is not 0 where some rank's loss is not finite: ranks that stop must stop together."""
    if loss is None or not hasattr(loss, "isfinite") or int(getattr(engine, "world_size", 1)) == 1:
        return None
    from deepspeed import comm

    flag = (~loss.isfinite()).float().reshape(1)
    comm.all_reduce(flag, op=comm.ReduceOp.MAX)
    return flag


def not_finite(engine: Any) -> tuple[str, ...]:
    """The names of the parameters whose gradients hold infinity or NaN, just before the optimizer's step.

    A collective call under ZeRO: every rank has to make it.
    """
    import torch
    from deepspeed.utils import safe_get_full_grad

    found = []
    for name, parameter in engine.module.named_parameters():
        if not parameter.requires_grad:
            continue
        gradient = safe_get_full_grad(parameter)
        if gradient is not None and not bool(torch.isfinite(gradient).all()):
            found.append(name)
    return tuple(found)


def rules_met(engine: Any) -> frozenset[str]:
    """The names of the rules that the engine's own config meets, under the release that runs."""
    import json
    import sys

    config = getattr(getattr(engine, "_config", None), "_param_dict", None)
    if not isinstance(config, dict):
        return frozenset()
    version = getattr(sys.modules.get("deepspeed"), "__version__", None)
    release = None if version is None else str(version).partition("+")[0].strip()
    try:
        from dslint.api import lint

        findings = lint(
            text=json.dumps(config, default=str), deepspeed_version=release, framework="deepspeed"
        )
    except Exception as error:  # a monitor must not end the run that it watches
        log.debug("dslint.monitor: the config could not be checked: %s", error)
        return frozenset()
    return frozenset(finding.name for finding in findings)


def engine_around(model: Any) -> Any:
    """The DeepSpeed engine that trains a model: the model itself, or the engine whose module it is.

    The Trainer does not hand its engine to callbacks; it is found among the objects that live.
    """
    if hasattr(model, "global_steps") and hasattr(model, "module"):
        return model
    import sys

    runtime = sys.modules.get("deepspeed.runtime.engine")
    if runtime is None:
        return None
    import gc

    for thing in gc.get_objects():
        # By its type: asking some objects for their class runs their code.
        if issubclass(type(thing), runtime.DeepSpeedEngine) and thing.module is model:
            return thing
    return None
