"""What stands under the cursor: the key of a config, and the findings on it with their reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dslint.documents.tree import Document, Node, join_pointer
from dslint.rules.book import Rule
from dslint.rules.finding import Finding
from dslint.server.judge import Judgement
from dslint.server.knowledge import about, absent, key_at, removed_above


class Told(NamedTuple):
    """Markdown on a span of a file."""

    start: int
    end: int
    text: str


class Met(NamedTuple):
    """A key or a value of a config: its pointer and its span."""

    pointer: str
    start: int
    end: int


def hover(judgement: Judgement, path: str, offset: int) -> Told | None:
    """What is known of an offset in a file; None where nothing is."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    for finding in judgement.findings_at(path):
        place = finding.place
        if place.start <= offset <= place.end:
            parts.append(reason(finding, judgement.job.all_rules))
            spans.append((place.start, place.end))
    for launch in judgement.launches_at(path):
        met = met_at(launch.config.root, offset)
        if met is None or not met.pointer:
            continue
        key = key_at(launch.release, met.pointer, types_in(launch.config))
        key = key or removed_above(launch.release, met.pointer)
        text = absent(launch.release, met.pointer) if key is None else about(key, launch.release)
        if text:
            parts.insert(0, text)
            spans.insert(0, (met.start, met.end))
        break
    if not parts:
        return None
    return Told(*spans[0], "\n\n---\n\n".join(parts))


def reason(finding: Finding, rules: Iterable[Rule]) -> str:
    """A finding with why it is one, from its rule."""
    rule = next((rule for rule in rules if rule.name == finding.name), None)
    why = " ".join((finding.why if rule is None else rule.why).split())
    link = f"[{finding.code} {finding.name}]({finding.url})"
    return f"{link}: {finding.message}\n\n{why}" if why else f"{link}: {finding.message}"


def met_at(root: Node, offset: int) -> Met | None:
    """The key or the plain value at an offset."""
    node, pointer = root, ""
    while True:
        below: tuple[Node, str] | None = None
        for member in node.members:
            here = join_pointer(pointer, member.key)
            if member.key_start <= offset <= member.key_end:
                return Met(here, member.key_start, member.key_end)
            if member.node.start <= offset <= member.node.end:
                below = (member.node, here)
        for index, item in enumerate(node.items):
            if item.start <= offset <= item.end:
                below = (item, join_pointer(pointer, index))
        if below is None:
            inside = node.kind not in ("object", "array") and node.start <= offset <= node.end
            return Met(pointer, node.start, node.end) if inside else None
        node, pointer = below


def types_in(config: Document) -> Mapping[str, str]:
    """The optimizer's and the scheduler's type, where the config names them."""
    found = {}
    for block in ("optimizer", "scheduler"):
        node = config.node(f"/{block}/type")
        if node is not None and node.kind == "string":
            found[block] = str(node.value)
    return found
