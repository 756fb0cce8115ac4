"""A diagnosis for a person at three in the morning: what happened, why, which setting, what to change, and where it says so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dslint.diagnosis.diagnose import Cause, Diagnosis
from dslint.diagnosis.explain import Explained
from dslint.diagnosis.sightings import Evidence
from dslint.documents.tree import split_pointer
from dslint.reports.colour import Paint
from dslint.reports.frame import frame
from dslint.reports.full import lines_of
from dslint.reports.run import Run
from dslint.reports.visible import visible
from dslint.rules.finding import LEVEL, Finding

LABEL: Final = 9
WIDEST: Final = 110
DETAILS: Final = 6
IN_FULL: Final = 5
STDIN: Final = "standard input"
SIGNS: Final = {"error": "error", "warning": "warning", "info": "note"}
_ASCII: Final = str.maketrans(
    {
        "●": "*",
        "│": "|",
        "┤": "|",
        "└": "+",
        "─": "-",
        "…": "...",
        "×": "x",
        "²": "^2",
        "≥": ">=",
        "’": "'",
        "→": "->",
    }
)


def render(
    diagnosis: Diagnosis, log: str, explained: Sequence[Explained], paint: Paint, width: int, has_config: bool
) -> str:
    """The whole report, with a line end. `explained` is parallel to the diagnosis's causes, or empty."""
    page = Page(paint, min(width, WIDEST))
    lines = [page.heading(diagnosis, log), ""]
    full = [at for at, cause in enumerate(diagnosis.causes) if in_full(cause, diagnosis)][:IN_FULL]
    if diagnosis.first_error is not None and not rests_on_cause(diagnosis):
        lines += [*page.first_error(diagnosis), ""]
    for at in full:
        lines += [*page.cause(diagnosis.causes[at], explained[at] if explained else None, log), ""]
    rest = [cause for at, cause in enumerate(diagnosis.causes) if at not in full]
    if rest:
        lines += [*page.rest(rest), ""]
    if diagnosis.first_error is not None and rests_on_cause(diagnosis):
        lines += [*page.first_error(diagnosis), ""]
    for note in diagnosis.notes:
        lines += [*page.labelled("note", note), ""]
    lines += page.closing(diagnosis, log, explained, has_config)
    return "\n".join(without_double_blanks(lines)).rstrip("\n") + "\n"


def without_double_blanks(lines: Iterable[str]) -> Iterator[str]:
    before = ""
    for line in map(str.rstrip, lines):
        if line or before:
            yield line
        before = line


