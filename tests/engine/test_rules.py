"""Every rule about configs, proven on the real DeepSpeed: what it says of `bad` is what the engine does."""

from pathlib import Path

import pytest
from engines import INSTALLED

from dslint.engine.proof import faults, proofs
from dslint.rules.compile import rule_files

ROOT = Path(__file__).parents[2]
RULES = [rule for _, rule in rule_files(str(ROOT / "rules"))]
PROOFS = [proof for rule in RULES for proof in proofs(rule)]


def marked(proof):
    """The newest release is proven in every run of the engine tests; others on demand."""
    here = INSTALLED is None or proof.release == INSTALLED
    return pytest.param(proof, marks=pytest.mark.engine if here else pytest.mark.matrix, id=proof.name)


@pytest.mark.parametrize("proof", [marked(proof) for proof in PROOFS])
def test_the_engine_bears_a_rule_out(proof, engines):
    verdict = engines.verdict(proof)
    found = list(faults(proof.claim, verdict))
    assert not found, f"{found}\n{proof.run.text}\n{verdict.said[-1500:]}"


@pytest.mark.engine
@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.document == "deepspeed" and r.severity == "error"], ids=lambda r: r.name
)
def test_a_rule_about_an_error_claims_a_refusal(rule):
    claims = [claim for example in rule.examples if example.bad for claim in example.claims or rule.claims]
    assert not claims or any(claim.refuses or claim.accepts is False or claim.needs for claim in claims)
