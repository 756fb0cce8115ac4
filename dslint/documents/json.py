"""JSON as the loaders of DeepSpeed configs read it: text → tree with exact spans, and what each would say.

Two loaders matter. "hjson" is DeepSpeed's own, `hjson.load` with a hook that refuses duplicate keys
(`deepspeed/runtime/config.py`). "json" is `json.load`, as Transformers and Accelerate call it; of duplicate
keys it keeps the last one silently. The tree holds what json reads where json accepts the text, else what
hjson reads, else (neither accepts it) what the text most likely means, so that later steps have something
to look at.

Kinds of Problem, and who refuses the text for their sake:

    syntax              both           neither loader can read on from here
    placeholder         both           a template's `{{ … }}` in the place of a value; its node is unknown
    number-too-long     both           an integer of more digits than Python converts
    duplicate-key       hjson          the same key twice in one object; json keeps the last
    number-overflow     hjson          1e400: hjson crashes, json reads infinity
    constant            hjson or none  NaN, Infinity: a number to json, a text to hjson, which may then stop
                        json           True, None, …: a text to hjson
    read-differently    none           NaN, Infinity where both loaders accept the text and disagree on it
    too-deep            see below      nesting beyond MAX_DEPTH
    not-an-object       none           both load it, but DeepSpeed needs an object
    empty               json           nothing but blanks and comments; hjson reads {}
    bom                 json           a byte order mark at the start
    comment             json           `#`, `//` or `/* */`
    trailing-comma      json           a comma before `}`, `]` or the end
    missing-comma       json           a new row does for hjson
    missing-braces      json           members without the outer `{ }`
    quoteless-key       json           a key without quotes
    quoteless           json           a text without quotes that ends with its row, as hjson has it
    quoteless-swallows  json           the same, with a comma or brace of its row in it, taken for text
    number-form         json           01, +1, .5, 0x10: a text to hjson; or digits that are not ASCII
    single-quotes       json           '…'
    multiline-string    json           '''…'''
    escape              json           an escape that only hjson knows
    odd-space           json           a blank that only looks like one (U+00A0, …)
    typographic-quotes  json           “…”: to hjson a part of the text

What hjson reads as a text with more of its row in it is always of kind quoteless-swallows, be it a word or
a number that was meant. hjson reads 2e8 and 1.0 as integers and json as floats; they are equal, so that is
no problem. Nesting is refused by hjson from HJSON_DEPTH levels on and by json from JSON_DEPTH, with a
RecursionError.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import Any, Final

from dslint.documents.json_reader import HJSON_DEPTH, JSON_DEPTH, MAX_DEPTH, Reader, StopReading
from dslint.documents.json_scalars import BOTH, HJSON, MAX_PROBLEMS, NONE
from dslint.documents.tree import Document, Node, Problem, Source

__all__ = ["HJSON_DEPTH", "JSON_DEPTH", "MAX_DEPTH", "MAX_PROBLEMS", "parse"]

LONG: Final = 100_000  # characters from which on Python's garbage collector, which nodes keep busy, is paused


def parse(
    source: Source, start: int = 0, end: int | None = None, substitute: Callable[[str], Any] | None = None
) -> Document:
    """Read the characters `start:end` of a source as a config; never raises, in time linear in the text.

    `substitute` is for text that a shell expands first (a heredoc): it is asked for the text of each
    placeholder (`$NAME`, `${NAME:-default}`, `$(…)`, backticks) and answers with a str, or UNKNOWN. A value
    with an unknown placeholder in it is a node of kind unknown; so is an object with an unknown key.
    """
    stop = len(source.text) if end is None else end
    if substitute is not None and not re.compile(r"[$`\\]").search(source.text, start, stop):
        substitute = None
    pause = stop - start > LONG and gc.isenabled()
    if pause:
        gc.disable()
    try:
        root, problems = _read(source, start, stop, substitute)
    finally:
        if pause:
            gc.enable()
    return Document(source, root, "json", problems=tuple(sorted(problems, key=lambda problem: problem.start)))


def _read(
    source: Source, start: int, end: int, substitute: Callable[[str], Any] | None
) -> tuple[Node, list[Problem]]:
    """One tolerant pass; when hjson would read an unquoted value otherwise, another one as hjson reads."""
    reader = Reader(source, start, end, substitute, tolerant=True)
    root = reader.read()
    if not reader.diverged:
        return root, reader.problems
    strict = Reader(source, start, end, substitute, tolerant=False)
    hjson_root = _root_of(strict)
    if not any("json" in problem.refused_by for problem in reader.problems):
        return root, [_judge_constant(source.text, p, hjson_root is None) for p in reader.problems]
    if hjson_root is not None:
        return hjson_root, strict.problems
    return root, _blamed(reader, strict.problems)


def _root_of(strict: Reader) -> Node | None:
    try:
        return strict.read()
    except StopReading:
        return None


def _judge_constant(text: str, problem: Problem, refused: bool) -> Problem:
    """json accepts the text; of a NaN or Infinity in it, say what hjson makes of it."""
    if problem.kind != "constant":
        return problem
    word = text[problem.start : problem.end]
    message = (
        f"{word} is a number to Python's json, but to DeepSpeed's loader (Hjson) a text to the end of the row"
    )
    if refused:
        message += ", and cannot read on"
    kind, refused_by = ("constant", HJSON) if refused else ("read-differently", NONE)
    return problem._replace(kind=kind, message=message, refused_by=refused_by)


def _blamed(reader: Reader, strict: list[Problem]) -> list[Problem]:
    """Neither loader reads the text; when that is for an unquoted value alone, it is the syntax problem."""
    problems = reader.problems
    if any(problem.kind in ("syntax", "placeholder") for problem in problems):
        return problems
    brackets = {start for start, (_, bracket) in reader.swallowing.items() if bracket}
    guilty = brackets or set(list(reader.swallowing)[:1])
    blamed = [
        problem._replace(kind="syntax", message=reader.swallowing[problem.start][0], refused_by=BOTH)
        if problem.start in guilty and problem.kind not in ("comment", "single-quotes")
        else problem
        for problem in problems
    ]
    if not any(problem.kind == "syntax" for problem in blamed):
        blamed += [problem for problem in strict if problem.kind == "syntax"]
    return blamed
