"""A path in a script, a program or a YAML → the file that is meant, as far as the files themselves can tell.

From where a launch is started is not written anywhere. A path is looked for beside the file that names it, in the working
directory, and in each folder between the two and the top of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from dslint.documents.tree import Source, Unknown
from dslint.launches.discover import shown_path
from dslint.workspace import Workspace


def find_file(path: str | Unknown | None, named_in: Source, workspace: Workspace) -> str | None:
    """The absolute path of the file that a text names; None where it is not there or not known."""
    if not isinstance(path, str) or not path or "\0" in path or path.startswith("~"):
        return None
    for folder in folders_for(named_in):
        candidate = os.path.normpath(os.path.join(folder, path))
        if workspace.has(candidate):
            return candidate
    return None


def folders_for(named_in: Source) -> Iterator[str]:
    """Where a relative path may start from: the naming file's folder, then the folders above it, to the repository's top."""
    here = os.path.dirname(os.path.abspath(named_in.path))
    start = os.getcwd()
    yield here
    yield start
    while here != start and not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return
        here = parent
        yield here


def is_in_repository(path: str, named_in: Source) -> bool:
    """Would the path, were it there, lie below a folder that it may start from? Files elsewhere can't be judged."""
    if os.path.isabs(path) or path.startswith("~"):
        return False
    return not os.path.normpath(path).startswith("..")


__all__ = ["find_file", "folders_for", "is_in_repository", "shown_path"]
