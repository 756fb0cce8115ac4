"""Variants of real configs: a seed and a number give the same variant each time.

A base is a real config as a framework hands it over: "auto" filled with the HF Trainer's default numbers, what it would not
fill removed, and, mostly, the batch numbers of one process. A variant is a base with one or two mutations.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dslint.documents.tree import split_pointer
from dslint.engine.filling import fill
from dslint.releases.release import parse_version
from dslint.releases.schema import known_schemas, schema_for

Config = dict[str, Any]
Path_ = tuple[str, ...]

VALUES: tuple[Any, ...] = (
    *(True, False, None, 0, 1, 2, 3, -1, 1.0, 1.5, 0.5, 1e10, 1e-5),
    *("true", "False", "yes", "x", "", "auto", "1", "1.0", "1.5", "-1", " 2 ", "1e5", "cpu"),
    *([], ["a"], [1], [0.9, 0.999], {}, {"a": 1}),
)
BOUNDARIES: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    3,
    4,
    5,
    0.0,
    1.0,
    -1.0,
    0.5,
    1e-8,
    1e5,
    1e10,
    2**31,
    2**63,
    1e30,
    0.999999,
)
TWICE = 0.35
"""The share of variants with two mutations."""
BLOCK_SHARE = 0.15


class Variant(NamedTuple):
    """`number` of the seed's series; `told` says what was done to which file."""

    number: int
    told: str
    config: Config


class Key(NamedTuple):
    """A key that some release has, with the schema entry of one that has it."""

    path: Path_
    entry: dict[str, Any]


def bases(folder: Path) -> list[tuple[str, Config]]:
    """The folder's configs that are objects and read as strict JSON, without "auto"."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(config, dict):
            fill(config, 1)
            give_batch(config)
            drop_auto(config)
            found.append((path.name, config))
    return found


def give_batch(config: Config) -> None:
    """A program may put its own batch size into what it has read; without any, a base would be refused for that alone."""
    if config.get("train_batch_size") is None and config.get("train_micro_batch_size_per_gpu") is None:
        config["train_micro_batch_size_per_gpu"] = 8


def drop_auto(value: Any) -> None:
    if isinstance(value, dict):
        for key in [key for key, inner in value.items() if inner == "auto"]:
            del value[key]
        for inner in value.values():
            drop_auto(inner)


def known_keys() -> list[Key]:
    """Every key of every release, removed and future ones included; the newest release that has it describes it."""
    found: dict[Path_, dict[str, Any]] = {}
    for name in known_schemas():
        release = parse_version(name)
        if release is not None:
            found.update(entries(schema_for(release), ()))
    return [Key(path, entry) for path, entry in sorted(found.items())]


def entries(schema: Any, path: Path_) -> Iterator[tuple[Path_, dict[str, Any]]]:
    for name, entry in schema.get("properties", {}).items():
        yield (*path, name), entry
        yield from entries(entry, (*path, name))


def pairs(keys: list[Key]) -> list[tuple[Path_, Path_]]:
    """Two names of one thing: a key and what stands in its place, a model's field and its alias."""
    paths = {key.path for key in keys}
    found: list[tuple[Path_, Path_]] = [(("bf16",), ("bfloat16",))]
    for path, entry in keys:
        replaced = entry.get("x-replaced-by")
        if replaced:
            found.append((path, tuple(replaced[1:].split("/"))))
        plain = (*path[:-1], path[-1].removeprefix("stage3_"))
        if plain != path and plain in paths:
            found.append((path, plain))
    for name in known_schemas():
        release = parse_version(name)
        if release is not None:
            for block, schema in [((), schema_for(release)), *entries(schema_for(release), ())]:
                found += [((*block, left), (*block, right)) for left, right in schema.get("x-conflicts", ())]
    return sorted(set(found))


