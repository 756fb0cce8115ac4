"""The format for people: each finding with its lines, why it matters, how to mend it and where to read on."""

from __future__ import annotations

from collections.abc import Sequence

from dslint.reports.colour import Paint
from dslint.reports.order import ordered
from dslint.reports.run import Run
from dslint.reports.summary import closing
from dslint.reports.visible import one_line, sentence, visible
from dslint.rules.finding import Finding


def render(findings: Sequence[Finding], run: Run) -> str:
    paint = Paint(run.color)
    shown = ordered(findings)
    parts = ["\n".join(lines_of(finding, run, paint)) + "\n\n" for finding in shown]
    return "".join(parts) + closing(shown, run, paint)


def lines_of(finding: Finding, run: Run, paint: Paint) -> list[str]:
    # Imported here: a run that finds nothing draws nothing.
    from dslint.reports.frame import frame

    shown, gutter = frame(finding, paint, run.width)
    notes = {"why": sentence(finding.why), "fix": fix_line(finding, run), "see": visible(finding.url)}
    sign = " " * (gutter + 1) + paint("gutter", "=")
    said = [f"{sign} {paint('bold', name + ':')} {text}" for name, text in notes.items() if text]
    return [title(finding, paint), *shown, *said]


def title(finding: Finding, paint: Paint) -> str:
    head = paint(finding.severity, f"{finding.severity}[{finding.code}]")
    return f"{head} {paint('bold', finding.name + ':')} {paint('bold', one_line(finding.message))}"


def fix_line(finding: Finding, run: Run) -> str:
    """What the fix does and which options make it; nothing once --fix has been at it."""
    fix = finding.fix
    if fix is None:
        return ""
    message = one_line(fix.message) or "there is one"
    if fix.safety == "unsafe":
        return message if run.unsafe_fixes else f"{message} (changes training: --fix --unsafe-fixes)"
    return message if run.fixing else f"{message} (--fix)"
