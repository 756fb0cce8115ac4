"""Whether a condition in a rule file can be asked at all: told when the file is loaded, not when a config meets it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from dslint.hardware.profiles import Profile
from dslint.releases.release import NEWEST, matches
from dslint.rules.conditions import KEYWORDS, TYPES

WORDS: Final = ("absent", "present", "unknown")
COMPARISONS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
DEEPEST: Final = 20
MOST_REPEATS: Final = 3
"""Parts of a pattern that may repeat without end: each multiplies the time by the length of the text."""
MANY: Final = 8
"""Repeats that are as good as endless."""


def check_conditions(table: Mapping[str, Any]) -> None:
    """Raises ValueError, with a sentence, for a condition that could not be asked of a launch."""
    for path, test in table.items():
        try:
            check_condition(path, test)
        except ValueError as error:
            raise ValueError(f"`{path}`: {error}") from None


def check_condition(path: str, test: Any) -> None:
    if isinstance(test, str) and test in WORDS:
        if path == "$release":
            raise ValueError("a release is always known; write a range, such as `<0.17.1`")
        return
    if path == "$release" or (path.startswith("$version.") and isinstance(test, str)):
        if not isinstance(test, str):
            raise ValueError("must be a range of releases, such as `<0.17.1`")
        matches(NEWEST, test)
    elif path.startswith("$hardware.") and not hasattr(Profile, path[len("$hardware.") :]):
        raise ValueError(f"hardware has no such fact; it has {', '.join(Profile._fields)}")
    elif isinstance(test, dict):
        check_schema(test)


def check_schema(schema: Any, depth: int = 0) -> None:
    """A table of KEYWORDS, each with what it takes."""
    if not isinstance(schema, dict):
        raise ValueError(f"{schema!r} must be a table of keywords")
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    for keyword, wanted in schema.items():
        if keyword not in KEYWORDS:
            raise ValueError(f"there is no keyword `{keyword}`; the keywords are {', '.join(KEYWORDS)}")
        if keyword == "not":
            check_schema(wanted, depth + 1)
        elif keyword in ("anyOf", "allOf"):
            for inner in listed(keyword, wanted):
                check_schema(inner, depth + 1)
        else:
            check_keyword(keyword, wanted)


def check_keyword(keyword: str, wanted: Any) -> None:
    if keyword == "type":
        for name in [wanted] if isinstance(wanted, str) else listed(keyword, wanted):
            if not isinstance(name, str) or name not in TYPES:
                raise ValueError(f"there is no type {name!r}; the types are {', '.join(TYPES)}")
    elif keyword in ("enum", "required"):
        listed(keyword, wanted)
    elif keyword in COMPARISONS or keyword in ("minItems", "maxItems"):
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float)):
            raise ValueError(f"`{keyword}` must be a number, not {wanted!r}")
        if keyword == "multipleOf" and not wanted > 0:
            raise ValueError("`multipleOf` must be greater than 0")
    elif keyword == "pattern":
        check_pattern(wanted)


def listed(keyword: str, wanted: Any) -> Sequence[Any]:
    if not isinstance(wanted, list):
        raise ValueError(f"`{keyword}` must be a list, not {wanted!r}")
    return wanted


def check_pattern(pattern: Any) -> None:
    """Raises ValueError for what is no regular expression, and for one that some text keeps busy for ever."""
    if not isinstance(pattern, str):
        raise ValueError(f"`pattern` must be a text, not {pattern!r}")
    try:
        re.compile(pattern)
        # Python's own parser of patterns; it has no public name.
        parser = import_module("re._parser" if hasattr(re, "_parser") else "sre_parse")
        repeats = endless(parser.parse(pattern), inside=False)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} can't be used as a pattern: {error}") from None
    if repeats > MOST_REPEATS:
        raise ValueError(f"{pattern!r} has more than {MOST_REPEATS} parts that repeat without end")


def endless(parsed: Any, *, inside: bool) -> int:
    """The repeats without end in a parsed pattern; one within another, or around a choice, may take exponential time."""
    found = 0
    for operation, argument in parsed:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, body = argument
            many = int(most) > MANY
            if inside and most > least:
                raise re.error("a repeat stands in a repeat, which may take for ever")
            found += many + endless(body, inside=inside or many)
        elif name == "BRANCH":
            if inside:
                raise re.error("a choice stands in a repeat, which may take for ever")
            found += sum(endless(branch, inside=inside) for branch in argument[1])
        elif name in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT", "ASSERT_NOT"):
            found += endless(argument[-1] if isinstance(argument, tuple) else argument, inside=inside)
        elif name == "GROUPREF_EXISTS":
            found += sum(endless(branch, inside=inside) for branch in argument[1:] if branch is not None)
    return found
