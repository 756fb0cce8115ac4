"""The public Python API: lint and fix a file, a folder or a text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dslint.cli.check import Job, context_of, rules_for
from dslint.cli.exits import Stop
from dslint.documents.tree import Source
from dslint.launches.discover import File, discover, kind_of
from dslint.launches.launch import Framework
from dslint.linting import Context, Outcome
from dslint.linting import lint as lint_files
from dslint.rules.finding import Finding
from dslint.settings import Settings, SettingsError, load, merge
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
    isolated: bool = False,
) -> list[Finding]:
    """What `dslint PATH` reports on a file, on all files of a folder, or on a text.

    The settings count that are nearest upwards of the path, where the command takes those of the working directory: their
    choice of rules, severities, hardware and the rest, per-file-ignores and the baseline. So do ignores in the files.

    Args:
        path: a file or a folder.
        text: a config's text, in place of a path; `filename` is then how it is called, what kind of file it is and where
            the search for settings begins.
        deepspeed_version: the release to check against, "X.Y.Z"; by default the settings' one, the repository's pin, the
            installed package or the newest known.
        framework: what hands the config to DeepSpeed; by default the settings' one, else unknown.
        hardware: a GPU's name, as `dslint hardware` lists them; by default the settings' one, else unknown.
        world_size: how many GPUs train, in all; by default the settings' figure, else unknown.
        select, ignore: rules by code, name or prefix, over those of the settings, as on the command line.
        isolated: read no settings file.

    Raises:
        ValueError: neither or both of path and text are given, a name is not known, or the settings can't be used; the
            message says which.
        dslint.rules.book.BrokenRule: a rule file of the settings' `rules` can't be used.
        dslint.launches.discover.NoSuchPath: the path is not there.
        dslint.fixing.writing.Unreadable: the file can't be read as text.
    """
    options = options_of(deepspeed_version, framework, hardware, world_size, select, ignore)
    job, workspace = prepared(path, text, filename, options, isolated)
    return unknown(job, read(job.lint(workspace, bar=False)))


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
    isolated: bool = False,
) -> Fixed:
    """The texts that `dslint --fix PATH` would write; nothing is written.

    Takes what `lint` takes, and `unsafe`: also fixes that change training, which the settings may allow as well. Raises
    what `lint` raises.
    """
    from dslint.fixing.mend import mend

    options = options_of(deepspeed_version, framework, hardware, world_size, select, ignore)
    job, workspace = prepared(path, text, filename, {**options, "unsafe_fixes": unsafe or None}, isolated)
    mended = mend(workspace, lambda changed: read(job.lint(changed, bar=False)), job.may_mend)
    texts = {source.path: source.text for source in mended.texts.values()}
    return Fixed(texts, mended.applied, unknown(job, mended.outcome))


def everything(
    path: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    filename: str = "ds_config.json",
    deepspeed_version: str | None = None,
    framework: Framework | None = None,
    hardware: str | None = None,
    world_size: int | None = None,
) -> list[Finding]:
    """Every finding, whatever settings and ignores say: what explains a failed run may have been ignored.

    Takes and raises what `lint` does.
    """
    options = options_of(deepspeed_version, framework, hardware, world_size, None, ())
    job, workspace = prepared(path, text, filename, options, isolated=True)
    return checked(job.files, job.context, workspace).findings


def options_of(
    deepspeed_version: str | None,
    framework: Framework | None,
    hardware: str | None,
    world_size: int | None,
    select: Sequence[str] | None,
    ignore: Sequence[str],
) -> dict[str, Any]:
    return {
        "deepspeed_version": deepspeed_version,
        "framework": framework,
        "hardware": hardware,
        "world_size": world_size,
        "select": None if select is None else tuple(select),
        "ignore": tuple(ignore),
    }


def prepared(
    path: str | os.PathLike[str] | None,
    text: str | None,
    filename: str,
    options: Mapping[str, Any],
    isolated: bool,
) -> tuple[Job, Workspace]:
    """What is to be checked, and how."""
    if (path is None) == (text is None):
        raise ValueError("give either a path or a text")
    start = os.path.abspath(filename if path is None else path)
    settings = merge(load(start if os.path.isdir(start) else os.path.dirname(start), None, isolated), options)
    all_rules = rules_for(settings)
    files, workspace = gathered(path, text, filename, settings)
    return Job(settings, context_of(settings, all_rules), files, all_rules), workspace


NO_SETTINGS = Settings()


def gathered(
    path: str | os.PathLike[str] | None, text: str | None, filename: str, settings: Settings = NO_SETTINGS
) -> tuple[list[File], Workspace]:
    if path is not None:
        return discover([os.fspath(path)], settings.include, settings.exclude, settings.root), Workspace()
    file = File(os.path.abspath(filename), filename, kind_of(filename) or "json", True)
    return [file], Workspace({file.path: Source(filename, text or "")})


def checked(files: Sequence[File], context: Context, workspace: Workspace) -> Outcome:
    return read(lint_files(files, context, workspace))


def read(outcome: Outcome) -> Outcome:
    """The outcome, when all could be read."""
    from dslint.fixing.writing import Unreadable

    if outcome.failures:
        raise Unreadable(outcome.failures[0])
    return outcome


def unknown(job: Job, outcome: Outcome) -> list[Finding]:
    """What the settings' baseline does not know; without one, all."""
    if job.settings.baseline is None:
        return outcome.findings
    from dslint.cli import knowing

    try:
        return knowing.unknown(job, outcome)
    except Stop as error:
        raise SettingsError(str(error)) from error
