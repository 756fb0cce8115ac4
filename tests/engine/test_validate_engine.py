"""`dslint validate` on the real DeepSpeed, on a CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from typing import ClassVar

import pytest
from played import ROOT, validate_command

from dslint.engine.running import Launcher, run
from dslint.engine.trial import Trial
from dslint.engine.validating import accepted, validate

HAS_ENGINE = all(importlib.util.find_spec(name) for name in ("deepspeed", "torch"))
HAS_FRAMEWORKS = all(importlib.util.find_spec(name) for name in ("transformers", "accelerate"))
needs_frameworks = pytest.mark.skipif(
    not HAS_FRAMEWORKS, reason="transformers or accelerate is not installed, so neither handed a config over"
)
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        not HAS_ENGINE, reason="deepspeed is not installed here, so nothing was run on the real engine"
    ),
]


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")


def config(**blocks):
    """A config without an optimizer, so that no kernel has to be compiled."""
    return json.dumps({"train_batch_size": 4, **blocks}, indent=2)


def trial(text, **asked):
    return Trial(text, "ds_config.json", device="cpu", steps=asked.pop("steps", 3), **asked)


FP16 = {"enabled": True}


class TestAccepted:
    @pytest.mark.parametrize("stage", [0, 1, 2, 3])
    def test_bf16_trains_at_every_stage(self, stage):
        record = run(trial(config(bf16={"enabled": True}, zero_optimization={"stage": stage}), steps=12))
        assert record.ended == "accepted", record.said
        assert (record.facts["precision"], record.facts["stage"]) == ("bf16", stage)
        assert (record.facts["parameters"], record.facts["gradients"]) == (["bfloat16"], "bfloat16")
        assert record.facts["batch"] == {"train": 4, "micro": 4, "accumulation": 1, "processes": 1}
        assert [step.number for step in record.steps] == list(range(1, 13))
        assert all(step.norm is not None and step.norm > 0 for step in record.steps)
        assert record.steps[-1].loss < record.steps[0].loss

    @pytest.mark.parametrize("stage", [1, 2, 3])
    def test_fp16_trains_under_its_loss_scale(self, stage):
        record = run(trial(config(fp16=FP16, zero_optimization={"stage": stage}), steps=4))
        assert record.ended == "accepted", record.said
        assert {step.scale for step in record.steps} == {65536.0}
        assert record.skipped == 0

    def test_float32_without_zero_has_a_norm_too(self):
        record = run(trial(config()))
        assert (record.ended, record.facts["precision"]) == ("accepted", "fp32")
        assert all(step.scale is None and step.norm > 0 for step in record.steps)

    def test_accumulated_micro_batches_make_one_step(self):
        text = json.dumps(
            {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3, "bf16": {"enabled": True}}
        )
        record = run(trial(text))
        assert record.facts["batch"] == {"train": 6, "micro": 2, "accumulation": 3, "processes": 1}
        assert len(record.steps) == 3

    def test_a_scheduler_takes_effect(self):
        scheduler = {
            "type": "WarmupLR",
            "params": {"warmup_max_lr": 0.01, "warmup_num_steps": 3, "warmup_type": "linear"},
        }
        record = run(trial(config(scheduler=scheduler, zero_optimization={"stage": 1}), steps=4))
        assert record.facts["scheduler"] == "WarmupLR"
        rates = [step.lr for step in record.steps]
        assert rates == sorted(rates)
        assert rates[-1] > rates[0]

    def test_comments_and_other_hjson_are_read_as_the_engine_reads_them(self):
        text = "{\n  // a comment\n  train_batch_size: 4\n  bf16: {enabled: true,}\n}\n"
        assert run(trial(text)).ended == "accepted"

    def test_two_processes_train_together(self):
        text = json.dumps(
            {
                "train_batch_size": 8,
                "train_micro_batch_size_per_gpu": 4,
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": 2},
            }
        )
        record = run(trial(text, processes=2))
        assert record.ended == "accepted", record.said
        assert record.facts["batch"] == {"train": 8, "micro": 4, "accumulation": 1, "processes": 2}


class TestRefused:
    def explained(self, text, **asked):
        record, explanation = validate(trial(text, **asked), Launcher())
        assert record.ended == "refused", record.said
        return record, [finding.name for finding in explanation.explaining]

    def test_a_refusal_at_loading_comes_with_its_finding(self):
        record, names = self.explained(config(fp16={**FP16, "min_loss_scale": 0.5}))
        assert (record.error.stage, names) == ("load", ["min-loss-scale-fractional"])

    def test_a_refusal_at_initializing_comes_with_its_finding(self):
        record, names = self.explained(config(optimizer={"type": "Adamm", "params": {"lr": 0.001}}))
        assert (record.error.stage, names) == ("init", ["optimizer-unknown"])

    def test_broken_json_is_explained(self):
        record, names = self.explained('{"train_batch_size": 4, "train_batch_size": 8}')
        assert (record.error.stage, names) == ("load", ["duplicate-key-refused"])

    def test_batch_sizes_that_do_not_fit_are_explained_for_the_processes_that_ran(self):
        text = json.dumps(
            {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}
        )
        _, names = self.explained(text)
        assert names == ["batch-equation"]

    def test_an_error_of_any_rank_is_told(self):
        text = json.dumps({"train_batch_size": 3})
        record, _ = self.explained(text, processes=2)
        assert "AssertionError" in record.error.sentence


class TestOverflow:
    STAGE: ClassVar = {"stage": 2}

    @pytest.mark.parametrize("stage", [1, 2, 3])
    @pytest.mark.parametrize(("block", "last"), [({}, 21), ({"min_loss_scale": 4096, "hysteresis": 1}, 8)])
    def test_the_run_dies_at_the_step_that_the_block_says(self, stage, block, last):
        text = config(fp16={**FP16, **block}, zero_optimization={"stage": stage})
        record = run(trial(text, stress="overflow"))
        assert record.ended == "died", record.said
        assert "Current loss scale already at minimum" in record.error.message
        assert record.error.step == last
        assert all(step.infinite == 1.0 for step in record.steps if step.stressed)
        assert record.facts["last_scale"] == block.get("min_loss_scale", 1)

    def test_the_fixed_block_lives_through_what_killed_the_other(self):
        other = run(trial(config(fp16=FP16, zero_optimization=self.STAGE), stress="overflow", storm=8))
        assert other.ended == "accepted", other.said
        assert other.skipped == 8
        assert not any(step.skipped for step in other.steps[-3:])

    def test_bf16_lives(self):
        record = run(
            trial(config(bf16={"enabled": True}, zero_optimization=self.STAGE), stress="overflow", storm=18)
        )
        assert (record.ended, record.skipped, len(record.steps)) == ("accepted", 0, 24)
        assert max(step.norm for step in record.steps) > 1e9


class TestUnderflow:
    def zeros(self, **blocks):
        record = run(trial(config(zero_optimization={"stage": 2}, **blocks), stress="underflow"))
        assert record.ended == "accepted", record.said
        return [step.zeros for step in record.steps]

    def test_a_loss_scale_below_one_loses_the_gradient(self):
        assert min(self.zeros(fp16={**FP16, "loss_scale": 0.5})) > 0.9

    def test_a_usual_loss_scale_keeps_it(self):
        assert max(self.zeros(fp16=FP16)) < 0.01

    def test_bf16_keeps_it(self):
        assert max(self.zeros(bf16={"enabled": True})) < 0.01


@pytest.mark.frameworks
@needs_frameworks
class TestFrameworks:
    AUTO = json.dumps(
        {
            "train_batch_size": "auto",
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "gradient_clipping": "auto",
            "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"},
        }
    )

    def test_the_trainer_fills_auto(self):
        record = run(
            trial(
                self.AUTO,
                framework="transformers",
                arguments={"bf16": "true", "per_device_train_batch_size": "2"},
            )
        )
        assert record.ended == "accepted", record.said
        assert record.facts["batch"]["micro"] == 2
        assert (record.facts["precision"], record.facts["clip"]) == ("bf16", 1.0)
        assert len(record.steps) == 3

    def test_the_configs_own_numbers_are_no_mismatch(self):
        text = json.dumps(
            {
                "train_micro_batch_size_per_gpu": 3,
                "gradient_accumulation_steps": 2,
                "gradient_clipping": 0.5,
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": 1},
                "scheduler": {
                    "type": "WarmupDecayLR",
                    "params": {"total_num_steps": 500, "warmup_num_steps": 7},
                },
            }
        )
        record = run(trial(text, framework="transformers"))
        assert record.ended == "accepted", record.said
        assert record.facts["clip"] == 0.5
        assert len(record.steps) == 3

    def test_the_trainers_own_complaint_is_a_refusal(self):
        text = json.dumps(
            {
                "train_micro_batch_size_per_gpu": 3,
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": 1},
            }
        )
        record = run(trial(text, framework="transformers", arguments={"per_device_train_batch_size": "4"}))
        assert record.ended == "refused"
        assert "mismatch" in record.error.message

    def test_the_trainer_dies_of_overflow_at_the_same_step(self):
        record = run(
            trial(
                config(fp16=FP16, zero_optimization={"stage": 2}), framework="transformers", stress="overflow"
            )
        )
        assert (record.ended, record.error.step) == ("died", 21)

    def test_accelerate_makes_the_engine(self):
        text = json.dumps(
            {
                "train_micro_batch_size_per_gpu": 2,
                "gradient_accumulation_steps": 2,
                "gradient_clipping": "auto",
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": 3},
            }
        )
        record = run(trial(text, framework="accelerate"))
        assert record.ended == "accepted", record.said
        assert record.facts["batch"]["accumulation"] == 2


class TestModels:
    FACTORY = """
