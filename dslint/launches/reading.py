"""What the files of a run hold, each parsed once: configs, scripts, programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dslint.documents import json
from dslint.documents.tree import UNKNOWN, Dialect, Document, Node, Source, Syntax
from dslint.fixing.writing import Unreadable
from dslint.launches.discover import File, shown_path
from dslint.launches.recognise import is_config, may_be_config
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.documents.python import Program
    from dslint.documents.script import Script


# Characters; a config is some kilobytes, and with lists of modules in it some tens. What is longer holds data, and the
# time and memory of a run must not be at its mercy.
LONGEST_CONFIG: Final = 400_000


def refuse_long(file: File, source: Source) -> None:
    """Raises Unreadable for a JSON file that is too long for any config."""
    if file.kind == "json" and len(source.text) > LONGEST_CONFIG:
        raise Unreadable(
            f"{file.shown} has {len(source.text):,} characters, and no config has more than {LONGEST_CONFIG:,}; "
            "it was not checked"
        )


class Reading:
    """The files that were asked for, and those that they name, by absolute path."""

    __slots__ = ("_configs", "_programs", "files", "workspace")

    def __init__(self, read: Sequence[tuple[File, Source]], workspace: Workspace) -> None:
        self.files = [(os.path.abspath(file.path), file, source) for file, source in read]
        self.workspace = workspace
        self._configs: dict[str, Document | None] = {}
        self._programs: dict[str, Program | None] = {}

    def configs(self) -> list[tuple[str, Document]]:
        """The JSON files that were asked for and are DeepSpeed configs by their content."""
        found = []
        for path, file, source in self.files:
            if file.kind == "json" and may_be_config(source.path, source.text):
                document = self.parsed(path, source)
                if is_config(document):
                    found.append((path, document))
        return found

    def parsed(self, path: str, source: Source) -> Document:
        known = self._configs.get(path)
        if known is None:
            known = self._configs[path] = parsed(source)
        return known

    def config(self, path: str) -> Document | None:
        """The config at a path that some file names, whatever it holds; None where it can't be read."""
        if path not in self._configs:
            source = self.source(path)
            if source is not None and len(source.text) > LONGEST_CONFIG:
                source = None
            self._configs[path] = None if source is None else parsed(source)
        return self._configs[path]

    def source(self, path: str) -> Source | None:
        try:
            return self.workspace.source(path, shown_path(path))
        except Unreadable:
            return None

    def scripts(self) -> list[tuple[str, Script]]:
        """The shell scripts, Makefiles and Dockerfiles that may launch something."""
        wanted = [
            (path, source)
            for path, file, source in self.files
            if file.kind in ("shell", "makefile", "dockerfile") and may_launch(source.text)
        ]
        if not wanted:
            return []
        from dslint.documents.shell import read_script

        return [(path, read_script(source)) for path, source in wanted]

    def yamls(self) -> list[tuple[str, Document]]:
        """The documents of the YAML files that may say something of a launch."""
        wanted = [(path, source) for path, file, source in self.files if file.kind == "yaml"]
        if not wanted:
            return []
        from dslint.documents import yaml

        return [
            (path, document)
            for path, source in wanted
            if yaml.looks_relevant(source.text)
            for document in yaml.parse(source)
        ]

    def programs(self) -> list[tuple[str, Program]]:
        """The Python files and notebooks that say something of DeepSpeed."""
        found = []
        for path, file, _ in self.files:
            if file.kind in ("python", "notebook"):
                program = self.program(path)
                if program is not None:
                    found.append((path, program))
        return found

    def program(self, path: str) -> Program | None:
        """The program at a path; None where it is none, or says nothing that matters here."""
        if path not in self._programs:
            self._programs[path] = self.read_program(path)
        return self._programs[path]

    def read_program(self, path: str) -> Program | None:
        source = self.source(path)
        if source is None:
            return None
        if path.endswith(".ipynb"):
            from dslint.documents.notebook import read_notebook

            return read_notebook(source).program if '"cells"' in source.text else None
        from dslint.documents.python import is_worth_reading, read_program

        return read_program(source) if is_worth_reading(source.text) else None


def may_launch(text: str) -> bool:
    """The quick look: does a script name a launcher or a config at all?"""
    return any(word in text for word in LAUNCH_WORDS)


def parsed(source: Source) -> Document:
    document = json.parse(source)
    if not document.problems:
        return document
    # Imported here: a clean file has no placeholder.
    from dslint.launches.templates import without_placeholders

    return without_placeholders(document)


LAUNCH_WORDS = (
    "deepspeed",
    "torchrun",
    "torch.distributed",
    "accelerate",
    "train_batch_size",
    "zero_optimization",
    "llamafactory",
    "axolotl",
    "swift",
    "xtuner",
)


def stub(source: Source, syntax: Syntax, dialect: Dialect) -> Document:
    """The document of a launch that names no config: nothing is known of it, so no condition on it holds."""
    return Document(source, Node("unknown", 0, 0, UNKNOWN), syntax, dialect)
