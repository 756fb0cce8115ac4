"""How far dslint and the real DeepSpeedConfig agree, on mutated real configs.

    python -m bench.parity --configs DIR [--releases 0.19.8,…] [--sdists DIR] [--python PATH] [--count 10000]

Run with an interpreter that has dslint; `--python` names one that has torch and DeepSpeed's dependencies, `--sdists` a folder of
unpacked source distributions, deepspeed-X.Y.Z, and without it only the installed release can be asked. What a release answered is
kept in --out, so a run that was stopped goes on where it was, and after a change of dslint only dslint is asked again.

The world is one process. Errors of rules that show only at `initialize` are counted apart; --sample N takes that many of them,
and as many configs in which neither sees a fault, to `deepspeed.initialize` and three steps on CPU. Exit status 1 when
something disagrees.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from bench.parity.asking import Release
from bench.parity.judging import Disagreement, disagreement, is_machine, points, rules, word
from bench.parity.mutate import Config, Mutator, Variant, without
from bench.parity.reducing import smallest
from bench.parity.stepping import Engine, Stepped, step

RELEASES = "0.14.5,0.15.4,0.16.9,0.17.6,0.18.9,0.19.8"
REDUCED = 3
"""Disagreements of one group that are reduced; the others are counted."""


LIMITS = """## What this does not ask

