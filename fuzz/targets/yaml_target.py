"""The YAML reader: never raises, spans in place, and of one mind with PyYAML's `safe_load`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dslint.documents import yaml
from dslint.documents.tree import UNKNOWN, Document, Source
from fuzz import seeds as seed
from fuzz.promises import check_document, text_of

try:
    import yaml as pyyaml
except ImportError:
    pyyaml = None  # type: ignore[assignment]

WORDS: Final = (
    *(
        "deepspeed: ",
        "---\n",
        "...\n",
        "- ",
        "? ",
        ": ",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "!!python/object:",
        "|\n",
    ),
    *(
        ">-\n",
        "\t",
        "{{ x }}",
        "{% if %}",
        "${X}",
        "'",
        '"',
        "\\x41",
        "%YAML 1.1\n",
        "# ",
        "\r\n",
        "\ufeff",
        ".inf",
    ),
    *("distributed_type: DEEPSPEED\n", "2024-01-02", "1:30", "0x1F", "[", "]", "{", "}", "~"),
)
BOUNDS: Final = frozenset({"too-long", "too-deep", "too-large"})


def seeds() -> Iterator[bytes]:
    yield from seed.files(seed.CORPUS, "*.yaml", "*.yml")
    yield from seed.examples(".yaml", ".yml")
    yield from seed.blocks("yaml")


def one(data: bytes) -> None:
    text = text_of(data)
    documents = yaml.parse(Source("x.yaml", text))
    for document in documents:
        check_document(document)
    if pyyaml is not None and len(documents) == 1 and is_plain(text):
        check_loader(documents[0])


def is_plain(text: str) -> bool:
    """No template, and nothing at which this reader knows less than PyYAML on purpose."""
    return not any(word in text for word in ("$", "{{", "{%", "<", "\ue000", "---", "...", "%", "!"))


def check_loader(document: Document) -> None:
    if document.root.kind not in ("object", "array"):
        return  # No configuration is a single scalar.
    try:
        value = pyyaml.safe_load(document.source.text)
    # PyYAML itself breaks in several ways on what it cannot read.
    except Exception:
        assert yaml.is_refused(document) or any(p.kind in BOUNDS for p in document.problems), (
            "safe_load refuses it, and nothing says so"
        )
        return
    if any(problem.kind in BOUNDS for problem in document.problems):
        return
    assert not yaml.is_refused(document), "safe_load reads it"
    assert same(document.root.plain(), value), "safe_load reads something else"


def same(mine: Any, loaded: Any) -> bool:
    """Equal, where this reader claims to know."""
    if mine is UNKNOWN:
        return True
    if isinstance(mine, dict):
        if not isinstance(loaded, dict):
            return False
        return all(same(value, loaded[key]) for key, value in mine.items() if key in loaded)
    if isinstance(mine, list):
        return isinstance(loaded, list) and len(mine) == len(loaded) and all(map(same, mine, loaded))
    return repr(mine) == repr(loaded)
