"""Changes by pointer → edits of JSON text, in the file's own style.

What is not changed stays byte for byte. New members take indentation, quotes, colons, commas and line ends from what
stands around them; a moved value keeps its spelling; a comment goes only with the member whose row it ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dslint.documents.editing import CannotEdit, Draft, check_target, name_of
from dslint.documents.json import MAX_PROBLEMS, parse
from dslint.documents.tree import UNKNOWN, Document, Member, Node, Source, find, split_pointer, walk
from dslint.fixing.fix import Change, Edit

_GAP: Final = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_ROW_COMMENT: Final = re.compile(
    r"[ \t]*(?:#[^\r\n]*|//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*)?(?=[\r\n]|\Z)"
)
_BARE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def edits(document: Document, changes: Sequence[Change]) -> list[Edit]:
    """What to replace in the text to make the changes, one after the other.

    Raises:
        CannotEdit: the text has a syntax error, or a change does not fit it.
    """
    for problem in document.problems:
        if problem.kind == "syntax":
            row = document.source.position(problem.start).row
            raise CannotEdit(f"row {row} has a syntax error, which must be mended first: {problem.message}")
    sheet = _Sheet(document)
    for change in changes:
        sheet.make(change)
    return sheet.draft.edits()


class Span(NamedTuple):
    """An entry of a container: a member from its key on, or an item."""

    start: int
    end: int
    node: Node


class Moved(NamedTuple):
    """A value on its way: its text, the indentation of its row, and the comment that ends its row."""

    text: str
    indent: str
    comment: str

    def inline_comment(self) -> str:
        """The comment in a form that other text may follow."""
        words = re.sub(r"^\s*(?:#|//)", "", self.comment).replace("*/", "* /").strip()
        return self.comment if self.comment.lstrip().startswith("/*") or not words else f" /* {words} */"


class _Sheet:
    """The text under change, read anew after each change."""

    def __init__(self, document: Document) -> None:
        self.draft = Draft(document.source)
        self.path = document.source.path
        self.root = document.root
        self.start = document.root.start
        # What follows the root (a script's rest) keeps its length.
        self.rest = len(document.source.text) - document.root.end
        self.embedded = _is_embedded(document)
        self.newline = _newline(document.source.text)
        self.fresh = True

    @property
    def text(self) -> str:
        return self.draft.text

    def tree(self) -> Node:
        if not self.fresh:
            substitute = (lambda _: UNKNOWN) if self.embedded else None
            end = len(self.text) - self.rest
            self.root = parse(Source(self.path, self.text), self.start, end, substitute).root
            self.fresh = True
        return self.root

    def replace(self, start: int, end: int, content: str) -> None:
        if self.embedded and re.search(r"[$`'\\]", content):
            raise CannotEdit(f"`{content.strip()}` would not pass through the shell unchanged")
        self.draft.replace(start, end, content)
        self.fresh = False

    # --- the four changes -------------------------------------------------------------------------------------

    def make(self, change: Change) -> None:
        path = split_pointer(change.pointer)
        if change.op == "set":
            self.set(path, change.value)
            return
        if not path:
            raise CannotEdit("the config as a whole cannot be removed, renamed or moved")
        parent, index = self.entry(path)
        if change.op == "remove":
            self.remove(parent, index)
            return
        target = [*path[:-1], change.value] if change.op == "rename" else split_pointer(change.value)
        if target == path:
            return
        check_target(self.tree().plain(), path, target)
        if len(self.indexes(parent, path[-1])) > 1:
            raise CannotEdit(f"{name_of(path)} stands twice; which one is meant?")
        if target[:-1] == path[:-1]:
            member = parent.members[index]
            self.replace(member.key_start, member.key_end, _key_like(self.text, member, target[-1]))
        else:
            self.move(parent, index, target)

    def set(self, path: list[str], value: Any) -> None:
        node = find(self.tree(), _pointer(path))
        if node is not None:
            if node.start == node.end and node.kind == "unknown":
                raise CannotEdit(f"{name_of(path)} has no value in the text")
            if repr(node.plain()) != repr(value) or node.kind == "unknown":
                style = self.style_around(path)
                self.replace(node.start, node.end, self.render(value, style, _indent(self.text, node.start)))
            return
        self.insert(path, value)

    def move(self, parent: Node, index: int, target: list[str]) -> None:
        member = parent.members[index]
        node = member.node
        comment = ""
        tail = self.tail(parent, index)
        if tail.comment_end > tail.end and not self.text[tail.row_start : member.key_start].strip():
            comment = self.text[tail.end : tail.comment_end].rstrip()
        moved = Moved(self.text[node.start : node.end], _indent(self.text, member.key_start), comment)
        if _is_quoteless(self.text, node):
            moved = moved._replace(text=_dump(node.value))
        self.remove(parent, index)
        self.insert(target, moved)

    def entry(self, path: list[str]) -> tuple[Node, int]:
        """The container that an entry stands in, and which one it is."""
        parent = find(self.tree(), _pointer(path[:-1]))
        if parent is not None and parent.kind == "object":
            found = self.indexes(parent, path[-1])
            if found:
                return parent, found[-1]
        if (
            parent is not None
            and parent.kind == "array"
            and path[-1].isdecimal()
            and int(path[-1]) < len(parent.items)
        ):
            return parent, int(path[-1])
        raise CannotEdit(f"{name_of(path)} is not there")

    def indexes(self, parent: Node, key: str) -> list[int]:
        return [i for i, member in enumerate(parent.members) if member.key == key]

    # --- removing ---------------------------------------------------------------------------------------------

    def remove(self, parent: Node, index: int) -> None:
        """Take out an entry; of a key that stands twice, every one, as what counts is that the key is gone."""
        if parent.kind == "object":
            key = parent.members[index].key
            pointer = self.pointer_of(parent)
            for i in reversed(self.indexes(parent, key)):
                self.remove_one(self.again(pointer, parent), i)
            return
        self.remove_one(parent, index)

    def pointer_of(self, wanted: Node) -> str:
        return next(pointer for pointer, node in walk(self.tree()) if node is wanted)

    def again(self, pointer: str, old: Node) -> Node:
        """The container at a pointer after the text has changed."""
        return old if self.fresh else find(self.tree(), pointer) or old

    def remove_one(self, parent: Node, index: int) -> None:
        spans = _spans(parent)
        inner_start, inner_end = self.inside(parent)
        tail = self.tail(parent, index)
        start, end = spans[index].start, tail.end
        dropped = -1  # the comma before, when this was the last entry and no comma follows it
        if index == len(spans) - 1 and not tail.has_comma and index:
            dropped = self.comma_after(spans[index - 1].end)
        before = self.text[tail.row_start : start]
        alone = not before.strip(" \t")
        following = spans[index + 1].start if index + 1 < len(spans) else inner_end
        if alone and tail.row_end >= 0 and tail.row_start >= inner_start:
            start, end = self.without_blank_row(tail.row_start, tail.row_end, inner_start)
        elif index + 1 < len(spans) and not self.text[tail.end : following].strip(" \t"):
            end = following
        else:
            previous = spans[index - 1].end if index else inner_start
            if dropped >= 0 and not self.text[dropped + 1 : start].strip():
                start, dropped = dropped, -1
            elif not self.text[previous:start].strip(" \t\r\n,"):
                comma = self.comma_after(previous) if index else -1
                start = comma + 1 if comma >= 0 else previous
        left = self.text[inner_start:start] + self.text[end:inner_end]
        if len(spans) == 1 and not left.strip() and parent.end > inner_end:
            start, end = inner_start, inner_end
        self.replace(start, end, "")
        if dropped >= 0:
            self.replace(dropped, dropped + 1, "")

    def without_blank_row(self, start: int, end: int, least: int) -> tuple[int, int]:
        """Rows that go, with the blank row before them when it would part nothing any more."""
        following = self.text[end : _past_row(self.text, end)].strip()
        if following and following[0] not in "}]":
            return start, end
        before = _row_start(self.text, _before_newline(self.text, start))
        if least <= before < start and not self.text[before:start].strip():
            return before, end
        return start, end

    def tail(self, parent: Node, index: int) -> _Tail:
        span = _spans(parent)[index]
        comma = self.comma_after(span.end)
        end = comma + 1 if comma >= 0 else span.end
        match = _ROW_COMMENT.match(self.text, end, len(self.text) - self.rest)
        comment_end = match.end() if match else -1
        row_end = -1
        if match and match.end() < len(self.text):
            row_end = _past_newline(self.text, match.end())
        return _Tail(end, comma >= 0, comment_end, row_end, _row_start(self.text, span.start))

    def comma_after(self, pos: int) -> int:
        """Where the comma after an entry stands, or -1."""
        match = _GAP.match(self.text, pos, len(self.text) - self.rest)
        here = match.end() if match else pos
        return here if self.text[here : here + 1] == "," else -1

    def inside(self, node: Node) -> tuple[int, int]:
        """The span between a container's brackets, or the whole of a root without braces."""
        if self.text[node.start : node.start + 1] in ("{", "[") and node.end > node.start + 1:
            return node.start + 1, node.end - 1
        return node.start, node.end

    # --- inserting --------------------------------------------------------------------------------------------

    def insert(self, path: list[str], value: Any) -> None:
        """Put a new entry at a path, with the parents that are missing."""
        parent = self.tree()
        depth = 0
        while depth < len(path) - 1:
            child = (
                parent.get(path[depth]) if parent.kind == "object" else find(parent, _pointer([path[depth]]))
            )
            if child is None:
                break
            parent, depth = child, depth + 1
        if parent.kind == "array":
            if depth == len(path) - 1 and path[-1] in ("-", str(len(parent.items))):
                self.insert_entry(parent, None, value, path)
                return
        elif parent.kind == "object":
            for key in reversed(path[depth + 1 :]):
                value = _Wrapped(key, value)
            self.insert_entry(parent, path[depth], value, path)
            return
        where = name_of(path[:depth]) if depth else "the config"
        raise CannotEdit(f"{name_of(path)} cannot be set: {where} is no object")

    def insert_entry(self, parent: Node, key: str | None, value: Any, path: list[str]) -> None:
        spans = _spans(parent)
        style = self.style_of(parent)
        if not spans:
            self.insert_first(parent, key, value, style)
            return
        after = _place(parent, key)
        span = spans[after]
        last = after == len(spans) - 1
        comma = self.comma_after(span.end)
        quoteless = _is_quoteless(self.text, span.node)
        tail = self.tail(parent, after)
        own_row = style.rows and (last or tail.row_end >= 0) or quoteless
        if not own_row:
            entry = self.entry_text(key, value, style, "")
            if isinstance(value, Moved):
                entry += value.inline_comment()
            self.replace(span.end, span.end, f",{style.space}{entry}")
            return
        indent = style.indent
        entry = self.entry_text(key, value, style, indent)
        comment = value.comment if isinstance(value, Moved) else ""
        wants_comma = style.commas and (not last or comma >= 0)
        entry = f"{self.newline}{indent}{entry}{',' if wants_comma else ''}{comment}"
        inner_end = self.inside(parent)[1]
        at = tail.comment_end if 0 <= tail.comment_end <= inner_end else tail.end
        if at == tail.end and tail.comment_end > inner_end:
            at = inner_end
        if "\n" in self.text[span.end : tail.end] or "\r" in self.text[span.end : tail.end]:
            at = tail.end  # the comma stands in a row of its own
        if at > tail.end:
            at = tail.end + len(self.text[tail.end : at].rstrip())
        if comment and tail.comment_end < 0:
            entry += self.newline
        self.replace(at, at, entry)
        if comma < 0 and style.commas and not quoteless:
            self.replace(span.end, span.end, ",")

    def insert_first(self, parent: Node, key: str | None, value: Any, style: Style) -> None:
        start, end = self.inside(parent)
        if start == parent.start:  # no text at all
            self.replace(start, end, f"{{{self.entry_text(key, value, style, '')}}}")
            return
        inner = self.text[start:end]
        if not style.rows:
            entry = self.entry_text(key, value, style, "")
            if inner.strip():
                raise CannotEdit("there is a comment in the empty object and no row for a member")
            pad = style.pad
            self.replace(start, end, f"{pad}{entry}{pad}")
            return
        closing = _indent(self.text, parent.start)
        entry = self.entry_text(key, value, style, style.indent)
        if isinstance(value, Moved):
            entry += value.comment
        kept = inner.rstrip()
        self.replace(start, end, f"{kept}{self.newline}{style.indent}{entry}{self.newline}{closing}")

    def entry_text(self, key: str | None, value: Any, style: Style, indent: str) -> str:
        rendered = self.render(value, style, indent)
        return rendered if key is None else f"{style.key(key)}{style.colon}{rendered}"

    def render(self, value: Any, style: Style, indent: str) -> str:
        """The text of a value; rows after its first are indented from `indent` on."""
        if isinstance(value, Moved):
            return _reindented(value, indent)
        if isinstance(value, _Wrapped):
            return self.render_parent(value, style, indent)
        if isinstance(value, dict) and value:
            deeper = indent + style.unit
            entries = [
                f"{style.key(str(k))}{style.colon}{self.render(v, style, deeper)}" for k, v in value.items()
            ]
            if style.blocks:
                rows = f",{self.newline}{deeper}".join(entries)
                return f"{{{self.newline}{deeper}{rows}{self.newline}{indent}}}"
            return f"{{{style.pad}{f',{style.space}'.join(entries)}{style.pad}}}"
        if isinstance(value, list):
            return f"[{f',{style.space}'.join(self.render(item, style, indent) for item in value)}]"
        return _dump(value, style.quote if style.quote == "'" else '"')

    def render_parent(self, made: _Wrapped, style: Style, indent: str) -> str:
        deeper = indent + style.unit
        entry = f"{style.key(made.key)}{style.colon}{self.render(made.value, style, deeper)}"
        moved = made.value if isinstance(made.value, Moved) else None
        if style.blocks:
            entry += moved.comment if moved else ""
            return f"{{{self.newline}{deeper}{entry}{self.newline}{indent}}}"
        return f"{{{style.pad}{entry}{moved.inline_comment() if moved else ''}{style.pad}}}"

    # --- style ------------------------------------------------------------------------------------------------

    def style_around(self, path: list[str]) -> Style:
        parent = find(self.tree(), _pointer(path[:-1])) if path else None
        return self.style_of(parent if parent is not None else self.tree())

    def style_of(self, parent: Node) -> Style:
        """How entries of this container are written, by its own entries or else by those of the whole file."""
        root = self.tree()
        text = self.text
        spans = _spans(parent)
        unit = self.unit()
        rows = self.has_rows(parent)
        own = _indent(text, parent.start)
        indent = own + unit
        if rows and spans:
            indent = next((_indent(text, s.start) for s in spans if _starts_row(text, s.start)), indent)
        sample = next(
            (m for m in [*reversed(parent.members), *_members(root)] if m.node.start > m.key_end), None
        )
        colon = text[sample.key_end : sample.node.start] if sample else ": "
        if colon.strip(" \t") != ":":
            colon = ": "
        gaps = [text[a.end : b.start] for a, b in zip(spans, spans[1:], strict=False)]
        space = next((gap[1:] for gap in gaps if gap[:1] == "," and not gap[1:].strip(" ")), None)
        if space is None:
            space = "" if colon == ":" and not rows else " "
        start, end = self.inside(parent)
        pad = (
            " "
            if spans and not rows and text[start : start + 1] == " " and text[end - 1 : end] == " "
            else ""
        )
        if len(spans) > 1:
            commas = any(self.comma_after(span.end) >= 0 for span in spans[:-1])
        else:
            commas = not self.is_commaless()
        blocks = rows and self.has_blocks(parent)
        return Style(rows, blocks, indent, unit, colon, space, pad, _quote(text, sample), commas)

    def has_rows(self, node: Node) -> bool:
        """Whether entries of this container have rows of their own."""
        start, end = self.inside(node)
        spans = _spans(node)
        if spans and start == node.start:  # members without braces
            return True
        if len(spans) > 1:
            return any(
                _has_newline(self.text[a.end : b.start]) for a, b in zip(spans, spans[1:], strict=False)
            )
        if _has_newline(self.text[start:end]):
            return not spans or _has_newline(self.text[start : spans[0].start])
        if spans or node.kind == "array" or node is self.tree():
            return False
        return self.has_rows(self.tree()) and self.has_blocks(self.tree())

    def has_blocks(self, parent: Node) -> bool:
        """Whether objects below are written over several rows: as the siblings are, else as the file's others."""
        for scope in ([m.node for m in parent.members], [node for _, node in walk(self.tree())][1:]):
            objects = [node for node in scope if node.kind == "object" and node.members]
            if objects:
                return any(_has_newline(self.text[node.start : node.end]) for node in objects)
        return True

    def unit(self) -> str:
        """What one level of indentation is."""
        for _, node in walk(self.tree()):
            outer = _indent(self.text, node.start)
            for span in _spans(node):
                if _starts_row(self.text, span.start) and _row_start(self.text, span.start) > node.start:
                    inner = _indent(self.text, span.start)
                    if inner.startswith(outer) and len(inner) > len(outer):
                        return inner[len(outer) :]
        return "  "

    def is_commaless(self) -> bool:
        """Whether the file does without commas altogether."""
        pairs = [
            pair
            for _, node in walk(self.tree())
            for pair in zip(_spans(node), _spans(node)[1:], strict=False)
        ]
        bare = self.inside(self.tree())[0] == self.tree().start
        return (bool(pairs) or bare) and not any(self.comma_after(a.end) >= 0 for a, _ in pairs)


