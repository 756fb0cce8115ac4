"""The command line that a program takes: its options, and whether these are all. Held against argparse
itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.documents.python import read_program
from dslint.documents.tree import UNKNOWN, Source

HEAD = "import argparse, deepspeed\nparser = argparse.ArgumentParser()\n"


def command_line(text):
    return read_program(Source("train.py", textwrap.dedent(text))).command_line


def options(lines):
    return command_line(f"{HEAD}{textwrap.dedent(lines)}\nargs = parser.parse_args()\n")


def test_an_option_is_read_with_all_that_it_says():
    found = options(
        """
        parser.add_argument("--dtype", "-d", type=str, choices=["fp16", "bf16"], default="bf16", required=True)
        parser.add_argument("--fp16", action="store_true")
        parser.add_argument("--lr", type=float, default=args_default())
        parser.add_argument("--dims", nargs="+", dest="sizes")
        parser.add_argument("--shuffle", action=argparse.BooleanOptionalAction)
        parser.add_argument("--local-rank", type=int)
        parser.add_argument("data")
        """
    )
    dtype = found.options["--dtype"]
    assert dtype is found.options["-d"]
    assert (dtype.dest, dtype.type, dtype.default, dtype.choices) == (
        "dtype",
        "str",
        "bf16",
        ["fp16", "bf16"],
    )
    assert dtype.required is True
    assert (found.options["--fp16"].takes_value, found.options["--fp16"].default) == (False, False)
    assert found.options["--lr"].default is UNKNOWN
    assert found.options["--dims"].dest == "sizes"
    assert "--no-shuffle" in found.options
    assert found.options["--local-rank"].dest == "local_rank"
    assert found.positionals == 1
    assert found.complete
    assert found.reads_arguments


def test_defaults_and_choices_have_their_places():
    text = HEAD + 'parser.add_argument("--dtype", choices=["a", "b"], default="a")\n'
    option = command_line(text).options["--dtype"]
    assert text[slice(*option.default_span)] == '"a"'
    assert text[slice(*option.choices_span)] == '["a", "b"]'
    assert text[option.start : option.end].startswith("parser.add_argument(")


def test_add_config_arguments_brings_its_options():
    program = read_program(
        Source(
            "train.py", f"{HEAD}parser = deepspeed.add_config_arguments(parser)\nargs = parser.parse_args()\n"
        )
    )
    found = program.command_line
    assert found.options["--deepspeed"].takes_value is False
    assert found.options["--deepspeed_config"].takes_value is True
    assert found.complete
    assert program.adds_config_arguments is not None
    assert program.takes_local_rank is False


@pytest.mark.parametrize(
    "lines",
    [
        "parser.add_argument('--' + name)",
        "for name in names:\n    parser.add_argument(name)",
        "add_more_arguments(parser)",
        "parser = add_more_arguments(parser)",
        "Trainer.add_argparse_args(parser)",
        "parser = deepspeed.add_tuning_arguments(parser)",
        "sub = parser.add_subparsers()",
        "other = argparse.ArgumentParser(parents=[base])",
        "get_parser().add_argument('--x')",
        "sys.argv = ['x']",
    ],
)
def test_options_that_may_come_from_elsewhere_leave_the_command_line_open(lines):
    assert not options(f"from elsewhere import add_more_arguments, get_parser\n{lines}").complete


@pytest.mark.parametrize(
    "lines",
    [
        "group = parser.add_argument_group('x')\ngroup.add_argument('--x')",
        "parser.add_argument_group('x').add_argument('--x')",
        "def add(p):\n    p.add_argument('--x')\nadd(parser)",
        "def add(p):\n    p.add_argument('--x')\n    return p\nparser = add(parser)",
        "if flag:\n    parser.add_argument('--x')",
        "NAME = '--x'\nparser.add_argument(NAME)",
        "for name in ['--x']:\n    pass\nparser.add_argument('--x')",
    ],
)
def test_options_that_are_all_in_the_file_make_it_complete(lines):
    found = options(lines)
    assert found.complete
    assert "--x" in found.options


def test_words_that_the_program_makes_up_are_not_the_command_line():
    assert not command_line(f"{HEAD}args = parser.parse_args(['--x', '1'])\n").reads_arguments
    assert not command_line(f"{HEAD}args = parser.parse_args('--x 1'.split())\n").reads_arguments
    assert command_line(f"{HEAD}import sys\nargs = parser.parse_args(sys.argv[1:])\n").reads_arguments


def test_parse_known_args_passes_over_what_it_does_not_know():
    assert command_line(f"{HEAD}args, rest = parser.parse_known_args()\n").tolerant


def test_without_a_parse_in_the_file_nothing_is_said_to_be_complete():
    assert not command_line(f"{HEAD}parser.add_argument('--x')\n").complete


NAMES = ["--fp16", "--fp16_opt", "--bf16", "--deepspeed", "--deepspeed_config", "--d", "--lr"]


@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
    st.sampled_from([*NAMES, "--fp", "--deep", "--deepspeed_c", "--x", "--l"]),
    st.booleans(),
)
def test_a_word_means_the_option_that_argparse_takes_it_for(names, word, abbreviations):
    keyword = "" if abbreviations else "allow_abbrev=False"
    lines = "".join(f"parser.add_argument('{name}')\n" for name in names)
    found = command_line(
        f"import argparse  # deepspeed\nparser = argparse.ArgumentParser({keyword})\n{lines}parser.parse_args()\n"
    )
    parser = argparse.ArgumentParser(allow_abbrev=abbreviations)
    for name in names:
        parser.add_argument(name)
    matching = found.matching(f"{word}=1")
    try:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            taken = vars(parser.parse_args([f"{word}=1"]))
    except SystemExit:
        assert len(matching) != 1
        assert ("ambiguous" in said.getvalue()) == (len(matching) > 1)
        return
    (option,) = matching
    assert taken[option.dest] == "1"
