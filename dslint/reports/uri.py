"""Filenames as services want them: relative to the top of the repository that a job checked out."""

from __future__ import annotations

import os
from urllib.parse import quote


def below(path: str, directory: str, top: str | None) -> str:
    """A filename of a report, relative to `top` (a folder, absolute) when it lies below it; else as it was.

    `path` is relative to `directory`, the working directory.
    """
    if not top or not directory:
        return path
    relative = os.path.relpath(os.path.join(directory, path), top).replace(os.sep, "/")
    return path if relative == ".." or relative.startswith("../") or os.path.isabs(relative) else relative


def uri(path: str) -> str:
    """A filename as a URI reference, percent-encoded where it is not plain ASCII; `file:` when absolute."""
    quoted = quote(path.replace(os.sep, "/"), safe="/~", errors="surrogateescape")
    if os.path.isabs(path):
        return "file://" + (quoted if quoted.startswith("/") else "/" + quoted)
    return quoted
