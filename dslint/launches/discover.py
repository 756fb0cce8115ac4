"""Paths → the files worth reading: folders are walked, .gitignore is respected, what no reader knows is left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

FileKind = Literal["json", "yaml", "shell", "makefile", "dockerfile", "python", "notebook"]

KINDS: Final[dict[str, FileKind]] = {
    ".json": "json",
    ".json5": "json",
    ".jsonc": "json",
    ".hjson": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "shell",
    ".bash": "shell",
    ".sbatch": "shell",
    ".slurm": "shell",
    ".pbs": "shell",
    ".mk": "makefile",
    ".dockerfile": "dockerfile",
    ".py": "python",
    ".ipynb": "notebook",
}

SKIPPED: Final = frozenset(
    {"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "wandb", "build", "dist"}
)


class File(NamedTuple):
    """A file to read. `path` is where it lies, `shown` how reports name it; `named` when the user gave it itself."""

    path: str
    shown: str
    kind: FileKind
    named: bool


class NoSuchPath(Exception):
    """A path on the command line that isn't there: one sentence."""


def discover(
    paths: Sequence[str], include: Sequence[str] = (), exclude: Sequence[str] = (), root: str = ""
) -> list[File]:
    """The files of some paths, each once, in a stable order.

    `include` and `exclude` are gitignore-style patterns relative to `root`, the working directory when it is empty;
    they choose among what folders hold, and `exclude` also drops files that are named (pre-commit names every file).

    Raises:
        NoSuchPath: a path is not there.
    """
    chosen = Patterns(include, exclude, root)
    found: dict[str, File] = {}
    folders: dict[str, str] = {}
    for path in paths:
        for file in files_at(path, chosen):
            found.setdefault(identity(file.path, folders), file)
    return list(found.values())


def identity(path: str, folders: dict[str, str]) -> str:
    """What makes two paths one file; `folders` keeps what was learned of the folders, which most files share."""
    if os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder or ".")
    return os.path.join(folders[folder], name)


class Patterns:
    """The settings' include and exclude, compiled when they are there at all."""

    __slots__ = ("_exclude", "_include", "_root")

    def __init__(self, include: Sequence[str], exclude: Sequence[str], root: str = "") -> None:
        self._include = compile_patterns(include)
        self._exclude = compile_patterns(exclude)
        self._root = root

    def excluded(self, shown: str) -> bool:
        return self._exclude is not None and bool(self._exclude.match_file(self.from_root(shown)))

    def wanted(self, shown: str) -> bool:
        return not self.excluded(shown) and (
            self._include is None or bool(self._include.match_file(self.from_root(shown)))
        )

    def from_root(self, shown: str) -> str:
        """A path, shown from the working directory, as the patterns see it."""
        return os.path.relpath(shown, self._root).replace(os.sep, "/") if self._root else shown


def compile_patterns(lines: Sequence[str]) -> Any:
    """The patterns; those that are none, or that would keep the matching of a long name busy, match nothing."""
    if not lines:
        return None
    # Imported here: most runs have no pattern.
    import pathspec

    try:
        return pathspec.GitIgnoreSpec.from_lines(line for line in lines if not is_busy(line))
    except ValueError:
        return pathspec.GitIgnoreSpec.from_lines(
            line for line in lines if not is_busy(line) and is_pattern(line)
        )


def is_busy(line: str) -> bool:
    """Each star multiplies the time by the length of the name: more than a few, and a long name takes for ever."""
    parts = line.split("/")
    return parts[:-1].count("**") > MOST_DEPTHS or any(
        part.count("*") > MOST_STARS for part in parts if part != "**"
    )


def is_pattern(line: str) -> bool:
    import pathspec

    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def files_at(path: str, chosen: Patterns) -> Iterator[File]:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NoSuchPath(f"{path}: {reason}; give a file or a folder that exists") from error
    if stat.S_ISDIR(mode):
        yield from files_below(path, chosen)
        return
    shown = shown_path(path)
    if not chosen.excluded(shown):
        yield File(path, shown, kind_of(path) or "json", True)


def shown_path(path: str) -> str:
    """A path as reports show it: relative to the working directory, with `/`."""
    relative = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
    return relative.replace(os.sep, "/")


def kind_of(path: str) -> FileKind | None:
    name = os.path.basename(path)
    kind = KINDS.get(os.path.splitext(name)[1].lower())
    if kind is not None:
        return kind
    lower = name.lower()
    if lower in ("makefile", "gnumakefile"):
        return "makefile"
    if lower == "dockerfile" or lower.startswith("dockerfile."):
        return "dockerfile"
    return None


def files_below(folder: str, chosen: Patterns) -> Iterator[File]:
    """Regular files of known kinds below a folder; hidden folders, environments and ignored files are left out."""
    top = os.path.abspath(folder)
    stack: list[tuple[str, tuple[Ignore, ...]]] = [(top, ignores_above(top))]
    while stack:
        here, ignores = stack.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            continue
        # A link of this name may lead to a pipe, which waits, or to a device, which has no end.
        if any(entry.name == ".gitignore" and is_regular(entry) for entry in entries):
            ignores = (*ignores, Ignore(here))
        below = []
        for entry in entries:
            if is_ignored(entry.path, entry.is_dir(follow_symlinks=False), ignores):
                continue
            if entry.is_dir(follow_symlinks=False):
                if is_worth_walking(entry):
                    below.append((entry.path, ignores))
            elif (kind := kind_of(entry.name)) is not None and is_regular(entry):
                shown = shown_path(entry.path)
                if chosen.wanted(shown):
                    yield File(entry.path, shown, kind, False)
        stack.extend(reversed(below))


def is_regular(entry: os.DirEntry[str]) -> bool:
    """A regular file, or a link to one; a link that leads in a circle is none."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_worth_walking(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if name.startswith(".") or name in SKIPPED or name.endswith(".egg-info"):
        return False
    return not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


MOST_STARS: Final = 4
MOST_DEPTHS: Final = 2
LONGEST_IGNORE: Final = 1_000_000


class Ignore:
    """One .gitignore, with the folder that its patterns are relative to."""

    __slots__ = ("folder", "spec")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
            self.spec = compile_patterns(file.read(LONGEST_IGNORE).splitlines())

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        if self.spec is None:
            return None
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = self.spec.check_file(relative).include
        return None if verdict is None else bool(verdict)


def is_ignored(path: str, is_folder: bool, ignores: tuple[Ignore, ...]) -> bool:
    for ignore in reversed(ignores):
        verdict = ignore.verdict(path, is_folder)
        if verdict is not None:
            return verdict
    return False


def ignores_above(folder: str) -> tuple[Ignore, ...]:
    """The .gitignore files between a folder and the top of its git repository."""
    found: list[Ignore] = []
    here = folder
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return ()
        here = parent
        if os.path.isfile(os.path.join(here, ".gitignore")):
            found.append(Ignore(here))
    return tuple(reversed(found))
