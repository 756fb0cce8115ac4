"""What came, went and changed its default in each DeepSpeed release, from the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from dslint.releases.release import parse_version
from dslint.releases.schema import full_schema, known_schemas

MISSING = object()

HEAD = """# Releases

What each DeepSpeed release changed in what a config may hold, as its own code has it. A release that is not listed takes what the
one before it takes. `dslint schema --release X.Y.Z` prints the whole schema of one; `--deepspeed-version` checks against it.

| release | came | went | changed default |
|---|---|---|---|
"""


def page() -> str:
    names = known_schemas()
    entries = {name: dict(keys(schema_of(name))) for name in names}
    rows = [row(new, entries[old], entries[new]) for old, new in pairwise(names)]
    details = [detail(new, entries[old], entries[new]) for old, new in pairwise(names)]
    return (
        HEAD
        + "\n".join(reversed(rows))
        + "\n\n"
        + "\n\n".join(reversed([text for text in details if text]))
        + "\n"
    )


def schema_of(name: str) -> Mapping[str, Any]:
    release = parse_version(name)
    assert release is not None
    return full_schema(release)


def keys(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key that a release reads, dotted, with what its schema says."""
    for key, entry in schema.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        if not ("x-removed" in entry or entry.get("x-ignored")):
            yield name, entry
            yield from keys(entry, name)


def row(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    came, gone, changed = differences(old, new)
    linked = f"[{name}](#{anchor(name)})" if came or gone or changed else name
    return f"| {linked} | {len(came) or ''} | {len(gone) or ''} | {len(changed) or ''} |"


def anchor(name: str) -> str:
    return name.replace(".", "")


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[list[str], list[str], list[tuple[str, str, str]]]:
    changed = [
        (key, spelled(old[key].get("default", MISSING)), spelled(new[key].get("default", MISSING)))
        for key in new
        if key in old and old[key].get("default", MISSING) != new[key].get("default", MISSING)
    ]
    return tops(new, old), tops(old, new), changed


def tops(keys_here: Mapping[str, Any], keys_there: Mapping[str, Any]) -> list[str]:
    """The keys of one release that the other has not; of a whole block, the block alone."""
    only = [key for key in keys_here if key not in keys_there]
    return [key for key in only if key.rpartition(".")[0] not in only]


def spelled(value: Any) -> str:
    return "none" if value is MISSING else json.dumps(value, ensure_ascii=False)


def detail(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    came, gone, changed = differences(old, new)
    if not (came or gone or changed):
        return ""
    lines = [f"## {name}"]
    if came:
        lines.append("**Came**\n\n" + "\n".join(f"- `{key}`{told(new[key])}" for key in came))
    if gone:
        lines.append("**Went**\n\n" + "\n".join(f"- `{key}`" for key in gone))
    if changed:
        lines.append(
            "**Changed default**\n\n"
            + "\n".join(f"- `{key}`: `{was}` → `{now}`" for key, was, now in changed)
        )
    return "\n\n".join(lines)


def told(entry: Mapping[str, Any]) -> str:
    title = entry.get("title")
    return f": {title}" if title else ""
