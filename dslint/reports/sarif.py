"""SARIF 2.1.0, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dslint import __version__
from dslint.documents.tree import Place, Source
from dslint.reports.edits import edits_of
from dslint.reports.fingerprint import fingerprints
from dslint.reports.run import RuleText, Run
from dslint.reports.uri import below, uri
from dslint.reports.visible import visible
from dslint.rules.book import DOCS_URL
from dslint.rules.finding import Finding

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
PAGE: Final = DOCS_URL.partition("rules/")[0]

Json = dict[str, Any]


def render(findings: Sequence[Finding], run: Run) -> str:
    marked = fingerprints(findings)
    rules = rules_of([finding for finding, _ in marked], run.rules)
    indexes = {rule["id"]: index for index, rule in enumerate(rules)}
    top = os.environ.get("GITHUB_WORKSPACE")
    results = [result(finding, print_, indexes, Paths(run.directory, top)) for finding, print_ in marked]
    driver = {"name": "dslint", "informationUri": PAGE, "version": __version__, "rules": rules}
    whole = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
        "properties": {"releases": list(run.releases), "checked": run.checked},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [whole]}, indent=2) + "\n"


class Paths:
    """Filenames → the URIs of artifacts."""

    __slots__ = ("directory", "top")

    def __init__(self, directory: str, top: str | None) -> None:
        self.directory = directory
        self.top = top

    def artifact(self, source: Source) -> Json:
        address = uri(below(source.path, self.directory, self.top))
        return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": "%SRCROOT%"}


def rules_of(findings: Sequence[Finding], texts: Mapping[str, RuleText]) -> list[Json]:
    """A descriptor for each rule that was met, by code."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.code, finding)
    return [rule(first[code], texts.get(code)) for code in sorted(first)]


def rule(finding: Finding, text: RuleText | None) -> Json:
    summary = clean(text.summary if text else finding.name.replace("-", " "))
    why = clean(text.why if text else finding.why) or summary
    page = f" {finding.url}" if finding.url else ""
    link = f"\n\n[{finding.name}]({finding.url})" if finding.url else ""
    descriptor: Json = {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": why},
        "help": {"text": why + page, "markdown": why + link},
        "defaultConfiguration": {"level": LEVELS[text.severity if text else finding.severity]},
    }
    if finding.url:
        descriptor["helpUri"] = finding.url
    return descriptor


def result(finding: Finding, fingerprint: str, indexes: Mapping[str, int], paths: Paths) -> Json:
    found: Json = {
        "ruleId": finding.code,
        "ruleIndex": indexes[finding.code],
        "level": LEVELS[finding.severity],
        "message": {"text": clean(finding.message)},
        "locations": [location(finding.place, paths)],
        "partialFingerprints": {"dslintPlace/v1": fingerprint},
    }
    if finding.related:
        found["relatedLocations"] = [
            {"id": number, **location(related.place, paths), "message": {"text": clean(related.message)}}
            for number, related in enumerate(finding.related, start=1)
        ]
    if finding.fix is not None:
        changes = artifact_changes(finding, paths)
        if changes:
            found["fixes"] = [
                {"description": {"text": clean(finding.fix.message)}, "artifactChanges": changes}
            ]
        found["properties"] = {"fixSafety": finding.fix.safety}
    return found


def location(place: Place, paths: Paths) -> Json:
    physical = {
        "artifactLocation": paths.artifact(place.source),
        "region": region(place.source, place.start, place.end),
    }
    found: Json = {"physicalLocation": physical}
    if place.pointer is not None:
        found["logicalLocations"] = [{"fullyQualifiedName": visible(place.pointer), "kind": "member"}]
    return found


def region(source: Source, start: int, end: int) -> Json:
    first, last = source.position(start), source.position(end)
    return {
        "startLine": first.row,
        "startColumn": first.column,
        "endLine": last.row,
        "endColumn": last.column,
    }


def artifact_changes(finding: Finding, paths: Paths) -> list[Json]:
    """The edits of a fix, by file."""
    files: dict[str, tuple[Source, list[Json]]] = {}
    for edit in edits_of(finding) or ():
        _, replacements = files.setdefault(edit.source.path, (edit.source, []))
        replacements.append(
            {
                "deletedRegion": region(edit.source, edit.start, edit.end),
                "insertedContent": {"text": edit.content},
            }
        )
    return [
        {"artifactLocation": paths.artifact(source), "replacements": replacements}
        for source, replacements in files.values()
    ]


def clean(text: str) -> str:
    return visible(text.strip(), keep="\n")
