"""Scalars as Python works them out: arithmetic, conversions, and paths."""

from __future__ import annotations

import ast
import math
import operator
import posixpath
from collections.abc import Callable
from typing import Any, Final, Literal

from dslint.documents.tree import UNKNOWN

MAX_BITS: Final = 256

ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {"int": int, "float": float, "bool": bool, "str": str}


class PathText(str):
    """A path. `anchored`: found from the program's own place (`__file__`), so relative to the working
    directory here.
    """

    anchored: bool = False

    def __truediv__(self, other: str) -> PathText:
        return joined(self, [other])


def joined(first: str, rest: list[str]) -> PathText:
    result = PathText(posixpath.normpath(posixpath.join(first, *rest)))
    parts = [first, *rest]
    # What stands before an absolute part is dropped.
    last = max((i for i, part in enumerate(parts) if part.startswith("/")), default=0)
    result.anchored = getattr(parts[last], "anchored", False)
    return result


def anchored(text: str, like: str) -> PathText:
    result = PathText(text)
    result.anchored = getattr(like, "anchored", False)
    return result


def path_part(path: str, part: str) -> str:
    if part == "parent":
        return anchored(posixpath.dirname(path) or ".", path)
    name = posixpath.basename(path)
    return name if part == "name" else posixpath.splitext(name)[0]


def type_of(value: Any) -> Literal["string", "number", "boolean", "null", "unknown"]:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return "number"
    return "unknown"


def computed(kind: ast.operator, left: Any, right: Any) -> Any:
    """Arithmetic on known scalars; UNKNOWN where Python raises, or the result is out of all proportion."""
    if isinstance(left, PathText) and isinstance(right, str) and isinstance(kind, ast.Div):
        return left / right
    if isinstance(left, str) and isinstance(right, str) and isinstance(kind, ast.Add):
        return anchored(left + right, left) if isinstance(left, PathText) else left + right
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return UNKNOWN
    if isinstance(kind, ast.Pow):
        if abs(right) > MAX_BITS or abs(left) > 1e6:
            return UNKNOWN
        operation: Callable[[Any, Any], Any] | None = operator.pow
    else:
        operation = ARITHMETIC.get(type(kind))
    if operation is None or (isinstance(kind, ast.LShift) and right > MAX_BITS):
        return UNKNOWN
    try:
        result = operation(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    if isinstance(result, int) and result.bit_length() > 2 * MAX_BITS:
        return UNKNOWN
    return result if isinstance(result, int | float) else UNKNOWN


def converted(name: str, value: Any) -> Any:
    try:
        if name == "str" and isinstance(value, PathText):
            return value
        return CONVERSIONS[name](value)
    except (ValueError, TypeError, OverflowError):
        return UNKNOWN
