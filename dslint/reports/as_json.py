"""The format for programs: an array, one finding a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dslint.documents.tree import Place, Source
from dslint.fixing.fix import Edit
from dslint.reports.edits import edits_of
from dslint.reports.order import ordered
from dslint.reports.run import Run
from dslint.rules.finding import Finding


def render(findings: Sequence[Finding], run: Run) -> str:
    # A line an item: the encoder in C does no indentation, and diffs and grep like it.
    lines = [json.dumps(item(finding)) for finding in ordered(findings)]
    return "[\n  " + ",\n  ".join(lines) + "\n]\n" if lines else "[]\n"


def item(finding: Finding) -> dict[str, Any]:
    place = finding.place
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        **where(place),
        "url": finding.url,
        "fix": fix(finding),
        "related": [{**where(related.place), "message": related.message} for related in finding.related],
    }


def where(place: Place) -> dict[str, Any]:
    return {**span(place.source, place.start, place.end), "pointer": place.pointer}


def span(source: Source, start: int, end: int) -> dict[str, Any]:
    return {
        "filename": source.path,
        "location": source.position(start)._asdict(),
        "end_location": source.position(end)._asdict(),
    }


def fix(finding: Finding) -> dict[str, Any] | None:
    edits = edits_of(finding)
    if finding.fix is None or edits is None:
        return None
    return {
        "safety": finding.fix.safety,
        "message": finding.fix.message,
        "edits": [edit(each) for each in edits],
    }


def edit(each: Edit) -> dict[str, Any]:
    return {**span(each.source, each.start, each.end), "content": each.content}
