"""`--fix`, `--diff` and `--add-ignores`: files are mended, or what would be is shown."""

from __future__ import annotations

import click

from dslint.cli.check import Job, Result
from dslint.cli.exits import tell
from dslint.cli.rewriting import exact, replace, show
from dslint.fixing.mend import Mended, mend
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
        show(mended.texts, workspace)
    elif stdin:
        exact(next(iter(mended.outcome.sources.values())).text)
    else:
        replace(mended.texts, workspace)
    for refused in mended.refused:
        place = refused.finding.place
        row = place.source.position(place.start).row
        what = "fix" if fix else "ignore"
        where = f"{place.source.path}:{row}"
        tell(f"{where}: the {what} for {refused.finding.name} was left out: {refused.reason}")
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
