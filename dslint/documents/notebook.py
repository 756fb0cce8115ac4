"""Notebooks (.ipynb): their code cells read as one program, and what cells hold besides Python.

Every span lies in the notebook's own text, within the JSON strings that hold the cells' code, escapes and
all. Cells are taken in the order in which they stand. Nothing in a notebook is edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from dslint.documents.python import Program, is_worth_reading, names_library, parsed, read_code
from dslint.documents.python_offsets import Offsets
from dslint.documents.tree import Document, Member, Node, Problem, Source

MAX_LENGTH: Final = 20_000_000  # characters; outputs are most of it
BLANKS: Final = re.compile(r"[ \t\r\n]*")
ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)|[^\\]+", re.S)
SURROGATE: Final = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

# Cells that hand something to a shell or to a file.
ELSEWHERE: Final = re.compile(r"\"[ \t]*!|%%(?:bash|sh|script|writefile|file)\b")
# Could this cell hold something that is no Python?
SUSPECT: Final = re.compile(r"^[ \t]*[%!?]|\?[ \t]*$|=[ \t]*[%!]", re.M)
LINE_MAGIC: Final = re.compile(r"([ \t]*)(%{1,2}[A-Za-z_]|!|\?)")
HELP: Final = re.compile(r"[ \t]*[\w.]+\?{1,2}[ \t]*$")
ASSIGNED: Final = re.compile(r"([^=(){}#]+=[ \t]*)([%!].*)")
# A Python value that IPython puts into a shell command.
VALUE: Final = re.compile(r"(?<!\$)\{[^{}\n]*\}")
# Cell magics after whose line the cell is Python.
PYTHON_MAGICS: Final = frozenset({"time", "timeit", "capture", "prun", "python", "python3"})
SHELL_MAGICS: Final = frozenset({"bash", "sh", "!", "script", "sx", "system"})
FILE_MAGICS: Final = frozenset({"writefile", "file"})


class Text(NamedTuple):
    """Some text with where each of its characters begins and ends in the notebook."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def part(self, start: int, end: int) -> Text:
        return Text(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def start(self, index: int) -> int:
        """Where the character at an index begins; past the last one, where that ends."""
        if index < len(self.starts):
            return self.starts[index]
        return self.ends[-1] if self.ends else 0

    def end(self, index: int) -> int:
        """Where the text before an index ends."""
        return self.ends[index - 1] if 0 < index <= len(self.ends) else self.start(0)

    def runs(self) -> Iterator[tuple[str, int, int]]:
        """The text in runs that stand in the notebook character for character, and single escapes."""
        first = 0
        for index in range(1, len(self.text) + 1):
            if index < len(self.text) and self.is_exact(index - 1) and self.joins(index):
                continue
            yield self.text[first:index], self.starts[first], self.ends[index - 1]
            first = index

    def is_exact(self, index: int) -> bool:
        return self.ends[index] - self.starts[index] == 1

    def joins(self, index: int) -> bool:
        return self.starts[index] == self.ends[index - 1] and self.is_exact(index)


class Snippet(NamedTuple):
    """What a cell hands to something else than Python.

    kind "shell": commands (`!…`, a `%%bash` cell). kind "file": the content that `%%writefile` puts at
    `path`.
    """

    kind: Literal["shell", "file"]
    content: Text
    path: str = ""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook's code cells as one program, with the rest.

    `documents` are the JSON files that cells write, and `programs` the Python files, each with its path.
    """

    source: Source
    program: Program
    snippets: tuple[Snippet, ...] = ()
    documents: tuple[tuple[str, Document], ...] = ()
    programs: tuple[tuple[str, Program], ...] = ()
    problem: Problem | None = None


class Broken(Exception):
    """The text is no notebook: what is wrong, and where."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def read_notebook(source: Source) -> Notebook:
    """Reads a notebook. Never raises; a text that is none gives a Notebook with a problem."""
    text = source.text
    if len(text) > MAX_LENGTH or not may_matter(text):
        return Notebook(source, Program(source))
    try:
        cells = code_cells(text)
    except Broken as error:
        at = min(error.offset, len(text))
        problem = Problem("syntax", f"it is no notebook: {error}", at, at, "", frozenset())
        return Notebook(source, Program(source), problem=problem)
    except RecursionError:
        return Notebook(source, Program(source))
    snippets: list[Snippet] = []
    codes = [code for cell in cells if (code := python_of(cell, snippets)) is not None]
    files = [snippet for snippet in snippets if snippet.kind == "file"]
    return Notebook(
        source,
        program_of(source, codes),
        tuple(snippets),
        tuple((file.path, document_of(source, file)) for file in files if file.path.endswith(".json")),
        tuple((file.path, read_text(source, file.content)) for file in files if file.path.endswith(".py")),
    )


def may_matter(text: str) -> bool:
    """A quick look: a program that matters, or commands and files beside a word that does."""
    return is_worth_reading(text) or (names_library(text) and ELSEWHERE.search(text) is not None)


# The notebook's JSON, read once from end to end; only the cells' code is kept.


class Cursor:
    """A place in a JSON text that moves on."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def skip_blanks(self) -> None:
        found = BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def is_at(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def value(self) -> Any:
        """Reads any value."""
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
        except ValueError as error:
            raise Broken("it breaks off or is no JSON there", getattr(error, "pos", self.at)) from error
        return value

    def parts(self, opening: str, closing: str) -> Iterator[str]:
        """The keys of an object (or "" for each item of an array), with the cursor at the value; who takes
        it may read it.
        """
        self.skip_blanks()
        if not self.is_at(opening):
            raise Broken(f"there should be a `{opening}`", self.at)
        self.at += 1
        self.skip_blanks()
        while not self.is_at(closing):
            key = self.key() if opening == "{" else ""
            before = self.at
            yield key
            if self.at == before:
                self.value()
            self.skip_blanks()
            if self.is_at(","):
                self.at += 1
                self.skip_blanks()
            elif not self.is_at(closing):
                raise Broken(f"there should be a `,` or a `{closing}`", self.at)
        self.at += 1

    def key(self) -> str:
        key = self.value()
        self.skip_blanks()
        if not isinstance(key, str) or not self.is_at(":"):
            raise Broken("there should be a key and a `:`", self.at)
        self.at += 1
        self.skip_blanks()
        return key


DECODER: Final = json.JSONDecoder(strict=False)


def code_cells(text: str) -> list[Text]:
    """The text of every code cell; none where the kernel is no Python.

    Raises:
        Broken: the text is no notebook of format 4.
    """
    cursor = Cursor(text)
    found: list[Text] = []
    python = True
    for key in cursor.parts("{", "}"):
        if key == "cells":
            for _ in cursor.parts("[", "]"):
                code = code_of(cursor)
                if code is not None:
                    found.append(code)
        elif key == "metadata":
            python = is_python(cursor.value())
    return found if python else []


def is_python(metadata: Any) -> bool:
    """Whether the kernel is a Python one, or unknown."""
    if not isinstance(metadata, dict):
        return True
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(name)
        if isinstance(part, dict) and isinstance(part.get(key), str):
            return part[key].lower() in ("python", "ipython")
    return True


def code_of(cursor: Cursor) -> Text | None:
    """A cell's source, if it is a code cell."""
    kind: Any = None
    source: list[Text] | None = None
    for key in cursor.parts("{", "}"):
        if key == "cell_type":
            kind = cursor.value()
        elif key == "source" and cursor.is_at("["):
            source = [string_at(cursor) for _ in cursor.parts("[", "]") if cursor.is_at('"')]
        elif key == "source" and cursor.is_at('"'):
            source = [string_at(cursor)]
    return merged(source) if kind == "code" and source else None


def string_at(cursor: Cursor) -> Text:
    """A JSON string's text, with where each of its characters stands."""
    text, first = cursor.text, cursor.at + 1
    value = cursor.value()
    last = cursor.at - 1
    if len(value) == last - first:
        return Text(value, range(first, last), range(first + 1, last + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    place = first
    while place < last:
        found = ESCAPE.match(text, place, last)
        assert found is not None
        stop = found.end()
        if found[1] is None and found[2] is None:
            pieces.append(found[0])
            starts.extend(range(place, stop))
            ends.extend(range(place + 1, stop + 1))
        else:
            piece, stop = unescaped(found, text, last)
            pieces.append(piece)
            starts.append(place)
            ends.append(stop)
        place = stop
    return Text("".join(pieces), starts, ends)


def unescaped(found: re.Match[str], text: str, last: int) -> tuple[str, int]:
    """An escape's character, and where the escape ends (a pair of surrogates is one)."""
    if found[1] is None:
        return PLAIN.get(found[2], found[2]), found.end()
    value = int(found[1], 16)
    pair = SURROGATE.match(text, found.end(), last) if 0xD800 <= value < 0xDC00 else None
    if pair is None:
        return chr(value), found.end()
    return chr(0x10000 + ((value - 0xD800) << 10) + int(pair[1], 16) - 0xDC00), pair.end()


def merged(texts: Sequence[Text]) -> Text:
    if len(texts) == 1:
        return texts[0]
    starts: list[int] = []
    ends: list[int] = []
    for text in texts:
        starts.extend(text.starts)
        ends.extend(text.ends)
    return Text("".join(text.text for text in texts), starts, ends)


# What is no Python in a cell.


def python_of(cell: Text, snippets: list[Snippet]) -> Text | None:
    """A cell's Python, with magics replaced; what goes elsewhere is added to the snippets."""
    if SUSPECT.search(cell.text) is None or is_valid(cell.text):
        return cell
    first = re.compile(r"\s*%%(\S+)[ \t]*(.*)").match(cell.text)
    begin = 0
    if first is not None:
        name, rest = first[1], first[2].strip()
        begin = first.end() + 1
        body = cell.part(begin, len(cell.text))
        if name in FILE_MAGICS:
            path = rest.removeprefix("-a ").removeprefix("--append ").strip().strip("'\"")
            snippets.append(Snippet("file", body, path))
            return None
        if name in SHELL_MAGICS:
            if name != "script" or rest.split()[:1] in (["bash"], ["sh"]):
                snippets.append(Snippet("shell", body))
            return None
        if name not in PYTHON_MAGICS:
            return None
    return without_magics(cell, begin, snippets)


def is_valid(code: str) -> bool:
    try:
        parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def without_magics(cell: Text, begin: int, snippets: list[Snippet]) -> Text:
    kept: list[Text] = []
    at = begin
    while at < len(cell.text):
        end = row_end(cell.text, at)
        row = cell.text[at:end].rstrip("\r\n")
        magic = LINE_MAGIC.match(row)
        assigned = ASSIGNED.match(row) if magic is None else None
        if magic is not None and magic[2] == "!":
            while cell.text[at:end].rstrip("\r\n").endswith("\\") and end < len(cell.text):
                end = row_end(cell.text, end)
            command = at + len(magic[0])
            command += cell.text.startswith("!", command)
            snippets.append(Snippet("shell", with_unknowns(cell.part(command, end))))
            kept.append(stand_in(cell, at, end, magic[1] + "pass"))
        elif magic is not None:
            kept.append(stand_in(cell, at, end, magic[1] + "pass"))
        elif assigned is not None:
            if assigned[2].startswith("!"):
                command = at + len(assigned[1]) + 1
                snippets.append(Snippet("shell", with_unknowns(cell.part(command, at + len(row)))))
            kept.append(cell.part(at, at + len(assigned[1])))
            kept.append(stand_in(cell, at + len(assigned[1]), end, "unknown()"))
        elif HELP.match(row):
            kept.append(stand_in(cell, at, end, "pass"))
        else:
            kept.append(cell.part(at, end))
        at = end
    return merged(kept) if kept else Text("", [], [])


def row_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def stand_in(cell: Text, start: int, end: int, code: str) -> Text:
    """Other code in the place of some rows."""
    code += "\n"
    return Text(code, [cell.start(start)] * len(code), [cell.end(end)] * len(code))


def with_unknowns(command: Text) -> Text:
    """A command in which Python's values (`{lr}`) are shell variables that nothing sets."""
    return command._replace(text=VALUE.sub(lambda found: "$" + "_" * (len(found[0]) - 1), command.text))


# Programs and documents.


def program_of(source: Source, cells: list[Text]) -> Program:
    """One program of all cells; those that Python does not read are left out."""
    program = read_text(source, joined(cells))
    if program.problem is not None:
        readable = [cell for cell in cells if is_valid(cell.text)]
        if len(readable) < len(cells):
            return read_text(source, joined(readable))
    return program


def joined(cells: list[Text]) -> Text:
    """The cells below each other."""
    rows: list[Text] = []
    for cell in cells:
        rows.append(cell)
        if cell.ends:
            rows.append(Text("\n", [cell.ends[-1]], [cell.ends[-1]]))
    return merged(rows) if rows else Text("", [], [])


def read_text(source: Source, code: Text) -> Program:
    if not is_worth_reading(code.text):
        return Program(source)
    return read_code(source, code.text, Offsets(code.text, 0, code.starts, code.ends))


def document_of(source: Source, file: Snippet) -> Document:
    """The JSON that a cell writes, with its places in the notebook. It has no edits by pointer."""
    # Imported here: few notebooks write a config.
    from dslint.documents.json import parse

    content = file.content
    document = parse(Source(file.path, content.text))
    problems = tuple(
        problem._replace(start=content.start(problem.start), end=end_of(content, problem.start, problem.end))
        for problem in document.problems
    )
    root = moved(document.root, content)
    return document._replace(source=source, root=root, problems=problems, derived=True)


def end_of(content: Text, start: int, end: int) -> int:
    """Where a span ends in the notebook; an empty one may stand between two of its strings, and has no extent there."""
    return max(content.end(end), content.start(start))


def moved(node: Node, content: Text) -> Node:
    return node.but(
        start=content.start(node.start),
        end=end_of(content, node.start, node.end),
        members=[
            Member(
                member.key,
                content.start(member.key_start),
                end_of(content, member.key_start, member.key_end),
                moved(member.node, content),
            )
            for member in node.members
        ],
        items=[moved(item, content) for item in node.items],
    )
