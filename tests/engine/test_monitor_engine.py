"""The monitor beside the real engine and the real Trainer, on a CPU, each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap

import pytest
from played import ROOT

HAS_ENGINE = all(importlib.util.find_spec(name) for name in ("deepspeed", "torch"))
HAS_FRAMEWORKS = all(importlib.util.find_spec(name) for name in ("transformers", "accelerate"))
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not HAS_ENGINE, reason="deepspeed is not installed here, so no real run was watched"),
]

# What a CPU alone refuses is lifted as dslint's worker does it.
START = """
    import json, math, sys, time
    import deepspeed, torch
    from deepspeed.accelerator import get_accelerator
    from dslint.engine.worker import lift
    from dslint.engine import models
    from dslint.monitor import NumericalStability, UnstableTraining
    lift(get_accelerator())
    torch.manual_seed(0)
    def tell(monitor, **more):
        alarms = [alarm._asdict() for alarm in monitor.alarms]
        readings = [[str(part) for part in reading] for reading in monitor.readings]
        print("TOLD" + json.dumps({"alarms": alarms, "readings": readings, **more}))
"""


def told(program, tmp_path, ranks=1):
    """Run a program after START; what it told, or what each of several ranks told, in their order."""
    (tmp_path / "program.py").write_text(textwrap.dedent(START) + textwrap.dedent(program))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DS_ACCELERATOR": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
    }
    command = [sys.executable]
    if ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    done = subprocess.run(
        [*command, "program.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD")]
    assert len(lines) >= ranks, done.stdout[-1500:] + done.stderr[-3000:]
    if ranks > 1:
        return sorted((json.loads(line[4:]) for line in lines), key=lambda found: found["rank"])
    return json.loads(lines[-1][4:])


ENGINE = """
    deepspeed.init_distributed()
    model = models.tiny_transformer()
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), config=CONFIG
    )
    def train(steps, factor=lambda step: 1.0):
        for step in range(1, steps + 1):
            engine.backward(engine(**models.tokens(4)) * factor(step))
            engine.step()
