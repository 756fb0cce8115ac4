"""Whether to colour, and how. Decided from the variables that terminals' programs agree on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

_OFF: Final = ("", "0", "false", "no", "off")


def wants_colour(is_terminal: bool, environ: Mapping[str, str] = os.environ) -> bool:
    """NO_COLOR turns colour off, FORCE_COLOR and CLICOLOR_FORCE on; else a terminal that is not dumb gets it.

    Whoever sets NO_COLOR is obeyed first. https://no-color.org, https://bixense.com/clicolors
    """
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "").lower() not in _OFF for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return is_terminal


def terminal_width(environ: Mapping[str, str] = os.environ, default: int = 120) -> int:
    """The terminal's width in columns: COLUMNS, else what the terminal says, else `default`; at least 40."""
    text = environ.get("COLUMNS", "")
    if text.isdecimal() and int(text) > 0:
        return max(40, int(text))
    try:
        return max(40, os.get_terminal_size().columns or default)
    except OSError:
        return default


STYLES: Final[dict[str, str]] = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "bold": "1",
    "faint": "2",
    "gutter": "1;34",
    "related": "1;34",
    "help": "1;32",
}


class Paint:
    """Styles by name: paint("error", text). Without colour it gives the text back."""

    __slots__ = ("on",)

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.on and text else text
