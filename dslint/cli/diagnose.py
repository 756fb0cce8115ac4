"""`dslint diagnose`: from an error in a log to the line to change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import click

from dslint.cli.exits import Stop

# A log of this size or more gets a progress bar on a terminal.
LARGE = 8 << 20


@click.command("diagnose", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("log", required=False, type=click.Path(readable=False))
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option(
    "--deepspeed-version", metavar="X.Y.Z", help="The release that ran; by default what the log says."
)
@click.pass_context
def command(
    ctx: click.Context, log: str | None, paths: tuple[str, ...], form: str, deepspeed_version: str | None
) -> None:
    """Find the cause of a failed or sick run in its LOG, and the setting that is behind it.

    LOG is a file (plain or gzip); "-" or none reads standard input. PATHS are the config, or folders with the config and
    the scripts: the finding that explains the log is then shown with its fix.

    Exits 1 when something was recognised, 0 when nothing was, 2 when dslint could not do its work.
    """
    from dslint.diagnosis.catalogue import CatalogueError
    from dslint.diagnosis.diagnose import diagnose
    from dslint.diagnosis.explain import add_odds, explain
    from dslint.diagnosis.reading import LogError

    if log is None and sys.stdin.isatty():
        raise click.UsageError(
            "Give a log file, or paste the log into standard input with - and end it with Ctrl-D."
        )
    name = "standard input" if log in (None, "-") else str(log)
    check_paths(paths)
    try:
        with opened(log) as stream, bar(log) as progress:
            diagnosis = diagnose(stream, deepspeed=bool(paths), progress=progress)
        add_odds(diagnosis, paths)
    except (LogError, OSError) as error:
        raise Stop(f"{name}: {reason(error)}") from error
    except CatalogueError as error:
        raise Stop(str(error)) from error
    explained = []
    if paths and diagnosis.causes:
        with stopping():
            explained = explain(diagnosis, paths, deepspeed_version=deepspeed_version)
    if form == "json":
        from dslint.diagnosis.report_json import render as as_json

        click.echo(as_json(diagnosis, name, explained), nl=False)
    else:
        write_text(diagnosis, name, explained, bool(paths))
    ctx.exit(1 if diagnosis.causes else 0)


def write_text(diagnosis: Any, name: str, explained: Sequence[Any], has_config: bool) -> None:
    from dslint.diagnosis.report_text import as_ascii, render
    from dslint.reports.colour import Paint, terminal_width, wants_colour

    colour = wants_colour(sys.stdout.isatty())
    text = render(diagnosis, name, explained, Paint(colour), terminal_width(default=100), has_config)
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    click.echo(text if encoding.startswith("utf") else as_ascii(text), nl=False, color=colour)


def check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not os.path.exists(path):
            raise Stop(f"{path}: there is no such file or folder")


@contextmanager
def opened(log: str | None) -> Iterator[BinaryIO]:
    if log in (None, "-"):
        yield sys.stdin.buffer
        return
    path = str(log)
    if os.path.isdir(path):
        raise Stop(f"{path}: is a folder; give one log file, such as that of the rank that failed first")
    with open(path, "rb") as stream:
        yield stream


@contextmanager
def bar(log: str | None) -> Iterator[Callable[[int], None] | None]:
    """Progress on standard error, for a large file on a terminal."""
    size = os.path.getsize(log) if log not in (None, "-") and log is not None and os.path.isfile(log) else 0
    if size < LARGE or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=size, label="reading the log", file=sys.stderr) as progress:
        yield progress.update


@contextmanager
def stopping() -> Iterator[None]:
    """What linting the paths may meet, as one clear line."""
    from dslint.fixing.writing import Unreadable
    from dslint.launches.discover import NoSuchPath

    try:
        yield
    except (NoSuchPath, Unreadable, ValueError) as error:
        raise Stop(str(error)) from error


def reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, PermissionError):
        return "may not be read"
    return str(error)
