"""The releases at which a rule begins and ends to hold, as runs of the real engine.

A rule's `$release` names bounds, such as ">=0.17.1,<0.19.3". At each bound and in the release before it, dslint says of
the rule's `bad` examples whether the engine refuses them; the engine of that release must agree.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from dslint.engine.proof import deepest_point, unshown
from dslint.engine.verdict import Run, Verdict
from dslint.releases.release import KNOWN, NEWEST, parse_version
from dslint.rules.book import Rule
from dslint.rules.examples import Bench
from dslint.rules.model import Example, RuleFile

FIGURES: Final = re.compile(r"\d+(?:\.\d+)+")


class Boundary(NamedTuple):
    """One `bad` text in one release. `told` names the rules that give an error there; None of them means: accepted."""

    rule: str
    number: int
    release: str
    run: Run
    told: tuple[str, ...]
    unshown: str | None

    @property
    def name(self) -> str:
        return f"{self.rule}-{self.number}-{self.release}"


def boundaries(rule: RuleFile, book: Sequence[Rule], files: Mapping[str, RuleFile]) -> Iterator[Boundary]:
    """What to run for a rule about an error; `files` has every rule file by name."""
    if rule.document != "deepspeed" or rule.severity != "error":
        return
    for number, example in enumerate(rule.examples, 1):
        if example.bad is not None:
            for release in bounds(rule):
                yield boundary(rule, number, example.model_copy(update={"release": release}), book, files)


def bounds(rule: RuleFile) -> list[str]:
    """The releases that a rule's conditions name, and those just before them, oldest first."""
    found: set[int] = set()
    for test in release_tests(rule):
        for figures in FIGURES.findall(test):
            named = parse_version(figures)
            at = next(
                (index for index, known in enumerate(KNOWN) if named is not None and known >= named), None
            )
            if at is not None:
                found |= {at, max(0, at - 1)}
    return [KNOWN[index].name for index in sorted(found)]


def release_tests(rule: RuleFile) -> Iterator[str]:
    tables: list[Mapping[str, Any]] = [rule.when, *rule.any]
    for table in tables:
        if isinstance(table.get("$release"), str):
            yield table["$release"]


def boundary(
    rule: RuleFile, number: int, example: Example, book: Sequence[Rule], files: Mapping[str, RuleFile]
) -> Boundary:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), example, tuple(book))
        outcome = bench.lint(bench.workspace)
        told = tuple(sorted({finding.name for finding in outcome.findings if finding.severity == "error"}))
        launch = next((each for each in outcome.launches if each.config.source.path == str(bench.main)), None)
    claims = [
        claim for name in {rule.name, *told} if name in files for claim in files[name].claims
    ] + example.claims
    run = Run(
        example.bad or "",
        deepest_point(claims),
        launch.framework if launch else example.framework,
        (launch.world_size if launch else None) or 1,
    )
    needs = next((claim for claim in claims if claim.needs is not None), None)
    why = f"a claim needs {needs.needs}" if needs else unshown(None, run, example)
    return Boundary(rule.name, number, example.release or NEWEST.name, run, told, why)


def false_error(boundary: Boundary, verdict: Verdict) -> bool:
    """Does dslint give an error where the engine takes the config?"""
    return bool(boundary.told) and verdict.accepted


def missed(boundary: Boundary, verdict: Verdict) -> bool:
    """Does the engine refuse what no rule calls an error?"""
    return not boundary.told and not verdict.accepted
