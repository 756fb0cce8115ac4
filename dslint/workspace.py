"""The files of one run, read once each; a fix that is not yet written is seen as if it were."""

from __future__ import annotations

import os

from dslint.documents.tree import Source
from dslint.fixing.writing import Unreadable, read


class Workspace:
    """Sources by path. `overlay` holds texts that stand in for what lies on disk (stdin, an editor's buffer, a fix)."""

    __slots__ = ("_read", "overlay")

    def __init__(self, overlay: dict[str, Source] | None = None) -> None:
        self.overlay: dict[str, Source] = overlay or {}
        self._read: dict[str, Source | Unreadable] = {}

    def source(self, path: str, shown: str) -> Source:
        """The text at a path.

        Raises:
            Unreadable: no text can be had of it; the message says why.
        """
        key = os.path.abspath(path)
        if key in self.overlay:
            return self.overlay[key]
        if key not in self._read:
            try:
                self._read[key] = read(path, shown)
            except Unreadable as error:
                self._read[key] = error
        known = self._read[key]
        if isinstance(known, Unreadable):
            raise known
        return known

    def has(self, path: str) -> bool:
        """Is there a regular file at an absolute path?"""
        return path in self.overlay or os.path.isfile(path)

    def with_texts(self, texts: dict[str, Source]) -> Workspace:
        """The same files with some texts replaced, by absolute path; what was read is kept."""
        changed = Workspace({**self.overlay, **texts})
        changed._read = self._read
        return changed
