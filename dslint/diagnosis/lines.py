"""A line of a log without what its way here has put around it: colour, time stamps of collectors, ranks and hosts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PREFIX: Final = re.compile(
    r"""\s{0,8}(?:
      \[rank(?P<rank>\d{1,5})\]:\s?                               # torch
    | \[default(?P<default>\d{1,5})\]:\s?                         # torchrun --tee
    | \[(?P<bracket>\d{1,5})\]:\s?
    | \[\d+,(?P<mpi>\d+)\]<std(?:out|err)>:\s?                    # mpirun --tag-output
    | (?P<srun>\d{1,5}):\s                                        # srun --label
    | (?P<host>(?:[A-Za-z][\w.-]*\d|\d+\.\d+\.\d+\.\d+)):\s       # pdsh
    | \((?P<actor>\w+)\ pid=\d+(?:,\ ip=[\d.]+)?\)\s?             # Ray
    | \[pod/[^\]\s]+\]\s                                          # kubectl logs --prefix
    | [\w.-]+\s+\|\s                                              # docker compose
    | \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\s(?:std(?:out|err)\s[FP]\s)?  # container runtimes
    )""",
    re.VERBOSE,
)
_RANK_INSIDE: Final = re.compile(r"\[(?:Rank|rank|RANK)[ =]?(\d{1,5})\]|\bRank (\d{1,5})\b")


class Line(NamedTuple):
    """`text` is what the program printed; `source` names who printed it as far as the line tells (rank and host)."""

    text: str
    rank: str | None
    source: str


def clean(raw: bytes) -> str:
    """The characters of a line, without colour and control characters and without its end."""
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    return text


def split_prefix(text: str) -> Line:
    """Take off the prefixes that launchers and collectors put before a line, as many as there are."""
    rank: str | None = None
    source = ""
    position = 0
    for _ in range(4):
        match = _PREFIX.match(text, position)
        if match is None or match.end() == position:
            break
        groups = match.groupdict()
        found = next(
            (groups[name] for name in ("rank", "default", "bracket", "mpi", "srun") if groups[name]), None
        )
        rank = found or rank
        if found or groups["host"] or groups["actor"]:
            source += match[0].strip()
        position = match.end()
    rest = text[position:]
    if rank is None:
        inside = _RANK_INSIDE.search(rest, 0, 200)
        if inside:
            rank = inside[1] or inside[2]
    return Line(rest, rank, source)


def unescape(text: str) -> str:
    """The text of a line that holds another line as a JSON or Python string, with its line ends and quotes again."""
    if "\\n" not in text and '\\"' not in text:
        return text
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")
