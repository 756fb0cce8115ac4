"""Findings that people have silenced: by a comment, by a key, by file; and ignores that silence nothing.

    // dslint: ignore[fp16-and-bf16] the launcher turns one of them off
    "//dslint": "ignore[fp16-and-bf16]"

A comment speaks for its own row and the next one, a key for its object and all in it. Codes do like names.
"""

from __future__ import annotations

from dslint.silencing.adding import Added, add_ignores
from dslint.silencing.files import without_ignored_files
from dslint.silencing.silence import Silenced, UnusedIgnore, silence
from dslint.silencing.unused import RULES, reported

__all__ = [
    "RULES",
    "Added",
    "Silenced",
    "UnusedIgnore",
    "add_ignores",
    "reported",
    "silence",
    "without_ignored_files",
]
