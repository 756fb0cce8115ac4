"""`--add-ignores`: an ignore for everything that is found, each held against a run on the new texts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dslint.cli.check import Job
from dslint.documents.editing import CannotEdit
from dslint.documents.tree import Source
from dslint.fixing.apply import apply
from dslint.fixing.fix import Edit
from dslint.fixing.mend import Mended, Refused, key
from dslint.linting import Outcome
from dslint.rules.finding import IGNORE_RULES, Finding
from dslint.silencing import add_ignores
from dslint.workspace import Workspace

# What is written behind an ignore when no --reason is given: easy to search for.
PLACEHOLDER = "TODO: say why"
NO_PLACE = "nothing that silences it can stand there; fix it, or ignore it in the settings (per-file-ignores)"


def ignored(job: Job, workspace: Workspace, reason: str | None) -> Mended:
    """The texts with ignores, the findings that they silence, those that are left, and what still stands."""
    outcome = job.lint(workspace)
    wanted = [
        finding for finding in new_ones(job, outcome) if (finding.code, finding.name) not in IGNORE_RULES
    ]
    documents = [launch.config for launch in outcome.launches]
    done: list[Finding] = []
    left: list[Refused] = []
    said = PLACEHOLDER if reason is None else " ".join(reason.split())
    for findings in by_file(wanted):
        try:
            added = add_ignores(findings, documents, said)
        except CannotEdit as error:
            left += [Refused(finding, str(error)) for finding in findings]
            continue
        left += [Refused(finding, NO_PLACE) for finding in added.left]
        rest = [finding for finding in findings if finding not in added.left]
        if not added.edits:
            continue
        changed = with_edits(workspace, added.edits)
        after = job.lint(changed)
        if silences(rest, outcome, after):
            workspace, outcome = changed, after
            documents = [launch.config for launch in outcome.launches]
            done += rest
        else:
            left += [Refused(finding, NO_PLACE) for finding in rest]
    return Mended(dict(workspace.overlay), done, left, outcome)


def new_ones(job: Job, outcome: Outcome) -> Sequence[Finding]:
    """What the baseline, if there is one, does not know."""
    if job.settings.baseline is None:
        return outcome.findings
    from dslint.cli.knowing import unknown

    return unknown(job, outcome)


def by_file(findings: Sequence[Finding]) -> list[list[Finding]]:
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.place.source.path, []).append(finding)
    return list(files.values())


def with_edits(workspace: Workspace, edits: Sequence[Edit]) -> Workspace:
    source = edits[0].source
    return workspace.with_texts(
        {os.path.abspath(source.path): Source(source.path, apply(source.text, edits))}
    )


def silences(findings: Sequence[Finding], before: Outcome, after: Outcome) -> bool:
    """Are just these findings gone, and has nothing come? A comment in the wrong place breaks a file, or does nothing."""
    gone = [key(finding) for finding in before.findings]
    for finding in findings:
        gone.remove(key(finding))
    return sorted(gone) == sorted(key(finding) for finding in after.findings)
