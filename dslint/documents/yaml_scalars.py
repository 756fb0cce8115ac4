"""What a YAML scalar is to PyYAML's `safe_load`, by YAML 1.1: `yes` is true, `017` is 15, `1e-5` is text."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Kind, Loader

STOPS: Final[frozenset[Loader]] = frozenset({"yaml"})
GOES_ON: Final[frozenset[Loader]] = frozenset()


class Scalar(NamedTuple):
    """A scalar's kind and value; `trouble` says why `safe_load` stops at it."""

    kind: Kind
    value: Any
    trouble: str | None = None


VALUES: Final[tuple[tuple[Scalar, str], ...]] = (
    (Scalar("boolean", True), "yes Yes YES true True TRUE on On ON"),
    (Scalar("boolean", False), "no No NO false False FALSE off Off OFF"),
    (Scalar("null", None), "~ null Null NULL"),
    (Scalar("number", float("inf")), ".inf .Inf .INF +.inf +.Inf +.INF"),
    (Scalar("number", float("-inf")), "-.inf -.Inf -.INF"),
    (Scalar("number", float("nan")), ".nan .NaN .NAN"),
)
WORDS: Final[dict[str, Scalar]] = {
    "": Scalar("null", None),
    **{word: scalar for scalar, words in VALUES for word in words.split()},
}
INTEGER: Final = re.compile(
    r"[-+]?(?:0b[01_]+|0x[\da-fA-F_]+|0[0-7_]*|[1-9][\d_]*|[1-9][\d_]*(?::[0-5]?\d)+)", re.ASCII
)
# A fraction needs its point, and an exponent its sign: `5e-5` and `1.0e5` are text.
FRACTION: Final = re.compile(
    r"[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|[-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]*",
    re.ASCII,
)
DATE: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"|(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?"
    r"(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?",
    re.ASCII,
)
# Numbers that people write, and that YAML 1.2 reads as numbers, but `safe_load` takes for text.
LOOKS_NUMERIC: Final = re.compile(
    r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+|[-+]\.\d+(?:[eE][-+]\d+)?", re.ASCII
)

STANDARD: Final = "tag:yaml.org,2002:"


def plain(text: str) -> Scalar:
    """An unquoted, untagged scalar."""
    if not text or text[0] not in "-+.0123456789":
        if text == "=":
            return Scalar("unknown", UNKNOWN, "`=` alone has no value")
        return WORDS.get(text) or Scalar("string", text)
    if INTEGER.fullmatch(text):
        return integer(text)
    if FRACTION.fullmatch(text):
        return Scalar("number", fraction(text))
    if text[0] in "-+." and text in WORDS:
        return WORDS[text]
    if date := DATE.fullmatch(text):
        return dated(date)
    return Scalar("string", text)


def tagged(tag: str, text: str) -> Scalar:
    """A scalar with a tag of its own, such as `!!float 5e-5`."""
    name = tag.removeprefix(STANDARD)
    if name == "str":
        return Scalar("string", text)
    try:
        if name == "int":
            return integer(text)
        if name == "float":
            lower = text.lower()
            is_special = lower.lstrip("+-") in (".inf", ".nan")
            return WORDS[lower] if is_special else Scalar("number", fraction(text))
        if name == "bool":
            return boolean(text)
        if name == "null":
            return Scalar("null", None)
    except (ValueError, KeyError, IndexError):
        return Scalar("unknown", UNKNOWN, f"`{text[:40]}` is no {name}")
    if name in ("binary", "timestamp"):
        return Scalar("unknown", UNKNOWN)
    return Scalar("unknown", UNKNOWN, f"the tag {tag[:60]} means nothing to it")


def boolean(text: str) -> Scalar:
    word = WORDS[text.lower()]
    if word.kind != "boolean":
        raise ValueError(text)
    return word


def integer(text: str) -> Scalar:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    try:
        if digits.startswith(("0b", "0x")):
            return Scalar("number", sign * int(digits[2:], 2 if digits[1] == "b" else 16))
        if ":" in digits:
            return Scalar("number", sign * int(sixties(digits)))
        if digits.startswith("0"):
            return Scalar("number", sign * int(digits, 8))
        return Scalar("number", sign * int(digits))
    except ValueError:
        return Scalar("unknown", UNKNOWN, f"`{text[:40]}` is no number, though it is written like one")


def fraction(text: str) -> float:
    digits = text.replace("_", "")
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    return sign * (float(sixties(digits)) if ":" in digits else float(digits))


def sixties(digits: str) -> float | int:
    """Base 60, as YAML 1.1 has it: `1:30` is 90."""
    total: float | int = 0
    for part in digits.split(":"):
        total = total * 60 + (float(part) if "." in part else int(part))
    return total


def dated(date: re.Match[str]) -> Scalar:
    # Imported here: dates are rare in configs.
    from datetime import datetime

    year, month, day, *time = [int(part) for part in date.groups() if part is not None]
    hour, minute, second = time or (0, 0, 0)
    try:
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        return Scalar("unknown", UNKNOWN, f"`{date.group()}` is written like a date but is none")
    return Scalar("unknown", UNKNOWN)
