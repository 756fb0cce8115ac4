"""The reader of Python programs: never raises, never runs anything, spans in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dslint.documents.python import Program, is_worth_reading, read_program
from dslint.documents.tree import Document, Source
from dslint.launches.programs import config_uses, parsed_arguments, written_configs
from fuzz import seeds as seed
from fuzz.promises import check_document, text_of

START: Final = "import deepspeed\ndeepspeed.initialize(config={})\n"
WORDS: Final = (
    *(
        "import deepspeed\n",
        "from transformers import TrainingArguments\n",
        "TrainingArguments(",
        "deepspeed=",
    ),
    *(
        "ds.initialize(config=",
        "Accelerator(",
        "DeepSpeedPlugin(",
        "HfArgumentParser(",
        "argparse.ArgumentParser()",
    ),
    *(
        "    ",
        "\n",
        "{**",
        "*",
        "lambda x: ",
        "def f(",
        "class A(",
        "return ",
        "for x in ",
        "if ",
        "else:",
        "del ",
    ),
    *(
        ".update(",
        "json.load(open(",
        "dict(",
        "f'{",
        '"""',
        "'",
        "b'",
        "\\\n",
        "zero_optimization",
        '"stage"',
        "[0]",
    ),
    *(
        "@dataclass\n",
        "field(default=",
        "**kwargs",
        ":=",
        "yield",
        "await ",
        "global ",
        "with open(",
        " as f:",
        "\f",
    ),
)


def seeds() -> Iterator[bytes]:
    yield from seed.examples(".py")
    yield from seed.blocks("python", "py")
    # The test's program holds every construct that the reader knows.
    yield from seed.files(seed.ROOT / "tests" / "documents", "test_python_fuzz.py")
    yield from seed.files(seed.CORPUS, "*.py")


def one(data: bytes) -> None:
    text = text_of(data)
    if not is_worth_reading(text):
        text = START + text
    check_program(read_program(Source("train.py", text)))


def check_program(program: Program) -> None:
    size = len(program.source.text)
    for call in program.calls:
        assert 0 <= call.start < call.end <= size
        for given in call.arguments.values():
            assert 0 <= given.start <= given.end <= size
    if program.problem is not None:
        assert 0 <= program.problem.start <= size
    documents = [config.document for config in program.configs if config.document is not None]
    documents += program.definitions.values()
    documents += [use.config for use in config_uses(program) if isinstance(use.config, Document)]
    for document in documents:
        check_document(document)
    parsed_arguments(program)
    written_configs(program)