def as_ascii(text: str) -> str:
    """For a terminal that can write nothing else."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def in_full(cause: Cause, diagnosis: Diagnosis) -> bool:
    """Advice and consequences are told in a line each, unless there is nothing else."""
    if cause is diagnosis.causes[0]:
        return True
    return cause.message.level != "consequence" and LEVEL[cause.message.severity] >= LEVEL["warning"]


def rests_on_cause(diagnosis: Diagnosis) -> bool:
    """Whether something else than the unknown first error explains the end of the run."""
    return any(c.message.level == "cause" and c.message.severity == "error" for c in diagnosis.causes)


class Page:
    """Lines of a certain width and colour."""

    def __init__(self, paint: Paint, width: int) -> None:
        self._paint = paint
        self._width = max(60, width)

    def heading(self, diagnosis: Diagnosis, log: str) -> str:
        facts = diagnosis.facts
        parts = [f"{diagnosis.lines:,} line" + ("" if diagnosis.lines == 1 else "s")]
        if facts.version:
            parts.append(f"DeepSpeed {facts.version}")
        if facts.precision:
            parts.append(facts.precision)
        return f"{self._paint('bold', visible(log))}  {self._paint('faint', ', '.join(parts))}"

    def cause(self, cause: Cause, explained: Explained | None, log: str) -> Iterator[str]:
        severity = cause.message.severity
        yield from self._wrapped(
            f"{self._paint(severity, SIGNS[severity] + ':')} ",
            visible(cause.summary),
            len(SIGNS[severity]) + 2,
            "bold",
        )
        yield ""
        yield from self.labelled("what", " ".join(what(cause)))
        yield from self._paragraphs("why", cause.why)
        if cause.pointers:
            yield from self.labelled("setting", setting_line(cause, explained))
        yield from self._paragraphs("change", cause.fix)
        if cause.message.releases:
            yield from self.labelled("releases", cause.message.releases)
        yield from self._evidence(cause)
        if cause.plot:
            yield ""
            yield from self._block("scale", cause.plot)
        yield from self.labelled("more", cause.message.sources[0], style="faint")
        if explained is not None:
            yield from self._config(explained)

    def rest(self, causes: Sequence[Cause]) -> Iterator[str]:
        yield self._paint("bold", "also in the log")
        for cause in causes:
            advice = "" if cause.message.level == "consequence" else f" {cause.fix[0]}" if cause.fix else ""
            text = f"{visible(cause.summary)}.{visible(advice)}"
            yield from self.labelled(f"line {cause.evidence.line}", text)

    def first_error(self, diagnosis: Diagnosis) -> Iterator[str]:
        error = diagnosis.first_error
        assert error is not None
        whose = f" of rank {error.rank}" if error.rank is not None else ""
        yield self._paint("bold", f"The first error in the log{whose} is one that dslint does not know.")
        yield from self.labelled(f"line {error.line}", visible(error.text))
        yield from self.labelled("see", f"its traceback, from line {error.begins}.", style="faint")

    def closing(
        self, diagnosis: Diagnosis, log: str, explained: Sequence[Explained], has_config: bool
    ) -> Iterator[str]:
        if not diagnosis.causes:
            yield "Nothing recognised: no message that dslint knows, and no trouble in the numbers."
        elif not has_config and any(cause.pointers for cause in diagnosis.causes):
            config = diagnosis.facts.config or "CONFIG"
            yield self._paint("faint", "With the config at hand, dslint shows the line to change:")
            yield self._paint("faint", f"  dslint diagnose {log if log != STDIN else '-'} {config}")
        else:
            command = mending([finding for one in explained for finding in one.findings])
            if command:
                yield self._paint(
                    "bold", "To see what the fixes would change (without --diff they are made):"
                )
                yield f"  {command}"

    def labelled(self, label: str, text: str, style: str = "") -> Iterator[str]:
        """A label in its column, and a text wrapped beside it."""
        room = max(LABEL, len(label) + 1)
        start = f"  {self._paint('bold', label)}{' ' * (room - len(label))}"
        yield from self._wrapped(start, text, room + 2, style)

    def _paragraphs(self, label: str, texts: Sequence[str]) -> Iterator[str]:
        for at, text in enumerate(texts):
            yield from self.labelled(label if at == 0 else "", visible(text))

    def _wrapped(self, start: str, text: str, indent: int, style: str = "") -> Iterator[str]:
        rows = textwrap.wrap(text, self._width - indent, break_long_words=False, break_on_hyphens=False) or [
            ""
        ]
        for at, row in enumerate(rows):
            shown = self._paint(style, row) if style else row
            yield (start if at == 0 else " " * indent) + shown

    def _evidence(self, cause: Cause) -> Iterator[str]:
        shown = distinct_evidence(cause)
        for evidence in shown:
            label = f"line {evidence.line}"
            room = max(LABEL, len(label) + 1)
            text = cropped(visible(evidence.text), 2 * (self._width - room - 4))
            yield from self.labelled(label, text)

    def _block(self, label: str, lines: Sequence[str]) -> Iterator[str]:
        for at, line in enumerate(lines):
            yield f"  {self._paint('bold', label) if at == 0 else ''}{' ' * (LABEL - (len(label) if at == 0 else 0))}{line}"
        yield ""

    def _config(self, explained: Explained) -> Iterator[str]:
        run = Run(color=self._paint.on, width=self._width)
        for finding in explained.findings:
            yield ""
            yield from (f"  {line}" for line in lines_of(finding, run, self._paint))
        if explained.settings:
            yield ""
            for place in explained.settings:
                setting = Finding("", "", "info", "", place)
                yield from (f"  {line}" for line in frame(setting, self._paint, self._width).lines[:-1])
        if explained.findings or explained.settings:
            yield ""


def mending(findings: Sequence[Finding]) -> str | None:
    """The command that shows the fixes of findings; None when none of them has one."""
    fixed = [finding for finding in findings if finding.fix is not None]
    if not fixed:
        return None
    unsafe = any(finding.fix is not None and finding.fix.safety == "unsafe" for finding in fixed)
    paths = dict.fromkeys(visible(finding.place.source.path) for finding in fixed)
    return f"dslint --fix{' --unsafe-fixes' if unsafe else ''} --diff {' '.join(paths)}"


def setting_line(cause: Cause, explained: Explained | None) -> str:
    """The settings by name; those that the config at hand lacks are marked, where that is the fault."""
    missing = (
        explained.missing if explained and not explained.findings and cause.message.level == "cause" else []
    )
    return ", ".join(dotted(p) + (" (not in the config)" if p in missing else "") for p in cause.pointers)


def what(cause: Cause) -> Iterator[str]:
    """When and where, in sentences."""
    if cause.step is not None:
        yield f"It began at step {cause.step}."
    if len(cause.ranks) == 1:
        yield f"Seen on rank {cause.ranks[0]}."
    elif cause.ranks:
        first = f"First on rank {cause.evidence.rank}; seen" if cause.evidence.rank else "Seen"
        yield f"{first} on ranks {spans(cause.ranks)}."
    elif cause.count > 1 and cause.message.metric is None:
        yield f"Seen {cause.count:,} times."
    if cause.evidence.frame:
        yield f"It came from {visible(cause.evidence.frame)}."
    if not (cause.step is not None or cause.ranks or cause.count > 1 or cause.evidence.frame):
        yield f"It is on line {cause.evidence.line}."


def spans(ranks: Sequence[str]) -> str:
    """0, 1, 2, 5 → "0-2, 5"."""
    numbers = sorted({int(rank) for rank in ranks if rank.isdigit()})
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def distinct_evidence(cause: Cause) -> list[Evidence]:
    """The lines that show the cause, each once, in their order, with the first line of each part that is folded in."""
    shown = [evidence for _, evidence in cause.details] + [part.evidence for part in cause.folded]
    if not cause.details:
        shown.insert(0, cause.evidence)
    by_line = {evidence.line: evidence for evidence in reversed(shown) if evidence.line > 0}
    return [by_line[line] for line in sorted(by_line)][:DETAILS]


def dotted(pointer: str) -> str:
    """`/zero_optimization/stage` → `zero_optimization.stage`, as people say it."""
    return visible(".".join(split_pointer(pointer)))


def cropped(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"
