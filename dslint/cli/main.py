"""The command line: `dslint [PATHS]` is `dslint check [PATHS]`; other commands are imported when they are called."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from dslint import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Name → module and the sentence that `dslint --help` shows, so that help imports no command.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "check": ("dslint.cli.check", "Check configs and launches (the default)."),
    "rule": ("dslint.cli.rule", "Explain a rule, or list all of them."),
    "schema": ("dslint.cli.schema", "Print the JSON Schema of a DeepSpeed release."),
    "hardware": ("dslint.cli.hardware", "List the GPU kinds, or detect this machine's."),
    "init": ("dslint.cli.init", "Write a config that is right for a machine."),
    "validate": ("dslint.cli.validate", "Train a few steps with a config on the real DeepSpeed."),
    "migrate": ("dslint.cli.migrate", "Move a training from fp16 to bf16, or back."),
    "upgrade": ("dslint.cli.upgrade", "What another DeepSpeed release means for these files."),
    "diagnose": ("dslint.cli.diagnose", "Find the cause of a failed run in its log."),
    "server": ("dslint.cli.server", "Serve editors: diagnostics, fixes, hover, completion."),
}

# What a full or broken disk says. Windows knows no quota.
FULL: Final = (errno.ENOSPC, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))

# Set where a shell asks for completions.
COMPLETE: Final = "_DSLINT_COMPLETE"


class Commands(click.Group):
    """A group whose commands are imported on demand, and whose first argument may be a path."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a first word may be: a command, an option of the default one, or a path."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            check = importlib.import_module(COMMANDS["check"][0]).command
            within = check.make_context("check", [], parent=ctx, resilient_parsing=True)
            options: list[CompletionItem] = check.shell_complete(within, incomplete)
            return options
        named = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items()]
        return [item for item in named if item.value.startswith(incomplete)] + [
            CompletionItem(incomplete, type="file")
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:
            # A shell asks what the first word may be: not yet one of check's.
            return super().parse_args(ctx, args)
        if not args or (args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version")):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__,
    prog_name="dslint",
    # Said here, as click's own words are looked up in catalogues of translations, which a cold start pays for.
    message="%(prog)s, version %(version)s",
    help="Show the version and exit.",
)
def cli() -> None:
    """The linter and auto-fixer for DeepSpeed training.

    dslint [OPTIONS] [PATHS]... is short for dslint check; see dslint check --help for its options.
    """


def main() -> None:
    """The entry point: runs the command, and turns what only the system can cause into one line and status 2."""
    # Trees of nodes have no cycles to look for; collecting seldom saves a tenth of a run.
    gc.set_threshold(200_000)
    for stream in (sys.stdout, sys.stderr):
        # A log that takes only ASCII, or a Windows code page, gets escapes for what it can't show.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    status: object = 0
    try:
        status = run(sys.argv[1:])
    except BrokenPipeError:
        # The reader went away (`dslint | head`); there is nobody left to tell.
        sys.stderr.close()
        sys.exit(2)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in FULL:
            click.echo(f"dslint: the output can't be written: {error.strerror}", err=True)
            # What is left in the buffer would fail once more when Python ends.
            os._exit(2)
        if os.environ.get("DSLINT_DEBUG"):
            raise
        kind = type(error).__name__
        from dslint.cli.exits import tell

        if isinstance(error, FileNotFoundError) and is_homeless():
            tell("the working directory is not there any more; change into one that is")
            sys.exit(2)
        tell(
            f"internal error, {kind}: {' '.join(str(error).split())[:300]}; this is a bug in dslint: "
            "please report it with the file, and set DSLINT_DEBUG=1 for the traceback"
        )
        sys.exit(2)
    if sys.gettrace() is None:
        # What the run made needs no taking apart: that would be a tenth of a short run.
        os._exit(status if isinstance(status, int) else int(status is not None))
    sys.exit(status)  # type: ignore[arg-type]


def is_homeless() -> bool:
    """Was the working directory deleted or replaced since the shell went there?"""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def run(words: list[str]) -> object:
    """Runs the command that the words ask for, and gives its exit status.

    The default command runs without the group around it, which a cold start would pay for.
    """
    first = words[0] if words else ""
    try:
        if first in COMMANDS or first in ("-h", "--help", "--version") or COMPLETE in os.environ:
            cli(prog_name="dslint")
        else:
            importlib.import_module(COMMANDS["check"][0]).command(words, prog_name="dslint")
    except SystemExit as end:
        if first in COMMANDS and first != "check":
            raise
        for stream in (sys.stdout, sys.stderr):
            # Whoever starts a program may have closed them (`>&-`).
            if stream is not None:
                stream.flush()
        return end.code
    return 0


if __name__ == "__main__":
    main()
