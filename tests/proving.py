"""`make engine` counts the rules that the real engine has proven, and takes no skipped check for a passed one.

DSLINT_PROVE=1 turns it on. Then a test of the engine or the frameworks that is skipped has failed, but for reasons that no
installation mends; and the run ends with the number of rules proven, and why the others are not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from places import ROOT

from dslint.releases.release import NEWEST

ON = os.environ.get("DSLINT_PROVE") == "1"
MARKS = frozenset({"engine", "frameworks", "matrix"})
# What a CPU has not, what lies beside the repository alone, and older releases that no rule needs to be proven.
REASONS = re.compile(
    rf"not shown on a CPU: |\bis absent\b|beside the repository|DeepSpeed (?!{re.escape(NEWEST.name)}\b)\S+ is not here"
)
KEY = "proof"


class Shown(NamedTuple):
    """The outcome of one proof: passed, failed or skipped; `why` it was skipped."""

    rule: str
    side: str
    release: str
    claimed: bool
    outcome: str
    why: str = ""


def tell_proofs(items: Sequence[pytest.Item], of: Any) -> None:
    """Write on each item what its proof is about, so that its report tells it; `of` gives an item's proof or None."""
    claims = claims_by_rule() if ON else {}
    for item in items:
        proof = of(item)
        if ON and hasattr(proof, "side"):
            about = [proof.rule, proof.side, proof.release, proof.claim in claims[proof.rule]]
            item.user_properties.append((KEY, about))


def claims_by_rule() -> dict[str, list[Any]]:
    """What each rule's file claims of the engine, in its own words or in an example's."""
    from dslint.rules.compile import rule_files

    return {
        rule.name: [*rule.claims, *(claim for example in rule.examples for claim in example.claims)]
        for _, rule in rule_files(str(ROOT / "rules"))
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[Any]:
    report = yield
    if (
        ON
        and report.skipped
        and not hasattr(report, "wasxfail")
        and MARKS & {m.name for m in item.iter_markers()}
    ):
        why = reason(report)
        if not REASONS.search(why):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped where everything has to be proven: {why}"
    return report


def reason(report: Any) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


class Counting:
    """What became of each proof, and the words on it at the end."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        about = dict(report.user_properties).get(KEY)
        if about is not None and (report.when == "call" or not report.passed):
            self.shown.append(Shown(*about, report.outcome, reason(report) if report.skipped else ""))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.shown:
            terminalreporter.section("rules on the real engine")
            for line in told(self.shown):
                terminalreporter.line(line)


def told(shown: Sequence[Shown]) -> Iterator[str]:
    """How many rules with a claim are proven, and why the others are not."""
    rules: dict[str, list[Shown]] = {}
    for one in shown:
        rules.setdefault(one.rule, []).append(one)
    claimed = {name: ones for name, ones in rules.items() if any(one.claimed for one in ones)}
    failed = {name for name, ones in claimed.items() if any(one.outcome == "failed" for one in ones)}
    proven = {
        name: sorted({one.release for one in ones if one.claimed and one.outcome == "passed"})
        for name, ones in claimed.items()
        if name not in failed and any(one.claimed and one.outcome == "passed" for one in ones)
    }
    left = claimed.keys() - proven.keys() - failed
    yield (
        f"{len(claimed)} rules with an engine claim: {len(proven)} proven, {len(failed)} not borne out, "
        f"{len(left)} can't be here"
    )
    releases = sorted({release for found in proven.values() for release in found})
    yield f"on DeepSpeed {', '.join(releases)}; {sum(one.outcome == 'passed' for one in shown)} examples"
    for name in sorted(left):
        whys = dict.fromkeys(one.why.removeprefix("Skipped: ") for one in claimed[name] if one.claimed)
        yield f"  {name}: {'; '.join(whys)}"


def pytest_configure(config: pytest.Config) -> None:
    if ON:
        config.pluginmanager.register(Counting(), "counting-proofs")
