"""What a check found, before it is worded as a finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dslint.documents.tree import Place
from dslint.fixing.fix import Fix
from dslint.rules.finding import Related


class Match(NamedTuple):
    """Where a rule is met, and the values for its message.

    `pointer` is into the launch's config; `place` is for a span that is no config's (a script's word). `mark` and
    `message`, when given, stand in for the rule's own; `fix` stands in for the rule's plan.
    """

    pointer: str | None = None
    place: Place | None = None
    values: Mapping[str, Any] = {}
    mark: str | None = None
    message: str | None = None
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
