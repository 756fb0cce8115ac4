"""`--fix`, `--diff` and `--add-ignores`: files are mended, or what would be is shown."""

from __future__ import annotations

import sys

import click

from dslint.cli.check import Job, Result
from dslint.cli.exits import Stop
from dslint.fixing.apply import diff as diff_of
from dslint.fixing.mend import Mended, mend
from dslint.fixing.together import Rewrite, write_all
from dslint.fixing.writing import Unwritable
from dslint.workspace import Workspace


def mend_files(
    job: Job,
    workspace: Workspace,
    *,
    write: bool,
    fix: bool,
    validate: bool = False,
    stdin: bool = False,
    reason: str | None = None,
    quiet: bool = False,
) -> Result:
    """Fix to a fixpoint, or add ignores; write, or show the difference. What is left is the result."""
    if fix:
        mended = mend(workspace, job.lint, job.may_mend)
        if validate:
            from dslint.cli.validate import taken_by_engine

            mended = taken_by_engine(mended, workspace, job.lint)
    else:
        from dslint.cli.ignoring import ignored

        mended = ignored(job, workspace, reason)
    if not write:
        show(mended, workspace)
    elif stdin:
        exact(next(iter(mended.outcome.sources.values())).text)
    else:
        replace(mended, workspace)
    for refused in mended.refused:
        place = refused.finding.place
        row = place.source.position(place.start).row
        what = "fix" if fix else "ignore"
        click.echo(
            f"dslint: {place.source.path}:{row}: the {what} for {refused.finding.name} was left out: {refused.reason}",
            err=True,
        )
    if not write:
        return Result(job.lint(workspace))
    if not fix and not quiet:
        tell_ignored(mended, reason)
    return Result(mended.outcome, fixed=len(mended.applied) if fix else None)


def tell_ignored(mended: Mended, reason: str | None) -> None:
    from dslint.cli.ignoring import PLACEHOLDER
    from dslint.reports.summary import counted

    files = counted(len(mended.texts), "file")
    todo = f'; write the reason in the place of "{PLACEHOLDER}"' if reason is None and mended.applied else ""
    click.echo(f"dslint: ignored {counted(len(mended.applied), 'finding')} in {files}{todo}", err=True)


def show(mended: Mended, workspace: Workspace) -> None:
    for path, source in sorted(mended.texts.items()):
        before = workspace.source(path, source.path)
        exact(diff_of(source.path, before.text, source.text))


def replace(mended: Mended, workspace: Workspace) -> None:
    rewrites = [
        Rewrite(path, workspace.source(path, source.path).text, source.text)
        for path, source in sorted(mended.texts.items())
    ]
    try:
        write_all(rewrites)
    except Unwritable as error:
        raise Stop(str(error)) from error


def exact(text: str) -> None:
    """Text of a file → standard output, byte for byte whatever its encoding: it becomes a file or a patch."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(text if terminal else text.encode("utf-8", "surrogateescape"), nl=False)
