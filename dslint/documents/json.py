"""JSON as the loaders of DeepSpeed configs read it: text → tree with exact spans, and what each loader would say.

Two loaders matter. "hjson" is DeepSpeed's own, `hjson.load` with a hook that refuses duplicate keys
(`deepspeed/runtime/config.py`). "json" is `json.load`, as Transformers and Accelerate call it; of duplicate keys it
keeps the last one silently. The tree holds what json reads where json accepts the text, else what hjson reads, else
(neither accepts it) what the text most likely means, so that later steps still have something to look at.

Kinds of Problem, and who refuses the text for their sake:

    syntax              both              neither loader can read on from here
    placeholder         both              a template's `{{ … }}` where a value belongs; its node is unknown
    number-too-long     both              an integer of more digits than Python converts
    duplicate-key       hjson             the same key twice in one object; json keeps the last
    number-overflow     hjson             1e400: hjson crashes, json reads infinity
    constant            hjson or none     NaN, Infinity: a number to json, a text to hjson, which may stop further on
                        json              True, None, …: a text to hjson
    read-differently    none              NaN, Infinity where both loaders accept the text but disagree on its content
    too-deep            hjson             nesting beyond what its recursion allows (both from 10,000 levels)
    not-an-object       none              both load it, but DeepSpeed needs an object
    empty               json              nothing but blanks and comments; hjson reads {}
    bom                 json              a byte order mark at the start
    comment             json              `#`, `//` or `/* */`
    trailing-comma      json              a comma before `}`, `]` or the end
    missing-comma       json              a new row does for hjson
    missing-braces      json              members without the outer `{ }`
    quoteless-key       json              a key without quotes
    quoteless           json              a text without quotes that ends with its row, as hjson has it
    quoteless-swallows  json              the same, with a comma or brace of its row in it, taken for text
    number-form         json              01, +1, .5, 0x10: a text to hjson; or digits that are not ASCII
    single-quotes       json              '…'
    multiline-string    json              '''…'''
    escape              json              an escape that only hjson knows
    odd-space           json              a blank that only looks like one (U+00A0, …)
    typographic-quotes  json              “…”: to hjson a part of the text

hjson reads 2e8 and 1.0 as integers and json as floats; they are equal, so that is no problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dslint.documents.tree import (
    UNKNOWN,
    Document,
    Loader,
    Member,
    Node,
    Problem,
    Source,
    join_pointer,
)

MAX_DEPTH: Final = (
    200  # nodes nested deeper are of kind unknown, so that nothing downstream needs a deep stack
)
HJSON_DEPTH: Final = 500  # two Python frames a level: beyond the default recursion limit of 1,000 for certain
JSON_DEPTH: Final = 10_000
MAX_PROBLEMS: Final = 1_000  # of a kind

BOTH: Final[frozenset[Loader]] = frozenset(("json", "hjson"))
JSON: Final[frozenset[Loader]] = frozenset(("json",))
HJSON: Final[frozenset[Loader]] = frozenset(("hjson",))
NONE: Final[frozenset[Loader]] = frozenset()

_SPACE = r"[ \t\n\r]*"
_ENDS = r"(?=[ \t]*(?:[,}\]\r\n#]|/[/*]|\Z))"  # what may follow an unquoted scalar, for both loaders


def _value_pattern(excluded: str) -> str:
    """A value that both loaders read alike: groups string, integer, float, literal, opener; then a comma if there is one."""
    return (
        rf'(?:("[^"\\\x00-\x1f{excluded}]*")'
        rf"|(-?(?:0|[1-9][0-9]{{0,30}})){_ENDS}"
        rf"|(-?(?:0|[1-9][0-9]{{0,30}})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{{1,2}})?){_ENDS}"
        rf"|(true|false|null){_ENDS}"
        rf"|(\[|\{{(?!\{{))){_SPACE},?"
    )


def _member_pattern(excluded: str) -> str:
    return rf'{_SPACE}("[^"\\\x00-\x1f{excluded}]*"){_SPACE}:{_SPACE}' + _value_pattern(excluded)


_MEMBER = re.compile(_member_pattern(""))
_ITEM = re.compile(_SPACE + "()" + _value_pattern(""))  # an empty group, so that both patterns number alike
_STRING, _INTEGER, _FLOAT, _LITERAL, _OPENER = 2, 3, 4, 5, 6

_COMMA = re.compile(_SPACE + ",?")
_BLANKS = re.compile(_SPACE)
_LITERALS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_CONSTANTS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_WORDS: Final = {
    "True",
    "False",
    "None",
    "TRUE",
    "FALSE",
    "NULL",
    "Null",
    "undefined",
    "nan",
    "inf",
    "-inf",
    "Inf",
    "NAN",
}
_ESCAPES: Final = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip

# Patterns of the slow path; re caches what it compiles, so they cost nothing until they are needed.
_SEGMENT = r"(?:[^,}\]#/\r\n]|/(?![/*]))*"
_NUMBER = r"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?[\t ]*"
_KEY = r"([^{}\[\],: \t\n\r]+)([ \t\n\r]*)(?=:)"
_BODY = {
    '"': r'[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*"',
    "'": r"[^'\\\x00-\x1f]*(?:\\[^\x00-\x1f][^'\\\x00-\x1f]*)*'",
}
_PLACEHOLDER = (
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{(?:[^{}\n]|\{[^{}\n]*\})*\}"
    r"|\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\))|`[^`\n]*`"
)
_SHELL_BODY = {q: rf"(?:[^{q}\\$`\x00-\x1f]|\\[^\x00-\x1f]|{_PLACEHOLDER}|[$`])*{q}" for q in ('"', "'")}
_SHELL_SEGMENT = rf"(?:{_PLACEHOLDER}|\\[$`\\]|[^,}}\]#/\r\n$`\\]|/(?![/*])|[$`\\])*"
_SHELL_LINE = rf"(?:{_PLACEHOLDER}|[^\r\n$`]|[$`])*"

_START, _NEXT, _AFTER = 0, 1, 2  # in a container: just opened, after a comma, after a value


def parse(
    source: Source, start: int = 0, end: int | None = None, substitute: Callable[[str], Any] | None = None
) -> Document:
    """Read the characters `start:end` of a source as a config; never raises.

    `substitute` is for text that a shell expands first (a heredoc): it is asked for the text of each placeholder
    (`$NAME`, `${NAME:-default}`, `$(…)`, backticks) and answers with a str, or UNKNOWN. A value with an unknown
    placeholder in it is a node of kind unknown; so is an object with an unknown key.
    """
    stop = len(source.text) if end is None else end
    if substitute is not None and not re.compile(r"[$`\\]").search(source.text, start, stop):
        substitute = None
    reader = _Reader(source, start, stop, substitute, tolerant=True)
    root = reader.read()
    if reader.diverged:
        strict = _Reader(source, start, stop, substitute, tolerant=False)
        try:
            hjson_root = strict.read()
        except _StopReading:
            hjson_root = None
        if not any("json" in problem.refused_by for problem in reader.problems):
            reader.judge_constants(refused=hjson_root is None)
        elif hjson_root is not None:
            reader, root = strict, hjson_root
        else:
            reader.blame(strict.problems)
    problems = sorted(reader.problems, key=lambda problem: problem.start)
    return Document(source, root, "json", problems=tuple(problems))


class _StopReading(Exception):
    """hjson would stop here."""


class _Reader:
    """One pass over the text.

    A strict pass (`tolerant=False`) follows hjson and stops where hjson does. A tolerant pass recovers from errors, and
    reads an unquoted value as ending at the next comma or brace; `diverged` says that hjson would read such a value
    otherwise, so that only a strict pass can tell what hjson makes of the text.
    """

    def __init__(
        self, source: Source, start: int, end: int, substitute: Callable[[str], Any] | None, tolerant: bool
    ) -> None:
        self.source = source
        self.text = source.text
        self.start = start
        self.end = end
        self.substitute = substitute
        self.tolerant = tolerant
        self.problems: list[Problem] = []
        self.counts: dict[str, int] = {}
        self.diverged = False
        self.stack: list[Node] = []
        self.braceless = False
        self.deepest = 0
        self.tainted: list[Node] = []  # objects with a key that is not known
        self.cut = -1  # where a tolerant pass ended a value that hjson reads on
        self.swallowed: list[tuple[int, str]] = []  # starts of unquoted values that diverge, with the message
        self.first_stop = ""  # the kind of the first problem that stops hjson
        self.crashed = False  # whether it stops with an error that ends its search for another reading, too
        self.alone = False  # whether the text is read as one single value

    # --- problems -------------------------------------------------------------------------------------------------

    def note(
        self,
        kind: str,
        start: int,
        end: int,
        message: str,
        refused_by: frozenset[Loader],
        pointer: str | None = None,
    ) -> None:
        if "hjson" in refused_by and not self.first_stop:
            self.first_stop = kind
        count = self.counts.get(kind, 0) + 1
        self.counts[kind] = count
        if count <= MAX_PROBLEMS:
            here = self.pointer() if pointer is None else pointer
            self.problems.append(Problem(kind, message, start, end, here, refused_by))

    def fail(
        self, start: int, end: int, message: str, pointer: str | None = None, crash: bool = False
    ) -> None:
        """What neither loader reads; a strict pass ends here. `crash`: hjson fails with other than its own error."""
        self.crashed = self.crashed or (crash and not self.first_stop)
        if self.counts.get("syntax", 0) < 20:
            self.note("syntax", start, max(end, start), message, BOTH, pointer)
        if not self.tolerant:
            raise _StopReading

    def pointer(self) -> str:
        """The pointer of the innermost open container (of its parent's last child, that is)."""
        here = ""
        for node in self.stack[: MAX_DEPTH - 1][:-1] if self.stack else ():
            here = join_pointer(here, node.members[-1].key if node.kind == "object" else len(node.items) - 1)
        return here

    def child_pointer(self) -> str:
        """The pointer of the child that was added last."""
        if not self.stack:
            return ""
        top = self.stack[-1]
        here = self.pointer()
        if top.kind == "object":
            return join_pointer(here, top.members[-1].key) if top.members else here
        return join_pointer(here, len(top.items) - 1) if top.items else here

    def row(self, offset: int) -> int:
        return self.source.position(offset).row

    def judge_constants(self, refused: bool) -> None:
        """json accepts the text; say of each NaN or Infinity what hjson makes of it."""
        for i, problem in enumerate(self.problems):
            if problem.kind != "constant":
                continue
            word = self.text[problem.start : problem.end]
            if refused:
                message = f"{word} is a number to Python's json, but DeepSpeed's loader (Hjson) takes the rest of the row for text and cannot read on"
                self.problems[i] = Problem(
                    "constant", message, problem.start, problem.end, problem.pointer, HJSON
                )
            else:
                message = f"{word} is a number to Python's json, but DeepSpeed's loader (Hjson) reads the text that stands here up to the end of the row"
                self.problems[i] = Problem(
                    "read-differently", message, problem.start, problem.end, problem.pointer, NONE
                )

    def blame(self, strict: list[Problem]) -> None:
        """Neither loader reads the text; when that is for an unquoted value alone, say so there."""
        if any(problem.kind in ("syntax", "placeholder") for problem in self.problems):
            return
        starts = dict(self.swallowed)
        for i, problem in enumerate(self.problems):
            if problem.start in starts:
                self.problems[i] = Problem(
                    "syntax", starts[problem.start], problem.start, problem.end, problem.pointer, BOTH
                )
                del starts[problem.start]
        if not any(problem.kind == "syntax" for problem in self.problems):
            self.problems.extend(problem for problem in strict if problem.kind == "syntax")

    # --- the whole text -------------------------------------------------------------------------------------------

    def read(self) -> Node:
        pos = self.start
        if self.text.startswith("\ufeff", pos, self.end):
            pos += 1
            self.note(
                "bom",
                pos - 1,
                pos,
                "the file starts with a byte order mark, which Python's json refuses",
                JSON,
            )
        first = self.gap(pos)
        character = self.peek(first)
        if not character:
            return self.read_nothing(pos)
        if character == "{" or character == "[":
            return self.read_bracketed(first)
        return self.read_bare(first)

    def read_nothing(self, pos: int) -> Node:
        message = "the file is empty: there is no config in it"
        if pos == self.start and not self.first_stop:
            self.note("empty", self.start, self.end, message, JSON)
        else:
            self.fail(self.start, self.end, message)
        return Node("object", self.end, self.end)

    def read_bracketed(self, pos: int) -> Node:
        root, end = self.value(pos)
        self.run(end)
        if root.kind != "object" and root.kind != "unknown":
            self.not_an_object(root)
        self.trailing(root.end)
        self.judge_depth(root)
        return root

    def not_an_object(self, root: Node) -> None:
        word = {"array": "a list", "string": "a text", "number": "a number"}.get(
            root.kind, f"`{self.text[root.start : root.end]}`"
        )
        self.note(
            "not-an-object",
            root.start,
            root.end,
            f"the config is {word}; DeepSpeed needs an object, {{ … }}",
            NONE,
            "",
        )

    def judge_depth(self, root: Node) -> None:
        if self.deepest <= MAX_DEPTH:
            return
        refused_by = BOTH if self.deepest >= JSON_DEPTH else HJSON if self.deepest > HJSON_DEPTH else NONE
        message = f"{self.deepest} levels are nested in each other; dslint looks at the first {MAX_DEPTH}"
        if refused_by:
            message += ", and DeepSpeed's loader stops with a RecursionError"
        self.note("too-deep", root.start, root.start + 1, message, refused_by, "")

    def trailing(self, pos: int) -> None:
        """Nothing but blanks and comments may follow the root."""
        pos = self.gap(pos)
        if pos >= self.end:
            return
        line = self.rest_of_row(pos)
        if line[0] in "}]":
            message = f"one `{line[0]}` too many: everything that was opened is closed already"
        elif line.startswith("```"):
            message = "text after the end of the config (a Markdown fence); the file must end with the config"
        else:
            message = f"text after the end of the config: `{_short(line)}`; the file must end with the config"
        self.fail(pos, pos + len(line), message, "")

    def read_bare(self, pos: int) -> Node:
        """A root that is no bracket: hjson's object without braces, else a single value, else neither."""
        if self.starts_member(pos):
            attempt = self.copy()
            root = Node("object", pos, pos)
            self.braceless = True
            self.stack.append(root)
            self.deepest = 1
            stopped = False
            try:
                self.run(pos)
            except _StopReading:
                stopped = True
            if self.first_stop not in ("syntax", "placeholder"):
                self.note(
                    "missing-braces",
                    root.start,
                    root.end,
                    "the outer braces are missing: Python's json needs { … } around the config",
                    JSON,
                    "",
                )
                self.judge_depth(root)
                return root
            scalar = None if self.crashed else attempt.read_scalar(pos)
            if scalar is not None:
                self.take(attempt)
                return scalar
            if stopped:
                raise _StopReading
            return root
        attempt = self.copy()
        scalar = attempt.read_scalar(pos)
        if scalar is not None:
            self.take(attempt)
            return scalar
        return self.read_after_text(pos)

    def rest_of_row(self, pos: int, end: int | None = None) -> str:
        """The text from `pos` to the end of its row, without blanks at its end."""
        match = re.compile(r"[^\r\n]*").match(self.text, pos, self.end if end is None else end)
        return match[0].rstrip(" \t") if match else ""

    def copy(self) -> _Reader:
        """A reader with what has been noted so far, for an attempt that may come to nothing."""
        other = _Reader(self.source, self.start, self.end, self.substitute, self.tolerant)
        other.problems = list(self.problems)
        other.counts = dict(self.counts)
        other.first_stop = self.first_stop
        return other

    def take(self, attempt: _Reader) -> None:
        self.problems = attempt.problems
        self.first_stop = attempt.first_stop
        self.diverged = self.diverged or attempt.diverged
        self.swallowed = attempt.swallowed

    def starts_member(self, pos: int) -> bool:
        character = self.peek(pos)
        if character in "\"'":
            match = self.match(self.body(character), pos + 1)
            if match is None:
                return False
            attempt = self.copy()
            attempt.tolerant = True
            return self.peek(attempt.gap(match.end())) == ":"
        return self.match(_KEY, pos) is not None

    def read_scalar(self, pos: int) -> Node | None:
        """The text as one single value, or None. Text without quotes then is what hjson makes of it."""
        self.tolerant = self.tolerant and self.rest_of_row(pos) in _CONSTANTS
        self.alone = True
        try:
            node, end = self.value(pos)
            if self.stack or self.gap(end) < self.end or self.first_stop in ("syntax", "placeholder"):
                return None
        except _StopReading:
            return None
        if node.kind != "unknown":
            self.not_an_object(node)
        return node

    def read_after_text(self, pos: int) -> Node:
        """Text where the config should start: say so and look for the object further on."""
        brace = self.text.find("{", pos, self.end)
        line = self.rest_of_row(pos, brace if brace >= 0 else self.end)
        self.diverged = False
        if brace < 0:
            self.fail(pos, pos + len(line), f"this is no config: `{_short(line)}` stands where `{{` should")
            return Node("unknown", pos, self.end, UNKNOWN)
        fence = " (a Markdown fence)" if line.startswith("```") else ""
        self.fail(
            pos,
            pos + len(line),
            f"text before the config{fence}: `{_short(line)}`; the file must start with `{{`",
        )
        return self.read_bracketed(brace)

    # --- containers -----------------------------------------------------------------------------------------------

    def run(self, pos: int) -> None:
        """Read until everything that is open is closed. The loop reads what both loaders read alike; step() the rest."""
        if not self.stack:
            return
        text = self.text
        end = self.end
        stack = self.stack
        if self.substitute is None:
            member, item = _MEMBER.match, _ITEM.match
        else:
            member = re.compile(_member_pattern("$`")).match
            item = re.compile(_SPACE + "()" + _value_pattern("$`")).match
        state = _START
        top = stack[-1]
        in_object = top.kind == "object"
        while True:
            if state != _AFTER:
                match = member(text, pos, end) if in_object else item(text, pos, end)
                if match is not None:
                    group = match.lastindex
                    begin, stop = match.span(group)  # type: ignore[arg-type]
                    if group == _OPENER:
                        node = Node("object" if text[begin] == "{" else "array", begin, stop)
                    elif group == _STRING:
                        node = Node("string", begin, stop, text[begin + 1 : stop - 1])
                    elif group == _INTEGER:
                        node = Node("number", begin, stop, int(text[begin:stop]))
                    elif group == _FLOAT:
                        node = Node("number", begin, stop, float(text[begin:stop]))
                    else:
                        word = text[begin:stop]
                        node = Node("null" if word == "null" else "boolean", begin, stop, _LITERALS[word])
                    if in_object:
                        key_start, key_end = match.span(1)
                        top.members.append(
                            Member(text[key_start + 1 : key_end - 1], key_start, key_end, node)
                        )
                    else:
                        top.items.append(node)
                    if group == _OPENER:
                        stack.append(node)
                        top = node
                        in_object = node.kind == "object"
                        pos = stop
                        state = _START
                        if len(stack) > self.deepest:
                            self.deepest = len(stack)
                    else:
                        pos = match.end()
                        state = _NEXT if text[pos - 1] == "," else _AFTER
                    continue
            elif (
                pos < end
                and text[pos] == ("}" if in_object else "]")
                and not (self.braceless and len(stack) == 1)
            ):
                pos = self.close(pos + 1)
                if not stack:
                    return
                top = stack[-1]
                in_object = top.kind == "object"
                pos = _COMMA.match(text, pos, end).end()  # type: ignore[union-attr]
                state = _NEXT if text[pos - 1] == "," else _AFTER
                continue
            pos, state = self.step(pos, state)
            if not stack:
                return
            top = stack[-1]
            in_object = top.kind == "object"

    def close(self, end: int) -> int:
        """Close the innermost container at `end`."""
        node = self.stack[-1]
        node.end = end
        if node.kind == "object" and len(node.members) > 1:
            keys = {member.key for member in node.members}
            if len(keys) != len(node.members):
                self.note_duplicates(node)
        if len(self.stack) > MAX_DEPTH or (self.tainted and any(node is other for other in self.tainted)):
            node.kind, node.value = "unknown", UNKNOWN
            node.members.clear()
            node.items.clear()
        self.stack.pop()
        return end

    def note_duplicates(self, node: Node) -> None:
        here = self.pointer()
        seen: dict[str, Member] = {}
        for member in node.members:
            first = seen.setdefault(member.key, member)
            if first is not member:
                message = (
                    f"the key `{_short(member.key)}` stands twice in this object, first in row {self.row(first.key_start)}: "
                    "DeepSpeed's loader refuses it, Python's json keeps the last"
                )
                self.note(
                    "duplicate-key",
                    member.key_start,
                    member.key_end,
                    message,
                    HJSON,
                    join_pointer(here, member.key),
                )

    def step(self, pos: int, state: int) -> tuple[int, int]:
        """One step in the innermost container where the text is more than plain JSON, or wrong."""
        comma = pos - 1 if state == _NEXT else -1
        pos = self.gap(pos)
        character = self.peek(pos)
        top = self.stack[-1]
        bare = self.braceless and len(self.stack) == 1
        if not character:
            return self.end_of_text(bare, state, comma), _AFTER
        if character == ("}" if top.kind == "object" else "]") and not bare:
            if state == _NEXT:
                self.note_trailing_comma(comma)
            return self.next_comma(self.close(pos + 1))
        if self.substitute is not None and top.kind == "object":
            match = self.match(_PLACEHOLDER, pos)
            if match is not None and self.peek(self.gap(match.end())) != ":":
                self.tainted.append(top)
                return _COMMA.match(self.text, match.end(), self.end).end(), _START  # type: ignore[union-attr]
        if character == "]" or character == "}":
            return self.wrong_closer(pos, character, state)
        if state == _AFTER:
            if character == ",":
                return pos + 1, _NEXT
            self.missing_comma(pos)
        elif character == ",":
            what = "two commas in a row" if state == _NEXT else "a comma before the first entry"
            self.fail(pos, pos + 1, f"{what}: one is too many")
            return pos + 1, state
        if top.kind == "object":
            return self.member(pos)
        node, pos = self.value(pos, top)
        return self.after_value(node, pos)

    def after_value(self, node: Node, pos: int) -> tuple[int, int]:
        if self.stack and self.stack[-1] is node:
            return pos, _START
        return self.next_comma(pos)

    def next_comma(self, pos: int) -> tuple[int, int]:
        pos = self.gap(pos)
        if self.peek(pos) == ",":
            return pos + 1, _NEXT
        return pos, _AFTER

    def note_trailing_comma(self, comma: int) -> None:
        if comma >= 0 and self.text[comma] == ",":
            self.note(
                "trailing-comma",
                comma,
                comma + 1,
                "a comma after the last entry: Hjson skips it, Python's json refuses it",
                JSON,
            )

    def missing_comma(self, pos: int) -> None:
        before = len(self.text[:pos].rstrip(" \t\r\n")) if pos - self.cut > 1 else self.cut
        if self.cut >= 0 and not self.text[self.cut : pos].strip(" \t"):
            self.fail(self.cut, pos, "a comma is missing here")
        else:
            self.note(
                "missing-comma",
                before,
                before,
                "a comma is missing here: a new row does for Hjson, Python's json refuses it",
                JSON,
            )

    def end_of_text(self, bare: bool, state: int, comma: int) -> int:
        """The text ends while something is open; close it all."""
        last = self.start + len(self.text[self.start : self.end].rstrip())
        if bare:
            if state == _NEXT:
                self.note_trailing_comma(comma)
            self.close(max(last, self.stack[0].start))
            return self.end
        opener = self.unclosed()
        message = (
            f"the text ends before the `{self.text[opener.start]}` of row {self.row(opener.start)} is closed"
        )
        self.fail(max(last - 1, self.start), last, message)
        while self.stack:
            self.close(last)
        return self.end

    def unclosed(self) -> Node:
        """The open container that most likely lacks its end: the innermost whose last entry is indented no deeper than itself."""
        for node in reversed(self.stack[:MAX_DEPTH]):
            children = [m.key_start for m in node.members] or [i.start for i in node.items]
            if not children:
                return node
            if any(
                self.indent(child) <= self.indent(node.start)
                for child in children[1:]
                if self.row(child) > self.row(node.start)
            ):
                return node
        return self.stack[0] if len(self.stack) > MAX_DEPTH else self.stack[-1]

    def indent(self, offset: int) -> int:
        line = self.source.line(self.row(offset))
        return len(line) - len(line.lstrip())

    def wrong_closer(self, pos: int, character: str, state: int) -> tuple[int, int]:
        """A `]` in an object or a `}` in an array (or in members without braces)."""
        kind = "object" if character == "}" else "array"
        top = self.stack[-1]
        inner = [
            i for i, node in enumerate(self.stack) if node.kind == kind and not (self.braceless and i == 0)
        ]
        if not inner:
            self.fail(pos, pos + 1, f"a `{character}` that closes nothing")
            return pos + 1, state
        opened = self.text[top.start]
        self.fail(
            pos,
            pos + 1,
            f"this `{character}` comes before the `{opened}` of row {self.row(top.start)} is closed",
        )
        while len(self.stack) > inner[-1] + 1:
            self.close(pos)
        return self.next_comma(self.close(pos + 1))

    # --- members --------------------------------------------------------------------------------------------------

    def member(self, pos: int) -> tuple[int, int]:
        """A key, a colon and a value."""
        top = self.stack[-1]
        start = pos
        key, stop, pos = self.key(pos)
        if key is None:
            return pos, _START
        placeholder = Node("unknown", stop, stop, UNKNOWN)
        top.members.append(Member(key, start, stop, placeholder))
        pos = self.gap(pos)
        character = self.peek(pos)
        if character == ":":
            pos = self.gap(pos + 1)
        elif character in ",}]":
            self.fail(start, stop, f"the key `{_short(key)}` has no value", self.child_pointer())
            return self.next_comma(pos)
        else:
            what = "an equals sign stands" if character == "=" else "a colon is missing"
            self.fail(
                stop,
                stop,
                f"{what} after the key `{_short(key)}`; a colon belongs there",
                self.child_pointer(),
            )
            pos = self.gap(pos + 1) if character == "=" else pos
        node, pos = self.value(pos, top)
        return self.after_value(node, pos)

    def key(self, pos: int) -> tuple[str | None, int, int]:
        """The key at `pos`, the end of its span, and where to read on; None when there is none."""
        character = self.peek(pos)
        if character in "\"'":
            node, stop = self.string(pos, character, is_key=True)
            if node.kind == "unknown":
                self.tainted.append(self.stack[-1])
                return self.text[pos:stop], stop, stop
            return node.value, stop, stop
        match = self.match(_KEY, pos)
        if match is not None:
            key = match[1].rstrip() if match[2] else match[1]
            return self.quoteless_key(pos, match[1], key), match.end(1), match.end()
        return self.bad_key(pos)

    def quoteless_key(self, pos: int, raw: str, key: str) -> str:
        kind, why = "quoteless-key", "Hjson reads it, Python's json refuses it"
        if raw[0] in "“”„‘’«":
            kind = "typographic-quotes"
            why = "typographic quotes are a part of the key to Hjson, and refused by Python's json; write \""
        elif raw.strip() != raw or raw[0] in "\u200b\ufeff\u2060":
            kind, why = (
                "odd-space",
                f"it has a character that only looks like a blank (U+{ord(_odd(raw)):04X})",
            )
        self.note(kind, pos, pos + len(raw), f"the key `{_short(raw)}` has no quotes: {why}", JSON)
        if self.substitute is None or not re.search(_PLACEHOLDER, key):
            return key
        expanded = self.expand(key)
        if expanded is UNKNOWN:
            self.tainted.append(self.stack[-1])
            return key
        return str(expanded)

    def bad_key(self, pos: int) -> tuple[str | None, int, int]:
        line = self.match(r"[^\r\n]*", pos)
        raw = line[0] if line else ""
        match = re.match(r"[^{}\[\],:\"']*[^{}\[\],:\"'\s](?=\s*:)", raw)
        if match is not None:
            stop = pos + match.end()
            self.fail(pos, stop, f"the key `{_short(match[0])}` has a blank in it and no quotes")
            return match[0], stop, stop
        if raw[0] == ":":
            self.fail(pos, pos + 1, "a colon with no key before it")
            return None, pos, pos + 1
        if raw[0] in "{[":
            self.fail(pos, pos + 1, f"`{raw[0]}` stands where a key should")
            return "", pos, pos  # its value is the bracket
        skip = re.match(r"[^{}\[\],\r\n]+", raw)
        stop = pos + (skip.end() if skip else 1)
        self.fail(
            pos, stop, f"`{_short(self.text[pos:stop].rstrip())}` stands where a key and its value should"
        )
        return None, pos, stop

    # --- values ---------------------------------------------------------------------------------------------------

    def value(self, pos: int, parent: Node | None = None) -> tuple[Node, int]:
        """The value at `pos` put into its parent, and where to read on. Containers are opened, not read."""
        character = self.peek(pos)
        if character == "{" or character == "[":
            if character == "{" and self.tolerant:
                match = self.match(r"\{\{[^\r\n]*?\}\}+", pos)
                if match is not None:
                    node = self.put(Node("unknown", pos, match.end(), UNKNOWN), parent)
                    self.note(
                        "placeholder",
                        pos,
                        match.end(),
                        f"`{_short(match[0])}` is a template's placeholder: no loader reads it before it is filled in",
                        BOTH,
                        self.child_pointer(),
                    )
                    return node, match.end()
            node = self.put(Node("object" if character == "{" else "array", pos, pos + 1), parent)
            self.stack.append(node)
            self.deepest = max(self.deepest, len(self.stack))
            return node, pos + 1
        if not character or character in ",:}]":
            node = self.put(Node("unknown", pos, pos, UNKNOWN), parent)
            found = f"before `{character}`" if character else "before the end of the text"
            self.fail(pos, pos + len(character), f"a value is missing {found}", self.child_pointer())
            return node, pos + 1 if character == ":" else pos
        if character == '"' or character == "'":
            if self.text.startswith("'''", pos, self.end):
                node, end = self.multiline(pos)
            else:
                node, end = self.string(pos, character)
            return self.put(node, parent), end
        return self.word(pos, parent)

    def put(self, node: Node, parent: Node | None) -> Node:
        if parent is None:
            return node
        if parent.kind == "object":
            last = parent.members[-1]
            parent.members[-1] = Member(last.key, last.key_start, last.key_end, node)
        else:
            parent.items.append(node)
        return node

    def word(self, pos: int, parent: Node | None) -> tuple[Node, int]:
        """A value without quotes. hjson: a literal or number up to the next `,}]`, comment or row's end; else text to the row's end."""
        match = self.match(_SEGMENT if self.substitute is None else _SHELL_SEGMENT, pos)
        raw = match[0] if match else ""
        stop = pos + len(raw)
        if self.substitute is not None and re.search(_PLACEHOLDER, raw):
            expanded = self.expand(raw)
            word = raw.rstrip()
            node = self.expanded(expanded, pos, pos + len(word))
            if node is not None:
                return self.put(node, parent), stop
            raw = expanded
        plain = self.plain_word(raw, pos, parent)
        if plain is not None:
            return plain, stop
        line = self.match(r"[^\r\n]*" if self.substitute is None else _SHELL_LINE, pos)
        whole = line[0] if line else ""
        content = whole if self.substitute is None else self.expand(whole)
        return self.quoteless(pos, raw, whole, content, parent)

    def expanded(self, expanded: Any, start: int, end: int) -> Node | None:
        """The node for a value that the shell makes; None when it is a bare word."""
        text = expanded.strip() if expanded is not UNKNOWN else ""
        if not text or text[0] in "{[":
            return Node("unknown", start, end, UNKNOWN)
        if re.fullmatch('"' + _BODY['"'], text):
            return Node("string", start, end, self.unescape(text[1:-1], start))
        return None

    def plain_word(self, raw: str, pos: int, parent: Node | None) -> Node | None:
        """A literal or a number, as hjson tells them."""
        word = raw.strip()
        end = pos + len(word)
        if word in _LITERALS and raw[0] == word[0]:
            node = self.put(Node("null" if word == "null" else "boolean", pos, end, _LITERALS[word]), parent)
            if raw.strip(" \t") != word:
                self.note(
                    "odd-space",
                    end,
                    pos + len(raw),
                    "a character that only looks like a blank",
                    JSON,
                    self.child_pointer(),
                )
            return node
        if not ("0" <= raw[:1] <= "9" or raw[:1] == "-"):
            return None
        match = re.fullmatch(_NUMBER, raw)
        if match is None:
            return None
        node = self.put(Node("number", pos, end), parent)
        try:
            node.value = float(word) if match[2] or match[3] else int(word)
        except ValueError:
            node.kind, node.value = "unknown", UNKNOWN
            self.note(
                "number-too-long",
                pos,
                end,
                f"a number of {len(word)} digits: Python converts no more than 4,300",
                BOTH,
                self.child_pointer(),
            )
            return node
        if not word.isascii():
            self.note(
                "number-form",
                pos,
                end,
                f"`{_short(word)}` has digits that are not ASCII",
                JSON,
                self.child_pointer(),
            )
        if node.value in (_CONSTANTS["Infinity"], _CONSTANTS["-Infinity"]):
            self.note(
                "number-overflow",
                pos,
                end,
                f"{_short(word)} is too big for a float: DeepSpeed's loader stops with an OverflowError, Python's json reads infinity",
                HJSON,
                self.child_pointer(),
            )
        return node

    def quoteless(
        self, pos: int, raw: str, whole: str, content: Any, parent: Node | None
    ) -> tuple[Node, int]:
        """Text without quotes: `raw` up to the first comma or brace, `whole` up to the end of the row."""
        word = raw.strip()
        text = content.strip() if content is not UNKNOWN else UNKNOWN
        swallows = len(whole.rstrip()) > len(raw.rstrip())
        if not self.tolerant:
            node = self.put(Node("string", pos, pos + len(whole.rstrip()), text), parent)
            if text is UNKNOWN:
                node.kind = "unknown"
            kind, message = self.describe(word, text, swallows)
            constant = whole.strip(" \t") in _CONSTANTS
            self.note(kind, pos, node.end, message, NONE if constant else JSON, self.child_pointer())
            return node, pos + len(whole)
        cut = re.search(r"[ \t]+(?=\")", raw)
        if (
            cut is not None and self.substitute is None
        ):  # a new entry starts in this row, so a comma was forgotten
            raw = raw[: cut.start()]
            self.cut = pos + len(raw)
            self.diverged = True
            plain = self.plain_word(raw, pos, parent)
            if plain is not None:
                return plain, self.cut
            word = raw.strip()
            swallows = True
        end = pos + len(raw.rstrip())
        if raw.strip(" \t") in _CONSTANTS:
            node = self.put(Node("number", pos, end, _CONSTANTS[word]), parent)
            self.diverged = True
        else:
            node = self.put(Node("string", pos, end, word), parent)
            self.diverged = self.diverged or swallows
        kind, message = self.describe(word, text, swallows)
        if swallows:
            self.swallowed.append(
                (
                    pos,
                    f'{message}, and cannot read on; write "{_short(word)}" in quotes'
                    if kind.startswith("quoteless")
                    else f"{message}, and cannot read on",
                )
            )
            kind = "quoteless" if kind == "quoteless-swallows" else kind
        self.note(kind, pos, end, message, NONE if node.kind == "number" else JSON, self.child_pointer())
        return node, pos + len(raw)

    def describe(self, word: str, text: Any, swallows: bool) -> tuple[str, str]:
        """The kind of an unquoted text, and the sentence about it."""
        shown = "text" if text is UNKNOWN else f"the text `{_short(text)}`"
        reads = f"Hjson reads {shown} here" + (", up to the end of the row" if swallows else "")
        if word in _CONSTANTS or word in _WORDS:
            meant = {
                "True": "true",
                "False": "false",
                "None": "null",
                "TRUE": "true",
                "FALSE": "false",
                "NULL": "null",
                "Null": "null",
            }
            hint = f" (JSON writes {meant[word]})" if word in meant else ""
            return "constant", f"`{word}` is no JSON value{hint}: {reads}"
        if re.match(r"[-+]?\.?\d", word) and re.fullmatch(r"[-+.\w]+", word):
            return "number-form", f"`{_short(word)}` is no number in JSON: {reads}"
        if word[:1] in tuple("“”„‘’«"):
            return "typographic-quotes", f'`{_short(word)}` has typographic quotes; write ": {reads}'
        if swallows:
            return "quoteless-swallows", f"`{_short(word)}` has no quotes: {reads}"
        return (
            "quoteless",
            f"`{_short(word)}` has no quotes: Hjson reads it as text, Python's json refuses it",
        )

    # --- strings --------------------------------------------------------------------------------------------------

    def string(self, pos: int, quote: str, is_key: bool = False) -> tuple[Node, int]:
        match = self.match(self.body(quote), pos + 1)
        if match is None:
            return self.broken_string(pos, quote, is_key)
        end = match.end()
        body = self.text[pos + 1 : end - 1]
        if quote == "'":
            self.note(
                "single-quotes",
                pos,
                end,
                "single quotes: Hjson reads them, Python's json wants double ones",
                JSON,
            )
        if self.substitute is not None:
            body = self.expand(body)
            if body is UNKNOWN:
                return Node("unknown", pos, end, UNKNOWN), end
        if "\\" in body:
            body = self.unescape(body, pos)
        return Node("string", pos, end, body), end

    def broken_string(self, pos: int, quote: str, is_key: bool) -> tuple[Node, int]:
        """A string with a control character in it, or without an end in its row."""
        match = self.match(self.body(quote).replace("\\x00-\\x1f", "\\r\\n"), pos + 1)
        if match is not None:
            body = match[0][:-1]
            odd = next((c for c in body if c < " "), "\t")
            offset = pos + 1 + body.find(odd)
            name = "a tab; write \\t" if odd == "\t" else f"the control character U+{ord(odd):04X}"
            self.fail(offset, offset + 1, f"inside this text stands {name}")
            return Node("string", pos, match.end(), self.unescape(body, pos)), match.end()
        line = self.match(r"[^\r\n]*", pos)
        raw = (line[0] if line else quote).rstrip()
        if is_key and ":" in raw:
            raw = raw[: raw.index(":")].rstrip()
        raw = re.sub(r"[\s,}\]]+$", "", raw) or quote
        self.fail(pos, pos + len(raw), f"the text that starts here has no closing {quote} in its row")
        return Node("string", pos, pos + len(raw), raw[1:]), pos + len(raw)

    def unescape(self, body: str, pos: int) -> str:
        """A string's body as hjson reads it; `pos` is where the string starts."""

        def replace(match: re.Match[str]) -> str:
            code, character = match.groups()
            if code is None:
                if character in _ESCAPES:
                    if character == "'":
                        self.note(
                            "escape",
                            pos + 1 + match.start(),
                            pos + 1 + match.end(),
                            "\\' is no escape in JSON: Hjson reads it, Python's json refuses it",
                            JSON,
                        )
                    return _ESCAPES[character]
                self.fail(
                    pos + 1 + match.start(),
                    pos + 1 + match.end(),
                    f"\\{character} is no escape; for a backslash write \\\\",
                )
                return match[0]
            try:
                if len(code) != 4 or code[1] in "xX":
                    raise ValueError
                number = int(code, 16)
            except ValueError:
                self.fail(pos + 1 + match.start(), pos + 1 + match.end(), "\\u needs four hexadecimal digits")
                return match[0]
            if not re.fullmatch("[0-9a-fA-F]{4}", code):
                self.note(
                    "escape",
                    pos + 1 + match.start(),
                    pos + 1 + match.end(),
                    "\\u needs four hexadecimal digits: Hjson is content, Python's json refuses it",
                    JSON,
                )
            return chr(number)

        text = re.sub(r"(?s)\\(?:u(.{0,4})|(.))", replace, body)
        return re.sub("[\ud800-\udbff][\udc00-\udfff]", _join_surrogates, text)

    def multiline(self, pos: int) -> tuple[Node, int]:
        """A '''…''' string: its rows lose the indentation of the row that it starts in."""
        text, end = self.text, self.end
        row_end = text.rfind("\n", self.start, pos)
        lone = text.rfind("\r", self.start, pos)
        row_end = max(row_end, lone)
        crash = False
        if row_end >= 0:
            indent = pos - 1 - row_end
        else:  # in the first row, hjson counts backwards from the end of the text
            last = max(text.rfind("\n", self.start, end), text.rfind("\r", self.start, end))
            crash = last < 0
            rest = text[self.start : end].replace("\r\n", "\n")
            before = text[self.start : max(last, self.start)].replace("\r\n", "\n")
            indent = pos - self.start - 1 - len(before) + len(rest)
        body_start = pos + 3
        match = self.match(r"[ \t]*(?:(\r\n|\r|\n))?", body_start)
        begin = match.end() if match else body_start
        if match and match[1]:
            skip = self.match(rf"[ \t]{{0,{indent}}}", begin)
            begin = skip.end() if skip else begin
        close = text.find("'''", begin, end)
        if close < 0:
            self.fail(
                pos, pos + 3, "the text that starts here has no closing '''", crash=crash or body_start >= end
            )
            return Node("string", pos, end, text[begin:end]), end
        if crash:
            message = (
                "a ''' text in a file of one row: DeepSpeed's loader (Hjson) crashes on it with an IndexError"
            )
            self.fail(pos, close + 3, message, crash=True)
            return Node("string", pos, close + 3, text[begin:close]), close + 3
        body = re.sub(r"\r\n?", "\n", text[begin:close])
        body = re.sub(rf"\n[ \t]{{0,{indent}}}", "\n", body)
        if body.endswith("\n"):
            body = body[:-1]
        if self.substitute is not None:
            body = self.expand(body)
        node = Node("unknown" if body is UNKNOWN else "string", pos, close + 3, body)
        self.note(
            "multiline-string", pos, close + 3, "a ''' text: Hjson reads it, Python's json refuses it", JSON
        )
        return node, close + 3

    # --- small things ---------------------------------------------------------------------------------------------

    def peek(self, pos: int) -> str:
        return self.text[pos] if pos < self.end else ""

    def match(self, pattern: str, pos: int) -> re.Match[str] | None:
        return re.compile(pattern).match(self.text, pos, self.end)

    def body(self, quote: str) -> str:
        return (_BODY if self.substitute is None else _SHELL_BODY)[quote]

    def gap(self, pos: int) -> int:
        """Past blanks and comments."""
        text, end = self.text, self.end
        while True:
            pos = _BLANKS.match(text, pos, end).end()  # type: ignore[union-attr]
            if pos >= end:
                return pos
            character = text[pos]
            if character == "#" or (character == "/" and text.startswith("//", pos, end)):
                match = self.match(r"[^\r\n]*", pos)
                stop = match.end() if match else end
            elif character == "/" and text.startswith("/*", pos, end):
                close = text.find("*/", pos + 2, end)
                stop = close + 2 if close >= 0 else end
                if close < 0:
                    self.fail(pos, pos + 2, "the comment that starts here has no closing */", crash=True)
            else:
                return pos
            self.note("comment", pos, stop, "a comment: Hjson skips it, Python's json refuses it", JSON)
            pos = stop

    def expand(self, raw: str) -> Any:
        """Text as the shell makes it: placeholders filled in, its backslashes gone; UNKNOWN if one of them is."""
        substitute = self.substitute
        if substitute is None:
            return raw
        unknown = False

        def replace(match: re.Match[str]) -> str:
            nonlocal unknown
            if match[1] is not None:
                return "" if match[1] == "\n" else match[1]
            value = substitute(match[0])
            if value is UNKNOWN:
                unknown = True
                return ""
            return str(value)

        text = re.sub(rf"\\([$`\\\n])|(?:{_PLACEHOLDER})", replace, raw)
        return UNKNOWN if unknown else text


def _short(text: str) -> str:
    """Text for a message: one row of at most 40 characters."""
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= 40 else text[:39] + "…"


def _odd(text: str) -> str:
    return next((c for c in text if c.isspace() or c in "\u200b\ufeff\u2060"), text[0])


def _join_surrogates(match: re.Match[str]) -> str:
    high, low = match[0]
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))
