"""The variables that a script has set so far, and what they hold after branches that disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from dslint.documents.script import Folder, Job
from dslint.documents.shell_words import Piece, Trail, Word, shape_of, text_of
from dslint.documents.tree import UNKNOWN

Pieces = tuple[Piece, ...]

MOST_PIECES: Final = 4096
MOST_CHOICES: Final = 8
CHANGING: Final = frozenset(
    {"RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "LINENO", "REPLY", "BASHPID"}
)


class Value(NamedTuple):
    """What a variable holds: one text, or an array's items."""

    items: tuple[Pieces, ...]
    array: bool = False

    @property
    def shape(self) -> tuple[str, ...]:
        return tuple(shape_of(item) for item in self.items)

    @property
    def first(self) -> Pieces:
        return self.items[0] if self.items else ()


def scalar(pieces: Sequence[Piece]) -> Value:
    if len(pieces) > MOST_PIECES:
        return unknown("too long", pieces[0].trail)
    return Value((tuple(pieces),))


def unknown(symbol: str, trail: Trail = (), choices: tuple[str, ...] = (), many: bool = False) -> Value:
    return Value(
        ((Piece(UNKNOWN, trail, symbol=symbol, choices=choices[:MOST_CHOICES], many=many),),), array=many
    )


class Scope:
    """Variables and the rest of a shell's state, as known statically at one point of the script.

    A name that is not in `values` may come from the environment. `positional` is None where `$1` is not known at all.
    `ended`: this way has left the script or the function. `folder` is None where it is not known.
    """

    __slots__ = ("all_exported", "ended", "exported", "folder", "positional", "shifts", "values")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.exported: set[str] = set()
        self.all_exported = False
        self.positional: list[Pieces] | None = None
        self.shifts = 0
        self.folder: Folder | None = Folder("start", "")
        self.ended: Literal["", "return", "exit"] = ""

    def copy(self) -> Scope:
        other = Scope()
        other.values = self.values.copy()
        other.exported = self.exported.copy()
        other.all_exported = self.all_exported
        other.positional = self.positional
        other.shifts = self.shifts
        other.folder = self.folder
        return other

    def child(self) -> Scope:
        """What a program that is started here sees: exported variables alone."""
        other = Scope()
        other.values = {
            name: value for name, value in self.values.items() if self.exports(name) and not value.array
        }
        other.exported = set(other.values)
        other.folder = self.folder
        return other

    def exports(self, name: str) -> bool:
        return self.all_exported or name in self.exported

    def assign(self, name: str, value: Value) -> None:
        self.values[name] = value
        if self.all_exported:
            self.exported.add(name)

    def arguments(self, words: Sequence[Word], mark: int) -> None:
        """Make words the positional parameters."""
        many = any(word.open for word in words)
        self.positional = None if many else [word.pieces for word in words]
        self.shifts = mark + 1 if many else 0

    def restore(self, saved: Mapping[str, Value | None]) -> None:
        """Give variables back what they held; None for one that was not set."""
        for name, value in saved.items():
            if value is None:
                self.values.pop(name, None)
            else:
                self.values[name] = value

    def become(self, ways: Sequence[Scope], mark: str) -> None:
        """Take on the state after ways of which one is gone; what they disagree on is unknown.

        `mark` names the place, so that a value that is unknown from here on is told from others.
        """
        left = [way for way in ways if not way.ended]
        if not left:
            self.ended = "exit" if all(way.ended == "exit" for way in ways) else "return"
            left = list(ways)
        first = left[0]
        if len(left) == 1:
            merged = first.values
        else:
            names = dict.fromkeys(name for way in left for name in way.values)
            merged = {name: merge(name, [way.values.get(name) for way in left], mark) for name in names}
        self.values = merged
        self.exported = set().union(*(way.exported for way in left))
        self.all_exported = any(way.all_exported for way in left)
        self.positional = (
            first.positional if all(way.positional == first.positional for way in left) else None
        )
        self.shifts = max(way.shifts for way in left)
        self.folder = first.folder if all(way.folder == first.folder for way in left) else None


