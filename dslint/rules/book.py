"""The compiled rule book: what a run reads instead of YAML.

`load()` gives the built-in rules as plain NamedTuples. In a checkout they are compiled anew when a rule file is newer than
the compiled form; in an installed wheel the compiled form is part of the package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dslint import resources
from dslint.rules.finding import Severity

DOCS_URL: Final = "https://deepspeed-lint.github.io/rules/{name}/"
COMPILED: Final = "compiled.json"


class Condition(NamedTuple):
    """`path` is a config path as keys, or one key that starts with `$`, a fact about the launch.

    `test` is one of {"is": value}, {"present": true}, {"absent": true}, or a JSON Schema; for `$release` and
    `$version.*`, {"release": spec}.
    """

    path: tuple[str, ...]
    test: Mapping[str, Any]


class Case(NamedTuple):
    """Conditions that must all hold: `shared` are on facts that most launches of a run share, `own` on the rest."""

    shared: tuple[Condition, ...]
    own: tuple[Condition, ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.shared + self.own


class FixPlan(NamedTuple):
    """A rule's fix before it meets a config. `when` must hold besides the rule's own conditions."""

    safety: str
    message: str
    when: tuple[Condition, ...]
    changes: tuple[tuple[str, str, Any], ...]


class Rule(NamedTuple):
    """One fault, in the order of the compiled form's columns.

    `needs` has a list for each case: the keys, two levels deep, without which it can't hold. What most files never ask
    for stays as it lies in the compiled form (`plain_cases`, `plain_fixes`) until somebody asks.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    document: str
    needs: Sequence[Sequence[str]]
    plain_cases: Sequence[Any]
    check: str | None
    at: str
    mark: str
    message: str
    related: Sequence[tuple[str, str]]
    why: str
    plain_fixes: Sequence[Any]
    generic: bool

    @property
    def url(self) -> str:
        return DOCS_URL.format(name=self.name)

    @property
    def cases(self) -> tuple[Case, ...]:
        """The alternatives, each a table of conditions that must all hold."""
        return tuple(Case(conditions(shared), conditions(own)) for shared, own in self.plain_cases)

    @property
    def fixes(self) -> tuple[FixPlan, ...]:
        """What may mend it; the first whose `when` holds does."""
        return tuple(
            FixPlan(safety, message, conditions(when), tuple(map(tuple, changes)))
            for safety, message, when, changes in self.plain_fixes
        )


class BrokenRule(Exception):
    """A rule file that can't be used: one sentence that names the file and what is wrong in it."""


def load() -> tuple[Rule, ...]:
    """The built-in rules, ordered by code.

    Raises:
        BrokenRule: in a checkout, when a changed rule file doesn't compile.
    """
    folder = resources.folder("rules")
    compiled = os.path.join(folder, COMPILED)
    if resources.is_checkout() and is_stale(folder, compiled):
        from dslint.rules.compile import compile_folder

        return thaw(compile_folder(folder, compiled))
    with open(compiled, encoding="utf-8") as file:
        return thaw(json.load(file))


def is_stale(folder: str, compiled: str) -> bool:
    """Is a rule file, or the set of rule files, newer than the compiled form?"""
    try:
        made = os.stat(compiled).st_mtime_ns
    except OSError:
        return True
    return any(stat > made for stat in times(folder))


def times(folder: str) -> list[int]:
    found = [os.stat(os.path.join(resources.PACKAGE, "rules", "compile.py")).st_mtime_ns]
    for family in os.scandir(folder):
        if family.is_dir() and family.name != "messages":
            found.append(family.stat().st_mtime_ns)
            found += [entry.stat().st_mtime_ns for entry in os.scandir(family.path)]
    return found


def thaw(rows: Iterable[Sequence[Any]]) -> tuple[Rule, ...]:
    """Compiled rules as they lie in JSON → Rules."""
    return tuple(map(Rule._make, rows))


def conditions(entries: Sequence[Sequence[Any]]) -> tuple[Condition, ...]:
    """Conditions of the compiled form; the same condition of several rules is one object, so that it is asked once."""
    return tuple(
        CONDITIONS.setdefault((*path, repr(test)), Condition(tuple(path), test)) for path, test in entries
    )


CONDITIONS: Final[dict[tuple[str, ...], Condition]] = {}
