"""Objects and arrays of JSON and Hjson, what may stand around the config, and recovery from errors.

`Reader.run` reads what both loaders read alike, by one regular expression a member; `Reader.step` reads the
rest.
"""

from __future__ import annotations

import re
from typing import Final

from dslint.documents.json_scalars import (
    BOTH,
    CONSTANTS,
    HJSON,
    INVISIBLE,
    LITERALS,
    MAX_DEPTH,
    NEAR,
    NONE,
    PLACEHOLDER,
    TYPOGRAPHIC,
    Scalars,
    StopReading,
    short,
)
from dslint.documents.tree import UNKNOWN, Kind, Member, Node, join_pointer, walk

__all__ = ["HJSON_DEPTH", "JSON_DEPTH", "MAX_DEPTH", "Reader", "StopReading"]

MAX_FAILED: Final = 1_000  # syntax problems behind which no sense is looked for in the rest of the text
HJSON_DEPTH: Final = 500  # two Python frames a level: beyond the default recursion limit of 1,000 for certain
MAX_LOOKED: Final = 1_000  # containers, in the search for the one that is not closed
JSON_DEPTH: Final = 10_000  # beyond what any Python's json allows by default

_SPACE = r"[ \t\n\r]*"
_ENDS = r"(?=[ \t]*(?:[,}\]\r\n#]|/[/*]|\Z))"  # what may follow an unquoted scalar, for both loaders


def _value_pattern(excluded: str) -> str:
    """A value that both loaders read alike, in a group by its kind, and the comma after it, if any."""
    return (
        rf'(?:("[^"\\\x00-\x1f{excluded}]*")'
        r"|(?:(-?(?:0|[1-9][0-9]{0,30}))"
        r"|(-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?)"
        rf"|(true|false|null)){_ENDS}"
        rf"|(\[|\{{(?!\{{))){_SPACE},?"
    )


def _member_pattern(excluded: str) -> str:
    return rf'{_SPACE}("[^"\\\x00-\x1f{excluded}]*"){_SPACE}:{_SPACE}{_value_pattern(excluded)}'


def _item_pattern(excluded: str) -> str:
    return f"{_SPACE}(){_value_pattern(excluded)}"  # an empty group, so that both patterns number alike


_MEMBER = re.compile(_member_pattern(""))
_ITEM = _item_pattern("")  # compiled where it is first used: many configs have no list
_COMMA = re.compile(f"{_SPACE},?")
_STRING, _INTEGER, _FLOAT, _OPENER = 2, 3, 4, 6

_KEY = r"([^{}\[\],: \t\n\r]+)([ \t\n\r]*)(?=:)"  # a key without quotes

# A placeholder of Jinja and the like; bounded, so that a row of opening braces takes no quadratic time.
_TEMPLATE = r"\{\{\{[^\r\n{}]{0,300}\}\}\}|\{\{[^\r\n]{0,300}?\}\}"

_START, _NEXT, _AFTER = 0, 1, 2  # in a container: just opened, after a comma, after a value

# Scalars have neither members nor items. They share these, which halves the memory of a large file.
_NO_MEMBERS: list[Member] = []
_NO_ITEMS: list[Node] = []


