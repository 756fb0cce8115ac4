"""Floats that a release refuses though they are whole, which JSON Schema cannot tell from the same number as an integer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dslint.documents.tree import Node, join_pointer
from dslint.launches.launch import Launch
from dslint.releases.schema import Schema, schema_for
from dslint.rules.match import Match

# Definitions of the schemas behind which pydantic makes a whole number of a float.
CONVERTED: Final = frozenset(
    f"#/$defs/{name}"
    for name in ("integer", "integer?", "auto-or-integer", "auto-or-integer1", "scale-integer")
)
LARGEST: Final = 2**63
"""From here on pydantic 2 refuses a float."""
WHOLE_TO_HJSON: Final = 1e10
"""Below this hjson, which bare DeepSpeed reads a file with, makes a whole number of 1.0."""
LEAST_TOO_HIGH: Final = 1024.0
"""2 to the power of this float is beyond a double."""
READS_JSON: Final = frozenset({"transformers", "accelerate", "lightning"})


def too_large(launch: Launch) -> Iterator[Match]:
    """A float that is too large for pydantic 2; releases with pydantic 1 take any number here."""
    if not has_huge(launch.config.root):
        return
    schema = schema_for(launch.release)
    for pointer, entry, node in numbers(schema, launch.config.root, ""):
        if entry.get("$ref") in CONVERTED and is_float(node) and abs(node.value) >= LARGEST:
            definition: Mapping[str, Any] = schema["$defs"][entry["$ref"][len("#/$defs/") :]]
            if "number" not in definition["type"]:
                yield Match(pointer, values={"key": pointer.rpartition("/")[2]})


def has_huge(node: Node) -> bool:
    """Most configs have no such number: a look without pointers and schemas."""
    for member in node.members:
        inner = member.node
        if inner.kind == "number" and is_float(inner) and abs(inner.value) >= LARGEST:
            return True
        if inner.kind == "object" and has_huge(inner):
            return True
    return False


def as_switch(launch: Launch) -> Iterator[Match]:
    """A float that stays one: strict JSON keeps 1.0, hjson makes a whole number of it below ten thousand million."""
    node = launch.config.root.get("wall_clock_breakdown")
    if node is not None and is_float(node) and node.value.is_integer() and stays_float(launch, node):
        yield Match("/wall_clock_breakdown")


def as_power(launch: Launch) -> Iterator[Match]:
    """A loss scale's power to which Python can't raise 2: a float beyond 1023, which is checked when the config is read."""
    node = launch.config.root.get("fp16")
    power = None if node is None else node.get("initial_scale_power")
    if power is None or not is_float(power) or not LEAST_TOO_HIGH <= power.value < float("inf"):
        return
    if stays_float(launch, power):
        yield Match("/fp16/initial_scale_power")


def stays_float(launch: Launch, node: Node) -> bool:
    """Is a number surely a float to the engine, whole or not? hjson reads 1e2 from a file as the integer 100."""
    if not is_float(node):
        return False
    return not node.value.is_integer() or launch.framework in READS_JSON or abs(node.value) >= WHOLE_TO_HJSON


def is_float(node: Node) -> bool:
    return node.kind == "number" and isinstance(node.value, float)


def numbers(schema: Schema, node: Node, pointer: str) -> Iterator[tuple[str, Schema, Node]]:
    """The numbers of a config that its release knows, each with what the schema says of it."""
    properties = schema.get("properties", {})
    for member in node.members:
        entry = properties.get(member.key)
        if entry is None:
            continue
        here = join_pointer(pointer, member.key)
        if member.node.kind == "number":
            yield here, entry, member.node
        elif member.node.kind == "object":
            yield from numbers(entry, member.node, here)
