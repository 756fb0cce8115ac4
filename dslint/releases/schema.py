"""The schema of a release: what DeepSpeed accepts, ignores and defaults to, as data.

The files are `schemas/deepspeed/<release>.json`, one for each release at which something changes;
schemas/README.md explains their `x-` keywords. A release between two files has the older file's schema.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

from dslint.documents.tree import join_pointer, split_pointer
from dslint.releases.release import Release, parse_version

Schema = Mapping[str, Any]


def _folder() -> str:
    """Where the schemas are: in the installed package, or beside it in the repository."""
    # os.path, not pathlib: this runs at every start.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    packed = os.path.join(package, "data", "schemas", "deepspeed")
    return packed if os.path.isdir(packed) else os.path.join(os.path.dirname(package), "schemas", "deepspeed")


FOLDER: Final = _folder()


@lru_cache(maxsize=64)
def schema_for(release: Release) -> Schema:
    """The schema of a release: the file at it or the nearest one below; before the oldest file, the oldest.

    A version newer than the newest known has the newest schema. Raises OSError where there are no schemas.
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
    texts = json.loads(_text("descriptions"))
    oldest = _files()[0].name
    for pointer, entry in _entries(schema, ""):
        entry.update(texts.get(pointer, {}))
        if pointer and "x-since" not in entry:
            entry["x-since"] = oldest
    return schema


def known_schemas() -> list[str]:
    """The names of the releases at which what is accepted changes, oldest first."""
    return [release.name for release in _files()]


Table = Mapping[str, Mapping[str, Any]]


def optimizers(release: Release) -> Table:
    """DeepSpeed's own optimizers in a release, by lower-case name; DeepSpeed reads these names in any case.

    An entry: `params` (all that may stand in optimizer.params), `required`, `engine` (those that the engine
    takes out itself), `classes` (class; when: gpu, cpu (offload_optimizer) or torch (torch_adam); params
    with their defaults), `others` (refused: another parameter is a TypeError; or ignored), `zero` (tested;
    untested: needs zero_allow_untested_optimizer; refused), `needs` (a package), `since`, `until`, `gone`.
    """
    return cast("Table", schema_for(release)["x-optimizers"])


def schedulers(release: Release) -> Table:
    """DeepSpeed's own schedulers in a release, by exact name: `params` with defaults, and `required`."""
    return cast("Table", schema_for(release)["x-schedulers"])


def absent_optimizers(release: Release) -> Table:
    """Optimizers that other releases have and this one has not: `since`, `until`, `gone` (first without)."""
    return cast("Table", schema_for(release)["x-absent-optimizers"])


def absent_schedulers(release: Release) -> Table:
    """Schedulers that other releases have and this one has not: `since`, `until`, `gone` (first without)."""
    return cast("Table", schema_for(release)["x-absent-schedulers"])


def torch_optimizers() -> Table:
    """The optimizers of torch.optim by exact name: `params` with defaults, `required`, `torch` (since)."""
    return cast("Table", _torch()["optimizers"])


def torch_schedulers() -> Table:
    """The schedulers of torch.optim.lr_scheduler by exact name: `params` with defaults, and `required`."""
    return cast("Table", _torch()["schedulers"])


def optimizer(release: Release, name: str) -> Mapping[str, Any] | None:
    """The optimizer that a release builds for `optimizer.type`, looked up as the engine does it; or None.

    DeepSpeed's names in any case, then torch.optim's in their exact case (those entries have neither
    `classes` nor `zero`; of them ZeRO is tested with Adam, AdamW and Adagrad).
    """
    return optimizers(release).get(name.lower()) or torch_optimizers().get(name)


def scheduler(release: Release, name: str) -> Mapping[str, Any] | None:
    """The scheduler that a release builds for `scheduler.type`, in its exact case; None where it has none."""
    return schedulers(release).get(name) or torch_schedulers().get(name)


def property_at(schema: Schema, pointer: str) -> Schema | None:
    """What the schema says of the value at a pointer, or None where it knows no such key."""
    entry: Schema | None = schema
    for key in split_pointer(pointer):
        if entry is None:
            return None
        entry = entry.get("items") if key.isdecimal() else entry.get("properties", {}).get(key)
    return entry


def default_at(release: Release, pointer: str) -> Any:
    """The value that a release uses for a key that is not given; None where it has none or none is known."""
    entry = property_at(schema_for(release), pointer)
    return None if entry is None else entry.get("default")


@lru_cache(maxsize=1)
def _files() -> tuple[Release, ...]:
    names = [name[: -len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json")]
    found = [parse_version(name) for name in names]
    return tuple(sorted(release for release in found if release is not None))


def _text(name: str) -> str:
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        return file.read()


@lru_cache(maxsize=1)
def _torch() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads(_text("torch")))


@lru_cache(maxsize=8)
def _load(name: str) -> Schema:
    return cast("Schema", json.loads(_text(name)))


def _entries(schema: dict[str, Any], pointer: str) -> list[tuple[str, dict[str, Any]]]:
    found = [(pointer, schema)]
    for key, entry in schema.get("properties", {}).items():
        found += _entries(entry, join_pointer(pointer, key))
    return found
