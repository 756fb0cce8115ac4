"""A rule met, with a place."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dslint.documents.tree import Document, Place
from dslint.fixing.fix import Fix

Severity = Literal["info", "warning", "error"]

LEVEL: dict[str, int] = {"info": 0, "warning": 1, "error": 2}

# The codes and names of the two faults that ignores themselves can have; no rule file tells of them.
IGNORE_RULES: tuple[tuple[str, str], ...] = (("DS001", "unused-ignore"), ("DS002", "invalid-ignore"))


class Related(NamedTuple):
    """Another place that the finding rests on, with what stands there."""

    place: Place
    message: str


class Finding(NamedTuple):
    """What dslint reports. `why` is one sentence; `url` leads to the rule's page.

    `document` is the config that `fix.changes` are about; None for findings outside of configs.
    """

    code: str
    name: str
    severity: Severity
    message: str
    place: Place
    why: str = ""
    url: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    document: Document | None = None
