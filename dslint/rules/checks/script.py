"""Shell scripts: lines that a shell reads otherwise than they look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dslint.documents.tree import Place
from dslint.fixing.fix import Edit, Fix
from dslint.launches.launch import Launch
from dslint.rules.finding import Related
from dslint.rules.match import Match

BREAKS: Final = {
    "blank-after-backslash": "a blank after the backslash ends the command here",
    "comment-after-backslash": "a comment after the backslash ends the command here",
    "comment-swallows-backslash": "the backslash is a part of the comment, so the command ends here",
    "comment-in-continuation": "a comment line ends the command that the backslash before it goes on with",
    "blank-line-in-continuation": "an empty line ends the command that the backslash before it goes on with",
    "missing-backslash": "the line has no backslash at its end, so the command ends here",
}


def broken_continuation(launch: Launch) -> Iterator[Match]:
    """The rest of a command on lines of their own, which the shell runs as commands."""
    script, source = launch.script, launch.config.source
    for hint in () if script is None else script.hints:
        if hint.kind not in BREAKS:
            continue
        rest = "the options below"
        related: tuple[Related, ...] = ()
        if hint.rest is not None:
            rest = " ".join(source.text[hint.rest[0] : hint.rest[1]].split())
            rest = rest if len(rest) <= 40 else rest[:37] + "..."
            related = (Related(Place(source, *hint.rest), "these words are not a part of the command"),)
        fix = None
        if hint.kind == "blank-after-backslash":
            fix = Fix("unsafe", "take the blank away", edits=(Edit(source, hint.start + 1, hint.end, ""),))
        yield Match(
            place=Place(source, hint.start, max(hint.end, hint.start + 1)),
            values={"said": BREAKS[hint.kind], "rest": rest},
            related=related,
            fix=fix,
        )


SCRIPT_CHECKS: Final[Mapping[str, Callable[[Launch], Iterator[Match]]]] = {
    "broken-continuation": broken_continuation,
}
