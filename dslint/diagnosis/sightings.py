"""What was seen of each message: how often, where first, on which ranks, and with which captures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dslint.diagnosis.message import Message

DISTINCT: Final = 24
RANKS: Final = 4096


class Evidence(NamedTuple):
    """A line of the log: its number from 1, whose it is, its text, and the script's own frame that led there."""

    line: int
    rank: str | None
    text: str
    frame: str | None


@dataclass(slots=True)
class Seen:
    """A message with what was seen of it. `details` holds each different set of captures with its first evidence."""

    message: Message
    first: Evidence
    count: int = 0
    ranks: set[str] = field(default_factory=set)
    details: list[tuple[Mapping[str, str], Evidence]] = field(default_factory=list)
    last_line: int = 0


class Sightings:
    """Every message that was seen, by name. Memory is bounded: a few dozen different captures of each are kept."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    def note(self, message: Message, captures: Mapping[str, str], evidence: Evidence) -> None:
        seen = self._seen.get(message.name)
        if seen is None:
            seen = self._seen[message.name] = Seen(message, evidence)
        seen.count += 1
        seen.last_line = max(seen.last_line, evidence.line)
        if evidence.rank is not None and len(seen.ranks) < RANKS:
            seen.ranks.add(evidence.rank)
        if len(seen.details) < DISTINCT and not any(
            _tells_nothing_new(captures, old) for old, _ in seen.details
        ):
            seen.details = [(old, at) for old, at in seen.details if not _tells_nothing_new(old, captures)]
            seen.details.append((captures, evidence))

    def again(self, name: str) -> None:
        """Count a message once more without looking at it."""
        self._seen[name].count += 1

    def count(self, name: str) -> int:
        seen = self._seen.get(name)
        return seen.count if seen else 0

    def all(self) -> list[Seen]:
        return list(self._seen.values())


def _tells_nothing_new(captures: Mapping[str, str], old: Mapping[str, str]) -> bool:
    """Whether all of the captures are among the old ones (a cut-off line captures less than a whole one)."""
    return all(old.get(name) == value for name, value in captures.items())
