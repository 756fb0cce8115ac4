"""Rules on a launch → findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from dslint.documents.tree import Document, Node, Place, find, find_member, join_pointer
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.rules.book import Condition, FixPlan, Rule
from dslint.rules.checks import check_named
from dslint.rules.checks.schema import BY_KIND, kinds_of
from dslint.rules.conditions import ABSENT, ALIASES, COMPANY, Found, fact, fact_holds, holds, reach
from dslint.rules.finding import LEVEL, Finding, Related
from dslint.rules.match import Match

# A name in braces; an object as JSON writes it, in a fix's message, is none.
FIELD: Final = re.compile(r"\{(\w[^{}\"]*)\}")


class Evaluator:
    """The rules on one kind of document, ready for many launches.

    Most rules need a key that a config lacks, so rules are found by the keys that they need. Most launches of a run share
    their release, framework, hardware and world size; what these decide is decided once.
    """

    __slots__ = ("_always", "_by_key", "_chosen", "_ignored", "_prepared", "rules")

    def __init__(self, rules: Sequence[Rule], ignored: Sequence[Rule] = ()) -> None:
        self.rules = rules
        self._ignored = [rule for rule in ignored if not rule.generic]
        self._always: list[int] = []
        self._by_key: dict[str, list[int]] = {}
        self._prepared: dict[Shared, dict[int, tuple[Prepared, ...]]] = {}
        self._chosen: dict[tuple[Shared, frozenset[str]], list[Chosen]] = {}
        for number, rule in enumerate(rules):
            for needs in rule.needs:
                (self._by_key.setdefault(needs[0], []) if needs else self._always).append(number)

    def findings(self, launch: Launch) -> list[Finding]:
        """Every rule that this launch meets, generic ones only where no sharper one speaks or would, were it not ignored."""
        sharp: list[Finding] = []
        generic: list[Finding] = []
        violated = None
        for rule, cases in self.chosen(launch):
            if rule.check is not None and rule.check in BY_KIND:
                violated = kinds_of(launch) if violated is None else violated
                if rule.check not in violated:
                    continue
            found = meet(rule, cases, launch)
            if found:
                (generic if rule.generic else sharp).extend(found)
        generic = [finding for finding in generic if not told(finding, sharp)]
        if generic and self._ignored:
            unsaid = Evaluator(self._ignored).findings(launch)
            generic = [finding for finding in generic if not told(finding, unsaid)]
        return sharp + generic

    def chosen(self, launch: Launch) -> list[Chosen]:
        """The rules that a launch's keys may concern; those of one repository's configs are often the same."""
        keys = keys_of(launch)
        keys.update(name for name in COMPANY if fact(name, launch) is not ABSENT)
        shared = (launch.release, launch.framework, launch.hardware, launch.world_size)
        known = self._chosen.get((shared, frozenset(keys)))
        if known is None:
            known = self._chosen[shared, frozenset(keys)] = list(self.choose(launch, shared, keys))
        return known

    def choose(self, launch: Launch, shared: Shared, keys: Set[str]) -> Iterator[Chosen]:
        prepared = self._prepared.setdefault(shared, {})
        for number in self.candidates(keys):
            rule = self.rules[number]
            cases = prepared.get(number)
            if cases is None:
                cases = prepared[number] = tuple(prepare(rule, launch))
            left = [conditions for needs, conditions in cases if needs <= keys]
            if left:
                yield rule, left

    def candidates(self, keys: Iterable[str]) -> list[int]:
        """The numbers of the rules whose rarest key is among these, in the rules' order."""
        found = set(self._always)
        for key in keys:
            if key in self._by_key:
                found.update(self._by_key[key])
        return sorted(found)


# What most launches of a run share: release, framework, hardware, world size.
Shared = tuple[Any, ...]
# A rule with its cases that are still open.
Chosen = tuple[Rule, Sequence[Sequence[Condition]]]
# A case that the shared facts leave open: the keys that it needs, and its other conditions.
Prepared = tuple[frozenset[str], tuple[Condition, ...]]


