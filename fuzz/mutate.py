"""A plain mutator of bytes: what fuzzing does where nothing tells it which code an input reaches."""

from __future__ import annotations

import random
from collections.abc import Sequence


def mutate(
    data: bytes, others: Sequence[bytes], words: Sequence[bytes], chance: random.Random, most: int
) -> bytes:
    """Some bytes with one to four changes: words put in, pieces gone, doubled, swapped, or taken from another input."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((0, 1, 2, 4, 16, 64)))
        kind = chance.randrange(7)
        if kind <= 1:
            data = data[:at] + chance.choice(words) + data[end if kind else at :]
        elif kind == 2:
            data = data[:at] + data[end:]
        elif kind == 3:
            data = data[:at] + data[at:end] * chance.choice((2, 3, 50)) + data[end:]
        elif kind == 4:
            data = data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]
        elif kind == 5:
            other = chance.choice(others)
            start = chance.randrange(len(other) + 1)
            data = data[:at] + other[start : start + chance.choice((8, 64, 512))] + data[end:]
        else:
            rows = data.splitlines(keepends=True)
            chance.shuffle(rows[: chance.randint(2, 6)])
            gone = chance.randrange(len(rows) + 1)
            data = b"".join(rows[:gone] + rows[gone + 1 :])
    return data[:most]
