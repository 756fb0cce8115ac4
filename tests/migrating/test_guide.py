"""docs/migrate.md shows what dslint prints."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dslint.cli.migrate import command as migrate
from dslint.cli.upgrade import command as upgrade
from dslint.releases.pins import forget

GUIDE = (Path(__file__).parents[2] / "docs" / "migrate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.DOTALL)
CONFIGS = [text for kind, text in BLOCKS if kind == "json"]
SHOWN = [text for kind, text in BLOCKS if kind == "console"]
PROGRAM = (
    "from transformers import HfArgumentParser, TrainingArguments\n"
    "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    forget()
    Path("requirements.txt").write_text("deepspeed==0.18.9\n")
    yield
    forget()


def shown(number):
    """A console block's command, and the lines behind it."""
    first, _, rest = SHOWN[number].partition("\n")
    return first.removeprefix("$ dslint ").split()[1:], rest


@pytest.mark.parametrize("number", [0, 1])
def test_the_move_of_the_guide(number):
    Path("ds_config.json").write_text(CONFIGS[0])
    Path("train.sh").write_text(next(text for kind, text in BLOCKS if kind == "sh"))
    Path("train.py").write_text(PROGRAM)
    words, wanted = shown(number)
    result = CliRunner().invoke(migrate, ["--isolated", *words])
    assert sorted(result.output.splitlines()) == sorted(wanted.splitlines())


def test_the_upgrade_of_the_guide():
    Path("ds_config.json").write_text(CONFIGS[1])
    words, wanted = shown(2)
    assert CliRunner().invoke(upgrade, ["--isolated", *words]).output == wanted
