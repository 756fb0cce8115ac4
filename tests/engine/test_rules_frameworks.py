"""Claims about what a framework does before DeepSpeed reads a config, on the real Trainer and the real Accelerate."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from dslint.engine.fitting import fit
from dslint.engine.proof import launched
from dslint.engine.running import run
from dslint.engine.trial import Trial
from dslint.rules.compile import rule_files

ROOT = Path(__file__).parents[2]
# The arguments beside each bad example, where a rule is about them.
ARGUMENTS = {
    "trainer-mismatch": [{"learning_rate": "8e-5"}, {"max_grad_norm": "1.0"}],
    "accelerate-precision-at-odds": [{"mixed_precision": "bf16"}, {"mixed_precision": "fp16"}],
}


def cases():
    """Each bad example whose claim is about the Trainer or Accelerate."""
    for _, rule in rule_files(str(ROOT / "rules")):
        arguments = iter(ARGUMENTS.get(rule.name, ()))
        for number, example in enumerate(rule.examples, 1):
            for claim in (example.claims or rule.claims) if example.bad else ():
                if claim.needs and re.search(r"\b(Trainer|Accelerate)\b", claim.needs):
                    case = (rule.name, example, claim, next(arguments, {}))
                    yield pytest.param(*case, id=f"{rule.name}-{number}")


pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("deepspeed", "transformers", "accelerate")),
        reason="deepspeed, transformers or accelerate is not installed, so no framework was asked",
    ),
]


@pytest.mark.parametrize(("name", "example", "claim", "arguments"), list(cases()))
def test_the_framework_stops_as_the_rule_says(name, example, claim, arguments, record_property):
    framework, processes = launched(example)
    assert framework in ("transformers", "accelerate")
    text = fit(example.bad, "ds_config.json", 1).text if processes > 1 else example.bad
    record = run(Trial(text, "ds_config.json", framework, steps=1, device="cpu", arguments=arguments))
    assert record.ended == ("died" if claim.at == "steps" else "refused"), record.said
    assert claim.refuses in record.error.sentence
    record_property("proof", [name, "bad", record.release, True])
