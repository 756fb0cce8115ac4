"""A rule's examples as tests: `bad` meets it, `fixed` is what its fix leaves, `good` does not meet it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from dslint.documents.tree import Source
from dslint.fixing.mend import Mended, mend
from dslint.hardware.profiles import profile
from dslint.launches.discover import File, kind_of
from dslint.linting import Context, Outcome, lint
from dslint.releases.release import NEWEST
from dslint.rules.book import Rule
from dslint.rules.finding import Finding
from dslint.rules.model import Example, RuleFile
from dslint.workspace import Workspace


def faults(rule: RuleFile, book: Sequence[Rule]) -> Iterator[str]:
    """What is wrong with a rule's examples, a sentence each; nothing when all of them hold."""
    for number, example in enumerate(rule.examples, 1):
        for fault in example_faults(rule, example, book):
            yield f"example {number}: {fault}"


def example_faults(rule: RuleFile, example: Example, book: Sequence[Rule]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), example, tuple(book))
        met = [finding for finding in bench.lint(bench.workspace).findings if finding.code == rule.code]
        if example.good is not None:
            yield from (f"`good` meets the rule: {finding.message}" for finding in met)
            return
        if not met:
            yield "`bad` does not meet the rule"
            return
        yield from fix_faults(rule, example, met, bench)


def fix_faults(rule: RuleFile, example: Example, met: Sequence[Finding], bench: Bench) -> Iterator[str]:
    if example.fixed is None:
        return
    if not any(finding.fix for finding in met):
        yield "`fixed` is given, but the finding has no fix"
        return
    mended = bench.mend(rule.code)
    text = mended.texts.get(str(bench.main))
    if text is None:
        yield f"the fix was not applied: {[refused.reason for refused in mended.refused]}"
    elif text.text.strip() != example.fixed.strip():
        yield f"the fix leaves {text.text.strip()!r}, not `fixed`"
    left = [finding for finding in mended.outcome.findings if finding.code == rule.code]
    yield from (f"the fixed text still meets the rule: {finding.message}" for finding in left)


class Bench:
    """An example laid out in a folder, ready to be linted with what it says of the launch."""

    def __init__(self, folder: Path, example: Example, book: tuple[Rule, ...]) -> None:
        self.main = folder / example.filename
        texts = {example.filename: example.bad or example.good or "", **example.files}
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.files = [File(str(folder / name), name, kind_of(name) or "json", True) for name in texts]
        self.workspace = Workspace(
            {str(folder / name): Source(str(folder / name), text) for name, text in texts.items()}
        )
        self.context = Context(
            rules=book,
            release=example.release or NEWEST.name,
            framework=example.framework,
            hardware=profile(example.hardware) if example.hardware else None,
            world_size=example.world_size,
        )

    def lint(self, workspace: Workspace) -> Outcome:
        return lint(self.files, self.context, workspace)

    def mend(self, code: str) -> Mended:
        return mend(self.workspace, self.lint, lambda finding: finding.code == code)
