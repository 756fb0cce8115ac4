"""How a command ends when it could not do its work: one clear line on standard error, status 2."""

from __future__ import annotations

import click


class Stop(click.ClickException):
    """dslint could not do its work: bad usage, an unreadable file, a broken settings or rule file."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        click.echo(f"dslint: {' '.join(self.message.split())}", err=True)
