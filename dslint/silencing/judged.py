"""Could a rule be judged in a run at all? Where it could not, an ignore for it is not idle.

A rule on bf16 asks for the hardware; without `--hardware` it finds nothing, and its ignore is right all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from dslint.documents.tree import UNKNOWN, Source
from dslint.launches.launch import Framework, Launch
from dslint.launches.taking_part import sources_of
from dslint.rules.book import Condition, Rule
from dslint.rules.checks import check_named
from dslint.rules.conditions import ABSENT, fact, holds, reach
from dslint.rules.evaluate import Evaluator
from dslint.settings import Settings
from dslint.silencing.files import is_ignored

FRAMEWORKS: Final = get_args(Framework)
# What another file may bring that this run did not see.
COMPANY: Final = ("accelerate", "training", "command", "arguments", "script", "program")
LIBRARIES: Final = ("torch", "transformers", "accelerate")


class Judge:
    """Knows of a run's launches which rules could be decided on them.

    `differs`: with --changed, does a file differ? In others not every launch was looked at.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        launches: Sequence[Launch],
        settings: Settings,
        differs: Callable[[str], bool] | None = None,
    ) -> None:
        self._rules = {word: rule for rule in rules for word in (rule.code, rule.name)}
        self._settings = settings
        self._differs = differs
        self._launches: dict[str, list[Launch]] = {}
        for launch in launches:
            for path in {source.path for source in sources_of(launch).values()}:
                self._launches.setdefault(path, []).append(launch)

    def has_judged(self, word: str, source: Source) -> bool:
        """Was a rule, by name or code, looked for in all that a file takes part in, with every fact at hand?"""
        rule = self._rules.get(word)
        if rule is None or (self._differs is not None and not self._differs(source.path)):
            return False
        if is_ignored(rule.code, rule.name, source.path, self._settings):
            return False
        launches = self._launches.get(source.path, [])
        asked = [launch for launch in launches if is_for(rule, launch)]
        if any(is_open(rule, launch) for launch in asked):
            return False
        # A rule on a config's company finds nothing where the run saw the config alone.
        return bool(asked) or not launches or rule.document not in ("deepspeed", "launch")


def is_for(rule: Rule, launch: Launch) -> bool:
    """Does a rule look at a launch? Those on arguments look at launches that have some."""
    if rule.document == "launch" and launch.config.dialect != "launch":
        return bool(launch.arguments) or launch.command is not None
    return rule.document == launch.config.dialect


def is_open(rule: Rule, launch: Launch) -> bool:
    """Could a fact that is not known make the rule's fault appear?"""
    if launch.framework is not None:
        return misses(rule, launch)
    variants = [launch.but(framework=name) for name in FRAMEWORKS]
    return any(misses(rule, each) or bool(Evaluator([rule]).findings(each)) for each in variants)


def misses(rule: Rule, launch: Launch) -> bool:
    return any(case_misses(case.conditions, rule, launch) for case in rule.cases)


def case_misses(case: Sequence[Condition], rule: Rule, launch: Launch) -> bool:
    """Does all that is known of a case hold, while something else is not known?"""
    known = [condition for condition in case if not is_unknown(condition, launch)]
    if not holds(known, launch):
        return False
    if len(known) < len(case):
        return True
    return rule.check is not None and asks_in_vain(rule.check, launch)


def is_unknown(condition: Condition, launch: Launch) -> bool:
    path, test = condition
    if not path[0].startswith("$"):
        found = None if "*" in path else reach(launch.config.root, path).node
        return found is not None and found.kind == "unknown"
    if path[0] == "$release" or "unknown" in test:
        return False
    value = fact(path[0], launch)
    return value is UNKNOWN or (value is ABSENT and is_alone(launch))


def is_alone(launch: Launch) -> bool:
    """Is there nothing but the config?"""
    return not any(getattr(launch, name) for name in COMPANY)


class Watched(Launch):
    """A launch that notes what a check asks of it."""

    __slots__ = ("asked",)

    def __init__(self, launch: Launch) -> None:
        self.asked: set[str] = set()
        super().__init__(**launch.facts())

    def __getattribute__(self, name: str) -> Any:
        if name in NOTED:
            object.__getattribute__(self, "asked").add(name)
        return object.__getattribute__(self, name)


NOTED: Final = frozenset({"hardware", "world_size", "versions", "arguments_complete", *COMPANY})


def asks_in_vain(check: str, launch: Launch) -> bool:
    """Does a check ask for a fact that this launch lacks?"""
    watched = Watched(launch)
    for _ in check_named(check)(watched):
        pass
    return any(name in watched.asked for name in lacking(launch))


def lacking(launch: Launch) -> Iterator[str]:
    for name in ("hardware", "world_size"):
        if getattr(launch, name) is None:
            yield name
    versions: Mapping[str, str] = launch.versions
    if any(name not in versions for name in LIBRARIES):
        yield "versions"
    if is_alone(launch):
        yield from COMPANY
    if not launch.arguments_complete:
        yield from ("arguments", "arguments_complete")
