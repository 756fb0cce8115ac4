"""After a move, what the sample repository launches starts on the real DeepSpeed, transformers and accelerate, on a CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_repository import write

from dslint.cli.migrate import command
from dslint.releases.pins import forget

START = Path(__file__).with_name("start.py")
# An interpreter that has transformers, accelerate and deepspeed; this one, unless told otherwise.
PYTHON = os.environ.get("DSLINT_FRAMEWORKS_PYTHON", sys.executable)


@pytest.mark.frameworks
@pytest.mark.parametrize("moves", [("bf16",), ("bf16", "fp16")])
def test_every_launch_starts_in_the_new_format(moves, tmp_path, monkeypatch):
    probe = subprocess.run(
        [PYTHON, "-c", "import deepspeed, transformers, accelerate"], capture_output=True, check=False
    )
    if probe.returncode != 0:
        pytest.skip(f"{PYTHON} has no deepspeed, transformers and accelerate, so no launch was started")
    monkeypatch.chdir(tmp_path)
    forget()
    write(tmp_path)
    for to in moves:
        hardware = ["--hardware", "v100"] if to == "fp16" else []
        moved = CliRunner().invoke(command, ["--isolated", "--to", to, *hardware])
        assert moved.exit_code == 0, moved.output
    run = subprocess.run(
        [PYTHON, str(START), str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    seen = json.loads(run.stdout.rpartition("SEEN ")[2])
    assert len(seen) == 12
    to = moves[-1]
    for name, facts in seen.items():
        if "dtype" in facts:
            assert facts["dtype"] == to, name
            continue
        for layer in (facts, facts.get("engine", facts)):
            assert (layer["fp16"], layer["bf16"]) == (to == "fp16", to == "bf16"), name
        assert facts.get("engine", facts)["clip"] > 0, name
