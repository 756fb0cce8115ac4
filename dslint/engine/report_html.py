"""The record as one HTML file that stands by itself: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

from dslint import __version__
from dslint.engine import judging, report_text
from dslint.engine.plot import Plot, Series, svg
from dslint.engine.trial import Record
from dslint.engine.validating import Pair, Validated
from dslint.rules.finding import Finding

STYLE: Final = """
:root { --ground: #f6f7f9; --card: #fff; --text: #1c2430; --faint: #667085; --line: #e4e7ec; --first: #2563eb;
  --second: #d97706; --good: #15803d; --bad: #c81e1e; --warn: #b45309; --stress: #fef0c7; --code: #f2f4f7; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f141b; --card: #171e27; --text: #e6eaf0; --faint: #98a2b3;
  --line: #2a3441; --first: #6ea0ff; --second: #f5a94a; --good: #4ade80; --bad: #ff7b72; --warn: #f5b74a;
  --stress: #3a2f12; --code: #1f2833; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.55 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 20px 48px; }
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 0 0 8px; font-weight: 600; }
p { margin: 6px 0; }
ul { margin: 6px 0; padding-left: 20px; }
a { color: var(--first); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 22px 24px;
  margin-top: 22px; }
.faint, footer { color: var(--faint); }
footer { margin-top: 26px; font-size: 13px; }
.head { display: flex; flex-wrap: wrap; gap: 10px 14px; align-items: center; }
.badge { border-radius: 999px; padding: 2px 12px; font-weight: 600; font-size: 13px; border: 1px solid currentColor; }
.accepted { color: var(--good); }
.refused, .died { color: var(--bad); }
.late, .not-run { color: var(--warn); }
.versus { font-size: 17px; font-weight: 600; border-left: 4px solid var(--first); padding-left: 12px;
  margin: 0 0 16px; }