def prepare(rule: Rule, launch: Launch) -> Iterator[Prepared]:
    for needs, case in zip(rule.needs, rule.cases, strict=True):
        if all(fact_holds(path[0], test, launch) for path, test in case.shared):
            yield frozenset(needs), case.own


def keys_of(launch: Launch) -> set[str]:
    """The keys that a config has, two levels deep, under every name that the engine takes for them.

    What stands there is noted on the way, for the conditions that ask.
    """
    root = launch.config.root
    found: set[str] = set()
    reached: dict[tuple[str, ...], Found] = launch.memo.setdefault("reached", {})
    for member in root.members:
        key = member.key
        found.add(key)
        found.update(f"{key}.{inner.key}" for inner in member.node.members)
        for name, others in ALIASES.items():
            if key in others:
                found.add(name)
                found.update(f"{name}.{inner.key}" for inner in member.node.members)
        if key not in ALIASES and (key,) not in reached and root.get(key) is member.node:
            pointer = join_pointer("", key)
            reached[(key,)] = Found(pointer, member.node, "")
            for inner in member.node.members:
                if (key, inner.key) not in reached:
                    node = member.node.get(inner.key)
                    reached[key, inner.key] = Found(join_pointer(pointer, inner.key), node, "")
    return found


def told(generic: Finding, sharp: Sequence[Finding]) -> bool:
    """Does a sharper rule already say it, at this place and at least as loud?"""
    return any(
        finding.place.pointer == generic.place.pointer and LEVEL[finding.severity] >= LEVEL[generic.severity]
        for finding in sharp
    )


def meet(rule: Rule, cases: Iterable[Sequence[Condition]], launch: Launch) -> list[Finding]:
    """A rule's findings: of the first of its cases that has some."""
    for conditions in cases:
        ways = holds(conditions, launch)
        # Most cases end here, so nothing is set up for them.
        if not ways:
            continue
        found = [
            worded(rule, launch, match, paths) for paths in ways for match in matches_of(rule, launch, paths)
        ]
        if found:
            return found
    return []


def matches_of(rule: Rule, launch: Launch, paths: Mapping[str, Found]) -> Iterable[Match]:
    if rule.check is not None:
        return check_named(rule.check)(launch)
    found = place_of(rule.at, launch, paths)
    return (Match(found.pointer, values={"key": found.key}),)


def place_of(at: str, launch: Launch, paths: Mapping[str, Found]) -> Found:
    """Where `at` points: a path of the conditions, with what their `*` met, or any other path of the
    config.
    """
    if at in paths:
        return paths[at]
    star = next((found.key for path, found in paths.items() if "*" in path.split(".")), "")
    parts = [star if part == "*" else part for part in at.split(".")] if at else []
    found = reach(launch.config.root, parts)
    return found._replace(key=star or (parts[-1] if parts else ""))


def worded(rule: Rule, launch: Launch, match: Match, paths: Mapping[str, Found]) -> Finding:
    def value(field: re.Match[str]) -> str:
        return field_text(field.group(1), rule, launch, match, paths)

    document = launch.config
    place = match.place or place_at(document, match.pointer or "", match.mark or rule.mark)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=FIELD.sub(value, match.message or rule.message),
        place=place,
        why=rule.why,
        url=rule.url,
        fix=at_origin(match.fix or planned_fix(rule, launch, match, value), launch),
        related=match.related + tuple(related_places(rule, launch, paths)),
        document=document,
    )


def related_places(rule: Rule, launch: Launch, paths: Mapping[str, Found]) -> Iterator[Related]:
    for path, text in rule.related:
        found = place_of(path, launch, paths)
        if found.node is not None:
            yield Related(place_at(launch.config, found.pointer, "value"), text)


