"""Plain values → YAML text that `safe_load` reads back as those values."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from dslint.documents.yaml_scalars import plain

# Text that may stand unquoted wherever a value may, within braces too.
UNQUOTED: Final = re.compile(r"[A-Za-z0-9_./~+^$][A-Za-z0-9_./~+^$@ -]*(?<! )")


def scalar(value: Any, like: str = "") -> str:
    """A scalar's text. `like` is the text that it replaces: its quotes, and its way to write true, are
    kept.
    """
    if isinstance(value, str):
        return quoted(value, like[:1])
    if value is None:
        return "null"
    if isinstance(value, bool):
        word = "true" if value else "false"
        return word.title() if like[:1].isupper() else word
    if isinstance(value, int):
        return str(value)
    return fraction(float(value))


def fraction(value: float) -> str:
    """`5e-05` is text to `safe_load`; a number needs its point: `5.0e-05`."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    digits, e, exponent = text.partition("e")
    if not e:
        return text
    point = "" if "." in digits else ".0"
    sign = "" if exponent[0] in "+-" else "+"
    return f"{digits}{point}e{sign}{exponent}"


def quoted(text: str, quote: str = "") -> str:
    """A text as a scalar, in quotes where it needs them or `quote` asks for them."""
    if quote not in ("'", '"'):
        if UNQUOTED.fullmatch(text) and plain(text).kind == "string":
            return text
        quote = "'"
    if quote == '"' or not text.isprintable():
        return '"' + "".join(map(escaped, text)) + '"'
    return "'" + text.replace("'", "''") + "'"


def escaped(character: str) -> str:
    """A character within double quotes."""
    if character in '\\"':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def flow(value: Any) -> str:
    """A value on one line: `{a: 1, b: [x, y]}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def block(value: Any, indent: int, step: int) -> list[str]:
    """What stands behind `key:`: the rest of its row first, then the rows below it, without line ends."""
    if not value or not isinstance(value, (dict, list)):
        return [" " + flow(value)]
    if isinstance(value, list):
        return ["", *(f"{' ' * (indent + step)}- {flow(item)}" for item in value)]
    rows = [""]
    for key, item in value.items():
        first, *rest = block(item, indent + step, step)
        rows += [f"{' ' * (indent + step)}{quoted(key)}:{first}", *rest]
    return rows
