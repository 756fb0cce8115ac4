"""`dslint server`: the language server, on standard input and output or a port of this machine."""

from __future__ import annotations

import sys

import click

from dslint.cli.exits import Stop


@click.command("server")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output (the default).")
@click.option(
    "--tcp",
    "port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Wait for an editor on this port of this machine.",
)
def command(stdio: bool, port: int | None) -> None:
    """Serve editors over the Language Server Protocol: diagnostics, fixes, hover, completion.

    An editor starts it; it reads files, and writes none.
    """
    if stdio and port is not None:
        raise click.UsageError("--stdio and --tcp are two ways to speak; give one of them.")
    try:
        from dslint.server.app import make
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise Stop(
            f"the language server needs {error.name}, which is not installed here: pip install 'deepspeed-lint[server]'"
        ) from None
    server = make()
    if port is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", port)
    # An editor that goes without saying so is an error to the protocol.
    sys.exit(not server.was_shut_down)
