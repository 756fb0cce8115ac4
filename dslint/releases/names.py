"""What somebody meant by a key that is not there: near spellings, and the places that a key stands in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dslint.documents.tree import join_pointer

Schema = Mapping[str, Any]

TOO_COMMON = 3
"""A key that stands in more places than this (enabled, type, …) names no place."""

LONG = 8
"""Letters from which a part of a key says which key is meant."""


def places_of_keys(schema: Schema) -> dict[str, list[str]]:
    """Key → the pointers at which the schema has it, blocks before what is in them."""
    places: dict[str, list[str]] = {}
    level: list[tuple[str, Schema]] = [("", schema)]
    while level:
        below: list[tuple[str, Schema]] = []
        for pointer, block in level:
            for key, entry in block.get("properties", {}).items():
                here = join_pointer(pointer, key)
                if "x-removed" not in entry:
                    places.setdefault(key, []).append(here)
                    below.append((here, entry))
        level = below
    return places


def nearest(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that are slips of the keyboard away from `word`, best first, at most three.

    A word of up to five letters may have one slip, one of up to eleven two, a longer one three. Case, and `-`
    or a blank for `_`, are no slips.
    """
    limit = 0 if len(word) < 3 else 1 if len(word) < 6 else 2 if len(word) < 12 else 3
    plain = _plain(word)
    scored = []
    for candidate in candidates:
        other = _plain(candidate)
        if plain == other:
            scored.append((0, candidate))
        elif abs(len(plain) - len(other)) <= limit:
            slips = distance(plain, other, limit)
            if slips <= limit:
                scored.append((slips, candidate))
    scored.sort()
    best = scored[0][0] if scored else 0
    return [candidate for slips, candidate in scored if slips <= best + 1][:3]


def related(word: str, candidates: Iterable[str]) -> list[str]:
    """The one candidate that is `word` with whole words more or less at one end; none when there are several."""
    plain = _plain(word)
    found = [
        candidate for candidate in candidates if _extends(plain, candidate) or _extends(candidate, plain)
    ]
    return found if len(found) == 1 else []


def _extends(longer: str, shorter: str) -> bool:
    return len(shorter) >= LONG and (longer.startswith(f"{shorter}_") or longer.endswith(f"_{shorter}"))


def distance(left: str, right: str, limit: int) -> int:
    """How many letters to put in, take out, change or swap; `limit` + 1 when it is more than the limit."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        now = [row] + [0] * len(right)
        for column, other in enumerate(right, 1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            now[column] = cost
        if min(now) > limit:
            return limit + 1
        before, last = last, now
    return last[-1]


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")
