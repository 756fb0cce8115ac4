"""Which launches a change takes part in: the files that differ from the merge base with a git reference.

git is asked for three things: the top of the repository, the merge base, and that commit's list of files. What differs is
found here, by hashing the files as git does, so that git never looks at the working tree and runs none of the programs that
a repository can name for that (hooks, filters, a file system monitor).
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dslint.launches.discover import File, kind_of
from dslint.launches.launch import Launch
from dslint.launches.taking_part import sources_of
from dslint.releases.pins import Pin, find_pins
from dslint.settings import PROJECT, Settings, project_settings

# Nothing that a repository's own configuration names may be started, and nothing fetched.
QUIET: Final = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.allow=never",
)
HOOKS: Final = ("-c", f"core.hooksPath={os.devnull}")
LINK: Final = "120000"
MODULE: Final = "160000"


class NoChanges(Exception):
    """What has changed cannot be told: one sentence."""


class Entry(NamedTuple):
    mode: str
    object: str


class Base:
    """The files of a commit, by their path from the top, and which of those on disk differ."""

    __slots__ = ("_known", "commit", "entries", "moved", "top")

    def __init__(self, top: str, commit: str, entries: dict[str, Entry], moved: frozenset[str]) -> None:
        self.top = top
        self.commit = commit
        self.entries = entries
        self.moved = moved
        self._known: dict[str, bool] = {}

    def differs(self, path: str) -> bool:
        """Does a file on disk differ from the commit's? One that the commit lacks does."""
        whole = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
        if whole not in self._known:
            self._known[whole] = self._differs(whole)
        return self._known[whole]

    def _differs(self, path: str) -> bool:
        name = os.path.relpath(path, self.top).replace(os.sep, "/")
        if name.startswith("../"):
            return False
        entry = self.entries.get(name)
        if entry is None:
            modules = [inner for inner, at in self.entries.items() if at.mode == MODULE]
            inside = [module for module in modules if name.startswith(module + "/")]
            return inside[0] in self.moved if inside else True
        if os.path.islink(path):
            target = os.fsencode(os.readlink(path))
            return (
                entry.mode != LINK
                or hashed(target, entry) != entry.object
                or self.differs(os.path.realpath(path))
            )
        return not is_same(path, entry)

    def gone(self) -> set[str]:
        """The names of the files that the commit had, of a kind that dslint reads, and that are there no more."""
        return {
            os.path.basename(name)
            for name in self.entries
            if kind_of(name) is not None and not os.path.lexists(os.path.join(self.top, name))
        }

    def text(self, path: str) -> str | None:
        """What a file held in the commit; None where it had none there."""
        entry = self.entries.get(os.path.relpath(os.path.realpath(path), self.top).replace(os.sep, "/"))
        if entry is None:
            return None
        return git(self.top, "cat-file", "blob", entry.object).decode("utf-8", "replace")


def hashed(data: bytes, entry: Entry) -> str:
    """The name that git gives a file's content."""
    algorithm = "sha256" if len(entry.object) == 64 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def is_same(path: str, entry: Entry) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return True
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    # git may have turned line ends when it wrote the file.
    return entry.object in (hashed(data, entry), hashed(data.replace(b"\r\n", b"\n"), entry))


class Changes:
    """What has changed since a reference, as far as it matters to launches."""

    __slots__ = ("_gone", "_whole", "base", "reference")

    def __init__(self, reference: str, base: Base, whole: bool) -> None:
        self.reference = reference
        self.base = base
        self._gone = base.gone()
        self._whole = whole

    def concern(self, launch: Launch) -> bool:
        """Does a launch have a part that has changed: a file, a file that it names and that is gone, or a pin?"""
        if self._whole:
            return True
        sources = sources_of(launch)
        if any(self.base.differs(path) for path in sources):
            return True
        if any(name in source.text for name in self._gone for source in sources.values()):
            return True
        folder = os.path.dirname(os.path.abspath(launch.config.source.path))
        return any(is_new(pin, self.base) for pin in find_pins(folder).values())


def is_new(pin: Pin, base: Base) -> bool:
    """Has the row of a pin changed?"""
    source = pin.place.source
    if not base.differs(source.path):
        return False
    row = source.line(source.position(pin.place.start).row).strip()
    return row not in [line.strip() for line in (base.text(source.path) or "").splitlines()]


