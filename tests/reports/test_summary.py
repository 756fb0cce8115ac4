"""The sentence at the end."""

from __future__ import annotations

import pytest

from dslint.reports import Run, render
from dslint.reports.summary import summary


def only(sample, *severities):
    return [finding for finding in sample.findings if finding.severity in severities]


@pytest.mark.parametrize(
    ("severities", "run", "expected"),
    [
        (
            ("error", "warning"),
            Run(("0.19.8",), 4),
            "Found 1 error and 1 warning in 1 file (4 checked) against DeepSpeed 0.19.8; "
            "1 fixable with --fix (1 more with --unsafe-fixes).",
        ),
        (
            ("warning",),
            Run(("0.9.5", "0.19.8"), 1),
            "Found 1 warning in 1 file (1 checked) against DeepSpeed 0.9.5 and 0.19.8; "
            "1 fixable with --fix --unsafe-fixes.",
        ),
        (
            ("error", "warning"),
            Run(unsafe_fixes=True),
            "Found 1 error and 1 warning in 1 file; 2 fixable with --fix --unsafe-fixes.",
        ),
        (
            ("error", "warning"),
            Run(fixing=True, fixed=1),
            "Fixed 1 finding. Left 1 error and 1 warning in 1 file; 1 fixable with --fix --unsafe-fixes.",
        ),
        (("error",), Run(fixing=True), "Found 1 error in 1 file."),
        (
            ("error",),
            Run(("1", "2", "3", "4", "5")),
            "Found 1 error in 1 file against 5 releases of DeepSpeed; 1 fixable with --fix.",
        ),
        ((), Run(("0.19.8",), 1), "All good: 1 file checked against DeepSpeed 0.19.8."),
        ((), Run((), 3), "All good: 3 files checked."),
        (
            (),
            Run(("0.19.8",), 3, fixed=2),
            "Fixed 2 findings. All good: 3 files checked against DeepSpeed 0.19.8.",
        ),
        ((), Run(), "Nothing to check: no DeepSpeed config and nothing that uses one was found."),
    ],
)
def test_the_sentence_says_what_where_against_what_and_what_mends_it(sample, severities, run, expected):
    assert summary(only(sample, *severities), run) == expected


def test_quiet_leaves_the_findings_alone(sample):
    assert "Found" not in render("full", sample.findings, Run(quiet=True))
    assert render("full", [], Run(quiet=True)) == ""
    assert render("concise", [], Run(quiet=True)) == ""
