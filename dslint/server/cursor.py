"""Where in a config the cursor stands, in text that need not parse: one tolerant pass over its tokens.

A quote that is not closed in its row ends with its word, a comma that is missing is taken as written, and closing brackets close
whatever is open. It reads JSON, Hjson and Python's dict literals alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from dslint.documents.tree import join_pointer

Role = Literal["key", "value"]
TokenKind = Literal["open", "close", "comma", "colon", "word", "comment"]

TOKENS: Final = re.compile(
    r"""(?P<comment>//[^\r\n]*|\#[^\r\n]*|/\*.*?(?:\*/|\Z))
      | (?P<word>"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'|["']?[^\s,:{}\[\]"'\#]+|["'])
      | (?P<open>[{\[]) | (?P<close>[}\]]) | (?P<comma>,) | (?P<colon>:)""",
    re.VERBOSE | re.DOTALL,
)


class Spot(NamedTuple):
    """What is being written at the cursor.

    - pointer: of the block for a key, of the key for a value;
    - start, end: the word under the cursor, quotes included; both the cursor where none stands there;
    - word: that word up to the cursor, without its quote;
    - keys: the keys that stand in the block, but for the one under the cursor;
    - colon: a colon follows the word;
    - words: every plain value in the text by its pointer.
    """

    role: Role
    pointer: str
    start: int
    end: int
    word: str
    keys: frozenset[str]
    colon: bool
    words: Mapping[str, str]


class Token(NamedTuple):
    kind: TokenKind
    start: int
    end: int
    text: str


class Frame:
    """A block or an array that is open: what has been read in it, and what comes next."""

    __slots__ = ("array", "count", "key", "keys", "next", "pointer")

    def __init__(self, pointer: str, array: bool) -> None:
        self.pointer = pointer
        self.array = array
        self.count = 0
        self.key = ""
        self.keys: list[str] = []
        self.next: Literal["key", "colon", "value", "comma"] = "value" if array else "key"

    def below(self) -> str:
        """The pointer of the value that comes next."""
        return join_pointer(self.pointer, self.count if self.array else self.key)

    def ended(self) -> None:
        """A value has been read."""
        self.count += 1
        self.next = "comma"

    def separated(self) -> None:
        self.next = "value" if self.array else "key"


def spot_at(text: str, cursor: int, start: int = 0, end: int | None = None) -> Spot | None:
    """Where the cursor stands in the config at `start:end`; None in a comment, behind a value, or outside."""
    scan = Scan(text, cursor)
    for token in tokens(text, start, len(text) if end is None else end):
        scan.take(token)
    return scan.spot()


def tokens(text: str, start: int, end: int) -> Iterator[Token]:
    for match in TOKENS.finditer(text, start, end):
        kind = match.lastgroup
        assert kind is not None
        yield Token(kind, match.start(), match.end(), match.group())  # type: ignore[arg-type]


class Scan:
    """The pass itself; it notes the frame and the word at the cursor, and reads on for the other keys."""

    def __init__(self, text: str, cursor: int) -> None:
        self.text = text
        self.cursor = cursor
        self.stack: list[Frame] = []
        self.words: dict[str, str] = {}
        self.frame: Frame | None = None
        self.role: Role | None = None
        self.pointer = ""
        self.word: Token | None = None
        self.own: int | None = None
        self.colon = False
        self.passed = False
        self.last: Token | None = None

    def take(self, token: Token) -> None:
        if not self.passed and self.cursor < token.start + (token.kind != "word"):
            self.note(None)
        if token.kind == "comment":
            # A comment under the cursor: nothing is being written there.
            self.passed = self.passed or token.start < self.cursor <= token.end
            return
        if not self.passed and token.kind == "word" and token.start <= self.cursor <= token.end:
            self.note(token)
        if self.word is not None and self.last is self.word:
            self.colon = token.kind == "colon"
        self.step(token)
        self.last = token

    def note(self, word: Token | None) -> None:
        """The cursor is here, on a word or on none."""
        self.passed = True
        if not self.stack:
            return
        frame = self.stack[-1]
        if word is None and frame.next in ("colon", "comma") and not self.on_new_row():
            return
        self.frame, self.word = frame, word
        if frame.next == "value":
            self.role, self.pointer = "value", frame.below()
        elif not frame.array:
            self.role, self.pointer, self.own = "key", frame.pointer, len(frame.keys)

    def on_new_row(self) -> bool:
        """Does the cursor stand on a later row than what was read last? There a comma may be missing."""
        since = 0 if self.last is None else self.last.end
        return "\n" in self.text[since : self.cursor]

    def step(self, token: Token) -> None:
        """One token further."""
        frame = self.stack[-1] if self.stack else None
        if token.kind == "open":
            self.opened(frame, token.text == "[")
        elif token.kind == "close":
            if len(self.stack) > 0:
                self.stack.pop()
            if self.stack:
                self.stack[-1].ended()
        elif frame is None:
            return
        elif token.kind == "comma":
            frame.separated()
        elif token.kind == "colon":
            if frame.next == "colon":
                frame.next = "value"
        elif frame.next == "value":
            self.words.setdefault(frame.below(), bare(token.text))
            frame.ended()
        elif not frame.array:
            # Where a comma or a colon should stand, the next key is taken to begin.
            frame.key = bare(token.text)
            frame.keys.append(frame.key)
            frame.next = "colon"

    def opened(self, frame: Frame | None, array: bool) -> None:
        if frame is None:
            self.stack.append(Frame("", array))
            return
        if frame.next != "value":
            frame.next = "value"
        self.stack.append(Frame(frame.below(), array))

    def spot(self) -> Spot | None:
        if not self.passed:
            self.note(None)
        if self.role is None or self.frame is None:
            return None
        keys = list(self.frame.keys)
        if self.role == "key" and self.word is not None and self.own is not None:
            del keys[self.own : self.own + 1]
        word = self.word
        start, end = (self.cursor, self.cursor) if word is None else (word.start, word.end)
        typed = "" if word is None else word.text[: self.cursor - word.start].lstrip("\"'")
        return Spot(self.role, self.pointer, start, end, typed, frozenset(keys), self.colon, dict(self.words))


def bare(text: str) -> str:
    """A word without its quotes."""
    if text[:1] in ("'", '"'):
        return text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    return text