class Mutator:
    """What mutates: the bases, and every key and pair of names that dslint's schemas know."""

    def __init__(self, folder: Path) -> None:
        self.bases = bases(folder)
        if not self.bases:
            raise ValueError(f"{folder} holds no configs, *.json, to mutate")
        self.keys = known_keys()
        self.pairs = pairs(self.keys)
        self.kinds: tuple[Callable[[Config, random.Random], str], ...] = (
            *(
                self.typo,
                self.moved,
                self.retyped,
                self.retyped,
                self.bounded,
                self.bounded,
                self.added,
                self.added,
            ),
            *(
                self.added,
                self.flipped,
                self.twice_named,
                self.quoted,
                self.nothing,
                self.dropped,
                self.automatic,
            ),
            *(self.blocked, self.renamed, self.batch),
        )

    def variant(self, seed: int, number: int) -> Variant:
        chance = random.Random(f"{seed}:{number}")
        name, base = chance.choice(self.bases)
        config = copy.deepcopy(base)
        if chance.random() < 0.8:
            one_process(config)
        told = [chance.choice(self.kinds)(config, chance)]
        if chance.random() < TWICE:
            told.append(chance.choice(self.kinds)(config, chance))
        return Variant(number, f"{name}: {'; '.join(filter(None, told))}", config)

    def typo(self, config: Config, chance: random.Random) -> str:
        path = some(config, chance)
        if path is None:
            return ""
        key = misspelt(path[-1], chance)
        rename(config, path, key)
        return f"{'.'.join(path)} -> {key}"

    def moved(self, config: Config, chance: random.Random) -> str:
        path = some(config, chance)
        blocks = [(), *(p for p, value in members(config) if isinstance(value, dict))]
        target = chance.choice(blocks)
        if path is None or target[: len(path)] == path:
            return ""
        value = block_of(config, path).pop(path[-1])
        block_of(config, (*target, "x"))[path[-1]] = value
        return f"{'.'.join(path)} into {'.'.join(target) or 'the top'}"

    def retyped(self, config: Config, chance: random.Random) -> str:
        return put(config, some(config, chance, leaves=True), copy.deepcopy(chance.choice(VALUES)))

    def bounded(self, config: Config, chance: random.Random) -> str:
        return put(config, some(config, chance, kinds=(int, float)), chance.choice(BOUNDARIES))

    def added(self, config: Config, chance: random.Random) -> str:
        """A key that some release has, with its default, a value of its kind or any value."""
        key = chance.choice(self.keys)
        at = config
        for name in key.path[:-1]:
            inner = at.setdefault(name, {})
            if not isinstance(inner, dict):
                return ""
            at = inner
        at[key.path[-1]] = fitting(key.entry, chance)
        return f"{'.'.join(key.path)} = {at[key.path[-1]]!r}"

    def flipped(self, config: Config, chance: random.Random) -> str:
        """A switch turned, or another stage."""
        path = some(config, chance, kinds=(bool,))
        if path is None or chance.random() < 0.2:
            zero = config.get("zero_optimization")
            if not isinstance(zero, dict):
                return ""
            return put(config, ("zero_optimization", "stage"), chance.choice((0, 1, 2, 3)))
        return put(config, path, not value_at(config, path))

    def twice_named(self, config: Config, chance: random.Random) -> str:
        """The two names of a thing; or where one stands, the other in its place."""
        left, right = chance.choice(self.pairs)
        value = value_at(config, left)
        other = value_at(config, right)
        known = value if value is not None else other
        if known is None:
            entry = next((key.entry for key in self.keys if key.path == right), {})
            known = {"enabled": True} if "properties" in entry else fitting(entry, chance)
        told = [put(config, path, copy.deepcopy(known), make=True) for path in (left, right)]
        return " and ".join(told)

    def quoted(self, config: Config, chance: random.Random) -> str:
        path = some(config, chance, kinds=(bool, int, float))
        if path is None:
            return ""
        value = value_at(config, path)
        text = json.dumps(value) if chance.random() < 0.7 else str(value)
        return put(config, path, text)

    def nothing(self, config: Config, chance: random.Random) -> str:
        return put(config, some(config, chance), None)

    def dropped(self, config: Config, chance: random.Random) -> str:
        path = some(config, chance)
        if path is None:
            return ""
        del block_of(config, path)[path[-1]]
        return f"without {'.'.join(path)}"

    def automatic(self, config: Config, chance: random.Random) -> str:
        return put(config, some(config, chance), "auto")

    def blocked(self, config: Config, chance: random.Random) -> str:
        """A block that is something else."""
        path = some(config, chance, kinds=(dict,))
        value: Any = chance.choice((True, False, [], {}, "auto", "cpu", 2, [{}]))
        return put(config, path, copy.deepcopy(value))

    def renamed(self, config: Config, chance: random.Random) -> str:
        """Another optimizer or scheduler than was."""
        block, names = chance.choice(
            (
                (
                    "optimizer",
                    (
                        "Adam",
                        "adamw",
                        "AdamW",
                        "SGD",
                        "Lamb",
                        "OneBitAdam",
                        "Muon",
                        "Lion",
                        "Adagrad",
                        "adam8",
                    ),
                ),
                (
                    "scheduler",
                    ("WarmupLR", "WarmupDecayLR", "OneCycle", "LRRangeTest", "WarmupCosineLR", "cosine"),
                ),
            )
        )
        if not isinstance(config.get(block), dict):
            config[block] = {"params": {}}
        return put(config, (block, "type"), chance.choice(names))

    def batch(self, config: Config, chance: random.Random) -> str:
        names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
        return put(
            config,
            (chance.choice(names),),
            chance.choice((0, 1, 2, 3, 8, -1, 1.5, 2.0, "4", None, "auto", True)),
        )


