"""Several files are written all or none: what was written is put back when one of them fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dslint.fixing.writing import Unwritable, write


class Rewrite(NamedTuple):
    """A file by its path, with the text that it has and the text that it shall have."""

    path: str
    old: str
    new: str


def write_all(rewrites: Sequence[Rewrite]) -> None:
    """Replace every text, or leave every file as it was.

    Raises:
        Unwritable: one file could not be written; the others are as they were, or the message names those that are not.
    """
    begun: list[Rewrite] = []
    try:
        for rewrite in rewrites:
            begun.append(rewrite)
            write(rewrite.path, rewrite.old, rewrite.new)
    except Unwritable as error:
        stuck = put_back(begun[:-1])
        end = f"; {', '.join(stuck)} could not be put back" if stuck else "; no file was changed"
        raise Unwritable(f"{error}{end}") from error
    except BaseException:
        # An interrupt from the keyboard, maybe just behind a write: half a move is worse than none.
        put_back(begun)
        raise


def put_back(begun: Sequence[Rewrite]) -> list[str]:
    """Undo the writes, the last first; the paths where that failed."""
    stuck = []
    for rewrite in reversed(begun):
        try:
            write(rewrite.path, rewrite.new, rewrite.old)
        except Unwritable:
            stuck.append(rewrite.path)
    return stuck
