"""Where `ast` says that something stands → the character offset in the source's text."""

from __future__ import annotations

from collections.abc import Sequence

from dslint.documents.tree import line_starts


class Offsets:
    """Rows and utf-8 columns of `code` → offsets into a source's text.

    `code` is the source's text itself, but for a byte order mark of `shift` characters before it; or (a
    notebook's cells, put together) `starts` and `ends` say for each character of it where it begins and ends
    in the source.
    """

    __slots__ = ("_ascii", "_code", "_ends", "_lines", "_shift", "_starts")

    def __init__(
        self,
        code: str,
        shift: int = 0,
        starts: Sequence[int] | None = None,
        ends: Sequence[int] | None = None,
    ) -> None:
        self._code = code
        self._ascii = code.isascii()
        self._lines = line_starts(code)
        self._shift = shift
        self._starts = starts
        self._ends = ends

    def index(self, row: int, column: int) -> int:
        """The index into `code`; a place beyond it is its end."""
        if row > len(self._lines):
            return len(self._code)
        start = self._lines[row - 1]
        if self._ascii:
            return start + column
        # A column counts bytes, of which a character has at most four.
        line = self._code[start : start + column]
        if line.isascii():
            return start + column
        return start + len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))

    def start(self, row: int, column: int) -> int:
        index = self.index(row, column)
        if self._starts is None:
            return index + self._shift
        return self._starts[min(index, len(self._starts) - 1)] if self._starts else 0

    def end(self, row: int, column: int) -> int:
        index = self.index(row, column)
        if self._ends is None:
            return index + self._shift
        return self._ends[min(index, len(self._ends)) - 1] if self._ends and index else 0