def one_process(config: Config) -> None:
    """Batch numbers that fit one process: the micro batch and the accumulation tell the rest."""
    if config.get("train_micro_batch_size_per_gpu") is not None:
        config.pop("train_batch_size", None)


def members(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), inner
            yield from members(inner, (*path, key))


def some(
    config: Config, chance: random.Random, leaves: bool = False, kinds: tuple[type, ...] = ()
) -> Path_ | None:
    """The path of some key; of a leaf, or of one that holds just these kinds of value."""
    found = [
        path
        for path, value in members(config)
        if not (leaves and isinstance(value, dict)) and (not kinds or type(value) in kinds)
    ]
    return chance.choice(found) if found else None


def block_of(config: Config, path: Path_) -> Config:
    for key in path[:-1]:
        config = config[key]
    return config


def value_at(config: Any, path: Path_) -> Any:
    for key in path:
        config = config.get(key) if isinstance(config, dict) else None
    return config


def put(config: Config, path: Path_ | None, value: Any, make: bool = False) -> str:
    """Set a value; what was done, or nothing where there is no such place."""
    if path is None:
        return ""
    for key in path[:-1]:
        inner = config.setdefault(key, {}) if make else config.get(key)
        if not isinstance(inner, dict):
            return ""
        config = inner
    config[path[-1]] = value
    return f"{'.'.join(path)} = {value!r}"


def without(config: Config, pointers: Iterable[str]) -> Config:
    """A copy without what stands at some JSON pointers, or, where nothing does, without the block that lacks it."""
    smaller = copy.deepcopy(config)
    for pointer in pointers:
        path = tuple(split_pointer(pointer))
        while path and value_at(config, path) is None and path[-1] not in (value_at(config, path[:-1]) or ()):
            path = path[:-1]
        block = value_at(smaller, path[:-1]) if path else None
        if isinstance(block, dict):
            block.pop(path[-1], None)
    return smaller


def rename(config: Config, path: Path_, key: str) -> None:
    block = block_of(config, path)
    renamed = [(key if name == path[-1] else name, value) for name, value in block.items()]
    block.clear()
    block.update(renamed)


def misspelt(key: str, chance: random.Random) -> str:
    at = chance.randrange(len(key) + 1)
    slip = chance.randrange(7)
    if slip == 0:
        return key[:at] + key[at + 1 :] or "x"
    if slip == 1:
        return key[:at] + chance.choice("aeiourstn_") + key[at:]
    if slip == 2:
        return key[:at] + key[at : at + 2][::-1] + key[at + 2 :]
    if slip == 3:
        return key.replace("_", "-") if "_" in key else key.upper()
    if slip == 4:
        return key + "s"
    if slip == 5:
        return key.title().replace("_", "")
    return "_" + key


def fitting(entry: dict[str, Any], chance: random.Random) -> Any:
    """A value for a key: any at all at times, mostly its default or one of its kind."""
    if "properties" in entry and chance.random() > BLOCK_SHARE:
        return {} if chance.random() < 0.5 else {"enabled": chance.choice((True, False))}
    wild = chance.random()
    if wild < 0.3:
        return copy.deepcopy(chance.choice(VALUES))
    allowed = entry.get("x-allowed") or entry.get("enum")
    if allowed and wild < 0.8:
        return chance.choice(allowed)
    kind = entry.get("$ref", "").rpartition("/")[2].rstrip("?")
    if kind == "boolean":
        return chance.choice((True, False))
    if kind in ("integer", "number"):
        return chance.choice(BOUNDARIES)
    return copy.deepcopy(entry.get("default"))


__all__ = ["Config", "Mutator", "Variant"]
