"""Shell scripts, Makefiles and Dockerfiles, read into the commands that they would run. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dslint.documents.script import Command, Hint, Job, Script
from dslint.documents.shell_jobs import read_job
from dslint.documents.shell_run import Frame, Walker
from dslint.documents.shell_scope import Scope, job_variables
from dslint.documents.shell_words import Piece, Text, Word, flat, word
from dslint.documents.tree import UNKNOWN, Source, Unknown

# A launch script is a few hundred lines; what is longer holds data.
LONGEST: Final = 250_000


def read_script(source: Source) -> Script:
    """The commands of a whole file, by what it is: a Makefile's recipes, a Dockerfile's instructions, else
    a script.

    Never raises: what cannot be read is left out, and `complete` is False.
    """
    if len(source.text) > LONGEST:
        return Script(source, complete=False)
    name = source.path.rpartition("/")[2].lower()
    if name in ("makefile", "gnumakefile") or name.endswith(".mk"):
        from dslint.documents.makefile import read_makefile

        return read_makefile(source)
    if name.startswith(("dockerfile", "containerfile")) or name.endswith((".dockerfile", ".containerfile")):
        from dslint.documents.dockerfile import read_dockerfile

        return read_dockerfile(source)
    return read_commands(source, 0, len(source.text))


def read_commands(source: Source, start: int, end: int) -> Script:
    """The commands of a shell text that stands at `start:end` of a file (an argument in a Kubernetes
    YAML).
    """
    if end - start > LONGEST:
        return Script(source, complete=False)
    # A byte order mark is no part of the first command.
    if source.text.startswith("\ufeff", start, end):
        start += 1
    text = flat(source, start, end)
    job = read_job(text, source)
    walker = Walker(source)
    frame = Frame(text, job_scope(job), job=job, top=True)
    walk(walker, frame)
    return script_of(walker, job, carriage_returns(source, start, end))


def read_words(source: Source, words: Sequence[tuple[str | Unknown, int, int]]) -> Script:
    """One command whose words stand apart in a file (a YAML or JSON list): each word's text and span."""
    walker = Walker(source)
    run_words(walker, words, Scope())
    return script_of(walker, None, [])


def run_words(walker: Walker, words: Sequence[tuple[str | Unknown, int, int]], scope: Scope) -> None:
    """Walk a command of separate words; a `bash -c` among them is walked too."""
    made = [word_apart(walker.source, *found) for found in words]
    if not made:
        return
    command = Command(
        tuple(made),
        made[0].start,
        made[-1].end,
        walker.environment(scope, {}),
        folder=scope.folder,
    )
    walker.commands.append(command)
    try:
        walker.start_scripts(made, {}, Frame(Text([]), scope))
    except RecursionError:
        walker.complete = False


def word_apart(source: Source, text: str | Unknown, start: int, end: int) -> Word:
    """A word of a list; `$(NAME)` in it is for Kubernetes to fill in."""
    inner = start, end
    if isinstance(text, Unknown):
        return word([Piece(UNKNOWN, (inner,), symbol=f"word@{start}")], inner, True, inner)
    if end - start == len(text) + 2 and source.text[start + 1 : end - 1] == text:
        inner = start + 1, end - 1
    whole = Piece(text, (inner,))
    pieces: list[Piece] = []
    place = 0
    for match in re.finditer(r"\$\([A-Za-z_][\w.-]*\)", text):
        unknown = Piece(UNKNOWN, whole.part(*match.span()).trail, symbol=match[0])
        pieces += [whole.part(place, match.start()), unknown]
        place = match.end()
    pieces.append(whole.part(place, len(text)))
    kept = [piece for piece in pieces if isinstance(piece.text, Unknown) or piece.text]
    return word(kept, (start, end), True, (start, end))


def walk(walker: Walker, frame: Frame) -> None:
    try:
        walker.read(frame)
        walker.finish(frame)
    except RecursionError:
        walker.complete = False


def script_of(walker: Walker, job: Job | None, hints: list[Hint]) -> Script:
    return Script(
        walker.source,
        tuple(walker.commands),
        tuple(walker.writes.heredocs.values()),
        tuple(sorted([*hints, *walker.hints], key=lambda hint: hint.start)),
        tuple(walker.writes.files),
        tuple(walker.writes.modified),
        job,
        walker.complete,
    )


def carriage_returns(source: Source, start: int, end: int) -> list[Hint]:
    match = re.compile(r"\r\n").search(source.text, start, end)
    return [Hint("carriage-returns", *match.span())] if match else []


def job_scope(job: Job | None) -> Scope:
    """A shell's first state: inside a Slurm job, its counts are known where the directives say them."""
    scope = Scope()
    scope.values.update(job_variables(job))
    scope.exported.update(scope.values)
    return scope
