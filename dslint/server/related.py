"""Which files belong together: one names the other, or a third names both."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

# So many files are judged together at most; those nearest to what is open come first.
MOST = 80


def related(opened: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Of the files in `texts` (by absolute path), those that a chain of names ties to the ones that are open."""
    found = [path for path in opened if path in texts]
    left = [path for path in texts if path not in found]
    words = {path: words_for(path) for path in texts}
    for here in found:
        if len(found) >= MOST:
            break
        near = [path for path in left if names(texts[here], words[path]) or names(texts[path], words[here])]
        found += near
        left = [path for path in left if path not in near]
    return found[:MOST]


class Words:
    """How other files may name a file: by its own name, and a Python file by its module's (`-m pkg.train`)."""

    __slots__ = ("module", "name")

    def __init__(self, name: str, module: re.Pattern[str] | None) -> None:
        self.name = name
        self.module = module


def words_for(path: str) -> Words:
    name = os.path.basename(path)
    stem, suffix = os.path.splitext(name)
    module = re.compile(rf"-m\s+(?:\w+\.)*{re.escape(stem)}\b") if suffix == ".py" else None
    return Words(name, module)


def names(text: str, words: Words) -> bool:
    return words.name in text or (words.module is not None and words.module.search(text) is not None)
