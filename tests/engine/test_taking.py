"""Configs taken to the real engine by way of the forking process."""

import json

import pytest
from engines import INSTALLED

from dslint.engine.verdict import Run

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        INSTALLED is None, reason="deepspeed is not installed here, so no config was taken to it"
    ),
]

GOOD = {
    "train_batch_size": 8,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
    "gradient_clipping": 0.5,
}


@pytest.fixture(scope="module")
def pool():
    from dslint.engine.pool import Pool

    with Pool() as pool:
        yield pool


def ask(pool, config, **more):
    text = config if isinstance(config, str) else json.dumps(config)
    return pool.submit(Run(text, **more)).result()


def test_a_good_config_trains_and_shows_what_took_effect(pool):
    verdict = ask(
        pool, GOOD, at="steps", facts=("clip", "stage", "bf16", "batch", "dtype", "zero_config.overlap_comm")
    )
    assert (verdict.reached, verdict.error) == ("steps", None)
    shown = dict(verdict.facts)
    assert shown.pop("zero_config.overlap_comm") in (True, False)
    assert shown == {"clip": 0.5, "stage": 2, "bf16": True, "batch": 8, "dtype": "bfloat16"}


def test_fp16_trains_on_a_cpu(pool):
    verdict = ask(
        pool, {"train_batch_size": 8, "fp16": {"enabled": True, "initial_scale_power": 4}}, at="steps"
    )
    assert verdict.accepted, verdict.error


def test_a_refusal_keeps_the_engines_own_words(pool):
    verdict = ask(pool, {**GOOD, "fp16": {"enabled": True}})
    assert verdict.reached is None
    assert "cannot be simultaneously enabled" in verdict.error


def test_text_is_read_by_deepspeeds_own_loader(pool):
    assert ask(pool, "{train_batch_size: 8, // a comment\n}").accepted
    assert "Duplicate keys" in ask(pool, '{"train_batch_size": 8, "train_batch_size": 8}').error


def test_a_framework_reads_strict_json_and_fills_auto(pool):
    assert "JSONDecodeError" in ask(pool, '{"train_batch_size": 8,}', framework="transformers").error
    verdict = ask(
        pool, {"train_micro_batch_size_per_gpu": "auto"}, framework="transformers", facts=("micro",)
    )
    assert verdict.facts == {"micro": 8}


def test_a_world_size_is_simulated_when_the_config_is_read(pool):
    batch = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}
    assert ask(pool, batch, world_size=8).accepted
    assert "64 != 4 * 2 * 16" in ask(pool, batch, world_size=16).error


def test_two_processes_train_together(pool):
    verdict = ask(
        pool, {**GOOD, "zero_optimization": {"stage": 3}}, at="steps", world_size=2, facts=("micro",)
    )
    assert (verdict.error, verdict.facts) == (None, {"micro": 4})


def test_a_run_that_takes_too_long_is_ended(pool):
    verdict = ask(pool, GOOD, at="steps", limit=0.01)
    assert verdict.error.startswith("TimeLimit")
    assert ask(pool, GOOD).accepted
