"""The schema of a release: what DeepSpeed accepts, ignores and defaults to, as data.

The files are `schemas/deepspeed/<release>.json`, one for each release at which something changes; schemas/README.md
explains their `x-` keywords. A release between two files has the older file's schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from dslint.documents.tree import join_pointer, split_pointer
from dslint.releases.release import Release, parse_version

Schema = Mapping[str, Any]


def _schemas_folder() -> Path:
    package = Path(__file__).resolve().parent.parent
    packed = package / "data" / "schemas"
    return packed if packed.is_dir() else package.parent / "schemas"


FOLDER: Final = _schemas_folder() / "deepspeed"


def schema_for(release: Release) -> Schema:
    """The schema of a release: the file at it or the nearest one below; before the oldest file, the oldest.

    A version newer than the newest known has the newest schema. Raises OSError when the schemas are not installed.
    """
    files = _files()
    chosen = files[0]
    for candidate in files:
        if candidate.version > release.version:
            break
        chosen = candidate
    return _load(chosen.name)


def full_schema(release: Release) -> Schema:
    """`schema_for`, with titles, descriptions and every `x-since` written out: for editors and for people."""
    schema = cast("dict[str, Any]", json.loads(_text(schema_for(release)["x-release"])))
    texts = json.loads((FOLDER / "descriptions.json").read_text(encoding="utf-8"))
    oldest = _files()[0].name
    for pointer, entry in _entries(schema, ""):
        entry.update(texts.get(pointer, {}))
        if pointer and "x-since" not in entry:
            entry["x-since"] = oldest
    return schema


def optimizers(release: Release) -> Mapping[str, Any]:
    """Optimizer names (lower case) of a release, with their parameters and what they need; see schemas/README.md."""
    return cast("Mapping[str, Any]", schema_for(release)["x-optimizers"])


def schedulers(release: Release) -> Mapping[str, Any]:
    """Scheduler names of a release, with their parameters and the ones that must be given."""
    return cast("Mapping[str, Any]", schema_for(release)["x-schedulers"])


def property_at(schema: Schema, pointer: str) -> Schema | None:
    """What the schema says of the value at a pointer, or None where it knows no such key."""
    entry: Schema | None = schema
    for key in split_pointer(pointer):
        if entry is None:
            return None
        entry = entry.get("items") if key.isdecimal() else entry.get("properties", {}).get(key)
    return entry


def default_at(release: Release, pointer: str) -> Any:
    """The value that a release uses for a key that is not given; None where it has none or it is not known."""
    entry = property_at(schema_for(release), pointer)
    return None if entry is None else entry.get("default")


@lru_cache(maxsize=1)
def _files() -> tuple[Release, ...]:
    found = [parse_version(path.stem) for path in FOLDER.glob("0.*.json")]
    return tuple(sorted(release for release in found if release is not None))


def _text(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def _load(name: str) -> Schema:
    return cast("Schema", json.loads(_text(name)))


def _entries(schema: dict[str, Any], pointer: str) -> list[tuple[str, dict[str, Any]]]:
    found = [(pointer, schema)]
    for key, entry in schema.get("properties", {}).items():
        found += _entries(entry, join_pointer(pointer, key))
    return found
