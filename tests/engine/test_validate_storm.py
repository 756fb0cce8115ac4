"""How long a loss scale endures, and which steps are under stress."""

from __future__ import annotations

import pytest

from dslint.engine.storm import AFTER, CALM, ENDLESS, MOST, OVERFLOW, UNDERFLOW, endures, storm_for

ON = {"enabled": True}

# fp16 blocks with the number of overflowing steps in a row that they take.
BLOCKS = [
    ({}, 17),
    ({"initial_scale_power": 12}, 13),
    ({"hysteresis": 1}, 16),
    ({"hysteresis": 4}, 19),
    ({"min_loss_scale": 1024}, 7),
    ({"min_loss_scale": 65536}, 1),
    ({"min_loss_scale": 65536, "hysteresis": 1}, 0),
    ({"min_loss_scale": 1e-10}, 51),
    ({"min_loss_scale": 3}, 16),
    ({"initial_scale_power": 0}, 1),
    ({"initial_scale_power": 4, "min_loss_scale": 1024}, 2),
]


@pytest.mark.parametrize(("block", "count"), BLOCKS)
def test_a_dynamic_scale_endures_a_number_of_overflows(block, count):
    assert endures({**ON, **block}) == count


@pytest.mark.engine
@pytest.mark.parametrize(("block", "count"), BLOCKS)
def test_the_real_scaler_dies_at_the_next_one(block, count):
    pytest.importorskip("deepspeed", reason="deepspeed is not installed, so its own scaler was not asked")
    from deepspeed import comm
    from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler

    scaler = DynamicLossScaler(
        init_scale=2 ** block.get("initial_scale_power", 16),
        scale_window=1000,
        min_scale=block.get("min_loss_scale", 1),
        delayed_shift=block.get("hysteresis", 2),
        consecutive_hysteresis=False,
    )
    rank, comm.get_rank = comm.get_rank, lambda group=None: 0
    try:
        for _ in range(count):
            scaler.update_scale(True)
        with pytest.raises(Exception, match="already at minimum"):
            scaler.update_scale(True)
    finally:
        comm.get_rank = rank


@pytest.mark.parametrize(
    "block", [{}, {"enabled": False}, {**ON, "loss_scale": 128}, {**ON, "hysteresis": 0}]
)
def test_what_never_gives_up_has_no_such_number(block):
    assert endures(block if block.get("enabled") else {}) is None


def test_a_floor_that_is_never_met_is_counted_no_farther_than_the_longest_storm():
    assert endures({**ON, "min_loss_scale": -1}) == MOST


def test_the_storm_lasts_one_step_longer_than_the_config_endures():
    storm = storm_for("overflow", None, {"fp16": ON}, 20)
    assert storm == (OVERFLOW, CALM, 18, AFTER)
    assert storm.at(CALM) == 1.0
    assert storm.at(CALM + 1) == OVERFLOW
    assert storm.at(CALM + 18) == OVERFLOW
    assert storm.at(CALM + 19) == 1.0


def test_what_has_no_loss_scale_gets_a_storm_of_the_usual_length():
    assert storm_for("overflow", None, {"bf16": ON}, 20).length == ENDLESS


def test_a_length_that_is_told_counts():
    assert storm_for("overflow", 7, {"fp16": ON}, 20).length == 7
    assert storm_for("underflow", 7, {"fp16": ON}, 20).length == 7


def test_small_gradients_come_from_the_first_step_on():
    storm = storm_for("underflow", None, {"fp16": ON}, 20)
    assert [storm.at(step) for step in (1, 20)] == [UNDERFLOW, UNDERFLOW]


def test_without_stress_nothing_changes():
    assert {storm_for(None, None, {"fp16": ON}, 20).at(step) for step in range(1, 30)} == {1.0}


@pytest.mark.parametrize(
    "config", [None, [], {}, {"fp16": 1}, {"fp16": {"enabled": "auto"}}, {"fp16": {**ON, "hysteresis": "x"}}]
)
def test_any_content_has_a_storm(config):
    assert storm_for("overflow", None, config, 20).length >= 1
