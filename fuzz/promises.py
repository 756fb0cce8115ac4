"""What holds of every document, whatever its text: spans lie in the text, and children within their parents' text."""

from __future__ import annotations

from dslint.documents.script import Script
from dslint.documents.tree import Document, Node, Problem, walk


def check_document(document: Document) -> None:
    """Raises AssertionError where a node, key or problem lies outside of the text."""
    size = len(document.source.text)
    for _, node in walk(document.root):
        check_node(node, size)
    for problem in document.problems:
        check_problem(problem, size)
        document.source.position(problem.start)
    document.root.plain()


def check_node(node: Node, size: int) -> None:
    assert 0 <= node.start <= node.end <= size, f"{node.kind} at {node.start}:{node.end} of {size}"
    for member in node.members:
        assert 0 <= member.key_start <= member.key_end <= size, f"key {member.key!r} lies outside"


def check_problem(problem: Problem, size: int) -> None:
    assert 0 <= problem.start <= problem.end <= size, (
        f"{problem.kind} at {problem.start}:{problem.end} of {size}"
    )


def check_script(script: Script, size: int) -> None:
    """Raises AssertionError where a command, word, heredoc or hint lies outside of the text, or a word can't be asked."""
    for command in script.commands:
        assert 0 <= command.start <= command.end <= size
        for word in command.words:
            assert 0 <= word.start <= word.end <= size
            assert word.candidates is not None
            assert word.shape is not None
    for place in (*script.heredocs, *script.hints):
        assert 0 <= place.start <= place.end <= size


def text_of(data: bytes) -> str:
    """The text that dslint would make of a file's bytes; of what it refuses, whatever can be made of it.

    A file that is refused must be refused in its own way, which this tries too.
    """
    from dslint.fixing.writing import Unreadable, decode

    try:
        return decode(data, "fuzzed")
    except Unreadable as error:
        assert "\n" not in str(error)
    # Editors and notebooks hand over texts that no file can hold.
    return data.decode("utf-8", "replace")
