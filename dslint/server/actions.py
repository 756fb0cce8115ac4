"""Findings → code actions: mend one, mend all that is safe, ignore one. Each fix is tried out before it is offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from lsprotocol import types

from dslint.fixing.fix import Edit
from dslint.fixing.mend import attempt, key, mend, plan
from dslint.rules.finding import Finding
from dslint.server.differing import replacements
from dslint.server.judge import Judgement
from dslint.settings import fixable

FIX_ALL: Final = "source.fixAll.dslint"
QUICK: Final = types.CodeActionKind.QuickFix.value
KINDS: Final = (QUICK, FIX_ALL)

Edits = Mapping[str, Sequence[Edit]]


class Offer(NamedTuple):
    """A code action before it is put into the protocol's words: its edits by absolute path."""

    title: str
    kind: str
    edits: Edits
    finding: Finding | None = None
    preferred: bool = False


def wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Does the editor ask for a kind? `source` stands for `source.fixAll` and all below it."""
    return only is None or any(kind == asked or kind.startswith(asked + ".") for asked in only)


def quick_offers(judgement: Judgement, path: str, start: int, end: int) -> list[Offer]:
    """What can be done about the findings that touch a span of a file."""
    offers: list[Offer] = []
    met = [f for f in judgement.findings_at(path) if f.place.start <= end and start <= f.place.end]
    for finding in met:
        edits = fix_edits(judgement, finding)
        if edits:
            offers.append(fix_offer(finding, edits))
    for finding in met:
        edits = ignore_edits(judgement, finding)
        if edits:
            offers.append(Offer(f"Ignore {finding.name} here", QUICK, edits, finding))
    return offers


def fix_offer(finding: Finding, edits: Edits) -> Offer:
    fix = finding.fix
    assert fix is not None
    said = fix.message[:1].upper() + fix.message[1:] or "Mend it"
    title = f"{said} ({finding.name})"
    if fix.safety == "unsafe":
        title = f"{title} - unsafe: it changes training"
    return Offer(title, QUICK, edits, finding, fix.safety == "safe")


def fix_edits(judgement: Judgement, finding: Finding) -> Edits:
    """The edits of a finding's fix; none where it has no fix, or the fix fails the same trial as `--fix` makes it stand."""
    if finding.fix is None or not fixable(finding.code, finding.name, judgement.job.settings):
        return {}
    memo = ("fix", key(finding))
    if memo not in judgement.memo:
        tried = attempt([finding], judgement.workspace, judgement.outcome, judgement.job.lint)
        judgement.memo[memo] = {} if tried.reason else plan([finding]).edits
    edits: Edits = judgement.memo[memo]
    return edits


def ignore_edits(judgement: Judgement, finding: Finding) -> Edits:
    """The edits that silence a finding; none where there is no place for an ignore."""
    # Imported here: most runs silence nothing.
    from dslint.documents.editing import CannotEdit
    from dslint.silencing import add_ignores

    try:
        edits = add_ignores([finding], judgement.documents()).edits
    except CannotEdit:
        return {}
    return {judgement.path(finding.place.source): edits} if edits else {}


def has_safe_fixes(judgement: Judgement, path: str) -> bool:
    return any(is_own_and_safe(judgement, finding, path) for finding in judgement.findings_at(path))


def fix_all_edits(judgement: Judgement, path: str) -> Edits:
    """Every safe fix of a file that concerns this file alone, to the fixpoint, as the edits that lead there."""
    memo = ("all", path)
    if memo not in judgement.memo:
        mended = mend(
            judgement.workspace,
            judgement.job.lint,
            lambda finding: is_own_and_safe(judgement, finding, path),
        )
        new = mended.texts.get(path)
        edits: list[Edit] = []
        if new is not None:
            old = judgement.workspace.overlay[path]
            edits = [Edit(old, *replacement) for replacement in replacements(old.text, new.text)]
        judgement.memo[memo] = {path: edits} if edits else {}
    found: Edits = judgement.memo[memo]
    return found


def is_own_and_safe(judgement: Judgement, finding: Finding, path: str) -> bool:
    fix = finding.fix
    if fix is None or fix.safety != "safe" or judgement.path(finding.place.source) != path:
        return False
    if not fixable(finding.code, finding.name, judgement.job.settings):
        return False
    sources = [edit.source for edit in fix.edits]
    if fix.changes and finding.document is not None:
        sources.append(finding.document.source)
    return all(judgement.path(source) == path for source in sources)
