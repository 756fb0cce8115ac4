"""Where reports go when there are several, or when one goes to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from dslint.cli.check import Output
from dslint.cli.exits import Stop


def paired(
    order: Sequence[str | None], formats: Sequence[str], files: Sequence[str], default: str
) -> list[Output]:
    """The outputs of repeated options; `order` names the parameters as they were given.

    A file belongs to the format before it; one that has none before it takes the format behind it, else `default`.
    What is left without a file goes to standard output.
    """
    found = [
        Output(format_ or default, None if file == "-" else file)
        for format_, file in pairs(order, list(formats), list(files))
    ]
    targets = [None if output.file is None else os.path.realpath(output.file) for output in found]
    for output, target in zip(found, targets, strict=True):
        if targets.count(target) > 1:
            place = "standard output" if output.file is None else output.file
            raise click.UsageError(
                f"Two reports would go to {place}; give each --output-format an --output-file of its own."
            )
    return found


def pairs(
    order: Sequence[str | None], formats: list[str], files: list[str]
) -> Iterator[tuple[str | None, str | None]]:
    format_: str | None = None
    file: str | None = None
    for name in order:
        if name == "output_format":
            if format_ is not None:
                yield format_, file
                file = None
            format_ = formats.pop(0)
        elif name == "output_file":
            if file is not None:
                yield format_, file
                format_ = None
            file = files.pop(0)
        if format_ is not None and file is not None:
            yield format_, file
            format_ = file = None
    if format_ is not None or file is not None:
        yield format_, file


def write(path: str, text: str) -> None:
    """Writes a report, all of it or nothing.

    Raises:
        Stop: it cannot be written.
    """
    from dslint.reports.files import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise Stop(f"{path}: the report can't be written: {error.strerror}") from error
