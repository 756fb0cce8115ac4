"""Files → findings: the whole way in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from dslint.documents.tree import Dialect, Document, Place, Source
from dslint.fixing.writing import Unreadable
from dslint.launches.discover import File
from dslint.launches.launch import Framework, Launch
from dslint.releases.release import Release
from dslint.rules.book import Rule
from dslint.rules.evaluate import Evaluator
from dslint.rules.finding import LEVEL, Finding
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.hardware.profiles import Profile


class Context(NamedTuple):
    """What is known from outside the files: options and settings. None is unknown.

    `ignored` are rules that are not asked for, yet where they would speak, no generic rule speaks in their place.
    """

    rules: tuple[Rule, ...]
    release: str | None = None
    framework: Framework | None = None
    hardware: Profile | None = None
    world_size: int | None = None
    ignored: tuple[Rule, ...] = ()


class Outcome(NamedTuple):
    """What a run saw. `failures` are files that could not be read; `launches` are kept for reports and fixes."""

    findings: list[Finding]
    launches: list[Launch]
    sources: Mapping[str, Source]
    failures: list[str]
    releases: list[Release]


def lint(
    files: Sequence[File],
    context: Context,
    workspace: Workspace,
    advance: Callable[[], None] = lambda: None,
    wanted: Callable[[Launch], bool] | None = None,
) -> Outcome:
    """Every finding on some files, each once, in the order of files and places; of `wanted` launches alone, if given."""
    from dslint.launches.join import launches_of

    read = read_files(files, workspace, advance)
    launches = launches_of(read.sources, context, workspace)
    if wanted is not None:
        launches = [launch for launch in launches if wanted(launch)]
    evaluators = evaluators_for(context.rules, context.ignored)
    found: list[Finding] = []
    for launch in launches:
        found += evaluators[launch.config.dialect].findings(launch)
        if launch.config.dialect != "launch" and (launch.arguments or launch.command is not None):
            found += evaluators["launch"].findings(launch)
    sources = {file.path: source for file, source in read.sources}
    sources.update((os.path.abspath(s.path), s) for s in (launch.config.source for launch in launches))
    releases = sorted({launch.release for launch in launches})
    return Outcome(merged(found), launches, sources, read.failures, releases)


def evaluators_for(rules: Iterable[Rule], ignored: Iterable[Rule] = ()) -> Mapping[str, Evaluator]:
    """The rules by the dialect that they read; a dialect without rules has an evaluator that finds nothing."""
    chosen, unsaid = by_dialect(rules), by_dialect(ignored)
    return {dialect: Evaluator(chosen[dialect], unsaid[dialect]) for dialect in chosen}


def by_dialect(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {dialect: [] for dialect in get_args(Dialect)}
    for rule in rules:
        found[rule.document].append(rule)
    return found


class Read(NamedTuple):
    sources: list[tuple[File, Source]]
    failures: list[str]


def read_files(files: Sequence[File], workspace: Workspace, advance: Callable[[], None]) -> Read:
    """The texts of the files. What a folder holds beside text is left out; what the user named must be readable."""
    from dslint.launches.reading import refuse_long

    sources: list[tuple[File, Source]] = []
    failures: list[str] = []
    for file in files:
        try:
            source = workspace.source(file.path, file.shown)
            refuse_long(file, source)
            sources.append((file, source))
        except Unreadable as error:
            if file.named or not os.access(file.path, os.R_OK):
                failures.append(str(error))
        advance()
    return Read(sources, failures)


def merged(found: Iterable[Finding]) -> list[Finding]:
    """The same fault of several launches is one finding: the loudest, with what all of them rest on."""
    kept: dict[tuple[str, str, int, int, str | None], Finding] = {}
    for finding in found:
        place = finding.place
        key = (finding.code, place.source.path, place.start, place.end, place.pointer)
        known = kept.get(key)
        if known is None or LEVEL[finding.severity] > LEVEL[known.severity]:
            kept[key] = finding
    return sorted(kept.values(), key=order)


def order(finding: Finding) -> tuple[str, int, int, str]:
    place: Place = finding.place
    return (place.source.path, place.start, -LEVEL[finding.severity], finding.code)


__all__ = ["Context", "Document", "Outcome", "lint"]