class _Tail(NamedTuple):
    """What follows an entry in its row. `row_end` is past the line end, -1 when other text stands there."""

    end: int  # past the comma, if there is one
    has_comma: bool
    comment_end: int
    row_end: int
    row_start: int


class _Wrapped(NamedTuple):
    """An object with one member, made for a missing parent."""

    key: str
    value: Any


class Style(NamedTuple):
    """How a container's entries are written."""

    rows: bool  # a row for each entry
    blocks: bool  # new objects over several rows
    indent: str  # before each entry, when they have rows
    unit: str
    colon: str
    space: str  # after a comma in a row
    pad: str  # inside of the brackets in a row
    quote: str  # of keys: ", ' or none
    commas: bool

    def key(self, key: str) -> str:
        if not self.quote and _BARE_KEY.fullmatch(key):
            return key
        return _dump(key, self.quote or '"')


def strict_json(document: Document, drop_comments: bool = False) -> list[Edit]:
    """What to replace so that Python's json reads what hjson reads now.

    Comments have no place in strict JSON: they go only when `drop_comments` says so, and are left alone otherwise.

    Raises:
        CannotEdit: neither loader reads the text, or it has a value that JSON cannot write.
    """
    text = document.source.text
    draft: list[Edit] = []
    counts: dict[str, int] = {}
    for problem in document.problems:
        counts[problem.kind] = counts.get(problem.kind, 0) + 1
        if problem.kind in ("syntax", "placeholder") or counts[problem.kind] >= MAX_PROBLEMS:
            raise CannotEdit(f"{document.source.path} cannot be made strict JSON: {problem.message}")
        span = (problem.start, problem.end)
        if problem.kind in ("trailing-comma", "bom"):
            draft.append(Edit(document.source, *span, ""))
        elif problem.kind == "missing-comma":
            draft.append(Edit(document.source, problem.start, problem.start, ","))
        elif problem.kind == "comment" and drop_comments:
            draft.append(Edit(document.source, *_comment_span(text, *span), ""))
        elif problem.kind == "missing-braces":
            draft.append(Edit(document.source, problem.start, problem.start, "{"))
            draft.append(Edit(document.source, problem.end, problem.end, "}"))
        elif problem.kind == "empty":
            draft.append(Edit(document.source, problem.end, problem.end, "{}"))
    for _, node in walk(document.root):
        draft += _strict_scalar(document.source, node)
        for member in node.members:
            written = text[member.key_start : member.key_end]
            if not _is_strict_string(written):
                draft.append(Edit(document.source, member.key_start, member.key_end, _dump(member.key)))
    return sorted(draft, key=lambda edit: (edit.start, edit.end))