def field_text(name: str, rule: Rule, launch: Launch, match: Match, paths: Mapping[str, Found]) -> str:
    """What stands for `{name}` in a message: a value of the match, a fact, or a config value as the file
    spells it.
    """
    if name in match.values:
        return str(match.values[name])
    if name == "release":
        return launch.release.name
    if name in ("framework", "world_size", "hardware") or name.startswith(
        ("argument.", "hardware.", "version.")
    ):
        known = fact("$hardware.title" if name == "hardware" else f"${name}", launch)
        return "" if known is ABSENT else str(known)
    if name == "value":
        return spelled(launch.config, find(launch.config.root, match.pointer or ""))
    return spelled(launch.config, place_of(name, launch, paths).node)


def spelled(document: Document, node: Node | None) -> str:
    """A value as it stands in the file, on one line and not too long."""
    if node is None:
        return "nothing"
    if document.derived and node.kind not in ("object", "array", "unknown"):
        # The text there is another file's way of saying it.
        return str(node.value).lower() if isinstance(node.value, bool) else str(node.value)
    text = " ".join(document.source.text[node.start : node.end].split())
    return text if len(text) <= 60 else text[:57] + "..."


def place_at(document: Document, pointer: str, mark: str) -> Place:
    """The span of a key, a value or both; for what is absent, the key of the nearest object that lacks it."""
    member = find_member(document.root, pointer)
    node = member.node if member else find(document.root, pointer)
    shown = pointer
    if node is not None and node.origin is not None:
        shown = node.origin
    if member is not None:
        start = member.node.start if mark == "value" else member.key_start
        end = member.key_end if mark == "key" else member.node.end
        return Place(document.source, start, end, shown)
    if node is not None and pointer:
        return Place(document.source, node.start, node.end, shown)
    return anchor(document, pointer)


def anchor(document: Document, pointer: str) -> Place:
    parent = pointer
    while parent:
        parent = parent.rpartition("/")[0]
        member = find_member(document.root, parent)
        if member is not None:
            return Place(document.source, member.key_start, member.key_end, pointer)
    start = document.root.start
    return Place(document.source, start, min(start + 1, len(document.source.text)), pointer)


def planned_fix(
    rule: Rule, launch: Launch, match: Match, value: Callable[[re.Match[str]], str]
) -> Fix | None:
    for plan in rule.fixes:
        if holds(plan.when, launch):
            return Fix(plan.safety, FIELD.sub(value, plan.message), changes_of(plan, launch, match))  # type: ignore[arg-type]
    return None


def at_origin(fix: Fix | None, launch: Launch) -> Fix | None:
    """A fix of a derived config becomes edits of the file that it was made of, where that has a setting
    for it.
    """
    if fix is None or not launch.config.derived or not fix.changes:
        return fix
    if launch.accelerate is None or fix.edits:
        return None
    # Imported here: few configs are derived.
    from dslint.launches.accelerate_changes import edits_of

    edits = edits_of(launch.accelerate, launch.config, fix.changes)
    return Fix(fix.safety, fix.message, edits=tuple(edits)) if edits else None


def changes_of(plan: FixPlan, launch: Launch, match: Match) -> tuple[Change, ...]:
    return tuple(change_of(op, path, value, launch, match) for op, path, value in plan.changes)


def change_of(op: str, path: str, value: Any, launch: Launch, match: Match) -> Change:
    """A planned change on this config: dotted paths become pointers, `=path` the value that stands there."""
    pointer = pointer_of(path, launch, match)
    if op == "move":
        value = pointer_of(value, launch, match)
    elif isinstance(value, str) and value.startswith("="):
        node = find(launch.config.root, pointer_of(value[1:], launch, match))
        value = None if node is None else node.plain()
    return Change(op, pointer, value)  # type: ignore[arg-type]


def pointer_of(path: str, launch: Launch, match: Match) -> str:
    """`@` is the place of the match; `*` is the key that the rule's `*` met."""
    if path == "@":
        return match.pointer or ""
    key = str(match.values.get("key", ""))
    found = reach(launch.config.root, [key if part == "*" else part for part in path.split(".")])
    return found.pointer
