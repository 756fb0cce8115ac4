"""The last lines of a report for people: counts by rule, and what was found in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from dslint.reports.colour import Paint
from dslint.reports.run import Run
from dslint.reports.visible import visible
from dslint.rules.finding import LEVEL, Finding


def closing(findings: Sequence[Finding], run: Run, paint: Paint) -> str:
    """Statistics when asked for, then the summary unless quiet."""
    parts = []
    if run.statistics and findings:
        parts.append(statistics(findings, paint) + "\n")
    if not run.quiet:
        parts.append(summary(findings, run) + "\n")
    return "".join(parts)


def statistics(findings: Sequence[Finding], paint: Paint) -> str:
    """A line a rule, the most frequent first: how often, how severe at most, and how many have a fix."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.name), []).append(finding)
    rows = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    if not rows:
        return ""
    digits = len(str(len(rows[0][1])))
    lines = []
    for (code, name), group in rows:
        severity = max((finding.severity for finding in group), key=LEVEL.__getitem__)
        fixes = sum(finding.fix is not None for finding in group)
        note = f" ({fixes} with a fix)" if fixes else ""
        lines.append(f"{len(group):>{digits}}  {paint(severity, f'{severity:<7}')}  {code} {name}{note}\n")
    return "".join(lines)


def summary(findings: Sequence[Finding], run: Run) -> str:
    """What was found, where, against what, and what mends it: one sentence."""
    done = f"Fixed {counted(run.fixed, 'finding')}. " if run.fixed else ""
    if findings:
        files = len({finding.place.source.path for finding in findings})
        checked = f" ({run.checked} checked)" if run.checked else ""
        where = f"in {counted(files, 'file')}{checked}{against(run)}"
        verb = "Left" if run.fixed else "Found"
        return f"{done}{verb} {severities(findings)} {where}{known(run, 'more')}{fixable(findings, run)}."
    if not run.checked:
        return f"{done}{nothing(run)}"
    return f"{done}All good: {counted(run.checked, 'file')} checked{against(run)}{known(run)}."


def nothing(run: Run) -> str:
    if run.changed is not None:
        return f"Nothing to check: no launch takes part in what has changed since {visible(run.changed)}."
    return "Nothing to check: no DeepSpeed config and nothing that uses one was found."


def known(run: Run, noun: str = "") -> str:
    """`; the baseline knows 3 more`."""
    if not run.known:
        return ""
    return f"; the baseline knows {f'{run.known} {noun}' if noun else counted(run.known, 'finding')}"


def severities(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning and 3 info`."""
    counts = {
        name: sum(finding.severity == name for finding in findings) for name in ("error", "warning", "info")
    }
    return joined(
        [
            f"{count} info" if name == "info" else counted(count, name)
            for name, count in counts.items()
            if count
        ]
    )


def against(run: Run) -> str:
    """` against DeepSpeed 0.18.9 and 0.19.8`, shortened when there are many."""
    names = list(run.releases)
    if not names:
        return ""
    if len(names) > 4:
        return f" against {len(names)} releases of DeepSpeed"
    return f" against DeepSpeed {joined(names)}"


def fixable(findings: Sequence[Finding], run: Run) -> str:
    """How many a further run would mend, and with which options; --fix, when given, has done its part."""
    safe = sum(finding.fix is not None and finding.fix.safety == "safe" for finding in findings)
    unsafe = sum(finding.fix is not None and finding.fix.safety == "unsafe" for finding in findings)
    if run.unsafe_fixes:
        safe, unsafe = safe + unsafe, 0
    if run.fixing:
        safe = 0
    if not safe:
        return f"; {unsafe} fixable with --fix --unsafe-fixes" if unsafe else ""
    more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
    return f"; {safe} fixable with --fix{' --unsafe-fixes' if run.unsafe_fixes else ''}{more}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
