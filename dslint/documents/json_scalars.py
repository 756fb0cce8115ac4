"""Scalars of JSON and Hjson, and the noting of problems on the way. `json.py` lists the kinds of problems.

Patterns that plain JSON does not need are kept as text: `re` compiles each when it is first met.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dslint.documents.tree import UNKNOWN, Loader, Node, Problem, Source, join_pointer

MAX_DEPTH: Final = (
    200  # nodes nested deeper are of kind unknown, so that nothing downstream needs a deep stack
)
MAX_PROBLEMS: Final = 1_000  # of a kind
MAX_ERRORS: Final = 20  # of kind syntax: what follows the first is guesswork

BOTH: Final[frozenset[Loader]] = frozenset(("json", "hjson"))
JSON: Final[frozenset[Loader]] = frozenset(("json",))
HJSON: Final[frozenset[Loader]] = frozenset(("hjson",))
NONE: Final[frozenset[Loader]] = frozenset()

LITERALS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
CONSTANTS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}

# Words of other languages, with what JSON writes for them.
_WORDS: Final = {
    "True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
    "None": "null", "Null": "null", "NULL": "null", "undefined": "",
    "nan": "", "NAN": "", "inf": "", "Inf": "", "-inf": "",
}  # fmt: skip
_ESCAPES: Final = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
TYPOGRAPHIC: Final = tuple("“”„‘’«")
INVISIBLE: Final = tuple("\u200b\ufeff\u2060")

BLANKS = re.compile(r"[ \t\n\r]*")
_ROW = r"[^\r\n]*"
NEAR = r"[^\r\n]{0,1000}"  # so much of a row as is looked at when it may be looked at for each of its entries
_SEGMENT = r"(?:[^,}\]#/\r\n]|/(?![/*]))*"  # an unquoted value up to where a literal or number would end
_NUMBER = r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?[\t ]*"
_BODY = {  # a string from behind its opening quote to its closing one
    '"': r'[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*"',
    "'": r"[^'\\\x00-\x1f]*(?:\\[^\x00-\x1f][^'\\\x00-\x1f]*)*'",
}

# The same where a shell expands the text first.
PLACEHOLDER = (
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{(?:[^{}\n]|\{[^{}\n]*\})*\}"
    r"|\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\))|`[^`\n]*`"
)
# What a `$` begins is decided once, by a look ahead that is then repeated: tried both ways, a row of `$A` without a
# closing quote would take exponential time. (From Python 3.11 on that is written `(?>…)`.)
_SHELL_BODY = {
    q: rf"(?:[^{q}\\$`\x00-\x1f]|\\[^\x00-\x1f]|(?=({PLACEHOLDER}|[$`]))\1)*{q}" for q in ('"', "'")
}
_SHELL_SEGMENT = rf"(?:{PLACEHOLDER}|\\[$`\\]|[^,}}\]#/\r\n$`\\]|/(?![/*])|[$`\\])*"
_SHELL_ROW = rf"(?:{PLACEHOLDER}|[^\r\n$`]|[$`])*"


class StopReading(Exception):
    """hjson would stop here."""


class Scalars:
    """A pass over the text: what it notes, and how it reads values that are no containers.

    A strict pass (`tolerant=False`) follows hjson and stops where hjson does. A tolerant pass recovers from
    errors, and ends an unquoted value at the next comma or brace; `diverged` says that hjson would read
    such a value otherwise, so that only a strict pass can tell what hjson makes of the text.
    """

    REFUSED_BY: Final[dict[str, frozenset[Loader]]] = {  # kinds that are not here: json alone
        "syntax": BOTH,
        "placeholder": BOTH,
        "number-too-long": BOTH,
        "duplicate-key": HJSON,
        "number-overflow": HJSON,
        "not-an-object": NONE,
    }

    def __init__(
        self, source: Source, start: int, end: int, substitute: Callable[[str], Any] | None, tolerant: bool
    ) -> None:
        self.source = source
        self.text = source.text
        self.start = start
        self.end = end
        self.substitute = substitute
        self.tolerant = tolerant
        self.stack: list[Node] = []  # the containers that are open
        self.in_child = False  # whether the value read now is the last child of the innermost container
        self.tainted: list[Node] = []  # objects with a key that is not known
        self.problems: list[Problem] = []
        self.counts: dict[str, int] = {}
        self.first_stop = ""  # the kind of the first problem that stops hjson
        self.crashed = False  # whether it stops there with another error than its own
        self.diverged = False
        # Where unquoted values start that hjson reads on: what to say, and whether it runs over a bracket.
        self.swallowing: dict[int, tuple[str, bool]] = {}
        self.cut = -1  # where a tolerant pass ended the last of them before a new entry
        self.alone = False  # whether the text is read as one single value

    # --- noting -----------------------------------------------------------------------------------------

    def note(
        self,
        kind: str,
        start: int,
        end: int,
        message: str,
        pointer: str | None = None,
        refused_by: frozenset[Loader] | None = None,
    ) -> None:
        if refused_by is None:
            refused_by = self.REFUSED_BY.get(kind, JSON)
        if "hjson" in refused_by and not self.first_stop:
            self.first_stop = kind
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        if count <= (MAX_ERRORS if kind == "syntax" else MAX_PROBLEMS):
            here = self.pointer() if pointer is None else pointer
            self.problems.append(Problem(kind, message, start, max(start, end), here, refused_by))

    def fail(
        self, start: int, end: int, message: str, pointer: str | None = None, crash: bool = False
    ) -> None:
        """Note what neither loader reads; a strict pass ends here. `crash`: not by hjson's own error."""
        self.crashed = self.crashed or (crash and not self.first_stop)
        self.note("syntax", start, end, message, pointer)
        if not self.tolerant:
            raise StopReading

    def pointer(self) -> str:
        """The pointer of the value that is read now, or else of the innermost container."""
        here = ""
        path = self.stack if self.in_child else self.stack[:-1]
        for node in path[:MAX_DEPTH]:
            here = join_pointer(here, node.members[-1].key if node.kind == "object" else len(node.items) - 1)
        return here

    def row(self, offset: int) -> int:
        return self.source.position(offset).row

    # --- the text ---------------------------------------------------------------------------------------

    def peek(self, pos: int) -> str:
        return self.text[pos] if pos < self.end else ""

    def match(self, pattern: str, pos: int) -> re.Match[str] | None:
        return re.compile(pattern).match(self.text, pos, self.end)

    def past(self, pattern: str, pos: int) -> int:
        """Where the longest match of a pattern ends."""
        match = self.match(pattern, pos)
        return match.end() if match else pos

    def row_end(self, pos: int) -> int:
        return self.past(_ROW, pos)

    def gap(self, pos: int) -> int:
        """Past blanks and comments."""
        text, end = self.text, self.end
        while True:
            pos = BLANKS.match(text, pos, end).end()  # type: ignore[union-attr]
            character = self.peek(pos)
            if character == "#" or (character == "/" and text.startswith("//", pos, end)):
                stop = self.row_end(pos)
            elif character == "/" and text.startswith("/*", pos, end):
                close = text.find("*/", pos + 2, end)
                stop = close + 2 if close >= 0 else end
                if close < 0:
                    self.fail(pos, pos + 2, "the comment that starts here has no closing */", crash=True)
            else:
                return pos
            self.note("comment", pos, stop, "a comment: Hjson skips it, Python's json refuses it")
            pos = stop

    def expand(self, raw: str) -> Any:
        """Text as the shell makes it: placeholders filled in, backslashes gone; UNKNOWN if one of them is."""
        substitute = self.substitute
        if substitute is None:
            return raw
        unknown = False

        def replace(match: re.Match[str]) -> str:
            nonlocal unknown
            if match[1] is not None:
                return "" if match[1] == "\n" else match[1]
            value = substitute(match[0])
            unknown = unknown or value is UNKNOWN
            return "" if value is UNKNOWN else str(value)

        text = re.sub(rf"\\([$`\\\n])|(?:{PLACEHOLDER})", replace, raw)
        return UNKNOWN if unknown else text

    # --- values without quotes --------------------------------------------------------------------------

    def word(self, pos: int) -> tuple[Node, int]:
        """A value without quotes, and where to read on.

        To hjson it is a literal or a number up to the next comma, brace, comment or row's end, else text to
        the row's end.
        """
        raw = self.text[pos : self.past(_SEGMENT if self.substitute is None else _SHELL_SEGMENT, pos)]
        stop = pos + len(raw)
        if self.substitute is not None and re.search(PLACEHOLDER, raw):
            expanded = self.expand(raw)
            node = self.expanded(expanded, pos, pos + len(raw.rstrip()))
            if node is not None:
                return node, stop
            raw = expanded
        node = self.plain_word(raw, pos)
        if node is not None:
            node.end = pos + len(self.text[pos:stop].rstrip())
            return node, stop
        if self.tolerant:
            whole = self.text[pos : self.past(NEAR, stop)]
        else:
            whole = self.text[pos : self.past(_ROW if self.substitute is None else _SHELL_ROW, pos)]
        content = self.expand(whole)
        if content is not UNKNOWN:
            content = content.strip()
        if self.tolerant:
            return self.guessed(pos, raw, stop, whole, content)
        swallows = len(whole.rstrip()) > stop - pos
        node = Node("unknown" if content is UNKNOWN else "string", pos, pos + len(whole.rstrip()), content)
        kind, message = describe(raw.strip(), content, swallows)
        if swallows:
            kind = "quoteless-swallows"
        constant = whole.strip(" \t") in CONSTANTS
        self.note(kind, pos, node.end, message, refused_by=NONE if constant else None)
        return node, pos + len(whole)

    def expanded(self, expanded: Any, start: int, end: int) -> Node | None:
        """The node for a value that the shell makes; None when it is a bare word."""
        text = "" if expanded is UNKNOWN else expanded.strip()
        if not text or text[0] in "{[":
            return Node("unknown", start, end, UNKNOWN)
        if re.fullmatch('"' + _BODY['"'], text):
            return Node("string", start, end, self.unescaped(text[1:-1], start))
        return None

    def plain_word(self, raw: str, pos: int) -> Node | None:
        """A literal or a number, as hjson tells them."""
        word = raw.strip()
        end = pos + len(word)
        if word in LITERALS and raw[0] == word[0]:
            if raw.strip(" \t") != word:
                self.note("odd-space", end, pos + len(raw), "a character that only looks like a blank")
            return Node("null" if word == "null" else "boolean", pos, end, LITERALS[word])
        if raw[:1] != "-" and not "0" <= raw[:1] <= "9":
            return None
        match = re.fullmatch(_NUMBER, raw)
        return self.number(word, bool(match[1] or match[2]), pos, end) if match else None

    def number(self, word: str, is_float: bool, pos: int, end: int) -> Node:
        try:
            value = float(word) if is_float else int(word)
        except ValueError:
            self.note(
                "number-too-long", pos, end, f"a number of {len(word)} digits; Python converts 4,300 at most"
            )
            return Node("unknown", pos, end, UNKNOWN)
        if not word.isascii():
            self.note("number-form", pos, end, f"`{short(word)}` has digits that are not ASCII")
        if value in (CONSTANTS["Infinity"], CONSTANTS["-Infinity"]):
            crash = "DeepSpeed's loader stops with an OverflowError, Python's json reads infinity"
            self.note("number-overflow", pos, end, f"{short(word)} is too big for a float: {crash}")
        return Node("number", pos, end, value)

    def guessed(self, pos: int, raw: str, stop: int, whole: str, content: Any) -> tuple[Node, int]:
        """Text without quotes in a tolerant pass: `raw` ends at a comma or brace, `whole` with the row."""
        swallows = len(whole.rstrip()) > stop - pos
        cut = re.search(r'[ \t]+(?=")', raw) if self.substitute is None else None
        if cut is not None:  # a new entry starts in this row: a comma was forgotten
            raw = raw[: cut.start()]
            stop = self.cut = pos + len(raw)
            self.diverged = swallows = True
            node = self.plain_word(raw, pos)
            if node is not None:
                return node, stop
        word = raw.strip()
        end = min(stop, pos + len(raw.rstrip()))
        if raw.strip(" \t") in CONSTANTS:
            node = Node("number", pos, end, CONSTANTS[word])
            self.diverged = True
        elif swallows and _WORDS.get(word):
            value = LITERALS[_WORDS[word]]
            node = Node("null" if value is None else "boolean", pos, end, value)
            self.diverged = True
        else:
            node = Node("string", pos, end, word)
            self.diverged = self.diverged or swallows
        kind, message = describe(word, content, swallows)
        if swallows:
            bracket = any(character in whole[len(raw) :] for character in "{}[]")
            self.swallowing[pos] = (f"{message}, and cannot read on", bracket)
        self.note(kind, pos, end, message, refused_by=NONE if node.kind == "number" else None)
        return node, stop

    # --- values with quotes -----------------------------------------------------------------------------

    def body(self, quote: str) -> str:
        return (_BODY if self.substitute is None else _SHELL_BODY)[quote]

    def string(self, pos: int, quote: str, is_key: bool = False) -> tuple[Node, int]:
        match = self.match(self.body(quote), pos + 1)
        if match is None:
            return self.broken_string(pos, quote, is_key)
        end = match.end()
        if quote == "'":
            self.note(
                "single-quotes", pos, end, "single quotes: Hjson reads them, Python's json refuses them"
            )
        body = self.expand(self.text[pos + 1 : end - 1])
        if body is UNKNOWN:
            return Node("unknown", pos, end, UNKNOWN), end
        return Node("string", pos, end, self.unescaped(body, pos + 1)), end

    def broken_string(self, pos: int, quote: str, is_key: bool) -> tuple[Node, int]:
        """A string with a control character in it, or without an end in its row."""
        match = self.match(self.body(quote).replace(r"\x00-\x1f", r"\r\n"), pos + 1)
        if match is not None:
            body = match[0][:-1]
            odd = next(character for character in body if character < " ")
            at = pos + 1 + body.index(odd)
            name = "a tab; write \\t" if odd == "\t" else f"the control character U+{ord(odd):04X}"
            self.fail(at, at + 1, f"inside of this text stands {name}")
            return Node("string", pos, match.end(), self.unescaped(body, pos + 1)), match.end()
        raw = self.text[pos : self.row_end(pos)]
        if is_key and ":" in raw:
            raw = raw[: raw.index(":")]
        raw = raw.rstrip(" \t,}]") or quote
        end = pos + len(raw)
        self.fail(pos, end, f"the text that starts here has no closing {quote} in its row")
        return Node("string", pos, end, raw[1:]), end

    def unescaped(self, body: str, pos: int) -> str:
        """A string's body as hjson reads it; `pos` is where it starts."""
        if "\\" not in body:
            return body

        def replace(match: re.Match[str]) -> str:
            start, end = pos + match.start(), pos + match.end()
            code, character = match.groups()
            if code is None:
                if character == "'":
                    self.note("escape", start, end, "\\' is an escape to Hjson, but Python's json refuses it")
                if character not in _ESCAPES:
                    self.fail(start, end, f"\\{character} is no escape; for a backslash write \\\\")
                return _ESCAPES.get(character, match[0])
            try:
                number = int(code, 16) if len(code) == 4 and code[1] not in "xX" else -1
            except ValueError:
                number = -1
            if number < 0:
                self.fail(start, end, "\\u needs four hexadecimal digits")
                return match[0]
            if not re.fullmatch("[0-9a-fA-F]{4}", code):  # int() takes blanks, signs and underscores, too
                self.note(
                    "escape",
                    start,
                    end,
                    "\\u needs four hexadecimal digits for Python's json; Hjson takes it",
                )
            return chr(number)

        text = re.sub(r"(?s)\\(?:u(.{0,4})|(.))", replace, body)
        return re.sub("[\ud800-\udbff][\udc00-\udfff]", _join_surrogates, text)

    def multiline(self, pos: int) -> tuple[Node, int]:
        """A '''…''' text: its rows lose as many blanks as stand before it in its own row."""
        text, end = self.text, self.end
        indent = self.multiline_indent(pos)
        begin = self.past(r"[ \t]*", pos + 3)
        if self.peek(begin) in ("\r", "\n"):
            begin = self.past(rf"(?:\r\n|\r|\n)[ \t]{{0,{max(indent, 0)}}}", begin)
        close = text.find("'''", begin, end)
        if close < 0:
            crash = indent < 0 or pos + 3 >= end
            self.fail(pos, pos + 3, "the text that starts here has no closing '''", crash=crash)
            return Node("string", pos, end, text[begin:end]), end
        if indent < 0:
            message = (
                "a ''' text in a file of one row: DeepSpeed's loader (Hjson) crashes on it with an IndexError"
            )
            self.fail(pos, close + 3, message, crash=True)
        body = re.sub(r"\r\n?", "\n", text[begin:close])
        body = self.expand(re.sub(rf"\n[ \t]{{0,{max(indent, 0)}}}", "\n", body).removesuffix("\n"))
        self.note("multiline-string", pos, close + 3, "a ''' text: Hjson reads it, Python's json refuses it")
        return Node("unknown" if body is UNKNOWN else "string", pos, close + 3, body), close + 3

    def multiline_indent(self, pos: int) -> int:
        """The characters before `pos` in its row; in the first row what hjson makes of that, -1: a crash."""
        text, start, end = self.text, self.start, self.end
        newline = max(text.rfind("\n", start, pos), text.rfind("\r", start, pos))
        if newline >= 0:
            return pos - 1 - newline
        last = max(text.rfind("\n", start, end), text.rfind("\r", start, end))
        if last < 0:
            return -1
        # hjson looks for the newline before the first row backwards from the end of the text, past the start.
        return pos - start + len(text[last + 1 : end])


