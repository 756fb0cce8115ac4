"""A rule's examples as runs of the real engine, and what a verdict must show.

`proofs` says what to run; `faults` holds a verdict against the claim. `bad` shows what the rule's `engine:` says, `fixed` and
`good` are accepted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from dslint.engine.verdict import POINTS, Point, Run, Verdict
from dslint.releases.release import NEWEST
from dslint.rules.examples import Bench
from dslint.rules.model import EngineClaim, Example, RuleFile

Side = Literal["bad", "fixed", "good"]

ACCEPTED: Final = EngineClaim(accepts=True)
REFUSED: Final = EngineClaim(accepts=False)

# More processes than this are not started for one example.
MOST_PROCESSES: Final = 4


class Proof(NamedTuple):
    """One claim about one text. `unshown` says why it can't be run on a CPU; None when it can."""

    rule: str
    number: int
    side: Side
    claim: EngineClaim
    release: str
    run: Run
    unshown: str | None

    @property
    def name(self) -> str:
        return f"{self.rule}-{self.number}-{self.side}-{self.claim.at}-{self.release}"


def proofs(rule: RuleFile) -> Iterator[Proof]:
    """What the engine must show of a rule about configs; nothing for rules about other documents."""
    if rule.document != "deepspeed":
        return
    for number, example in enumerate(rule.examples, 1):
        framework, world_size = launched(example)
        for side, claim, text in claims_of(rule, example):
            run = Run(text, claim.at, framework, world_size, facts=tuple(claim.effective or ()))
            yield Proof(
                rule.name,
                number,
                side,
                claim,
                example.release or NEWEST.name,
                run,
                unshown(claim, run, example),
            )


def launched(example: Example) -> tuple[str | None, int]:
    """The framework that reads the example's config, and how many processes train; its files beside may tell."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), example, ())
        for launch in bench.lint(bench.workspace).launches:
            if launch.config.source.path == str(bench.main):
                return launch.framework, launch.world_size or 1
    return example.framework, example.world_size or 1


def claims_of(rule: RuleFile, example: Example) -> Iterator[tuple[Side, EngineClaim, str]]:
    if example.bad is not None:
        for claim in about_bad(rule, example):
            yield "bad", claim, example.bad
    if example.fixed is not None:
        yield "fixed", deepest(rule.claims), example.fixed
    if example.good is not None:
        for claim in example.claims or [deepest(rule.claims)]:
            yield "good", claim, example.good


def about_bad(rule: RuleFile, example: Example) -> list[EngineClaim]:
    claims = example.claims or rule.claims
    if rule.severity == "error":
        return claims or [REFUSED]
    if any(claim.at == "load" for claim in claims):
        return claims
    return [ACCEPTED, *claims]


def deepest(claims: Sequence[EngineClaim]) -> EngineClaim:
    """That a text is accepted as far as the claims go; those that need more than a CPU are left out."""
    return EngineClaim(accepts=True, at=deepest_point(claims))


def deepest_point(claims: Sequence[EngineClaim]) -> Point:
    return POINTS[max((POINTS.index(claim.at) for claim in claims if claim.needs is None), default=0)]


def unshown(claim: EngineClaim | None, run: Run, example: Example) -> str | None:
    """Why a claim, or any run of an example, can't be shown on a CPU; None when it can."""
    if claim is not None and claim.needs is not None:
        return f"the claim needs {claim.needs}"
    if not example.filename.endswith(".json"):
        return f"{example.filename} is no config file that the engine reads by itself"
    if run.at != "load" and run.world_size > MOST_PROCESSES:
        return f"it takes {run.world_size} processes"
    return None


def faults(claim: EngineClaim, verdict: Verdict) -> Iterator[str]:
    """What the engine did other than the claim says, a sentence each."""
    if claim.refuses is not None or claim.accepts is False:
        yield from refusal_faults(claim, verdict)
    elif not verdict.accepted:
        yield f"the engine refuses it{past(verdict.reached)}: {verdict.error}"
        return
    for name, wanted in (claim.effective or {}).items():
        if verdict.accepted and not same(verdict.facts.get(name), wanted):
            yield f"{name} is {verdict.facts.get(name)!r} in the engine, not {wanted!r}"
    if claim.says is not None and claim.says not in verdict.said:
        yield f"the engine does not print {claim.says!r}"


def refusal_faults(claim: EngineClaim, verdict: Verdict) -> Iterator[str]:
    if verdict.error is None:
        yield f"the engine takes it through {claim.at}"
        return
    if claim.refuses is not None and claim.refuses not in verdict.error:
        yield f"the engine refuses it, but says: {verdict.error}"
    point = POINTS[0 if verdict.reached is None else POINTS.index(verdict.reached) + 1]
    if point != claim.at:
        yield f"the engine refuses it at {point} already"


def past(reached: Point | None) -> str:
    return "" if reached is None else f" past {reached}"


def same(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)
