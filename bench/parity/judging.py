"""dslint's word on a config, and whether it agrees with the engine's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from dslint import api, resources
from dslint.linting import Context
from dslint.rules import book
from dslint.rules.book import Rule
from dslint.rules.compile import rule_files
from dslint.rules.finding import Finding

MACHINE = (
    "ModuleNotFoundError",
    "No module named",
    "TimeoutError",
)
"""Refusals for the sake of the machine that asks: a package that is not installed there."""


class Word(NamedTuple):
    """`load`: rules whose errors the engine raises when it reads the config; `later`: those that wait for `initialize`.

    `places` are the pointers of all errors.
    """

    load: tuple[str, ...]
    later: tuple[str, ...]
    findings: tuple[str, ...]
    places: tuple[str, ...]


class Disagreement(NamedTuple):
    """`kind`: false (the engine takes what dslint calls an error) or missed; `group` is what similar ones share."""

    kind: str
    group: str
    verdict: str
    word: Word


@lru_cache
def rules() -> tuple[Rule, ...]:
    return book.load()


def context(release: str) -> Context:
    """What is known of each variant: bare DeepSpeed reads it, and one process trains."""
    return Context(rules(), release, "deepspeed", None, 1)


@lru_cache
def points() -> dict[str, frozenset[str]]:
    """For each rule the points at which its refusals show; load where it claims nothing."""
    found = {}
    for _, rule in rule_files(resources.folder("rules")):
        claims = rule.claims + [claim for example in rule.examples if example.bad for claim in example.claims]
        refusing = [claim.at for claim in claims if claim.refuses is not None or claim.accepts is False]
        found[rule.name] = frozenset(refusing or ["load"])
    return found


def word(config: Any, release: str) -> Word:
    """What `dslint.lint` says, with the rules read once for all configs."""
    files, workspace = api.gathered(None, json.dumps(config, indent=2), "ds_config.json")
    errors = [
        finding
        for finding in api.checked(files, context(release), workspace).findings
        if finding.severity == "error"
    ]
    return Word(
        tuple(sorted({finding.name for finding in errors if points()[finding.name] == {"load"}})),
        tuple(sorted({finding.name for finding in errors if points()[finding.name] != {"load"}})),
        tuple(spoken(finding) for finding in errors),
        tuple(finding.place.pointer or "" for finding in errors),
    )


def spoken(finding: Finding) -> str:
    return f"{finding.name} {finding.place.pointer}: {finding.message}"


def is_machine(verdict: str) -> bool:
    return any(sign in verdict for sign in MACHINE)


def disagreement(verdict: str, said: Word) -> Disagreement | None:
    if verdict == "ok":
        return Disagreement("false", " + ".join(said.load), verdict, said) if said.load else None
    if said.load or at_load(said.later) or is_machine(verdict):
        return None
    return Disagreement("missed", gist(verdict), verdict, said)


def at_load(names: Sequence[str]) -> bool:
    return any("load" in points()[name] for name in names)


def gist(verdict: str) -> str:
    """An engine's message without what changes from config to config: the group it falls into."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\{.*\}|\[.*?\]", "…", verdict)
    text = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    return text[:140]
