"""A baseline: the findings that a repository had when it began, so that only new ones are reported.

An entry is a file, a rule and a pointer with a count. Rows are no part of it, so lines may move; where there
is no pointer (in scripts) a hash of the row's words stands for it. File names start from its folder.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from dslint.reports.fingerprint import spot
from dslint.reports.order import ordered
from dslint.rules.finding import Finding

VERSION: Final = 1


class BaselineError(Exception):
    """A baseline that cannot be read or written: one sentence that names the file and what to do."""


class Entry(NamedTuple):
    """What is known: a rule by name, at a pointer or `line:` hash, in a file."""

    file: str
    rule: str
    place: str


class Baseline(NamedTuple):
    """Entries with how often each is known; `path` is the file's, as the user gave it."""

    path: str
    entries: Counter[Entry]


class Baselined(NamedTuple):
    """What is new, what is known, and the entries that were not met, with how often.

    Entries of files that the run did not read are among these too.
    """

    new: list[Finding]
    known: list[Finding]
    gone: Counter[Entry]


def apply(findings: Sequence[Finding], baseline: Baseline, directory: str) -> Baselined:
    """Takes away what is known; of like findings, the first. Filenames are relative to `directory`."""
    left = Counter(baseline.entries)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in ordered(findings):
        entry = entry_of(finding, baseline.path, directory)
        if left[entry] > 0:
            left[entry] -= 1
            known.append(finding)
        else:
            new.append(finding)
    return Baselined(new, known, +left)


def entry_of(finding: Finding, path: str, directory: str) -> Entry:
    folder = os.path.dirname(os.path.join(directory, path))
    file = os.path.join(directory, finding.place.source.path)
    return Entry(os.path.relpath(file, folder).replace(os.sep, "/"), finding.name, spot(finding))


def counted(findings: Iterable[Finding], path: str, directory: str) -> Counter[Entry]:
    """The entries of findings, for a baseline at `path`."""
    return Counter(entry_of(finding, path, directory) for finding in findings)


def text(entries: Counter[Entry]) -> str:
    """What a baseline file with these entries holds."""
    files: dict[str, list[Entry]] = {}
    for entry in sorted(entries):
        files.setdefault(entry.file, []).append(entry)
    # A line an entry: a merge of two branches then touches only what they changed.
    blocks = [
        f"    {json.dumps(file)}: [\n"
        + ",\n".join(line(entry, entries[entry]) for entry in listed)
        + "\n    ]"
        for file, listed in files.items()
    ]
    body = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "version": {VERSION},\n  "findings": {body}\n}}\n'


def line(entry: Entry, count: int) -> str:
    item: dict[str, Any] = {"rule": entry.rule}
    hashed = entry.place.startswith("line:")
    item["line" if hashed else "pointer"] = entry.place.removeprefix("line:")
    if count > 1:
        item["count"] = count
    return "      " + json.dumps(item)


def write(entries: Counter[Entry], path: str) -> None:
    """Writes the baseline file, all of it or nothing.

    Raises:
        BaselineError: the file cannot be written, or is there already and is no baseline.
    """
    from dslint.reports.files import write_whole

    try:
        if os.path.lexists(path) and not looks_like_one(path):
            raise BaselineError(
                f"{path}: this file is no baseline, so it was not written over; name another or remove it"
            )
        write_whole(path, text(entries))
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be written ({error.strerror})") from None


def looks_like_one(path: str) -> bool:
    """Is a file a baseline, maybe a broken one, as a merge with conflicts leaves it?"""
    with open(path, encoding="utf-8", errors="replace") as file:
        begun = file.read(100_000)
    return not begun.strip() or ('"version"' in begun and '"findings"' in begun)


def read(path: str) -> Baseline:
    """The baseline that a file holds.

    Raises:
        BaselineError: the file cannot be read, or is no baseline that this version of dslint reads.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise BaselineError(f"{path}: the baseline is no regular file; make it with --write-baseline")
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise BaselineError(
            f"{path}: the baseline cannot be read ({reason}); make it with --write-baseline"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(
            f"{path}: the baseline is no JSON ({error}); make it anew with --write-baseline"
        ) from None
    version = whole.get("version") if isinstance(whole, dict) else None
    if version != VERSION or "findings" not in whole:
        raise BaselineError(
            f"{path}: this is no baseline of version {VERSION}; --write-baseline makes one, in another file if this "
            "is something else"
        )
    try:
        return Baseline(path, Counter(dict(entries_of(whole["findings"]))))
    except (KeyError, TypeError, AttributeError, ValueError):
        raise BaselineError(
            f"{path}: the baseline has an entry of another form; make it anew with --write-baseline"
        ) from None


def entries_of(files: dict[str, list[dict[str, Any]]]) -> Iterable[tuple[Entry, int]]:
    for file, items in files.items():
        for item in items:
            place = item["pointer"] if "pointer" in item else "line:" + item["line"]
            count = item.get("count", 1)
            if not (isinstance(item["rule"], str) and isinstance(place, str) and isinstance(count, int)):
                raise TypeError
            yield Entry(file, item["rule"], place), count