def merge(name: str, values: Sequence[Value | None], mark: str) -> Value:
    first = values[0]
    if first is not None and all(value is first for value in values):
        return first
    if first is not None and all(
        value is not None and value.array == first.array and value.shape == first.shape for value in values
    ):
        return first
    present = [value for value in values if value is not None]
    if len(present) == len(values) and all(value.array for value in present):
        return merged_arrays(name, present, mark)
    if len(present) == len(values) and not any(value.array for value in present):
        return merged_texts(name, present, mark)
    many = any(value.array for value in present)
    return unknown(f"{name}@{mark}", choices=choices_of(values), many=many)


def merged_texts(name: str, values: Sequence[Value], mark: str) -> Value:
    """`ARGS="$ARGS --x"` on one way: what was there before is still known, and what was added is not."""
    texts = [value.first for value in values]
    first, last = common(texts)
    middles = [text[first : len(text) - last] for text in texts]
    outside = bool(first or last)
    if outside and not all(apart(middle, bool(first), bool(last)) for middle in middles):
        return unknown(f"{name}@{mark}", choices=choices_of(values))
    choices = choices_of([scalar(middle) for middle in middles])
    piece = unknown(f"{name}@{mark}", choices=choices).first[0]
    if not outside:
        return scalar([piece])
    blank = Piece(" ", ())
    before = (*texts[0][:first], blank) if first else ()
    after = (blank, *texts[0][len(texts[0]) - last :]) if last else ()
    return scalar([*before, piece, *after])


def merged_arrays(name: str, values: Sequence[Value], mark: str) -> Value:
    lists = [value.items for value in values]
    first, last = common(lists)
    between = unknown(f"{name}@{mark}", many=True).items
    return Value((*lists[0][:first], *between, *lists[0][len(lists[0]) - last :]), array=True)


def common(lists: Sequence[Sequence[object]]) -> tuple[int, int]:
    """How many items all lists have in common at their beginnings, and behind those at their ends."""
    shortest = min(len(items) for items in lists)
    first = 0
    while first < shortest and all(items[first] == lists[0][first] for items in lists):
        first += 1
    last = 0
    while last < shortest - first and all(items[-1 - last] == lists[0][-1 - last] for items in lists):
        last += 1
    return first, last


def apart(middle: Pieces, before: bool, after: bool) -> bool:
    """Whether a text that one way has put between others holds whole words: nothing, or blanks towards its neighbours."""
    if not middle:
        return True
    start, end = middle[0].text, middle[-1].text
    return (not before or (isinstance(start, str) and start[:1].isspace())) and (
        not after or (isinstance(end, str) and end[-1:].isspace())
    )


def lengthened(value: Value, mark: str) -> Value:
    """What a variable holds inside a loop that adds to it: what it held before, and more that is not known."""
    if value.array:
        return Value((*value.items, *unknown(mark, many=True).items), array=True)
    if not value.first:
        return unknown(mark)
    return scalar((*value.first, Piece(" ", ()), *unknown(mark).first))


def choices_of(values: Sequence[Value | None]) -> tuple[str, ...]:
    """The texts that a variable may hold, as far as they are known."""
    choices: dict[str, None] = {}
    for value in values:
        if value is None or value.array:
            continue
        for text in texts_of(value.first):
            choices.setdefault(text)
    return tuple(choices)[:MOST_CHOICES]


def texts_of(pieces: Pieces) -> tuple[str, ...]:
    text = text_of(pieces)
    if isinstance(text, str):
        return (text,)
    return pieces[0].choices if len(pieces) == 1 else ()


# What Slurm tells a job of itself, by the job's counts.
SLURM: Final = (
    ("SLURM_NNODES", "nodes"),
    ("SLURM_JOB_NUM_NODES", "nodes"),
    ("SLURM_NTASKS", "tasks"),
    ("SLURM_NPROCS", "tasks"),
    ("SLURM_NTASKS_PER_NODE", "tasks_per_node"),
    ("SLURM_GPUS_ON_NODE", "gpus_per_node"),
    ("SLURM_GPUS", "gpus"),
)


def job_variables(job: Job | None) -> dict[str, Value]:
    """The variables that Slurm sets for a job, as far as its directives say."""
    found: dict[str, Value] = {}
    if job is None or job.scheduler != "slurm":
        return found
    for name, count in SLURM:
        number: int | None = getattr(job, count)
        place = job.places.get(count)
        if number is not None and place is not None:
            found[name] = scalar([Piece(str(number), ((place.start, place.end),))])
    return found
