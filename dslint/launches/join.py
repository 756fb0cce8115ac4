"""Files → launches: which config meets which framework, arguments, hardware, world size and release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dslint.documents import json
from dslint.documents.tree import Document, Node, Source, walk
from dslint.launches.discover import File
from dslint.launches.launch import Framework, Launch
from dslint.launches.recognise import is_config, may_be_config
from dslint.releases.pins import resolve_release
from dslint.releases.release import Release, parse_version

if TYPE_CHECKING:
    from dslint.linting import Context
    from dslint.workspace import Workspace


def launches_of(read: Sequence[tuple[File, Source]], context: Context, workspace: Workspace) -> list[Launch]:
    """Every launch that the files make, configs on their own included."""
    return [config_alone(document, context, file) for file, document in configs(read)]


def configs(read: Sequence[tuple[File, Source]]) -> Iterator[tuple[File, Document]]:
    for file, source in read:
        if file.kind == "json" and may_be_config(source.path, source.text):
            document = json.parse(source)
            if is_config(document):
                yield file, document


def config_alone(document: Document, context: Context, file: File) -> Launch:
    """A config that no launch names: what the options say, and what the file itself shows."""
    return Launch(
        config=document,
        release=release_of(context, file),
        framework=context.framework or framework_shown(document.root),
        hardware=context.hardware,
        world_size=context.world_size,
    )


def release_of(context: Context, file: File) -> Release:
    name, _ = resolve_release(context.release, None, os.path.dirname(os.path.abspath(file.path)))
    release = parse_version(name)
    assert release is not None, name
    return release


def framework_shown(root: Node) -> Framework | None:
    """A config that says "auto" is written for the HF Trainer, or for Accelerate, which fill it the same way."""
    return "transformers" if any(node.value == "auto" for _, node in walk(root)) else None
