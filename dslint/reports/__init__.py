"""Findings → text. One module a format; each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from dslint.reports.run import RuleText, Run
from dslint.rules.finding import Finding

Render = Callable[[Sequence[Finding], Run], str]

FORMATS: Final[dict[str, str]] = {
    "full": "dslint.reports.full:render",
    "concise": "dslint.reports.concise:render",
    "json": "dslint.reports.as_json:render",
    "sarif": "dslint.reports.sarif:render",
    "github": "dslint.reports.github:render",
    "gitlab": "dslint.reports.gitlab:render",
    "junit": "dslint.reports.junit:render",
}


def renderer(name: str) -> Render:
    """The function that renders a format.

    Raises:
        KeyError: no format has this name.
    """
    module, _, function = FORMATS[name].partition(":")
    # `fromlist` makes __import__ give the inner module; importlib would be one more import at a cold start.
    return cast(Render, getattr(__import__(module, fromlist=(function,)), function))


def render(name: str, findings: Sequence[Finding], run: Run) -> str:
    """The report on some findings, ready to be written: it ends with a line end, or is empty.

    Raises:
        KeyError: no format has this name.
    """
    return renderer(name)(findings, run)


__all__ = ["FORMATS", "RuleText", "Run", "render", "renderer"]
