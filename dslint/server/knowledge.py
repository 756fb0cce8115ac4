"""What the schemas say of a key of a config, in words: for hover and completion."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dslint.documents.tree import join_pointer, split_pointer
from dslint.releases.release import Release
from dslint.releases.schema import (
    Schema,
    full_schema,
    known_schemas,
    optimizer,
    optimizers,
    scheduler,
    schedulers,
)

# The names of DeepSpeed's optimizers as its documentation spells them; a release reads them in any case.
SPELLED: Final[Mapping[str, str]] = {
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "Lamb",
    "lion": "Lion",
    "muadam": "MuAdam",
    "muadamw": "MuAdamW",
    "musgd": "MuSGD",
    "muon": "Muon",
    "onebitadam": "OneBitAdam",
    "onebitlamb": "OneBitLamb",
    "zerooneadam": "ZeroOneAdam",
}


class Key(NamedTuple):
    """A key at a pointer as a release has it: `schema` is its entry, with texts; `kind` what its value is for.

    `allowed` are the values that make sense; a `default` of None is none that is worth telling.
    """

    pointer: str
    schema: Schema
    kind: str
    allowed: tuple[Any, ...]
    default: Any


@lru_cache(maxsize=4)
def schema_of(release: Release) -> Schema:
    return full_schema(release)


def key_at(release: Release, pointer: str, types: Mapping[str, str]) -> Key | None:
    """What a release says of a key. `types` are the optimizer's and the scheduler's type, as the config names them."""
    whole = schema_of(release)
    entry: Schema | None = whole
    for part in split_pointer(pointer):
        if entry is None:
            return None
        entry = entry.get("items") if part.isdecimal() else properties_of(entry, whole).get(part)
    parent, _, name = pointer.rpartition("/")
    if parent in ("/optimizer/params", "/scheduler/params"):
        return argument(release, pointer, name, entry or {}, types) or described(whole, pointer, entry)
    if pointer in ("/optimizer/type", "/scheduler/type") and entry is not None:
        key = described(whole, pointer, entry)
        return key and key._replace(kind="string", allowed=tuple(type_names(release, pointer)))
    return described(whole, pointer, entry)


def properties_of(entry: Schema, whole: Schema) -> Mapping[str, Schema]:
    """The keys of a block; those of an alternative with an object in it, where the block is one of several forms."""
    found: Mapping[str, Schema] = entry.get("properties", {})
    for more in entry.get("dependentSchemas", {}).values():
        found = {**found, **{key: {**found.get(key, {}), **one} for key, one in more["properties"].items()}}
    return found


def keys_in(release: Release, block: str, types: Mapping[str, str]) -> Iterator[Key]:
    """The keys that a release has in a block, in the order of its schema; none that it refuses or never reads."""
    if block in ("/optimizer/params", "/scheduler/params"):
        for name in arguments(release, block, types):
            key = key_at(release, join_pointer(block, name), types)
            if key is not None:
                yield key
        return
    whole = schema_of(release)
    entry: Schema | None = whole
    for part in split_pointer(block):
        entry = properties_of(entry, whole).get(part) if entry is not None else None
    for name, one in properties_of(entry, whole).items() if entry is not None else ():
        if "x-removed" not in one and "x-ignored" not in one:
            key = described(whole, join_pointer(block, name), one)
            if key is not None:
                yield key


def described(whole: Schema, pointer: str, entry: Schema | None) -> Key | None:
    if entry is None:
        return None
    name = entry.get("$ref", "")[len("#/$defs/") :]
    definition: Schema = whole.get("$defs", {}).get(name, {}) if name else entry
    kind = entry.get("x-expects") or definition.get("x-kind") or name or of_type(entry)
    allowed = entry.get("x-allowed") or definition.get("x-allowed") or definition.get("enum") or ()
    return Key(
        pointer,
        entry,
        kind.rstrip("?"),
        tuple(value for value in allowed if value is not None),
        entry.get("default"),
    )


def of_type(entry: Schema) -> str:
    if "properties" in entry or "x-unknown" in entry:
        return "object"
    return next((kind for kind in listed(entry.get("type", ())) if kind not in ("null", "string")), "string")


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def type_names(release: Release, pointer: str) -> list[str]:
    if pointer == "/optimizer/type":
        return [SPELLED.get(name, name) for name in optimizers(release)]
    return list(schedulers(release))


def arguments(release: Release, block: str, types: Mapping[str, str]) -> list[str]:
    """The names of what may stand in optimizer.params or scheduler.params."""
    if block == "/optimizer/params":
        chosen = optimizer(release, types.get("optimizer", "AdamW"))
    else:
        chosen = scheduler(release, types.get("scheduler", "WarmupLR"))
    return [] if chosen is None else list(chosen["params"])


def argument(
    release: Release, pointer: str, name: str, entry: Schema, types: Mapping[str, str]
) -> Key | None:
    """An argument of the optimizer or the scheduler that the config names, with its constructor's default."""
    block = pointer.rpartition("/")[0]
    if name not in arguments(release, block, types):
        return None
    if block == "/scheduler/params":
        chosen = scheduler(release, types.get("scheduler", "WarmupLR")) or {}
        defaults = chosen["params"]
    else:
        chosen = optimizer(release, types.get("optimizer", "AdamW")) or {}
        classes = [part["params"] for part in chosen.get("classes", ())] or [chosen["params"]]
        defaults = next((params for params in classes if isinstance(params, dict) and name in params), {})
    default = None if name in chosen.get("required", ()) else dict(defaults).get(name)
    kind = entry.get("x-expects") or kind_of_value(default)
    said = {"description": ABOUT[name], **entry} if name in ABOUT else entry
    return Key(pointer, said, kind, (), default)


