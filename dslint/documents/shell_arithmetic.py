"""`$((…))` on whole numbers that are known: + - * / % and parentheses, as a shell computes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

TOKEN: Final = re.compile(r"\s*(?:(\d+)|\$?\{?([A-Za-z_]\w*)\}?|([-+*/%()]))")
LARGEST: Final = 2**63
DEEPEST: Final = 30


class _Unclear(Exception):
    """The expression holds something that is not computed here."""


def compute(expression: str, value: Callable[[str], str | None]) -> int | None:
    """The result, or None when it is not known. `value` gives a variable's text, or None."""
    tokens = tokens_of(expression)
    if not tokens:
        return None
    try:
        result, rest = total(tokens, 0, value, 0)
    except _Unclear:
        return None
    return result if rest == len(tokens) else None


def tokens_of(expression: str) -> list[str]:
    tokens: list[str] = []
    place = 0
    text = expression.strip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None or len(tokens) > 100:
            return []
        tokens.append(match[1] or match[2] or match[3])
        place = match.end()
    return tokens


def total(tokens: list[str], at: int, value: Callable[[str], str | None], depth: int) -> tuple[int, int]:
    left, at = product(tokens, at, value, depth)
    while at < len(tokens) and tokens[at] in ("+", "-"):
        right, after = product(tokens, at + 1, value, depth)
        left, at = bounded(left + right if tokens[at] == "+" else left - right), after
    return left, at


def product(tokens: list[str], at: int, value: Callable[[str], str | None], depth: int) -> tuple[int, int]:
    left, at = atom(tokens, at, value, depth)
    while at < len(tokens) and tokens[at] in ("*", "/", "%"):
        right, after = atom(tokens, at + 1, value, depth)
        left, at = bounded(combine(left, tokens[at], right)), after
    return left, at


def combine(left: int, sign: str, right: int) -> int:
    if sign == "*":
        return left * right
    if right == 0:
        raise _Unclear
    # A shell cuts towards zero.
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if sign == "/" else left - quotient * right


def atom(tokens: list[str], at: int, value: Callable[[str], str | None], depth: int) -> tuple[int, int]:
    if at >= len(tokens) or depth > DEEPEST:
        raise _Unclear
    token = tokens[at]
    if token == "(":
        inner, at = total(tokens, at + 1, value, depth + 1)
        if at >= len(tokens) or tokens[at] != ")":
            raise _Unclear
        return inner, at + 1
    if token in ("-", "+"):
        inner, at = atom(tokens, at + 1, value, depth + 1)
        return (-inner if token == "-" else inner), at
    text = token if token.isdecimal() else value(token)
    # A leading zero means octal, which nobody means here.
    if text is None or not re.fullmatch(r"\s*(?:0|-?[1-9]\d{0,17})\s*", text):
        raise _Unclear
    return int(text), at + 1


def bounded(number: int) -> int:
    if abs(number) >= LARGEST:
        raise _Unclear
    return number
