# ruff: noqa: E501 - lines of logs are as long as they are
"""Trouble that no message tells of: it stands in the numbers."""

from __future__ import annotations

import pytest
from made_logs import LOGS, START, diagnosed, names, steps

from dslint.diagnosis.plot import plot_scale
from dslint.diagnosis.scaling import Point


def records(first: int, last: int, **values: str) -> str:
    """Records of the HF Trainer below its progress bar; `values` replace those of a healthy run."""
    shown = {"loss": "1.9", "grad_norm": "0.8", "learning_rate": "1e-05", **values}
    inside = ", ".join(f"'{name}': {value}" for name, value in shown.items())
    return "".join(
        f"\r 1%|▏  | {step}/1000 [00:30<1:20:00,  3.3it/s]\r{{{inside}, 'epoch': 0.01}}\n"
        for step in range(first, last)
    )


def megatron(step: int, **values: str) -> str:
    shown = {
        "learning rate": "6.000E-06",
        "lm loss": "1.052E+01",
        "loss scale": "65536.0",
        "grad norm": "1.234",
        **values,
    }
    rest = " | ".join(f"{name}: {value}" for name, value in shown.items())
    return f" iteration {step:>8}/ 320000 | consumed samples: {step * 512:>12} | elapsed time per iteration (s): 3.2 | {rest} |\n"


@pytest.mark.parametrize("value", ["nan", "NaN", "'nan'", "inf", "-inf"])
def test_a_loss_that_is_no_number(value):
    diagnosis = diagnosed(START + records(1, 30) + records(30, 60, loss=value))
    assert names(diagnosis) == ["loss-not-a-number"]
    cause = diagnosis.causes[0]
    assert cause.step == 30
    assert cause.details[0][0]["records"] == "30"


def test_one_loss_that_is_no_number_and_healthy_ones_after_it():
    assert names(diagnosed(START + records(1, 30) + records(30, 31, loss="nan") + records(31, 60))) == []


def test_a_loss_that_is_no_number_at_the_very_end():
    assert names(diagnosed(START + records(1, 30) + records(30, 31, loss="nan"))) == ["loss-not-a-number"]


@pytest.mark.parametrize("value", ["0.0", "'0'", "0", "0.0000", "0.0e+00"])
def test_a_loss_of_zero(value):
    diagnosis = diagnosed(START + records(1, 20) + records(20, 40, loss=value, grad_norm="nan"))
    assert names(diagnosis) == ["loss-zero"]
    assert diagnosis.causes[0].step == 20
    assert [part.message.name for part in diagnosis.causes[0].folded] == ["gradient-not-finite"]


def test_a_loss_below_one_is_none_of_zero():
    assert names(diagnosed(START + records(1, 50, loss="0.05") + records(50, 60, loss="1e-05"))) == []


def test_a_gradient_norm_that_is_no_number():
    diagnosis = diagnosed(START + records(1, 20) + records(20, 40, grad_norm="nan"))
    assert names(diagnosis) == ["gradient-not-finite"]


def test_gradients_that_overflow_while_the_loss_scale_is_searched():
    assert names(diagnosed(START + records(1, 12, grad_norm="inf") + records(12, 60))) == []


def test_a_gradient_norm_of_zero():
    assert names(diagnosed(START + records(1, 20, grad_norm="0.0"))) == ["gradient-zero"]


def test_a_learning_rate_of_zero_from_the_start():
    diagnosis = diagnosed(START + records(1, 20, learning_rate="0.0"))
    assert names(diagnosis) == ["learning-rate-zero"]
    assert diagnosis.causes[0].step == 1


def test_a_learning_rate_of_zero_for_the_first_record_alone():
    assert names(diagnosed(START + records(1, 2, learning_rate="0.0") + records(2, 40))) == []


def test_a_schedule_that_ends_long_before_the_run():
    diagnosis = diagnosed(START + records(1, 50) + records(50, 90, learning_rate="0.0"))
    assert names(diagnosis) == ["learning-rate-zero"]
    assert diagnosis.causes[0].step == 50


def test_numbers_as_megatron_prints_them():
    log = START + "".join(megatron(step) for step in range(1, 20))
    log += "".join(megatron(step, **{"lm loss": "nan", "grad norm": "nan"}) for step in range(20, 60))
    diagnosis = diagnosed(log)
    assert names(diagnosis) == ["loss-not-a-number"]
    assert diagnosis.causes[0].step == 20


def test_a_loss_scale_that_falls_as_megatron_prints_it():
    log = START + "".join(megatron(step, **{"loss scale": f"{2.0 ** (16 - step)}"}) for step in range(17))
    diagnosis = diagnosed(log)
    assert names(diagnosis) == ["loss-scale-falls-to-floor"]
    assert diagnosis.causes[0].details[0][0]["lowest"] == "1"


def test_a_loss_scale_that_grows_and_falls_by_turns_is_healthy():
    scales = [2 ** (14 + at % 2) for at in range(200)]
    log = START + "".join(megatron(step, **{"loss scale": f"{scale}.0"}) for step, scale in enumerate(scales))
    assert names(diagnosed(log)) == []


