"""Does a condition hold on a launch? Three answers are possible for a value; what is unknown never holds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Node, join_pointer
from dslint.launches.launch import Launch
from dslint.releases.release import matches, parse_version
from dslint.rules.book import Condition

ABSENT: Final = object()

# Names that the engine takes for one another; the first that stands in the file counts.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {"bf16": ("bf16", "bfloat16")}

# What pydantic's lax mode takes for a boolean (https://docs.pydantic.dev/latest/concepts/conversion_table/).
TRUE_WORDS: Final = frozenset({"1", "on", "t", "true", "y", "yes"})
FALSE_WORDS: Final = frozenset({"0", "off", "f", "false", "n", "no"})

# From this release on the fp16 and bf16 blocks are pydantic models; before, any non-empty string was true.
COERCED_SINCE: Final = (0, 17, 1)

# Frameworks that put numbers in the place of "auto" before DeepSpeed reads the config.
FILLS_AUTO: Final = frozenset({"transformers", "accelerate"})


# Facts that a launch has or has not, which rules ask for as present.
COMPANY: Final = ("$problems", "$accelerate", "$training", "$command")


class Found(NamedTuple):
    """A value met on a path: its pointer, its node, and what `*` stood for."""

    pointer: str
    node: Node | None
    key: str


FACT: Final = Found("", None, "")
STARRED: Final = Found("", None, "*")


def holds(conditions: Sequence[Condition], launch: Launch) -> Sequence[Mapping[str, Found]]:
    """Each way in which all conditions hold: the value that each path met, by dotted path; nothing when they don't.

    A path with `*` may hold in several ways, one for each key.
    """
    known: dict[int, Found | None] = launch.memo.setdefault("met", {})
    met: list[tuple[Condition, Found]] = []
    for condition in conditions:
        # Many rules share a condition, which `book.conditions` then makes one object.
        key = id(condition)
        if key in known:
            found = known[key]
        else:
            found = known[key] = meets(condition, launch)
        if found is None:
            return ()
        met.append((condition, found))
    paths = {".".join(each.path): found for each, found in met if found is not FACT and found is not STARRED}
    starred = [condition for condition, found in met if found is STARRED]
    return list(ways(starred, paths, launch.config.root, launch)) if starred else (paths,)


def ways(
    starred: Sequence[Condition], paths: dict[str, Found], root: Node, launch: Launch
) -> Iterator[Mapping[str, Found]]:
    """The ways in which conditions with `*` hold together, for the same key in each."""
    first = starred[0]
    for found in reach_all(root, first.path):
        if value_holds(found, first.test, launch) and all(
            value_holds(reach(root, filled(other.path, found.key)), other.test, launch)
            for other in starred[1:]
        ):
            yield paths | {".".join(each.path): reach(root, filled(each.path, found.key)) for each in starred}


def meets(condition: Condition, launch: Launch) -> Found | None:
    """What a condition meets: a value of the config, FACT, or STARRED where a `*` leaves it open; None where it fails."""
    path, test = condition
    if path[0].startswith("$"):
        return FACT if fact_holds(path[0], test, launch) else None
    if "*" in path:
        return STARRED
    reached: dict[tuple[str, ...], Found] = launch.memo.setdefault("reached", {})
    found = reached.get(path)
    if found is None:
        found = reached[path] = reach(launch.config.root, path)
    return found if value_holds(found, test, launch) else None


def filled(path: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(key if part == "*" else part for part in path)


def reach(root: Node, path: Sequence[str]) -> Found:
    """The value at a path, following the engine's other names for a key; its node is None where nothing stands."""
    node: Node | None = root
    pointer = ""
    for part in path:
        name, node = step(node, part)
        pointer = join_pointer(pointer, name)
    return Found(pointer, node, "")


def step(node: Node | None, part: str) -> tuple[str, Node | None]:
    if node is None:
        return part, None
    if node.kind == "object":
        for name in ALIASES.get(part, (part,)):
            child = node.get(name)
            if child is not None:
                return name, child
        return part, UNKNOWN_NODE if node.open else None
    if node.kind == "array" and part.isdecimal() and int(part) < len(node.items):
        return part, node.items[int(part)]
    if node.kind == "unknown":
        return part, UNKNOWN_NODE
    return part, None


UNKNOWN_NODE: Final = Node("unknown", 0, 0, UNKNOWN)


def reach_all(root: Node, path: Sequence[str]) -> Iterator[Found]:
    """Each value on a path whose `*` stands for any key or index."""
    at = path.index("*")
    parent = reach(root, path[:at])
    node = parent.node
    if node is None:
        return
    children = [(m.key, m.node) for m in node.members] or [
        (str(i), item) for i, item in enumerate(node.items)
    ]
    for key, child in children:
        rest = reach(child, path[at + 1 :])
        yield Found(join_pointer(parent.pointer, key) + rest.pointer, rest.node, key)


def value_holds(found: Found, test: Mapping[str, Any], launch: Launch) -> bool:
    node = found.node
    if node is None:
        return "absent" in test
    if node.kind == "unknown":
        return False
    if "present" in test:
        return True
    if "absent" in test:
        return False
    if is_auto(node) and launch.framework in FILLS_AUTO:
        return asks_for_auto(test)
    if "is" in test:
        return equals(node, test["is"], found.pointer, launch)
    return fits(node.plain(), test)


