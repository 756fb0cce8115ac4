"""What the commands that change files do with the new texts: show the difference, or write them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from dslint.cli.exits import Stop
from dslint.documents.tree import Source
from dslint.fixing.apply import diff
from dslint.fixing.together import Rewrite, write_all
from dslint.fixing.writing import Unwritable
from dslint.workspace import Workspace


def show(texts: Mapping[str, Source], workspace: Workspace) -> None:
    """The difference to what lies on the disk, by path, as a patch on standard output."""
    for path, source in sorted(texts.items()):
        before = workspace.source(path, source.path)
        exact(diff(source.path, before.text, source.text))


def replace(texts: Mapping[str, Source], workspace: Workspace) -> None:
    """Writes new texts, by path, in the place of those that were read; all of them or none.

    Raises:
        Stop: a file can't be written, or is another one by now.
    """
    rewrites = [
        Rewrite(path, workspace.source(path, source.path).text, source.text)
        for path, source in sorted(texts.items())
    ]
    try:
        write_all(rewrites)
    except Unwritable as error:
        raise Stop(str(error)) from error


def exact(text: str) -> None:
    """Text of a file → standard output, byte for byte whatever its encoding: it becomes a file or a patch."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(text if terminal else text.encode("utf-8", "surrogateescape"), nl=False)
