"""The files that a script writes, and the texts in it that go into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dslint.documents.script import Heredoc, Redirect
from dslint.documents.shell_expand import EXPANSIONS, HEREDOC, Expander
from dslint.documents.shell_files import changed_files
from dslint.documents.shell_redirects import Redirects
from dslint.documents.shell_scope import Scope
from dslint.documents.shell_syntax import Written, heredoc_span, parse, parts_of, span_of
from dslint.documents.shell_words import Piece, Span, Text, Word, text_of
from dslint.documents.tree import UNKNOWN, Source, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node


class Writes:
    """What a walk over a script learns of files."""

    __slots__ = ("_path", "files", "heredocs", "modified", "printed")

    def __init__(self, source: Source) -> None:
        self._path = source.path
        self.heredocs: dict[tuple[int, int, str], Heredoc] = {}
        self.files: list[Word] = []
        self.modified: list[Word] = []
        # The last text that a command of a pipeline printed, for `cat <<EOF | tee file`.
        self.printed: tuple[Text, Scope, Written, str] | None = None

    def note(
        self,
        words: Sequence[Word],
        arguments: Sequence[Node],
        redirects: Redirects,
        text: Text,
        scope: Scope,
    ) -> None:
        """The files that a command writes, with the text that goes into them where the script shows it."""
        if words and words[0].text == "sudo":
            words = words[1:]
        name = base_name(words)
        named = changed_files(words)
        targets = [to for to in redirects.files if ">" in to.operator and not is_device(to.target)]
        shown: list[Word] = []
        written = text_written(name, arguments, redirects, text)
        if written is not None:
            shown = self.put(name or "", written, named, targets, words, text, scope)
            if redirects.heredocs and name != "cat" and not shown:
                self.add(None, written, name, False, text, scope)
        elif name == "tee" and self.printed is not None:
            where, state, printed, printer = self.printed
            for target in named:
                self.add(target, printed, printer, appends(words), where, state)
            shown = named
        files = [*named, *(to.target for to in targets)]
        self.files.extend(files)
        self.modified.extend(file for file in files if file not in shown)

    def put(
        self,
        name: str,
        written: Written,
        named: Sequence[Word],
        targets: Sequence[Redirect],
        words: Sequence[Word],
        text: Text,
        scope: Scope,
    ) -> list[Word]:
        """A text that a command is given goes as it is where cat, tee, echo and printf put it."""
        shown: list[Word] = []
        if name == "tee":
            for target in named:
                self.add(target, written, name, appends(words), text, scope)
                shown.append(target)
        elif name in ("cat", "echo", "printf"):
            for to in targets:
                self.add(to.target, written, name, ">>" in to.operator, text, scope)
                shown.append(to.target)
            if not targets:
                self.printed = (text, scope.copy(), written, name)
        return shown

    def add(
        self, target: Word | None, written: Written, reader: str | None, more: bool, text: Text, scope: Scope
    ) -> None:
        if written.end <= written.start:
            return
        first = text.trail(written.start, written.start + 1)
        last = text.trail(written.end - 1, written.end)
        if not first or len(first) != len(last) or last[-1][1] < first[-1][0]:
            return
        start, end = first[-1][0], last[-1][1]
        key = (start, end, target.shape if target is not None else "")
        substitute = Substitution(scope.copy(), (start, end), self._path)
        known = self.heredocs.get(key)
        if known is None:
            self.heredocs[key] = Heredoc(target, start, end, written.quoted, reader, substitute, more)
        else:
            # Written once a call of a function, each time with other values.
            self.heredocs[key] = replace(known, substitute=Agreement(known.substitute, substitute))


def base_name(words: Sequence[Word]) -> str | None:
    text = words[0].text if words else None
    return text.rpartition("/")[2] if isinstance(text, str) else None


def appends(words: Sequence[Word]) -> bool:
    return any(word.text in ("-a", "--append") for word in words)


def text_written(
    name: str | None, arguments: Sequence[Node], redirects: Redirects, text: Text
) -> Written | None:
    """The span of the text that a command is fed by a heredoc, or that echo and printf are given."""
    if redirects.heredocs:
        return heredoc_span(redirects.heredocs[0], text.text)
    if name not in ("echo", "printf"):
        return None
    given = [node for node in arguments[1:] if text.text[node.start_byte : node.start_byte + 1] != "-"]
    if name == "printf" and len(given) == 2:
        form = text.text[given[0].start_byte : given[0].end_byte].strip("'\"")
        given = given[1:] if form in ("%s", "%s\\n") else given
    if len(given) != 1:
        return None
    start, end = span_of(given[0])
    if given[0].type == "raw_string":
        return Written(start + 1, end - 1, True)
    if given[0].type == "string" and "\\" not in text.text[start:end]:
        return Written(start + 1, end - 1, False)
    return None


def heredoc_pieces(node: Node, expander: Expander) -> list[Piece]:
    """A heredoc's text as the program reads it."""
    written = heredoc_span(node, expander.text.text)
    if written.quoted:
        return expander.text.pieces(written.start, written.end)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    if body is None:
        return []
    parts = expander.between(body, written.start, written.end, HEREDOC, True)
    return [piece for part in parts for item in part.items for piece in item]


def is_device(target: Word) -> bool:
    return isinstance(target.text, str) and (
        target.text.startswith("/dev/") or target.text.isdecimal() or target.text == "-"
    )


class Agreement:
    """The text of a placeholder when two ways agree on it."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Callable[[str], str | Unknown], other: Callable[[str], str | Unknown]) -> None:
        self._one = one
        self._other = other

    def __call__(self, placeholder: str) -> str | Unknown:
        text = self._one(placeholder)
        return text if isinstance(text, str) and self._other(placeholder) == text else UNKNOWN


class Substitution:
    """The text of a placeholder, in the state that the shell had at a heredoc."""

    __slots__ = ("_path", "_scope", "_span")

    def __init__(self, scope: Scope, span: Span, path: str) -> None:
        self._scope = scope
        self._span = span
        self._path = path

    def __call__(self, placeholder: str) -> str | Unknown:
        text = Text([Piece(placeholder, (self._span,))])
        commands = parse(placeholder).named_children
        whole = (0, len(placeholder))
        if len(commands) != 1 or commands[0].type != "command" or span_of(commands[0]) != whole:
            return UNKNOWN
        _, words, others = parts_of(commands[0])
        if len(words) != 1 or others:
            return UNKNOWN
        expander = Expander(text, self._scope, self._path, lambda *_: None)
        if words[0].type in EXPANSIONS:
            parts = [expander.expansion(words[0], True)]
        else:
            parts = expander.between(words[0], *whole, HEREDOC, True)
        if any(len(part.items) != 1 for part in parts):
            return UNKNOWN
        return text_of(piece for part in parts for piece in part.items[0])
