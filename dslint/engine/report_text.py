"""The record for people, in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dslint.engine import judging
from dslint.engine.explaining import Explanation
from dslint.engine.judging import short
from dslint.engine.trial import Record, Step
from dslint.engine.validating import Pair, Validated
from dslint.reports.colour import Paint
from dslint.reports.run import Run
from dslint.reports.visible import one_line
from dslint.rules.finding import LEVEL, Finding

BARS: Final = "▁▂▃▄▅▆▇█"
COLUMNS: Final = 40
LABEL: Final = 12
STYLES: Final = {
    "accepted": "help",
    "refused": "error",
    "died": "error",
    "late": "warning",
    "not-run": "warning",
}
FRAMEWORKS: Final = {
    "deepspeed": "deepspeed.initialize",
    "transformers": "the Trainer of transformers {transformers}",
    "accelerate": "accelerate {accelerate}",
}


def render(pairs: Sequence[Pair], paint: Paint, width: int, bars: bool = True) -> str:
    """`bars` is false where the output can't show block characters."""
    blocks: list[str] = []
    told: set[str] = set()
    for pair in pairs:
        blocks += ["\n".join(block(validated, paint, width, bars, told)) for validated in pair.all]
        if pair.compared is not None:
            said = judging.comparison(pair.given.record, pair.compared.record)
            blocks.append(paint("bold", said[0].upper() + said[1:] + "."))
    return "\n\n".join(blocks) + "\n"


def block(validated: Validated, paint: Paint, width: int, bars: bool, told: set[str]) -> Iterator[str]:
    """One run; `told` are the notes that stand in an earlier one."""
    record, explanation = validated
    yield f"{paint('bold', record.trial.shown)}: {paint(STYLES[judging.tone(record)], judging.headline(record))}"
    yield f"  {paint('faint', setting(record))}"
    for sentence in judging.consequences(record):
        yield from wrapped(sentence[0].upper() + sentence[1:] + ".", width, paint, "bold")
    if record.error is not None:
        yield ""
        yield from error_lines(record, paint)
    yield from explanation_lines(record, explanation, paint, width)
    rows = list(table(record, bars))
    if rows:
        yield ""
        for name, value in rows:
            yield f"  {paint('gutter', name.ljust(LABEL))}{value}"
    for note in (note for note in record.notes if note not in told):
        told.add(note)
        yield ""
        yield from wrapped(f"Note: {note}.", width, paint, "faint")
    yield from remaining(record, explanation, paint)


def setting(record: Record) -> str:
    """On what it ran, in a line."""
    machine, trial = record.machine, record.trial
    if not machine:
        return f"after {judging.seconds(record.seconds)}"
    device = machine["device_name"]
    ran = int(machine.get("processes", trial.processes))
    many = "1 process" if ran == 1 else f"{ran} processes"
    under = FRAMEWORKS[trial.framework].format_map({"transformers": "?", "accelerate": "?", **machine})
    steps = judging.count(len(record.steps), "step")
    return f"DeepSpeed {record.release} on {device}, {many}, {under}, {steps}, {judging.seconds(record.seconds)} in all"


def error_lines(record: Record, paint: Paint) -> Iterator[str]:
    error = record.error
    assert error is not None
    lines = [line.rstrip() for line in error.sentence.splitlines() if line.strip()]
    for line in lines[:12]:
        yield f"  {paint('error', '|')} {line}"
    if error.where:
        yield f"  {paint('faint', f'raised in {error.where}')}"
    if record.ended == "not-run":
        yield "  This machine stood in the way, not the config; nothing is known of that."


def explanation_lines(record: Record, explanation: Explanation, paint: Paint, width: int) -> Iterator[str]:
    from dslint.reports.full import lines_of

    if record.error is None or record.ended not in ("refused", "died"):
        return
    run = Run(width=width, color=paint.on)
    if explanation.explaining:
        yield ""
        yield "  This is what dslint says of it:"
        for finding in explanation.explaining:
            yield from (f"  {line}" for line in lines_of(finding, run, paint))
    elif explanation.cause is not None:
        cause = explanation.cause
        yield ""
        yield from wrapped(f"{cause.summary[0].upper()}{cause.summary[1:]}.", width, paint, "bold")
        for sentence in (*cause.why[:1], *cause.fix[:2]):
            yield from wrapped(sentence, width, paint, "")
    elif record.ended == "refused":
        yield ""
        yield "  dslint has no finding for this; if the config is at fault, please report it with the file."


def table(record: Record, bars: bool) -> Iterator[tuple[str, str]]:
    """The facts and numbers, a row each."""
    facts, steps = record.facts, record.steps
    if "stage" in facts:
        yield "precision", precision(facts)
        yield "zero", zero(facts)
        yield from batch(facts)
        yield "optimizer", ", ".join([optimizer(facts), *rates(steps), scheduler(facts)])
        yield "clipping", short(facts["clip"]) if facts.get("clip") else "none"
    if steps:
        losses = [step.loss for step in steps]
        yield "loss", drawn(f"{short(losses[0])} -> {short(losses[-1])}", losses, bars)
        yield from scale(steps, bars)
        yield from norm(steps, bars)
        yield from zeros(steps, bars)
    memory = (
        "" if record.peak_memory is None or not steps else f"{judging.size(record.peak_memory)} at the peak"
    )
    time = "" if record.step_seconds is None else f"{judging.seconds(record.step_seconds)} a step"
    if memory or time:
        yield "cost", ", ".join(filter(None, (time, memory)))