"""


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_a_sound_run_is_read_at_every_stage(stage, tmp_path):
    config = {"train_batch_size": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": stage}}
    program = f"CONFIG = {config}{textwrap.dedent(ENGINE)}" + textwrap.dedent(
        """
        monitor = NumericalStability().watch(engine)
        train(5)
        monitor.unwatch()
        tell(monitor)
        """
    )
    found = told(program, tmp_path)
    assert found["alarms"] == []
    assert [reading[0] for reading in found["readings"]] == list("12345")
    assert all(0 < float(reading[3]) < 100 for reading in found["readings"])


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_floor_is_announced_before_the_engine_gives_up(stage, tmp_path):
    config = {
        "train_batch_size": 4,
        "fp16": {"enabled": True, "initial_scale_power": 9, "min_loss_scale": 256, "hysteresis": 1},
        "zero_optimization": {"stage": stage},
    }
    program = f"CONFIG = {config}{textwrap.dedent(ENGINE)}" + textwrap.dedent(
        """
        monitor = NumericalStability(stop_on=["scale-at-floor"]).watch(engine)
        try:
            train(9, lambda step: 1.0 if step < 3 else 2.0**40)
        except UnstableTraining as error:
            tell(monitor, stopped=error.alarm.step)
        """
    )
    # From 2^9 the scale is at its floor after one overflow, and the next would end the run.
    found = told(program, tmp_path)
    assert found["stopped"] == 3
    assert [alarm["kind"] for alarm in found["alarms"]] == ["scale-at-floor"]


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_parameter_that_is_not_finite_is_named(stage, tmp_path):
    config = {
        "train_batch_size": 4,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 1.0,
    }
    # Hooked before the engine is made, while it is still whole at stage 3.
    start = """
    SPOILED = False
    def spoil(gradient):
        return gradient * float("nan") if SPOILED else gradient
    """
    make = textwrap.dedent(ENGINE).replace(
        "engine, *_",
        'dict(model.named_parameters())["layers.1.down.weight"].register_hook(spoil)\nengine, *_',
    )
    program = f"CONFIG = {config}{textwrap.dedent(start)}{make}" + textwrap.dedent(
        """
        monitor = NumericalStability().watch(engine)
        train(2)
        SPOILED = True
        train(4)
        monitor.unwatch()
        tell(monitor)
        """
    )
    alarm = told(program, tmp_path)["alarms"][0]
    assert (alarm["kind"], alarm["step"], alarm["parameters"]) == (
        "gradient-not-finite",
        3,
        ["layers.1.down.weight"],
    )


def test_ranks_stop_together_though_one_alone_has_a_bad_loss(tmp_path):
    config = {"train_batch_size": 8, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}
    program = f"CONFIG = {config}{textwrap.dedent(ENGINE)}" + textwrap.dedent(
        """
        rank = torch.distributed.get_rank()
        monitor = NumericalStability(stop_on=["loss-not-finite"]).watch(engine)
        try:
            train(9, lambda step: float("nan") if (rank, step) == (1, 3) else 1.0)
        except UnstableTraining as error:
            tell(monitor, rank=rank, stopped=int(engine.global_steps), saw=error.alarm.message)
        """
    )
    first, second = told(program, tmp_path, ranks=2)
    assert first["stopped"] == second["stopped"] == 4
    assert (first["saw"], second["saw"]) == ("the loss of another rank is infinite or NaN", "the loss is nan")


@pytest.mark.frameworks
@pytest.mark.skipif(not HAS_FRAMEWORKS, reason="transformers is not installed, so no Trainer was watched")
class TestTrainer:
    TRAINER = """
        from transformers import Trainer, TrainingArguments
        CONFIG = {
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "fp16": {"enabled": True, "min_loss_scale": 8192},
            "zero_optimization": {"stage": STAGE},
        }
        arguments = TrainingArguments(
            output_dir="out", deepspeed=CONFIG, fp16=True, use_cpu=True, max_steps=12, report_to=[],
            save_strategy="no", disable_tqdm=True, gradient_accumulation_steps=2,
        )
        rows = models.tokens(64)
        rows = [{name: part[row] for name, part in rows.items()} for row in range(64)]
        class Spoiled(Trainer):
            def compute_loss(self, *given, **more):
                return super().compute_loss(*given, **more) * FACTOR(self.state.global_step)
        def train(monitor):
            trainer = Spoiled(model=models.tiny_llama(), args=arguments, train_dataset=rows, callbacks=[monitor])
            trainer.train()
            tell(monitor, steps=trainer.state.global_step)
    """

    def train(self, tmp_path, stage, factor, options=""):
        program = f"STAGE = {stage}\nFACTOR = {factor}\n" + textwrap.dedent(self.TRAINER)
        return told(program + f"\ntrain(NumericalStability({options}))\n", tmp_path)

    def test_a_sound_training_is_read_step_by_step(self, tmp_path):
        found = self.train(tmp_path, 2, "lambda step: 1.0")
        assert found["alarms"] == []
        assert len(found["readings"]) == found["steps"] == 12
        # The loss of a step, not of a micro batch, and not their sum: a fresh model guesses one of 128 tokens.
        assert 4.0 < float(found["readings"][0][1]) < 6.0

    @pytest.mark.parametrize("stage", [1, 3])
    def test_the_trainer_stops_at_the_floor(self, stage, tmp_path):
        found = self.train(
            tmp_path, stage, "lambda step: 1.0 if step < 4 else 2.0**40", "stop_on=['scale-at-floor']"
        )
        # 65536 falls to 8192 in three halvings, after one overflow that the hysteresis takes.
        assert found["steps"] == 8
        alarm = found["alarms"][0]
        assert (alarm["kind"], alarm["step"]) == ("scale-at-floor", 8)
        assert len(alarm["parameters"]) > 5

    def test_without_stop_on_the_engine_itself_ends_the_run(self, tmp_path):
        with pytest.raises(AssertionError, match="already at minimum"):
            self.train(tmp_path, 2, "lambda step: 1.0 if step < 4 else 2.0**40")