.runs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 18px 28px; }
.means { font-weight: 600; }
code { background: var(--code); border-radius: 4px; padding: 1px 5px; font-size: 13px; }
pre { background: var(--code); border-radius: 8px; padding: 10px 14px; font-size: 13px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.finding { border-left: 3px solid var(--bad); padding: 2px 0 2px 12px; margin: 10px 0; }
.finding.warning { border-color: var(--warn); }
.finding.info { border-color: var(--first); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 22px 26px;
  margin-top: 20px; }
figure { margin: 0; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11.5px system-ui, sans-serif; fill: var(--text); }
svg .tick, svg .faint { fill: var(--faint); }
svg .grid { stroke: var(--line); }
svg .storm { fill: var(--stress); }
.s0 { --own: var(--first); }
.s1 { --own: var(--second); }
.series path { fill: none; stroke: var(--own); stroke-width: 2; stroke-linejoin: round; }
.series.s1 path { stroke-width: 5; stroke-opacity: .55; stroke-linecap: round; }
.series circle { fill: var(--card); stroke: var(--own); stroke-width: 1.6; }
.series .skipped { stroke: var(--own); stroke-width: 2; }
.series .cross { stroke: var(--bad); stroke-width: 2.6; stroke-opacity: 1; }
svg .died { fill: var(--bad); font-weight: 600; paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
.key { display: inline-block; width: 22px; border-top: 3px solid var(--own); vertical-align: middle;
  margin-right: 8px; }
table { border-collapse: collapse; width: 100%; margin-top: 22px; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-top: 1px solid var(--line); }
th { font-weight: 500; color: var(--faint); width: 9em; }
thead th { color: var(--text); font-weight: 600; border-top: 0; width: auto; }
"""


def render(pairs: Sequence[Pair]) -> str:
    body = "".join("".join(section(pair)) for pair in pairs)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>dslint validate</title>'
        f"<style>{STYLE}</style></head><body><main><h1>dslint validate</h1>"
        f'<p class="faint">{text(subtitle(pairs))}</p>{body}'
        f"<footer>Made by dslint {text(__version__)}. A short line at the foot of a plot marks a skipped step."
        "</footer></main></body></html>\n"
    )


def subtitle(pairs: Sequence[Pair]) -> str:
    records = [validated.record for pair in pairs for validated in pair.all]
    told = [record for record in records if record.machine]
    if not told:
        return "Nothing ran."
    machine = told[0].machine
    return f"On the real engine: DeepSpeed {machine['deepspeed']}, torch {machine['torch']}, {machine['device_name']}."


def section(pair: Pair) -> Iterator[str]:
    yield "<section>"
    if pair.compared is not None:
        said = judging.comparison(pair.given.record, pair.compared.record)
        yield f'<p class="versus">{text(said[0].upper() + said[1:])}.</p>'
    yield '<div class="runs">'
    for number, validated in enumerate(pair.all):
        yield "<div>" + "".join(run(validated, number, pair.compared is not None)) + "</div>"
    yield "</div>"
    yield plots([validated.record for validated in pair.all])
    yield table([validated.record for validated in pair.all])
    yield "</section>"


def run(validated: Validated, number: int, keyed: bool) -> Iterator[str]:
    record, explanation = validated
    key = f'<span class="key s{number}"></span>' if keyed else ""
    badge = f'<span class="badge {judging.tone(record)}">{text(judging.headline(record))}</span>'
    yield f'<div class="head"><h2>{key}{text(record.trial.shown)}</h2>{badge}</div>'
    yield f'<p class="faint">{text(report_text.setting(record))}</p>'
    for sentence in judging.consequences(record):
        yield f'<p class="means">{text(sentence[0].upper() + sentence[1:])}.</p>'
    if record.error is not None:
        where = f"\nraised in {record.error.where}" if record.error.where else ""
        yield f"<pre>{text(record.error.sentence + where)}</pre>"
    yield from map(finding, explanation.explaining)
    cause = explanation.cause
    if cause is not None and not explanation.explaining:
        yield f"<p><b>{text(cause.summary[0].upper() + cause.summary[1:])}.</b> {marked(' '.join(cause.why[:1]))}</p>"
        yield "<ul>" + "".join(f"<li>{marked(advice)}</li>" for advice in cause.fix[:2]) + "</ul>"
    rest = [
        one for one in explanation.findings if one not in explanation.explaining and one.severity != "info"
    ]
    if rest:
        yield f'<p class="faint">dslint also says: {text(", ".join(dict.fromkeys(map(report_text.named, rest))))}.</p>'
    for note in record.notes:
        yield f'<p class="faint">Note: {text(note)}.</p>'


def finding(one: Finding) -> str:
    place = one.place
    row = place.source.position(place.start).row
    return (
        f'<div class="finding {one.severity}"><b>{one.severity} {text(one.code)}</b> '
        f'<a href="{text(one.url)}">{text(one.name)}</a>, line {row}<br>{text(one.message)}.</div>'
    )


def plots(records: Sequence[Record]) -> str:
    storms = [step.number for record in records for step in record.steps if step.stressed]
    storm = (min(storms), max(storms)) if storms else None
    wanted = (
        Plot("Loss", series(records, "loss"), "linear", storm),
        Plot("Loss scale", series(records, "scale"), "log2", storm),
        Plot("Gradient norm", series(records, "norm"), "log10", storm),
        Plot("Share of gradient elements that are 0", series(records, "zeros"), "share", storm),
    )
    shown = []
    for plot in wanted:
        if plot.axis == "share" and not tells(plot):
            continue
        drawing = svg(plot)
        if drawing:
            shown.append(f"<figure><h3>{text(plot.title)}</h3>{drawing}</figure>")
    return f'<div class="plots">{"".join(shown)}</div>' if shown else ""


def tells(plot: Plot) -> bool:
    """Is there a share worth a picture?"""
    return any(value is not None and value >= 0.01 for one in plot.series for _, value in one.points)


def series(records: Sequence[Record], name: str) -> list[Series]:
    found = []
    for record in records:
        died = record.error.step if record.ended == "died" and record.error is not None else None
        found.append(
            Series(
                record.trial.shown,
                [*((step.number, getattr(step, name)) for step in record.steps), *at_death(record, name)],
                [step.number for step in record.steps if step.skipped],
                died,
                stairs=name == "scale",
            )
        )
    return found


def at_death(record: Record, name: str) -> list[tuple[int, float]]:
    """The loss scale under which the step died that no event tells of."""
    scale, error = record.facts.get("last_scale"), record.error
    if name != "scale" or scale is None or record.ended != "died" or error is None or error.step is None:
        return []
    return [(error.step, float(scale))]


def table(records: Sequence[Record]) -> str:
    columns = [dict(report_text.table(record, bars=False)) for record in records]
    names = list(dict.fromkeys(name for column in columns for name in column))
    if not names:
        return ""
    head = ""
    if len(records) > 1:
        cells = "".join(f"<th>{text(record.trial.shown)}</th>" for record in records)
        head = f"<thead><tr><th></th>{cells}</tr></thead>"
    rows = "".join(
        f"<tr><th>{text(name)}</th>"
        + "".join(f"<td>{text(column.get(name, ''))}</td>" for column in columns)
        + "</tr>"
        for name in names
    )
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def marked(value: str) -> str:
    """A sentence of the catalogue, its `code` as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def text(value: str) -> str:
    return html.escape(value)
