"""The validation keywords of JSON Schema that these schemas use, held against a tree's node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dslint.documents.tree import Node

Schema = Mapping[str, Any]


def valid(schema: Schema, node: Node, defs: Mapping[str, Schema]) -> bool:
    """Whether a value meets the validation keywords that these schemas use. An unknown node meets all."""
    if node.kind == "unknown":
        return True
    for keyword, argument in schema.items():
        check = KEYWORDS.get(keyword)
        if check is not None and not check(argument, node, defs):
            return False
    return True


def _check_ref(name: str, node: Node, defs: Mapping[str, Schema]) -> bool:
    return valid(defs[name[len("#/$defs/") :]], node, defs)


def _check_type(names: str | list[str], node: Node, defs: Mapping[str, Schema]) -> bool:
    kind = node.kind
    wanted = (names,) if isinstance(names, str) else names
    if kind in wanted:
        return True
    return kind == "number" and "integer" in wanted and is_whole(node.value)


def check_enum(values: list[Any], node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind not in ("object", "array") and any(same(node.value, value) for value in values)


def _check_const(value: Any, node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind not in ("object", "array") and same(node.value, value)


def _check_pattern(pattern: str, node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind != "string" or re.search(pattern, node.value) is not None


def _check_not(schema: Schema, node: Node, defs: Mapping[str, Schema]) -> bool:
    return not valid(schema, node, defs)


def _check_any(schemas: list[Schema], node: Node, defs: Mapping[str, Schema]) -> bool:
    return any(valid(schema, node, defs) for schema in schemas)


def _check_items(schema: Schema, node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind != "array" or all(valid(schema, item, defs) for item in node.items)


def _check_max_items(most: int, node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind != "array" or len(node.items) <= most


def _check_max_properties(most: int, node: Node, defs: Mapping[str, Schema]) -> bool:
    return node.kind != "object" or len({member.key for member in node.members}) <= most


def _numeric(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Node, Mapping[str, Schema]], bool]:
    return lambda bound, node, defs: node.kind != "number" or compare(node.value, bound)


KEYWORDS: Final[Mapping[str, Callable[[Any, Node, Mapping[str, Schema]], bool]]] = {
    "$ref": _check_ref,
    "type": _check_type,
    "enum": check_enum,
    "const": _check_const,
    "pattern": _check_pattern,
    "not": _check_not,
    "anyOf": _check_any,
    "items": _check_items,
    "maxItems": _check_max_items,
    "maxProperties": _check_max_properties,
    "minimum": _numeric(lambda value, bound: bool(value >= bound)),
    "maximum": _numeric(lambda value, bound: bool(value <= bound)),
    "exclusiveMinimum": _numeric(lambda value, bound: bool(value > bound)),
    "exclusiveMaximum": _numeric(lambda value, bound: bool(value < bound)),
}


def same(left: Any, right: Any) -> bool:
    """Equal as JSON has it: 1 is 1.0 and is not true."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def is_whole(value: int | float) -> bool:
    return isinstance(value, int) or value.is_integer()
