"""What the README shows is what dslint prints."""

import re
import shlex
import subprocess
import sys

from places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, re.S)


def printed(command):
    program, *arguments = shlex.split(command)
    assert program == "dslint"
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main", "--isolated", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, env={"PATH": "", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.stdout


def test_the_readme_shows_real_output():
    assert CONSOLE
    for block in CONSOLE:
        command, _, shown = block.partition("\n")
        real = printed(command.removeprefix("$ "))
        for part in shown.split("\n\n…\n\n"):
            for paragraph in part.strip().split("\n\n"):
                assert paragraph in real
