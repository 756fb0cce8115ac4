"""What builtin commands do to the shell's state: cd, source, shift, set, read."""

from __future__ import annotations

import os.path
import posixpath
import re
from collections.abc import Sequence
from typing import Final

from dslint.documents.script import Folder
from dslint.documents.shell_scope import Scope, texts_of, unknown
from dslint.documents.shell_words import Word, text_of
from dslint.documents.tree import Unknown

# Files that set up an environment and leave a script's own variables alone.
SETUP_FILE: Final = re.compile(
    r"activate$|(^|/)(\.?bash\w*|\.?profile|\.?zshrc|conda\.sh|modules?\.sh|setvars\.sh|lmod\w*)$|^/etc/|/init/"
)


def moved(name: str, words: Sequence[Word], scope: Scope) -> Folder | None:
    targets = [word for word in words[1:] if word.text not in ("--", "-P", "-L")]
    if name == "popd" or len(targets) != 1 or targets[0].text == "-":
        return None
    target = targets[0]
    if isinstance(target.text, str):
        if scope.folder is None and not os.path.isabs(target.text):
            return None
        base = scope.folder or Folder("start", "")
        return base._replace(path=posixpath.normpath(posixpath.join(base.path, target.text)))
    first = target.pieces[0]
    own = isinstance(first.text, Unknown) and "dirname" in first.symbol and len(first.choices) == 1
    rest = text_of(target.pieces[1:])
    if own and isinstance(rest, str):
        return Folder("files", posixpath.normpath(f"{first.choices[0]}/{rest}"))
    return None


def sourced(file: Word, scope: Scope) -> None:
    """Another script may set what this one has set before."""
    if SETUP_FILE.search(file.tail):
        return
    for name, value in list(scope.values.items()):
        if name.startswith("SLURM_"):
            continue
        choices = () if value.array else texts_of(value.first)
        symbol = f"{name}@source{file.start}"
        scope.values[name] = unknown(symbol, choices=choices, many=value.array)


def shift(words: Sequence[Word], scope: Scope) -> None:
    count = words[1].text if len(words) > 1 else "1"
    if scope.positional is None:
        scope.shifts += 1
    elif isinstance(count, str) and count.isdecimal():
        scope.positional = scope.positional[int(count) :]
    else:
        scope.positional = None
        scope.shifts = words[0].start + 1


def set_options(words: Sequence[Word], scope: Scope) -> None:
    texts = [word.text for word in words[1:]]
    if texts[:1] == ["--"]:
        scope.arguments(words[2:], words[0].start)
    elif "allexport" in texts:
        scope.all_exported = "-o" in texts
    elif texts and isinstance(texts[0], str) and re.fullmatch(r"[-+][a-z]*a[a-z]*", texts[0]):
        scope.all_exported = texts[0][0] == "-"


def names_read(name: str, words: Sequence[Word]) -> list[str]:
    """The variables that `read`, `mapfile`, `getopts`, `let` and `printf -v` set."""
    texts = [word.text for word in words[1:] if isinstance(word.text, str)]
    if name == "printf":
        return texts[1:2] if texts[:1] == ["-v"] else []
    if name == "let":
        matches = [re.match(r"([A-Za-z_]\w*)\s*[-+*/%]?(?:=|\+\+|--)", text) for text in texts]
        return [match[1] for match in matches if match is not None]
    return [text for text in texts if text.isidentifier()]


def read_into(name: str, words: Sequence[Word], scope: Scope) -> list[str]:
    """Make unknown what a command reads from outside; gives the variables' names."""
    names = names_read(name, words)
    flags = {word.text for word in words if isinstance(word.text, str)}
    many = name in ("mapfile", "readarray") or bool(flags & {"-a", "-ra", "-ar"})
    for target in names:
        scope.assign(target, unknown(f"{target}@{words[0].start}", many=many))
    return names
