"""Paths in scripts, programs and YAML that name a config → links to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from dslint.documents.tree import Place
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
            yield from link_at(place, target)


def link_at(place: Place, target: str) -> Iterator[Link]:
    """The path in a place (`--deepspeed ds.json`, a whole call); where it comes from a variable, the place, if it is short."""
    text = place.source.text[place.start : place.end]
    path = re.search(rf"[^\s\"'=(,]*{re.escape(os.path.basename(target))}", text)
    if path is not None:
        yield Link(place.start + path.start(), place.start + path.end(), target)
    elif "\n" not in text:
        yield Link(place.start, place.end, target)
