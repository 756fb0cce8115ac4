"""The walk against `jsonschema` and against what the real engine said, on real configs and on made-up ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from plain import node_of
from probes import config_with, probes

from dslint.documents import json as documents
from dslint.documents.tree import Source
from dslint.releases.release import NEWEST, Release, parse_version
from dslint.releases.schema import known_schemas, schema_for
from dslint.releases.walk import walk

TRIED = ("0.14.5", "0.15.4", "0.16.9", "0.17.6", "0.18.9", "0.19.8")


def release(name: str) -> Release:
    found = parse_version(name)
    assert found is not None
    return found


def refused(schema: Any, root: Any) -> bool:
    return any(violation.refused for violation in walk(schema, root))


@pytest.fixture(scope="module")
def trees(corpus: Path) -> list[tuple[str, Any]]:
    """Every real config that can be read and is an object: its name and its tree."""
    found = []
    for path in sorted((corpus / "configs").glob("*.json")):
        document = documents.parse(Source(path.name, path.read_text(encoding="utf-8")))
        if document.root.kind == "object" and not any("hjson" in p.refused_by for p in document.problems):
            found.append((path.name, document.root))
    assert len(found) > 250
    return found


@pytest.mark.parametrize("name", known_schemas())
def test_the_walk_refuses_what_jsonschema_calls_invalid(name, trees):
    schema = schema_for(release(name))
    validator = Draft202012Validator(schema)
    for file, root in trees:
        assert refused(schema, root) != validator.is_valid(root.plain()), file


@pytest.mark.parametrize("name", TRIED)
def test_nothing_is_refused_that_the_engine_takes(name, corpus, trees):
    verdicts = {
        row["file"]: row for row in map(json.loads, (corpus / "verdicts.jsonl").open(encoding="utf-8"))
    }
    schema = schema_for(release(name))
    for file, root in trees:
        row = verdicts[f"configs/{file}"]
        if row["parse"] == "ok" and row["load_raw"][name] == "ok":
            assert not refused(schema, root), file


@pytest.mark.parametrize("name", TRIED)
def test_refusals_of_one_key_are_all_explained(name, corpus, trees):
    """What is left for the rules takes two keys, or the machine, to tell."""
    verdicts = {
        row["file"]: row for row in map(json.loads, (corpus / "verdicts.jsonl").open(encoding="utf-8"))
    }
    schema = schema_for(release(name))
    left = ("Either train_batch_size or", "cannot be simultaneously enabled", "GDS currently only")
    for file, root in trees:
        row = verdicts[f"configs/{file}"]
        word = row["load_raw"][name] if row["parse"] == "ok" else "ok"
        if word != "ok" and not any(text in word for text in left):
            assert refused(schema, root), f"{file}: {word}"


@pytest.mark.parametrize("name", ["0.9.5", "0.14.5", "0.17.0", "0.17.1", "0.19.8"])
def test_the_walk_agrees_with_jsonschema_key_by_key(name):
    schema = schema_for(release(name))
    validator = Draft202012Validator(schema)
    for probe in probes(schema):
        assert refused(schema, node_of(probe.config)) != validator.is_valid(probe.config), probe


NEWEST_SCHEMA = schema_for(NEWEST)
POINTERS = sorted({probe.pointer for probe in probes(NEWEST_SCHEMA)})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(["auto", "true", "False", "1e5", "0x1", "1_0", "٣", " 1", "cpu", "nvme"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def merge(into: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    for key, value in other.items():
        both = isinstance(into.get(key), dict) and isinstance(value, dict)
        into[key] = merge(into[key], value) if both else value
    return into


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(POINTERS), VALUES), max_size=6))
def test_the_walk_agrees_with_jsonschema_on_anything(parts):
    config: dict[str, Any] = {}
    for pointer, value in parts:
        merge(config, json.loads(json.dumps(config_with(NEWEST_SCHEMA, pointer, value))))
    assert refused(NEWEST_SCHEMA, node_of(config)) != Draft202012Validator(NEWEST_SCHEMA).is_valid(config)
