"""Shell text in pieces: every character of a word knows where it stands, through variables, arrays and `eval`.

A `Piece` is a run of text with its trail: the spans, outermost first, that lead to it. For `--lr=$LR` in
`ARGS="--lr=$LR"` used as `deepspeed $ARGS`, the piece of LR's value has three: where `$ARGS` stands in the command, where
`$LR` stands in the assignment of ARGS, and where the digits stand in the assignment of LR.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Source, Unknown

Span = tuple[int, int]
Trail = tuple[Span, ...]

# Deeper trails drop their middle: what is asked for is the use (the first) and the place (the last).
DEEPEST_TRAIL: Final = 8
MOST_CANDIDATES: Final = 8

# A variable in its plain forms, `$NAME` and `${NAME}`.
NAME: Final = r"\$(?:([A-Za-z_]\w*|[0-9@*#?$!-])|\{([A-Za-z_]\w*)\})"
BLANKS: Final = re.compile(r"[ \t\n\r]+")


class Piece(NamedTuple):
    """A run of text, or something that only a run would show.

    An unknown piece has a `symbol`; two with the same one hold the same text (`$SLURM_JOB_ID` twice). `choices` are texts
    that it may have (a default, the values of branches). `splits`: it stands unquoted, so it may be several words or none;
    `many`: it may be several words even within quotes (`"$@"`).
    """

    text: str | Unknown
    trail: Trail
    quoted: bool = False
    symbol: str = ""
    choices: tuple[str, ...] = ()
    splits: bool = False
    many: bool = False

    @property
    def exact(self) -> bool:
        """Whether the text stands in the source character for character."""
        if isinstance(self.text, Unknown) or not self.trail:
            return False
        start, end = self.trail[-1]
        return end - start == len(self.text)

    def part(self, start: int, end: int) -> Piece:
        """The piece's characters `start:end`."""
        text, trail = self.text, self.trail
        if isinstance(text, Unknown) or (start == 0 and end == len(text)):
            return self
        if self.exact:
            place = trail[-1][0]
            trail = (*trail[:-1], (place + start, place + end))
        return Piece(text[start:end], trail, self.quoted)

    def below(self, use: Trail) -> Piece:
        """The piece as seen from a place that expands to it."""
        trail = use + self.trail
        if len(trail) > DEEPEST_TRAIL:
            trail = trail[:1] + trail[2:]
        return self._replace(trail=trail)


def joined(trails: Sequence[Trail]) -> Trail:
    """The trail to the innermost text that holds all of some trails' ends."""
    first = trails[0]
    depth = 0
    while all(len(trail) > depth and trail[depth] == first[depth] for trail in trails):
        depth += 1
        if depth == len(first):
            return first
    spans = [trail[depth] for trail in trails if len(trail) > depth]
    if len(spans) < len(trails):
        return first[:depth]
    return (*first[:depth], (min(span[0] for span in spans), max(span[1] for span in spans)))


class Text:
    """A shell text and where its characters stand: a slice of a source, or pieces put together (`eval "$cmd"`)."""

    __slots__ = ("_base", "_offsets", "_pieces", "flat", "text")

    def __init__(self, pieces: Sequence[Piece], flat: bool = False) -> None:
        # A flat text is one slice of the file: what stands in it stands there as written.
        self.flat = flat
        self._pieces = [piece for piece in pieces if isinstance(piece.text, Unknown) or piece.text]
        self._offsets: list[int] = []
        runs: list[str] = []
        offset = 0
        for piece in self._pieces:
            # An unknown piece takes one character that no shell syntax knows, so that it is read as part of a word.
            run = "." if isinstance(piece.text, Unknown) else piece.text
            self._offsets.append(offset)
            runs.append(run)
            offset += len(run)
        self.text = "".join(runs)
        only = self._pieces[0] if len(self._pieces) == 1 else None
        self._base = only.trail[0][0] if only is not None and len(only.trail) == 1 and only.exact else None

    def pieces(self, start: int, end: int) -> list[Piece]:
        """The pieces of the characters `start:end`."""
        end = min(end, len(self.text))
        if len(self._pieces) == 1 and isinstance(self._pieces[0].text, str):
            return [self._pieces[0].part(start, end)] if end > start else []
        found: list[Piece] = []
        index = max(bisect_right(self._offsets, start) - 1, 0)
        while index < len(self._pieces) and self._offsets[index] < end:
            piece = self._pieces[index]
            offset = self._offsets[index]
            if isinstance(piece.text, Unknown):
                if offset >= start:
                    found.append(piece)
            else:
                first, last = max(start - offset, 0), min(end - offset, len(piece.text))
                if last > first:
                    found.append(piece.part(first, last))
            index += 1
        return found

    def trail(self, start: int, end: int) -> Trail:
        """Where the characters `start:end` stand; for an empty span, where it would."""
        if self._base is not None and end > start:
            return ((self._base + start, self._base + end),)
        found = self.pieces(start, end) or self.pieces(start, start + 1) or self.pieces(start - 1, start)
        return joined([piece.trail for piece in found]) if found else ()

    def known(self, start: int, end: int) -> bool:
        return not any(isinstance(piece.text, Unknown) for piece in self.pieces(start, end))


