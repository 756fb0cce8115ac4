"""Findings and the ignores in their files → what is left to report, and the ignores that silence nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from dslint.documents.tree import Document, Source
from dslint.rules.finding import Finding
from dslint.silencing.comments import documents_in
from dslint.silencing.ignores import Ignore, Name, ignores_in


class UnusedIgnore(NamedTuple):
    """An idle ignore: `names` silence nothing, `unknown` are no rules; without both it is void."""

    ignore: Ignore
    names: tuple[Name, ...] = ()
    unknown: tuple[Name, ...] = ()


class Silenced(NamedTuple):
    """What is left of the findings, what was silenced, and the ignores that do nothing."""

    kept: list[Finding]
    silenced: list[Finding]
    unused: list[UnusedIgnore]


def silence(
    findings: Sequence[Finding],
    sources: Iterable[Source],
    documents: Iterable[Document],
    active: Callable[[str], bool] = lambda name: True,
    known: Collection[str] | None = None,
    judged: Callable[[str, Source], bool] = lambda name, source: True,
) -> Silenced:
    """Takes away what the ignores in the sources are for.

    - documents: the configs that stand in them; only with these can a JSON comment or key be told from text;
    - active: given a name or code, was that rule checked at all? If not, an ignore for it is not unused;
    - known: every name and code; a name beyond them is unknown. Without it, such names count as unused;
    - judged: given a name or code and a source, did the run have what that rule asks for? If not, it is not unused.
    """
    marked = {source.path: source for source in sources if "dslint" in source.text}
    if not marked:
        return Silenced(list(findings), [], [])
    documents = list(documents)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.place.source.path, []).append(finding)
    silenced: set[int] = set()
    unused: list[UnusedIgnore] = []
    for source in marked.values():
        inside = documents_in(source, documents)
        broken = any(problem.kind == "syntax" for document in inside for problem in document.problems)
        for ignore in ignores_in(source, inside):
            used = use(ignore, by_path.get(source.path, ()), silenced)
            idle = tuple(name for name in ignore.names if name.text not in used)
            unknown = tuple(name for name in idle if known is not None and name.text not in known)
            # Where the file cannot be read, what an ignore is for may not have been looked for.
            names = tuple(
                name
                for name in idle
                if not broken and name not in unknown and active(name.text) and judged(name.text, source)
            )
            if names or unknown or not ignore.names:
                unused.append(UnusedIgnore(ignore, names, unknown))
    kept = [finding for finding in findings if id(finding) not in silenced]
    return Silenced(kept, [finding for finding in findings if id(finding) in silenced], unused)


def use(ignore: Ignore, findings: Iterable[Finding], silenced: set[int]) -> set[str]:
    """Silences the findings that an ignore is for; gives the names that were of use."""
    wanted = {name.text for name in ignore.names}
    used: set[str] = set()
    for finding in findings:
        named = wanted & {finding.name, finding.code}
        if named and ignore.covers(finding, finding.place.source.position(finding.place.start).row):
            silenced.add(id(finding))
            used |= named
    return used
