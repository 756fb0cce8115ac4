"""What stays of a finding when lines move: for baselines, and for services that follow findings over time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dslint.reports.order import ordered
from dslint.rules.finding import Finding


def spot(finding: Finding) -> str:
    """Where a finding stands, whatever its row: its pointer, or a hash of its line when it has none."""
    place = finding.place
    if place.pointer is not None:
        return place.pointer
    line = place.source.line(place.source.position(place.start).row)
    return "line:" + digest(" ".join(line.split()))[:16]


def fingerprints(findings: Sequence[Finding]) -> list[tuple[Finding, str]]:
    """Every finding, in the order of reports, with a fingerprint; equal ones are told apart by counting."""
    seen: dict[str, int] = {}
    result = []
    for finding in ordered(findings):
        base = digest("\0".join([finding.place.source.path, finding.code, spot(finding)]))[:32]
        seen[base] = seen.get(base, 0) + 1
        result.append((finding, f"{base}:{seen[base]}"))
    return result


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