The world is one process, and the config is a file that bare DeepSpeed reads as Hjson. So `sequence_parallel_size`, which
counts only where a program hands a dict over, batch numbers of several processes, elasticity among them, and what a
framework does to a config before DeepSpeed sees it are not held against the engine here. For the machine's sake: a package
that a config asks for, such as wandb, is not installed, or an answer took more than 20 seconds. Errors to come are those of
rules that show at `initialize` or in the first steps; of these a sample is taken there, on CPU, around a model of two linear
layers. DeepSpeed's own optimizers are stand-ins there that compute nothing, so text among their numbers does not stop them.
"""


class Shown(NamedTuple):
    """One disagreement in its smallest form."""

    kind: str
    group: str
    config: Config
    verdict: str
    findings: tuple[str, ...]
    told: str


class Result(NamedTuple):
    """What came out for one release. `told`: taken when read, with an error that dslint sees coming; `quiet`: with none."""

    release: str
    asked: int
    refused: int
    machine: int
    false: int
    missed: int
    told: list[Config]
    quiet: list[Config]
    groups: dict[tuple[str, str], int]
    shown: list[Shown]
    stepped: Stepped | None = None

    def joined(self, other: Result) -> Result:
        """Both results as one."""
        mine, others = self._asdict(), other._asdict()
        groups = Counter(self.groups) + Counter(other.groups)
        both = {
            name: value + others[name]
            for name, value in mine.items()
            if name not in ("release", "groups", "stepped")
        }
        return Result(self.release, groups=dict(groups), **both)


@click.command()
@click.option(
    "--configs", type=click.Path(exists=True, path_type=Path), default=Path("../shared/corpus/configs")
)
@click.option("--releases", default=RELEASES, show_default=True)
@click.option("--sdists", type=click.Path(exists=True, path_type=Path), envvar="DSLINT_SDISTS")
@click.option(
    "--python", default=sys.executable, envvar="DSLINT_ENGINE_PYTHON", help="Interpreter with torch."
)
@click.option("--count", default=10_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--sample",
    default=0,
    show_default=True,
    help="Errors to come, and quiet configs, that are taken to steps.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/parity"), show_default=True)
@click.option("--report", type=click.Path(path_type=Path), help="Markdown file for the figures.")
def main(
    configs: Path,
    releases: str,
    sdists: Path | None,
    python: str,
    count: int,
    seed: int,
    sample: int,
    out: Path,
    report: Path | None,
) -> None:
    """dslint held against the real DeepSpeedConfig, on mutated real configs."""
    out.mkdir(parents=True, exist_ok=True)
    rules(), points()  # read once, before hours of a run in which they may change
    mutator = Mutator(configs)
    variants = [mutator.variant(seed, number) for number in range(count)]
    results = []
    for name in releases.split(","):
        sdist = None if sdists is None else sdists.resolve() / f"deepspeed-{name}"
        with Release(name, python, sdist, out / f"{name}.jsonl") as release:
            result = compare(release, variants)
        if sample:
            with Engine(sdist, python) as engine:
                stepped = step(engine, result.told, result.quiet, sample, seed, partial(is_quiet, name))
            result = result._replace(stepped=stepped)
        results.append(result)
        click.echo(said(result))
    if report is not None:
        report.write_text(markdown(results, count, seed), encoding="utf-8")
    sys.exit(1 if any(result.false + result.missed + missed_later(result) for result in results) else 0)


def compare(release: Release, variants: Sequence[Variant]) -> Result:
    """The variants, and then those that both refuse once more without what dslint's errors stand at.

    The second look shows whether the errors were about what the engine minds: if it still refuses, dslint must see why.
    """
    first, peeled = look(release, variants)
    second, _ = look(release, peeled)
    return first.joined(second)


def look(release: Release, variants: Sequence[Variant]) -> tuple[Result, list[Variant]]:
    """The result for some variants, and the refused ones without what dslint's errors stand at."""
    peeled: list[Variant] = []
    with click.progressbar(length=len(variants), label=f"DeepSpeed {release.name}", file=sys.stderr) as bar:
        verdicts = release.verdicts([variant.config for variant in variants], bar.update)
    found: dict[tuple[str, str], list[tuple[Variant, Disagreement]]] = defaultdict(list)
    told: list[Config] = []
    quiet: list[Config] = []
    with click.progressbar(
        list(zip(variants, verdicts, strict=True)), label=f"dslint on {release.name}", file=sys.stderr
    ) as pairs:
        for variant, verdict in pairs:
            said_of = word(variant.config, release.name)
            between = disagreement(verdict, said_of)
            if between is None and verdict != "ok":
                smaller = without(variant.config, said_of.places)
                smaller.setdefault("train_micro_batch_size_per_gpu", 1)
                peeled.append(Variant(variant.number, f"{variant.told}; without its errors", smaller))
            if between is not None:
                found[between.kind, between.group].append((variant, between))
            elif verdict == "ok":
                (told if said_of.later else quiet).append(variant.config)
    shown = [reduced(release, *one) for group in found.values() for one in group[:REDUCED]]
    kinds = Counter(kind for (kind, _), group in found.items() for _ in group)
    result = Result(
        release.name,
        len(variants),
        sum(verdict != "ok" for verdict in verdicts),
        sum(is_machine(verdict) for verdict in verdicts),
        kinds["false"],
        kinds["missed"],
        told,
        quiet,
        {key: len(group) for key, group in found.items()},
        shown,
    )
    return result, peeled


def reduced(release: Release, variant: Variant, first: Disagreement) -> Shown:
    def holds(config: Config) -> bool:
        between = disagreement(release.verdicts([config])[0], word(config, release.name))
        return between is not None and (between.kind, between.group) == (first.kind, first.group)

    config = smallest(variant.config, holds)
    last = disagreement(release.verdicts([config])[0], word(config, release.name)) or first
    return Shown(last.kind, last.group, config, last.verdict, last.word.findings, variant.told)


def is_quiet(release: str, config: Config) -> bool:
    """Does dslint tell of no error?"""
    return not word(config, release).findings


def missed_later(result: Result) -> int:
    return 0 if result.stepped is None else result.stepped.missed


def agreement(result: Result) -> float:
    return 100 * (1 - (result.false + result.missed) / max(1, result.asked))


