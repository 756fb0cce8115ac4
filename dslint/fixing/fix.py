"""What a rule proposes: changes to a config by pointer, or edits to a script by offset."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from dslint.documents.tree import Source

Safety = Literal["safe", "unsafe"]


class Edit(NamedTuple):
    """Replace the characters `start:end` of a source's text by `content`."""

    source: Source
    start: int
    end: int
    content: str


class Change(NamedTuple):
    """One change of a config's content.

    - set: the value at `pointer` becomes `value`; missing parents are made.
    - remove: the member or item at `pointer` goes, with the comma and the line that it leaves empty.
    - rename: the key at `pointer` becomes `value` (a str), its value and place stay.
    - move: the member at `pointer` goes to the pointer `value`; missing parents are made, and a parent that is
      left empty stays.
    """

    op: Literal["set", "remove", "rename", "move"]
    pointer: str
    value: Any = None


class Fix(NamedTuple):
    """How to mend a finding. `changes` are for the finding's own document; `edits` for any file.

    Safe: the engine does today what it would do after, or it refuses the file today and the intent is plain.
    Unsafe: training changes.
    """

    safety: Safety
    message: str
    changes: tuple[Change, ...] = ()
    edits: tuple[Edit, ...] = ()