def test_overflow_without_end():
    lines = "".join(
        f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** max(5, 32 - at)}, reducing to {2 ** max(5, 31 - at)}\n"
        for at in range(60)
    )
    diagnosis = diagnosed(START + lines)
    assert names(diagnosis) == ["endless-overflow"]
    assert diagnosis.causes[0].details[0][0]["overflows"] == "60"
    assert len(diagnosis.causes[0].plot) > 4


def test_a_search_from_a_very_large_scale_is_healthy():
    lines = "".join(
        f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** (32 - at)}, reducing to {2 ** (31 - at)}\n"
        for at in range(18)
    )
    assert names(diagnosed(START + lines + steps(20, 90))) == []


def test_hysteresis_counts_as_overflow():
    lines = "".join(
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: "
        + (
            f"{2**scale}, but hysteresis is 2. Reducing hysteresis to 1\n"
            if half == 0
            else f"{2**scale}, reducing to {2 ** (scale - 1)}\n"
        )
        for scale in range(16, 0, -1)
        for half in (0, 1)
    )
    cause = diagnosed(START + lines).causes[0]
    assert cause.message.name == "loss-scale-falls-to-floor"
    assert cause.details[0][0]["overflows"] == "32"


def test_every_step_skipped():
    lines = "".join(
        f"[2025-03-11 04:12:00,000] [INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped={step}, lr=[1e-05], mom=[(0.9, 0.999)]\n"
        for step in range(10, 110, 10)
    )
    diagnosis = diagnosed(START + lines)
    assert names(diagnosis) == ["every-step-skipped"]
    assert diagnosis.causes[0].details[0][0] == {"steps": "100", "start": "0"}


def test_every_step_skipped_from_some_step_on():
    lines = "".join(
        f"[Rank 0] step={step}, skipped={max(0, step - 500)}, lr=[1e-05], mom=[(0.9, 0.999)]\n"
        for step in range(10, 1000, 10)
    )
    cause = diagnosed(START + lines).causes[0]
    assert (cause.message.name, cause.step) == ("every-step-skipped", 500)


def test_a_few_steps_skipped_at_the_start_are_healthy():
    lines = "".join(
        f"[Rank 0] step={step}, skipped={min(step, 14)}, lr=[1e-05], mom=[(0.9, 0.999)]\n"
        for step in range(10, 300, 10)
    )
    assert names(diagnosed(START + lines)) == []


def test_gradients_that_are_checked_without_a_loss_scale():
    diagnosis = diagnosed((LOGS / "loss-infinite.log").read_bytes())
    assert names(diagnosis) == ["loss-not-a-number"]
    assert "overflow-skipped" in [part.message.name for part in diagnosis.causes[0].folded]
    assert diagnosis.causes[0].step == 0


def test_the_world_that_should_have_been_larger():
    banner = (
        "***** Running training *****\n  Instantaneous batch size per device = 4\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 64\n  Gradient Accumulation steps = 2\n"
    )
    cause = diagnosed(
        START + "+ accelerate launch --num_machines 2 --num_processes 16 train.py\n" + banner
    ).causes[0]
    assert cause.message.name == "each-node-alone"
    assert cause.details[0][0] == {"world": "8", "machines": "2", "processes": "16"}
    assert "batch size" in cause.evidence.text
    assert (
        names(diagnosed(START + "+ accelerate launch --num_machines 2 --num_processes 8 train.py\n" + banner))
        == []
    )


def test_the_line_where_it_began_is_the_line():
    log = START + records(1, 300) + records(300, 330, loss="nan")
    cause = diagnosed(log).causes[0]
    assert "'loss': nan" in log.split("\n")[cause.evidence.line - 1]
    assert "'loss': nan" not in log.split("\n")[cause.evidence.line - 2]


def test_a_run_of_bad_values_over_the_edges_of_blocks_is_one_run():
    bad = records(1000, 60_000, loss="nan")
    assert len(bad) > 4 << 20
    cause = diagnosed(START + records(1, 1000) + bad).causes[0]
    assert cause.details[0][0]["records"] == "59,000"
    assert cause.step == 1000


def points(*powers: float) -> list[Point]:
    return [Point(100 + at, at, 2.0**power) for at, power in enumerate(powers)]


def test_the_plot_shows_the_fall_from_the_upper_left_to_the_lower_right():
    lines = list(plot_scale(points(*range(16, 0, -1))))
    assert lines[0].lstrip().startswith("2^16 ┤●")
    assert lines[-3].lstrip().startswith("2^1 ┤") or lines[-3].lstrip().startswith("2^0")
    assert "line 100" in lines[-1]
    assert "line 115" in lines[-1]
    assert len(lines) <= 10


def test_the_plot_of_one_level_is_no_plot():
    assert list(plot_scale(points(16, 16, 16, 16, 16))) == []
    assert list(plot_scale(points(16, 3))) == []


def test_the_plot_of_very_many_points_is_no_wider_than_a_terminal():
    lines = list(plot_scale(points(*(10 + (at // 400) % 7 for at in range(5000)))))
    assert max(map(len, lines)) <= 80
