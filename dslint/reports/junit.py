"""JUnit XML as Jenkins and its kin read it: a suite a file, a case a finding."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from dslint.reports.order import ordered
from dslint.reports.run import Run
from dslint.reports.summary import summary
from dslint.reports.visible import one_line, sentence, visible
from dslint.rules.finding import LEVEL, Finding


def render(findings: Sequence[Finding], run: Run) -> str:
    files: dict[str, list[Finding]] = {}
    for finding in ordered(findings):
        files.setdefault(finding.place.source.path, []).append(finding)
    total = max(1, len(findings))
    failures = sum(fails(finding, run) for finding in findings)
    body = "".join(suite(path, group, run) for path, group in files.items()) or clean(run)
    whole = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="dslint" tests="{total}" failures="{failures}" errors="0">\n{body}</testsuites>\n'
    )
    # Standard output may have another encoding than the one that the first line names.
    return whole.encode("ascii", "xmlcharrefreplace").decode("ascii")


def fails(finding: Finding, run: Run) -> bool:
    """A finding fails its case from the severity that fails the run; if none does, from warning on."""
    threshold = LEVEL.get(run.fail_on, LEVEL["warning"])
    return LEVEL[finding.severity] >= threshold


def suite(path: str, findings: Sequence[Finding], run: Run) -> str:
    failures = sum(fails(finding, run) for finding in findings)
    cases = "".join(case(finding, fails(finding, run)) for finding in findings)
    counts = f'tests="{len(findings)}" failures="{failures}" errors="0"'
    return f"  <testsuite name={attribute(path)} {counts}>\n{cases}  </testsuite>\n"


def case(finding: Finding, failed: bool) -> str:
    source = finding.place.source
    row, column = source.position(finding.place.start)
    name = attribute(f"{finding.code} {finding.name} ({row}:{column})")
    path = attribute(source.path)
    # The place stands in the text: the schema of Jenkins's xUnit plugin (junit-10.xsd) has no attributes for it.
    head = f"    <testcase name={name} classname={path}>\n"
    said = escape(text(finding, row, column))
    if not failed:
        return f"{head}      <system-out>{said}</system-out>\n    </testcase>\n"
    failure = (
        f"<failure type={attribute(finding.severity)} message={attribute(finding.message)}>{said}</failure>"
    )
    return f"{head}      {failure}\n    </testcase>\n"


def text(finding: Finding, row: int, column: int) -> str:
    where = f"{visible(finding.place.source.path)}:{row}:{column}:"
    fix = f"fix: {one_line(finding.fix.message)}" if finding.fix is not None and finding.fix.message else ""
    return "\n".join(
        line
        for line in (
            f"{where} {finding.severity}: {one_line(finding.message)}",
            sentence(finding.why),
            fix,
            visible(finding.url),
        )
        if line
    )


def clean(run: Run) -> str:
    """One case that passes: Jenkins takes a report without any for a broken job."""
    return (
        '  <testsuite name="dslint" tests="1" failures="0" errors="0">\n'
        f'    <testcase name={attribute(summary((), run))} classname="dslint"/>\n'
        "  </testsuite>\n"
    )


def attribute(value: str) -> str:
    return quoteattr(one_line(value))
