"""What the loaders would say of the text, from the parser's problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dslint.documents.tree import Loader, Place, Problem, split_pointer
from dslint.fixing.fix import Fix
from dslint.launches.launch import Launch
from dslint.rules.match import Match

# The HF Trainer, Accelerate and Lightning read the file with json.load before DeepSpeed sees it; bare DeepSpeed with hjson.
LOADERS: Final[dict[str, Loader]] = {
    "deepspeed": "hjson",
    "transformers": "json",
    "accelerate": "json",
    "lightning": "json",
}
# A template is no config yet: what its placeholders leave is for whoever fills them.
TEMPLATE: Final = "placeholder"
COMMENTS: Final = frozenset({"comment"})
# Hjson reads such a value with its comma, which nobody means; what is meant is not for a fix to say.
AMBIGUOUS: Final = frozenset({"quoteless-swallows", TEMPLATE})


def unreadable(launch: Launch) -> Iterator[Match]:
    """Text that no loader can read; the first place, since all after it is guesswork."""
    for problem in launch.config.problems:
        if len(problem.refused_by) == 2 and problem.kind != TEMPLATE:
            yield match_of(launch, problem)
            return


def not_strict_json(launch: Launch) -> Iterator[Match]:
    """Text that DeepSpeed's own loader reads, under a framework that reads strict JSON."""
    if launch.config.syntax != "json" or loader_of(launch) != "json" or is_unreadable(launch):
        return
    if any(problem.kind == TEMPLATE for problem in launch.config.problems):
        return
    refused = refused_by(launch, "json")
    if refused:
        more = len(refused) - 1
        rest = f", and {more} more like it" if more else ""
        yield match_of(launch, refused[0], rest)._replace(fix=strict_fix(launch, refused))


def strict_fix(launch: Launch, refused: Sequence[Problem]) -> Fix | None:
    from dslint.documents.editing import CannotEdit, strict_json

    if any(problem.kind in AMBIGUOUS for problem in refused):
        return None
    comments = any(problem.kind in COMMENTS for problem in refused)
    try:
        edits = strict_json(launch.config, comments=comments)
    except CannotEdit:
        return None
    if not edits:
        return None
    if comments:
        return Fix("unsafe", "write it as strict JSON, which has no comments", edits=tuple(edits))
    return Fix("safe", "write it as strict JSON", edits=tuple(edits))


def not_hjson(launch: Launch) -> Iterator[Match]:
    """Text that json reads and DeepSpeed's loader stops at."""
    if loader_of(launch) == "hjson" and not is_unreadable(launch):
        for problem in refused_by(launch, "hjson"):
            if problem.kind != "duplicate-key":
                yield match_of(launch, problem)


def duplicate_key_refused(launch: Launch) -> Iterator[Match]:
    if loader_of(launch) == "hjson":
        yield from duplicates(launch)


def duplicate_key(launch: Launch) -> Iterator[Match]:
    if loader_of(launch) != "hjson":
        yield from duplicates(launch)


def duplicates(launch: Launch) -> Iterator[Match]:
    for problem in launch.config.problems:
        if problem.kind == "duplicate-key":
            key = split_pointer(problem.pointer)[-1] if problem.pointer else ""
            yield match_of(launch, problem)._replace(values={"key": key, "said": problem.message})


def swallowed(launch: Launch) -> Iterator[Match]:
    """A quoteless value that runs on to the end of its row, comma and all."""
    if loader_of(launch) != "json":
        for problem in launch.config.problems:
            if problem.kind == "quoteless-swallows":
                yield match_of(launch, problem)


def not_an_object(launch: Launch) -> Iterator[Match]:
    for problem in launch.config.problems:
        if problem.kind == "not-an-object" and not is_unreadable(launch):
            yield match_of(launch, problem)


def empty(launch: Launch) -> Iterator[Match]:
    for problem in launch.config.problems:
        if problem.kind == "empty":
            yield match_of(launch, problem)


def loader_of(launch: Launch) -> Loader | None:
    return None if launch.framework is None else LOADERS[launch.framework]


def is_unreadable(launch: Launch) -> bool:
    return any(len(problem.refused_by) == 2 for problem in launch.config.problems)


def refused_by(launch: Launch, loader: Loader) -> list[Problem]:
    return [p for p in launch.config.problems if loader in p.refused_by and p.kind not in (TEMPLATE, "empty")]


def match_of(launch: Launch, problem: Problem, rest: str = "") -> Match:
    place = Place(launch.config.source, problem.start, problem.end, problem.pointer)
    return Match(problem.pointer, place=place, values={"said": problem.message.rstrip("."), "rest": rest})
