"""GitLab's code quality report, a subset of Code Climate's. https://docs.gitlab.com/ci/testing/code_quality/"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final

from dslint.reports.fingerprint import fingerprints
from dslint.reports.run import Run
from dslint.reports.uri import below
from dslint.reports.visible import one_line, visible
from dslint.rules.finding import Finding

SEVERITIES: Final = {"error": "critical", "warning": "major", "info": "info"}


def render(findings: Sequence[Finding], run: Run) -> str:
    top = os.environ.get("CI_PROJECT_DIR")
    issues = [
        issue(finding, print_, below(finding.place.source.path, run.directory, top))
        for finding, print_ in fingerprints(findings)
    ]
    return json.dumps(issues, indent=2) + "\n"


def issue(finding: Finding, fingerprint: str, path: str) -> dict[str, Any]:
    source = finding.place.source
    first, last = source.position(finding.place.start), source.position(finding.place.end)
    return {
        "description": one_line(finding.message),
        "check_name": finding.name,
        "fingerprint": fingerprint,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": visible(path), "lines": {"begin": first.row, "end": last.row}},
    }
