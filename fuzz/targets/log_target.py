"""The diagnosis of logs: a diagnosis or a LogError, the same however the bytes come in, and harmless to print."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from dslint.diagnosis.diagnose import Diagnosis, diagnose
from dslint.diagnosis.reading import LogError
from dslint.diagnosis.report_json import render as as_json
from dslint.diagnosis.report_text import render as as_text
from dslint.reports.colour import Paint
from fuzz import seeds as seed

WORDS: Final = (
    *(
        "Traceback (most recent call last):\n",
        '  File "x.py", line 1, in f\n',
        "AssertionError: ",
        "[rank0]: ",
        "\r",
    ),
    *(
        "loss scale",
        "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: ",
        "reducing to ",
        "{'loss': 1.0, ",
        "\n",
    ),
    *(
        "'grad_norm': nan",
        "'learning_rate': 0.0",
        "CUDA out of memory",
        "Gradient overflow",
        "\x1b[31m",
        "\x1f\x8b",
    ),
    *(
        "world_size",
        "train_batch_size",
        "[INFO] [config.py:1] ",
        "step=",
        "lr=",
        "mom=",
        "inf",
        "1e400",
        "\ufffe",
        "%|",
    ),
)


def seeds() -> Iterator[bytes]:
    yield from seed.files(seed.ROOT / "tests" / "diagnosis" / "logs", "*.log")
    yield from seed.blocks("text", "log")
    yield from seed.files(seed.CORPUS.parent / "cases", "*.log", "*.txt")


class Dripping(io.RawIOBase):
    """The same bytes, a few at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self.rest = io.BytesIO(data)
        self.step = step

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.rest.read(self.step)


def one(data: bytes) -> None:
    whole = told(data, io.BytesIO(data))
    dripped = told(data, Dripping(data, 1 + len(data) // 3))
    assert whole == dripped, "another diagnosis when the bytes come in parts"


def told(data: bytes, stream: io.IOBase) -> str:
    try:
        diagnosis = diagnose(stream)  # type: ignore[arg-type]
    except LogError as error:
        assert "\n" not in str(error)
        return str(error)
    check_diagnosis(diagnosis)
    text = as_text(diagnosis, "train.log", [], Paint(False), 100, False)
    odd = [char for char in text if not char.isprintable() and char not in "\n\t"]
    assert not odd, f"printed raw: {odd[0]!r}"
    return as_json(diagnosis, "train.log", []) + text


def check_diagnosis(diagnosis: Diagnosis) -> None:
    assert diagnosis.bytes >= 0
    for cause in diagnosis.causes:
        line = cause.evidence.line
        assert 1 <= line <= max(diagnosis.lines, 1), f"line {line} of {diagnosis.lines}"
