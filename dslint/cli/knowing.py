"""`--baseline` and `--write-baseline`: what was there when a repository began is known, and left unsaid."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import click

from dslint.baseline import Baseline, BaselineError, Entry, apply, counted, read, write
from dslint.cli.check import Job, Result
from dslint.cli.exits import Stop
from dslint.documents.tree import Source
from dslint.linting import Outcome
from dslint.reports.summary import counted as number
from dslint.rules.finding import Finding
from dslint.settings import called

SHOWN = 3


def with_baseline(job: Job, result: Result, *, write: bool, quiet: bool) -> Result:
    """The result without what the baseline knows; with `write`, all of it is known from now on.

    Raises:
        Stop: the baseline cannot be read or written.
    """
    path = job.settings.baseline
    assert path is not None
    try:
        if write:
            written(job, result.outcome, path, quiet)
        sorted_out = apply(result.outcome.findings, read(path), os.getcwd())
    except BaselineError as error:
        raise Stop(str(error)) from error
    if not quiet and not write:
        tell_gone(Gone(job, result.outcome, path).among(sorted_out.gone), path)
    outcome = result.outcome._replace(findings=sorted_out.new)
    return result._replace(outcome=outcome, known=len(sorted_out.known))


def unknown(job: Job, outcome: Outcome) -> list[Finding]:
    """The findings that the baseline does not know.

    Raises:
        Stop: the baseline cannot be read.
    """
    assert job.settings.baseline is not None
    try:
        return apply(outcome.findings, read(job.settings.baseline), os.getcwd()).new
    except BaselineError as error:
        raise Stop(str(error)) from error


def written(job: Job, outcome: Outcome, path: str, quiet: bool) -> None:
    """Writes what is found now, and of what was known before what this run could not look for."""
    if outcome.failures:
        raise Stop(f"{outcome.failures[0]}; the baseline was not written")
    is_first = not os.path.exists(path)
    before = before_at(path)
    found = counted(outcome.findings, path, os.getcwd())
    missed = before.entries - found
    dropped = Gone(job, outcome, path).among(missed)
    entries = found + (missed - dropped)
    write(entries, path)
    if quiet:
        return
    new, gone = (found - before.entries).total(), dropped.total()
    notes = ", ".join(f"{count} {word}" for count, word in ((new, "new"), (gone, "dropped")) if count)
    click.echo(
        f"dslint: {called(path)}: {number(entries.total(), 'finding')} known from now on"
        + (f" ({notes})" if notes else ""),
        err=True,
    )
    if is_first and job.settings.origins.get("baseline") == "option":
        click.echo(
            f'dslint: commit it, and write baseline = "{called(path)}" into dslint.toml or [tool.dslint]; '
            "runs then report what is new",
            err=True,
        )


def before_at(path: str) -> Baseline:
    """What is known so far; nothing where there is no baseline yet, or a broken one."""
    try:
        return read(path)
    except BaselineError:
        return Baseline(path, Counter())


class Gone:
    """Tells entries whose findings no longer occur from those that this run did not look for."""

    def __init__(self, job: Job, outcome: Outcome, path: str) -> None:
        self._job = job
        self._sources: dict[str, Source] = {os.path.realpath(p): s for p, s in outcome.sources.items()}
        self._folder = os.path.dirname(os.path.abspath(path))
        self._judge = job.judge(outcome)
        self._names = {rule.name for rule in job.all_rules}

    def among(self, missed: Counter[Entry]) -> Counter[Entry]:
        if self._job.changes is not None:
            return Counter()
        return Counter({entry: count for entry, count in missed.items() if self.is_gone(entry)})

    def is_gone(self, entry: Entry) -> bool:
        path = os.path.join(self._folder, entry.file)
        if not os.path.exists(path):
            return True
        source = self._sources.get(os.path.realpath(path))
        if source is None:
            return False
        # A rule that there is no more, or one of the two on ignores, is met nowhere.
        return entry.rule not in self._names or self._judge.has_judged(entry.rule, source)


def tell_gone(gone: Counter[Entry], path: str) -> None:
    if not gone:
        return
    shown = ", ".join(spoken(gone)[:SHOWN])
    more = f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
    verb = "no longer occurs" if gone.total() == 1 else "no longer occur"
    click.echo(
        f"dslint: {called(path)}: {number(gone.total(), 'finding')} {verb}: {shown}{more}; "
        "--write-baseline drops what is gone",
        err=True,
    )


def spoken(entries: Iterable[Entry]) -> list[str]:
    return [f"{entry.rule} in {entry.file}" for entry in sorted(entries)]
