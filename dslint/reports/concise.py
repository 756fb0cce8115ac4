"""One line a finding, for people in a hurry and for tools that read `file:row:column`."""

from __future__ import annotations

from collections.abc import Sequence

from dslint.reports.colour import Paint
from dslint.reports.order import ordered
from dslint.reports.run import Run
from dslint.reports.summary import closing
from dslint.reports.visible import one_line, visible
from dslint.rules.finding import Finding


def render(findings: Sequence[Finding], run: Run) -> str:
    paint = Paint(run.color)
    shown = ordered(findings)
    lines = [line(finding, paint) + "\n" for finding in shown]
    return "".join(lines) + ("\n" if lines and run.statistics else "") + closing(shown, run, paint)


def line(finding: Finding, paint: Paint) -> str:
    """`ds_config.json:3:5: error[DS201] fp16-and-bf16: … [*]`.

    The star says that --fix mends it, `[unsafe]` that --unsafe-fixes must be given too.
    """
    place = finding.place
    row, column = place.source.position(place.start)
    head = f"{paint('bold', visible(place.source.path))}:{row}:{column}:"
    rule = paint(finding.severity, f"{finding.severity}[{finding.code}]")
    star = {None: "", "safe": " [*]", "unsafe": " [unsafe]"}[finding.fix.safety if finding.fix else None]
    return f"{head} {rule} {finding.name}: {one_line(finding.message)}{paint('help', star)}"
