"""What a shell is told when it asks for completions."""

import os
import subprocess
import sys

import pytest
from places import ROOT


def completed(*words):
    """The completions of the last word, as bash is given them: kind, value."""
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main"], capture_output=True, text=True, check=True,
        env={
            "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "_DSLINT_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("dslint", *words)), "COMP_CWORD": str(len(words)),
        },
    )  # fmt: skip
    return [tuple(line.split(",", 1)) for line in done.stdout.splitlines()]


def test_the_first_word_may_be_a_command_or_a_path():
    assert completed("ru") == [("plain", "rule"), ("file", "ru")]
    assert ("plain", "diagnose") in completed("")


def test_the_first_word_may_be_an_option_of_check():
    assert completed("--uns") == [("plain", "--unsafe-fixes")]


def test_options_and_their_choices_are_completed_with_and_without_the_word_check():
    assert completed("--output-format", "sa") == [("plain", "sarif")]
    assert completed("check", "--output-format", "sa") == [("plain", "sarif")]
    assert completed("rule", "--a") == [("plain", "--all")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell):
    done = subprocess.run(
        [sys.executable, "-c", "from dslint.cli.main import main; main()"], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "_DSLINT_COMPLETE": f"{shell}_source"},
    )  # fmt: skip
    if "shell version is not supported" in done.stderr.lower() or "couldn't detect" in done.stderr.lower():
        pytest.skip(f"no {shell} of a version that click knows is here: {done.stderr.strip()}")
    assert "_DSLINT_COMPLETE" in done.stdout, done.stderr
