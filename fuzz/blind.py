"""One target under the plain mutator: no coverage guides it, and nothing needs to be installed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from fuzz.findings import Recorder
from fuzz.mutate import mutate
from fuzz.targets import Target


def inputs(target: Target, seed: int, most: int) -> Iterator[bytes]:
    """The seeds, then changes of them without end; the same for the same seed."""
    chance = random.Random(seed)
    pool = [data for data in target.seeds() if len(data) <= most] or [b""]
    yield from pool
    words = [word.encode() for word in target.WORDS]
    while True:
        yield changed(target, chance.choice(pool), pool, words, chance, most)


def changed(
    target: Target,
    data: bytes,
    pool: Sequence[bytes],
    words: Sequence[bytes],
    chance: random.Random,
    most: int,
) -> bytes:
    structured = getattr(target, "mutated", None)
    made = structured(data, chance) if structured is not None else None
    return made if made is not None else mutate(data, pool, words, chance, most)


def run(record: Recorder, seconds: float, seed: int, most: int) -> None:
    """Try inputs for some seconds of wall time."""
    end = float("inf")
    for data in inputs(record.target, seed, most):
        # The clock runs from the first input on: making the seeds takes seconds.
        end = min(end, time.monotonic() + seconds)
        record(data)
        if time.monotonic() > end:
            return
