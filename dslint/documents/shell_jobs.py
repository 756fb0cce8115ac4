"""What a batch script asks its scheduler for: `#SBATCH` lines read whole, `#PBS` and `#BSUB` lines as far as GPUs go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from dslint.documents.script import Directive, Job
from dslint.documents.shell_words import Text, Word, word
from dslint.documents.tree import Place, Source

# Slurm's short options, by their long names (sbatch(1)).
SHORT: Final = {
    "A": "account",
    "a": "array",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "G": "gpus",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}
FLAGS: Final = frozenset(
    {"exclusive", "requeue", "no-requeue", "overcommit", "oversubscribe", "contiguous", "spread-job"}
)
GPU_COUNT: Final = re.compile(r"(?:([A-Za-z_][\w.+-]*|\d+[A-Za-z][\w.+-]*):)?(\d+)")
GRES_GPU: Final = re.compile(
    r"(?:gres[:/])?gpu(?::([A-Za-z_][\w.+-]*|\d+[A-Za-z][\w.+-]*))?(?:[:=](\d+))?(?:\(S:[^)]*\))?"
)


class Found(NamedTuple):
    """A count, and the word that it stands in."""

    number: int
    word: Word


def read_job(text: Text, source: Source) -> Job | None:
    """The job that a script's directives describe, or None for a script without any."""
    match = re.search(r"^#(SBATCH|PBS|BSUB)\b", text.text, re.MULTILINE)
    if match is None:
        return None
    if match[1] == "SBATCH":
        directives = tuple(slurm_directives(text))
        if any(directive.name == "hetjob" for directive in directives):
            return Job("slurm", directives)
        return slurm_job(directives, source) if directives else None
    lines = [
        text_word(text, *line.span(1))
        for line in re.finditer(rf"^#{match[1]}[ \t]+(.+?)\s*$", text.text, re.MULTILINE)
    ]
    return pbs_job(lines, source) if match[1] == "PBS" else lsf_job(lines, source)


def text_word(text: Text, start: int, end: int) -> Word:
    trail = text.trail(start, end)
    span = trail[-1] if trail else (start, end)
    return word(text.pieces(start, end), span, False, span)


def slurm_directives(text: Text) -> Iterator[Directive]:
    """The options of the `#SBATCH` lines, which must stand before the first command."""
    for line in re.finditer(r"^.*$", text.text, re.MULTILINE):
        if not line[0].lstrip().startswith("#"):
            if line[0].strip():
                return
            continue
        if re.match(r"#SBATCH\s+hetjob\b", line[0]) or re.match(r"#SBATCH\s+packjob\b", line[0]):
            yield Directive("hetjob", None, *line.span())
        elif re.match(r"#SBATCH\s", line[0]):
            yield from options(text, list(directive_words(line[0], line.start())))


def directive_words(line: str, offset: int) -> Iterator[tuple[int, int]]:
    """Spans of a line's words behind `#SBATCH`, up to a comment."""
    for match in re.finditer(r"\"[^\"]*\"|'[^']*'|(?:[^\s\"']|\"[^\"]*\"|'[^']*')+", line[7:]):
        if match[0].startswith("#"):
            return
        yield offset + 7 + match.start(), offset + 7 + match.end()


def options(text: Text, spans: Sequence[tuple[int, int]]) -> Iterator[Directive]:
    index = 0
    while index < len(spans):
        start, end = spans[index]
        index += 1
        written = text.text[start:end]
        name, value = split_option(written)
        if name is None:
            continue
        if value is not None:
            first = end - len(value)
            yield Directive(name, unquoted(text, first, end), *text.trail(start, end)[-1])
        elif name in FLAGS or index == len(spans) or text.text[spans[index][0]] == "-":
            yield Directive(name, None, *text.trail(start, end)[-1])
        else:
            yield Directive(name, unquoted(text, *spans[index]), *text.trail(start, spans[index][1])[-1])
            index += 1


def split_option(written: str) -> tuple[str | None, str | None]:
    """`--nodes=2` and `-N2` → `nodes` and `2`; an option alone has no value."""
    if written.startswith("--"):
        name, equals, value = written[2:].partition("=")
        return name, value if equals else None
    if written.startswith("-") and len(written) > 1:
        name = SHORT.get(written[1], written[1])
        value = written[2:].removeprefix("=")
        return name, value or None
    return None, None


def unquoted(text: Text, start: int, end: int) -> Word:
    if end - start > 1 and text.text[start] in "\"'" and text.text[end - 1] == text.text[start]:
        start, end = start + 1, end - 1
    return text_word(text, start, end)


def slurm_job(directives: Sequence[Directive], source: Source) -> Job:
    """Counts of a Slurm job; used for srun's own options too."""
    named = {directive.name: directive.value for directive in directives}
    found: dict[str, Found] = {}
    hardware: list[Word] = []

    def count(name: str, option: str) -> None:
        value = named.get(option)
        number = whole_number(value)
        if value is not None and number is not None:
            found[name] = Found(number, value)

    count("nodes", "nodes")
    count("tasks", "ntasks")
    count("tasks_per_node", "ntasks-per-node")
    for option, per_node in (
        ("gpus", False),
        ("gpus-per-task", None),
        ("gpus-per-node", True),
        ("gres", True),
    ):
        value = named.get(option)
        if value is None or not isinstance(value.text, str):
            continue
        kind, number = (gres_gpus if option == "gres" else gpu_count)(value, value.text)
        if kind is not None:
            hardware.append(kind)
        if number is None:
            continue
        if per_node:
            found["gpus_per_node"] = Found(number, value)
        elif per_node is False:
            found["gpus"] = Found(number, value)
        elif "tasks_per_node" in found and "gpus_per_node" not in found:
            found["gpus_per_node"] = Found(number * found["tasks_per_node"].number, value)
    hardware.extend(constraint_words(named.get("constraint")))
    nodes = found["nodes"].number if "nodes" in found else None
    if nodes is None and not {"nodes", "ntasks", "gpus", "nodelist"} & set(named):
        nodes = 1
    return job("slurm", directives, found, nodes, hardware, source)


