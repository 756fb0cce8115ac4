"""The shape of the catalogue's entries: what can stand in a log, and what it means."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from dslint.rules.finding import Severity

Level = Literal["cause", "symptom", "consequence"]

LEVELS: Final[tuple[Level, ...]] = ("cause", "symptom", "consequence")


class Pattern(NamedTuple):
    """A compiled template. `literal` is its longest fixed piece, `squeezed_literal` that without white space.

    `weight` is the length of all its fixed text: of two patterns on one line the heavier one speaks. A line that holds
    none of `words` need not be tried; without any words it always must.
    """

    pattern: str
    squeezed: str
    literal: str
    squeezed_literal: str
    weight: int
    words: tuple[str, ...]


class Message(NamedTuple):
    """One entry. Its texts hold `{name}` where a capture goes; a sentence whose capture is missing is left out.

    - level: a `cause` says which setting it was; a `symptom` may have several causes; a `consequence` follows from
      something above it in the log.
    - severity: as in findings: error where the run stops, warning where it goes on and is harmed, info for advice.
    - metric: the name of the trouble in the numbers that this entry words, in place of patterns.
    - captures: further patterns, searched in the lines around for captures only.
    - near: one of these texts must stand within the lines around; unless: none of these on the line.
    - needs: the log must show this somewhere: deepspeed, or zero3.
    - least: how often it must be seen before it means anything.
    - rules: the lint rules that may find the fault in the files.
    - framework: what handed the config to DeepSpeed, where the message tells.
    - at: JSON Pointers into the config, with captures (`/{key}`).
    - includes: entries that tell a part of the same story and are folded into this one.
    """

    name: str
    family: str
    summary: str
    level: Level
    severity: Severity
    patterns: tuple[Pattern, ...]
    captures: tuple[Pattern, ...]
    metric: str | None
    near: tuple[str, ...]
    unless: tuple[str, ...]
    needs: str | None
    least: int
    rules: tuple[str, ...]
    framework: str | None
    at: tuple[str, ...]
    why: tuple[str, ...]
    fix: tuple[str, ...]
    releases: str | None
    sources: tuple[str, ...]
    evidence: str
    includes: tuple[str, ...]


class Catalogue(NamedTuple):
    """Every message, and the short texts of which at least one stands on each line that a message is seen on."""

    messages: tuple[Message, ...]
    anchors: tuple[str, ...]

    def named(self, name: str) -> Message:
        """The entry of that name. Raises KeyError."""
        for message in self.messages:
            if message.name == name:
                return message
        raise KeyError(name)
