"""Findings → the protocol's diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lsprotocol import types

from dslint.documents.tree import Source
from dslint.fixing.mend import key
from dslint.rules.finding import Finding
from dslint.server.positions import Lines

SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
# What stands there and is read by nobody is shown faded; what will go is shown struck through.
UNNECESSARY: Final = frozenset(
    {
        "unused-ignore",
        "ignored-key",
        "removed-key",
        "auto-dropped",
        "loss-scale-key-ignored-in-bf16",
        "immediate-update-unread",
        "allgather-partitions-unread",
        "disable-allgather-unread",
        "nvme-key-on-cpu",
        "stage-3-key-below-stage-3",
        "stage-2-key-at-stage-3",
        "aio-without-nvme",
        "accelerate-init-flag-ignored",
        "accelerate-key-dropped",
        "accelerate-hosts-ignored",
    }
)
DEPRECATED: Final = frozenset({"deprecated-key"})

LinesOf = Callable[[Source], Lines]
UriOf = Callable[[Source], str]


def diagnostics(findings: Iterable[Finding], lines_of: LinesOf, uri_of: UriOf) -> list[types.Diagnostic]:
    return [diagnostic(finding, lines_of, uri_of) for finding in findings]


def diagnostic(finding: Finding, lines_of: LinesOf, uri_of: UriOf) -> types.Diagnostic:
    """`data` says which finding it is, and whether it has a fix, so that a client can tell without asking."""
    place = finding.place
    return types.Diagnostic(
        range=lines_of(place.source).range(place.start, place.end),
        message=finding.message,
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if finding.url else None,
        source="dslint",
        tags=tags(finding) or None,
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(
                    uri_of(other.place.source),
                    lines_of(other.place.source).range(other.place.start, other.place.end),
                ),
                other.message,
            )
            for other in finding.related
        ]
        or None,
        data={
            "name": finding.name,
            "key": list(key(finding)),
            "fix": None if finding.fix is None else finding.fix.safety,
        },
    )


def tags(finding: Finding) -> list[types.DiagnosticTag]:
    if finding.name in UNNECESSARY:
        return [types.DiagnosticTag.Unnecessary]
    return [types.DiagnosticTag.Deprecated] if finding.name in DEPRECATED else []
