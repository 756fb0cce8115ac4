"""Findings → mended texts: fixes are applied, checked, and applied again until nothing changes.

Each applied fix is verified before it counts: the config's content is the old content with just that change, the finding is
gone, and no error has come. A fix that fails is left out and says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dslint.documents.editing import CannotEdit, changed, edits
from dslint.documents.tree import Document, Source
from dslint.fixing.apply import apply
from dslint.fixing.fix import Change, Edit
from dslint.linting import Outcome
from dslint.rules.finding import Finding
from dslint.workspace import Workspace

ROUNDS: Final = 10

Key = tuple[str, str, str]
Lint = Callable[[Workspace], Outcome]


class Refused(NamedTuple):
    """A fix that was not applied, and the reason in a sentence."""

    finding: Finding
    reason: str


class Mended(NamedTuple):
    """`texts` are the new sources by absolute path; `outcome` is what still stands after them."""

    texts: dict[str, Source]
    applied: list[Finding]
    refused: list[Refused]
    outcome: Outcome


class Attempt(NamedTuple):
    """One try at some fixes: the workspace and outcome after them, or the reason why not."""

    workspace: Workspace
    outcome: Outcome
    reason: str


def mend(workspace: Workspace, lint: Lint, allowed: Callable[[Finding], bool]) -> Mended:
    """Apply every allowed fix to a fixpoint, at most ROUNDS times round."""
    start = workspace
    outcome = lint(workspace)
    applied: list[Finding] = []
    refused: dict[Key, Refused] = {}
    for turn in range(ROUNDS):
        todo = [f for f in outcome.findings if f.fix is not None and allowed(f) and key(f) not in refused]
        if not todo:
            break
        done = len(applied)
        for group in groups(todo):
            workspace, outcome = settle(group, workspace, outcome, lint, applied, refused)
        if len(applied) > done and turn < ROUNDS - 1:
            # What was refused may go now that the text is another one; a second run would try it, too.
            refused.clear()
    texts = {path: s for path, s in workspace.overlay.items() if s is not start.overlay.get(path)}
    return Mended(texts, applied, list(refused.values()), outcome)


def groups(todo: Sequence[Finding]) -> list[list[Finding]]:
    """Findings by the file that they stand in: one file's trouble does not hold up another's."""
    by_file: dict[str, list[Finding]] = {}
    for finding in todo:
        by_file.setdefault(finding.place.source.path, []).append(finding)
    return list(by_file.values())


def settle(
    group: Sequence[Finding],
    workspace: Workspace,
    outcome: Outcome,
    lint: Lint,
    applied: list[Finding],
    refused: dict[Key, Refused],
) -> tuple[Workspace, Outcome]:
    """Apply a group at once; when that fails, one by one, leaving out those that fail alone."""
    whole = attempt(group, workspace, outcome, lint)
    if not whole.reason:
        applied += group
        return whole.workspace, whole.outcome
    for finding in group:
        current = next((f for f in outcome.findings if key(f) == key(finding) and f.fix is not None), None)
        if current is None:
            continue
        single = attempt([current], workspace, outcome, lint)
        if single.reason:
            refused[key(current)] = Refused(current, single.reason)
        else:
            applied.append(current)
            workspace, outcome = single.workspace, single.outcome
    return workspace, outcome


def key(finding: Finding) -> Key:
    """What makes a finding the same one after the text around it has moved."""
    place = finding.place
    what = place.pointer if place.pointer is not None else place.source.text[place.start : place.end]
    return finding.code, place.source.path, what


def attempt(group: Sequence[Finding], workspace: Workspace, before: Outcome, lint: Lint) -> Attempt:
    try:
        planned = plan(group)
        texts = {path: with_edits(source, planned.edits[path]) for path, source in planned.sources.items()}
    except (CannotEdit, ValueError) as error:
        return Attempt(workspace, before, str(error))
    changed_workspace = workspace.with_texts(texts)
    after = lint(changed_workspace)
    return Attempt(changed_workspace, after, objection(group, planned, before, after))


class Plan(NamedTuple):
    """Edits by absolute path, the sources they are for, and the changes of each document by its place in its file."""

    edits: dict[str, list[Edit]]
    sources: dict[str, Source]
    changes: dict[tuple[str, int], list[Change]]
    documents: dict[tuple[str, int], Document]


def plan(group: Sequence[Finding]) -> Plan:
    planned = Plan({}, {}, {}, {})
    for finding in group:
        fix = finding.fix
        assert fix is not None
        if fix.changes:
            document = finding.document
            assert document is not None
            place = (os.path.abspath(document.source.path), document.root.start)
            planned.documents[place] = document
            wanted = planned.changes.setdefault(place, [])
            wanted += [change for change in fix.changes if change not in wanted]
        for edit in fix.edits:
            add_edit(planned, edit)
    for place, changes in planned.changes.items():
        for edit in edits(planned.documents[place], changes):
            add_edit(planned, edit)
    return planned


def add_edit(planned: Plan, edit: Edit) -> None:
    path = os.path.abspath(edit.source.path)
    known = planned.edits.setdefault(path, [])
    if edit not in known:
        known.append(edit)
    planned.sources[path] = edit.source


def with_edits(source: Source, wanted: Sequence[Edit]) -> Source:
    return Source(source.path, apply(source.text, wanted))


def objection(group: Sequence[Finding], planned: Plan, before: Outcome, after: Outcome) -> str:
    """Why the new texts can't be taken, or an empty text."""
    for place, changes in planned.changes.items():
        document = planned.documents[place]
        new = same_document(document, before, after)
        if new is None:
            return "the mended text could not be read as a config again"
        if same_content(new.root.plain(), changed(document.root.plain(), changes)) is False:
            return "the mended text would say something else than the fix means to"
    standing = {key(finding) for finding in after.findings}
    for finding in group:
        if key(finding) in standing:
            return "the fault would still be there"
    errors = {key(f) for f in before.findings if f.severity == "error"}
    for finding in after.findings:
        if finding.severity == "error" and key(finding) not in errors:
            return f"it would bring another error: {finding.message}"
    return ""


def same_content(new: object, wanted: object) -> bool:
    # repr tells 1 from 1.0 and True, and keeps the order of keys, which == on dicts does not.
    return new == wanted or repr(new) == repr(wanted)


def same_document(document: Document, before: Outcome, after: Outcome) -> Document | None:
    """The document after a change: the one with the same rank among its file's configs."""
    path = document.source.path
    old, new = documents_in(path, before), documents_in(path, after)
    rank = sorted(old).index(document.root.start) if document.root.start in old else 0
    starts = sorted(new)
    return new[starts[rank]] if rank < len(starts) else None


def documents_in(path: str, outcome: Outcome) -> dict[int, Document]:
    return {
        launch.config.root.start: launch.config
        for launch in outcome.launches
        if launch.config.source.path == path and not launch.config.derived
    }
