"""With the config at hand: the finding that explains the log, or at least the line of the setting."""

from __future__ import annotations

import io
import json

import pytest
from made_logs import LOGS, START, diagnosed, realistic, traceback_of

from dslint.diagnosis.diagnose import diagnose
from dslint.diagnosis.explain import add_odds, explain
from dslint.documents.tree import Place, Source
from dslint.rules.finding import Finding

BOTH = realistic(traceback_of("AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled"))
TEXT = '{\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true},\n  "gradient_clipping": 1.0\n}\n'


def finding(name: str, pointer: str, severity: str = "error") -> Finding:
    source = Source("ds_config.json", TEXT)
    start = TEXT.index(pointer.split("/")[1])
    return Finding("DS999", name, severity, "a message", Place(source, start, start + 4, pointer))  # type: ignore[arg-type]


class Lint:
    """A lint that finds what it is told, and remembers how it was asked."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = list(findings)
        self.asked: list[tuple[str, dict[str, object]]] = []

    def __call__(self, path: str, **context: object) -> list[Finding]:
        self.asked.append((path, context))
        return self.findings


def test_the_finding_of_the_same_rule_and_place_comes_first():
    near = finding("something-else", "/fp16/enabled", "warning")
    right = finding("fp16-and-bf16", "/fp16/enabled")
    far = finding("gradient-clipping-off", "/gradient_clipping")
    [explained] = explain(diagnosed(BOTH), ["ds_config.json"], Lint(far, near, right))
    assert explained.findings == [right, near]


def test_a_finding_elsewhere_explains_nothing():
    [explained] = explain(
        diagnosed(BOTH), ["ds_config.json"], Lint(finding("gradient-clipping-off", "/gradient_clipping"))
    )
    assert explained.findings == []


def test_without_a_finding_the_lines_of_the_settings_are_shown(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(TEXT, encoding="utf-8")
    [explained] = explain(diagnosed(BOTH), [str(path)], Lint())
    assert [(place.pointer, place.source.position(place.start).row) for place in explained.settings] == [
        ("/fp16/enabled", 2),
        ("/bf16/enabled", 3),
    ]


def test_what_the_log_says_of_the_run_is_told_to_lint():
    log = START + traceback_of(
        "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size 32 != 4 * 1 * 2"
    )
    lint = Lint()
    explain(diagnosed(log), ["conf"], lint, deepspeed_version=None)
    assert lint.asked == [("conf", {"deepspeed_version": "0.15.4", "world_size": 2})]
    explain(diagnosed(log), ["conf"], lint, deepspeed_version="0.16.0")
    assert lint.asked[-1][1]["deepspeed_version"] == "0.16.0"


def test_the_framework_that_printed_the_message_is_told_to_lint():
    lint = Lint()
    explain(diagnose(io.BytesIO((LOGS / "trainer-mismatch.log").read_bytes())), ["conf"], lint)
    assert lint.asked[0][1]["framework"] == "transformers"


@pytest.mark.parametrize(
    ("log", "message", "pointer", "rule"),
    [
        ("both-enabled", "both-precisions-on", "/fp16/enabled", "fp16-and-bf16"),
        ("both-enabled-0.16.9", "both-precisions-on", "/bf16/enabled", "fp16-and-bf16"),
        ("extra-key", "unknown-key", "/zero_optimization/offload_optimiser", "unknown-key-refused"),
        ("extra-key-0.16.9", "unknown-key", "/zero_optimization/allgather_bucket", "unknown-key-refused"),
        ("loss-scale-at-minimum", "loss-scale-at-minimum", "/fp16/initial_scale_power", None),
        ("loss-scale-at-minimum-0.16.9", "loss-scale-at-minimum", "/fp16/min_loss_scale", None),
        ("batch-mismatch", "batch-equation", "/train_batch_size", "batch-equation"),
        (
            "scheduler-parameter",
            "scheduler-parameter",
            "/scheduler/params/lr_decay_style",
            "scheduler-parameter",
        ),
        (
            "scheduler-parameter-0.16.9",
            "scheduler-parameter",
            "/scheduler/params/lr_decay_style",
            "scheduler-parameter",
        ),
        ("trainer-mismatch", "trainer-mismatch", "/train_micro_batch_size_per_gpu", None),
        ("trainer-mismatch-fp16", "trainer-mismatch", "/fp16/enabled", None),
        ("trainer-mismatch-scheduler", "trainer-mismatch", "/scheduler/params/total_num_steps", None),
        (
            "min-loss-scale-fraction",
            "min-loss-scale-fraction",
            "/fp16/min_loss_scale",
            "min-loss-scale-fractional",
        ),
        ("loss-scale-in-bf16", "loss-scale-key-in-bf16", "/bf16/loss_scale", "loss-scale-key-in-bf16"),
        ("removed-block", "removed-amp", "/amp", "removed-key-refused"),
        ("warmup-zero", "warmup-steps", "/scheduler/params/warmup_num_steps", "warmup-not-positive"),
        ("scheduler-unknown", "scheduler-unknown", "/scheduler/type", "scheduler-unknown"),
        ("optimizer-unknown", "optimizer-unknown", "/optimizer/type", "optimizer-unknown"),
        (
            "max-grad-norm",
            "max-grad-norm-in-optimizer",
            "/optimizer/params/max_grad_norm",
            "max-grad-norm-in-optimizer",
        ),
        ("auto-without-trainer", "batch-is-text", "/train_batch_size", None),
        ("untested-optimizer", "untested-optimizer", "/zero_allow_untested_optimizer", None),
        ("config-missing", "config-not-found", None, None),
        ("trainer-config-missing", "config-not-found", None, None),
        ("trainer-trailing-comma", "config-json-comment", None, None),
        ("trainer-both-flags", "trainer-both-precisions", None, None),
        ("accelerate-precision", "mixed-precision-conflict", "/fp16/enabled", None),
        ("accelerate-two-optimizers", "optimizer-in-both-places", "/optimizer", None),
        ("accelerate-dummy-optimizer", "dummy-optimizer-without-block", "/optimizer", None),
        ("accelerate-no-zero-block", "zero-block-missing", "/zero_optimization", None),
        ("accelerate-no-dataloader", "prepare-without-dataloader", "/train_micro_batch_size_per_gpu", None),
        ("accelerate-accumulation", "accumulation-mismatch", "/gradient_accumulation_steps", None),
        ("loss-infinite", "loss-not-a-number", "/gradient_clipping", None),
    ],
)
def test_what_the_real_engine_printed_leads_to_the_rule_and_the_pointer(
    monkeypatch, log, message, pointer, rule
):
    monkeypatch.chdir(LOGS)
    diagnosis = diagnosed((LOGS / f"{log}.log").read_bytes())
    cause = diagnosis.causes[0]
    assert cause.message.name == message
    assert pointer is None or pointer in cause.pointers
    if rule is not None:
        found = explain(diagnosis, [f"{log}.json"])[0].findings
        places = [
            (one.name, place) for one in found for place in (one.place, *(more.place for more in one.related))
        ]
        assert (rule, pointer) in [(name, place.pointer) for name, place in places]
        assert all(place.source.path == f"{log}.json" for _, place in places)


def test_what_the_trainer_compared_is_found_in_the_folder_with_the_script(tmp_path, monkeypatch):
    (tmp_path / "trainer-mismatch.json").write_bytes((LOGS / "trainer-mismatch.json").read_bytes())
    (tmp_path / "hf.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        "Trainer(model=model, args=args).train()\n",
        encoding="utf-8",
    )
    (tmp_path / "run.sh").write_text(
        "#!/bin/bash\ndeepspeed --num_gpus 2 hf.py --output_dir out --per_device_train_batch_size 8 --max_steps 6 "
        "--deepspeed trainer-mismatch.json\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    explained = explain(diagnosed((LOGS / "trainer-mismatch.log").read_bytes()), ["."])[0]
    found = {(one.name, one.place.pointer) for one in explained.findings}
    assert ("trainer-mismatch", "/train_micro_batch_size_per_gpu") in found
    assert ("trainer-mismatch", "/optimizer/params/lr") in found


def test_a_folder_is_linted_whole(tmp_path):
    (tmp_path / "ds_config.json").write_text(TEXT, encoding="utf-8")
    [explained] = explain(diagnosed(BOTH), [str(tmp_path)])
    assert [one.name for one in explained.findings] == ["fp16-and-bf16"]


def test_the_precision_of_the_run_at_odds_with_the_config(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps({"train_batch_size": 8, "fp16": {"enabled": True}}), encoding="utf-8")
    diagnosis = diagnosed(START)
    add_odds(diagnosis, [str(path)])
    [cause] = diagnosis.causes
    assert cause.message.name == "precision-at-odds"
    assert cause.details[0][0] == {"running": "bf16", "written": "fp16", "config": str(path)}
    assert "bfloat16" in cause.evidence.text


@pytest.mark.parametrize(
    "config",
    [
        {"bf16": {"enabled": True}},
        {"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}},
        {"bf16": {"enabled": True}, "fp16": {"enabled": True}},
    ],
    ids=["the same", "auto", "both"],
)
def test_a_config_that_agrees_or_does_not_say_is_not_at_odds(tmp_path, config):
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    diagnosis = diagnosed(START)
    add_odds(diagnosis, [str(path)])
    assert diagnosis.causes == []
