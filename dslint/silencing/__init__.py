"""Findings that people have silenced: by a comment, by a key, by file; and ignores that silence nothing.

    // dslint: ignore[fp16-and-bf16] the launcher turns one of them off
    "//dslint": "ignore[fp16-and-bf16]"

A comment speaks for its own row and the next one, a key for its object and all in it. Codes do like names.

    silence.py   findings and sources → what is left, and the ignores that do nothing
    files.py     per-file-ignores
    judged.py    which rules a run could decide, so that an ignore for another is not called idle
    unused.py    ignores that do nothing → findings with their fix
    adding.py    findings → edits that write ignores

A run imports this only when a text names dslint, or the settings ignore by file.
"""

from __future__ import annotations

from dslint.silencing.adding import Added, add_ignores
from dslint.silencing.files import without_ignored_files
from dslint.silencing.silence import Silenced, UnusedIgnore, silence
from dslint.silencing.unused import reported

__all__ = [
    "Added",
    "Silenced",
    "UnusedIgnore",
    "add_ignores",
    "reported",
    "silence",
    "without_ignored_files",
]
