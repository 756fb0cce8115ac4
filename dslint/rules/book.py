"""The compiled rule book: what a run reads instead of YAML.

`load()` gives the built-in rules as plain NamedTuples. In a checkout they are compiled anew when a rule file is newer than
the compiled form; in an installed wheel the compiled form is part of the package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
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


class FixPlan(NamedTuple):
    """A rule's fix before it meets a config. `when` must hold besides the rule's own conditions."""

    safety: str
    message: str
    when: tuple[Condition, ...]
    changes: tuple[tuple[str, str, Any], ...]


class Rule(NamedTuple):
    """One fault. `cases` are alternatives, each a table of conditions that must all hold."""

    code: str
    name: str
    severity: Severity
    summary: str
    document: str
    cases: tuple[tuple[Condition, ...], ...]
    check: str | None
    at: str
    mark: str
    message: str
    related: tuple[tuple[str, str], ...]
    why: str
    fixes: tuple[FixPlan, ...]
    generic: bool

    @property
    def url(self) -> str:
        return DOCS_URL.format(name=self.name)


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


def thaw(plain: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Compiled rules as they lie in JSON → Rules."""
    return tuple(
        Rule(
            code=entry["code"],
            name=entry["name"],
            severity=entry["severity"],
            summary=entry["summary"],
            document=entry["document"],
            cases=tuple(conditions(case) for case in entry["cases"]),
            check=entry["check"],
            at=entry["at"],
            mark=entry["mark"],
            message=entry["message"],
            related=tuple((path, text) for path, text in entry["related"]),
            why=entry["why"],
            fixes=tuple(
                FixPlan(
                    fix["safety"], fix["message"], conditions(fix["when"]), tuple(map(tuple, fix["changes"]))
                )
                for fix in entry["fixes"]
            ),
            generic=entry["generic"],
        )
        for entry in plain
    )


def conditions(entries: Sequence[Sequence[Any]]) -> tuple[Condition, ...]:
    return tuple(Condition(tuple(path), test) for path, test in entries)
