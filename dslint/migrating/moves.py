"""What a move is made of: changes of documents, edits of other texts, and what is left for people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from dslint.documents.tree import Document, Place
from dslint.fixing.fix import Change, Edit
from dslint.migrating.formats import Format


class CannotMove(Exception):
    """The move can't be made whole, so nothing is written; the message is a sentence that names the file."""


class Left(NamedTuple):
    """A place that the move does not reach, and why, in a sentence without its first capital."""

    place: Place
    reason: str


class Moves:
    """The moves of one run, gathered from launch after launch; the same move of two launches counts once.

    `changes` are by path and start of their document, `texts` what to tell of each file.
    """

    __slots__ = ("changes", "documents", "edits", "left", "texts", "to")

    def __init__(self, to: Format) -> None:
        self.to: Format = to
        self.documents: dict[tuple[str, int], Document] = {}
        self.changes: dict[tuple[str, int], list[Change]] = {}
        self.edits: list[Edit] = []
        self.left: list[Left] = []
        self.texts: dict[str, list[str]] = {}

    def change(self, document: Document, changes: Sequence[Change], text: str) -> None:
        place = (os.path.abspath(document.source.path), document.root.start)
        self.documents.setdefault(place, document)
        wanted = self.changes.setdefault(place, [])
        wanted += [change for change in changes if change not in wanted]
        self.tell(document.source.path, text)

    def edit(self, edits: Sequence[Edit], text: str) -> None:
        new = [edit for edit in edits if edit not in self.edits]
        if new:
            self.edits += new
            self.tell(new[0].source.path, text)

    def leave(self, place: Place, reason: str) -> None:
        left = Left(place, reason)
        if left not in self.left:
            self.left.append(left)

    def tell(self, path: str, text: str) -> None:
        told = self.texts.setdefault(path, [])
        if text not in told:
            told.append(text)

    def __bool__(self) -> bool:
        return bool(self.changes or self.edits)


def row_of(place: Place) -> str:
    """`train.sh:12`, as messages name a place."""
    return f"{place.source.path}:{place.source.position(place.start).row}"