import torch
class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(5, 1)
    def forward(self, inputs, wanted):
        return {"loss": (self.line(inputs).squeeze(-1) - wanted).float().pow(2).mean()}
def make():
    return Linear(), lambda rows: {"inputs": torch.randn(rows, 5), "wanted": torch.zeros(rows)}
def nothing():
    return 7
"""

    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "mine.py").write_text(self.FACTORY)
        return str(tmp_path)

    def test_a_model_of_ones_own_is_trained(self, folder):
        record = run(trial(config(bf16={"enabled": True}), model="mine:make", folders=(folder,)))
        assert record.ended == "accepted", record.said
        assert len(record.steps) == 3

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("mine:nothing", "not a torch module"),
            ("mine:gone", "gives no model"),
            ("gone:make", "gives no model"),
        ],
    )
    def test_a_factory_that_gives_none_is_no_fault_of_the_config(self, folder, name, said):
        record = run(trial(config(), model=name, folders=(folder,)))
        assert record.ended == "not-run"
        assert said in record.error.message


def test_a_gpu_that_is_not_there_is_no_fault_of_the_config():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    record = run(trial(config())._replace(device="cuda"))
    assert (record.ended, record.error.message) == (
        "not-run",
        "torch sees no CUDA GPU here; --device cpu runs without one",
    )


class TestAcceptedFunction:
    def test_a_text_that_the_engine_takes(self):
        verdict = accepted(config(bf16={"enabled": True}), device="cpu")
        assert (verdict.accepted, verdict.reached) == (True, "steps")

    def test_a_text_that_it_refuses(self):
        verdict = accepted(config(fp16=FP16, bf16={"enabled": True}), device="cpu")
        assert not verdict.accepted
        assert "cannot be simultaneously enabled" in verdict.error


# A Slurm that starts its tasks here, and tells them their ranks as some sites do; DeepSpeed asks for an address over ssh.
SLURM = {
    "sinfo": "",
    "ssh": "echo 127.0.0.1",
    "srun": """
