"""A line plot as inline SVG: one or two series over steps, linear or logarithmic, readable in the dark too."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

WIDTH: Final = 560
HEIGHT: Final = 240
LEFT: Final = 64
RIGHT: Final = 16
TOP: Final = 22
BOTTOM: Final = 34
POINTS_SHOWN: Final = 60

Axis = Literal["linear", "log2", "log10", "share"]


class Series(NamedTuple):
    """One run's values by step; None or no number leaves a gap. `skipped` are steps, `died` the step that ended it."""

    name: str
    points: Sequence[tuple[int, float | None]]
    skipped: Sequence[int] = ()
    died: int | None = None
    stairs: bool = False


class Plot(NamedTuple):
    """What is drawn: `storm` is the first and the last step under stress."""

    title: str
    series: Sequence[Series]
    axis: Axis = "linear"
    storm: tuple[int, int] | None = None


class Scale(NamedTuple):
    """Values → pixels. `ticks` are values with their labels."""

    low: float
    high: float
    axis: Axis
    ticks: Sequence[tuple[float, str]]

    def y(self, value: float) -> float:
        part = (bent(value, self.axis) - self.low) / (self.high - self.low)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - part)


def svg(plot: Plot) -> str:
    """The plot as one <svg> element; an empty text where no series has a number."""
    values = [value for series in plot.series for _, value in series.points if is_drawn(value, plot.axis)]
    if not values:
        return ""
    last = max(
        [step for series in plot.series for step, _ in series.points] + [s.died or 0 for s in plot.series]
    )
    scale = scale_of([value for value in values if value is not None], plot.axis)
    parts = [*band(plot, last), *grid(scale), *step_axis(last)]
    # The first run lies on top of the second, which is drawn broader: where they agree, both are seen.
    for number, series in reversed(list(enumerate(plot.series))):
        parts += drawn(series, number, scale, last)
    label = html.escape(plot.title)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}"><title>{label}</title>'
        + "".join(parts)
        + "</svg>"
    )


def is_drawn(value: float | None, axis: Axis) -> bool:
    return value is not None and math.isfinite(value) and (value > 0 or axis not in ("log2", "log10"))


def bent(value: float, axis: Axis) -> float:
    return math.log2(value) if axis == "log2" else math.log10(value) if axis == "log10" else value


def x_of(step: float, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (step - 1) / max(1, last - 1)


def scale_of(values: Sequence[float], axis: Axis) -> Scale:
    if axis == "share":
        return Scale(0.0, 1.0, axis, [(part / 4, f"{25 * part} %") for part in range(5)])
    low, high = bent(min(values), axis), bent(max(values), axis)
    if axis == "linear":
        return linear(low, high)
    low, high = math.floor(low), math.ceil(high)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    every = max(1, math.ceil((high - low) / 6))
    base = 2 if axis == "log2" else 10
    exponents = range(low, high + 1, every)
    return Scale(low, high, axis, [(float(base) ** power, power_label(base, power)) for power in exponents])


def linear(low: float, high: float) -> Scale:
    room = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(room / 4))
    unit *= next(factor for factor in (1, 2, 5, 10) if room / (unit * factor) <= 5)
    first, last = math.floor(low / unit), math.ceil(high / unit)
    last = last + 1 if first == last else last
    ticks = [(unit * place, f"{unit * place:.6g}") for place in range(first, last + 1)]
    return Scale(unit * first, unit * last, "linear", ticks)


def power_label(base: int, power: int) -> str:
    """65536 as a number, 2³² as a power: whichever is shorter to read."""
    if base == 2 and 0 <= power <= 16:
        return str(2**power)
    if base == 10 and -3 <= power <= 4:
        return f"{10.0**power:g}"
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{base}{digits}"


def band(plot: Plot, last: int) -> Iterator[str]:
    if plot.storm is None or plot.storm[0] > last:
        return
    half = (x_of(2, last) - x_of(1, last)) / 2
    start, end = x_of(plot.storm[0], last) - half, min(x_of(plot.storm[1], last) + half, WIDTH - RIGHT)
    yield f'<rect class="storm" x="{start:.1f}" y="{TOP}" width="{end - start:.1f}" height="{HEIGHT - TOP - BOTTOM}"/>'
    yield f'<text class="faint" x="{start:.1f}" y="{TOP - 7}">under stress</text>'


def grid(scale: Scale) -> Iterator[str]:
    for value, label in scale.ticks:
        y = scale.y(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'


def step_axis(last: int) -> Iterator[str]:
    every = next(unit for unit in (1, 2, 5, 10, 20, 25, 50, 100, 250, 500, 1000, 10**9) if last / unit <= 10)
    steps = [1, *(step for step in range(every, last + 1, every) if step > 1 + every / 2)]
    base = HEIGHT - BOTTOM
    for step in steps:
        yield f'<text class="tick" x="{x_of(step, last):.1f}" y="{base + 16}" text-anchor="middle">{step}</text>'
    yield f'<text class="faint" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">optimizer step</text>'


def drawn(series: Series, number: int, scale: Scale, last: int) -> Iterator[str]:
    yield f'<g class="series s{number}">'
    for run in runs(series, scale):
        yield f'<path d="{path(run, series.stairs, scale, last)}"/>'
    if len(series.points) <= POINTS_SHOWN:
        yield from dots(series, scale, last)
    # The second run's marks stand below the first one's.
    y = HEIGHT - BOTTOM - 4 - 7 * number
    for step in series.skipped:
        yield f'<line class="skipped" x1="{x_of(step, last):.1f}" x2="{x_of(step, last):.1f}" y1="{y - 5}" y2="{y}">'
        yield f"<title>{html.escape(series.name)}: step {step} was skipped</title></line>"
    if series.died is not None:
        yield from cross(series, scale, last)
    yield "</g>"


def runs(series: Series, scale: Scale) -> Iterator[list[tuple[int, float]]]:
    """The stretches without a gap."""
    run: list[tuple[int, float]] = []
    for step, value in series.points:
        if value is not None and is_drawn(value, scale.axis):
            run.append((step, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def path(run: Sequence[tuple[int, float]], stairs: bool, scale: Scale, last: int) -> str:
    (step, value), *rest = run
    parts = [f"M{x_of(step, last):.1f} {scale.y(value):.1f}"]
    for step, value in rest:
        x, y = x_of(step, last), scale.y(value)
        parts.append(f"H{x:.1f}V{y:.1f}" if stairs else f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def dots(series: Series, scale: Scale, last: int) -> Iterator[str]:
    for step, value in series.points:
        if value is not None and is_drawn(value, scale.axis):
            yield f'<circle cx="{x_of(step, last):.1f}" cy="{scale.y(value):.1f}" r="2.6">'
            yield f"<title>{html.escape(series.name)}, step {step}: {value:.6g}</title></circle>"


def cross(series: Series, scale: Scale, last: int) -> Iterator[str]:
    known = [value for _, value in series.points if value is not None and is_drawn(value, scale.axis)]
    x, y = x_of(series.died or last, last), scale.y(known[-1]) if known else HEIGHT / 2
    yield f'<path class="cross" d="M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10"/>'
    anchor, shift = ("end", 5) if x > WIDTH / 2 else ("start", -5)
    above = max(y - 14, TOP + 10)
    yield f'<text class="died" x="{x + shift:.1f}" y="{above:.1f}" text-anchor="{anchor}">died in step {series.died}</text>'
