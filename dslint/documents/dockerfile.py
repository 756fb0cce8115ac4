"""A Dockerfile's RUN, CMD and ENTRYPOINT, in the shell form and as JSON arrays; ENV and ARG are its variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dslint.documents.script import Script
from dslint.documents.shell_expand import Expander
from dslint.documents.shell_run import Frame, Walker
from dslint.documents.shell_scope import Scope, Value, scalar, unknown
from dslint.documents.shell_syntax import parse
from dslint.documents.shell_words import Piece, Text, text_of
from dslint.documents.tree import Source

INSTRUCTION: Final = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+")
JSON_STRING: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*([,\]])')


class Instruction(NamedTuple):
    """An instruction by its name in capitals; `pieces` are its arguments with line continuations and comments dropped."""

    name: str
    start: int
    end: int
    pieces: list[Piece]


def read_dockerfile(source: Source) -> Script:
    """The commands that building and starting the image run."""
    from dslint.documents.shell import run_words, script_of, walk

    walker = Walker(source)
    scope = Scope()
    entry: list[tuple[str, int, int]] = []
    for instruction in instructions(source):
        if instruction.name == "FROM":
            entry = []
        elif instruction.name in ("ENV", "ARG"):
            settings(source, instruction, scope)
        elif instruction.name in ("RUN", "CMD", "ENTRYPOINT"):
            words = exec_form(source, instruction)
            if words is None:
                walk(walker, Frame(shell_form(instruction), scope.copy()))
            elif instruction.name == "ENTRYPOINT":
                entry = words
                run_words(walker, words, scope)
            else:
                run_words(walker, [*entry, *words] if instruction.name == "CMD" else words, scope)
    return script_of(walker, None, [])


def instructions(source: Source) -> Iterator[Instruction]:
    text = source.text
    place = 0
    while place < len(text):
        end = line_end(text, place)
        match = INSTRUCTION.match(text, place, end)
        if match is None:
            place = end + 1
            continue
        pieces: list[Piece] = []
        start = match.end()
        first = start
        while True:
            content_end = end
            while content_end > first and text[content_end - 1] in " \t\r":
                content_end -= 1
            goes_on = content_end > first and text[content_end - 1] == "\\"
            pieces.append(Piece(text[first : content_end - goes_on], ((first, content_end - goes_on),)))
            if not goes_on or end >= len(text):
                break
            pieces.append(Piece(" ", ((content_end - 1, content_end),)))
            first, end = next_line(text, end)
        last = max(end, start)
        pieces.extend(heredoc_lines(text, start, last))
        if len(pieces) > 1 and pieces[-1].trail and pieces[-1].trail[-1][1] > last:
            last = pieces[-1].trail[-1][1]
        yield Instruction(match[1].upper(), start, last, pieces)
        place = last + 1


def line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def next_line(text: str, end: int) -> tuple[int, int]:
    """The next line that is no comment and not empty: inside an instruction those are left out."""
    place = end + 1
    while place < len(text):
        stop = line_end(text, place)
        content = text[place:stop].strip()
        if content and not content.startswith("#"):
            return place, stop
        place = stop + 1
    return len(text), len(text)


def heredoc_lines(text: str, start: int, end: int) -> list[Piece]:
    """The lines of `RUN <<EOF` behind the instruction's own."""
    match = re.search(r"<<-?\s*[\"']?(\w+)[\"']?", text[start:end])
    if match is None:
        return []
    close = re.compile(rf"^\s*{match[1]}[ \t\r]*$", re.MULTILINE).search(text, end)
    if close is None:
        return []
    return [Piece(text[end : close.end()], ((end, close.end()),))]


def shell_form(instruction: Instruction) -> Text:
    """The commands of an instruction, without its own options; `RUN <<EOF` holds them on the lines below."""
    text = Text(instruction.pieces)
    own = re.match(r"(?:\s*--[a-z]+(?:=\S*)?)*\s*", text.text)
    start = own.end() if own is not None else 0
    heredoc = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?[ \t\r]*\n(.*?)^\s*\1[ \t\r]*$", re.DOTALL | re.MULTILINE)
    lines = heredoc.match(text.text, start)
    span = lines.span(2) if lines is not None else (start, len(text.text))
    return Text(text.pieces(*span))


def exec_form(source: Source, instruction: Instruction) -> list[tuple[str, int, int]] | None:
    """The words of `["deepspeed", "train.py"]`, or None for the shell form."""
    joined = Text(instruction.pieces)
    if not joined.text.lstrip().startswith("["):
        return None
    place = joined.text.index("[") + 1
    words: list[tuple[str, int, int]] = []
    while True:
        match = JSON_STRING.match(joined.text, place)
        if match is None:
            return words if joined.text[place:].strip() == "]" else None
        try:
            text = json.loads(f'"{match[1]}"', strict=False)
        except ValueError:
            return None
        trail = joined.trail(match.start(1) - 1, match.end(1) + 1)
        words.append((text, *trail[-1]))
        place = match.end()
        if match[2] == "]":
            return words


def settings(source: Source, instruction: Instruction, scope: Scope) -> None:
    """`ENV A=1 B="x y"`, the older `ENV A x y`, and `ARG A=1`, whose value whoever builds may replace."""
    text = Text(instruction.pieces)
    match = re.match(r"\s*([A-Za-z_]\w*)\s+(?!=)(.*\S)", text.text, re.DOTALL)
    if instruction.name == "ENV" and match and "=" not in text.text[: match.end(1) + 1]:
        define(scope, match[1], scalar(text.pieces(*match.span(2))))
        return
    node = parse(text.text)
    expander = Expander(text, scope, source.path, lambda *_: None)
    stack = list(reversed(node.children))
    while stack:
        current = stack.pop()
        if current.type != "variable_assignment":
            stack.extend(reversed(current.children))
            continue
        target = current.child_by_field_name("name")
        if target is None or target.type == "subscript":
            continue
        name = text.text[target.start_byte : target.end_byte]
        value = expander.value(current.child_by_field_name("value"))
        if instruction.name == "ARG":
            default = text_of(value.first)
            value = unknown(f"${name}", choices=(default,) if isinstance(default, str) else ())
        define(scope, name, value)


def define(scope: Scope, name: str, value: Value) -> None:
    scope.assign(name, value)
    scope.exported.add(name)
