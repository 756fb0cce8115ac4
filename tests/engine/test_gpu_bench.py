"""The parts of `make gpu` that need no GPU: what is run of each config, what is kept, what the page says."""

from __future__ import annotations

import importlib.util
import json

import pytest

from bench.gpu import __main__ as command
from bench.gpu.configs import for_one_gpu, job, jobs_of
from bench.gpu.report import page

GOOD = {"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}, "zero_optimization": {"stage": 1}}


def test_a_config_is_fitted_to_one_gpu_and_filled():
    text = json.dumps(
        {
            "train_batch_size": 4096,
            "train_micro_batch_size_per_gpu": 16,
            "gradient_accumulation_steps": "auto",
            "gradient_clipping": "auto",
            "bf16": {"enabled": "auto"},
            "fp16": {"enabled": "auto"},
            "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local"}},
        }
    )
    assert for_one_gpu(text) == {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "fp16": {"enabled": False},
        "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/scratch"}},
    }


def test_configs_that_are_equal_then_share_a_run():
    runs = {
        job("a.json", "before", json.dumps({**GOOD, "train_batch_size": size}), "").run for size in (8, 64)
    }
    assert len(runs) == 1


def test_a_config_is_run_as_it_is_and_as_its_fixes_leave_it_and_templates_not_at_all(tmp_path):
    (tmp_path / "good.json").write_text(json.dumps({**GOOD, "gradient_clipping": 1.0}))
    (tmp_path / "bad.json").write_text(json.dumps({**GOOD, "bf16": {"enabled": True, "auto_cast": True}}))
    (tmp_path / "template.json").write_text("{}")
    row = {"kind": "configs", "file": "configs/template.json", "flags": ["template"]}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row) + "\n")
    jobs = {(job.file, job.variant): job for job in jobs_of(tmp_path)}
    assert set(jobs) >= {("good.json", "before"), ("bad.json", "before"), ("bad.json", "after")}
    assert "auto_cast" not in jobs["bad.json", "after"].config["bf16"]
    assert [jobs[file, "before"].told for file in ("good.json", "bad.json")] == ["", "fix"]
    assert not any(file == "template.json" for file, _ in jobs)


def results(tmp_path, monkeypatch, machine="H200"):
    where = {"machine": machine, "deepspeed": "0.19.8", "torch": "2"}
    monkeypatch.setattr(command, "where_it_runs", lambda: where)
    return command.Results(tmp_path / "gpu.json")


def test_what_is_done_is_kept_for_the_same_machine_alone(tmp_path, monkeypatch):
    first = results(tmp_path, monkeypatch)
    first.all["runs"]["a"] = {"verdict": "ok", "steps": 20, "loss": [1, 2], "seconds": 1.0}
    first.save()
    assert results(tmp_path, monkeypatch).all["runs"].keys() == {"a"}
    assert results(tmp_path, monkeypatch, "another").all["runs"] == {}


def test_the_page_counts_what_was_mended_and_what_was_not():
    ran = {"steps": 20, "loss": [1, 2], "seconds": 2.0}
    said = page(
        {
            "machine": "H200",
            "deepspeed": "0.19.8",
            "torch": "2",
            "date": "2026-12-01",
            "tests": {"status": 0, "said": ["=== 12 passed in 3s ==="]},
            "stress": [
                {"name": "overflow: a", "headline": "died in step 21", "loss": ["nan", 1.5], "zeros": 0.25}
            ],
            "unscaled": [{"optimizer": "SGD", "rate": 0.1, "stage": 0, "precision": "fp16", "update": 1e-5}],
            "configs": [
                {"file": "a", "variant": "before", "run": "1", "told": "fix"},
                {"file": "a", "variant": "after", "run": "2", "told": "fix"},
                {"file": "b", "variant": "before", "run": "1", "told": "error"},
                {"file": "c", "variant": "before", "run": "2", "told": ""},
                {"file": "c", "variant": "after", "run": "3", "told": ""},
                {"file": "d", "variant": "before", "run": "1", "told": ""},
            ],
            "runs": {"1": {**ran, "verdict": "no"}, "2": {**ran, "verdict": "ok"}},
        }
    )
    for row in (
        "The `gpu` tests: 12 passed in 3s.",
        "| as they are | 4 | 1 |",
        "| refused, and dslint has an error with a fix for it | 1 | 1 once fixed |",
        "| refused, and dslint has an error without a fix | 1 | 0 |",
        "| refused, and dslint has no error: the config is right elsewhere | 1 | 0 |",
        "- 1 × no",
        "1 files are still to be run",
        "| overflow: a | died in step 21 | 0 | 0 | 25.0 % | nan → 1.5 |",
        "| SGD, lr 0.1 | 0 | fp16 | 1.00e-05 |",
    ):
        assert row in said, said


@pytest.mark.engine
@pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None,
    reason="deepspeed is not installed here, so nothing was trained",
)
def test_children_train_and_are_refused_one_beside_another(tmp_path, monkeypatch):
    from bench.gpu.children import run_all

    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    configs = {"good": dict(GOOD), "bad": {**GOOD, "bf16": {"enabled": True, "auto_cast": True}}}
    found = dict(run_all(configs, steps=2, workers=2, seconds=300))
    assert (found["good"]["verdict"], found["good"]["steps"]) == ("ok", 2)
    assert "ValidationError" in found["bad"]["verdict"]
