"""Ignores for findings that are to stay: edits that write them into the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dslint.documents.tree import Document, Source
from dslint.fixing.fix import Change, Edit
from dslint.launches.discover import kind_of
from dslint.rules.finding import Finding
from dslint.silencing.comments import documents_in, logical_rows, row_start
from dslint.silencing.ignores import KEY, Ignore, ignores_in, value_of


class Added(NamedTuple):
    """The edits that silence findings, and the findings for which there is no place for an ignore."""

    edits: list[Edit]
    left: list[Finding]


def add_ignores(findings: Iterable[Finding], documents: Iterable[Document], reason: str = "") -> Added:
    """An ignore for every finding: a comment before its row, or in plain JSON the root's `"//dslint"` key.

    An ignore that is there already gets the name. `reason` is written behind new ones.
    """
    documents = list(documents)
    added = Added([], [])
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.place.source.path, []).append(finding)
    for group in by_path.values():
        source = group[0].place.source
        add_in_source(source, group, documents_in(source, documents), reason, added)
    return added


def add_in_source(
    source: Source, findings: Sequence[Finding], documents: Sequence[Document], reason: str, added: Added
) -> None:
    ignores = [ignore for ignore in ignores_in(source, documents) if ignore.names]
    rows: dict[int, list[str]] = {}
    plain: dict[int, tuple[Document, list[str]]] = {}
    wider: dict[int, tuple[Ignore, list[str]]] = {}
    for finding in findings:
        row = source.position(finding.place.start).row
        document = next((each for each in documents if each.syntax == "json" and holds(each, finding)), None)
        known = next((ignore for ignore in ignores if ignore.comment and ignore.covers(finding, row)), None)
        if known is not None:
            append(wider.setdefault(known.start, (known, []))[1], finding.name)
        elif document is not None and is_broken(document):
            added.left.append(finding)
        elif document is not None and not takes_comments(document):
            if document.root.kind == "object" and not document.derived:
                append(plain.setdefault(document.root.start, (document, []))[1], finding.name)
            else:
                added.left.append(finding)
        elif kind_of(source.path) == "notebook" or not row_is_free(source, row, document):
            added.left.append(finding)
        else:
            joined = document is None and kind_of(source.path) not in ("json", "yaml")
            append(rows.setdefault(logical_rows(source, row)[0] if joined else row, []), finding.name)
    for ignore, names in wider.values():
        end = ignore.names[-1].end
        added.edits.append(Edit(source, end, end, "".join(f", {name}" for name in names)))
    for row, names in rows.items():
        marker = "//" if any(doc.syntax == "json" and row_in(doc, row) for doc in documents) else "#"
        added.edits.append(comment_before(source, row, marker, names, reason))
    for document, names in plain.values():
        added.edits.extend(key_edits(document, names, reason))


def append(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def holds(document: Document, finding: Finding) -> bool:
    return document.root.start <= finding.place.start <= document.root.end


def row_in(document: Document, row: int) -> bool:
    source = document.source
    return source.position(document.root.start).row <= row <= source.position(document.root.end).row


def row_is_free(source: Source, row: int, document: Document | None) -> bool:
    """Can a comment stand before a row? Not before a `#!`, nor where a script's own text begins the row."""
    if row == 1 and source.line(1).startswith("#!"):
        return False
    start = offset_of(source, row)
    return document is None or not source.text[start : max(start, document.root.start)].strip()


def is_broken(document: Document) -> bool:
    return any(problem.kind == "syntax" for problem in document.problems)


def takes_comments(document: Document) -> bool:
    """Plain JSON stays plain: comments go where there is one already, or where the name promises them."""
    if any(problem.kind == "comment" for problem in document.problems):
        return True
    return document.source.path.lower().endswith((".json5", ".jsonc", ".hjson"))


def comment_before(source: Source, row: int, marker: str, names: Sequence[str], reason: str) -> Edit:
    """A comment on a row of its own, indented like the row that it is for."""
    line = source.line(row).removeprefix("\ufeff")
    indent = line[: len(line) - len(line.lstrip())]
    start = offset_of(source, row)
    end = "\r\n" if "\r\n" in source.text else "\n"
    said = f"dslint: ignore[{', '.join(names)}] {reason}".strip()
    return Edit(source, start, start, f"{indent}{marker} {said}{end}")


def offset_of(source: Source, row: int) -> int:
    """The offset at which a row begins, past a BOM."""
    low, high = 0, len(source.text)
    while low < high:
        middle = (low + high) // 2
        if source.position(middle).row < row:
            low = middle + 1
        else:
            high = middle
    start = row_start(source, low)
    return start + 1 if source.text.startswith("\ufeff", start) else start


def key_edits(document: Document, names: Sequence[str], reason: str) -> list[Edit]:
    # Imported here: only this needs the editor.
    from dslint.documents.editing import edits

    present = document.root.get(KEY)
    old, said = value_of(present.value) if present is not None else ([], "")
    whole = (
        f"ignore[{', '.join([*old, *(name for name in names if name not in old)])}] {said or reason}".strip()
    )
    return list(edits(document, (Change("set", "/" + KEY.replace("/", "~1"), whole),)))
