"""The public Python API: lint and fix a file, a folder or a text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from dslint.documents.tree import Source
from dslint.hardware.profiles import profile
from dslint.launches.discover import File, discover, kind_of
from dslint.launches.launch import Framework
from dslint.linting import Context, Outcome
from dslint.linting import lint as lint_files
from dslint.rules import book
from dslint.rules.finding import Finding
from dslint.settings import Settings, selected
from dslint.workspace import Workspace


class Fixed(NamedTuple):
    """What `fix` made: the new texts by path as given, the findings mended, and those that still stand."""

    texts: dict[str, str]
    mended: list[Finding]
    left: list[Finding]


def lint(
    path: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    filename: str = "ds_config.json",
    deepspeed_version: str | None = None,
    framework: Framework | None = None,
    hardware: str | None = None,
    world_size: int | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> list[Finding]:
    """Every finding on a file, on all files of a folder, or on a text.

    Args:
        path: a file or a folder.
        text: a config's text, in place of a path; `filename` is then how it is called and what kind of file it is.
        deepspeed_version: the release to check against, "X.Y.Z"; by default the repository's pin, the installed
            package or the newest known.
        framework: what hands the config to DeepSpeed; unknown by default.
        hardware: a GPU's name, as `dslint hardware` lists them; unknown by default.
        world_size: how many GPUs train, in all; unknown by default.
        select, ignore: rules by code, name or prefix, as on the command line.

    Raises:
        ValueError: neither or both of path and text are given, or a name is not known; the message says which.
        dslint.launches.discover.NoSuchPath: the path is not there.
        dslint.fixing.writing.Unreadable: the file can't be read as text.
    """
    files, workspace = gathered(path, text, filename)
    context = context_of(deepspeed_version, framework, hardware, world_size, select, ignore)
    return checked(files, context, workspace).findings


def fix(
    path: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    filename: str = "ds_config.json",
    unsafe: bool = False,
    deepspeed_version: str | None = None,
    framework: Framework | None = None,
    hardware: str | None = None,
    world_size: int | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Fixed:
    """The mended texts; nothing is written.

    Takes what `lint` takes, and `unsafe`: also fixes that change training. Raises what `lint` raises.
    """
    from dslint.fixing.mend import mend

    files, workspace = gathered(path, text, filename)
    context = context_of(deepspeed_version, framework, hardware, world_size, select, ignore)

    def allowed(finding: Finding) -> bool:
        return finding.fix is not None and (unsafe or finding.fix.safety == "safe")

    mended = mend(workspace, lambda changed: checked(files, context, changed), allowed)
    texts = {source.path: source.text for source in mended.texts.values()}
    return Fixed(texts, mended.applied, mended.outcome.findings)


def gathered(
    path: str | os.PathLike[str] | None, text: str | None, filename: str
) -> tuple[list[File], Workspace]:
    if (path is None) == (text is None):
        raise ValueError("give either a path or a text")
    if path is not None:
        return discover([os.fspath(path)]), Workspace()
    file = File(os.path.abspath(filename), filename, kind_of(filename) or "json", True)
    return [file], Workspace({file.path: Source(filename, text or "")})


def context_of(
    deepspeed_version: str | None,
    framework: Framework | None,
    hardware: str | None,
    world_size: int | None,
    select: Sequence[str] | None,
    ignore: Sequence[str],
) -> Context:
    from dslint.releases.release import parse_version

    if deepspeed_version is not None and parse_version(deepspeed_version) is None:
        raise ValueError(f"{deepspeed_version} is no DeepSpeed version; write it as X.Y.Z")
    known = None if hardware is None else profile(hardware)
    if hardware is not None and known is None:
        raise ValueError(f"{hardware} is no known hardware; dslint hardware lists the known ones")
    settings = Settings(select=None if select is None else tuple(select), ignore=tuple(ignore))
    rules = tuple(rule for rule in book.load() if selected(rule.code, rule.name, settings))
    return Context(rules, deepspeed_version, framework, known, world_size)


def checked(files: Sequence[File], context: Context, workspace: Workspace) -> Outcome:
    from dslint.fixing.writing import Unreadable

    outcome = lint_files(files, context, workspace)
    if outcome.failures:
        raise Unreadable(outcome.failures[0])
    return outcome