def since(reference: str, settings: Settings, files: Sequence[File]) -> Changes:
    """What differs from the merge base of HEAD and a reference: committed or not, and files that git does not know.

    New settings or rules of the team's own change what is said of every launch.

    Raises:
        NoChanges: git is not there, this is no repository, or the reference is no commit with a common ancestor.
    """
    base = base_of(reference, folder_of(files))
    return Changes(reference, base, rules_differ(settings, base) or settings_differ(settings, base))


def folder_of(files: Sequence[File]) -> str:
    """A folder of the repository that is meant: the working directory, unless the files lie elsewhere."""
    here = os.getcwd()
    if not files or os.path.abspath(files[0].path).startswith(os.path.join(here, "")):
        return here
    return os.path.dirname(os.path.abspath(files[0].path))


def base_of(reference: str, folder: str) -> Base:
    if not reference or reference.startswith("-"):
        raise NoChanges(f"--changed {reference}: this is no git reference; name a branch, a tag or a commit")
    top = os.path.realpath(
        os.fsdecode(git(folder, "rev-parse", "--show-toplevel", why=no_repository)).rstrip("\r\n")
    )
    if reference == "HEAD" and is_unborn(top):
        return Base(top, "", {}, frozenset())
    wanted = f"{reference}^{{commit}}"
    git(top, "rev-parse", "--verify", "--quiet", wanted, why=lambda said: no_commit(reference))
    found = git(top, "merge-base", wanted, "HEAD", why=lambda said: no_ancestor(reference))
    commit = found.decode("ascii").split()[0]
    entries = entries_of(git(top, "ls-tree", "-r", "-z", commit))
    return Base(top, commit, entries, moved_modules(top, entries))


def is_unborn(top: str) -> bool:
    """Has a repository no commit yet? Then everything in it is new, as for a hook of the first one."""
    try:
        git(top, "rev-parse", "--verify", "--quiet", "HEAD")
    except NoChanges:
        return True
    return False


def entries_of(listing: bytes) -> dict[str, Entry]:
    found = {}
    for line in listing.split(b"\0"):
        head, _, name = line.partition(b"\t")
        if name:
            mode, _, object_ = head.decode("ascii").split()
            found[os.fsdecode(name)] = Entry(mode, object_)
    return found


def moved_modules(top: str, entries: dict[str, Entry]) -> frozenset[str]:
    """The submodules that stand at another commit now."""
    modules = {name: entry for name, entry in entries.items() if entry.mode == MODULE}
    if not modules:
        return frozenset()
    now = entries_of(git(top, "ls-tree", "-r", "-z", "HEAD"))
    return frozenset(name for name, entry in modules.items() if now.get(name) != entry)


def no_repository(said: str) -> str:
    if "not a git repository" in said:
        return "this folder is in no git repository"
    return f"git does not work here ({said})" if said else "git does not work here"


def no_commit(reference: str) -> str:
    return f"git knows no commit {reference} here; in CI, fetch the history (fetch-depth: 0)"


def no_ancestor(reference: str) -> str:
    return f"HEAD and {reference} have no common ancestor here; in CI, fetch the history (fetch-depth: 0)"


def git(folder: str, *arguments: str, why: Callable[[str], str] = lambda said: said) -> bytes:
    """What git answers; `why` makes the reason of what it says on standard error.

    Raises:
        NoChanges: there is no git, or it failed.
    """
    command = ["git", *QUIET, *HOOKS, *arguments]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        raise NoChanges(f"--changed needs git, and it can't be started: {error.strerror}") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        raise NoChanges(f"--changed: {why(said)}")
    return done.stdout


def rules_differ(settings: Settings, base: Base) -> bool:
    return any(
        base.differs(os.path.join(here, name))
        for folder in settings.rules
        for here, _, names in os.walk(folder)
        for name in names
        if name.endswith((".yaml", ".yml"))
    )


def settings_differ(settings: Settings, base: Base) -> bool:
    """Is the table of settings another than it was? The rest of pyproject.toml does not matter here."""
    if settings.file is None or not base.differs(settings.file):
        return False
    before = base.text(settings.file)
    if before is None or os.path.basename(settings.file) != PROJECT:
        return True
    with open(settings.file, encoding="utf-8-sig", errors="replace") as file:
        return project_settings(before) != project_settings(file.read())
