"""The texts that the editor holds: opened, changed edit by edit, closed.

pygls keeps such texts too, but splits rows at U+2028 and its kin, where the protocol does not; an edit below one would go
astray.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from dslint.launches.discover import FileKind, kind_of
from dslint.server.positions import Encoding, Lines

# What a file without a telling name is, by the editor's word for its language.
LANGUAGES: dict[str, FileKind] = {
    "json": "json",
    "jsonc": "json",
    "json5": "json",
    "hjson": "json",
    "yaml": "yaml",
    "python": "python",
    "shellscript": "shell",
    "sh": "shell",
    "bash": "shell",
    "makefile": "makefile",
    "make": "makefile",
    "dockerfile": "dockerfile",
}


class Buffer:
    """A text as the editor shows it, at one version; never changed in place."""

    __slots__ = ("_lines", "kind", "path", "text", "uri", "version")

    def __init__(self, uri: str, path: str, kind: FileKind | None, version: int, text: str) -> None:
        self.uri = uri
        self.path = path
        self.kind = kind
        self.version = version
        self.text = text
        self._lines: Lines | None = None

    def lines(self, encoding: Encoding) -> Lines:
        if self._lines is None:
            self._lines = Lines(self.text, encoding)
        return self._lines

    def changed(
        self, version: int, changes: list[types.TextDocumentContentChangeEvent], encoding: Encoding
    ) -> Buffer:
        """The buffer after the editor's edits, each of which counts from the text that the one before it left."""
        text = self.text
        lines = self.lines(encoding) if changes else None
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                lines = lines or Lines(text, encoding)
                start, end = lines.offset(change.range.start), lines.offset(change.range.end)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
            lines = None
        return Buffer(self.uri, self.path, self.kind, version, text)


class Buffers:
    """Every open text, by its absolute path. Texts without a file (untitled, a git revision) are passed over."""

    def __init__(self) -> None:
        self.encoding: Encoding = types.PositionEncodingKind.Utf16
        self._open: dict[str, Buffer] = {}

    def __iter__(self) -> Iterator[Buffer]:
        return iter(list(self._open.values()))

    def at(self, path: str) -> Buffer | None:
        return self._open.get(path)

    def of(self, uri: str) -> Buffer | None:
        path = path_of(uri)
        return None if path is None else self._open.get(path)

    def open(self, item: types.TextDocumentItem) -> Buffer | None:
        path = path_of(item.uri)
        if path is None:
            return None
        kind = kind_of(path) or LANGUAGES.get(item.language_id)
        self._open[path] = Buffer(item.uri, path, kind, item.version, item.text)
        return self._open[path]

    def change(self, params: types.DidChangeTextDocumentParams) -> Buffer | None:
        old = self.of(params.text_document.uri)
        if old is None:
            return None
        new = old.changed(params.text_document.version, list(params.content_changes), self.encoding)
        self._open[old.path] = new
        return new

    def close(self, uri: str) -> Buffer | None:
        path = path_of(uri)
        return None if path is None else self._open.pop(path, None)

    def uri_of(self, path: str) -> str:
        """How the editor names a file: as it spelled it when it opened it, else as files are spelled."""
        known = self._open.get(path)
        return known.uri if known is not None else uri_for(path)


def path_of(uri: str) -> str | None:
    path = to_fs_path(uri)
    return None if not path or "\0" in path else os.path.abspath(path)


def uri_for(path: str) -> str:
    return str(from_fs_path(path))
