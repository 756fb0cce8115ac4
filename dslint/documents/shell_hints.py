"""Lines that look like the rest of a command and are none: which broken continuation cut them off."""

from __future__ import annotations

import re
from typing import Final

from dslint.documents.script import HintKind

COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#.*")


def cause_of_cut(text: str, start: int) -> tuple[HintKind, int, int] | None:
    """Why the words at `start`, an option at the head of a command, do not belong to the command on the lines before.

    The span is of what breaks the line. None when they do not head a line, or no command stands before them.
    """
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip() or line == 0:
        return None
    comment: tuple[int, int] | None = None
    blank: tuple[int, int] | None = None
    end = line - 1
    while end >= 0:
        first = text.rfind("\n", 0, end) + 1
        content = text[first:end].rstrip("\r")
        if not content.strip():
            blank = (first, first + len(content))
        elif content.lstrip().startswith("#"):
            comment = (first + len(content) - len(content.lstrip()), first + len(content.rstrip()))
        else:
            return judged(content, first, comment, blank)
        end = first - 1
    return None


def judged(
    content: str, first: int, comment: tuple[int, int] | None, blank: tuple[int, int] | None
) -> tuple[HintKind, int, int] | None:
    """`content` is the line that the command before stands on, from the offset `first`."""
    if re.search(r"(?<!\\)(?:\\\\)*\\$", content):
        if comment is not None:
            return "comment-in-continuation", *comment
        if blank is not None:
            return "blank-line-in-continuation", *blank
        note = COMMENT.search(content)
        return (
            ("comment-swallows-backslash", first + note.start(), first + len(content))
            if note is not None
            else None
        )
    trailing = re.search(r"(?<!\\)(?:\\\\)*(\\[ \t]+)$", content)
    if trailing:
        return "blank-after-backslash", first + trailing.start(1), first + len(content)
    note = COMMENT.search(content)
    if note is not None and re.search(r"\\[ \t]+$", content[: note.start()]):
        return "comment-after-backslash", first + note.start(), first + note.end()
    if blank is not None:
        return None
    last = len(content.rstrip())
    return "missing-backslash", first + last - 1, first + last
