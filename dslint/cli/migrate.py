"""`dslint migrate --to bf16|fp16`: configs, scripts, programs and YAML to one number format, all files or none."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from dslint.cli.exits import Stop, tell
from dslint.cli.rewriting import replace, show
from dslint.migrating.formats import Format

if TYPE_CHECKING:
    from dslint.migrating.plan import Planned
    from dslint.migrating.verify import Verified
    from dslint.workspace import Workspace


@click.command("migrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option(
    "--to", required=True, type=click.Choice(list(get_args(Format))), help="The format to train in."
)
@click.option("--diff", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--deepspeed-version", metavar="X.Y.Z", help="The DeepSpeed release that trains.")
@click.option("--hardware", metavar="NAME|auto", help="The GPU that trains; dslint hardware lists them.")
@click.option("--world-size", type=click.IntRange(min=1), help="How many GPUs train, in all.")
@click.option(
    "--framework",
    type=click.Choice(["deepspeed", "transformers", "accelerate", "lightning"]),
    help="What hands the config to DeepSpeed.",
)
@click.option("--config", "settings_file", type=click.Path(readable=False), help="The settings file to use.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(
    paths: tuple[str, ...], to: Format, diff: bool, settings_file: str | None, isolated: bool, **options: Any
) -> None:
    """Move a training from fp16 to bf16, or back: config, scripts, Python and YAML in one step.

    PATHS are files or folders, the working directory by default; files that these name are moved with them. Exit status:
    0 all is moved, or was; 1 something is left for you; 2 it can't be done, and no file was changed.
    """
    from dslint.cli.check import context_of, gather, rules_for
    from dslint.launches.discover import NoSuchPath
    from dslint.linting import Outcome, lint
    from dslint.migrating.moves import CannotMove
    from dslint.migrating.plan import plan_moves
    from dslint.migrating.verify import verify
    from dslint.rules.book import BrokenRule
    from dslint.settings import SettingsError, load, merge

    try:
        settings = merge(load(os.getcwd(), settings_file, isolated), options)
        all_rules = rules_for(settings)
        # A move must bring no fault, not even of a kind that is ignored.
        context = context_of(settings, all_rules)._replace(rules=all_rules, ignored=())
        if "-" in paths:
            raise NoSuchPath("dslint migrate changes files; - can't be given")
        files, workspace = gather(paths or (".",), "", settings)
    except (SettingsError, NoSuchPath, BrokenRule) as error:
        raise Stop(str(error)) from error

    def lint_again(workspace: Workspace) -> Outcome:
        return lint(files, context, workspace)

    before = lint_again(workspace)
    if before.failures:
        raise Stop(f"nothing was changed: {before.failures[0]}")
    try:
        planned = plan_moves(before.launches, to)
        if not planned.texts:
            sys.exit(nothing_to_do(planned, bool(before.launches)))
        verified = verify(planned, workspace, before, lint_again)
    except CannotMove as error:
        raise Stop(str(error)) from error
    if diff:
        show(verified.texts, workspace)
    else:
        replace(verified.texts, workspace)
    sys.exit(summary(planned, verified, diff))


def nothing_to_do(planned: Planned, found: bool) -> int:
    name_left(planned)
    to = planned.moves.to
    if found:
        click.echo(f"nothing to do: no file here asks for {'fp16' if to == 'bf16' else 'bf16'}", err=True)
    else:
        click.echo("nothing to do: no DeepSpeed config and no launch of one is here", err=True)
    return int(bool(planned.moves.left))


def summary(planned: Planned, verified: Verified, diff: bool) -> int:
    """What changed, file by file, and what is left; the exit status. On standard error where a diff is shown."""
    from dslint.reports.visible import one_line

    texts = {path: list(told) for path, told in planned.moves.texts.items()}
    for finding in verified.mended:
        message = finding.fix.message if finding.fix is not None else ""
        texts.setdefault(finding.place.source.path, []).append(message or finding.name)
    for path, told in sorted(texts.items()):
        click.echo(one_line(f"{path}: {'; '.join(unique(told))}"), err=diff)
    name_left(planned, verified)
    count, to = len(verified.texts), planned.moves.to
    files = "1 file" if count == 1 else f"{count} files"
    click.echo(f"{files} would move to {to}" if diff else f"{files} moved to {to}", err=diff)
    return int(bool(planned.moves.left or verified.standing))


def name_left(planned: Planned, verified: Verified | None = None) -> None:
    from dslint.migrating.moves import row_of

    for left in planned.moves.left:
        tell(f"{row_of(left.place)}: left for you: {left.reason}")
    for finding in verified.standing if verified is not None else ():
        tell(f"{row_of(finding.place)}: left for you: {finding.name}: {finding.message}")


def unique(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))
