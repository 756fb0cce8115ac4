"""The order of every report: by file, then place, then code."""

from __future__ import annotations

from collections.abc import Iterable

from dslint.rules.finding import LEVEL, Finding


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=key)


def key(finding: Finding) -> tuple[str, int, int, str]:
    place = finding.place
    return (place.source.path, place.start, -LEVEL[finding.severity], finding.code)
