"""Every ignore that a source holds, in comments and in `"//dslint"` keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dslint.documents.tree import Document, Source, join_pointer, walk
from dslint.launches.discover import kind_of
from dslint.rules.finding import Finding
from dslint.silencing.comments import Comment, comment_at, logical_rows, row_count, stands_alone

KEY: Final = "//dslint"
PHRASE: Final = re.compile(r"dslint:[ \t]*ignore\b(?P<list>\[(?P<names>[^\]\r\n]*)\])?")
VALUE: Final = re.compile(r"\s*ignore\b(?P<list>\[(?P<names>[^\]]*)\])?(?P<reason>.*)", re.DOTALL)
MARKERS: Final = ("#", "//", "/*")


class Name(NamedTuple):
    """A rule's name or code as it is written in an ignore, and where."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ignore:
    """One ignore, from `start` to `end` with its reason. Without names it is invalid.

    In a comment, `rows` are the rows that it speaks for. As a key, `document` and `pointer` name its object.
    """

    source: Source
    names: tuple[Name, ...]
    start: int
    end: int
    comment: Comment | None = None
    rows: frozenset[int] = frozenset()
    document: Document | None = None
    pointer: str = ""
    reason: str = ""

    def covers(self, finding: Finding, row: int) -> bool:
        """Does it speak for the place of a finding in its source? `row` is that place's first row."""
        if self.document is None:
            return row in self.rows
        place, root = finding.place, self.document.root
        if not root.start <= place.start <= root.end:
            return False
        pointer = place.pointer or ""
        return not self.pointer or pointer == self.pointer or pointer.startswith(self.pointer + "/")


def ignores_in(source: Source, documents: Sequence[Document]) -> list[Ignore]:
    """The ignores of a source, in the order of its text. `documents` are those that stand in it."""
    if "dslint" not in source.text:
        return []
    found = [*in_comments(source, documents), *in_keys(documents)]
    return sorted(found, key=lambda ignore: ignore.start)


def in_comments(source: Source, documents: Sequence[Document]) -> Iterator[Ignore]:
    for match in PHRASE.finditer(source.text):
        comment = comment_at(source, documents, match.start())
        if comment is None:
            continue
        following = PHRASE.search(source.text, match.end(), comment.inner_end)
        end = following.start() if following else min(comment.inner_end, end_of_row(source.text, match.end()))
        yield Ignore(
            source,
            names_of(match.group("names") or "", match.start("names")),
            match.start(),
            end,
            comment=comment,
            rows=rows_of(source, comment, match.start()),
            reason=source.text[match.end() : end].strip(),
        )


def end_of_row(text: str, offset: int) -> int:
    return min(
        (at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0), default=len(text)
    )


def rows_of(source: Source, comment: Comment, offset: int) -> frozenset[int]:
    """The rows that a comment speaks for: its own and the next one that is no comment on its own row.

    A command that is continued over several rows is one row here: no comment can stand inside it.
    """
    first, last = source.position(comment.start).row, source.position(max(comment.start, comment.end - 1)).row
    following, end = last + 1, row_count(source)
    if stands_alone(source, comment):
        while following < end and source.line(following).lstrip().startswith(MARKERS):
            following += 1
    rows = {*range(first, last + 1), min(following, end)}
    if kind_of(source.path) not in ("json", "yaml", "notebook"):
        for row in (first, min(following, end)):
            rows.update(logical_rows(source, row))
    return frozenset(rows)


def in_keys(documents: Iterable[Document]) -> Iterator[Ignore]:
    for document in documents:
        if document.syntax != "json" or document.derived or f'"{KEY}"' not in document.source.text:
            continue
        for pointer, node in walk(document.root):
            for member in node.members:
                if member.key == KEY:
                    names, reason = value_of(member.node.value)
                    yield Ignore(
                        document.source,
                        tuple(Name(name, member.node.start, member.node.end) for name in names),
                        member.key_start,
                        member.node.end,
                        document=document,
                        pointer=pointer,
                        reason=reason,
                    )


def value_of(value: object) -> tuple[list[str], str]:
    match = VALUE.match(value) if isinstance(value, str) else None
    if match is None:
        return [], ""
    return [name.text for name in names_of(match.group("names") or "", 0)], match.group("reason").strip()


def key_pointer(ignore: Ignore) -> str:
    return join_pointer(ignore.pointer, KEY)


def names_of(text: str, offset: int) -> tuple[Name, ...]:
    """The names of a list, `fp16-and-bf16, DS203`, with their places."""
    return tuple(
        Name(match.group(), offset + match.start(), offset + match.end())
        for match in re.finditer(r"[^\s,]+", text)
    )
