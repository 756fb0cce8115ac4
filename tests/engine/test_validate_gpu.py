"""`dslint validate` on a GPU, where fp16 is the hardware's own. No optimizer is named, so that no kernel has to be compiled."""

from __future__ import annotations

import importlib.util
import json
import shutil

import pytest

from dslint.engine.running import run
from dslint.engine.trial import Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        importlib.util.find_spec("deepspeed") is None or shutil.which("nvidia-smi") is None,
        reason="deepspeed or a GPU is not here, so nothing was run on a GPU",
    ),
]
FP16 = {"enabled": True}


def gpus() -> int:
    import torch

    return torch.cuda.device_count()


def trial(blocks, **asked):
    text = json.dumps({"train_micro_batch_size_per_gpu": 4, **blocks})
    return Trial(text, "ds_config.json", device="cuda", steps=asked.pop("steps", 6), **asked)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_dynamic_loss_scale_dies_at_the_step_that_its_block_says(stage):
    record = run(trial({"fp16": FP16, "zero_optimization": {"stage": stage}}, stress="overflow"))
    assert record.ended == "died", record.said
    assert "Current loss scale already at minimum" in record.error.message
    assert (record.error.step, record.skipped) == (21, 17)
    assert record.facts["gradients"] == "float16"
    assert record.notes == ()


def test_a_lower_floor_lives_through_the_storm_that_a_higher_one_dies_in():
    high = {"fp16": {**FP16, "min_loss_scale": 4096}, "zero_optimization": {"stage": 2}}
    low = {"fp16": FP16, "zero_optimization": {"stage": 2}}
    died = run(trial(high, stress="overflow"))
    assert (died.ended, died.error.step) == ("died", 9)
    lived = run(trial(low, stress="overflow", storm=6))
    assert (lived.ended, lived.skipped) == ("accepted", 6)
    assert not any(step.skipped for step in lived.steps[-3:])


def test_bf16_lives_through_every_storm():
    record = run(
        trial({"bf16": {"enabled": True}, "zero_optimization": {"stage": 2}}, stress="overflow", storm=18)
    )
    assert (record.ended, record.skipped, len(record.steps)) == ("accepted", 0, 24)


@pytest.mark.parametrize(("scale", "lost"), [(0.5, True), (65536, False)])
def test_small_gradients_vanish_under_a_scale_below_one_alone(scale, lost):
    blocks = {"fp16": {**FP16, "loss_scale": scale}, "zero_optimization": {"stage": 2}}
    record = run(trial(blocks, stress="underflow"))
    assert record.ended == "accepted", record.said
    shares = [step.zeros for step in record.steps]
    assert min(shares) > 0.9 if lost else max(shares) < 0.01


@pytest.mark.parametrize("framework", ["transformers", "accelerate"])
def test_a_framework_fills_auto_and_trains(framework):
    if any(importlib.util.find_spec(name) is None for name in ("transformers", "accelerate")):
        pytest.skip("transformers or accelerate is not installed, so neither handed a config over")
    blocks = {"bf16": {"enabled": True}, "zero_optimization": {"stage": 2}, "gradient_clipping": "auto"}
    record = run(trial(blocks, framework=framework))
    assert record.ended == "accepted", record.said
    assert (record.facts["precision"], record.facts["clip"]) == ("bf16", 1.0)
    assert len(record.steps) == 6


def test_memory_is_the_gpus():
    record = run(trial({"bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}))
    assert record.ended == "accepted", record.said
    assert record.machine["device"] == "cuda"
    assert 10**6 < record.peak_memory < 4 * 10**9


def test_two_gpus_train_together_through_the_deepspeed_launcher():
    if gpus() < 2:
        pytest.skip("this machine has fewer than two GPUs, so the launcher had nothing to spread over")
    record = run(trial({"bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}, processes=2))
    assert record.ended == "accepted", record.said
    assert record.facts["batch"]["processes"] == 2


def test_more_gpus_than_there_are_is_no_fault_of_the_config():
    record = run(trial({"bf16": {"enabled": True}}, processes=gpus() + 1, seconds=60.0))
    assert record.ended == "not-run"
