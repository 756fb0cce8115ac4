"""Small configs that ask about one key each, for holding a schema against the real engine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dslint.documents.tree import join_pointer, split_pointer

VALUES: tuple[Any, ...] = (
    *(True, False, None, 0, 1, 2, 3, -1, 1.0, 1.5, 0.5, 1e10),
    *("true", "yes", "x", "", "auto", "1", "1.0", "1.5", "-1", " 2 "),
    *([], ["a"], [1], {}, {"a": 1}),
)

BATCH_KEYS = ("/train_batch_size", "/train_micro_batch_size_per_gpu", "/gradient_accumulation_steps")
"""Their arithmetic is a rule's business, not the schema's."""

JUDGED_BY_RULES = (
    "is only supported with ZeRO",
    "compute_grad_norm=false is supported only",
    "Partial offloading only supported",
    "GDS currently only supported for CUDA",
    "curriculum_metrics must be specified",
    "max_tokens must be specified",
    "Elasticity config missing",
)
"""Errors that need two keys, or the machine, to tell; the schemas leave them to the rules."""

SUMS = ("/wall_clock_breakdown", "/flops_profiler/enabled")
"""The engine joins these two with `|`, which floats cannot: 1.0 is an integer to JSON Schema and none to `|`."""


class Probe(NamedTuple):
    pointer: str
    value: Any
    config: dict[str, Any]


def probes(schema: dict[str, Any]) -> list[Probe]:
    """Every key with every value, and an unknown key in every block."""
    found = []
    for pointer, entry in keys(schema):
        if pointer in BATCH_KEYS:
            continue
        for value in VALUES:
            if pointer in SUMS and isinstance(value, float) and value.is_integer():
                continue
            found.append(Probe(pointer, value, config_with(schema, pointer, value)))
        if "properties" in entry and "x-removed" not in entry:
            stranger = join_pointer(pointer, "no_such_key")
            found.append(Probe(stranger, 1, config_with(schema, stranger, 1)))
    return found


def keys(schema: dict[str, Any], pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, entry in schema.get("properties", {}).items():
        here = join_pointer(pointer, name)
        yield here, entry
        yield from keys(entry, here)


def config_with(schema: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A config that is right but for the value at a pointer."""
    config: dict[str, Any] = {"train_batch_size": 1}
    at, block = config, schema
    *parents, last = split_pointer(pointer)
    for name in parents:
        at = at.setdefault(name, {})
        block = block["properties"][name]
        for needed in block.get("required", ()):
            at.setdefault(needed, {} if needed == "different_groups" else False)
    at[last] = value
    if pointer.startswith("/optimizer/params"):
        config["optimizer"]["type"] = "Adam"
    return config


def ask(python: str, configs: list[dict[str, Any]], package: Path | None) -> tuple[str, list[str]]:
    """The version and the verdicts of the DeepSpeed that `python` imports, from `package` when it is given."""
    environment = {**os.environ, "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    done = subprocess.run(
        [python, str(Path(__file__).with_name("verdicts.py"))],
        input=json.dumps(configs),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    return answer["version"].strip(), answer["verdicts"]


def differences(schema: dict[str, Any], asked: list[Probe], verdicts: list[str]) -> list[str]:
    """Where a schema and the engine disagree, in words."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema)
    found = []
    for probe, verdict in zip(asked, verdicts, strict=True):
        if any(text in verdict for text in JUDGED_BY_RULES):
            continue
        if validator.is_valid(probe.config) != (verdict == "ok"):
            found.append(f"{probe.pointer} = {probe.value!r}: the engine says {verdict[:120]}")
    return found
