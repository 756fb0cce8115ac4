"""A command's redirects and heredocs, told from the words that the grammar puts among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dslint.documents.script import Redirect
from dslint.documents.shell_expand import Expander

if TYPE_CHECKING:
    from tree_sitter import Node


class Redirects(NamedTuple):
    """A command's redirects, and what the grammar puts among them that is none.

    - arguments: words behind a heredoc's start or a redirect's target.
    - piped, followed: commands behind a heredoc's start, on its line.
    """

    files: tuple[Redirect, ...] = ()
    heredocs: tuple[Node, ...] = ()
    arguments: tuple[Node, ...] = ()
    piped: tuple[Node, ...] = ()
    followed: tuple[tuple[str, Node], ...] = ()

    def and_then(self, other: Redirects) -> Redirects:
        return Redirects(
            self.files + other.files,
            self.heredocs + other.heredocs,
            self.arguments + other.arguments,
            self.piped + other.piped,
            self.followed + other.followed,
        )


NOTHING = Redirects()


def read_redirects(nodes: Sequence[Node], expander: Expander) -> Redirects:
    found = NOTHING
    for node in nodes:
        if node.type == "heredoc_redirect":
            found = found.and_then(heredoc_line(node, expander))
        elif node.type in ("file_redirect", "herestring_redirect"):
            found = found.and_then(file_redirect(node, expander))
    return found


def heredoc_line(node: Node, expander: Expander) -> Redirects:
    """A heredoc, and what stands behind `<<EOF` on its line."""
    found = Redirects(heredocs=(node,))
    operator = ""
    for index, child in enumerate(node.children):
        field = node.field_name_for_child(index)
        if child.type == "file_redirect":
            found = found.and_then(file_redirect(child, expander))
        elif child.type == "pipeline":
            found = found.and_then(Redirects(piped=(child,)))
        elif field == "argument":
            found = found.and_then(Redirects(arguments=(child,)))
        elif field == "operator":
            operator = child.type
        elif field == "right":
            found = found.and_then(Redirects(followed=((operator, child),)))
    return found


def file_redirect(node: Node, expander: Expander) -> Redirects:
    operator = next((child.type for child in node.children if not child.is_named), "<<<")
    targets = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
    if not targets:
        return NOTHING
    # The grammar takes the words behind a target as targets too; they are arguments.
    arguments = tuple(targets[1:])
    if targets[0].type == "number" and operator.endswith("&"):
        return Redirects(arguments=arguments)
    return Redirects(files=(Redirect(operator, expander.single(targets[0])),), arguments=arguments)
