"""Configs that are templates: a word in capitals without quotes (`BATCH_SIZE`) stands for what a script puts there.

Such a file is never loaded as it is. What stands in a placeholder's place is not known, and no fault.
"""

from __future__ import annotations

import re
from typing import Final

from dslint.documents.tree import UNKNOWN, Document, Problem, find

PLACEHOLDER: Final = re.compile(
    r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_?,?|[A-Z]\w*_\w*[A-Z]\w*,?|\$.*|\{\{.*|<[^<>]*>,?|%\(?\w.*|@\w+@,?"
)
WITHOUT_QUOTES: Final = frozenset({"quoteless", "quoteless-swallows"})
# Words that people write in capitals and mean as they stand.
PLAIN: Final = frozenset(
    {"TRUE", "FALSE", "NULL", "NONE", "NAN", "INF", "INFINITY", "ON", "OFF", "YES", "NO"}
)


def without_placeholders(document: Document) -> Document:
    """The document with its placeholders unknown; the same one when there are none."""
    if not any(is_placeholder(document, problem) for problem in document.problems):
        return document
    # Where one word is a placeholder, the other words without quotes are too.
    found = [problem for problem in document.problems if problem.kind in WITHOUT_QUOTES]
    for problem in found:
        node = find(document.root, problem.pointer)
        if node is not None and node.kind == "string":
            node.kind, node.value = "unknown", UNKNOWN
    marked = set(map(id, found))
    problems = tuple(p._replace(kind="placeholder") if id(p) in marked else p for p in document.problems)
    return document._replace(problems=problems)


def is_placeholder(document: Document, problem: Problem) -> bool:
    if problem.kind not in WITHOUT_QUOTES:
        return False
    text = document.source.text[problem.start : problem.end].strip()
    return PLACEHOLDER.fullmatch(text) is not None and text.rstrip(",") not in PLAIN
