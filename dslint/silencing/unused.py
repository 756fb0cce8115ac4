"""Ignores that do nothing, as findings with their fix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from dslint.documents.tree import Place
from dslint.fixing.fix import Change, Edit, Fix
from dslint.rules.book import DOCS_URL
from dslint.rules.finding import IGNORE_RULES, Finding
from dslint.silencing.comments import Comment, row_end, row_start, stands_alone
from dslint.silencing.ignores import Ignore, Name, key_pointer
from dslint.silencing.silence import UnusedIgnore

UNUSED, INVALID = IGNORE_RULES

WHY_UNUSED: Final = "An ignore that outlives its finding hides the next one that comes to its place."
WHY_INVALID: Final = "An ignore counts only when it names rules that exist, so that it hides nothing else."


def reported(unused: Iterable[UnusedIgnore], known: Collection[str] = ()) -> list[Finding]:
    """A warning for each ignore that does nothing. `known` names are what a wrong one may have meant."""
    return [finding for each in unused for finding in findings_of(each, known)]


def findings_of(each: UnusedIgnore, known: Collection[str]) -> Iterator[Finding]:
    ignore = each.ignore
    if not ignore.names:
        message = "this ignore names no rule; write ignore[NAME] with the rule's name or code"
        yield finding(INVALID, message, WHY_INVALID, ignore, ignore.start, ignore.end)
    for name in each.unknown:
        message = f"`{name.text}` is no rule{meant(name.text, known)}"
        yield finding(INVALID, message, WHY_INVALID, ignore, name.start, name.end)
    if each.names:
        listed = ", ".join(f"`{name.text}`" for name in each.names)
        start, end = (
            (each.names[0].start, each.names[-1].end) if ignore.comment else (ignore.start, ignore.end)
        )
        yield finding(
            UNUSED,
            f"nothing here is silenced by ignoring {listed}",
            WHY_UNUSED,
            ignore,
            start,
            end,
            removal(each),
        )


def finding(
    rule: tuple[str, str],
    message: str,
    why: str,
    ignore: Ignore,
    start: int,
    end: int,
    fix: Fix | None = None,
) -> Finding:
    code, name = rule
    pointer = None if ignore.document is None else key_pointer(ignore)
    return Finding(
        code=code,
        name=name,
        severity="warning",
        message=message,
        place=Place(ignore.source, start, end, pointer),
        why=why,
        url=DOCS_URL.format(name=name),
        fix=fix,
        document=ignore.document,
    )


def meant(name: str, known: Collection[str]) -> str:
    # Imported here: only mistakes need it.
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else ""


def removal(each: UnusedIgnore) -> Fix | None:
    """Takes out the names that do nothing, and with the last one the ignore."""
    ignore = each.ignore
    gone = {name.text for name in each.names}
    left = [name for name in ignore.names if name.text not in gone]
    message = "remove the ignore" if not left else "remove " + ", ".join(f"`{name}`" for name in sorted(gone))
    if ignore.document is not None:
        change = (
            Change("set", key_pointer(ignore), rewritten(left, ignore))
            if left
            else Change("remove", key_pointer(ignore))
        )
        return None if ignore.document.derived else Fix("safe", message, changes=(change,))
    assert ignore.comment is not None
    if not ignore.comment.removable:
        return None
    if left:
        inside = Edit(
            ignore.source, ignore.names[0].start, ignore.names[-1].end, ", ".join(name.text for name in left)
        )
        return Fix("safe", message, edits=(inside,))
    return Fix("safe", message, edits=(without(ignore, ignore.comment),))


def rewritten(names: Iterable[Name], ignore: Ignore) -> str:
    return f"ignore[{', '.join(name.text for name in names)}] {ignore.reason}".strip()


def without(ignore: Ignore, comment: Comment) -> Edit:
    """Deletes an ignore: with its comment when that says no more, with its row when that holds no more."""
    source = ignore.source
    text = source.text
    before = text[comment.inner_start : ignore.start].strip("*! \t\r\n#/")
    after = text[ignore.end : comment.inner_end].strip("* \t\r\n")
    if before or after:
        start = ignore.start
        if not after:
            start = len(text[: ignore.start].rstrip(" \t;,"))
        return Edit(source, start, ignore.end, "")
    if not stands_alone(source, comment):
        start = comment.start
        while start > 0 and text[start - 1] in " \t":
            start -= 1
        return Edit(source, start, comment.end, "")
    start, end = row_start(source, comment.start), row_end(source, comment.end)
    if end < len(text):
        end += 2 if text.startswith("\r\n", end) else 1
    if text.startswith("\ufeff", start):
        start += 1
    return Edit(source, start, end, "")
