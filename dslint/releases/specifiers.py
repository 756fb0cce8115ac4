"""Version specifiers as requirement files write them: which release to assume for one.

Poetry's and conda's spellings are turned into the clauses of PEP 440 first; what has no such form stays
as it is and gives no release.
"""

from __future__ import annotations

import re

from dslint.releases.release import KNOWN, matches, parse_version

CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^\s,;()]+)")
UPPER = ("<", "<=", "~=", "==")


def exact(specifier: str) -> str | None:
    """The one version that a specifier pins, or None: `==0.14.5` and `===0.14.5` do, `==0.14.*` does not."""
    for operator, version in CLAUSE.findall(specifier):
        if operator in ("==", "===") and not version.endswith("*"):
            release = parse_version(version)
            return release.name if release else None
    return None


def newest_within(specifier: str) -> str | None:
    """The newest known DeepSpeed release that a range with an upper bound allows.

    None for a range without an upper bound, which says nothing about what is used, and for one that no known
    release meets.
    """
    if not any(operator in UPPER for operator, _ in CLAUSE.findall(specifier)):
        return None
    return next((release.name for release in reversed(KNOWN) if allows(specifier, release.name)), None)


def allows(specifier: str, version: str) -> bool:
    """Whether a version meets every clause. False for what is no specifier."""
    release = parse_version(version)
    try:
        return release is not None and matches(release, specifier.replace("===", "=="))
    except ValueError:
        return False


def from_poetry(text: str) -> str:
    """Poetry's constraint as PEP 440: `^0.14.2`, `~0.14`, `0.14.5`, `0.14.*`, or PEP 440 already."""
    if "|" in text:
        return text
    return ",".join(filter(None, (poetry_clause(part.strip()) for part in text.split(","))))


def poetry_clause(part: str) -> str:
    if part in ("*", ""):
        return ""
    if part.startswith(("~=", "==", "!=", "<", ">")):
        return part.replace(" ", "")
    version = part.lstrip("^~=").strip()
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        return part if part[0] in "^~" else f"=={version}"
    figures = [int(figure) for figure in version.split(".")]
    if part.startswith("^"):
        return f">={version},<{caret(figures)}"
    if part.startswith("~"):
        return f">={version},<{raised(figures[:2])}"
    return f"=={version}"


def caret(figures: list[int]) -> str:
    """The first version that `^version` excludes: its leftmost figure that is not zero, one higher."""
    for index, figure in enumerate(figures):
        if figure:
            return raised(figures[: index + 1])
    return raised(figures)


def raised(figures: list[int]) -> str:
    """The version with its last figure one higher: [0, 14] → "0.15"."""
    return ".".join(map(str, [*figures[:-1], figures[-1] + 1]))


def from_conda(text: str) -> str:
    """Conda's constraint as PEP 440: `=0.14.5`, `=0.14`, `==0.14.5=py310_0`, `>=0.10,<0.15`, `0.14.5`."""
    if "|" in text:
        return text
    return ",".join(filter(None, (conda_clause(part.strip()) for part in text.split(","))))


def conda_clause(part: str) -> str:
    sign = re.match(r"[=<>!~]*", part)
    operator = sign[0] if sign else ""
    version = part[len(operator) :].split("=")[0].strip()
    if operator not in ("", "="):
        return f"{operator}{version}"
    if version.endswith("*"):
        figures = version.rstrip(".*")
        return f"=={figures}.*" if figures else ""
    # `=0.14` means any 0.14; three figures name the release.
    return f"=={version}.*" if version.count(".") < 2 else f"=={version}"
