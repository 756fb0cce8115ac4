"""Changes of a config by pointer → edits of its text in its own style; and the same changes on plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from dslint.documents.tree import Document, Source, Syntax, split_pointer
from dslint.fixing.fix import Change, Edit

_EDITORS: Final[dict[Syntax, str]] = {
    "json": "dslint.documents.json_editing",
    "yaml": "dslint.documents.yaml_editing",
    "python": "dslint.documents.python_editing",
}


class CannotEdit(Exception):
    """A change that the text does not allow; the message is a sentence that says why."""


def edits(document: Document, changes: Sequence[Change]) -> list[Edit]:
    """What to replace in the document's text to make the changes, one after the other.

    Raises:
        CannotEdit: a change does not fit the content, or the text has no place for it.
    """
    if document.derived:
        raise CannotEdit(
            f"{document.source.path} only makes the config up from other keys; it has no place to edit"
        )
    editor: Callable[[Document, Sequence[Change]], list[Edit]] = import_module(
        _EDITORS[document.syntax]
    ).edits
    return editor(document, changes)


def strict_json(document: Document, comments: bool = False) -> list[Edit]:
    """What to replace so that Python's json reads what hjson reads now; see `json_strict.strict_json`."""
    # Imported here: few runs meet a text that needs it.
    from dslint.documents.json_strict import strict_json

    return strict_json(document, comments)


def without_duplicates(document: Document) -> list[Edit]:
    """What to remove so that each key stands once in its object; see `json_strict.without_duplicates`."""
    from dslint.documents.json_strict import without_duplicates

    return without_duplicates(document)


def changed(plain: Any, changes: Sequence[Change]) -> Any:
    """The plain data after the changes; the data given stays as it is.

    Raises:
        CannotEdit: as `edits` does, for what shows in the content.
    """
    for change in changes:
        plain = _changed(plain, change)
    return plain


def _changed(plain: Any, change: Change) -> Any:
    path = split_pointer(change.pointer)
    if change.op == "set":
        return _with(plain, path, change.value, change.pointer)
    value = _at(plain, path, change.pointer)
    if not path:
        raise CannotEdit("the config as a whole cannot be removed, renamed or moved")
    if change.op == "remove":
        return _without(plain, path)
    target = [*path[:-1], change.value] if change.op == "rename" else split_pointer(change.value)
    check_target(plain, path, target)
    if target[:-1] == path[:-1]:
        return _renamed(plain, path, target[-1])
    return _with(_without(plain, path), target, value, change.value)


def check_target(plain: Any, path: list[str], target: list[str]) -> None:
    """A member can go to a place that is free, and not into itself."""
    if target == path:
        return
    if not target or target[: len(path)] == path:
        raise CannotEdit(f"{name_of(path)} cannot be moved into itself")
    if not isinstance(_at(plain, path[:-1], ""), dict):
        raise CannotEdit(f"{name_of(path)} is an item of a list, which has no key")
    try:
        _at(plain, target, "")
    except CannotEdit:
        return
    raise CannotEdit(f"{name_of(target)} is there already")


def name_of(path: list[str]) -> str:
    """A pointer as messages show it: `fp16.enabled`."""
    return f"`{'.'.join(path)}`"


def _at(plain: Any, path: list[str], pointer: str) -> Any:
    for i, key in enumerate(path):
        if isinstance(plain, dict) and key in plain:
            plain = plain[key]
        elif isinstance(plain, list) and key.isdecimal() and int(key) < len(plain):
            plain = plain[int(key)]
        else:
            raise CannotEdit(f"{name_of(path[: i + 1])} is not there")
    return plain


def _with(plain: Any, path: list[str], value: Any, pointer: str, depth: int = 0) -> Any:
    if depth == len(path):
        return value
    key = path[depth]
    if isinstance(plain, dict):
        inner = plain.get(key, {} if depth + 1 < len(path) else None)
        return {**plain, key: _with(inner, path, value, pointer, depth + 1)}
    if isinstance(plain, list):
        index = len(plain) if key == "-" else int(key) if key.isdecimal() else len(plain) + 1
        if index < len(plain):
            new = _with(plain[index], path, value, pointer, depth + 1)
            return [*plain[:index], new, *plain[index + 1 :]]
        if index == len(plain) and depth + 1 == len(path):
            return [*plain, value]
    raise CannotEdit(
        f"{name_of(path)} cannot be set: {name_of(path[:depth]) if depth else 'the config'} is no object"
    )


def _without(plain: Any, path: list[str]) -> Any:
    key = path[0]
    if isinstance(plain, list):
        index = int(key)
        rest = [_without(plain[index], path[1:])] if len(path) > 1 else []
        return [*plain[:index], *rest, *plain[index + 1 :]]
    if len(path) > 1:
        return {**plain, key: _without(plain[key], path[1:])}
    return {k: v for k, v in plain.items() if k != key}


def _renamed(plain: Any, path: list[str], name: str) -> Any:
    key = path[0]
    if isinstance(plain, list):
        index = int(key)
        return [*plain[:index], _renamed(plain[index], path[1:], name), *plain[index + 1 :]]
    if len(path) > 1:
        return {**plain, key: _renamed(plain[key], path[1:], name)}
    return {name if k == key else k: v for k, v in plain.items()}


class Draft:
    """A text under change that remembers which of its characters are old.

    So changes that are made one after the other come out as edits of the old text.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        # Pieces in order: (start, end) of the old text, or new text with start = -1.
        self._pieces: list[tuple[int, int, str]] = [(0, len(source.text), "")]

    def replace(self, start: int, end: int, content: str) -> None:
        """Replace characters of the text as it is now."""
        if self.text[start:end] == content:
            return
        self.text = self.text[:start] + content + self.text[end:]
        before, rest = _split(self._pieces, start)
        _, after = _split(rest, end - start)
        self._pieces = before + ([(-1, -1, content)] if content else []) + after

    def edits(self) -> list[Edit]:
        """From the old text to the text as it is now: in order, none touching another."""
        result: list[Edit] = []
        pos = 0
        content = ""
        for start, end, text in [*self._pieces, (len(self.source.text), len(self.source.text), "")]:
            if start < 0:
                content += text
                continue
            if start > pos or content:
                result.append(Edit(self.source, pos, start, content))
            pos, content = end, ""
        return result


def _split(
    pieces: list[tuple[int, int, str]], length: int
) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]:
    """The pieces of the first `length` characters, and the rest."""
    for i, (start, end, text) in enumerate(pieces):
        size = len(text) if start < 0 else end - start
        if length < size:
            if length == 0:
                return pieces[:i], pieces[i:]
            if start < 0:
                return [*pieces[:i], (-1, -1, text[:length])], [(-1, -1, text[length:]), *pieces[i + 1 :]]
            return [*pieces[:i], (start, start + length, "")], [(start + length, end, ""), *pieces[i + 1 :]]
        length -= size
    return list(pieces), []