echo "$@" > "$PLAYED"
tasks=$2
while [ "${1#/}" = "$1" ]; do shift; done
for rank in $(seq 0 $((tasks - 1))); do
  RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$tasks MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT "$@" &
done
wait
""",
}


def test_slurm_is_told_what_is_passed_on_and_its_ranks_are_heard(tmp_path, monkeypatch):
    from dslint.engine.running import free_port

    for name, text in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "hosts").write_text("worker-1 slots=1\nworker-2 slots=1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PLAYED", str(tmp_path / "asked"))
    monkeypatch.setenv("PORT", str(free_port()))
    text = json.dumps({"train_batch_size": 8, "bf16": {"enabled": True}, "zero_optimization": {"stage": 1}})
    record = run(trial(text), Launcher("hosts", "slurm", "--partition=long"))
    assert record.ended == "accepted", record.said
    assert (record.machine["processes"], record.facts["batch"]["micro"]) == (2, 4)
    assert (tmp_path / "asked").read_text().startswith("2 --partition=long --gpus-per-node 1 --export=ALL")
    assert not list(tmp_path.glob(".dslint-trial-*"))


class TestCommand:
    def call(self, tmp_path, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "DS_ACCELERATOR": "cpu"}
        return subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=400
        )

    def test_the_old_dies_the_new_lives_and_both_are_reported(self, tmp_path):
        (tmp_path / "old.json").write_text(
            config(fp16={**FP16, "min_loss_scale": 16384}, zero_optimization={"stage": 1})
        )
        (tmp_path / "new.json").write_text(
            config(fp16={**FP16, "min_loss_scale": 1}, zero_optimization={"stage": 1})
        )
        options = (
            "--stress",
            "overflow",
            "--compare",
            "new.json",
            "--report",
            "report.html",
            "--format",
            "json",
        )
        done = self.call(tmp_path, *validate_command("old.json", *options))
        assert done.returncode == 1, done.stderr
        (item,) = json.loads(done.stdout)
        assert (item["ended"], item["error"]["step"]) == ("died", 7)
        assert (item["compared"]["ended"], item["compared"]["skipped_steps"]) == ("accepted", 4)
        page = (tmp_path / "report.html").read_text()
        assert "Under the same storm old.json died in step 7; new.json lived." in page

    def test_a_good_config_is_accepted_with_status_zero(self, tmp_path):
        (tmp_path / "a.json").write_text(config(bf16={"enabled": True}))
        done = self.call(tmp_path, *validate_command("a.json", "--steps", "2"))
        assert (done.returncode, done.stderr) == (0, "")
        assert re.match(r"a\.json: accepted\n  DeepSpeed \d+\.\d+\.\d+ on CPU, 1 process", done.stdout)

    def test_fix_with_validate_writes_only_what_the_engine_takes(self, tmp_path):
        # Once its fraction is mended, the second still has an optimizer that there is not.
        (tmp_path / "good.json").write_text(
            config(fp16={**FP16, "min_loss_scale": 0.5}, gradient_clipping=1.0)
        )
        bad = config(
            fp16={**FP16, "min_loss_scale": 0.5}, gradient_clipping=1.0, optimizer={"type": "NoSuchThing"}
        )
        (tmp_path / "bad.json").write_text(bad)
        command = [
            sys.executable,
            "-m",
            "dslint.cli.main",
            "--isolated",
            "--fix",
            "--validate",
            "--output-format",
            "concise",
        ]
        done = self.call(tmp_path, *command, "good.json", "bad.json")
        assert json.loads((tmp_path / "good.json").read_text())["fp16"]["min_loss_scale"] == 1
        assert (tmp_path / "bad.json").read_text() == bad
        assert (
            "the fix for min-loss-scale-fractional was left out: the engine does not take the mended file"
            in done.stderr
        )
        assert done.returncode == 1
