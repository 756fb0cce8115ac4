"""Python programs, read with `ast` alone: the calls that make a launch, their arguments, and the configs in
them.

Nothing is executed or imported. What only a run would show is UNKNOWN. A file that names none of the
libraries that matter is not even parsed.
"""

from __future__ import annotations

import ast
import gc
import re
import warnings
from typing import Final

from dslint.documents.python_offsets import Offsets
from dslint.documents.python_options import CommandLine, Option
from dslint.documents.python_program import Call, Config, Framework, Given, LocalClass, Parser, Program
from dslint.documents.python_reader import Reader
from dslint.documents.python_scalars import PathText
from dslint.documents.python_trees import Loaded, Override
from dslint.documents.tree import Problem, Source

__all__ = [
    "Call",
    "CommandLine",
    "Config",
    "Framework",
    "Given",
    "Loaded",
    "LocalClass",
    "Option",
    "Override",
    "Parser",
    "PathText",
    "Program",
    "is_worth_reading",
    "read_program",
]

MAX_LENGTH: Final = (
    400_000  # characters; a longer file is generated, and a syntax tree takes 300 bytes for each of them
)
MOST_BRACES: Final = 20_000  # in an f-string, Python's own parser takes quadratic time for them
# Words of the libraries that matter. Looked for one by one: a regular expression takes fifty times as long.
LIBRARY_WORDS: Final = (
    "deepspeed",
    "DeepSpeed",
    "TrainingArguments",
    "HfArgumentParser",
    "TrlParser",
    "Accelerator",
    "zero_optimization",
    "from trl",
    "import trl",
)
# What a call or class that the reader knows ends with, and what it is followed by.
CALL_WORDS: Final = (
    "initialize",
    "init_inference",
    ".Init",
    "add_config_arguments",
    "ArgumentParser",
    "TrlParser",
    "TrainingArguments",
    "Accelerator",
    "DeepSpeedPlugin",
    "DeepSpeedStrategy",
    "Fabric",
    "Trainer",
    "Config",
    "Framework",
)
CALLED: Final = re.compile(r"[ \t]*(?:\(|as\b|\)[ \t]*:)")
CONFIG_WORDS: Final = ("zero_optimization", "train_micro_batch_size_per_gpu")
# What only Python 2 reads: such files are nobody's mistake.
PYTHON_2: Final = re.compile(
    r"^[ \t]*(?:print[ \t]+[^\s(=.,:\[]|print[ \t]*$|exec[ \t]+[\w'\"]|raise[ \t]+\w+[ \t]*,"
    r"|except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:)|<>|\b0[0-7]+[lL]?\b|\bur['\"]",
    re.M,
)


def is_worth_reading(text: str) -> bool:
    """A quick look: can this text hold anything that the reader looks for?"""
    return names_library(text) and (any(word in text for word in CONFIG_WORDS) or has_call(text))


def names_library(text: str) -> bool:
    """Whether a text has a word of the libraries that matter in it."""
    return any(word in text for word in LIBRARY_WORDS)


def has_call(text: str) -> bool:
    for word in CALL_WORDS:
        at = text.find(word)
        while at >= 0:
            at += len(word)
            if CALLED.match(text, at):
                return True
            at = text.find(word, at)
    return False


def read_program(source: Source) -> Program:
    """Reads a Python file. Never raises; a file that no Python reads gives a Program with a problem."""
    text = source.text
    if not is_worth_reading(text):
        return Program(source)
    shift = 1 if text.startswith("\ufeff") else 0
    code = text[shift:]
    return read_code(source, code, Offsets(code, shift))


def read_code(source: Source, code: str, offsets: Offsets) -> Program:
    """Reads code that stands in a source; `offsets` say where."""
    if len(code) > MAX_LENGTH or code.count("{") > MOST_BRACES:
        return Program(source)
    # A syntax tree is tens of thousands of objects that all stay alive: collecting meanwhile is a third of
    # the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return read_tree(source, code, offsets)
    finally:
        if collecting:
            gc.enable()


def read_tree(source: Source, code: str, offsets: Offsets) -> Program:
    try:
        tree = parsed(code)
        return Reader(source, tree, offsets).program()
    except SyntaxError as error:
        if PYTHON_2.search(code):
            return Program(source)
        row, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        return refused(source, offsets, f"Python cannot read it: {error.msg}", row, column)
    except (RecursionError, MemoryError):
        return refused(source, offsets, "it is nested too deeply to be read")
    except ValueError as error:
        return refused(source, offsets, f"Python cannot read it: {error}")


def parsed(code: str) -> ast.Module:
    """The syntax tree.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `compile` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, "<program>", "exec", flags=flags, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def refused(source: Source, offsets: Offsets, message: str, row: int = 1, column: int = 0) -> Program:
    at = min(offsets.start(row, 0) + column, len(source.text))
    return Program(source, Problem("syntax", message, at, at, "", frozenset()))
