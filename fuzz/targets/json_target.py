"""The JSON parser: never raises, spans in place, and of one mind with Python's json and hjson."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from dslint.documents.json import parse
from dslint.documents.tree import Document, Source
from fuzz import seeds as seed
from fuzz.promises import check_document, text_of

try:
    import hjson
except ImportError:
    hjson = None  # The other promises are kept without it.

WORDS: Final = (
    *('{"', '": ', "'''", "//", "/*", "*/", "#", "\\u", "\\ud83d", "true", "null", "NaN", "Infinity"),
    *("1e400", "-0", "0x1", "1.0", "01", "{{ x }}", "$X", "\r\n", "\ufeff", "\u00a0", "\u201c", "auto"),
)
DEEP: Final = 60
"""Levels from which on Python's own stack decides what the loaders say."""
STOPS: Final = frozenset({"duplicate-key", "number-overflow", "constant"})


def seeds() -> Iterator[bytes]:
    yield from seed.files(seed.CORPUS, "*.json")
    yield from seed.files(seed.ROOT / "samples", "*.json")
    yield from seed.examples(".json")
    yield from seed.blocks("json", "hjson")


def one(data: bytes) -> None:
    text = text_of(data)
    document = parse(Source("ds_config.json", text))
    check_document(document)
    check_order(document)
    parse(Source("x.sh", text), substitute=lambda name: name)
    if max(text.count("{"), text.count("[")) < DEEP:
        check_loaders(document)


def check_order(document: Document) -> None:
    """Children stand one behind the other, within their parent."""
    stack = [document.root]
    while stack:
        node = stack.pop()
        children = [member.node for member in node.members] + node.items
        for member in node.members:
            assert node.start <= member.key_start <= member.key_end <= member.node.start
        for child, after in pairwise(children):
            assert child.end <= after.start
        assert all(node.start <= child.start <= child.end <= node.end for child in children)
        stack += children


def check_loaders(document: Document) -> None:
    json_accepts, json_value = outcome(json.loads, document.source.text)
    assert accepts(document, "json") == json_accepts, f"json {'reads' if json_accepts else 'refuses'} it"
    if json_accepts:
        assert repr(document.root.plain()) == repr(json_value), "json reads something else"
    if hjson is None:
        return
    hjson_accepts, hjson_value = outcome(read_hjson, document.source.text)
    assert accepts(document, "hjson") == hjson_accepts, f"hjson {'reads' if hjson_accepts else 'refuses'} it"
    if json_accepts:
        differs = any(problem.kind == "read-differently" for problem in document.problems)
        assert differs == (hjson_accepts and hjson_value != json_value), "NaN is told wrongly"
    elif hjson_accepts:
        assert document.root.plain() == hjson_value, "hjson reads something else"
    else:
        told = [p for p in document.problems if len(p.refused_by) == 2 or p.kind in STOPS]
        assert told, "neither loader reads it, and nothing says so"


def accepts(document: Document, loader: str) -> bool:
    return not any(loader in problem.refused_by for problem in document.problems)


def read_hjson(text: str) -> Any:
    return hjson.loads(text, object_pairs_hook=refuse_duplicates)


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate keys")
    return dict(pairs)


def outcome(load: Callable[[str], Any], text: str) -> tuple[bool, Any]:
    """Whether a loader accepts the text, and what it reads. Both open files with universal newlines."""
    try:
        return True, load(text.replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, IndexError, OverflowError, RecursionError):
        return False, None
