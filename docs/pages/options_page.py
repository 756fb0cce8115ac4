"""Every command and option, as click knows them."""

from __future__ import annotations

import inspect

import click

from dslint.cli.main import COMMANDS, cli


def page() -> str:
    parts = [
        "# Commands and options\n\n`dslint [OPTIONS] [PATHS]...` is short for `dslint check`.\n\nExit status: 0 nothing at or"
        " above `--fail-on`; 1 something; 2 dslint could not do its work."
    ]
    context = click.Context(cli, info_name="dslint")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is not None:
            parts.append(section(name, command, context))
    return "\n\n".join(parts) + "\n"


def section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## dslint {name}", f"```sh\ndslint {name} {usage}\n```", text_of(command)]
    options = [
        row(option, context) for option in command.get_params(context) if isinstance(option, click.Option)
    ]
    return "\n\n".join([*lines, "| option | |\n|---|---|\n" + "\n".join(options)])


def text_of(command: click.Command) -> str:
    # click keeps a paragraph as it is after \b; Markdown has no use for that mark.
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def row(option: click.Option, context: click.Context) -> str:
    names, told = option.get_help_record(context) or (", ".join(option.opts), "")
    told = told.replace("|", "\\|").replace("<", "&lt;")
    return f"| <code>{breakable(names)}</code> | {told} |"


def breakable(text: str) -> str:
    """With a place to break the line behind each choice."""
    return text.replace("<", "&lt;").replace("|", "&#124;<wbr>")
