"""YAML → documents with exact spans, typed as PyYAML's `safe_load` types them.

Accelerate, LLaMA-Factory, Axolotl, ms-swift and the HF tools all read their YAML with `safe_load`, so that
is the judge: what it refuses is a problem with `refused_by={"yaml"}`, and the values are its values. Beyond
it, this reader keeps what it could read of a broken text, and knows what only a run would show: a
template's placeholder (`{{ x }}`, `${X}`, `$X`, `<x>`) makes its scalar unknown.

Kinds of problems: syntax, tab, duplicate-key (`safe_load` takes the last without a word), unknown-tag,
bad-scalar, key-type, merge, undefined-alias, duplicate-anchor, several-documents (a loader of one document
stops), and the bounds of this reader: too-long, too-deep, too-large (the rest is unknown).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dslint.documents.tree import UNKNOWN, Document, Node, Problem, Source
from dslint.documents.yaml_scalars import GOES_ON, STOPS
from dslint.documents.yaml_templates import without_placeholders

LONGEST: Final = 100_000
"""Characters of one YAML document beyond which it is not read: no configuration is that long."""

MOST: Final = 500
"""Documents of one stream that are read."""

HINT: Final = re.compile(
    r"deepspeed|DEEPSPEED|DeepSpeed|distributed_type|zero_stage|pipe[-_]parallel[-_]size|axolotl"
    r"|\baccelerate\b|torchrun|PyTorchJob|MPIJob|torch\.distributed|llamafactory-cli|\bswift (?:sft|rlhf|pt)\b"
)


def looks_relevant(text: str) -> bool:
    """The quick look that spares reading a repository's many YAML files that have nothing to do with
    DeepSpeed.
    """
    return HINT.search(text) is not None


def parse(source: Source, start: int = 0, end: int | None = None) -> list[Document]:
    """The YAML documents of a source, or of a part of it, in order. Never raises.

    A document that is broken has what was read before the fault, and says so in its problems. A template
    that is no YAML before it is filled in is no document, nor is what has nothing to do with DeepSpeed in a
    stream of more than `LONGEST` characters. The dialect is "training" until a launch module
    knows better.
    """
    whole = source.text[start : len(source.text) if end is None else end]
    text, is_template = without_placeholders(whole)
    documents: list[Document] = []
    for chunk_start, chunk_end in chunks(text):
        if len(documents) == MOST:
            break
        if len(text) > LONGEST and not looks_relevant(text[chunk_start:chunk_end]):
            continue
        document = read(source, text[chunk_start:chunk_end], start + chunk_start)
        if document is not None and not (is_template and is_refused(document)):
            documents.append(document)
    return with_company(documents) if len(documents) > 1 else documents


def is_refused(document: Document) -> bool:
    """Does `yaml.safe_load` stop at this document?"""
    return any("yaml" in problem.refused_by for problem in document.problems)


# --- documents

MARKER: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.M)
CONTENT: Final = re.compile(r"^\ufeff?(?!\.\.\.|%)[ \t]*[^ \t\r\n#]", re.M)


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Where each document stands: `---` at a line's start begins one, even within quotes or a block."""
    starts = [match.start() for match in MARKER.finditer(text)] if "---" in text else []
    bounds = [*starts, len(text)]
    first = CONTENT.search(text)
    if not starts or (first is not None and first.start() < starts[0]):
        bounds.insert(0, 0)
    else:
        bounds[0] = 0
    for index in range(len(bounds) - 1):
        yield bounds[index], bounds[index + 1]


def read(source: Source, text: str, offset: int) -> Document | None:
    """The document of one chunk, or None where it holds nothing."""
    if len(text) > LONGEST:
        message = f"this YAML document is longer than {LONGEST:,} characters and is not read"
        root = Node("unknown", offset, offset + len(text), UNKNOWN)
        problem = Problem("too-long", message, offset, offset, "", GOES_ON)
        return Document(source, root, "yaml", "training", (problem,))
    # Imported here: ruamel.yaml takes 30 ms, and most runs read no YAML.
    from dslint.documents.yaml_tree import Composer

    composer = Composer(text, offset)
    found = composer.compose()
    if found is None and not composer.problems:
        return None
    problems = [*composer.problems, *tabs(text, offset, composer.texts)]
    problems.sort(key=lambda problem: problem.start)
    root = found or Node("unknown", offset, offset + len(text), UNKNOWN)
    return Document(source, root, "yaml", "training", tuple(problems))


def with_company(documents: list[Document]) -> list[Document]:
    """Documents that share a file: a program that loads one document from it stops at the second."""
    second = documents[1].root.start
    message = "the file holds several YAML documents, and `yaml.safe_load` reads a file of one only"
    problem = Problem("several-documents", message, second, second, "", GOES_ON)
    return [document._replace(problems=(*document.problems, problem)) for document in documents]


# --- tabs


def tabs(text: str, offset: int, texts: list[tuple[int, int]]) -> Iterator[Problem]:
    """The first tab that PyYAML stops at: outside comments, and outside quoted and block scalars
    (`texts`).
    """
    for line in re.finditer(r"[^\n]*\t[^\n]*", text) if "\t" in text else ():
        for match in re.finditer(r"\t|(?:^|(?<=[ \t]))#", line.group()):
            index = line.start() + match.start()
            if is_within(index, texts):
                continue
            if match.group() == "#":
                break
            message = "this is not YAML: a tab stands here, and only spaces may separate or indent"
            yield Problem("tab", message, offset + index, offset + index + 1, "", STOPS)
            return


def is_within(index: int, spans: list[tuple[int, int]]) -> bool:
    # Imported here: tabs are rare.
    from bisect import bisect_right

    place = bisect_right(spans, index, key=lambda span: span[0]) - 1
    return place >= 0 and index < spans[place][1]
