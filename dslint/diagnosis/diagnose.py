"""A log in, what happened out: the whole way in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from dslint.diagnosis.catalogue import load_catalogue
from dslint.diagnosis.facts import Facts
from dslint.diagnosis.message import LEVELS, Catalogue, Message
from dslint.diagnosis.reading import read_blocks
from dslint.diagnosis.scan import Scanner
from dslint.diagnosis.sightings import Evidence, Seen
from dslint.diagnosis.traceback import FirstError
from dslint.diagnosis.troubles import Numbers, Trouble
from dslint.diagnosis.wording import pointers_of, sentences, summary_of, together
from dslint.rules.finding import LEVEL

# How far below a traceback's last line a message of several lines may still belong to it.
BELOW: Final = 60


@dataclass(slots=True)
class Cause:
    """One thing that the log tells, in words. `details` are its different sets of captures with their lines."""

    message: Message
    summary: str
    why: list[str]
    fix: list[str]
    pointers: list[str]
    evidence: Evidence
    details: list[tuple[Mapping[str, str], Evidence]]
    count: int = 1
    ranks: list[str] = field(default_factory=list)
    step: int | None = None
    plot: tuple[str, ...] = ()
    folded: list[Cause] = field(default_factory=list)

    @property
    def order(self) -> tuple[bool, int, int, int]:
        """Causes before symptoms, what stops a run before what harms it, the first line first; consequences last."""
        message = self.message
        last = message.level == "consequence"
        return last, -LEVEL[message.severity], LEVELS.index(message.level), self.evidence.line


@dataclass(slots=True)
class Diagnosis:
    """What a log amounts to. `first_error` is set where the first traceback is one that the catalogue does not know."""

    causes: list[Cause]
    notes: list[str]
    first_error: FirstError | None
    facts: Facts
    lines: int
    bytes: int


def diagnose(
    stream: BinaryIO,
    *,
    catalogue: Catalogue | None = None,
    deepspeed: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Diagnosis:
    """Read a log and say what it tells.

    Args:
        stream: the log's bytes; plain or gzip.
        catalogue: the messages to know; by default those of this installation.
        deepspeed: whether the log is known to be of DeepSpeed, though it may not say so.
        progress: told how many raw bytes each read took.

    Raises:
        LogError: the log cannot be unpacked.
        CatalogueError: the catalogue cannot be read.
    """
    known = catalogue or load_catalogue()
    numbers = Numbers()
    scanner = Scanner(known, (numbers,))
    for block in read_blocks(stream, progress):
        scanner.feed(block)
    scanner.finish()
    facts = numbers.facts
    facts.deepspeed = facts.deepspeed or deepspeed
    seen = [cause_of_message(one) for one in scanner.sightings.all() if counts(one, facts)]
    worded = {message.metric: message for message in known.messages if message.metric}
    troubles = [cause_of_trouble(worded[one.name], one) for one in numbers.troubles() if one.name in worded]
    causes = folded(sorted([*seen, *troubles], key=lambda cause: cause.order))
    first = unknown_first(scanner.first_errors.errors, causes)
    return Diagnosis(causes, list(numbers.notes()), first, facts, scanner.lines, scanner.bytes)


def counts(seen: Seen, facts: Facts) -> bool:
    """Whether a message was seen often enough, in a log of the kind that it wants."""
    message = seen.message
    if seen.count < message.least:
        return False
    return message.needs is None or (facts.zero3 if message.needs == "zero3" else facts.deepspeed)


def cause_of_message(seen: Seen) -> Cause:
    all_captures = [captures for captures, _ in seen.details]
    message = seen.message
    return Cause(
        message=message,
        summary=summary_of(message.summary, all_captures),
        why=sentences(message.why, all_captures),
        fix=sentences(message.fix, [together(all_captures)]),
        pointers=pointers_of(message.at, all_captures),
        evidence=seen.first,
        details=seen.details,
        count=seen.count,
        ranks=sorted(seen.ranks, key=lambda rank: (len(rank), rank)),
    )


def cause_of_trouble(message: Message, trouble: Trouble) -> Cause:
    captures = [trouble.captures]
    return Cause(
        message=message,
        summary=summary_of(message.summary, captures),
        why=sentences(message.why, captures),
        fix=sentences(message.fix, captures),
        pointers=pointers_of(message.at, captures),
        evidence=trouble.evidence,
        details=[(trouble.captures, trouble.evidence)],
        count=trouble.times,
        step=trouble.step,
        plot=trouble.plot,
    )


def folded(causes: Sequence[Cause]) -> list[Cause]:
    """Those that tell a part of another's story go into that one, with their plot and the step where it began."""
    left = list(causes)
    for cause in causes:
        if cause not in left:
            continue
        parts = [
            other for other in left if other.message.name in cause.message.includes and other is not cause
        ]
        for part in parts:
            left.remove(part)
            cause.folded += [part, *part.folded]
            cause.plot = cause.plot or part.plot
            if part.step is not None and (cause.step is None or part.step < cause.step):
                cause.step = part.step
    return left


def unknown_first(errors: Iterable[FirstError], causes: Sequence[Cause]) -> FirstError | None:
    """The first traceback, where no message that stops a run was seen in it or before it."""
    lines = [
        evidence.line
        for cause in causes
        for one in (cause, *cause.folded)
        if one.message.severity == "error" and one.message.level != "consequence"
        for evidence in (one.evidence, *(evidence for _, evidence in one.details))
    ]
    first = min(errors, key=lambda error: error.line, default=None)
    if first is None or any(line <= first.line + BELOW for line in lines):
        return None
    return first
