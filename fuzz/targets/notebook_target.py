"""The notebook reader: never raises, spans within the notebook's own text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Final

from dslint.documents.notebook import read_notebook
from dslint.documents.tree import Source
from fuzz.mutate import mutate
from fuzz.promises import check_document, text_of
from fuzz.targets import python_target

START: Final = "import deepspeed\ndeepspeed.initialize(config={})\n"
WORDS: Final = (
    *(
        '"cells": [',
        '"cell_type": "code"',
        '"source": [',
        '"source": "',
        "\\n",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\t",
    ),
    *(
        "!deepspeed train.py",
        "%%bash\\n",
        "%%writefile ds.json\\n",
        "%%writefile t.py\\n",
        "%time ",
        "x = !ls",
        "?",
    ),
    *(
        "import deepspeed\\n",
        "deepspeed.initialize(config={})",
        '"language"',
        '"metadata"',
        "{x}",
        "\\ud83d",
        "\\\\",
    ),
)


def seeds() -> Iterator[bytes]:
    for text in python_target.seeds():
        rows = text.decode().splitlines(keepends=True)
        half = len(rows) // 2
        yield notebook(rows[:half], rows[half:]).encode()
    yield notebook(["%%writefile ds.json\n", '{"fp16": {"enabled": true}}\n'], ["!deepspeed t.py\n"]).encode()
    yield b"!deepspeed --num_gpus {n} train.py\nimport deepspeed\n"


def notebook(*cells: list[str] | str) -> str:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps(
        {"cells": made, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}, indent=1
    )


def one(data: bytes) -> None:
    """What is no object is taken for a cell's code."""
    text = text_of(data)
    if not text.lstrip().startswith("{"):
        text = notebook(START, text)
    found = read_notebook(Source("train.ipynb", text))
    size = len(text)
    python_target.check_program(found.program)
    for snippet in found.snippets:
        starts, ends = snippet.content.starts, snippet.content.ends
        assert len(starts) == len(ends) == len(snippet.content.text)
        assert all(0 <= start <= end <= size for start, end in zip(starts, ends, strict=True))
        list(snippet.content.runs())
    for _, document in found.documents:
        check_document(document)
    for _, program in found.programs:
        python_target.check_program(program)
    if found.problem is not None:
        assert 0 <= found.problem.start <= size


def mutated(data: bytes, chance: random.Random) -> bytes | None:
    """A notebook whose cells' code has changed; None where the data holds no notebook, and at times."""
    if chance.random() < 0.3:
        return None
    try:
        content = json.loads(data)
        cell = chance.choice(content["cells"])
        code = "".join(cell["source"])
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
    words = [
        word.encode()
        for word in (*python_target.WORDS, "!deepspeed t.py\n", "%%bash\n", "%time ", "{x}", "?")
    ]
    changed = mutate(code.encode("utf-8", "replace"), words, words, chance, 4096).decode("utf-8", "replace")
    cell["source"] = changed.splitlines(keepends=True) if chance.random() < 0.7 else changed
    indent = chance.choice((None, 1))
    return json.dumps(content, indent=indent, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")
