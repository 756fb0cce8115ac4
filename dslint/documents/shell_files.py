"""Which files a command makes or changes, by its arguments: what only a run would show of their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from dslint.documents.shell_words import Piece, Word, word

IN_PLACE: Final = re.compile(r"-[A-Za-z0-9]*i.*|--in-?place.*")
# Options of these commands that take their value as the next word.
WITH_VALUE: Final = {
    "sed": frozenset({"-e", "-f", "-l", "--expression", "--file"}),
    "perl": frozenset({"-e", "-E", "-I", "-M"}),
    "cp": frozenset({"-t", "-S", "--target-directory", "--suffix"}),
    "mv": frozenset({"-t", "-S", "--target-directory", "--suffix"}),
    "install": frozenset({"-m", "-o", "-g", "-t"}),
}
OUTPUT: Final = {
    "wget": ("-O", "--output-document"),
    "curl": ("-o", "--output"),
    "gdown": ("-O", "--output"),
}


def changed_files(words: Sequence[Word]) -> list[Word]:
    """The words that name files which the command writes, redirects aside."""
    text = words[0].text if words else None
    name = text.rpartition("/")[2] if isinstance(text, str) else ""
    arguments = words[1:]
    if name in ("sudo", "command", "exec") and arguments:
        return changed_files(arguments)
    if name in ("sed", "gsed", "perl"):
        return edited_in_place("perl" if name == "perl" else "sed", arguments)
    if name in ("yq", "jq") and any(argument.text in ("-i", "--inplace", "-iy") for argument in arguments):
        return [argument for argument in positionals("sed", arguments)[1:] if argument.text != "eval"]
    if name in ("tee", "touch", "sponge", "truncate"):
        return positionals("", arguments)
    if name in ("cp", "mv", "install", "ln", "rsync"):
        return copied(name, arguments)
    if name in OUTPUT:
        return outputs(OUTPUT[name], arguments)
    return []


def positionals(name: str, arguments: Sequence[Word]) -> list[Word]:
    found: list[Word] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument.prefix.startswith("-") and argument.text != "-":
            skip = argument.text in WITH_VALUE.get(name, ())
        else:
            found.append(argument)
    return found


def edited_in_place(name: str, arguments: Sequence[Word]) -> list[Word]:
    texts = [argument.text for argument in arguments if isinstance(argument.text, str)]
    if not any(IN_PLACE.fullmatch(text) for text in texts):
        return []
    with_script = any(
        re.fullmatch(r"-[A-Za-z]*[efE]|--expression(=.*)?|--file(=.*)?", text) for text in texts
    )
    files = [argument for argument in positionals(name, arguments) if argument.text != ""]
    return files if with_script else files[1:]


def copied(name: str, arguments: Sequence[Word]) -> list[Word]:
    """The target of a copy, and what it holds then when the target is a folder."""
    paths = positionals(name, arguments)
    if len(paths) < 2:
        return []
    target = paths[-1]
    if not isinstance(target.text, str):
        return [target]
    folder = target.text.rstrip("/")
    span = (target.start, target.end)
    texts = [
        f"{folder}/{source.text.rpartition('/')[2]}" for source in paths[:-1] if isinstance(source.text, str)
    ]
    return [target, *(word([Piece(text, (span,))], target.use, target.quoted, span) for text in texts)]


def outputs(names: Sequence[str], arguments: Sequence[Word]) -> list[Word]:
    found: list[Word] = []
    for option, following in pairwise(arguments):
        if option.text in names:
            found.append(following)
    for option in arguments:
        for name in names:
            if isinstance(option.text, str) and option.text.startswith(f"{name}=") and name.startswith("--"):
                found.append(option.after(len(name) + 1))
    return found