class Reader(Scalars):
    """A pass over the whole text."""

    braceless = False  # whether the root is an object without braces
    deepest = 0

    # --- the whole text ---------------------------------------------------------------------------------

    def read(self) -> Node:
        pos = self.start
        if self.text.startswith("\ufeff", pos, self.end):
            pos += 1
            self.note(
                "bom", pos - 1, pos, "the text starts with a byte order mark, which Python's json refuses"
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
            self.note("empty", self.start, self.end, message)
        else:  # hjson takes an empty text for {}, but not one with a byte order mark
            self.fail(self.start, self.end, message)
        return Node("object", self.end, self.end)

    def read_bracketed(self, pos: int) -> Node:
        root, end = self.value(pos)
        self.run(end)
        if root.kind not in ("object", "unknown"):
            self.not_an_object(root)
        self.nothing_after(root.end)
        self.judge_depth(root)
        return root

    def not_an_object(self, root: Node) -> None:
        words = {"array": "a list", "string": "a text", "number": "a number"}
        word = words.get(root.kind, f"`{self.text[root.start : root.end]}`")
        message = f"the config is {word}; DeepSpeed needs an object, {{ … }}"
        self.note("not-an-object", root.start, root.end, message, "")

    def judge_depth(self, root: Node) -> None:
        if self.deepest <= MAX_DEPTH:
            return
        refused_by = BOTH if self.deepest >= JSON_DEPTH else HJSON if self.deepest > HJSON_DEPTH else NONE
        message = f"{self.deepest} levels stand in each other, of which dslint looks at the first {MAX_DEPTH}"
        if refused_by:
            message += "; DeepSpeed's loader stops with a RecursionError"
        self.note("too-deep", root.start, root.start + 1, message, "", refused_by)

    def nothing_after(self, pos: int) -> None:
        """Only blanks and comments may follow the root."""
        pos = self.gap(pos)
        if pos >= self.end:
            return
        row = self.rest_of_row(pos)
        if row[0] in "}]":
            message = f"one `{row[0]}` too many: everything that was opened is closed already"
        else:
            message = f"{stray(row)} after the end of the config, whose last brace nothing may follow"
        self.fail(pos, pos + len(row), message, "")

    def read_bare(self, pos: int) -> Node:
        """A root that is no bracket: hjson's object without braces, else a single value, else neither."""
        other = self.copy()
        if self.starts_member(pos):
            root = Node("object", pos, pos)
            self.braceless = True
            self.stack.append(root)
            self.deepest = 1
            stopped = False
            try:
                self.run(pos)
            except StopReading:
                stopped = True
                for node in reversed(self.stack):  # what is open ends with what was read of it
                    for child in [member.node for member in node.members[-1:]] + node.items[-1:]:
                        node.end = max(node.end, child.end)
            if self.first_stop not in ("syntax", "placeholder"):
                message = "the outer braces are missing: Python's json needs { … } around the config"
                self.note("missing-braces", root.start, root.end, message, "")
                self.judge_depth(root)
                return root
            # hjson tries the text as one value then, but only after an error of its own.
            if self.crashed or not other.read_alone(pos):
                if stopped:
                    raise StopReading
                return root
        elif not other.read_alone(pos):
            return self.read_after_text(pos)
        self.take(other)
        return other.root

    def copy(self) -> Reader:
        """A reader with what was noted so far, for an attempt that may come to nothing."""
        other = Reader(self.source, self.start, self.end, self.substitute, self.tolerant)
        other.problems = list(self.problems)
        other.counts = dict(self.counts)
        other.first_stop = self.first_stop
        return other

    def take(self, other: Reader) -> None:
        self.problems = other.problems
        self.first_stop = other.first_stop
        self.diverged = self.diverged or other.diverged
        self.swallowing = other.swallowing

    def starts_member(self, pos: int) -> bool:
        character = self.peek(pos)
        if character not in ('"', "'"):
            return self.match(_KEY, pos) is not None
        end = self.past(self.body(character), pos + 1)
        other = self.copy()
        other.tolerant = True
        return end > pos + 1 and self.peek(other.gap(end)) == ":"

    def read_alone(self, pos: int) -> bool:
        """Whether the text is one single value, put into `root`; without quotes, as hjson reads it."""
        self.tolerant = self.tolerant and self.rest_of_row(pos) in CONSTANTS
        try:
            self.root, end = self.value(pos)
            if self.gap(end) < self.end or self.first_stop in ("syntax", "placeholder"):
                return False
        except StopReading:
            return False
        if self.root.kind != "unknown":
            self.not_an_object(self.root)
        return True

    def read_after_text(self, pos: int) -> Node:
        """Text where the config should start: say so, and look for the object further on."""
        self.diverged = False
        brace = self.text.find("{", pos, self.end)
        row = self.rest_of_row(pos, brace)
        if brace < 0:
            self.fail(pos, pos + len(row), f"this is no config: `{short(row)}` stands where `{{` should")
            return Node("unknown", pos, self.end, UNKNOWN)
        self.fail(pos, pos + len(row), f"{stray(row)} before the config, which must start with `{{`")
        return self.read_bracketed(brace)

    def rest_of_row(self, pos: int, end: int = -1) -> str:
        """The text from `pos` to its row's end or to `end`, without the blanks that end it."""
        stop = self.row_end(pos)
        return self.text[pos : stop if end < 0 else min(stop, end)].rstrip(" \t")

    # --- containers -------------------------------------------------------------------------------------

    def run(self, pos: int) -> None:
        """Read until everything that is open is closed."""
        if not self.stack:
            return
        text = self.text
        end = self.end
        stack = self.stack
        if self.substitute is None:
            member, item_pattern = _MEMBER.match, _ITEM
        else:
            member, item_pattern = re.compile(_member_pattern("$`")).match, _item_pattern("$`")
        item = None
        keys: dict[str, str] = {}  # each key's text is kept once
        state = _START
        top = stack[-1]
        in_object = top.kind == "object"
        while True:
            if state != _AFTER:
                if in_object:
                    match = member(text, pos, end)
                else:
                    item = item or re.compile(item_pattern).match
                    match = item(text, pos, end)
                if match is not None:
                    group = match.lastindex
                    begin, stop = match.span(group)  # type: ignore[arg-type]
                    if group == _STRING:
                        node = Node("string", begin, stop, text[begin + 1 : stop - 1], _NO_MEMBERS, _NO_ITEMS)
                    elif group == _INTEGER:
                        node = Node("number", begin, stop, int(text[begin:stop]), _NO_MEMBERS, _NO_ITEMS)
                    elif group == _OPENER:
                        node = Node("object" if text[begin] == "{" else "array", begin, stop)
                    elif group == _FLOAT:
                        node = Node("number", begin, stop, float(text[begin:stop]), _NO_MEMBERS, _NO_ITEMS)
                    else:
                        value = LITERALS[text[begin:stop]]
                        kind: Kind = "null" if value is None else "boolean"
                        node = Node(kind, begin, stop, value, _NO_MEMBERS, _NO_ITEMS)
                    if in_object:
                        key_start, key_end = match.span(1)
                        key = text[key_start + 1 : key_end - 1]
                        top.members.append(Member(keys.setdefault(key, key), key_start, key_end, node))
                    else:
                        top.items.append(node)
                    if group == _OPENER:
                        stack.append(node)
                        self.deepest = max(self.deepest, len(stack))
                        top = node
                        in_object = node.kind == "object"
                        pos = stop
                        state = _START
                    else:
                        pos = match.end()
                        state = _NEXT if text[pos - 1] == "," else _AFTER
                    continue
            if state != _NEXT and text[pos : pos + 1] == ("}" if in_object else "]") and self.may_close(pos):
                pos = _COMMA.match(text, self.close(pos + 1), end).end()  # type: ignore[union-attr]
                if not stack:
                    return
                state = _NEXT if text[pos - 1] == "," else _AFTER
                top = stack[-1]
                in_object = top.kind == "object"
                continue
            pos, state = self.step(pos, state)
            if not stack:
                return
            top = stack[-1]
            in_object = top.kind == "object"

    def may_close(self, pos: int) -> bool:
        return pos < self.end and not self.is_bare()

    def is_bare(self) -> bool:
        return self.braceless and len(self.stack) == 1

    def close(self, end: int) -> int:
        """Close the innermost container at `end`."""
        node = self.stack[-1]
        node.end = end
        if len(node.members) > 1 and len({member.key for member in node.members}) != len(node.members):
            self.note_duplicates(node)
        if len(self.stack) > MAX_DEPTH or (self.tainted and any(node is other for other in self.tainted)):
            node.kind, node.value, node.members, node.items = "unknown", UNKNOWN, [], []
        self.stack.pop()
        return end

    def note_duplicates(self, node: Node) -> None:
        here = self.pointer()
        first: dict[str, Member] = {}
        for member in node.members:
            other = first.setdefault(member.key, member)
            if other is not member:
                message = (
                    f"the key `{short(member.key)}` stands twice in this object, first in row "
                    f"{self.row(other.key_start)}: Hjson refuses it, Python's json keeps the last"
                )
                pointer = join_pointer(here, member.key)
                self.note("duplicate-key", member.key_start, member.key_end, message, pointer)

    def step(self, pos: int, state: int) -> tuple[int, int]:
        """One step in the innermost container where the text is more than plain JSON, or wrong."""
        comma = pos - 1
        pos = self.gap(pos) if self.counts.get("syntax", 0) < MAX_FAILED else self.end
        character = self.peek(pos)
        top = self.stack[-1]
        in_object = top.kind == "object"
        if not character or (character == ("}" if in_object else "]") and not self.is_bare()):
            if state == _NEXT:
                why = "Hjson skips it, Python's json refuses it"
                self.note("trailing-comma", comma, comma + 1, f"a comma after the last entry: {why}")
            return self.next_comma(self.close(pos + 1)) if character else (self.end_of_text(), _AFTER)
        if self.substitute is not None and in_object:
            stop = self.past(PLACEHOLDER, pos)
            if stop > pos and self.peek(self.gap(stop)) != ":":  # members that the shell puts in
                self.tainted.append(top)
                return self.past(_COMMA.pattern, stop), _START
        if character == "]" or character == "}":
            return self.wrong_closer(pos, character, state)
        if state == _AFTER:
            if character == ",":
                return pos + 1, _NEXT
            if character == ":" and self.is_key_in_array():
                return self.leave_array()
            self.missing_comma(pos)
        elif character == ",":
            what = "two commas in a row" if state == _NEXT else "a comma before the first entry"
            self.fail(pos, pos + 1, f"{what}: one is too many")
            return pos + 1, state
        return self.member(pos) if in_object else self.item(pos)

    def next_comma(self, pos: int) -> tuple[int, int]:
        pos = self.gap(pos)
        return (pos + 1, _NEXT) if self.peek(pos) == "," else (pos, _AFTER)

    def is_key_in_array(self) -> bool:
        """Whether what was taken for the last item of an array is a key of the object around it."""
        if len(self.stack) < 2 or self.stack[-1].kind != "array" or self.stack[-2].kind != "object":
            return False
        last = self.stack[-1].items[-1]
        return last.kind == "string" and self.text[last.start] in "\"'"

    def leave_array(self) -> tuple[int, int]:
        array = self.stack[-1]
        key = array.items.pop()
        before = array.items[-1].end if array.items else array.start + 1
        self.fail(
            before - 1, before, f"the `[` of row {self.row(array.start)} is not closed before the next key"
        )
        self.close(before)
        return self.member(key.start)

    def missing_comma(self, pos: int) -> None:
        top = self.stack[-1]
        before = top.members[-1].node.end if top.kind == "object" else top.items[-1].end
        if self.cut == before:
            self.fail(before, pos, "a comma is missing here")
        else:
            message = "a comma is missing here: Hjson does without, Python's json refuses it"
            self.note("missing-comma", before, before, message)

    def end_of_text(self) -> int:
        """The text ends while something is open; close it all."""
        last = max(self.start + len(self.text[self.start : self.end].rstrip(" \t\r\n")), self.stack[0].start)
        if not self.is_bare():
            opener = self.unclosed()
            bracket = self.text[opener.start]
            message = f"the text ends before the `{bracket}` of row {self.row(opener.start)} is closed"
            self.fail(max(last - 1, self.start), last, message)
        top = self.stack[-1]
        for child in [member.node for member in top.members[-1:]] + top.items[-1:]:
            last = max(last, child.end)  # a value that is missing stands behind the blanks
        while self.stack:
            self.close(last)
        return self.end

    def unclosed(self) -> Node:
        """The container that most likely lacks its end: one with an entry indented no deeper than itself."""
        for looked, (_, node) in enumerate(walk(self.stack[0])):
            if looked == MAX_LOOKED:
                break
            for start in [member.key_start for member in node.members[1:]] or [
                item.start for item in node.items[1:]
            ]:
                if self.indent(start) <= self.indent(node.start) and self.row(start) > self.row(node.start):
                    return node
        return self.stack[-1]

    def indent(self, offset: int) -> int:
        line = self.source.line(self.row(offset))
        return len(line) - len(line.lstrip())

    def wrong_closer(self, pos: int, character: str, state: int) -> tuple[int, int]:
        """A `]` in an object or a `}` in an array (or in members without braces)."""
        kind = "object" if character == "}" else "array"
        least = 1 if self.braceless else 0
        depth = next((i for i in range(len(self.stack) - 1, least - 1, -1) if self.stack[i].kind == kind), -1)
        if depth < 0:
            self.fail(pos, pos + 1, f"a `{character}` that closes nothing")
            return pos + 1, state
        top = self.stack[-1]
        opened = f"the `{self.text[top.start]}` of row {self.row(top.start)}"
        self.fail(pos, pos + 1, f"this `{character}` comes before {opened} is closed")
        while len(self.stack) > depth + 1:
            self.close(pos)
        return self.next_comma(self.close(pos + 1))

    # --- entries ----------------------------------------------------------------------------------------

    def item(self, pos: int) -> tuple[int, int]:
        top = self.stack[-1]
        top.items.append(Node("unknown", pos, pos, UNKNOWN))
        self.in_child = True
        node, pos = self.value(pos)
        self.in_child = False
        top.items[-1] = node
        return self.after_value(node, pos)

    def member(self, pos: int) -> tuple[int, int]:
        """A key, a colon and a value."""
        top = self.stack[-1]
        start = pos
        noted = len(self.problems)
        key, stop, pos = self.key(pos)
        if key is None:
            return pos, _START
        top.members.append(Member(key, start, stop, Node("unknown", stop, stop, UNKNOWN)))
        self.in_child = True
        if len(self.problems) > noted:  # on the key, noted before it was known
            here = self.pointer()
            self.problems[noted:] = [problem._replace(pointer=here) for problem in self.problems[noted:]]
        pos = self.colon(key, stop, pos) if pos > start else pos
        if pos < 0:
            self.in_child = False
            return self.next_comma(-pos)
        node, pos = self.value(pos)
        self.in_child = False
        top.members[-1] = Member(key, start, stop, node)
        return self.after_value(node, pos)

    def colon(self, key: str, stop: int, pos: int) -> int:
        """Where the value after a key starts; where to read on, negative, when there is none."""
        pos = self.gap(pos)
        character = self.peek(pos)
        if character == ":":
            return self.gap(pos + 1)
        if character in ",}]":
            self.fail(stop - 1, stop, f"the key `{short(key)}` has no value")
            return -pos
        if character == "=":
            self.fail(pos, pos + 1, f"an equals sign after the key `{short(key)}`, where a colon belongs")
            return self.gap(pos + 1)
        self.fail(stop - 1, stop, f"a colon is missing after the key `{short(key)}`")
        return pos

    def after_value(self, node: Node, pos: int) -> tuple[int, int]:
        if self.stack[-1] is node:
            return pos, _START
        return self.next_comma(pos)

    def key(self, pos: int) -> tuple[str | None, int, int]:
        """The key at `pos`, the end of its span, and where to read on; None when there is none."""
        character = self.peek(pos)
        if character in ('"', "'"):
            node, stop = self.string(pos, character, is_key=True)
            if node.kind == "unknown":
                self.tainted.append(self.stack[-1])
                return self.text[pos:stop], stop, stop
            return node.value, stop, stop
        match = self.match(_KEY, pos)
        if match is None:
            return self.bad_key(pos)
        key = match[1].rstrip() if match[2] else match[1]
        return self.quoteless_key(pos, match[1], key), match.end(1), match.end()

    def quoteless_key(self, pos: int, raw: str, key: str) -> str:
        kind, why = "quoteless-key", "Hjson reads it, Python's json refuses it"
        if raw.startswith(TYPOGRAPHIC):
            kind, why = (
                "typographic-quotes",
                'typographic quotes are a part of the key to Hjson; JSON needs "',
            )
        elif raw.strip() != raw or raw.startswith(INVISIBLE):
            odd = next(character for character in raw if character.isspace() or character in INVISIBLE)
            kind, why = "odd-space", f"it has a character that only looks like a blank (U+{ord(odd):04X})"
        self.note(kind, pos, pos + len(raw), f"the key `{short(raw)}` has no quotes: {why}")
        if self.substitute is None or not re.search(PLACEHOLDER, key):
            return key
        expanded = self.expand(key)
        if expanded is UNKNOWN:
            self.tainted.append(self.stack[-1])
            return key
        return str(expanded)

    def bad_key(self, pos: int) -> tuple[str | None, int, int]:
        raw = self.text[pos : self.past(NEAR, pos)]
        match = re.match(r"[^{}\[\],:\"']*[^{}\[\],:\"'\s](?=\s*:)", raw)
        if match is not None:
            stop = pos + match.end()
            self.fail(pos, stop, f"the key `{short(match[0])}` has a blank in it and no quotes")
            return match[0], stop, stop
        if raw[0] == ":":
            self.fail(pos, pos + 1, "a colon with no key before it")
            return None, pos, pos + 1
        if raw[0] in "{[":
            self.fail(pos, pos + 1, f"`{raw[0]}` stands where a key should")
            return "", pos, pos  # the bracket is read as its value
        stop = self.past(r"[^{}\[\],\r\n]+", pos)
        found = self.text[pos:stop].rstrip()
        self.fail(pos, pos + len(found), f"{stray(found)} stands where a key and its value should")
        return None, pos, stop

    def value(self, pos: int) -> tuple[Node, int]:
        """The value at `pos`, and where to read on. Containers are opened, not read."""
        character = self.peek(pos)
        if character == "{" or character == "[":
            stop = self.past(_TEMPLATE, pos) if self.text.startswith("{{", pos, self.end) else pos
            if stop > pos:
                what = f"`{short(self.text[pos:stop])}` is a template's placeholder"
                self.note("placeholder", pos, stop, f"{what}: no loader reads it before it is filled in")
                if not self.tolerant:
                    raise StopReading
                return Node("unknown", pos, stop, UNKNOWN), stop
            node = Node("object" if character == "{" else "array", pos, pos + 1)
            self.stack.append(node)
            self.deepest = max(self.deepest, len(self.stack))
            self.in_child = False
            return node, pos + 1
        if not character or character in ",:}]":
            found = f"before `{character}`" if character else "before the end of the text"
            self.fail(pos, pos + len(character), f"a value is missing {found}")
            return Node("unknown", pos, pos, UNKNOWN), pos + 1 if character == ":" else pos
        if character == "'" and self.text.startswith("'''", pos, self.end):
            return self.multiline(pos)
        if character == '"' or character == "'":
            return self.string(pos, character)
        return self.word(pos)


def stray(text: str) -> str:
    """What text is called that does not belong where it stands."""
    if text.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return "a merge conflict's marker"
    if text.startswith("```"):
        return "a Markdown fence"
    return f"`{short(text)}`"
