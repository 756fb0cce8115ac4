"""What fuzzing begins with: the corpus beside the repository, the rules' examples, docs, samples and tests' logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = ROOT.parent / "shared" / "corpus"
BLOCK: Final = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)
MOST: Final = 20_000
"""Bytes of a seed: a longer one makes every try slow."""


def files(folder: Path, *patterns: str) -> Iterator[bytes]:
    """The files below a folder whose names match; none where the folder is absent."""
    for pattern in patterns:
        for path in sorted(folder.rglob(pattern)):
            if path.is_file() and path.stat().st_size <= MOST:
                yield path.read_bytes()


def examples(*endings: str) -> Iterator[bytes]:
    """The texts of the rules' examples whose file names have one of the endings."""
    yield from (text for name, text in all_examples() if name.endswith(endings))


@cache
def all_examples() -> tuple[tuple[str, bytes], ...]:
    """Every text of every example, with its file's name; reading all rules takes seconds."""
    from dslint.rules.compile import rule_files

    found: list[tuple[str, bytes]] = []
    for _, rule in rule_files(str(ROOT / "rules")):
        for example in rule.examples:
            texts = {example.filename: example.bad or example.good or "", **example.files}
            found += [(name, text.encode()) for name, text in texts.items()]
    return tuple(found)


def blocks(*languages: str) -> Iterator[bytes]:
    """The code blocks of the documentation in these languages."""
    for text in files(ROOT / "docs", "*.md"):
        for language, block in BLOCK.findall(text.decode()):
            if language in languages:
                yield block.encode()


def schema_keys() -> list[str]:
    """Every key that the newest release's schema knows, at any depth."""
    from dslint.releases.release import NEWEST
    from dslint.releases.schema import schema_for

    found: set[str] = set()
    stack = [schema_for(NEWEST)]
    while stack:
        for name, entry in stack.pop().get("properties", {}).items():
            found.add(name)
            stack.append(entry)
    return sorted(found)
