"""Edits → text, and two texts → a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dslint.fixing.fix import Edit


class Overlap(ValueError):
    """Two edits want the same characters, or lie outside of the text."""


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with every edit made. Edits count from the old text; insertions at one place keep their order.

    Raises:
        Overlap: two edits touch the same characters, or an edit reaches beyond the text.
    """
    parts: list[str] = []
    pos = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < pos:
            raise Overlap(f"two edits touch the same characters at offset {edit.start} of {edit.source.path}")
        if not edit.start <= edit.end <= len(text):
            raise Overlap(f"an edit of {edit.source.path} reaches beyond its text, at offset {edit.start}")
        parts += (text[pos : edit.start], edit.content)
        pos = edit.end
    parts.append(text[pos:])
    return "".join(parts)


def diff(path: str, old: str, new: str) -> str:
    """The unified diff from `old` to `new`, as `patch` reads it; empty when they are equal."""
    # Imported here: a run without --diff needs no differ.
    from difflib import unified_diff

    rows = unified_diff(_rows(old), _rows(new), f"a/{path}", f"b/{path}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _rows(text: str) -> list[str]:
    """Rows with their ends. Only `\\n` ends a row to `patch`; str.splitlines would know nine more."""
    return list(_split(text))


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