def job(
    scheduler: Literal["slurm", "pbs", "lsf"],
    directives: Sequence[Directive],
    found: dict[str, Found],
    nodes: int | None,
    hardware: Sequence[Word],
    source: Source,
) -> Job:
    counts = {name: entry.number for name, entry in found.items()}
    per_node, total = counts.get("gpus_per_node"), counts.get("gpus")
    if nodes is not None and total is None and per_node is not None:
        total = nodes * per_node
    elif nodes is not None and per_node is None and total is not None and nodes > 0 and total % nodes == 0:
        per_node = total // nodes
    places = {name: Place(source, entry.word.start, entry.word.end) for name, entry in found.items()}
    if "gpus" in places:
        places.setdefault("gpus_per_node", places["gpus"])
    elif "gpus_per_node" in places:
        places["gpus"] = places["gpus_per_node"]
    return Job(
        scheduler,
        tuple(directives),
        nodes,
        counts.get("tasks"),
        counts.get("tasks_per_node"),
        per_node,
        total,
        tuple(hardware),
        places,
    )


def whole_number(value: Word | None) -> int | None:
    """A count, `2` or `2-2`; a range, a placeholder or anything else is not known."""
    if value is None or not isinstance(value.text, str):
        return None
    match = re.fullmatch(r"(\d{1,6})(?:-\1)?", value.text)
    return int(match[1]) if match else None


def gpu_count(value: Word, text: str) -> tuple[Word | None, int | None]:
    """`8`, `a100:8` or a list of them, of which only one may count."""
    found = [match for match in (GPU_COUNT.fullmatch(part) for part in text.split(",")) if match]
    if len(found) != 1 or "," in text:
        return None, None
    kind = part_of(value, *found[0].span(1)) if found[0][1] else None
    return kind, int(found[0][2])


def gres_gpus(value: Word, text: str) -> tuple[Word | None, int | None]:
    """`gpu:v100:4` → the word `v100` and 4; other resources in the list are left aside."""
    found = []
    place = 0
    for part in text.split(","):
        match = GRES_GPU.fullmatch(part)
        if match:
            found.append((place, match))
        place += len(part) + 1
    if len(found) != 1:
        return None, None
    place, match = found[0]
    kind = part_of(value, place + match.start(1), place + match.end(1)) if match[1] else None
    return kind, int(match[2] or 1)


def constraint_words(value: Word | None) -> list[Word]:
    """The features that a constraint demands; a choice between features demands none of them."""
    if value is None or not isinstance(value.text, str) or re.search(r"[|\[\]]", value.text):
        return []
    return [part_of(value, *match.span()) for match in re.finditer(r"[A-Za-z_][\w.+-]*", value.text)]


def part_of(value: Word, start: int, end: int) -> Word:
    """A word's characters `start:end`."""
    pieces = Text(value.pieces).pieces(start, end)
    return word(pieces, value.use, value.quoted, None)


def pbs_job(lines: Iterable[Word], source: Source) -> Job:
    """`-l select=2:ngpus=4:gpu_model=v100` (PBS Pro) and `-l nodes=2:gpus=4` (Torque)."""
    found: dict[str, Found] = {}
    hardware: list[Word] = []
    for line in lines:
        text = line.text if isinstance(line.text, str) else ""
        match = re.search(r"\b(?:select|nodes)=(\d+)((?::[^\s+,]*)?)(\+?)", text)
        if match is None or match[3]:
            continue
        found["nodes"] = Found(int(match[1]), part_of(line, *match.span(1)))
        gpus = re.search(r":n?gpus=(\d+)", match[2])
        if gpus:
            start = match.start(2)
            found["gpus_per_node"] = Found(
                int(gpus[1]), part_of(line, start + gpus.start(1), start + gpus.end(1))
            )
        kind = re.search(r":gpu_(?:model|type)=([\w.-]+)", match[2])
        if kind:
            hardware.append(part_of(line, match.start(2) + kind.start(1), match.start(2) + kind.end(1)))
    nodes = found["nodes"].number if "nodes" in found else None
    return job("pbs", (), found, nodes, hardware, source)


def lsf_job(lines: Iterable[Word], source: Source) -> Job:
    """`-gpu "num=4:gmodel=…"` and `-nnodes 2`."""
    found: dict[str, Found] = {}
    hardware: list[Word] = []
    for line in lines:
        text = line.text if isinstance(line.text, str) else ""
        nodes = re.search(r"-nnodes\s+(\d+)", text)
        if nodes:
            found["nodes"] = Found(int(nodes[1]), part_of(line, *nodes.span(1)))
        gpus = re.search(r"\bnum=(\d+)", text)
        if gpus and re.search(r"-gpu\b", text):
            found["gpus_per_node"] = Found(int(gpus[1]), part_of(line, *gpus.span(1)))
        kind = re.search(r"\bgmodel=([\w.-]+)", text)
        if kind:
            hardware.append(part_of(line, *kind.span(1)))
    return job("lsf", (), found, found["nodes"].number if "nodes" in found else None, hardware, source)
