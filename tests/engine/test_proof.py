"""What a verdict must show for a claim: each way in which the engine may not bear a rule out is told."""

import pytest

from dslint.engine.proof import faults, proofs
from dslint.engine.verdict import Verdict
from dslint.rules.model import EngineClaim, RuleFile

TAKEN = Verdict("load", None, {"clip": 0.0}, "a warning")
REFUSED = Verdict(None, "ValueError: no such key")


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (EngineClaim(accepts=True), TAKEN),
        (EngineClaim(accepts=False), REFUSED),
        (EngineClaim(refuses="no such key"), REFUSED),
        (EngineClaim(refuses="no such key", at="init"), REFUSED._replace(reached="load")),
        (EngineClaim(effective={"clip": 0.0}), TAKEN),
        (EngineClaim(says="a warn"), TAKEN),
    ],
)
def test_a_verdict_that_bears_the_claim_out_has_no_faults(claim, verdict):
    assert list(faults(claim, verdict)) == []


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (EngineClaim(accepts=True), REFUSED),
        (EngineClaim(accepts=False), TAKEN),
        (EngineClaim(refuses="another text"), REFUSED),
        (EngineClaim(refuses="no such key", at="init"), REFUSED),
        (EngineClaim(effective={"clip": 1.0}), TAKEN),
        (EngineClaim(effective={"clip": False}), TAKEN),
        (EngineClaim(effective={"clip": 0.0}), REFUSED),
        (EngineClaim(says="an error"), TAKEN),
    ],
)
def test_a_verdict_that_shows_something_else_has_a_fault(claim, verdict):
    assert list(faults(claim, verdict))


def rule(severity="warning", **more):
    return RuleFile.model_validate(
        {
            "code": "XX001",
            "name": "one-rule",
            "severity": severity,
            "summary": "A rule",
            "when": {"steps_per_print": 1},
            "message": "one",
            "why": "For the test.",
            "sources": ["https://example.org"],
            "examples": [{"bad": '{"steps_per_print": 1}'}],
            **more,
        }
    )


def test_an_error_without_a_claim_must_be_refused_and_a_warning_taken():
    (refused,), (taken,) = proofs(rule("error")), proofs(rule("warning"))
    assert refused.claim.accepts is False
    assert taken.claim.accepts is True


def test_a_warning_about_a_later_point_must_load_all_the_same():
    shown = [
        (p.claim.at, p.claim.accepts, p.claim.refuses)
        for p in proofs(rule(engine={"refuses": "x", "at": "init"}))
    ]
    assert shown == [("load", True, None), ("init", None, "x")]


def test_an_example_has_its_own_claim_in_the_place_of_the_rules():
    example = {"bad": '{"steps_per_print": 1}', "engine": {"needs": "a GPU"}}
    (proof,) = proofs(rule("error", engine={"refuses": "x"}, examples=[example]))
    assert proof.unshown == "the claim needs a GPU"


def test_what_is_fixed_goes_as_far_as_the_claims():
    example = {"bad": '{"steps_per_print": 1}', "fixed": "{}"}
    made = {
        p.side: p.claim
        for p in proofs(rule("error", engine={"refuses": "x", "at": "init"}, examples=[example]))
    }
    assert (made["fixed"].accepts, made["fixed"].at) == (True, "init")


def test_auto_shows_that_the_trainer_reads_the_config():
    (proof,) = proofs(rule(examples=[{"good": '{"train_batch_size": "auto"}'}]))
    assert proof.run.framework == "transformers"
