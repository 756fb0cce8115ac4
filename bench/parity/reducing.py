"""The smallest config that still shows a disagreement."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from bench.parity.mutate import Config, block_of, members

Holds = Callable[[Config], bool]


def smallest(config: Config, holds: Holds) -> Config:
    """Leave keys out, whole blocks first, as long as `holds`; then simpler values in the place of what is left."""
    changed = True
    while changed:
        changed = False
        for smaller in steps(config):
            if holds(smaller):
                config, changed = smaller, True
                break
    return config


def steps(config: Config) -> Iterator[Config]:
    keys = list(config)
    if len(keys) > 3:
        half = len(keys) // 2
        yield {key: config[key] for key in keys[:half]}
        yield {key: config[key] for key in keys[half:]}
    for path, value in sorted(members(config), key=lambda member: len(member[0])):
        smaller = copy.deepcopy(config)
        del block_of(smaller, path)[path[-1]]
        yield smaller
        if isinstance(value, dict) and value:
            emptied: Any = copy.deepcopy(config)
            block_of(emptied, path)[path[-1]] = {}
            yield emptied