def said(result: Result) -> str:
    lines = [
        f"{result.release}: {result.asked} variants, engine refuses {result.refused}, missed {result.missed}, "
        f"false errors {result.false}, agreement {agreement(result):.2f} %, for the machine's sake {result.machine}, "
        f"errors to come at initialize {len(result.told)}"
    ]
    for (kind, group), count in sorted(result.groups.items(), key=lambda item: (item[0][0], -item[1])):
        lines.append(f"  {kind} x{count}: {group}")
        for one in result.shown:
            if (one.kind, one.group) == (kind, group):
                lines += [
                    f"    {json.dumps(one.config)}",
                    f"      {one.told}",
                    f"      engine: {one.verdict[:200]}",
                ]
                lines += [f"      dslint: {finding}" for finding in one.findings]
    if result.stepped is not None:
        steps = result.stepped
        lines.append(f"  of {steps.told} errors to come, the engine ran {len(steps.ran)} all the same")
        lines += [f"    {json.dumps(config)}" for config in steps.ran]
        lines.append(
            f"  of {steps.quiet} quiet configs, the engine stopped at {steps.missed}, for the machine's sake at {steps.machine}"
        )
        for stop in steps.stops:
            lines += [f"    x{stop.times}: {json.dumps(stop.config)}", f"      engine: {stop.error[:200]}"]
    return "\n".join(lines)


def markdown(results: Sequence[Result], count: int, seed: int) -> str:
    lines = [
        "# dslint against the real DeepSpeedConfig",
        "",
        f"Made by `python -m bench.parity --count {count} --seed {seed}` on {datetime.date.today():%Y-%m-%d}, "
        f"{machine()}, dslint {commit()}, "
        'DeepSpeed on CPU, as if one process trained. A variant is a real config ("auto" filled with the HF Trainer\'s default '
        "numbers; what it does not fill is left out) with one or two mutations, and once more, where both refuse it, without "
        "what dslint's errors stand at. Missed: DeepSpeedConfig refuses it and dslint "
        "tells of no error there. False: DeepSpeedConfig takes it and dslint tells of an error there.",
        "",
        "| release | variants | engine refuses | for the machine's sake | missed | false errors | agreement | errors to come |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.release} | {r.asked:,} | {r.refused:,} | {r.machine} | {r.missed} | {r.false} | {agreement(r):.2f} % "
        f"| {len(r.told):,} |"
        for r in results
    ]
    lines += ["", "## What still disagrees, in its smallest form", ""]
    for result in results:
        for one in result.shown:
            words = "; ".join(one.findings) or "no error"
            lines.append(
                f"- {result.release}, {one.kind} (x{result.groups.get((one.kind, one.group), 1)}): "
                f"`{json.dumps(one.config)}`. Engine: {one.verdict[:160]}. dslint: {words}."
            )
    if not any(result.shown for result in results):
        lines.append("Nothing.")
    if any(result.stepped for result in results):
        lines += ["", "## Past the reading", "", *stepped_table(results)]
    return "\n".join([*lines, "", LIMITS])


def stepped_table(results: Sequence[Result]) -> list[str]:
    lines = [
        "Of what each release reads, a sample was built into an engine and trained for three steps: configs in which dslint "
        "sees an error to come, and configs in which it sees none.",
        "",
        "| release | errors to come | ran all the same | quiet | stopped | for the machine's sake |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    found = [(result.release, result.stepped) for result in results if result.stepped is not None]
    lines += [
        f"| {release} | {steps.told} | {len(steps.ran)} | {steps.quiet} | {steps.missed} | {steps.machine} |"
        for release, steps in found
    ]
    lines.append("")
    for release, steps in found:
        lines += [f"- {release}, ran all the same: `{json.dumps(config)}`." for config in steps.ran]
        lines += [
            f"- {release}, stopped (x{stop.times}): `{json.dumps(stop.config)}`. Engine: {stop.error[:160]}."
            for stop in steps.stops
        ]
    return lines


def commit() -> str:
    """The state of dslint that is measured, as git names it."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    return asked.stdout.strip() or "an unknown commit"


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
