"""What a shell script is read into: its commands with their words, the files that it writes, and the job that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from dslint.documents.shell_words import Word
from dslint.documents.tree import Place, Source, Unknown

HintKind = Literal[
    "blank-after-backslash",
    "comment-after-backslash",
    "comment-swallows-backslash",
    "comment-in-continuation",
    "blank-line-in-continuation",
    "missing-backslash",
    "carriage-returns",
]


class Redirect(NamedTuple):
    """`operator` is `>`, `>>`, `&>`, `<`, `<<<`, …"""

    operator: str
    target: Word


class Directive(NamedTuple):
    """One option of an `#SBATCH`, `#PBS` or `#BSUB` line, by its long name (`nodes` for `-N`); a flag has no value."""

    name: str
    value: Word | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Job:
    """What a batch script asks its scheduler for; None where it does not say or a run decides.

    - nodes, tasks (in all), tasks_per_node, gpus_per_node, gpus (in all): counts.
    - hardware: words that may name a GPU kind, from gres, gpus and constraint; a choice between kinds gives none.
    - places: where each count was learned, by its name.
    """

    scheduler: Literal["slurm", "pbs", "lsf"]
    directives: tuple[Directive, ...] = ()
    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    gpus_per_node: int | None = None
    gpus: int | None = None
    hardware: tuple[Word, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)


class Folder(NamedTuple):
    """A folder that a script works in.

    `base` "start": relative to where the script is started; "files": relative to what the paths of sources are relative to,
    for a script that goes to its own folder. An absolute `path` is itself under either.
    """

    base: Literal["start", "files"]
    path: str


STARTED: Final = Folder("start", "")


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command as it would run.

    - words: the program and its arguments, expanded; `open` when an unknown word among them may be several or none, or the
      text could not be read whole.
    - start, end: where the command is written, in its source.
    - environment: the variables that reach the program: exported before it, or set in front of it.
    - outer: the words in front of a `bash -c "…"` (or `ssh host "…"`) whose script this command stands in: `srun -n 2`.
    - folder: where it runs; None after a `cd` to a place that is not known.
    - idle: the script's own values rule the command out (`STAGE=2` above `if [ $STAGE = 3 ]`), until somebody edits them.
    - lost: words of the next lines that were meant for it, but a broken continuation cut off.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    environment: Mapping[str, Word] = field(default_factory=dict)
    redirects: tuple[Redirect, ...] = ()
    open: bool = False
    outer: tuple[Word, ...] = ()
    job: Job | None = None
    folder: Folder | None = STARTED
    lost: tuple[Word, ...] = ()
    idle: bool = False

    @property
    def name(self) -> str | None:
        """The program's name without its folder, or None when it is not known."""
        text = self.words[0].text if self.words else None
        return text.rpartition("/")[2] if isinstance(text, str) else None


@dataclass(frozen=True, slots=True)
class Heredoc:
    """Text that stands in a script and goes into a file or a program: a heredoc, or what `echo '…' > file` writes.

    - target: the file, or None when it goes into `reader` alone (`python - <<EOF`).
    - start, end: the text's span in the source.
    - quoted: the shell leaves the text as it stands.
    - substitute: the text of a placeholder (`$NAME`, `${NAME:-x}`, `$(…)`), or UNKNOWN.
    - appends: it is added to what the file holds.
    """

    target: Word | None
    start: int
    end: int
    quoted: bool
    reader: str | None
    substitute: Callable[[str], str | Unknown]
    appends: bool = False


class Hint(NamedTuple):
    """Something in the text that a shell reads otherwise than it looks.

    `start, end`: what breaks the line; `rest`: the span of the words that are cut off, None for `carriage-returns`;
    `more`: further places that break the same command in the same way.
    """

    kind: HintKind
    start: int
    end: int
    rest: tuple[int, int] | None = None
    more: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A script, read and never run.

    - commands: every command that it may run, in order; one in a function stands once a call.
    - heredocs: texts in it that are written to files or fed to programs.
    - writes: the files that its commands make or change, those of heredocs included.
    - modifies: those whose content the script does not show (`sed -i`, a program's output): it is only known to a run.
    - complete: False when the text could not be read whole (broken syntax, or more of it than is read).
    """

    source: Source
    commands: tuple[Command, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    hints: tuple[Hint, ...] = ()
    writes: tuple[Word, ...] = ()
    modifies: tuple[Word, ...] = ()
    job: Job | None = None
    complete: bool = True

    def modified(self, path: str) -> bool:
        """Whether the script changes the file's content in a way that it does not show."""
        return any(same_path(word.text, path) for word in self.modifies)

    def written(self, path: str) -> bool:
        """Whether some command of the script makes or changes the file."""
        return any(same_path(word.text, path) for word in self.writes)


def same_path(text: str | Unknown, path: str) -> bool:
    return isinstance(text, str) and text.removeprefix("./") == path.removeprefix("./")