def without_duplicates(document: Document) -> list[Edit]:
    """What to remove so that each key stands once in its object: the last one stays, which is what json reads.

    Raises:
        CannotEdit: the text has a syntax error.
    """
    edits(document, [])
    sheet = _Sheet(document)
    pointers = [pointer for pointer, node in walk(document.root) if node.kind == "object"]
    for pointer in pointers:
        while True:
            node = find(sheet.tree(), pointer)
            if node is None:
                break
            keys = [member.key for member in node.members]
            extra = next((i for i, key in enumerate(keys) if key in keys[i + 1 :]), None)
            if extra is None:
                break
            sheet.remove_one(node, extra)
    return sheet.draft.edits()


def _strict_scalar(source: Source, node: Node) -> list[Edit]:
    written = source.text[node.start : node.end]
    if node.kind == "string":
        strict = _is_strict_string(written)
    elif node.kind == "number":
        strict = written.isascii()
    else:
        strict = True
    return [] if strict else [Edit(source, node.start, node.end, _dump(node.value))]


def _is_strict_string(written: str) -> bool:
    import json

    try:
        return isinstance(json.loads(written), str)
    except ValueError:
        return False


def _comment_span(text: str, start: int, end: int) -> tuple[int, int]:
    """A comment with the blanks before it, or with its whole row when it stands alone there."""
    row = _row_start(text, start)
    while start > row and text[start - 1] in " \t":
        start -= 1
    after = end
    while after < len(text) and text[after] in " \t":
        after += 1
    if start == row and (after == len(text) or text[after] in "\r\n"):
        return row, _past_newline(text, after)
    return start, end


