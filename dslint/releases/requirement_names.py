"""Which files of a folder may say what a repository uses, told by their names."""

from __future__ import annotations

import os
from collections.abc import Callable

from dslint.documents.tree import Source


def is_requirements(name: str) -> bool:
    return "requirement" in name and name.endswith((".txt", ".in"))


def is_constraints(name: str) -> bool:
    return "constraint" in name and name.endswith(".txt")


def is_environment(name: str) -> bool:
    return name.endswith((".yml", ".yaml")) and name.startswith(
        ("environment", "conda", "env.", "env_", "env-")
    )


def is_lock(name: str) -> bool:
    return name in ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")


def is_dockerfile(name: str) -> bool:
    return name.startswith(("dockerfile", "containerfile")) or name.endswith(".dockerfile")


# In the order in which they are believed when two of one folder pin different releases.
KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("requirements", is_requirements),
    ("constraints", is_constraints),
    ("pyproject", lambda name: name in ("pyproject.toml", "pipfile")),
    ("setup.cfg", lambda name: name == "setup.cfg"),
    ("setup.py", lambda name: name == "setup.py"),
    ("environment", is_environment),
    ("lock", is_lock),
    ("pipfile.lock", lambda name: name == "pipfile.lock"),
    ("dockerfile", is_dockerfile),
)


def kind_of(name: str) -> tuple[int, str] | None:
    """The kind of a file, with its rank in KINDS; None for a file that pins nothing."""
    lower = name.lower()
    for rank, (kind, fits) in enumerate(KINDS):
        if fits(lower):
            return rank, kind
    return None


# Larger files are no requirement files.
LARGEST = 20_000_000


def read(path: str) -> Source | None:
    """The text of a file, or None where it cannot be had."""
    try:
        # A link may lead to a pipe, which waits, or to a device, which has no end.
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            return Source(shown(path), file.read(LARGEST).decode("utf-8", "replace"))
    except OSError:
        return None


def shown(path: str) -> str:
    """A path as reports show it: relative to the working directory if it is below it, with `/`."""
    here = os.getcwd()
    absolute = os.path.abspath(path)
    if absolute.startswith(here.rstrip(os.sep) + os.sep):
        absolute = os.path.relpath(absolute, here)
    return absolute.replace(os.sep, "/")
