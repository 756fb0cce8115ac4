"""Keys and values that fit where the cursor stands in a config."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dslint.documents.tree import Syntax, split_pointer
from dslint.launches.launch import Framework
from dslint.releases.release import Release
from dslint.rules.checks.schema import FILLED
from dslint.rules.conditions import FILLS_AUTO
from dslint.server.cursor import Spot, spot_at
from dslint.server.knowledge import Key, about, default_words, key_at, keys_in, kind_words

# In Python, which has other words for these.
PYTHON: Final[Mapping[str, str]] = {"true": "True", "false": "False", "null": "None"}


class Item(NamedTuple):
    """One proposal: the text that takes the place of the word at `start:end`."""

    label: str
    text: str
    start: int
    end: int
    detail: str
    about: str
    is_key: bool
    deprecated: bool = False


class Region(NamedTuple):
    """The part of a file that is a config: its span, how it is written, and what is known of its launch."""

    start: int
    end: int
    syntax: Syntax
    release: Release
    framework: Framework | None


def complete(text: str, cursor: int, region: Region) -> list[Item]:
    """The proposals for a cursor; none where nothing can be written, or anything could."""
    spot = spot_at(text, cursor, region.start, region.end)
    if spot is None:
        return []
    if spot.role == "key":
        return list(key_items(text, spot, region))
    return list(value_items(text, spot, region))


def types_of(spot: Spot) -> Mapping[str, str]:
    return {
        block: spot.words[f"/{block}/type"]
        for block in ("optimizer", "scheduler")
        if f"/{block}/type" in spot.words
    }


def key_items(text: str, spot: Spot, region: Region) -> Iterator[Item]:
    # In Python either quote will do; the one that was begun stays.
    quote = "'" if region.syntax == "python" and text[spot.start] == "'" else '"'
    behind = "" if spot.colon else ": "
    for key in keys_in(region.release, spot.pointer, types_of(spot)):
        name = split_pointer(key.pointer)[-1]
        if name in spot.keys:
            continue
        default = default_words(key)
        detail = f"{kind_words(key)} = {default}" if default else kind_words(key)
        yield Item(
            name,
            f"{quote}{name}{quote}{behind}",
            spot.start,
            spot.end,
            detail,
            about(key, region.release),
            True,
            bool(key.schema.get("deprecated")),
        )


def value_items(text: str, spot: Spot, region: Region) -> Iterator[Item]:
    key = key_at(region.release, spot.pointer, types_of(spot))
    if key is None:
        return
    # A value that stands right behind its colon looks better with a blank between.
    blank = " " if text[spot.start - 1 : spot.start] == ":" else ""
    told = about(key, region.release)
    for value in values_of(key, region.framework):
        said = "the default" if value == default_words(key) else ""
        shown = PYTHON.get(value, value) if region.syntax == "python" else value
        yield Item(value.strip('"'), blank + shown, spot.start, spot.end, said, told, False)


def values_of(key: Key, framework: Framework | None) -> list[str]:
    """The values that make sense for a key, as JSON writes them."""
    if key.kind == "boolean":
        found = ["true", "false"]
    else:
        found = [json.dumps(value) for value in key.allowed if not isinstance(value, bool)]
    default = default_words(key)
    if default and default not in found:
        found.append(default)
    if '"auto"' not in found and takes_auto(key.pointer, framework):
        found.append('"auto"')
    return found


def takes_auto(pointer: str, framework: Framework | None) -> bool:
    """Does something put a number in the place of "auto"? The Trainer and Accelerate do, at some keys."""
    return pointer in FILLED and (framework is None or framework in FILLS_AUTO)