def _place(parent: Node, key: str | None) -> int:
    """After which entry a new one goes: the last whose key starts with the same word, else the last of all."""
    if key is not None:
        word = key.partition("_")[0]
        same = [i for i, member in enumerate(parent.members) if member.key.partition("_")[0] == word]
        if same:
            return same[-1]
    return len(_spans(parent)) - 1


def _spans(node: Node) -> list[Span]:
    if node.kind == "object":
        return [Span(member.key_start, member.node.end, member.node) for member in node.members]
    return [Span(item.start, item.end, item) for item in node.items]


def _members(root: Node) -> list[Member]:
    return [member for _, node in walk(root) for member in node.members]


def _key_like(text: str, member: Member, key: str) -> str:
    """A key in the quotes of another."""
    quote = _quote(text, member)
    return key if not quote and _BARE_KEY.fullmatch(key) else _dump(key, quote or '"')


def _quote(text: str, member: Member | None) -> str:
    first = text[member.key_start : member.key_start + 1] if member else '"'
    return first if first in ('"', "'") else ""


def _dump(value: Any, quote: str = '"') -> str:
    """A scalar as JSON writes it.

    Raises:
        CannotEdit: JSON has no way to write it.
    """
    # Imported here: a run without edits needs no encoder.
    import json

    if value is UNKNOWN or (isinstance(value, float) and value - value != 0):
        raise CannotEdit(f"{value!r} cannot be written in JSON")
    written = json.dumps(value, ensure_ascii=False)
    if quote == "'" and isinstance(value, str):
        return "'" + written[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    return written


def _reindented(moved: Moved, indent: str) -> str:
    """A moved value with the rows after its first shifted to their new depth; ''' texts lose no blanks by it."""
    if "'''" in moved.text or moved.indent == indent:
        return moved.text

    def shift(match: re.Match[str]) -> str:
        end, blanks = match.groups()
        return end + indent + blanks[len(moved.indent) :] if blanks.startswith(moved.indent) else match[0]

    return re.sub(r"(\r\n|\r|\n)([ \t]*)(?=[^ \t\r\n])", shift, moved.text)


def _is_quoteless(text: str, node: Node) -> bool:
    """Whether a value is a text that runs to the end of its row."""
    return node.kind == "string" and text[node.start : node.start + 1] not in ('"', "'")


def _is_embedded(document: Document) -> bool:
    """Whether the config stands inside of another text, such as a script."""
    text = document.source.text
    before = _GAP.match(text, 1 if text.startswith("\ufeff") else 0)
    after = _GAP.match(text, document.root.end)
    return (before is not None and before.end() < document.root.start) or (
        after is not None and after.end() < len(text)
    )


def _pointer(path: list[str]) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


def _newline(text: str) -> str:
    match = re.search(r"\r\n|\r|\n", text)
    return match[0] if match else "\n"


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def _row_start(text: str, pos: int) -> int:
    return max(text.rfind("\n", 0, pos), text.rfind("\r", 0, pos)) + 1


def _past_newline(text: str, pos: int) -> int:
    return pos + 2 if text.startswith("\r\n", pos) else min(pos + 1, len(text))


def _before_newline(text: str, row_start: int) -> int:
    """The end of the row before the one that starts here."""
    return max(row_start - 2 if text[:row_start].endswith("\r\n") else row_start - 1, 0)


def _past_row(text: str, pos: int) -> int:
    match = re.compile(r"[^\r\n]*").match(text, pos)
    return match.end() if match else pos


def _starts_row(text: str, pos: int) -> bool:
    return not text[_row_start(text, pos) : pos].strip("\ufeff \t")


def _indent(text: str, pos: int) -> str:
    """The blanks that the row of `pos` starts with."""
    match = re.compile(r"[ \t]*").match(text, _row_start(text, pos))
    return match[0] if match else ""
