"""A diagnosis for programs: one object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dslint.diagnosis.diagnose import Cause, Diagnosis
from dslint.diagnosis.explain import Explained
from dslint.diagnosis.sightings import Evidence
from dslint.reports.as_json import item, where


def render(diagnosis: Diagnosis, log: str, explained: Sequence[Explained]) -> str:
    """The object as text, with a line end. `explained` is parallel to the diagnosis's causes, or empty."""
    first = diagnosis.first_error
    facts = diagnosis.facts
    content = {
        "log": log,
        "lines": diagnosis.lines,
        "deepspeed": facts.version,
        "precision": facts.precision,
        "config": facts.config,
        "causes": [
            cause_item(cause, explained[at] if explained else None)
            for at, cause in enumerate(diagnosis.causes)
        ],
        "first_error": None
        if first is None
        else {"line": first.line, "rank": first.rank, "text": first.text, "traceback": first.begins},
        "notes": diagnosis.notes,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def cause_item(cause: Cause, explained: Explained | None) -> dict[str, Any]:
    message = cause.message
    return {
        "name": message.name,
        "family": message.family,
        "level": message.level,
        "severity": message.severity,
        "summary": cause.summary,
        "why": cause.why,
        "fix": cause.fix,
        "rules": list(message.rules),
        "pointers": cause.pointers,
        "releases": message.releases,
        "sources": list(message.sources),
        "evidence": evidence_item(cause.evidence),
        "details": [{"captures": dict(captures), **evidence_item(at)} for captures, at in cause.details],
        "count": cause.count,
        "ranks": cause.ranks,
        "step": cause.step,
        "includes": [
            {"name": part.message.name, "summary": part.summary, **evidence_item(part.evidence)}
            for part in cause.folded
        ],
        "findings": [item(finding) for finding in explained.findings] if explained else [],
        "settings": [where(place) for place in explained.settings] if explained else [],
    }


def evidence_item(evidence: Evidence) -> dict[str, Any]:
    return {"line": evidence.line, "rank": evidence.rank, "text": evidence.text, "frame": evidence.frame}
