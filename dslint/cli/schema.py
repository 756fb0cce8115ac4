"""`dslint schema`: the JSON Schema of a release, for editors and other programs."""

from __future__ import annotations

import json

import click

from dslint.cli.exits import Stop


@click.command("schema")
@click.option(
    "--release", "name", default=None, help="A DeepSpeed release, X.Y.Z; the newest known by default."
)
@click.option("--list", "listed", is_flag=True, help="List the releases at which what is accepted changes.")
@click.option("--output", type=click.Path(dir_okay=False), default=None, help="Write to a file.")
def command(name: str | None, listed: bool, output: str | None) -> None:
    """Print the JSON Schema (2020-12) of what a DeepSpeed release accepts.

    Give it to an editor as the schema of your ds_config files.
    """
    from dslint.releases.release import NEWEST, parse_version
    from dslint.releases.schema import full_schema, known_schemas

    if listed:
        click.echo("\n".join(known_schemas()))
        return
    release = NEWEST if name is None else parse_version(name)
    if release is None:
        raise Stop(f"{name} is no DeepSpeed version; write it as X.Y.Z, for example {NEWEST.name}")
    text = json.dumps(full_schema(release), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise Stop(f"{output} can't be written: {error.strerror}") from error
