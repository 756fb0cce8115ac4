"""Tests that a script's own values decide: `[ "$STAGE" = 3 ]`, `[[ -n $X && $N -gt 1 ]]`, `case`; None for all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dslint.documents.shell_expand import Expander
from dslint.documents.shell_words import text_of
from dslint.documents.tree import Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

NUMBERS: Final = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
}
TESTS: Final = frozenset({"binary_expression", "unary_expression", "parenthesized_expression"})


def decide(node: Node, expander: Expander) -> bool | None:
    """Whether a command succeeds, as far as the script shows it."""
    text = expander.text.text[node.start_byte : node.end_byte]
    if node.type == "negated_command" and node.named_child_count == 1:
        inner = decide(node.named_children[0], expander)
        return None if inner is None else not inner
    if node.type == "list" and len(node.children) == 3:
        left, right = decide(node.children[0], expander), decide(node.children[2], expander)
        return both(left, right) if node.children[1].type == "&&" else either(left, right)
    if node.type == "command":
        return {"true": True, ":": True, "false": False}.get(text.strip())
    if node.type != "test_command" or node.has_error or text.startswith("(("):
        return None
    named = node.named_children
    return test(named[0], expander, text.startswith("[[")) if len(named) == 1 else None


def test(node: Node, expander: Expander, double: bool) -> bool | None:
    kind = node.type
    if kind == "parenthesized_expression" and node.named_child_count == 1:
        return test(node.named_children[0], expander, double)
    if kind == "unary_expression" and len(node.children) == 2:
        operator = expander.text.text[node.children[0].start_byte : node.children[0].end_byte]
        return unary(operator, node.children[1], expander, double)
    if kind == "binary_expression" and len(node.children) == 3:
        left, middle, right = node.children
        return binary(expander.text.text[middle.start_byte : middle.end_byte], left, right, expander, double)
    if kind in TESTS:
        return None
    value = operand(node, expander, double)
    return None if value is None else value != ""


def unary(operator: str, node: Node, expander: Expander, double: bool) -> bool | None:
    if operator == "!":
        inner = test(node, expander, double) if node.type in TESTS else None
        return None if inner is None else not inner
    value = operand(node, expander, double)
    if value is None or operator not in ("-z", "-n"):
        return None
    return (value == "") == (operator == "-z")


def binary(operator: str, left: Node, right: Node, expander: Expander, double: bool) -> bool | None:
    if operator in ("&&", "||", "-a", "-o"):
        if double == operator.startswith("-") or (not double and left.type == "binary_expression"):
            # `[ a = b -a c = d ]`: the grammar does not group it as the shell does.
            return None
        one, other = test(left, expander, double), test(right, expander, double)
        return both(one, other) if operator == "&&" else either(one, other)
    if left.type in TESTS or right.type in TESTS:
        return None
    one_text, other_text = operand(left, expander, double), operand(right, expander, double)
    if one_text is None or other_text is None:
        return None
    if operator in NUMBERS:
        whole = re.compile(r"-?\d{1,18}")
        if not whole.fullmatch(one_text) or not whole.fullmatch(other_text):
            return None
        return bool(NUMBERS[operator](int(one_text), int(other_text)))
    if operator not in ("=", "==", "!="):
        return None
    if double and right.type == "extglob_pattern" and re.search(r"[*?\[(]", other_text):
        return None
    return (one_text == other_text) == (operator != "!=")


def operand(node: Node, expander: Expander, double: bool) -> str | None:
    """A word's text; None when it is not known, or when `[` would be given no word or several."""
    value = text_of(expander.one(node))
    if isinstance(value, Unknown):
        return None
    if not double and node.type not in ("string", "raw_string") and (not value or re.search(r"\s", value)):
        return None
    return value


def both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def matches(value: str, pattern: str) -> bool | None:
    """Whether a `case` pattern matches; None for a pattern that is not read here."""
    bare = pattern.strip()
    if len(bare) > 1 and bare[0] in "'\"" and bare[-1] == bare[0]:
        return None if "$" in bare or "\\" in bare else value == bare[1:-1]
    if re.search(r"[$`\\\[(\"']", bare):
        return None
    glob = "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in bare)
    return (
        re.fullmatch(glob, value, re.DOTALL) is not None if bare.count("*") < 3 and len(value) < 300 else None
    )


def case_truth(value: str | Unknown, patterns: Sequence[str]) -> bool | None:
    """Whether a `case` item is the one for a value."""
    if "*" in patterns:
        return True
    if isinstance(value, Unknown):
        return None
    found = [matches(value, pattern) for pattern in patterns]
    if True in found:
        return True
    return None if None in found or not found else False
