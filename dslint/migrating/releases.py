"""From one DeepSpeed release to another: what breaks, what is newly ignored, what goes away, what changes its default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dslint.documents.tree import Document, Node, Place, join_pointer
from dslint.fixing.mend import key
from dslint.launches.launch import Launch
from dslint.linting import Outcome
from dslint.releases.pins import Pin, folders, pins_of, requirement_files
from dslint.releases.release import Release
from dslint.releases.schema import Schema, schema_for
from dslint.releases.specifiers import allows
from dslint.releases.walk import Violation, walk
from dslint.rules.evaluate import place_at
from dslint.rules.finding import LEVEL, Finding

Where = tuple[str, str, str]


class Default(NamedTuple):
    """A key that a config does not give, and what the two releases take for it."""

    place: Place
    before: Any
    after: Any
    start: Release
    end: Release

    @property
    def name(self) -> str:
        return (self.place.pointer or "")[1:].replace("/", ".")


class Ignored(NamedTuple):
    """A key that a config gives, that its release reads, and that the target passes over without a word."""

    place: Place
    target: Release

    @property
    def name(self) -> str:
        return (self.place.pointer or "")[1:].replace("/", ".")


class Upgrade(NamedTuple):
    """What another release means for some files.

    `new`: findings that come with it; `gone`: those that go; `ignored`: keys that it no longer reads, and no finding tells of;
    `defaults`: keys whose meaning when absent changes; `pins`: the requirements that do not let it in.
    """

    new: list[Finding]
    gone: list[Finding]
    ignored: list[Ignored]
    defaults: list[Default]
    pins: list[Pin]

    @property
    def matters(self) -> bool:
        """Does something break, or run otherwise than before?"""
        return bool(self.defaults or self.ignored) or any(is_loud(finding) for finding in self.new)


def compare(before: Outcome, after: Outcome, target: Release) -> Upgrade:
    """Two looks at the same files, at the release that they are for and at the target."""
    new = without(after.findings, before.findings)
    told = {(finding.place.source.path, finding.place.pointer) for finding in new}
    return Upgrade(
        new,
        [finding for finding in without(before.findings, after.findings) if is_loud(finding)],
        [
            each
            for each in newly_ignored(before.launches, target)
            if (each.place.source.path, each.place.pointer) not in told
        ],
        list(changed_defaults(before.launches, target)),
        pins_to_bump(before.launches, target),
    )


def without(found: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """The findings that have none of their place and severity, or of their rule and place, among the others.

    Where two releases have rules of their own for one fault, it is the same fault.
    """
    rules = {key(finding) for finding in others}
    places = {where(finding) for finding in others}
    return [finding for finding in found if key(finding) not in rules and where(finding) not in places]


def where(finding: Finding) -> Where:
    _, path, what = key(finding)
    return finding.severity, path, what


def is_loud(finding: Finding) -> bool:
    return LEVEL[finding.severity] >= LEVEL["warning"]


# --- keys

PASSED_OVER: Final = frozenset({"unknown-key", "removed-key", "future-key", "ignored-key", "foreign-key"})


def newly_ignored(launches: Iterable[Launch], target: Release) -> Iterator[Ignored]:
    """Every key that is passed over at the target, and is nothing of the sort at the config's own release."""
    seen: set[tuple[str, int, str]] = set()
    for launch in launches:
        document = launch.config
        if document.dialect != "deepspeed" or document.root.kind != "object":
            continue
        read = {violation.pointer for violation in passed_over(launch, launch.release)}
        for violation in passed_over(launch, target):
            one = (os.path.abspath(document.source.path), document.root.start, violation.pointer)
            if violation.pointer not in read and not violation.refused and one not in seen:
                seen.add(one)
                yield Ignored(place_at(document, violation.pointer, "key"), target)


def passed_over(launch: Launch, release: Release) -> list[Violation]:
    found = walk(schema_for(release), launch.config.root)
    return [violation for violation in found if violation.kind in PASSED_OVER]


# --- defaults


def changed_defaults(launches: Iterable[Launch], target: Release) -> Iterator[Default]:
    """Every key that a config leaves out, and for which the target takes another value than its release does."""
    seen: set[tuple[str, int, str]] = set()
    for launch in launches:
        document = launch.config
        if document.dialect != "deepspeed" or document.root.kind != "object":
            continue
        for pointer, before, after in absent_and_changed(
            document.root, "", schema_for(launch.release), schema_for(target)
        ):
            place = place_at(document, pointer, "key")
            one = (os.path.abspath(document.source.path), document.root.start, pointer)
            if one not in seen and not told_by_framework(launch, pointer):
                seen.add(one)
                yield Default(place, before, after, launch.release, target)


def absent_and_changed(node: Node, pointer: str, old: Schema, new: Schema) -> Iterator[tuple[str, Any, Any]]:
    """Keys of a block and of the blocks in it; a block that is absent or off has no default that matters."""
    if node.open or is_off(node):
        return
    olds: Mapping[str, Schema] = old.get("properties", {})
    for name, entry in new.get("properties", {}).items():
        before = olds.get(name)
        if before is None or "x-removed" in entry or "x-removed" in before:
            continue
        here = join_pointer(pointer, name)
        child = node.get(name)
        if child is not None and child.kind == "object":
            yield from absent_and_changed(child, here, before, entry)
        elif child is None and "properties" not in entry and differ(before, entry):
            yield here, before["default"], entry["default"]


def differ(before: Schema, after: Schema) -> bool:
    return "default" in before and "default" in after and repr(before["default"]) != repr(after["default"])


def is_off(node: Node) -> bool:
    """A block that says so: `"enabled": false`, or an offload to no device."""
    enabled, device = node.get("enabled"), node.get("device")
    return (enabled is not None and enabled.value is False) or (device is not None and device.value == "none")


def told_by_framework(launch: Launch, pointer: str) -> bool:
    """Lightning writes the Trainer's clipping into a config that has none."""
    return launch.framework == "lightning" and pointer == "/gradient_clipping"


# --- pins


def pins_to_bump(launches: Iterable[Launch], target: Release) -> list[Pin]:
    """Every deepspeed requirement of the repository that does not let the target in, in the order of paths."""
    found: dict[tuple[str, int], Pin] = {}
    for folder in {folder_of(launch.config) for launch in launches}:
        for above in folders(folder, None):
            for pin in pins_of_folder(above):
                if pin.specifier and not allows(pin.specifier, target.name):
                    found[pin.place.source.path, pin.place.start] = pin
    return [found[place] for place in sorted(found)]


def pins_of_folder(folder: str) -> Iterator[Pin]:
    for _, path, kind in requirement_files(folder):
        pin = pins_of(path, kind, ("deepspeed",)).get("deepspeed")
        if pin is not None:
            yield pin


def folder_of(document: Document) -> str:
    return os.path.dirname(os.path.abspath(document.source.path))
