"""Hjson text → edits that make it strict JSON; and edits that leave each key once."""

from __future__ import annotations

from typing import Final

from dslint.documents.editing import CannotEdit
from dslint.documents.json import MAX_PROBLEMS
from dslint.documents.json_editing import Sheet, written
from dslint.documents.json_layout import Layout, past_newline
from dslint.documents.tree import Document, Node, Problem, Source, walk
from dslint.fixing.fix import Edit

MAX_DUPLICATES: Final = 100  # each removal reads the text anew


def strict_json(document: Document, comments: bool = False) -> list[Edit]:
    """What to replace so that Python's json reads what hjson reads now.

    Comments have no place in strict JSON: they go when `comments` is true, else they stay and json still
    stops.

    Raises:
        CannotEdit: neither loader reads the text, or it has a value that JSON cannot write.
    """
    source = document.source
    kinds = [problem.kind for problem in document.problems]
    for problem in document.problems:
        if problem.kind in ("syntax", "placeholder") or kinds.count(problem.kind) >= MAX_PROBLEMS:
            raise CannotEdit(f"{source.path} cannot be made strict JSON: {problem.message}")
    layout = Layout(source.text, document.root, len(source.text))
    edits = [edit for problem in document.problems for edit in _mended(layout, source, problem, comments)]
    for _, node in walk(document.root):
        for member in node.members:
            if not _is_strict(source.text[member.key_start : member.key_end]):
                edits.append(Edit(source, member.key_start, member.key_end, written(member.key)))
        edits += _strict_scalar(source, node)
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def without_duplicates(document: Document) -> list[Edit]:
    """What to remove so that each key stands once in its object: the last, which json reads, stays.

    Raises:
        CannotEdit: the text has a syntax error.
    """
    kinds = [problem.kind for problem in document.problems]
    if kinds.count("duplicate-key") > MAX_DUPLICATES:
        raise CannotEdit(f"{document.source.path} has more than {MAX_DUPLICATES} keys twice")
    sheet = Sheet(document)
    while (found := _duplicate(sheet.now().root)) is not None:
        sheet.remove_one(*found)
    return sheet.draft.edits()


def _duplicate(root: Node) -> tuple[Node, int] | None:
    """An object and the number of a member in it whose key comes again."""
    for _, node in walk(root):
        last = {member.key: i for i, member in enumerate(node.members)}
        if len(last) < len(node.members):
            return node, next(i for i, member in enumerate(node.members) if last[member.key] != i)
    return None


def _mended(layout: Layout, source: Source, problem: Problem, comments: bool) -> list[Edit]:
    start, end = problem.start, problem.end
    if problem.kind in ("trailing-comma", "bom"):
        return [Edit(source, start, end, "")]
    if problem.kind == "missing-comma":
        return [Edit(source, start, start, ",")]
    if problem.kind == "missing-braces":
        return [Edit(source, start, start, "{"), Edit(source, end, end, "}")]
    if problem.kind == "empty":
        return [Edit(source, end, end, "{}")]
    if problem.kind == "comment" and comments:
        return [Edit(source, *_comment_span(layout, start, end), "")]
    return []


def _comment_span(layout: Layout, start: int, end: int) -> tuple[int, int]:
    """A comment with the blanks before it, or with its whole row when it stands alone there."""
    text = layout.text
    begin = layout.row_start(start) + len(text[layout.row_start(start) : start].rstrip(" \t"))
    after = layout.past_blanks(end)
    if layout.starts_row(start) and (after == len(text) or text[after] in "\r\n"):
        return max(begin, 1 if text.startswith("\ufeff") else 0), past_newline(text, after)
    if after == len(text) or text[after] in "\r\n":
        return begin, end
    return start, (after if begin < start else end)


def _strict_scalar(source: Source, node: Node) -> list[Edit]:
    text = source.text[node.start : node.end]
    if node.kind not in ("string", "number") or (
        text.isascii() if node.kind == "number" else _is_strict(text)
    ):
        return []
    return [Edit(source, node.start, node.end, written(node.value))]


def _is_strict(text: str) -> bool:
    """Whether this is a string as JSON writes it."""
    import json

    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False
