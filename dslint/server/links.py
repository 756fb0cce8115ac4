"""Paths in scripts, programs and YAML that name a config → links to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dslint.server.judge import Judgement


class Link(NamedTuple):
    """A span of a file, and the absolute path of the config that it names."""

    start: int
    end: int
    target: str


def links(judgement: Judgement, path: str) -> list[Link]:
    return sorted(set(found(judgement, path)))


def found(judgement: Judgement, path: str) -> Iterator[Link]:
    for launch in judgement.outcome.launches:
        place = launch.origins.get("config")
        config = launch.config
        if place is None or config.derived or config.root.kind == "unknown":
            continue
        target = judgement.path(config.source)
        if judgement.path(place.source) == path and target != path and place.start < place.end:
            yield Link(place.start, place.end, target)
