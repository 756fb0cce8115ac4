"""The whole way, from text to findings to fixes to reports: see fix_promises."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from bench.parity.mutate import Mutator
from fuzz import seeds as seed
from fuzz.fix_promises import Case, check, check_reports
from fuzz.promises import text_of
from fuzz.targets import json_target, python_target, shell_target, yaml_target

NAMES: Final = (
    "ds_config.json",
    "ds_config.json",
    "ds_config.json",
    "accelerate.yaml",
    "train.sh",
    "train.py",
)
RELEASES: Final = ("0.19.8", "0.18.9", "0.16.9", "0.19.3", "0.14.5", "0.17.1")
FRAMEWORKS: Final = (None, "deepspeed", "transformers", "accelerate", "lightning")
WORDS: Final = (
    *json_target.WORDS,
    *(f'"{key}": ' for key in seed.schema_keys()),
    '"auto"',
    "dslint: ignore[",
)


def seeds() -> Iterator[bytes]:
    yield from (b"\x00\x00\x02" + text for text in json_target.seeds())
    yield from (b"\x03\x00\x03" + text for text in yaml_target.seeds())
    yield from (b"\x04\x00\x00" + text[1:] for text in shell_target.seeds() if text[:1] == b"\x00")
    yield from (b"\x05\x00\x00" + text for text in python_target.seeds())


def one(data: bytes) -> None:
    """The first three bytes choose the kind of file, the release and the framework."""
    head = data[:3].ljust(3, b"\0")
    case = Case(
        NAMES[head[0] % len(NAMES)],
        text_of(data[3:]),
        RELEASES[head[1] % len(RELEASES)],
        FRAMEWORKS[head[2] % len(FRAMEWORKS)],  # type: ignore[arg-type]
    )
    check_reports(check(case))


def mutated(data: bytes, chance: random.Random) -> bytes | None:
    """A config with a key more, less, misspelt, moved or of another kind; None where the data holds no plain config."""
    if chance.random() < 0.3:
        return None
    try:
        config: Any = json.loads(data[3:])
    except (ValueError, RecursionError):
        return None
    if not isinstance(config, dict):
        return None
    for _ in range(chance.randint(1, 3)):
        try:
            chance.choice(mutator().kinds)(config, chance)
        except (TypeError, KeyError, AttributeError, IndexError):
            return None  # The mutator is made for configs; this one is too far from being one.
    indent = chance.choice((None, 2, 4, "\t"))
    head = bytes(chance.randrange(6) for _ in range(3)) if chance.random() < 0.5 else data[:3]
    text = json.dumps(config, indent=indent)
    return head + (text.replace("\n", "\r\n") if chance.random() < 0.1 else text).encode()


@cache
def mutator() -> Mutator:
    """Of the corpus, or, where that is absent, of the samples."""
    configs = seed.CORPUS / "configs"
    return Mutator(configs if configs.is_dir() else seed.ROOT / "samples")
