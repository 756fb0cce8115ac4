"""Annotations for GitHub Actions, and a table in the job's summary.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from dslint.reports.order import key
from dslint.reports.run import Run
from dslint.reports.summary import summary
from dslint.reports.uri import below
from dslint.reports.visible import one_line, sentence, visible
from dslint.rules.finding import LEVEL, Finding

COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}
# A summary may take 1 MiB; a row takes a few hundred characters.
ROWS: Final = 500


def render(findings: Sequence[Finding], run: Run) -> str:
    """The annotations; beside, the table is appended to the file that $GITHUB_STEP_SUMMARY names, if any.

    The worst come first: GitHub shows ten annotations of a kind for a step.
    """
    ranked = sorted(findings, key=lambda finding: (-LEVEL[finding.severity], key(finding)))
    lines = [annotation(finding, run) for finding in ranked]
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        lines += append(target, job_summary(ranked, run))
    return "".join(line + "\n" for line in lines)


def annotation(finding: Finding, run: Run) -> str:
    source = finding.place.source
    first, last = source.position(finding.place.start), source.position(finding.place.end)
    properties = {
        "file": filename(finding, run),
        "line": str(first.row),
        "endLine": str(last.row),
        # Columns mean something only within one line.
        **({"col": str(first.column), "endColumn": str(last.column)} if first.row == last.row else {}),
        "title": f"{finding.code} {finding.name}",
    }
    said = ",".join(f"{name}={as_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {said}::{as_message(text(finding))}"


def filename(finding: Finding, run: Run) -> str:
    return below(finding.place.source.path, run.directory, os.environ.get("GITHUB_WORKSPACE"))


def text(finding: Finding) -> str:
    fix = finding.fix
    notes = [one_line(finding.message), sentence(finding.why)]
    if fix is not None and fix.message:
        notes.append(f"Fix ({fix.safety}): {one_line(fix.message)}")
    return "\n".join([note for note in notes if note] + ([finding.url] if finding.url else []))


def as_message(message: str) -> str:
    """What stands after the second `::`: three characters end it or begin an escape."""
    return visible(message, keep="\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def as_property(value: str) -> str:
    """What stands after a `=`: also the characters that part properties are escaped."""
    return as_message(value).replace(":", "%3A").replace(",", "%2C")


def append(target: str, table: str) -> list[str]:
    """Writes the table; that it could not be written is said in an annotation, and fails no job."""
    try:
        with open(target, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(table)
    except OSError as error:
        return [f"::notice title=dslint::{as_message(f'the job summary could not be written: {error}')}"]
    return []


def job_summary(findings: Sequence[Finding], run: Run) -> str:
    """The findings as a Markdown table below the sentence that sums them up."""
    lines = ["### dslint", "", cell(summary(findings, run)), ""]
    if findings:
        lines += ["| severity | rule | place | message |", "|---|---|---|---|"]
        lines += [table_row(finding, run) for finding in findings[:ROWS]]
        if len(findings) > ROWS:
            lines += ["", f"and {len(findings) - ROWS} more"]
    return "\n".join(lines) + "\n\n"


def table_row(finding: Finding, run: Run) -> str:
    row = finding.place.source.position(finding.place.start).row
    name = f"[{finding.name}]({finding.url})" if finding.url else finding.name
    place = cell(f"{filename(finding, run)}:{row}")
    return f"| {finding.severity} | {finding.code} {name} | {place} | {cell(finding.message)} |"


def cell(content: str) -> str:
    """Text in a table: no character of it is Markdown or HTML."""
    plain = one_line(content).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join("\\" + char if char in "\\`*_[]|~#!" else char for char in plain)