def describe(word: str, content: Any, swallows: bool) -> tuple[str, str]:
    """The kind of a text without quotes, and a sentence: `word` seems meant, hjson reads `content`."""
    reads = "Hjson reads " + ("text" if content is UNKNOWN else f"the text `{short(content)}`")
    if swallows:
        reads += ", up to the end of the row"
    if word in CONSTANTS or word in _WORDS:
        hint = f" (JSON writes {_WORDS[word]})" if _WORDS.get(word) else ""
        return "constant", f"`{word}` is no JSON value{hint}: {reads}"
    if re.match(r"[-+]?\.?\d", word) and re.fullmatch(r"[-+.\w]+", word):
        return "number-form", f"`{short(word)}` is no number in JSON: {reads}"
    if word.startswith(TYPOGRAPHIC):
        return "typographic-quotes", f'`{short(word)}` has typographic quotes where JSON needs ": {reads}'
    if swallows:
        return "quoteless", f"`{short(word)}` has no quotes: {reads}"
    return "quoteless", f"`{short(word)}` has no quotes: Hjson reads it as text, Python's json refuses it"


def short(text: str) -> str:
    """Text for a message: one row of at most 40 characters."""
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= 40 else text[:39] + "…"


def _join_surrogates(match: re.Match[str]) -> str:
    pair = match[0]
    return chr(0x10000 + ((ord(pair[0]) - 0xD800) << 10) + (ord(pair[1]) - 0xDC00))
