"""The files of a workspace folder that may have to do with DeepSpeed, their texts kept until they change on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from dslint.documents.tree import Source
from dslint.fixing.writing import Unreadable, read
from dslint.launches.discover import File, FileKind, Patterns, files_below, shown_path
from dslint.launches.reading import may_launch
from dslint.launches.recognise import may_be_config

# Characters beyond which a file is left alone while somebody types; notebooks carry their pictures with them.
LIMITS: Final[Mapping[FileKind, int]] = {"notebook": 4_000_000}
LIMIT: Final = 400_000
# A folder is walked so far at most: files of known kinds, and seconds.
MOST_FILES: Final = 5000
MOST_SECONDS: Final = 3.0


class Known(NamedTuple):
    """A file that was looked at; `source` is None where it has nothing to do with DeepSpeed."""

    file: File
    stamp: tuple[int, int]
    source: Source | None


class Index:
    """The folder's files. Walked once, and again after `forget`; texts are read again when a file's stamp is another."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files: list[File] | None = None
        self._known: dict[str, Known] = {}

    def forget(self) -> None:
        """Files may have come or gone."""
        self._files = None

    def sources(self, chosen: Patterns) -> dict[str, tuple[File, Source]]:
        """The texts that matter, by absolute path."""
        if self._files is None:
            self._files = walked(self.root, chosen)
        found = {}
        for file in self._files:
            source = self.source(file)
            if source is not None:
                found[file.path] = (file, source)
        return found

    def source(self, file: File) -> Source | None:
        try:
            status = os.stat(file.path)
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._known.get(file.path)
        if known is None or known.stamp != stamp:
            known = self._known[file.path] = Known(file, stamp, looked_at(file, status.st_size))
        return known.source


def walked(root: str, chosen: Patterns) -> list[File]:
    """The files below a folder, as far as a walk of MOST_FILES or MOST_SECONDS comes."""
    found: list[File] = []
    end = time.monotonic() + MOST_SECONDS
    for file in files_below(root, chosen):
        found.append(file._replace(path=os.path.abspath(file.path), shown=shown_path(file.path)))
        if len(found) >= MOST_FILES or time.monotonic() > end:
            break
    return found


def looked_at(file: File, size: int) -> Source | None:
    # A character has up to four bytes.
    if size > 4 * limit_of(file.kind):
        return None
    try:
        source = read(file.path, file.shown)
    except Unreadable:
        return None
    return source if matters(file.kind, source) else None


def limit_of(kind: FileKind) -> int:
    return LIMITS.get(kind, LIMIT)


def matters(kind: FileKind, source: Source) -> bool:
    """The quick look: could this text be a config, or something that launches one?"""
    text = source.text
    if len(text) > limit_of(kind):
        return False
    if kind == "json":
        return may_be_config(source.path, text)
    if kind == "yaml":
        from dslint.documents import yaml

        return yaml.looks_relevant(text)
    if kind in ("python", "notebook"):
        from dslint.documents.python import is_worth_reading

        return is_worth_reading(text)
    return may_launch(text)
