"""The monitor against an engine that is played: what it says at which numbers, and what it costs the code around it."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest

from dslint import monitor as monitor_module
from dslint.monitor import KINDS, RULES, NumericalStability, UnstableTraining
from dslint.rules import book


class Engine:
    """As much of a DeepSpeed engine as the monitor asks. `script` gives (norm, skipped, scale) for each step."""

    global_rank = 0
    world_size = 1

    def __init__(self, script, floor=1.0, config=None, fp16=True, accumulation=1):
        self.script = list(script)
        self.global_steps = 0
        self.micro_steps = 0
        self.accumulation = accumulation
        self.norm = None
        self.fp16 = fp16
        scaler = SimpleNamespace(
            cur_scale=65536.0, min_scale=floor, dynamic=True, raise_error_at_min_scale=True, cur_hysteresis=1
        )
        self.optimizer = SimpleNamespace(overflow=False, loss_scaler=scaler)
        self._config = SimpleNamespace(_param_dict=config or {"train_batch_size": 8})

    def fp16_enabled(self):
        return self.fp16

    def get_global_grad_norm(self):
        return self.norm

    def is_gradient_accumulation_boundary(self):
        return (self.micro_steps + 1) % self.accumulation == 0

    def backward(self, loss):
        return loss

    def step(self):
        boundary = self.is_gradient_accumulation_boundary()
        self.micro_steps += 1
        if boundary:
            self.norm, self.optimizer.overflow, self.optimizer.loss_scaler.cur_scale = self.script[
                self.global_steps
            ]
            self.global_steps += 1


def run(engine, losses, **options):
    """Train through the losses; the monitor afterwards."""
    options.setdefault("search", False)
    watching = NumericalStability(on_alarm=lambda alarm: None, **options).watch(engine)
    for loss in losses:
        engine.backward(loss)
        engine.step()
    watching.unwatch()
    return watching


def kinds(watching):
    return [alarm.kind for alarm in watching.alarms]


def test_a_sound_run_raises_no_alarm():
    engine = Engine([(1.0 + 0.1 * (step % 3), False, 65536.0) for step in range(30)])
    assert run(engine, [5.0 - 0.1 * step for step in range(30)]).alarms == []


def test_every_step_is_read_with_its_own_loss_and_norm():
    engine = Engine([(float(step), False, 65536.0) for step in range(1, 5)])
    readings = run(engine, [10.0, 20.0, 30.0, 40.0]).readings
    assert [(reading.step, reading.loss, reading.norm) for reading in readings] == [
        (1, 10.0, 1.0),
        (2, 20.0, 2.0),
        (3, 30.0, 3.0),
        (4, 40.0, 4.0),
    ]


def test_the_losses_of_accumulated_micro_batches_are_averaged():
    engine = Engine([(1.0, False, 65536.0)] * 2, accumulation=2)
    assert [reading.loss for reading in run(engine, [1.0, 3.0, 5.0, 7.0]).readings] == [2.0, 6.0]


def test_a_loss_that_is_no_number_is_told_once():
    engine = Engine([(1.0, False, 65536.0)] * 5)
    watching = run(engine, [1.0, math.nan, math.nan, math.nan, math.nan])
    assert [(alarm.kind, alarm.step) for alarm in watching.alarms] == [("loss-not-finite", 2)]


def test_a_search_for_the_loss_scale_is_no_alarm():
    scales = [65536.0 / 2**step for step in range(6)]
    engine = Engine([(math.inf, True, scale) for scale in scales] + [(1.0, False, scales[-1])] * 5)
    assert run(engine, [1.0] * 11).alarms == []


def test_overflows_that_go_on_are_an_alarm():
    engine = Engine([(math.inf, True, 65536.0 / 2**step) for step in range(14)], floor=1.0)
    assert kinds(run(engine, [1.0] * 14)) == ["overflow-run"]


def test_a_search_from_a_high_scale_may_take_longer():
    engine = Engine([(math.inf, True, 2.0 ** (32 - step)) for step in range(20)])
    engine.optimizer.loss_scaler.cur_scale = 2.0**32
    assert run(engine, [1.0] * 20).alarms == []


def test_the_floor_is_told_before_the_overflow_that_ends_the_run():
    engine = Engine([(math.inf, True, 256.0), (math.inf, True, 128.0)], floor=128.0)
    watching = NumericalStability(on_alarm=lambda alarm: None, search=False).watch(engine)
    for _ in range(2):
        engine.backward(1.0)
        engine.step()
    # Not unwatched: nothing of the next step is needed for it.
    assert kinds(watching) == ["scale-at-floor"]
    assert "128" in watching.alarms[0].message


def test_a_scale_below_one_is_an_alarm():
    assert kinds(run(Engine([(1.0, False, 0.5)] * 3, floor=0.0), [1.0] * 3)) == ["scale-below-one"]


def test_without_a_loss_scale_a_skipped_step_speaks_of_the_gradients():
    engine = Engine([(math.inf, True, 1.0)] * 2, fp16=False)
    assert kinds(run(engine, [1.0] * 2)) == ["gradient-not-finite"]


def test_a_norm_of_infinity_in_a_step_that_was_taken_is_an_alarm():
    engine = Engine([(math.inf, False, 1.0)] * 2, fp16=False)
    assert "was taken" in run(engine, [1.0] * 2).alarms[0].message


def test_a_norm_of_zero_is_an_alarm():
    assert kinds(run(Engine([(0.0, False, 65536.0)] * 2), [1.0] * 2)) == ["gradient-zero"]


def test_a_spike_is_measured_against_the_usual():
    engine = Engine([(1.0, False, 65536.0)] * 15 + [(100.0, False, 65536.0)])
    watching = run(engine, [1.0] * 16)
    assert [(alarm.kind, alarm.step) for alarm in watching.alarms] == [("gradient-spike", 16)]
    assert "100 times" in watching.alarms[0].message


def test_a_high_norm_at_the_start_is_no_spike():
    assert run(Engine([(1.0, False, 1.0)] * 5 + [(100.0, False, 1.0)]), [1.0] * 6).alarms == []


def test_the_rule_that_the_config_meets_is_named():
    config = {
        "train_batch_size": 8,
        "fp16": {"enabled": True, "initial_scale_power": 8, "min_loss_scale": 256},
        "zero_optimization": {"stage": 2},
        "gradient_clipping": 1.0,
    }
    engine = Engine([(math.inf, True, 256.0)], floor=256.0, config=config)
    assert run(engine, [1.0]).alarms[0].rule == "min-loss-scale-no-room"


def test_a_sound_config_is_not_blamed():
    config = {"train_batch_size": 8, "bf16": {"enabled": True}, "gradient_clipping": 1.0}
    assert run(Engine([(1.0, False, 1.0)] * 2, config=config), [math.nan] * 2).alarms[0].rule is None


def test_a_bare_engine_is_stopped_by_an_exception():
    engine = Engine([(1.0, False, 65536.0)] * 5)
    with pytest.raises(UnstableTraining, match="step 2: the loss is nan") as raised:
        run(engine, [1.0, math.nan, 1.0, 1.0, 1.0], stop_on=["loss-not-finite"])
    assert raised.value.alarm.kind == "loss-not-finite"
    assert engine.global_steps == 3


def test_an_alarm_that_is_not_to_stop_the_run_does_not():
    engine = Engine([(1.0, False, 65536.0)] * 5)
    run(engine, [math.nan] * 5, stop_on=["gradient-zero"])
    assert engine.global_steps == 5


def test_a_kind_that_there_is_not_is_refused_by_name():
    with pytest.raises(ValueError, match=r"loss-nan.*loss-not-finite"):
        NumericalStability(stop_on=["loss-nan"])


def test_unwatching_leaves_the_engine_as_it_was():
    engine = Engine([(1.0, False, 1.0)] * 3)
    run(engine, [1.0])
    assert "step" not in vars(engine)
    assert "backward" not in vars(engine)


def test_a_loop_of_ones_own_tells_each_step():
    engine = Engine([(1.0, False, 1.0), (0.0, False, 1.0), (1.0, False, 1.0)])
    watching = NumericalStability(on_alarm=lambda alarm: None, search=False)
    for loss in (1.0, 2.0, 3.0):
        engine.backward(loss)
        engine.step()
        watching.step(engine, loss)
    watching.finish()
    assert [reading.loss for reading in watching.readings] == [1.0, 2.0, 3.0]
    assert kinds(watching) == ["gradient-zero"]


def test_a_loop_of_ones_own_may_accumulate():
    engine = Engine([(1.0, False, 1.0)] * 2, accumulation=2)
    watching = NumericalStability(on_alarm=lambda alarm: None, search=False)
    for loss in (1.0, 3.0, 5.0, 7.0):
        engine.backward(loss)
        engine.step()
        watching.step(engine, loss)
    watching.finish()
    assert [reading.loss for reading in watching.readings] == [2.0, 6.0]


def test_alarms_are_logged_with_the_rule(caplog):
    engine = Engine([(0.0, False, 0.5)] * 2, floor=0.0, config={"fp16": {"enabled": True, "loss_scale": 0.5}})
    with caplog.at_level(logging.WARNING, "dslint.monitor"):
        watching = NumericalStability(search=False).watch(engine)
        engine.backward(1.0)
        engine.step()
        watching.unwatch()
    assert any("the loss scale is 0.5" in message for message in caplog.messages)


def test_other_ranks_keep_silent():
    engine = Engine([(1.0, False, 1.0)] * 2)
    engine.global_rank = 3
    told = []
    watching = NumericalStability(on_alarm=told.append, search=False).watch(engine)
    engine.backward(math.nan)
    engine.step()
    watching.unwatch()
    assert told == []
    assert kinds(watching) == ["loss-not-finite"]


class TestCallback:
    args: ClassVar = (SimpleNamespace(), SimpleNamespace())

    def test_the_engine_itself_may_be_what_the_trainer_hands_over(self):
        engine = Engine([(1.0, False, 1.0)] * 3)
        engine.module = object()
        watching = NumericalStability(on_alarm=lambda alarm: None, search=False, stop_on=["loss-not-finite"])
        control = SimpleNamespace(should_training_stop=False)
        watching.on_train_begin(*self.args, control, model=engine)
        stopped_after = None
        for step, loss in enumerate((1.0, math.nan, 1.0), 1):
            engine.backward(loss)
            engine.step()
            watching.on_step_end(*self.args, control)
            if control.should_training_stop:
                stopped_after = step
                break
        watching.on_train_end(*self.args, control)
        assert stopped_after == 3

    def test_a_model_without_an_engine_is_said_and_left_alone(self, caplog):
        watching = NumericalStability()
        watching.on_train_begin(*self.args, SimpleNamespace(should_training_stop=False), model=object())
        assert "nothing to watch" in caplog.text

    def test_events_that_are_not_listened_to_do_nothing(self):
        assert NumericalStability().on_epoch_begin(1, 2, 3, model=None) is None

    def test_other_attributes_are_missed_as_usual(self):
        with pytest.raises(AttributeError, match="no attribute 'of_course'"):
            _ = NumericalStability().of_course


def test_every_rule_that_is_named_is_in_the_rule_book():
    known = {rule.name: rule for rule in book.load()}
    for kind, names in RULES.items():
        for name in names:
            assert name in known, f"{kind} names the rule {name}, which there is not"
            # What the engine refuses is behind no run that goes on.
            assert known[name].severity != "error" or name in ("initial-scale-overflows", "bf16-unsupported")
    assert set(KINDS) == set(RULES)


def test_the_monitor_is_imported_without_torch_and_transformers():
    code = (
        "import sys, dslint.monitor; dslint.monitor.NumericalStability();"
        "print([name for name in ('torch', 'deepspeed', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_module_says_which_kinds_there_are():
    assert all(kind in monitor_module.RULES for kind in KINDS)
