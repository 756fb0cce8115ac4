"""A DeepSpeed version, the releases there are, and comparisons against them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple


class Release(NamedTuple):
    """`version` is comparable, `name` is as people write it: (0, 19, 8) and "0.19.8"."""

    version: tuple[int, ...]
    name: str


def _line(minor: int, first: int, last: int) -> tuple[Release, ...]:
    return tuple(Release((0, minor, patch), f"0.{minor}.{patch}") for patch in range(first, last + 1))


KNOWN: Final[tuple[Release, ...]] = (
    *_line(9, 5, 5),
    *_line(10, 0, 3),
    *_line(11, 0, 2),
    *_line(12, 0, 6),
    *_line(13, 0, 5),
    *_line(14, 0, 5),
    *_line(15, 0, 4),
    *_line(16, 0, 9),
    *_line(17, 0, 6),
    *_line(18, 0, 9),
    *_line(19, 0, 8),
)
"""Every DeepSpeed release from 0.9.5 to 0.19.8, oldest first."""

OLDEST: Final = KNOWN[0]
NEWEST: Final = KNOWN[-1]

_VERSION = r"[vV]?(\d+(?:\.\d+)*)"
_OPERATORS = ("<=", ">=", "==", "!=", "~=", "<", ">")


def parse_version(text: str) -> Release | None:
    """The release that a version names, or None where it is no version.

    At least three figures are kept ("0.19" is 0.19.0); what follows them (rc1, .dev0, +cu121) is dropped.
    """
    text = text.strip()
    if not is_plain(text):
        match = re.match(_VERSION, text)
        if match is None:
            return None
        text = match[1]
    version = _version(text)
    return Release(version, ".".join(map(str, version)))


def matches(release: Release, spec: str) -> bool:
    """Whether a release meets every clause of a spec such as ">=0.17.1,<0.19.3".

    Clauses: < <= > >= == != ~= and "==0.19.*". Raises ValueError for anything else.
    """
    return all(_holds(release.version, clause) for clause in _clauses(spec))


class _Clause(NamedTuple):
    operator: str
    version: tuple[int, ...]
    prefix: bool


@lru_cache(maxsize=512)
def _clauses(spec: str) -> tuple[_Clause, ...]:
    clauses = []
    for text in map(str.strip, spec.split(",")):
        sign = next((sign for sign in _OPERATORS if text.startswith(sign)), "")
        given = text[len(sign) :].lstrip().removeprefix("v").removeprefix("V")
        prefix = given.endswith(".*")
        given = given.removesuffix(".*")
        if not sign or not is_plain(given) or (prefix and sign not in ("==", "!=")):
            raise ValueError(f"{text!r} in {spec!r} is no version clause such as '>=0.17.1'")
        figures = tuple(int(part) for part in given.split("."))
        if sign == "~=":
            if len(figures) < 2:
                raise ValueError(f"{text!r} in {spec!r} needs two figures or more, such as '~=0.17'")
            clauses.append(_Clause(">=", _version(given), False))
            clauses.append(_Clause("==", figures[:-1], True))
        else:
            clauses.append(_Clause(sign, figures if prefix else _version(given), prefix))
    return tuple(clauses)


def is_plain(text: str) -> bool:
    """Is a version nothing but figures with points between them? No regular expression, as every start asks it."""
    return all(part.isascii() and part.isdigit() for part in text.split("."))


def _version(text: str) -> tuple[int, ...]:
    figures = tuple(int(part) for part in text.split("."))
    return figures + (0,) * (3 - len(figures))


def _holds(version: tuple[int, ...], clause: _Clause) -> bool:
    wanted = clause.version
    have = version[: len(wanted)] if clause.prefix else version
    if clause.operator == "==":
        return have == wanted
    if clause.operator == "!=":
        return have != wanted
    if clause.operator == "<":
        return have < wanted
    if clause.operator == "<=":
        return have <= wanted
    return have > wanted if clause.operator == ">" else have >= wanted
