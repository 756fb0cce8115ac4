"""How a command ends when it could not do its work: one clear line on standard error, status 2."""

from __future__ import annotations

from typing import Final

import click

LONGEST: Final = 2_000
"""Characters of a line: what a file holds may be quoted in it, and a file may hold anything."""


class Stop(click.ClickException):
    """dslint could not do its work: bad usage, an unreadable file, a broken settings or rule file."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        tell(self.message)


def tell(message: str) -> None:
    """Say something on standard error, on one line, with nothing in it that a terminal would obey."""
    # Imported here: most runs have nothing to say here.
    from dslint.reports.visible import one_line

    line = one_line(message)
    click.echo(f"dslint: {line if len(line) <= LONGEST else line[:LONGEST] + '…'}", err=True)