# What a template engine or a reader is to fill in: `{{ name }}`, `${{ name }}`, and `<your path>` as a word of its own.
PLACEHOLDER: Final = re.compile(
    r"\$?\{\{[^\n{}]{1,200}\}\}|(?<=[\s=\"'])<[A-Za-z_][\w ./:-]*(?<!\s\d)(?<!\s)>(?=[\s\"'/:,;)_.-]|$)"
)


def flat(source: Source, start: int, end: int) -> Text:
    """A slice of a source; placeholders in it are unknown."""
    pieces: list[Piece] = []
    place = start
    for match in PLACEHOLDER.finditer(source.text, start, end):
        pieces.append(Piece(source.text[place : match.start()], ((place, match.start()),)))
        pieces.append(Piece(UNKNOWN, (match.span(),), symbol=match[0]))
        place = match.end()
    pieces.append(Piece(source.text[place:end], ((place, end),)))
    return Text(pieces, flat=True)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command, after expansion.

    - text: what the program gets, or UNKNOWN when a part of it is only known to a run.
    - start, end: where the word is written: with its quotes when it stands in the command itself, else its characters in
      the assignment (or array, or quoted script) that it comes from.
    - use: where the command uses it; the same span for a word that stands in the command itself.
    - quoted: some of it stands in quotes.
    - pieces: its parts, in order.
    """

    text: str | Unknown
    start: int
    end: int
    use: Span
    quoted: bool = False
    pieces: tuple[Piece, ...] = ()

    @property
    def direct(self) -> bool:
        """Whether the word stands in the command itself."""
        return (self.start, self.end) == self.use

    @property
    def shape(self) -> str:
        """The text with a name for each unknown part; words of equal shapes hold equal texts in one run."""
        return "".join(
            f"\x00{piece.symbol}\x00" if isinstance(piece.text, Unknown) else piece.text
            for piece in self.pieces
        )

    @property
    def candidates(self) -> tuple[str, ...]:
        """The texts that a word with unknown parts may have, as far as the script shows them; at most eight."""
        if not isinstance(self.text, Unknown):
            return (self.text,)
        options: list[tuple[str, ...]] = []
        for piece in self.pieces:
            options.append(piece.choices if isinstance(piece.text, Unknown) else (piece.text,))
        texts: list[str] = []
        for parts in product(*options):
            text = "".join(parts)
            if text not in texts:
                texts.append(text)
            if len(texts) == MOST_CANDIDATES:
                break
        return tuple(texts)

    @property
    def default(self) -> str | None:
        """The one text that the script gives a word whose value a run may replace (`${CONFIG:-ds.json}`)."""
        candidates = self.candidates if isinstance(self.text, Unknown) else ()
        return candidates[0] if len(candidates) == 1 else None

    @property
    def prefix(self) -> str:
        """The known text at the word's beginning."""
        known = []
        for piece in self.pieces:
            if isinstance(piece.text, Unknown):
                break
            known.append(piece.text)
        return "".join(known)

    @property
    def tail(self) -> str:
        """The known text at the word's end (`/train.py` of `$ROOT/train.py`)."""
        known = []
        for piece in reversed(self.pieces):
            if isinstance(piece.text, Unknown):
                break
            known.append(piece.text)
        return "".join(reversed(known))

    @property
    def option(self) -> str | None:
        """The option's name with its dashes (`--lr` of `--lr=$LR`), or None for a word that is no option."""
        prefix = self.prefix
        if not prefix.startswith("-") or NUMBER.fullmatch(prefix):
            return None
        name, equals, _ = prefix.partition("=")
        return name if equals or not isinstance(self.text, Unknown) else None

    @property
    def open(self) -> bool:
        """Whether this may be several words or none: an unknown text that no quotes hold together."""
        return any(piece.many for piece in self.pieces) or (
            bool(self.pieces)
            and all(isinstance(piece.text, Unknown) and piece.splits for piece in self.pieces)
        )

    def after(self, offset: int) -> Word:
        """The word's characters from `offset` on, which must lie in its known beginning: the value of `--lr=$LR`."""
        left: list[Piece] = []
        for piece in self.pieces:
            length = 0 if isinstance(piece.text, Unknown) else len(piece.text)
            if offset >= length and not isinstance(piece.text, Unknown):
                offset -= length
                continue
            left.append(piece.part(offset, length) if offset else piece)
            offset = 0
        if not left:
            end = self.end - 1 if self.quoted and self.direct else self.end
            return Word("", end, end, (end, end), self.quoted, ())
        return word(left, self.use, self.quoted, None)


