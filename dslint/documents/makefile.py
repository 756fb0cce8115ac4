"""A Makefile's recipes, as the shell would get them: `$(NAME)` of the make variables, `$$` for `$`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dslint.documents.script import Script
from dslint.documents.shell_run import Frame, Walker
from dslint.documents.shell_scope import Scope, scalar
from dslint.documents.shell_words import Piece, Text
from dslint.documents.tree import UNKNOWN, Source

ASSIGNMENT: Final = re.compile(
    r"\s*(export\s+|override\s+)*([A-Za-z_][\w.-]*)\s*(\?=|:::?=|:=|\+=|=)[ \t]*(.*)", re.DOTALL
)
REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()${}]*)\)|\{([^(){}$]*)\}|\(|\{|(.))", re.DOTALL)
DEEPEST: Final = 8


class Line(NamedTuple):
    """A logical line: its span, backslash and line end included where it goes on."""

    start: int
    end: int
    recipe: bool


def read_makefile(source: Source) -> Script:
    """The commands of every recipe; each line is a shell of its own."""
    from dslint.documents.shell import script_of, walk

    variables: dict[str, list[Piece]] = {}
    exported: set[str] = set()
    recipes: list[Line] = []
    for line in lines_of(source.text):
        if line.recipe:
            recipes.append(line)
        else:
            assign(source, line, variables, exported)
    walker = Walker(source)
    for line in recipes:
        pieces = expand(recipe_pieces(source, line), variables, 0)
        scope = Scope()
        for name in exported & set(variables):
            scope.assign(name, scalar(expand(variables[name], variables, 0)))
            scope.exported.add(name)
        walk(walker, Frame(Text(pieces, flat=len(pieces) == 1), scope, top=len(pieces) == 1))
    return script_of(walker, None, [])


def lines_of(text: str) -> list[Line]:
    found: list[Line] = []
    place = 0
    in_rule = False
    in_define = False
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        while end < len(text) and re.search(r"(?<!\\)(?:\\\\)*\\\r?$", text[place:end]):
            further = text.find("\n", end + 1)
            end = len(text) if further < 0 else further
        content = text[place:end]
        if in_define or re.match(r"\s*define\b", content):
            in_define = re.match(r"\s*endef\b", content) is None
            place = end + 1
            continue
        recipe = content.startswith("\t") and in_rule
        if not recipe and content.strip() and not content.lstrip().startswith("#"):
            in_rule = ASSIGNMENT.match(content) is None and ":" in content
        found.append(Line(place, end, recipe))
        place = end + 1
    return found


def assign(source: Source, line: Line, variables: dict[str, list[Piece]], exported: set[str]) -> None:
    content = source.text[line.start : line.end]
    match = ASSIGNMENT.match(content)
    if match is None:
        declared = re.match(r"export\s+([A-Za-z_]\w*)\s*$", content)
        if declared:
            exported.add(declared[1])
        return
    name, operator = match[2], match[3]
    value = match[4]
    comment = re.search(r"(?:^|\s)#", value)
    stop = match.end(4) if comment is None else match.start(4) + comment.start()
    start = line.start + match.start(4)
    stop = line.start + stop
    while stop > start and source.text[stop - 1] in " \t\r":
        stop -= 1
    pieces = joined_lines(source, start, stop)
    if operator == "?=":
        # The environment may say otherwise.
        choices = (source.text[start:stop],)
        pieces = [Piece(UNKNOWN, ((start, stop),), symbol=f"${name}", choices=choices)]
    elif operator == "+=":
        pieces = [*variables.get(name, []), Piece(" ", ((start, stop),)), *pieces]
    elif operator.startswith(":"):
        pieces = expand(pieces, variables, 0)
    if re.match(r"\s*export\b", content):
        exported.add(name)
    variables[name] = pieces


def joined_lines(source: Source, start: int, stop: int) -> list[Piece]:
    """The characters of a value, with each backslash and line end, and the blanks behind it, as one blank."""
    pieces: list[Piece] = []
    place = start
    for match in re.compile(r"[ \t]*\\\r?\n[ \t]*").finditer(source.text, start, stop):
        pieces.append(Piece(source.text[place : match.start()], ((place, match.start()),)))
        pieces.append(Piece(" ", (match.span(),)))
        place = match.end()
    pieces.append(Piece(source.text[place:stop], ((place, stop),)))
    return pieces


def recipe_pieces(source: Source, line: Line) -> list[Piece]:
    start = line.start + 1
    while start < line.end and source.text[start] in "@-+ \t":
        start += 1
    return [Piece(source.text[start : line.end], ((start, line.end),))]


def expand(pieces: list[Piece], variables: dict[str, list[Piece]], depth: int) -> list[Piece]:
    """`$(NAME)` replaced by what the variable holds; what make computes is unknown."""
    found: list[Piece] = []
    for piece in pieces:
        if not isinstance(piece.text, str):
            found.append(piece)
            continue
        place = 0
        for match in REFERENCE.finditer(piece.text):
            if match.start() < place:
                continue
            found.append(piece.part(place, match.start()))
            place = match.end()
            if match[0] == "$$":
                found.append(Piece("$", piece.part(*match.span()).trail))
                continue
            if match[0] in ("$(", "${"):
                place = closing(piece.text, match.end())
            here = piece.part(match.start(), place)
            name = match[1] or match[2] or match[3] or ""
            value = variables.get(name)
            if value is None or depth > DEEPEST:
                found.append(Piece(UNKNOWN, here.trail, symbol=str(here.text)))
            else:
                found.extend(inner.below(here.trail) for inner in expand(value, variables, depth + 1))
        found.append(piece.part(place, len(piece.text)))
    return [piece for piece in found if not isinstance(piece.text, str) or piece.text]


def closing(text: str, start: int) -> int:
    """Behind the bracket that closes one at `start - 1`."""
    depth = 1
    for place in range(start, len(text)):
        if text[place] in "({":
            depth += 1
        elif text[place] in ")}":
            depth -= 1
            if depth == 0:
                return place + 1
    return len(text)


__all__ = ["read_makefile"]
