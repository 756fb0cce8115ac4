"""Claims about what a framework does before DeepSpeed reads a config, on the real Trainer and the real Accelerate."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from dslint.engine.running import run
from dslint.engine.trial import Trial
from dslint.rules.compile import rule_files

ROOT = Path(__file__).parents[2]
# Who stops, and the Trainer's arguments beside the examples.
STOPS = {
    "trainer-mismatch": ("transformers", {"learning_rate": "8e-5", "max_grad_norm": "1.0"}),
    "optimizer-without-type": ("transformers", {}),
    "zero-block-missing": ("accelerate", {}),
    "auto-unfilled": ("accelerate", {}),
    "batch-missing": ("transformers", {}),
}
RULES = {rule.name: rule for _, rule in rule_files(str(ROOT / "rules"))}
BAD = [(name, number) for name in STOPS for number, e in enumerate(RULES[name].examples, 1) if e.bad]

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("deepspeed", "transformers", "accelerate")),
        reason="deepspeed, transformers or accelerate is not installed, so no framework was asked",
    ),
]


@pytest.mark.parametrize(("name", "number"), BAD)
def test_the_framework_stops_as_the_rule_says(name, number, record_property):
    framework, arguments = STOPS[name]
    example = RULES[name].examples[number - 1]
    (claim,) = example.claims or RULES[name].claims
    trial = Trial(
        example.bad,
        "ds_config.json",
        framework,
        steps=1,
        device="cpu",
        arguments=arguments,
    )
    record = run(trial)
    assert record.ended == ("died" if claim.at == "steps" else "refused"), record.said
    assert claim.refuses in record.error.sentence
    record_property("proof", [name, "bad", record.release, True])


def test_accelerate_stops_at_a_precision_beside_the_other_format(monkeypatch):
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from accelerate.utils import DeepSpeedPlugin

    rule = RULES["accelerate-precision-at-odds"]
    (claim,) = rule.claims
    for example, asked in zip(rule.examples, ("bf16", "fp16"), strict=False):
        plugin = DeepSpeedPlugin(hf_ds_config=json.loads(example.bad))
        with pytest.raises(ValueError, match=claim.refuses):
            plugin.set_mixed_precision(asked)
