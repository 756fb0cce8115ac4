"""per-file-ignores: globs → findings that are not reported in the files they match."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from dslint.rules.finding import Finding
from dslint.settings import Settings, closeness


def without_ignored_files(
    findings: Iterable[Finding], settings: Settings, directory: str = ""
) -> list[Finding]:
    """The findings that no per-file-ignores takes away; filenames are relative to `directory` (here)."""
    if not settings.per_file_ignores:
        return list(findings)
    here = directory or os.getcwd()
    return [
        finding
        for finding in findings
        if not is_ignored(finding.code, finding.name, finding.place.source.path, settings, here)
    ]


def is_ignored(code: str, name: str, path: str, settings: Settings, directory: str = "") -> bool:
    """Does a per-file-ignores take a rule away in a file?"""
    relative = from_root(path, settings.root, directory or os.getcwd())
    return any(
        closeness(code, name, selectors) and matches(glob, relative)
        for glob, selectors in settings.per_file_ignores.items()
    )


def from_root(path: str, root: str, directory: str) -> str:
    """A filename relative to the settings' folder, with `/`."""
    whole = os.path.join(directory, path)
    return (os.path.relpath(whole, root) if root else path).replace(os.sep, "/")


def matches(glob: str, path: str) -> bool:
    """Does a glob match a path? `*` stays in a folder, `**` does not; a folder's glob matches all below it.

    A glob without a slash matches names in any folder; one that begins with `!` matches all other files.
    """
    if glob.startswith("!"):
        return not matches(glob[1:], path)
    return compiled(glob).fullmatch(path) is not None


@lru_cache(maxsize=256)
def compiled(glob: str) -> re.Pattern[str]:
    pattern = glob.removeprefix("./").rstrip("/")
    anchored = "/" in pattern
    return re.compile(
        ("" if anchored else "(?:.*/)?") + translated(pattern.lstrip("/")) + "(?:/.*)?", re.DOTALL
    )


def translated(glob: str) -> str:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", glob, re.DOTALL)
    return "".join(
        parts.get(token) or (bracket(token) if len(token) > 1 else re.escape(token)) for token in tokens
    )


def bracket(token: str) -> str:
    inner = token[1:-1].replace("\\", "\\\\")
    pattern = "[^" + inner[1:] + "]" if inner.startswith("!") else "[" + inner + "]"
    try:
        re.compile(pattern)
    except re.error:
        return re.escape(token)
    return pattern
