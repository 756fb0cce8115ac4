"""The tables of launchers' options hold what the launchers' own parsers take."""

from __future__ import annotations

import argparse
import inspect
import re

import pytest

from dslint.launches.launchers import ACCELERATE, ACCELERATE_FAMILIES, DEEPSPEED, TORCHRUN, Table


def options_of(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Every spelling, and whether it takes a value."""
    return {spelling: action.nargs != 0 for action in parser._actions for spelling in action.option_strings}


def assert_covers(table: Table, real: dict[str, bool]) -> None:
    values, flags = set(table.values), set(table.flags)
    assert {name for name, takes in real.items() if takes} - values == set()
    assert {name for name, takes in real.items() if not takes} - flags == set()


@pytest.mark.frameworks
def test_torchrun_takes_what_the_table_says():
    run = pytest.importorskip(
        "torch.distributed.run", reason="torch isn't installed, so its options can't be compared"
    )
    assert_covers(TORCHRUN, options_of(run.get_args_parser()))


@pytest.mark.frameworks
def test_accelerate_takes_what_the_table_says():
    launch = pytest.importorskip(
        "accelerate.commands.launch", reason="accelerate isn't installed, so its options can't be compared"
    )
    real = options_of(launch.launch_command_parser())
    known = {name: takes for name, takes in real.items() if not name.startswith(ACCELERATE_FAMILIES)}
    assert_covers(ACCELERATE, known)
    families = {name: takes for name, takes in real.items() if name.startswith(ACCELERATE_FAMILIES)}
    assert all(takes or name in ACCELERATE.flags for name, takes in families.items())


@pytest.mark.engine
def test_deepspeed_takes_what_the_table_says():
    runner = pytest.importorskip(
        "deepspeed.launcher.runner", reason="deepspeed isn't installed, so its options can't be compared"
    )
    text = inspect.getsource(runner.parse_args)
    real: dict[str, bool] = {}
    for call in re.findall(r"add_argument\((.*?)\n\n|add_argument\((.*?)\)\n", text, re.DOTALL):
        body = call[0] or call[1]
        names = re.findall(r"\"(-{1,2}[A-Za-z_]+)\",", body)
        real.update((name, "store_true" not in body) for name in names)
    assert len(real) > 20
    assert_covers(DEEPSPEED, real)
