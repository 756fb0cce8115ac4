"""How long `dslint validate` takes on a good config: `python bench/validate_time.py [--runs 3]`.

Wall time is what a person waits; processor time (user and system, of all processes) is what a busy machine leaves unchanged.
The first run is not counted: it reads torch and deepspeed from the disk, and compiles a kernel where the config needs one.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = {"train_batch_size": 8, "gradient_clipping": 1.0}
CASES = {
    "bf16, ZeRO 2, deepspeed.initialize": (
        {**BASE, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2}},
        (),
    ),
    "fp16, ZeRO 3, deepspeed.initialize": (
        {**BASE, "fp16": {"enabled": True}, "zero_optimization": {"stage": 3}},
        (),
    ),
    "bf16, ZeRO 2, the Trainer": (
        {
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "gradient_clipping": "auto",
            "bf16": {"enabled": True},
            "zero_optimization": {"stage": 2},
        },
        ("--framework", "transformers"),
    ),
    "fp16 until it dies of overflow": (
        {**BASE, "fp16": {"enabled": True}, "zero_optimization": {"stage": 2}},
        ("--stress", "overflow"),
    ),
    "bf16, ZeRO 2, DeepSpeed's AdamW": (
        {
            **BASE,
            "bf16": {"enabled": True},
            "zero_optimization": {"stage": 2},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        },
        (),
    ),
    "refused at loading": ({**BASE, "fp16": {"enabled": True, "min_loss_scale": 0.5}}, ()),
}


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def once(path: Path, options: tuple[str, ...]) -> tuple[float, float]:
    """Wall and processor seconds of one run."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DS_ACCELERATOR": "cpu"}
    command = [sys.executable, "-m", "dslint.cli.main", "validate", str(path), "--device", "cpu", *options]
    before, start = spent(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return time.perf_counter() - start, spent() - before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("deepspeed", "torch", "transformers", "accelerate")
    )
    print(f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, {platform.machine()}")
    print(
        f"{time.strftime('%Y-%m-%d')}, the best of {runs} runs, 20 steps, load {os.getloadavg()[0]:.1f} at the start\n"
    )
    print("| config | wall, s | processor, s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ds_config.json"
        for name, (config, options) in CASES.items():
            path.write_text(json.dumps(config))
            once(path, options)
            taken = [once(path, options) for _ in range(runs)]
            wall, processor = (min(column) for column in zip(*taken, strict=True))
            print(f"| {name} | {wall:.1f} | {processor:.1f} |", flush=True)


if __name__ == "__main__":
    main()
