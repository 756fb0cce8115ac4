"""The syntax tree of a shell text, as tree-sitter-bash gives it, and what is read off its nodes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from dslint.documents.shell_words import NAME, Span, Text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# What the grammar is not shown: it sees a letter for each character of a plain variable.
MASKED: Final = re.compile(rf"\\.|{NAME}", re.DOTALL)
COMMENT_IN_BACKTICKS: Final = re.compile(r"`#[^`\n]*`")
UNREADABLE: Final = re.compile(r"[^\t\n\r -~]")
# Commands that scripts ask something, so that what stands behind their `&&` may not run.
TESTS: Final = frozenset(
    {
        "[",
        "test",
        "grep",
        "egrep",
        "which",
        "type",
        "hash",
        "command",
        "false",
        "ping",
        "cmp",
        "diff",
        "pgrep",
    }
)


@cache
def parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> Node:
    """The syntax tree; its byte offsets are the text's character offsets."""
    # A shell takes every other character as a letter of a word; one byte for each keeps the offsets.
    if not (text.isascii() and text.isprintable()):
        text = UNREADABLE.sub(".", text)
    if "$" in text:
        text = MASKED.sub(lambda match: match[0] if match[0][0] == "\\" else "x" * len(match[0]), text)
    if "`#" in text:
        # A comment within a command, as some write it: it expands to nothing.
        text = COMMENT_IN_BACKTICKS.sub(lambda match: " " * len(match[0]), text)
    if text.rstrip().endswith("\\"):
        # A backslash at the very end has no line to go on with.
        cut = text.rstrip()[:-1]
        text = cut + " " * (len(text) - len(cut))
    if "\r" in text:
        text = text.replace("\\\r\n", " \\\n").replace("\r", " ")
    return parser().parse(text.encode("ascii")).root_node


class Written(NamedTuple):
    """Text that a command prints or is fed: its span in the text, and whether the shell leaves it as it is."""

    start: int
    end: int
    quoted: bool


def span_of(node: Node) -> Span:
    return node.start_byte, node.end_byte


def if_ways(node: Node) -> list[tuple[list[Node], list[Node]]]:
    """The conditions and the body of each way of an `if`; an `else` has no condition."""
    ways: list[tuple[list[Node], list[Node]]] = []
    own: list[Node] = []
    for child in node.children:
        if child.type in ("elif_clause", "else_clause"):
            ways.append(parted(child.children))
        else:
            own.append(child)
    return [parted(own), *ways]