NUMBER: Final = re.compile(r"-[0-9.][0-9.eE+_-]*")


def text_of(pieces: Iterable[Piece]) -> str | Unknown:
    """The whole text, or UNKNOWN when a part of it is."""
    runs: list[str] = []
    for piece in pieces:
        if isinstance(piece.text, Unknown):
            return UNKNOWN
        runs.append(piece.text)
    return "".join(runs)


def shape_of(pieces: Iterable[Piece]) -> str:
    return "".join(f"\x00{p.symbol}\x00" if isinstance(p.text, Unknown) else p.text for p in pieces)


def word(pieces: Sequence[Piece], use: Span, quoted: bool, written: Span | None) -> Word:
    """A word of some pieces. `written` is its span when it stands as a whole at one place, else None."""
    if written is None:
        trails = [piece.trail for piece in pieces if piece.trail]
        trail = joined(trails) if trails else ()
        written = trail[-1] if trail else use
    return Word(text_of(pieces), written[0], written[1], use, quoted, tuple(pieces))


def with_blanks(words: Sequence[Word]) -> list[Piece]:
    """The pieces of some words with a blank between each two, as `eval` and `echo` put them together."""
    pieces: list[Piece] = []
    for index, argument in enumerate(words):
        if index:
            pieces.append(Piece(" ", (argument.use,)))
        pieces.extend(argument.pieces)
    return pieces


class Field(NamedTuple):
    """A word in the making."""

    pieces: list[Piece]
    quoted: bool
    direct: bool


class Fields:
    """Gathers a word's parts and cuts unquoted expansions at blanks, as a shell does."""

    __slots__ = ("_direct", "_open", "_pieces", "_quoted", "done")

    def __init__(self) -> None:
        self.done: list[Field] = []
        self._start()

    def _start(self) -> None:
        self._pieces: list[Piece] = []
        self._quoted = False
        self._direct = True
        self._open = False

    def literal(self, pieces: Iterable[Piece], quoted: bool) -> None:
        self._pieces.extend(piece._replace(quoted=quoted) for piece in pieces)
        self._quoted |= quoted
        self._open = True

    def expansion(self, pieces: Iterable[Piece], quoted: bool) -> None:
        """What an expansion gives: kept whole within quotes, else cut at blanks."""
        self._direct = False
        if quoted:
            self.literal(pieces, True)
            return
        for piece in pieces:
            if isinstance(piece.text, Unknown):
                self._pieces.append(piece._replace(splits=True, quoted=False))
                self._open = True
            else:
                self._cut(piece, piece.text)

    def _cut(self, piece: Piece, text: str) -> None:
        piece = piece._replace(quoted=False)
        place = 0
        for blank in BLANKS.finditer(text):
            if blank.start() > place:
                self._pieces.append(piece.part(place, blank.start()))
                self._open = True
            self.close(direct=False)
            place = blank.end()
        if place < len(text):
            self._pieces.append(piece.part(place, len(text)))
            self._open = True

    def close(self, direct: bool = True) -> None:
        """End the word here, if one has begun."""
        if self._open:
            self.done.append(Field(self._pieces, self._quoted, self._direct))
        self._start()
        self._direct = direct