def precision(facts: Mapping[str, Any]) -> str:
    parts = [str(facts.get("precision", "?")), f"parameters {'/'.join(facts.get('parameters', ['?']))}"]
    if facts.get("gradients"):
        parts.append(f"gradients {facts['gradients']}")
    if facts.get("accumulation_dtype"):
        parts.append(f"accumulated in {facts['accumulation_dtype']}")
    return ", ".join(parts)


def zero(facts: Mapping[str, Any]) -> str:
    moved = [
        f"{what} on {facts[name]}"
        for name, what in (("offload_optimizer", "optimizer"), ("offload_param", "parameters"))
        if facts.get(name) not in (None, "none")
    ]
    return ", ".join([f"stage {facts.get('stage', '?')}", *moved])


def batch(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    parts = facts.get("batch")
    if parts:
        factors = f"{parts['micro']} a device x {parts['accumulation']} accumulated x {parts['processes']} processes"
        yield "batch", f"{parts['train']} = {factors}".replace("x 1 processes", "x 1 process")


def optimizer(facts: Mapping[str, Any]) -> str:
    text = str(facts.get("optimizer")) + (" (the config names none)" if facts.get("own_optimizer") else "")
    if facts.get("wrapper"):
        text += f" in {facts['wrapper']}"
    return text


def rates(steps: Sequence[Step]) -> list[str]:
    found = [step.lr for step in steps if step.lr is not None]
    if not found:
        return []
    return [
        f"lr {short(found[0])}" if found[0] == found[-1] else f"lr {short(found[0])} -> {short(found[-1])}"
    ]


def scheduler(facts: Mapping[str, Any]) -> str:
    return str(facts.get("scheduler") or "no scheduler")


def scale(steps: Sequence[Step], bars: bool) -> Iterator[tuple[str, str]]:
    scales = [step.scale for step in steps if step.scale is not None]
    if not scales:
        return
    skipped = sum(step.skipped for step in steps)
    text = short(scales[0]) if len(set(scales)) == 1 else f"{short(scales[0])} -> {short(scales[-1])}"
    logs = [math.log2(value) if value > 0 else -1100.0 for value in scales]
    line = drawn(text, logs, bars) if len(set(scales)) > 1 else text
    yield "loss scale", f"{line}, {judging.count(skipped, 'step')} skipped" if skipped else line


def norm(steps: Sequence[Step], bars: bool) -> Iterator[tuple[str, str]]:
    norms = [step.norm for step in steps if step.norm is not None and math.isfinite(step.norm)]
    if norms:
        logs = [math.log10(value) if value > 0 else -45.0 for value in norms]
        yield "grad norm", drawn(f"{short(min(norms))} to {short(max(norms))}", logs, bars)


def zeros(steps: Sequence[Step], bars: bool) -> Iterator[tuple[str, str]]:
    shares = [step.zeros for step in steps if step.zeros is not None]
    if shares and max(shares) >= 0.05:
        yield "zeros", drawn(f"{judging.percent(max(shares))} of the gradient at most", shares, bars)


def drawn(text: str, values: Sequence[float], bars: bool) -> str:
    return f"{text}  {spark(values)}" if bars and len(values) > 2 else text


def spark(values: Sequence[float]) -> str:
    """A line of bars, each value by its place between the least and the largest; what is no number is a space."""
    whole = [value for value in values if math.isfinite(value)]
    if not whole:
        return ""
    low, high = min(whole), max(whole)
    picked = (
        [values[index * len(values) // COLUMNS] for index in range(COLUMNS)]
        if len(values) > COLUMNS
        else values
    )
    return "".join(bar(value, low, high) for value in picked)


def bar(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return " "
    return BARS[0] if high == low else BARS[round((value - low) / (high - low) * (len(BARS) - 1))]


def remaining(record: Record, explanation: Explanation, paint: Paint) -> Iterator[str]:
    """The findings that are not shown yet, in a line."""
    shown = set(map(id, explanation.explaining))
    left = [
        finding
        for finding in explanation.findings
        if id(finding) not in shown and LEVEL[finding.severity] >= 1
    ]
    if left:
        yield ""
        names = ", ".join(dict.fromkeys(map(named, left)))
        yield f"  dslint also says: {names}; {paint('help', f'dslint {record.trial.shown}')} shows it"


def named(finding: Finding) -> str:
    return f"{finding.severity} {finding.code} {finding.name}"


def wrapped(text: str, width: int, paint: Paint, style: str) -> Iterator[str]:
    import textwrap

    for line in textwrap.wrap(one_line(text), max(40, min(width, 110)) - 2):
        yield f"  {paint(style, line) if style else line}"
