"""A Python program → the launches that it makes on its own: its configs with the arguments beside them."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.documents.python import Loaded, Program
from dslint.documents.tree import Document, Place
from dslint.launches.programs import ConfigUse, as_loaded, config_uses, written_configs
from dslint.launches.reading import Reading
from dslint.launches.resolve import find_file


def uses_of(program: Program, versions: dict[str, str]) -> list[ConfigUse]:
    """The calls of a program that take a config; a mere look at one adds nothing where another call takes it too."""
    uses = config_uses(program, versions)
    taking = [use for use in uses if use.framework is not None]
    return taking or uses


def config_of(use: ConfigUse, program: Program, reading: Reading) -> tuple[str | None, Document] | None:
    """The config of a call, with its path when it is a file's; None where it is not known or not there."""
    if isinstance(use.config, Document):
        return None, use.config
    if isinstance(use.config, Loaded):
        path = find_file(use.config.path, program.source, reading.workspace)
        document = None if path is None else reading.config(path)
        return None if document is None else (path, as_loaded(document, use.config))
    return None


def written(program: Program) -> Iterator[tuple[str, Document]]:
    """The configs that a program writes to files, and nobody in it takes."""
    yield from written_configs(program)


def is_missing(use: ConfigUse, program: Program, reading: Reading) -> Place | None:
    """Where a call names a config file that is nowhere to be found."""
    if (
        isinstance(use.config, Loaded)
        and find_file(use.config.path, program.source, reading.workspace) is None
    ):
        return use.place
    return None
