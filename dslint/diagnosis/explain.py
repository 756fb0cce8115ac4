"""From what a log tells to the config at hand: the finding that explains a cause, or at least the line of its setting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from dslint.diagnosis.diagnose import Cause, Diagnosis
from dslint.documents.tree import Document, Place, Source, find_member
from dslint.rules.finding import LEVEL, Finding

Lint = Callable[..., Sequence[Finding]]

LARGEST: Final = 4 << 20
SETTINGS_SHOWN: Final = 6
FINDINGS_SHOWN: Final = 6
_WORLD: Final = re.compile(r"\d+")


class Explained(NamedTuple):
    """`findings` explain the cause; where there are none, `settings` are the places of what it names.

    `missing` are the pointers that no config at hand has, where a config is at hand.
    """

    findings: list[Finding]
    settings: list[Place]
    missing: list[str]


def explain(
    diagnosis: Diagnosis, paths: Sequence[str], lint: Lint | None = None, **given: Any
) -> list[Explained]:
    """For each cause of a diagnosis, what the configs, scripts and folders at `paths` show of it.

    `lint` is `dslint.api.everything` unless another is given; `given` is what the caller knows (deepspeed_version), and goes
    before what the log says. Raises what `lint` raises for a path that is not there or cannot be read.
    """
    if lint is None:
        from dslint.api import everything

        lint = everything
    context = {**context_of(diagnosis), **{name: value for name, value in given.items() if value is not None}}
    findings = [finding for path in paths for finding in lint(path, **context)]
    documents = [document for path in paths for document in documents_at(path, diagnosis)]
    return [explained(cause, findings, documents) for cause in diagnosis.causes]


def explained(cause: Cause, findings: Sequence[Finding], documents: Sequence[Document]) -> Explained:
    fitting = sorted(
        (finding for finding in findings if likeness(cause, finding)),
        key=lambda finding: (-likeness(cause, finding), -LEVEL[finding.severity]),
    )
    settings = [place for document in documents for place in places(document, cause.pointers)]
    there = {place.pointer for place in settings}
    missing = [pointer for pointer in cause.pointers if documents and pointer not in there]
    return Explained(fitting[:FINDINGS_SHOWN], [] if fitting else settings[:SETTINGS_SHOWN], missing)


def likeness(cause: Cause, finding: Finding) -> int:
    """How well a finding explains a cause: the same rule, the same setting, or both; 0 is not at all."""
    score = 2 if finding.name in cause.message.rules else 0
    mine = [
        pointer for pointer in (finding.place.pointer, *(r.place.pointer for r in finding.related)) if pointer
    ]
    if any(pointer in cause.pointers for pointer in mine):
        score += 2
    elif score == 0 and any(related(pointer, named) for pointer in mine for named in cause.pointers):
        # A block that is named as a whole (`/fp16`) and a finding within it, or the other way round.
        score = 1 if LEVEL[finding.severity] >= LEVEL["warning"] else 0
    return score


def related(pointer: str, named: str) -> bool:
    return pointer.startswith(named + "/") or (pointer.count("/") > 1 and named.startswith(pointer + "/"))


def context_of(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the log says of the run that a config can be checked against."""
    context: dict[str, Any] = {}
    framework = next((cause.message.framework for cause in diagnosis.causes if cause.message.framework), None)
    if framework:
        context["framework"] = framework
    if diagnosis.facts.version:
        context["deepspeed_version"] = diagnosis.facts.version
    for cause in diagnosis.causes:
        world = next((captures["world"] for captures, _ in cause.details if captures.get("world")), "")
        if cause.message.name == "batch-equation" and _WORLD.fullmatch(world):
            context["world_size"] = int(world)
    return context


def documents_at(path: str, diagnosis: Diagnosis) -> Iterator[Document]:
    """The config at a path; of a folder the one that the log names, where it lies in it."""
    if os.path.isdir(path):
        named = diagnosis.facts.config
        if named is None:
            return
        path = os.path.join(path, named)
    if not path.endswith((".json", ".hjson")) or not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
        return
    from dslint.documents.json import parse

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, ValueError):
        return
    yield parse(Source(path, text))


def places(document: Document, pointers: Sequence[str]) -> Iterator[Place]:
    """Where the settings stand that pointers name; those that the config lacks are left out."""
    for pointer in pointers:
        member = find_member(document.root, pointer)
        if member is not None:
            yield Place(document.source, member.key_start, member.node.end, pointer)


def precision_written(document: Document) -> str | None:
    """The 16-bit format that a config enables in so many words: "fp16", "bf16" or "neither"; None when it does not say."""
    enabled = {name: document.node(f"/{name}/enabled") for name in ("fp16", "bf16")}
    values = {
        name: node.value if node is not None and node.kind == "boolean" else None
        for name, node in enabled.items()
    }
    if any(node is not None and node.kind != "boolean" for node in enabled.values()):
        return None
    on = [name for name, value in values.items() if value is True]
    if len(on) > 1:
        return None
    return on[0] if on else "neither"


def add_odds(diagnosis: Diagnosis, paths: Sequence[str]) -> None:
    """Add to the causes that the precision of the run is not the config's, where it is so."""
    diagnosis.causes = sorted([*diagnosis.causes, *odds(diagnosis, paths)], key=lambda cause: cause.order)


def odds(diagnosis: Diagnosis, paths: Sequence[str]) -> list[Cause]:
    """The cause that the log trains in another format than the config at hand enables; none, when they agree or are silent."""
    from dslint.diagnosis.catalogue import load_catalogue
    from dslint.diagnosis.diagnose import cause_of_trouble
    from dslint.diagnosis.troubles import Trouble

    running = diagnosis.facts.precision
    for path in paths if running else ():
        for document in documents_at(path, diagnosis):
            written = precision_written(document)
            if written is None or written == running:
                continue
            message = next((m for m in load_catalogue().messages if m.metric == "precision-at-odds"), None)
            if message is not None:
                captures = {"running": str(running), "written": written, "config": document.source.path}
                return [
                    cause_of_trouble(
                        message, Trouble(message.name, captures, diagnosis.facts.precision_evidence)
                    )
                ]
    return []
