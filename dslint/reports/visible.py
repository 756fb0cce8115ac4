"""Text from files and their names, made harmless: nothing unseen reaches a terminal, log or annotation.

A config is untrusted text from a pull request. An escape sequence could repaint the terminal, a bidirectional
control show another order than the engine reads, a zero-width space make two different keys look the same.
"""

from __future__ import annotations

import re
from typing import Final

# Joiners shape emoji and some scripts; they have no effect of their own.
_JOINERS: Final = "\u200c\u200d"
_SENTENCE_END: Final = r"(?<=[a-z0-9)`\"'][.!?])\s+(?=[A-Z`\"'])"


def visible(text: str, keep: str = "") -> str:
    """The text with unprintable characters written as escapes, `\\x1b` or `\\u202e`; those in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(char if char in keep else shown(char) for char in text)


def shown(char: str) -> str:
    """One character as a person can see it: itself, or an escape."""
    if char.isprintable() or char in _JOINERS:
        return char
    code = ord(char)
    if char in "\t\n\r":
        return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """A sentence that may have been wrapped, on one line and harmless."""
    return visible(" ".join(text.split()))


def sentence(text: str) -> str:
    """The first sentence of a text, on one line and harmless."""
    return re.split(_SENTENCE_END, one_line(text), maxsplit=1)[0]
