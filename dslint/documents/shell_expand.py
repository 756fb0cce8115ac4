"""Expansion: nodes of the syntax tree to words, with the values of variables that are known at that point."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dslint.documents.shell_arithmetic import compute
from dslint.documents.shell_folders import folder_printed, here
from dslint.documents.shell_parameters import trimmed
from dslint.documents.shell_scope import (
    CHANGING,
    MOST_CHOICES,
    Pieces,
    Scope,
    Value,
    scalar,
    texts_of,
    unknown,
)
from dslint.documents.shell_words import NAME, Fields, Piece, Text, Trail, Word, joined, text_of, word
from dslint.documents.tree import UNKNOWN, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution"}
)
QUOTES: Final = frozenset({"string", "raw_string", "ansi_c_string", "translated_string"})

# The grammar loses its way in `$A/$B/c`, so plain variables are read without it.
# What a backslash does in each kind of text: the first group holds what is left of it.
BARE: Final = re.compile(rf"\\(?:\r?\n|(.)|$)|{NAME}", re.DOTALL)
DOUBLE: Final = re.compile(rf"\\(?:\r?\n|([$`\"\\]))|{NAME}")
HEREDOC: Final = re.compile(rf"\\(?:\r?\n|([$`\\]))|{NAME}")
ANSI: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
ANSI_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
}

PARAMETER: Final = re.compile(r"([!#]?)([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]]*\])?(.*)", re.DOTALL)
OPERATOR: Final = re.compile(r":?[-=+?]|%%?|##?|//?|\^\^?|,,?|:|@")
PLAIN: Final = re.compile(r"[\w./:=,@%+-]+", re.ASCII)
TOGETHER: Final = re.compile(r"(?:\\\r?\n)+")
LEADING: Final = re.compile(r"(?:\s|\\\r?\n)*")
DEEPEST: Final = 40


class Part(NamedTuple):
    """What a part of a word gives: `items` are more than one only for an array."""

    items: Sequence[Sequence[Piece]]
    quoted: bool
    literal: bool


class Expander:
    """Expands the words of one text in one scope."""

    __slots__ = ("_depth", "own", "path", "run", "scope", "text")

    def __init__(
        self, text: Text, scope: Scope, path: str, run: Callable[[Node, Text, Scope], list[Piece] | None]
    ) -> None:
        self.text = text
        self.scope = scope
        self.path = path
        # Runs what stands in `$(…)`, and gives what it prints when that is known.
        self.run = run
        # The variable that is being assigned: in `ARGS="$ARGS --x"` the old text stays where it stands, as if added to.
        self.own: str | None = None
        self._depth = 0

    def bounds(self, node: Node) -> tuple[int, int]:
        """A node's span. Inside a string the grammar counts blanks and line ends in front of `$` to the expansion."""
        start = node.start_byte
        if node.type in EXPANSIONS:
            start = LEADING.match(self.text.text, start, node.end_byte).end()  # type: ignore[union-attr]
        return start, node.end_byte

    # Words

    def words(self, nodes: Sequence[Node]) -> list[Word]:
        """The words that some argument nodes expand to."""
        found: list[Word] = []
        for group in self.groups(nodes):
            found.extend(self.word_fields(group))
        return found

    def groups(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """The nodes of each word: the grammar parts some words in two (`'a'\\$b`, or a word over two lines)."""
        groups: list[list[Node]] = []
        end = -1
        for node in nodes:
            start = self.bounds(node)[0]
            if groups and (start == end or TOGETHER.fullmatch(self.text.text, end, start)):
                groups[-1].append(node)
            else:
                groups.append([node])
            end = node.end_byte
        return groups

    def word_fields(self, nodes: Sequence[Node]) -> list[Word]:
        node = nodes[0]
        if len(nodes) == 1 and node.type in ("word", "number"):
            # Most words are plain: nothing in them expands.
            pieces = self.text.pieces(node.start_byte, node.end_byte)
            if len(pieces) == 1 and isinstance(pieces[0].text, str) and PLAIN.fullmatch(pieces[0].text):
                return [word(pieces, pieces[0].trail[-1], False, pieces[0].trail[-1])]
        trail = self.text.trail(self.bounds(node)[0], nodes[-1].end_byte)
        use = trail[-1] if trail else (0, 0)
        fields = Fields()
        for part in [part for node in nodes for part in self.parts(node, False)]:
            if part.literal:
                fields.literal(part.items[0] if part.items else (), part.quoted)
                continue
            for index, item in enumerate(part.items):
                if index:
                    fields.close(direct=False)
                fields.expansion(item, part.quoted)
        fields.close()
        made: list[Word] = []
        for field in fields.done:
            pieces = with_globs(field.pieces)
            written = use if field.direct else None
            if written is None:
                trails = [piece.trail for piece in pieces if piece.trail]
                if not trails or len(joined(trails)) <= len(trail):
                    written = use
            made.append(word(pieces, use, field.quoted, written))
        return made

    def value(self, node: Node | None) -> Value:
        """What an assignment's right side gives."""
        if node is None:
            return scalar(())
        if node.type == "array":
            return self.array(node)
        return scalar(self.one(node))

    def array(self, node: Node) -> Value:
        children = [child for child in node.children[1:-1] if child.type != "comment"]
        if any(
            child.type == "concatenation" and self.text.text[child.start_byte] == "[" for child in children
        ):
            return unknown(f"array@{node.start_byte}", many=True)
        items = [
            tuple(made.pieces) if not made.open else (made.pieces[0]._replace(many=True),)
            for made in self.words(children)
        ]
        return Value(tuple(items), array=True)

    def one(self, node: Node) -> list[Piece]:
        """A node's text as one piece of text, whatever blanks it holds."""
        pieces: list[Piece] = []
        for part in self.parts(node, False):
            for index, item in enumerate(part.items):
                if index:
                    pieces.append(Piece(" ", self.text.trail(*self.bounds(node))))
                pieces.extend(item)
        return pieces

    def single(self, node: Node) -> Word:
        """A redirect's target: one word."""
        made = self.word_fields([node])
        if len(made) == 1:
            return made[0]
        use = self.text.trail(*self.bounds(node))[-1]
        return word([Piece(UNKNOWN, (use,), symbol=f"words@{use[0]}")], use, False, use)

    # Parts of words

    def parts(self, node: Node, quoted: bool) -> list[Part]:
        self._depth += 1
        try:
            return self._parts(node, quoted) if self._depth < DEEPEST else [self.unclear(node, quoted)]
        finally:
            self._depth -= 1

    def _parts(self, node: Node, quoted: bool) -> list[Part]:
        kind = node.type
        start, end = self.bounds(node)
        if kind in EXPANSIONS:
            return [self.expansion(node, quoted)]
        if kind == "string":
            stop = end - 1 if end - start > 1 and self.text.text[end - 1] == '"' else end
            return self.between(node, start + 1, stop, DOUBLE, True) or [Part([[]], True, True)]
        if kind == "raw_string":
            return [Part([self.text.pieces(start + 1, end - 1)], True, True)]
        if kind == "ansi_c_string":
            return self.literal(start + 2, end - 1, ANSI, True)
        if kind == "translated_string":
            return [
                part
                for child in node.children
                for part in self._parts(child, quoted)
                if child.type == "string"
            ]
        if kind == "brace_expression" or (kind == "concatenation" and self.braces(node)):
            return [self.unclear(node, quoted)]
        if kind == "concatenation" or any(
            child.type in EXPANSIONS or child.type in QUOTES for child in node.children
        ):
            return self.between(node, start, end, BARE, quoted)
        return self.home(self.literal(start, end, BARE, quoted))

    def between(self, node: Node, start: int, end: int, escapes: re.Pattern[str], quoted: bool) -> list[Part]:
        """The expansions and strings below a node, and the text between them."""
        found: list[Part] = []
        place = start
        for child in node.children:
            first, last = self.bounds(child)
            if first < place or last > end or last <= first:
                continue
            if (
                child.type in EXPANSIONS
                or (child.type in QUOTES and not quoted)
                or child.type == "concatenation"
            ):
                if first > place:
                    found.extend(self.literal(place, first, escapes, quoted))
                found.extend(self.parts(child, quoted))
                place = last
        if end > place:
            found.extend(self.literal(place, end, escapes, quoted))
        return found if quoted else self.home(found)

    def literal(self, start: int, end: int, escapes: re.Pattern[str], quoted: bool) -> list[Part]:
        """The text `start:end` with its backslashes undone and its plain variables expanded."""
        text = self.text.text
        parts: list[Part] = []
        pieces: list[Piece] = []
        place = start
        for match in escapes.finditer(text, start, end):
            pieces.extend(self.text.pieces(place, match.start()))
            place = match.end()
            if match[0][0] == "$":
                if pieces:
                    parts.append(Part([pieces], quoted, True))
                pieces = []
                name = match[2] or match[3]
                parts.append(
                    self.parameter(None, match.start(), name, self.text.trail(*match.span()), quoted)
                )
                continue
            left = unescaped(match, escapes)
            if left is None:
                continue
            if not self.text.known(*match.span()):
                pieces.extend(self.text.pieces(match.start() + 1, match.end()))
            else:
                pieces.append(Piece(left, self.text.trail(*match.span())))
        pieces.extend(self.text.pieces(place, end))
        if pieces or not parts:
            parts.append(Part([pieces], quoted, True))
        return parts

    def home(self, parts: list[Part]) -> list[Part]:
        """`~/x`: the folder is the user's, and not known."""
        pieces = parts[0].items[0] if parts and parts[0].literal and not parts[0].quoted else ()
        first = pieces[0] if pieces else None
        if first is None or isinstance(first.text, Unknown) or not re.match(r"~[\w.-]*(?:/|$)", first.text):
            return parts
        cut = first.text.index("/") if "/" in first.text else len(first.text)
        folder = Piece(UNKNOWN, first.part(0, cut).trail, symbol=first.text[:cut])
        rest = [first.part(cut, len(first.text))] if cut < len(first.text) else []
        return [Part([[folder, *rest, *pieces[1:]]], False, True), *parts[1:]]

    def braces(self, node: Node) -> bool:
        """Whether a word holds `{a,b}` or `{1..3}` outside quotes."""
        place = node.start_byte
        bare: list[str] = []
        for child in node.children:
            bare.append(self.text.text[place : child.start_byte])
            if child.type not in QUOTES and child.type not in EXPANSIONS:
                bare.append(self.text.text[child.start_byte : child.end_byte])
            place = child.end_byte
        return re.search(r"(?<!\\)\{[^{}]*(?:,|\.\.)[^{}]*\}", "".join(bare)) is not None

    def unclear(self, node: Node, quoted: bool) -> Part:
        start, end = self.bounds(node)
        piece = Piece(
            UNKNOWN, self.text.trail(start, end), symbol=f"{self.text.text[start:end][:80]}@{start}"
        )
        return Part([[piece]], quoted, False)

    # Expansions

    def expansion(self, node: Node, quoted: bool) -> Part:
        start, end = self.bounds(node)
        use = self.text.trail(start, end)
        if node.type == "simple_expansion":
            return self.parameter(node, start, self.text.text[start + 1 : end], use, quoted)
        if node.type == "expansion":
            return self.parameter(node, start, self.text.text[start + 2 : end - 1], use, quoted)
        if node.type == "arithmetic_expansion":
            return Part([self.arithmetic(start, end, use)], quoted, False)
        if node.type == "command_substitution":
            return Part([self.substitution(node, use)], quoted, False)
        return self.unclear(node, quoted)

    def arithmetic(self, start: int, end: int, use: Trail) -> list[Piece]:
        inner = (
            self.text.text[start + 3 : end - 2]
            if self.text.text[start : start + 3] == "$(("
            else self.text.text[start + 2 : end - 1]
        )
        number = compute(inner, self.plain)
        if number is None:
            return [Piece(UNKNOWN, use, symbol=self.symbol_of(inner, start))]
        return [Piece(str(number), use)]

    def symbol_of(self, inner: str, start: int) -> str:
        return f"$({inner})@{self.text.trail(start, start + 1)[-1:]}"

    def plain(self, name: str) -> str | None:
        """A variable's text when it is known whole."""
        value = self.scope.values.get(name)
        text = text_of(value.first) if value is not None else None
        return text if isinstance(text, str) else None

    def substitution(self, node: Node, use: Trail) -> list[Piece]:
        start, end = self.bounds(node)
        inner = self.text.text[start + 1 : end - 1].removeprefix("(")
        printed = self.run(node, self.text, self.scope)
        if printed is not None:
            return [piece.below(use) for piece in printed]
        return [
            Piece(
                UNKNOWN,
                use,
                symbol=self.symbol_of(inner, start),
                choices=folder_printed(inner, self.scope, self.path),
            )
        ]

    def parameter(self, node: Node | None, start: int, raw: str, use: Trail, quoted: bool) -> Part:
        """`$NAME` and `${NAME…}`; `node` is None for the plain forms."""
        match = PARAMETER.fullmatch(raw)
        if match is None:
            return self.opaque(raw, start, use, quoted)
        sign, name, index, rest = match.groups()
        if sign == "#" and not name.strip("#") and not rest and not index:
            sign, name = "", "#"
        if sign == "#":
            return Part([self.length(name, index, use)], quoted, False)
        if sign == "!" and raw != "!":
            return self.indirect(start, raw, name, index, rest, use, quoted)
        if name in ("@", "*") or index in ("[@]", "[*]"):
            return self.many(name, rest, use, quoted and (name == "*" or index == "[*]"), quoted)
        pieces = self.item(start, name, index, use)
        if rest and node is not None:
            pieces = self.operated(node, name, pieces, rest, use)
        return Part([[self.from_environment(start, name, use)] if pieces is None else pieces], quoted, False)

    def opaque(self, raw: str, start: int, use: Trail, quoted: bool) -> Part:
        return Part([[Piece(UNKNOWN, use, symbol=f"${raw[:80]}@{start}")]], quoted, False)

    def item(self, start: int, name: str, index: str | None, use: Trail) -> list[Piece] | None:
        """A variable's pieces, seen from where it is used; None when it is not set in the script."""
        if name.isdecimal():
            return self.positional(int(name), use)
        if not (name[0].isalpha() or name[0] == "_"):
            return [Piece(UNKNOWN, use, symbol=f"${name}@{start}")]
        value = self.scope.values.get(name)
        if value is None:
            return None
        pieces: Sequence[Piece] = value.first
        if index is not None:
            number = index[1:-1].strip()
            known = (
                number.isdecimal()
                and len(number) < 6
                and not any(p.many for item in value.items for p in item)
            )
            if not known:
                return [Piece(UNKNOWN, use, symbol=f"{name}{index}@{start}")]
            pieces = value.items[int(number)] if int(number) < len(value.items) else ()
        if name == self.own:
            return [piece if piece.trail else piece.below(use) for piece in pieces]
        return [piece.below(use) for piece in pieces]

    def positional(self, number: int, use: Trail) -> list[Piece]:
        given = self.scope.positional
        if given is None or number == 0:
            return [Piece(UNKNOWN, use, symbol=f"${number}+{self.scope.shifts if number else 0}")]
        return [piece.below(use) for piece in given[number - 1]] if number <= len(given) else []

    def from_environment(self, start: int, name: str, use: Trail) -> Piece:
        symbol = f"${name}@{start}" if name in CHANGING else f"${name}"
        return Piece(UNKNOWN, use, symbol=symbol, choices=here(self.scope) if name == "PWD" else ())

    def many(self, name: str, rest: str, use: Trail, as_one: bool, quoted: bool) -> Part:
        """`"$@"` and `"${NAME[@]}"`."""
        if name in ("@", "*"):
            items: Sequence[Pieces] | None = self.scope.positional
        else:
            value = self.scope.values.get(name)
            items = value.items if value is not None else None
            if items is None and rest[:1] in (":", "-", "+", "="):
                items = None
        if items is None or (rest and not re.fullmatch(r":?[-+].*", rest, re.DOTALL)):
            piece = Piece(UNKNOWN, use, symbol=f"${name}[@]{rest}+{self.scope.shifts}", many=True)
            return Part([[piece]], quoted, False)
        if re.match(r":?\+", rest) and not items:
            return Part([], quoted, False)
        below = [[piece if name == self.own else piece.below(use) for piece in item] for item in items]
        if as_one:
            return Part(
                [
                    [
                        piece
                        for i, item in enumerate(below)
                        for piece in ([Piece(" ", use)] if i else []) + item
                    ]
                ],
                True,
                False,
            )
        return Part(below, quoted, False)

    def length(self, name: str, index: str | None, use: Trail) -> list[Piece]:
        value = self.scope.values.get(name)
        if value is not None and index in ("[@]", "[*]"):
            if not any(piece.many for item in value.items for piece in item):
                return [Piece(str(len(value.items)), use)]
        elif value is not None and index is None:
            text = text_of(value.first)
            if isinstance(text, str):
                return [Piece(str(len(text)), use)]
        return [Piece(UNKNOWN, use, symbol=f"#{name}@{use[-1:]}")]

    def indirect(
        self, start: int, raw: str, name: str, index: str | None, rest: str, use: Trail, quoted: bool
    ) -> Part:
        target = self.plain(name)
        if target is None or index or rest or not target.isidentifier():
            return self.opaque(raw, start, use, quoted)
        pieces = self.item(start, target, None, use)
        return Part(
            [pieces if pieces is not None else [self.from_environment(start, target, use)]], quoted, False
        )

    def operated(
        self, node: Node, name: str, pieces: list[Piece] | None, rest: str, use: Trail
    ) -> list[Piece] | None:
        """`${NAME:-default}`, `${NAME%.*}` and the like. `pieces` is None for a variable that the script doesn't set."""
        match = OPERATOR.match(rest)
        if match is None:
            return [Piece(UNKNOWN, use, symbol=f"${name}{rest}@{use[-1:]}")]
        operator, argument = match[0], rest[match.end() :]
        if operator.lstrip(":") in ("-", "=", "+", "?"):
            return self.defaulted(node, name, pieces, operator, rest, use)
        unclear = [Piece(UNKNOWN, use, symbol=f"${name}{rest}")]
        if pieces is None or not isinstance(text_of(pieces), str):
            return unclear
        return trimmed(pieces, operator, argument, use) or unclear

    def defaulted(
        self, node: Node, name: str, pieces: list[Piece] | None, operator: str, rest: str, use: Trail
    ) -> list[Piece] | None:
        end = self.bounds(node)[1] - 1
        start = end - len(rest) + len(operator)
        sign = operator[-1]
        other = [
            piece
            for part in self.between(node, start, end, BARE, False)
            for item in part.items
            for piece in item
        ]
        if sign == "?":
            return pieces
        known = None if pieces is None else text_of(pieces)
        if sign == "+":
            if isinstance(known, str):
                return other if known or operator == "+" else []
            return [Piece(UNKNOWN, use, symbol=f"${name}+@{use[-1:]}", choices=texts_of(tuple(other)))]
        if known == "" and operator[0] == ":":
            pieces = other
        elif pieces is None:
            fallback = text_of(other)
            choices = (fallback,) if isinstance(fallback, str) else texts_of(tuple(other))
            pieces = [Piece(UNKNOWN, use, symbol=f"${name}:-{fallback}", choices=choices)]
        elif isinstance(known, Unknown) and len(pieces) == 1:
            choices = (*pieces[0].choices, *texts_of(tuple(other)))
            pieces = [pieces[0]._replace(choices=tuple(dict.fromkeys(choices))[:MOST_CHOICES])]
        if sign == "=":
            self.scope.assign(name, scalar(pieces))
        return pieces


def unescaped(match: re.Match[str], escapes: re.Pattern[str]) -> str | None:
    """What is left of a backslash and what it stands before; None for a line that goes on."""
    if escapes is not ANSI:
        return match[1]
    if match[1] or match[2]:
        code = int(match[1] or match[2], 16)
        return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"
    if match[3]:
        return chr(int(match[3], 8))
    return ANSI_LETTERS.get(match[4], match[4] if match[4] in "\\'\"?" else match[0])


def with_globs(pieces: Sequence[Piece]) -> list[Piece]:
    """Unquoted text with `*` or `?` in it stands for files that only a run would show."""
    return [
        piece._replace(text=UNKNOWN, symbol=piece.text, splits=True)
        if isinstance(piece.text, str)
        and not piece.quoted
        and ("*" in piece.text or "?" in piece.text)
        and piece.exact
        else piece
        for piece in pieces
    ]
