"""A shell script → the configs that it writes itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dslint.documents import json
from dslint.documents.script import Heredoc, Script
from dslint.documents.tree import Document, Source
from dslint.launches.recognise import is_config, may_be_config


class Written(NamedTuple):
    """A config that a script writes: the path that it gives it, None when that is not known."""

    path: str | None
    document: Document


def written_configs(script: Script, source: Source) -> list[Written]:
    """The DeepSpeed configs among a script's heredocs, each a document with its places in the script."""
    return list(heredoc_configs(script, source))


def heredoc_configs(script: Script, source: Source) -> Iterator[Written]:
    for heredoc in script.heredocs:
        if heredoc.appends or heredoc.reader == "python":
            continue
        text = source.text[heredoc.start : heredoc.end]
        target = target_of(heredoc)
        if not text.lstrip().startswith("{") or not may_be_config(target or "", text):
            continue
        document = json.parse(
            source, heredoc.start, heredoc.end, None if heredoc.quoted else heredoc.substitute
        )
        if is_config(document):
            yield Written(target, document)


def target_of(heredoc: Heredoc) -> str | None:
    if heredoc.target is None:
        return None
    return heredoc.target.text if isinstance(heredoc.target.text, str) else None
