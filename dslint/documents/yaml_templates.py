"""What a template's author leaves open: `{{ x }}`, `{% if %}`, `${X}`, `$X`, `<x>` make a scalar unknown."""

from __future__ import annotations

import re
from typing import Final

BLANK: Final = "\ue000"
"""A private-use character that stands for each character of a placeholder while the text is read."""
STATEMENT: Final = re.compile(r"^[ \t]*(?:\{%[^\n]*?%\}|\{\{[^\n]*?\}\}|\{#[^\n]*?#\})[ \t]*\r?$", re.M)
# The length is bounded, so that a line of opening braces takes no quadratic time.
PLACEHOLDER: Final = re.compile(
    r"\{\{(?:[^\n{]|\{(?!\{)){0,300}?\}\}|\{%(?:[^\n{]|\{(?!%)){0,300}?%\}|\$\{[^{}\n]*\}"
)
ANGLED: Final = re.compile(r"<[^<>\n]+>")
VARIABLE: Final = re.compile(r"\$[A-Za-z_(]")


def without_placeholders(text: str) -> tuple[str, bool]:
    """The text with each placeholder blanked, character for character, and whether it holds `{{` or `{%`."""
    if "{{" not in text and "{%" not in text:
        return (PLACEHOLDER.sub(blanked, text) if "${" in text else text), False
    text = STATEMENT.sub(lambda match: re.sub(r"[^\r\n]", " ", match.group()), text)
    return PLACEHOLDER.sub(blanked, text), True


def blanked(match: re.Match[str]) -> str:
    return BLANK * len(match.group())


def is_placeholder(text: str) -> bool:
    """Does a placeholder make this scalar, or a part of it?"""
    if BLANK in text or ("$" in text and VARIABLE.search(text)):
        return True
    return text.startswith("<") and ANGLED.fullmatch(text) is not None
