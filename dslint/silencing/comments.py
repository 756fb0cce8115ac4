"""Where a comment begins and ends, by the language of the file. Strings that look like comments are none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from dslint.documents.tree import Document, Node, Source, line_starts
from dslint.launches.discover import kind_of

# A `#` begins a comment where a word could begin, and not in quotes.
_SHELL: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?P<comment>(?<![^\s;&|()])\#)|.""")
_YAML: Final = re.compile(r"(?P<comment>(?<!\S)#)")
_NOTEBOOK_END: Final = re.compile(r'\\[nr]|"|$', re.MULTILINE)


class Comment(NamedTuple):
    """A comment in a source: `start:end` with its markers, `inner_start:inner_end` without."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    removable: bool = True


def comment_at(source: Source, documents: Sequence[Document], offset: int) -> Comment | None:
    """The comment that an offset lies in, or None. `documents` are those that stand in this source."""
    for document in documents:
        if document.syntax == "json":
            noted = noted_comment(document, offset)
            if noted is not None or document.root.start <= offset < document.root.end:
                return noted
    return by_language(source, documents, offset)


def noted_comment(document: Document, offset: int) -> Comment | None:
    """A JSON comment: the parser has noted where they all are."""
    text = document.source.text
    for problem in document.problems:
        if problem.kind == "comment" and problem.start <= offset < problem.end:
            start, end = problem.start, problem.end
            while end > start and text[end - 1] in "\r\n":
                end -= 1
            block = text.startswith("/*", start)
            marker = 1 if text[start] == "#" else 2
            closed = block and text.endswith("*/", start, end)
            return Comment(start, end, start + marker, end - 2 if closed else end)
    return None


def by_language(source: Source, documents: Sequence[Document], offset: int) -> Comment | None:
    kind = kind_of(source.path)
    syntaxes = {document.syntax for document in documents}
    if kind == "json" or (kind is None and syntaxes == {"json"}):
        return None
    if kind == "notebook":
        return notebook_comment(source, offset)
    if kind == "python" or (kind is None and "python" in syntaxes):
        return python_comment(source, offset)
    if kind == "yaml" or (kind is None and "yaml" in syntaxes):
        return hash_comment(source, offset, _YAML, [document.root for document in documents])
    return hash_comment(source, offset, _SHELL)


def hash_comment(
    source: Source, offset: int, tokens: re.Pattern[str], trees: Sequence[Node] = ()
) -> Comment | None:
    """The comment from the first `#` of a row that begins one to its end; texts of the `trees` hold none."""
    start = row_start(source, offset)
    line = source.line(source.position(offset).row)
    for token in tokens.finditer(line):
        first = start + token.start()
        if token.group("comment") and not any(in_text(tree, first) for tree in trees):
            return Comment(first, start + len(line), first + 1, start + len(line)) if first < offset else None
    return None


def notebook_comment(source: Source, offset: int) -> Comment | None:
    """A comment in a cell's code: the cell is a JSON text, so it ends where the text or its row does."""
    first = source.text.rfind("#", row_start(source, offset), offset)
    ends = _NOTEBOOK_END.search(source.text, offset)
    if first < 0 or ends is None:
        return None
    return Comment(first, ends.start(), first + 1, ends.start(), removable=False)


def python_comment(source: Source, offset: int) -> Comment | None:
    """A comment as Python's own tokenizer sees it; in text that it cannot read, as a row's `#` suggests."""
    # Imported here: only a Python file with an ignore in it needs it.
    import io
    import tokenize

    starts = line_starts(source.text)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            row, column = token.start
            if token.type != tokenize.COMMENT or row > len(starts):
                continue
            start = starts[row - 1] + column
            if start <= offset < start + len(token.string):
                return Comment(start, start + len(token.string), start + 1, start + len(token.string))
    except (tokenize.TokenError, SyntaxError):
        return hash_comment(source, offset, _SHELL)
    return None


def in_text(root: Node, offset: int) -> bool:
    """Does an offset lie inside a text of a tree?"""
    stack = [root]
    while stack:
        node = stack.pop()
        if not node.start <= offset < node.end:
            continue
        if node.kind == "string":
            return True
        stack += node.items
        for member in node.members:
            if member.key_start < offset < member.key_end:
                return True
            stack.append(member.node)
    return False


def row_start(source: Source, offset: int) -> int:
    """The offset at which an offset's row begins."""
    text = source.text
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def stands_alone(source: Source, comment: Comment) -> bool:
    """Is there nothing else on the rows of a comment?"""
    before = source.text[row_start(source, comment.start) : comment.start]
    end = row_end(source, comment.end)
    return not before.strip("\ufeff \t") and not source.text[comment.end : end].strip()


def row_end(source: Source, offset: int) -> int:
    """The offset at which an offset's row ends, before its line end."""
    found = re.compile(r"[\r\n]").search(source.text, offset)
    return found.start() if found else len(source.text)


def logical_rows(source: Source, row: int) -> range:
    """The rows that a backslash at the end joins with a row into one command."""
    last = row_count(source)
    first = end = row
    while first > 1 and continues(source.line(first - 1)):
        first -= 1
    while end < last and continues(source.line(end)):
        end += 1
    return range(first, end + 1)


def continues(line: str) -> bool:
    stripped = line.rstrip("\\")
    return (len(line) - len(stripped)) % 2 == 1 and not stripped.lstrip().startswith("#")


def row_count(source: Source) -> int:
    return source.position(len(source.text)).row


def documents_in(source: Source, documents: Iterable[Document]) -> list[Document]:
    """The documents that stand in a source, each once however many launches use it."""
    found: dict[tuple[str, int, int, bool], Document] = {}
    for document in documents:
        if document.source.path == source.path:
            root = document.root
            found.setdefault((document.syntax, root.start, root.end, document.derived), document)
    return list(found.values())
