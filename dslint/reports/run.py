"""What a report says beside the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dslint.rules.finding import Severity


class RuleText(NamedTuple):
    """What a rule says of itself whatever it met, for formats that list rules. `severity` is its own."""

    summary: str
    why: str
    severity: Severity


class Run(NamedTuple):
    """One run of dslint.

    - releases: the names of the releases that something was checked against;
    - checked: the number of files that were read and understood;
    - directory: the working directory, absolute, that filenames are relative to;
    - color, width: of the terminal; width in columns;
    - statistics: count by rule as well;
    - quiet: findings alone, no summary;
    - fixing: --fix was given, so what could be fixed safely has been; fixed: how many findings that mended;
    - known: how many findings a baseline keeps unsaid;
    - changed: the git reference of --changed; only what has changed since is reported;
    - unsafe_fixes: --unsafe-fixes was given;
    - fail_on: the severity from which the exit status is 1, or "never";
    - rules: texts by code, for formats that explain rules; what is missing is taken from the findings.
    """

    releases: Sequence[str] = ()
    checked: int = 0
    directory: str = ""
    color: bool = False
    width: int = 120
    statistics: bool = False
    quiet: bool = False
    fixing: bool = False
    fixed: int = 0
    known: int = 0
    changed: str | None = None
    unsafe_fixes: bool = False
    fail_on: str = "warning"
    rules: Mapping[str, RuleText] = {}
