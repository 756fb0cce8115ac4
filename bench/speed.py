"""How long dslint takes: one file, cold, beside `import click`; and 1,000 files beside check-jsonschema.

usage: python -m bench.speed [--configs DIR] [--runs N]      (writes bench/results/speed.md)

The figures are seconds of user and system time of whole processes, each command run in turn with the others, so that a busy
machine slows all alike; what is compared is the median.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOOD = '{"train_batch_size": 8, "bf16": {"enabled": true}, "gradient_clipping": 1.0, "zero_optimization": {"stage": 2}}\n'
SCHEMA = ROOT / "schemas" / "deepspeed" / "0.19.8.json"


def spent(command: Sequence[str], folder: str) -> float:
    """The processor time of a command, in seconds."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def medians(commands: dict[str, Sequence[str]], folder: str, runs: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, command in commands.items():
            taken[name].append(spent(command, folder))
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=Path, default=ROOT.parent / "shared" / "corpus" / "configs")
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.parse_args()
    binaries = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ds_config.json").write_text(GOOD)
        cold = medians(
            {
                "python -c 'import click'": [sys.executable, "-c", "import click"],
                "dslint ds_config.json": [str(binaries / "dslint"), "--isolated", "ds_config.json"],
            },
            folder,
            asked.runs,
        )
    with tempfile.TemporaryDirectory() as folder:
        names = thousand(asked.configs, folder)
        many = medians(
            {
                "check-jsonschema": [str(binaries / "check-jsonschema"), "--schemafile", str(SCHEMA), *names],
                "dslint": [str(binaries / "dslint"), "--isolated", "--output-format", "concise", *names],
            },
            folder,
            max(3, asked.runs // 4),
        )
    text = page(cold, many)
    (ROOT / "bench" / "results" / "speed.md").write_text(text)
    print(text)
    return 0


def thousand(configs: Path, folder: str) -> list[str]:
    """1,000 files of real configs that are strict JSON, each as often as it takes."""
    texts = []
    for path in sorted(configs.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        try:
            json.loads(text)
        except ValueError:
            continue
        texts.append(text)
    names = [f"ds_config_{number:04}.json" for number in range(1000)]
    for number, name in enumerate(names):
        Path(folder, name).write_text(texts[number % len(texts)], encoding="utf-8")
    return names


def page(cold: dict[str, float], many: dict[str, float]) -> str:
    base, own = cold.values()
    other, ours = many.values()
    machine = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {datetime.date.today().isoformat()}"
    )
    rows = [f"| `{name}` | {seconds * 1000:.1f} ms |" for name, seconds in {**cold, **many}.items()]
    return "\n".join(
        [
            "# Speed",
            "",
            f"{machine}. Median processor time of whole processes, run in turn (bench/speed.py).",
            "",
            "| command | time |",
            "|---|---|",
            *rows,
            "",
            f"One file, cold: {own / base:.2f} times `import click` (the bar is 1.6).",
            f"1,000 real configs: {ours / other:.2f} times check-jsonschema with one schema (the bar is 0.8).",
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
