"""What the tests of the command line share: dslint run in a folder as a user runs it, and git."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from places import ROOT

BOTH = '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true}\n}\n'
GOOD = '{"train_batch_size": 8, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n'
WHO = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false")


def dslint(folder, *arguments, stdin=b"", **environment):
    """A finished run; `out` and `err` are what it said. It never shows a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main", *arguments],
        cwd=folder, input=stdin, capture_output=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder), **environment},
    )  # fmt: skip
    done.out, done.err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert "Traceback" not in done.out + done.err
    assert "internal error" not in done.err
    return done


def git(folder, *arguments):
    done = subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(folder, files):
    """Writes texts by their paths below a folder."""
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