def is_auto(node: Node) -> bool:
    return node.kind == "string" and node.value == "auto"


def asks_for_auto(test: Mapping[str, Any]) -> bool:
    return test.get("is") == "auto" or test.get("const") == "auto"


def equals(node: Node, wanted: Any, pointer: str, launch: Launch) -> bool:
    """Is the value what the engine would take for `wanted`? Text such as "true" or "2" counts where it is coerced."""
    if isinstance(wanted, bool):
        return truth(node, pointer, launch) is wanted
    if isinstance(wanted, (int, float)) and wanted is not None:
        number = as_number(node.value)
        return number is not None and number == wanted
    return bool(node.plain() == wanted)


def truth(node: Node, pointer: str, launch: Launch) -> bool | None:
    """What the engine takes a value for where it wants a boolean; None where that can't be told."""
    if node.kind == "boolean":
        return bool(node.value)
    block = pointer.split("/")[1] if pointer.startswith("/") else ""
    if block in ("fp16", "bf16", "bfloat16") and launch.release.version < COERCED_SINCE:
        return bool(node.plain())
    if node.kind == "number" and node.value in (0, 1):
        return bool(node.value)
    if node.kind == "string":
        word = node.value.lower()
        return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None
    return None


def as_number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def fact_holds(name: str, test: Mapping[str, Any], launch: Launch) -> bool:
    if name == "$release":
        return matches(launch.release, test["release"])
    value = fact(name, launch)
    if value is UNKNOWN or "unknown" in test:
        return value is UNKNOWN and "unknown" in test
    if name.startswith("$version."):
        release = parse_version(value) if isinstance(value, str) else None
        return release is not None and "release" in test and matches(release, test["release"])
    if value is ABSENT:
        return "absent" in test
    if "present" in test:
        return True
    if "absent" in test:
        return False
    return bool(value == test["is"]) if "is" in test else fits(value, test)


def fact(name: str, launch: Launch) -> Any:
    """The value of `$framework`, `$world_size`, `$hardware`, `$hardware.bf16`, `$argument.lr`, …; UNKNOWN, or ABSENT."""
    head, _, rest = name[1:].partition(".")
    if head == "problems":
        return launch.config.problems or ABSENT
    if head == "argument":
        argument = launch.arguments.get(rest)
        if argument is None:
            return ABSENT if launch.arguments_complete else UNKNOWN
        return argument.value
    if head == "version":
        return launch.versions.get(rest, UNKNOWN)
    if head == "hardware":
        if launch.hardware is None:
            return UNKNOWN
        return getattr(launch.hardware, rest or "name")
    if head in ("accelerate", "training", "command"):
        return getattr(launch, head) or ABSENT
    if head == "arguments":
        return True if launch.arguments or launch.arguments_complete else ABSENT
    value = {"framework": launch.framework, "world_size": launch.world_size}.get(head)
    return UNKNOWN if value is None else value


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Does plain data fit a condition's schema? The keywords that rules may use, each as JSON Schema 2020-12 has it.

    Nothing that holds UNKNOWN fits.
    """
    if value is UNKNOWN:
        return False
    return all(KEYWORDS[keyword](value, wanted) for keyword, wanted in schema.items())


def has_type(value: Any, wanted: str | Sequence[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(TYPES[name](value) for name in names)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compares(value: Any, wanted: Any, relation: Callable[[Any, Any], bool]) -> bool:
    """Unlike in JSON Schema, a comparison says something of numbers alone: a rule on sizes means a size."""
    number = as_number(value)
    try:
        return number is not None and relation(number, wanted)
    except OverflowError:
        return False  # An integer beyond any float is a multiple of none.


def same(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


MATCHED: Final = 256
"""Characters of a text that a pattern looks at: no name of a thing is longer, and the time must be bounded."""

TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": is_number,
    "integer": lambda value: is_number(value) and value == value // 1,
}

KEYWORDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "type": has_type,
    "const": same,
    "enum": lambda value, wanted: any(same(value, one) for one in wanted),
    "minimum": lambda value, wanted: compares(value, wanted, operator.ge),
    "maximum": lambda value, wanted: compares(value, wanted, operator.le),
    "exclusiveMinimum": lambda value, wanted: compares(value, wanted, operator.gt),
    "exclusiveMaximum": lambda value, wanted: compares(value, wanted, operator.lt),
    "multipleOf": lambda value, wanted: compares(value, wanted, lambda number, of: number % of == 0),
    "minItems": lambda value, wanted: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda value, wanted: not isinstance(value, list) or len(value) <= wanted,
    "pattern": lambda value, wanted: (
        not isinstance(value, str) or re.search(wanted, value[:MATCHED]) is not None
    ),
    "required": lambda value, wanted: not isinstance(value, dict) or all(key in value for key in wanted),
    "not": lambda value, wanted: not fits(value, wanted),
    "anyOf": lambda value, wanted: any(fits(value, one) for one in wanted),
    "allOf": lambda value, wanted: all(fits(value, one) for one in wanted),
}
