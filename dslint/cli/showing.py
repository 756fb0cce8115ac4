"""`--show-settings`."""

from __future__ import annotations

import os

import click

from dslint.documents.tree import Place
from dslint.releases.pins import resolve_release
from dslint.settings import Settings, called, shown


def show(settings: Settings) -> None:
    """Prints the settings in force, and the release that counts where none is set."""
    click.echo(shown(settings), nl=False)
    if settings.deepspeed_version is None:
        name, learned = resolve_release(None, None, os.getcwd())
        click.echo(f"\n# the DeepSpeed release here: {name}, from {place(learned)}")


def place(learned: Place | str) -> str:
    if isinstance(learned, str):
        return learned
    return f"{called(learned.source.path)}:{learned.source.position(learned.start).row}"
