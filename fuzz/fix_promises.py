"""What holds of every fix: it parses, it changes what it names and nothing else, and a second time changes nothing."""

from __future__ import annotations

import difflib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from dslint.documents import json
from dslint.documents.tree import Source, join_pointer
from dslint.fixing.mend import ROUNDS, Mended, mend
from dslint.launches.discover import File, kind_of
from dslint.launches.launch import Framework
from dslint.linting import Context, Outcome, lint
from dslint.reports import FORMATS, Run, render
from dslint.rules import book
from dslint.rules.finding import Finding
from dslint.workspace import Workspace

# A folder of its own: nothing of this repository is taken for the surroundings of a config.
FOLDER: Final = Path(tempfile.mkdtemp(prefix="dslint-fuzz-"))
# Beside what a report is made of by itself, nothing in it may move a terminal's cursor or change its colours.
ALLOWED: Final = "\n\t\u200c\u200d"


class Case(NamedTuple):
    """A text with what is known of the launch that it stands for."""

    filename: str
    text: str
    release: str = "0.19.8"
    framework: Framework | None = None


class Fixed(NamedTuple):
    """A case's text after all fixes, and how it came to be."""

    case: Case
    text: str
    mended: Mended
    before: Outcome


@cache
def rules() -> tuple[book.Rule, ...]:
    return book.load()


def fixed(case: Case) -> Fixed:
    path = str(FOLDER / case.filename)
    file = File(path, path, kind_of(case.filename) or "json", True)
    context = Context(rules(), case.release, case.framework)
    workspace = Workspace({path: Source(path, case.text)})
    outcomes: list[Outcome] = []

    def linted(changed: Workspace) -> Outcome:
        outcome = lint([file], context, changed)
        outcomes.append(outcome)
        return outcome

    mended = mend(workspace, linted, lambda finding: finding.fix is not None)
    source = mended.texts.get(path)
    return Fixed(case, case.text if source is None else source.text, mended, outcomes[0])


def check(case: Case) -> Fixed:
    """Fixes a case, and raises AssertionError where a promise is broken."""
    once = fixed(case)
    check_places(once.before)
    check_places(once.mended.outcome)
    if once.text != case.text:
        again = fixed(case._replace(text=once.text))
        assert again.text == once.text, "a second run changes it again"
        check_lines(once)
        if kind_of(case.filename) == "json":
            check_parses(once)
            check_content(once)
    return once


def check_places(outcome: Outcome) -> None:
    for finding in outcome.findings:
        places = [finding.place, *(related.place for related in finding.related)]
        for place in places:
            assert 0 <= place.start <= place.end <= len(place.source.text), f"{finding.name} lies outside"


def check_reports(fixed: Fixed) -> None:
    """Every format can be rendered; those for people hold nothing that a terminal obeys."""
    run = Run(releases=[fixed.case.release], checked=1, directory=str(FOLDER))
    for name in FORMATS:
        text = render(name, fixed.before.findings, run)
        odd = [char for char in text if not char.isprintable() and char not in ALLOWED]
        assert not odd, f"{name} prints {odd[0]!r} raw"
        text.encode("utf-8")


def check_parses(fixed: Fixed) -> None:
    """Each loader that read the old text reads the new one."""
    old, new = refused_by(fixed.case.text), refused_by(fixed.text)
    assert new <= old, f"{' and '.join(sorted(new - old))} no longer reads it"


def refused_by(text: str) -> set[str]:
    return {loader for p in json.parse(Source("x.json", text)).problems for loader in p.refused_by}


def check_content(fixed: Fixed) -> None:
    """The content differs at pointers that some fix names, and at no other."""
    if fixed.mended.applied and any(f.fix and f.fix.edits for f in fixed.mended.applied):
        # A fix by edits mends the text itself (a comment, a stray comma): its content had no reading before.
        return
    named = {pointer for finding in fixed.mended.applied for pointer in named_by(finding)}
    old = json.parse(Source("x.json", fixed.case.text)).root.plain()
    new = json.parse(Source("x.json", fixed.text)).root.plain()
    for pointer in differing(old, new):
        covered = any(pointer == name or pointer.startswith(f"{name}/") for name in named)
        assert covered, f"{pointer or 'the whole'} differs, and the fixes name {sorted(named)}"


def named_by(finding: Finding) -> Iterator[str]:
    for change in finding.fix.changes if finding.fix else ():
        yield change.pointer
        if change.op == "move":
            yield str(change.value)
        if change.op == "rename":
            yield join_pointer(change.pointer.rpartition("/")[0], change.value)


COMMENT: Final = re.compile(r"(?://|#)[^\"]*$")
MISSING: Final = object()


def differing(old: Any, new: Any, pointer: str = "") -> Iterator[str]:
    """The pointers of what is not the same, as far down as can be told. A key that is added alone is told by its leaves."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from differing(old.get(key, MISSING), new.get(key, MISSING), join_pointer(pointer, key))
    elif old is MISSING and isinstance(new, dict) and new:
        for key, value in new.items():
            yield from differing(MISSING, value, join_pointer(pointer, key))
    elif new is MISSING and isinstance(old, dict) and old:
        for key, value in old.items():
            yield from differing(value, MISSING, join_pointer(pointer, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differing(left, right, join_pointer(pointer, index))
    elif old is not new and repr(old) != repr(new):
        yield pointer


def check_lines(fixed: Fixed) -> None:
    """Rows that no fix touches are the same bytes: of each row that changed, a fix names a word."""
    if any(f.fix and f.fix.edits for f in fixed.mended.applied):
        return
    words = {word for finding in fixed.mended.applied for word in words_of(finding)}
    old, new = (text.splitlines(keepends=True) for text in (fixed.case.text, fixed.text))
    if max(len(old), len(new)) > ROUNDS * 500:
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            touched = "".join(old[i1:i2] + new[j1:j2])
            named = any(word in touched for word in words)
            # A row that a moved block has passed by stands elsewhere, and is the same.
            gone, come = (
                Counter(bare(old[i1:i2])) - Counter(bare(new)),
                Counter(bare(new[j1:j2])) - Counter(bare(old)),
            )
            assert named or not (gone or come), f"an untouched row changed: {touched!r}"


def bare(rows: Sequence[str]) -> list[str]:
    """Rows without what one beside a removed or added row may gain or lose: its comma, its end, its block's bracket,
    and the comment behind that.
    """
    plain = (COMMENT.sub("", row) for row in rows)
    return [text for row in plain if (text := row.rstrip("\r\n\t ,{}[]"))]


def words_of(finding: Finding) -> Iterator[str]:
    for pointer in named_by(finding):
        for word in pointer.split("/")[1:]:
            yield word.replace("~1", "/").replace("~0", "~")
