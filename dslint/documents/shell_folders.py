"""Commands that print a folder: `$(pwd)`, and `$(cd "$(dirname "$0")" && pwd)` for the script's own."""

from __future__ import annotations

import os.path
import posixpath
import re
from typing import Final

from dslint.documents.shell_scope import Scope

FOLDER_OF: Final = re.compile(r"\s*dirname\s+\"?\$\{?([A-Za-z_]\w*)\}?\"?(/\.\.(?:/\.\.)*)?\s*")
OWN_PATH: Final = re.compile(r"\$\(\s*(?:realpath|readlink)\s+(?:-\w+\s+)?\"?\$\{?(?:0|BASH_SOURCE)|\$0\+")
# Read without its quotes and the blanks beside its brackets.
OWN_FOLDER: Final = re.compile(
    r"(?:(?:readlink|realpath)(?: -\w+)? (?:\$\()?)?(?:cd (?:-\w |-- )*)?(?:\$\(|`)*dirname (?:-- )?"
    r"(?:\$\((?:readlink|realpath)(?: -\w+)? )?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})[)`]*"
    r"(?:/(\.\.(?:/\.\.)*))?[)`]*(?: ?&?>/dev/null)?(?: 2>&1)?(?: && pwd(?: -\w)?)?[)`]*"
)


def here(scope: Scope) -> tuple[str, ...]:
    return (scope.folder.path or ".",) if scope.folder is not None else ()


def folder_printed(command: str, scope: Scope, path: str) -> tuple[str, ...]:
    """The folder that a command prints, as a choice of texts: relative, where a run prints the whole path."""
    if command.strip() in ("pwd", "pwd -P", "realpath .", "readlink -f ."):
        return here(scope)
    named = FOLDER_OF.fullmatch(command)
    if named is not None:
        value = scope.values.get(named[1])
        first = value.first[:1] if value is not None else ()
        own = bool(first) and OWN_PATH.match(first[0].symbol) is not None
        command = f'dirname "$0"{named[2] or ""}' if own else command
    if "dirname" not in command:
        return ()
    bare = re.sub(r"(?<=[(`])\s+|\s+(?=[)`])|[\"']", "", command)
    match = OWN_FOLDER.fullmatch(re.sub(r"\s+", " ", bare).strip())
    if match is None:
        return ()
    return (posixpath.normpath(posixpath.join(os.path.dirname(path) or ".", match[1] or "")),)
