"""Offsets into a text ↔ the protocol's positions: rows from 0, columns in UTF-8, UTF-16 or UTF-32 units."""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol import types

from dslint.documents.tree import line_starts

Encoding = types.PositionEncodingKind | str


class Lines:
    """A text by its rows. `\\n`, `\\r\\n` and a lone `\\r` end a row, and nothing else does."""

    __slots__ = ("_starts", "_text", "_width")

    def __init__(self, text: str, encoding: Encoding = types.PositionEncodingKind.Utf16) -> None:
        self._text = text
        self._starts = line_starts(text)
        self._width = WIDTHS[str(getattr(encoding, "value", encoding))]

    def position(self, offset: int) -> types.Position:
        row = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[row] : offset]
        return types.Position(row, len(before) if before.isascii() else sum(map(self._width, before)))

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def offset(self, position: types.Position) -> int:
        """The offset of a position; one beyond its row's end is that end, one inside of a character its beginning."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        row = self.row(position.line)
        if row.isascii():
            return start + min(position.character, len(row))
        units = 0
        for index, character in enumerate(row):
            units += self._width(character)
            if units > position.character:
                return start + index
        return start + len(row)

    def row(self, number: int) -> str:
        """The text of a row, counted from 0, without its line end."""
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[start:end].rstrip("\r\n")


def utf8_width(character: str) -> int:
    code = ord(character)
    if code < 0x80:
        return 1
    if code < 0x800:
        return 2
    return 3 if code < 0x10000 else 4


def utf16_width(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1


WIDTHS = {"utf-8": utf8_width, "utf-16": utf16_width, "utf-32": len}