def kind_of_value(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if value not in (0, 1) else "number"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list | tuple) else "string" if isinstance(value, str) else ""


# The arguments that nearly every config gives.
ABOUT: Final[Mapping[str, str]] = {
    "lr": "The learning rate.",
    "betas": "The decay of Adam's two running averages.",
    "eps": "Added to a divisor so that it is not zero.",
    "weight_decay": "How fast weights shrink towards zero.",
    "warmup_min_lr": "The learning rate at which the warmup begins.",
    "warmup_max_lr": "The learning rate at which the warmup ends.",
    "warmup_num_steps": "Optimizer steps of the warmup.",
    "warmup_type": "How the rate rises: linear, or log.",
    "total_num_steps": "Optimizer steps of the whole run.",
}


def kind_words(key: Key) -> str:
    """`integer`, `"cpu" · "nvme"`: what the value is for. That null will do too is not said; it means "not given"."""
    if key.allowed and key.kind != "boolean":
        return " · ".join(json.dumps(value) for value in key.allowed)
    return WORDS.get(key.kind, key.kind)


# Kinds whose names are no words for people.
WORDS: Final[Mapping[str, str]] = {"string": "text", "object": "block", "": "any value", "any": "any value"}


def default_words(key: Key) -> str:
    return "" if key.default is None else json.dumps(key.default)


def about(key: Key, release: Release) -> str:
    """A key as Markdown: what it does, its kind and default, the releases that have it."""
    name = ".".join(split_pointer(key.pointer))
    lines = [f"**`{name}`**"]
    if key.schema.get("description"):
        lines.append(key.schema["description"])
    if "x-removed" not in key.schema:
        default = f" · default: `{default_words(key)}`" if default_words(key) else ""
        lines.append(f"Type: {kind_words(key)}{default}")
    lines += [life for life in (lifetime(key),) if life]
    if key.schema.get("deprecated"):
        lines.append("Deprecated.")
    if key.schema.get("x-reason"):
        lines.append(sentence(key.schema["x-reason"]))
    if key.schema.get("x-replaced-by"):
        lines.append(f"Replaced by `{'.'.join(split_pointer(key.schema['x-replaced-by']))}`.")
    lines.append(f"*DeepSpeed {release.name}*")
    return "\n\n".join(lines)


def lifetime(key: Key) -> str:
    """`since 0.12.4, removed in 0.19.7`; empty for what was there in the oldest known release and is there still."""
    since, until, removed = (key.schema.get(name) for name in ("x-since", "x-until", "x-removed"))
    parts = []
    if since and since != known_schemas()[0]:
        parts.append(f"since DeepSpeed {since}")
    if until:
        parts.append(f"last in {until}")
    if removed:
        parts.append(f"refused from {removed} on")
    return sentence(", ".join(parts))


def sentence(text: str) -> str:
    return text and text[0].upper() + text[1:].rstrip(".") + "."


def removed_above(release: Release, pointer: str) -> Key | None:
    """The block that a key stands in, where the release refuses it whole."""
    while pointer:
        pointer = pointer.rpartition("/")[0]
        key = key_at(release, pointer, {}) if pointer else None
        if key is not None and "x-removed" in key.schema:
            return key
    return None


def absent(release: Release, pointer: str) -> str:
    """Of a key that a release has not: the releases that have it, as Markdown; empty where none has."""
    parent, _, name = pointer.rpartition("/")
    entry: Schema | None = schema_of(release)
    for part in split_pointer(parent):
        entry = entry.get("properties", {}).get(part) if entry is not None else None
    known = (entry or {}).get("x-absent", {}).get(name)
    if known is None:
        return ""
    until = f" until {known['until']}" if known.get("until") else ""
    text = f"DeepSpeed {release.name} does not have it; it is there from {known['since']}{until}."
    if known.get("replaced_by"):
        text += f" Replaced by `{'.'.join(split_pointer(known['replaced_by']))}`."
    shown = ".".join(split_pointer(pointer))
    return f"**`{shown}`**\n\n{text}"