def parted(children: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """What stands before `then`, and what behind it."""
    then = next((index for index, child in enumerate(children) if child.type == "then"), 0)
    return list(children[:then]), list(children[then:])


def parts_of(node: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """A command's assignments, its words' nodes and its redirects."""
    prefix: list[Node] = []
    arguments: list[Node] = []
    redirects: list[Node] = []
    for child in node.children:
        if child.start_byte == child.end_byte:
            # What the grammar misses in a broken text.
            continue
        if child.type == "variable_assignment":
            prefix.append(child)
        elif child.type == "command_name":
            arguments.extend(child.children[:1] or [child])
        elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            redirects.append(child)
        elif (
            (child.is_named and child.type not in ("ERROR", "comment"))
            or child.type in ("$", "==", "=~")
            or (not child.is_named and child.type.isalnum())
        ):
            arguments.append(child)
    return prefix, arguments, redirects


def adds_to_itself(node: Node, name: str, text: Text) -> bool:
    """`ARGS+=(--x)` and `ARGS="$ARGS --x"`."""
    if any(child.type == "+=" for child in node.children):
        value = node.child_by_field_name("value")
        # `A+=x` lengthens the last word itself.
        return value is not None and (
            value.type == "array" or text.text[value.start_byte + 1 :][:1].isspace()
        )
    written = text.text[node.start_byte : node.end_byte]
    if not name.isidentifier():
        return False
    return re.match(rf"{name}=\"?\$(?:{name}\s|\{{{name}\}}\s)", written) is not None


def succeeds(node: Node, text: Text) -> bool:
    """Whether a statement is one that scripts count on (`cd dir && …`), rather than a test."""
    while node.type == "list" and node.children:
        node = node.children[-1]
    if node.type in ("test_command", "negated_command"):
        return False
    first = re.match(r"[^\s;&|]+", text.text[node.start_byte : node.end_byte])
    return first is not None and first[0] not in TESTS and not first[0].startswith(("[", "(("))


def heredoc_span(node: Node, text: str) -> Written:
    """The span of a heredoc's lines."""
    start_word = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end_word = next((child for child in node.children if child.type == "heredoc_end"), None)
    quoted = start_word is not None and any(
        c in "'\"\\" for c in text[start_word.start_byte : start_word.end_byte]
    )
    if body is None:
        return Written(node.end_byte, node.end_byte, quoted)
    start = text.rfind("\n", 0, body.start_byte) + 1
    end = text.rfind("\n", 0, end_word.start_byte) + 1 if end_word is not None else body.end_byte
    return Written(start, max(start, end), quoted)


READERS: Final = frozenset({"read", "mapfile", "readarray", "getopts", "let", "printf"})
MOST_NODES: Final = 200_000


def assigned_names(
    node: Node, text: Text, functions: Mapping[str, tuple[Text, Node, bool]]
) -> dict[str, bool]:
    """Every variable that something below a node may set, and whether it is only ever added to."""
    names: dict[str, bool] = {}
    stack = [(node, text)]
    called: set[str] = set()
    seen = 0
    while stack and seen < MOST_NODES:
        current, where = stack.pop()
        seen += 1
        kind = current.type
        written = where.text[current.start_byte : current.end_byte]
        if kind in ("variable_assignment", "for_statement"):
            target = current.child_by_field_name("name") or current.child_by_field_name("variable")
            if target is not None:
                name = where.text[target.start_byte : target.end_byte].partition("[")[0]
                adds = kind == "variable_assignment" and adds_to_itself(current, name, where)
                names[name] = names.get(name, True) and adds
        elif kind == "command":
            first = re.match(r"(?:\w+=\S*\s+)*(\S+)", written)
            if first is not None and first[1] in READERS:
                names.update((name, False) for name in re.findall(r"[A-Za-z_]\w*", written))
            elif first is not None and first[1] in functions and first[1] not in called:
                called.add(first[1])
                body_text, body, _ = functions[first[1]]
                stack.append((body, body_text))
        elif written.startswith("(("):
            names.update((name, False) for name in re.findall(r"[A-Za-z_]\w*", written))
        stack.extend((child, where) for child in current.children)
    return names


def case_items(node: Node, text: Text) -> Iterator[tuple[list[str], list[Node]]]:
    """The patterns and the body of each item of a `case`."""
    for item in node.children:
        if item.type == "case_item":
            closing = next((i for i, child in enumerate(item.children) if child.type == ")"), 0)
            patterns = [text.text[child.start_byte : child.end_byte] for child in item.children[:closing]]
            bare = [pattern for pattern in patterns if pattern not in ("(", "|")]
            yield bare, list(item.children[closing + 1 :])


def read_on(node: Node, text: Text) -> int | None:
    """Where the grammar has read on over the end of a line, as it does behind `a | b | c` in some places.

    The offset of the first word that heads a line and is taken for an argument of the command on the line before.
    """
    if node.type not in ("command", "pipeline", "list", "redirected_statement"):
        return None
    if "\n" not in text.text[node.start_byte : node.end_byte]:
        return None
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "command":
            cut = line_end_within(current, text)
            if cut is not None:
                return cut
        elif current.type in ("pipeline", "list", "redirected_statement", "negated_command"):
            stack.extend(reversed(current.children))
    return None


def line_end_within(command: Node, text: Text) -> int | None:
    _, arguments, _ = parts_of(command)
    for word, following in pairwise(arguments):
        between = text.text[word.end_byte : following.start_byte]
        if "\n" in between and "\n" in re.sub(r"\\\r?\n", "", between):
            return following.start_byte
    return None
