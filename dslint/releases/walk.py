"""A config's tree held against a release's schema: what the release refuses, ignores or reads otherwise.

`jsonschema` is the reference: a config has a refused violation exactly when its plain value is not valid;
tests hold the two together. The walk also says what JSON Schema cannot: which key was meant, where it
belongs, when it came or went.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Mapping
from math import isfinite
from typing import Any, Literal, NamedTuple

from dslint.documents.tree import Member, Node, join_pointer
from dslint.releases.names import TOO_COMMON, nearest, places_of_keys, related
from dslint.releases.schema import Schema
from dslint.releases.validity import KEYWORDS, check_enum, is_whole, same, valid

ViolationKind = Literal[
    "unknown-key",
    "comment-key",
    "foreign-key",
    "misplaced-key",
    "removed-key",
    "future-key",
    "ignored-key",
    "deprecated-key",
    "alias-conflict",
    "wrong-type",
    "out-of-range",
    "not-allowed",
    "quoted-number",
    "quoted-boolean",
    "missing-key",
]


class Violation(NamedTuple):
    """What is wrong somewhere. `refused`: DeepSpeedConfig stops at it; else it ignores or misreads it.

    `stops`: training stops at it, at the latest in the first step; true of all that is refused.
    `member` is the key with its value (None for an array's item). `details`, by kind:

    - unknown-key: suggestions (keys of the same block, best first; may be empty)
    - comment-key: a comment in a block that refuses unknown keys
    - foreign-key: framework ("transformers", "accelerate", …) that has an argument of this name
    - misplaced-key: right_places (pointers, the likeliest first)
    - removed-key: since (the first release without it), until (the last with it), replaced_by (pointer or
      None), reason (or None), again (a later release that has it once more, or None)
    - future-key: since (the first release that has it)
    - ignored-key: a key that DeepSpeed had once and this release does not read
    - deprecated-key: replaced_by (pointer or None), value (the new key's value) when it can be told
    - alias-conflict: other (the key that it stands beside), other_pointer
    - wrong-type: expected, got, nullable; reads_as when the release reads the value as another one
    - out-of-range: minimum, maximum, exclusive_minimum, exclusive_maximum (those that there are)
    - not-allowed: allowed (values), suggestions
    - quoted-number, quoted-boolean: reads_as (what the release makes of the text), meant (without the quotes)
    - missing-key: key (a key that the block must have)
    """

    kind: ViolationKind
    pointer: str
    refused: bool
    node: Node
    member: Member | None
    details: Mapping[str, Any]
    stops: bool


Auto = Container[str] | Callable[[str], bool]

# Compiled where they are first used: most configs never ask.
_COMMENT = r"(?i:_|//|#|\$schema$|comments?$|//?dslint)"
_NUMBER = r"\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
_TRUE = frozenset(("true", "yes", "on", "y", "t", "1"))
_FALSE = frozenset(("false", "no", "off", "n", "f", "0"))


def walk(schema: Schema, root: Node, auto: Auto = frozenset()) -> list[Violation]:
    """Every violation in a config, in the order of the text.

    `auto` holds the pointers (or tells by a function) at which "auto" is resolved before DeepSpeed reads it.
    An unknown node violates nothing, whatever stands there; its key may.
    """
    found: list[Violation] = []
    if root.kind == "object":
        told = auto if callable(auto) else auto.__contains__
        walker = _Walk(schema, told, found)
        walker.block(schema, root, "")
        walker.arguments(root, "optimizer")
        walker.arguments(root, "scheduler")
        found.sort(key=_start)
    return found


def _start(violation: Violation) -> int:
    return violation.member.key_start if violation.member else violation.node.start


def is_comment(key: str) -> bool:
    """Whether a key is one that people write comments under ("_comment", "//", "#…"); they are no mistake."""
    return re.match(_COMMENT, key) is not None


# Where each key of a schema stands, made on the first unknown key; the schema is kept so that its id stays its own.
_PLACES: dict[int, tuple[Schema, dict[str, list[str]]]] = {}


# Values that violate nothing where they stand, by schema: the entry (by its id), the value's type and the value.
_FINE: dict[int, tuple[Schema, set[tuple[int, type, Any]]]] = {}
MOST_FINE = 10_000


# Unknown keys of one config for which the keys that may be meant are looked for: what has more of them is no config with
# slips in it, and each search takes a millisecond.
MOST_STRANGERS = 100
MOST_TOLD = 300
"""Unknown keys of one config that are told at all."""


class _Walk:
    """One pass over one config."""

    def __init__(self, schema: Schema, auto: Callable[[str], bool], found: list[Violation]) -> None:
        self.schema = schema
        self.auto = auto
        self.found = found
        self.strangers = 0
        self.fine = _FINE.setdefault(id(schema), (schema, set()))[1]

    @property
    def defs(self) -> Mapping[str, Schema]:
        defs: Mapping[str, Schema] = self.schema.get("$defs", {})
        return defs

    @property
    def places(self) -> dict[str, list[str]]:
        known = _PLACES.get(id(self.schema))
        if known is None:
            known = _PLACES[id(self.schema)] = (self.schema, places_of_keys(self.schema))
        return known[1]

    def add(
        self,
        kind: ViolationKind,
        pointer: str,
        refused: bool,
        node: Node,
        member: Member | None,
        *,
        stops: bool = False,
        **details: Any,
    ) -> None:
        self.found.append(Violation(kind, pointer, refused, node, member, details, refused or stops))

    def block(self, schema: Schema, node: Node, pointer: str) -> None:
        """An object's keys, then their values."""
        properties = schema.get("properties", {})
        members = {member.key: member for member in node.members}
        dependent = [
            more["properties"] for key, more in schema.get("dependentSchemas", {}).items() if key in members
        ]
        if dependent:
            properties = ChainMap(*reversed(dependent), properties)
        entries = schema.get("additionalProperties") if schema.get("x-unknown") == "entries" else None
        for key, member in members.items():
            here = join_pointer(pointer, key)
            entry = properties.get(key, entries)
            if entry is not None:
                self.key(schema, entry, here, member)
            else:
                self.unknown(schema, here, member)
        for key in schema.get("required", ()):
            if key not in members and not node.open:
                self.add("missing-key", join_pointer(pointer, key), True, node, None, key=key)
        for left, right in schema.get("x-conflicts", ()):
            self.conflict(schema, pointer, members.get(left), members.get(right))

    def key(self, schema: Schema, entry: Schema, pointer: str, member: Member) -> None:
        if "x-removed" in entry:
            details = {
                "since": entry["x-removed"],
                "until": entry.get("x-until"),
                "replaced_by": entry.get("x-replaced-by"),
                "reason": entry.get("x-reason"),
                "again": None,
            }
            self.add("removed-key", pointer, True, member.node, member, **details)
            return
        if "x-ignored" in entry:
            self.add("ignored-key", pointer, False, member.node, member)
            return
        if entry.get("deprecated"):
            details = {"replaced_by": entry.get("x-replaced-by")}
            value = _replacement(entry, member.node)
            if value is not None:
                details["value"] = value[0]
            self.add("deprecated-key", pointer, False, member.node, member, **details)
        self.value(entry, member.node, pointer, member)

    def unknown(self, schema: Schema, pointer: str, member: Member) -> None:
        """A key that this release does not have here: for which reason, and whether the release minds."""
        key, node = member.key, member.node
        mode = schema.get("x-unknown", "free")
        if mode == "free":
            return
        dropped = schema.get("x-auto") == "dropped" and node.kind == "string" and node.value == "auto"
        refused = mode == "refused" and not dropped
        absent = schema.get("x-absent", {}).get(key)
        if absent is not None:
            until = absent.get("until")
            if until is not None and self.is_past(until):
                details = {name: absent.get(name) for name in ("until", "replaced_by", "reason", "again")}
                self.add("removed-key", pointer, refused, node, member, since=absent["gone"], **details)
            else:
                self.add("future-key", pointer, refused, node, member, since=absent["since"])
        elif is_comment(key):
            if refused:
                self.add("comment-key", pointer, True, node, member)
        else:
            self.strangers += 1
            if self.strangers > MOST_TOLD:
                return
            if self.strangers > MOST_STRANGERS:
                self.add("unknown-key", pointer, refused, node, member, suggestions=[])
            else:
                self.stranger(schema, pointer, member, refused)

    def is_past(self, until: str) -> bool:
        here = tuple(map(int, self.schema["x-release"].split(".")))
        return tuple(map(int, until.split("."))) < here

    def stranger(self, schema: Schema, pointer: str, member: Member, refused: bool) -> None:
        """A key that no release has here."""
        key, node = member.key, member.node
        keys = _keys(schema)
        meant = self.schema.get("x-wrong-names", {}).get(key, ())
        parent = pointer[: pointer.rindex("/")]
        near = [place.rpartition("/")[2] for place in meant if place.rpartition("/")[0] == parent]
        if near:
            self.add("unknown-key", pointer, refused, node, member, suggestions=near)
            return
        if not meant:
            close = nearest(key, keys)
            if close:
                self.add("unknown-key", pointer, refused, node, member, suggestions=close)
                return
            meant = self.elsewhere(key, parent)
        if meant:
            self.add("misplaced-key", pointer, refused, node, member, right_places=list(meant))
            return
        for framework, names in self.schema.get("x-foreign", {}).items():
            if key in names:
                self.add("foreign-key", pointer, refused, node, member, framework=framework)
                return
        # `pipeline_parallel_size: 2` does not mean the block `pipeline`.
        alike = [name for name in related(key, keys) if _is_block(schema, name) == (node.kind == "object")]
        self.add("unknown-key", pointer, refused, node, member, suggestions=alike)

    def elsewhere(self, key: str, parent: str) -> list[str]:
        """Where a key belongs that is not known in its block.

        Among an optimizer's or a scheduler's parameters; else where the schema has it, unless it stands in
        many places, or is a single word at the top, where it says little.
        """
        if parent in ("/optimizer", "/scheduler"):
            table = self.schema.get(f"x{parent.replace('/', '-')}s", {})
            if any(key in entry["params"] for entry in table.values()):
                return [f"{parent}/params/{key}"]
        there = self.places.get(key, [])
        if not parent and "_" not in key:
            there = [place for place in there if place.count("/") == 1]
        return there if len(there) <= TOO_COMMON else []

    def conflict(self, schema: Schema, pointer: str, left: Member | None, right: Member | None) -> None:
        """Two keys that this release takes alone and refuses together."""
        if left is None or right is None:
            return
        for member in (left, right):
            if member.node.kind == "unknown" or member.node.value == "auto":
                return
        here = join_pointer(pointer, left.key)
        other = join_pointer(pointer, right.key)
        self.add("alias-conflict", here, True, left.node, left, other=right.key, other_pointer=other)

    def value(self, entry: Schema, node: Node, pointer: str, member: Member | None) -> None:
        if node.kind == "unknown":
            return
        if node.kind == "string" and node.value == "auto" and self.auto(pointer):
            return
        if node.kind == "object" and ("properties" in entry or "x-unknown" in entry):
            self.block(entry, node, pointer)
            return
        items = entry.get("items")
        if node.kind == "array" and items is not None and "array" in entry.get("type", ()):
            for index, item in enumerate(node.items):
                self.value(items, item, join_pointer(pointer, index), None)
            return
        if node.kind in ("object", "array"):
            self.judge(entry, node, pointer, member)
            return
        # true, 2 and "cpu" stand in every other config: what was fine once is.
        fine = (id(entry), type(node.value), node.value)
        if fine in self.fine:
            return
        before = len(self.found)
        self.judge(entry, node, pointer, member)
        if len(self.found) == before and len(self.fine) < MOST_FINE:
            self.fine.add(fine)

    def judge(self, entry: Schema, node: Node, pointer: str, member: Member | None) -> None:
        if valid(entry, node, self.defs):
            self.soft(entry, node, pointer, member)
        else:
            self.refuse(entry, node, pointer, member)

    def kind_of(self, entry: Schema) -> tuple[str, bool, Schema]:
        """What kind of value an entry is for, whether null will do, and its definition."""
        name = entry.get("$ref", "")[len("#/$defs/") :]
        definition = self.defs[name] if name else entry
        name = entry.get("x-expects") or definition.get("x-kind") or name or _kind_from_type(entry)
        nullable = name.endswith("?") or "null" in definition.get("type", ())
        return name.rstrip("?"), nullable, definition

    def refuse(self, entry: Schema, node: Node, pointer: str, member: Member | None) -> None:
        kind, nullable, definition = self.kind_of(entry)
        allowed = entry.get("x-allowed") or definition.get("x-allowed")
        whole = {**definition, **entry} if kind in ("integer", "number") else entry
        bounds = {name: whole[key] for key, name in _BOUNDS.items() if key in whole}
        if bounds and node.kind == "number" and valid(_without_bounds(whole), node, self.defs):
            self.add("out-of-range", pointer, True, node, member, stops=True, **bounds)
        elif allowed is not None:
            self.not_allowed(allowed, True, node, pointer, member)
        else:
            details: dict[str, Any] = {"expected": kind, "got": _kind_name(node), "nullable": nullable}
            self.add("wrong-type", pointer, True, node, member, **details)

    def soft(self, entry: Schema, node: Node, pointer: str, member: Member | None) -> None:
        """A value that the release takes: is it read as it is meant?"""
        kind, nullable, _ = self.kind_of(entry)
        plain = not any(keyword in entry for keyword in KEYWORDS)
        if node.kind == "null" and (nullable or not plain):
            return
        stops = node.kind in entry.get("x-stops", ())
        allowed = entry.get("x-allowed")
        if plain and allowed is not None:
            if not check_enum(allowed, node, self.defs) and node.kind not in ("object", "array"):
                self.not_allowed(allowed, False, node, pointer, member, stops)
        elif node.kind == "string":
            self.text(kind, plain, node, pointer, member, stops)
        elif not _fits(kind, node):
            details: dict[str, Any] = {"expected": kind, "got": _kind_name(node), "nullable": nullable}
            fraction = kind == "integer" and node.kind == "number" and not plain and isfinite(node.value)
            if fraction or (kind in ("integer", "number") and node.kind == "boolean"):
                details["reads_as"] = int(node.value)
            self.add("wrong-type", pointer, False, node, member, stops=stops, **details)

    def not_allowed(
        self,
        allowed: list[Any],
        refused: bool,
        node: Node,
        pointer: str,
        member: Member | None,
        stops: bool = False,
    ) -> None:
        words = [word for word in allowed if isinstance(word, str)]
        details: dict[str, Any] = {
            "allowed": list(allowed),
            "suggestions": nearest(node.value, words) if node.kind == "string" else [],
        }
        self.add("not-allowed", pointer, refused, node, member, stops=stops, **details)

    def text(
        self, kind: str, plain: bool, node: Node, pointer: str, member: Member | None, stops: bool
    ) -> None:
        """A text where another kind of value is meant."""
        text = str(node.value)
        if kind in ("integer", "number") and re.fullmatch(_NUMBER, text):
            meant = _number(text)
            reads = text if plain else meant
            self.add("quoted-number", pointer, False, node, member, stops=stops, reads_as=reads, meant=meant)
        elif kind == "boolean" and text != "auto":
            word = text.strip().lower()
            flag = True if word in _TRUE else False if word in _FALSE else None
            reads_flag = bool(text) if plain else flag
            self.add(
                "quoted-boolean", pointer, False, node, member, stops=stops, reads_as=reads_flag, meant=flag
            )
        elif plain and kind in ("integer", "number", "boolean", "object", "array"):
            wrong: dict[str, Any] = {"expected": kind, "got": "string", "nullable": False}
            self.add("wrong-type", pointer, False, node, member, stops=stops, **wrong)

    def arguments(self, root: Node, name: str) -> None:
        """Numbers in quotes among the arguments of an optimizer or a scheduler, which reckon with them."""
        block = root.get(name)
        params = block.get("params") if block is not None and block.kind == "object" else None
        kind = block.get("type") if block is not None and block.kind == "object" else None
        if params is None or params.kind != "object" or kind is None or kind.kind != "string":
            return
        numbers = self.numbers(name, kind.value)
        for member in params.members:
            text = member.node.value
            if member.node.kind == "string" and member.key in numbers and re.fullmatch(_NUMBER, text):
                pointer = join_pointer(f"/{name}/params", member.key)
                details: dict[str, Any] = {"reads_as": text, "meant": _number(text)}
                self.add("quoted-number", pointer, False, member.node, member, stops=True, **details)

    def numbers(self, name: str, kind: str) -> set[str]:
        """The parameters of an optimizer or a scheduler that are numbers."""
        table = self.schema.get(f"x-{name}s", {})
        entry = table.get(kind.lower() if name == "optimizer" else kind)
        if entry is None:
            return {"lr", "weight_decay", "eps", "momentum"} if name == "optimizer" else set()
        signatures = (
            [entry["params"]] if name == "scheduler" else [part["params"] for part in entry["classes"]]
        )
        numbers = {
            key
            for params in signatures
            for key, default in params.items()
            if isinstance(default, int | float) and not isinstance(default, bool)
        }
        return numbers | {"lr", "warmup_max_lr", "total_num_steps", "cycle_min_lr", "cycle_max_lr"}


_BOUNDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
}


def _without_bounds(entry: Schema) -> Schema:
    return {key: part for key, part in entry.items() if key not in _BOUNDS and key != "$ref"}


def _fits(kind: str, node: Node) -> bool:
    """Whether a value that is no text is of the kind that its key is for."""
    if kind == "integer":
        return node.kind == "number" and is_whole(node.value)
    if kind == "boolean":
        return node.kind == "boolean" or (node.kind == "number" and node.value in (0, 1))
    if kind in ("number", "object", "array", "string"):
        return node.kind == kind
    return True


def _kind_name(node: Node) -> str:
    return "integer" if node.kind == "number" and isinstance(node.value, int) else node.kind


def _kind_from_type(entry: Schema) -> str:
    kind = entry.get("type", "")
    if isinstance(kind, str):
        return kind
    return next((name for name in kind if name not in ("null", "string")), "string")


def _number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _replacement(entry: Schema, node: Node) -> tuple[Any] | None:
    """The new key's value for a deprecated key's value, in a tuple; None when it cannot be told."""
    table = entry.get("x-replaced-values")
    if node.kind in ("unknown", "object", "array"):
        return None
    if table is None:
        return (node.value,) if "x-replaced-by" in entry else None
    return next(((new,) for old, new in table if same(node.value, old)), None)


def _is_block(schema: Schema, key: str) -> bool:
    return "properties" in schema.get("properties", {}).get(key, {})


def _keys(schema: Schema) -> Iterable[str]:
    return [key for key, entry in schema.get("properties", {}).items() if "x-removed" not in entry]
