"""What is said of training YAML, held against the real transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# An interpreter that has transformers; this one, unless told otherwise.
PYTHON = os.environ.get("DSLINT_FRAMEWORKS_PYTHON", sys.executable)

PROGRAM = """
import sys, torch
from transformers import HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file(sys.argv[1])
try:
    Trainer(model=torch.nn.Linear(2, 2), args=args).create_optimizer()
except TypeError as error:
    print("STOPPED", error)
else:
    print("WENT ON")
"""


@pytest.mark.frameworks
@pytest.mark.parametrize(("rate", "said"), [("5e-5", "STOPPED"), ("5.0e-05", "WENT ON")])
def test_a_learning_rate_that_yaml_reads_as_text_stops_the_optimizer(
    rate: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(f"output_dir: {tmp_path}\nuse_cpu: true\nreport_to: none\nlearning_rate: {rate}\n")
    done = subprocess.run([PYTHON, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
        pytest.skip(f"{PYTHON} has no transformers, so nothing was held against it")
    assert said in done.stdout, done.stderr[-500:]
