"""`python -m fuzz [TARGET…] --seconds N`: each target in turn; a line of JSON about each run, in OUT/runs.jsonl."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzz.targets import NAMES, target

MOST: Final = 4096
"""Bytes of the longest input: time is better spent on many short ones; tests/safety has long ones."""
STAT: Final = re.compile(r"^stat::(\w+):\s*(\d+)", re.M)
REACHED: Final = re.compile(r"\bcov: (\d+) ft: (\d+) corp: (\d+)")


def main(arguments: Sequence[str]) -> int:
    asked = parser().parse_args(arguments)
    unknown = [name for name in asked.targets if name not in NAMES]
    if unknown:
        sys.exit(f"fuzz: {unknown[0]} is no target; the targets are {', '.join(NAMES)}")
    out: Path = asked.out
    out.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in asked.targets or NAMES:
        row = run(name, asked.seconds, out, asked.seed, blind=asked.blind)
        with open(out / "runs.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
        failed = failed or bool(row["failures"])
    return int(failed)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    made.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(NAMES)}; all by default")
    made.add_argument("--seconds", type=int, default=60, help="of wall time, for each target")
    made.add_argument(
        "--out", type=Path, default=Path("build/fuzz"), help="where inputs and findings are kept"
    )
    made.add_argument("--seed", type=int, default=1, help="of the plain mutator")
    made.add_argument("--blind", action="store_true", help="the plain mutator, though atheris is installed")
    return made


def run(name: str, seconds: int, out: Path, seed: int, *, blind: bool) -> dict[str, Any]:
    """Fuzz one target, and say what came of it."""
    started = time.monotonic()
    begun = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    guided = not blind and importlib.util.find_spec("atheris") is not None
    told = run_guided(name, seconds, out) if guided else run_blind(name, seconds, out, seed)
    return {
        "target": name,
        "begun": begun,
        "seconds": round(time.monotonic() - started, 1),
        "mutator": "atheris" if guided else "plain",
        "python": sys.version.split()[0],
        **told,
    }


def run_blind(name: str, seconds: int, out: Path, seed: int) -> dict[str, Any]:
    from fuzz.blind import run as run_plainly
    from fuzz.findings import Recorder

    record = Recorder(name, target(name), out / "findings")
    run_plainly(record, seconds, seed, MOST)
    return {"executions": record.runs, "failures": record.failures}


def run_guided(name: str, seconds: int, out: Path) -> dict[str, Any]:
    """A child process: libFuzzer does not return."""
    work, findings = out / "inputs" / name, out / "findings"
    for folder in (work, findings):
        folder.mkdir(parents=True, exist_ok=True)
    summary = findings / f"{name}.json"
    summary.unlink(missing_ok=True)
    for data in target(name).seeds():
        if len(data) <= MOST:
            (work / hashlib.sha256(data).hexdigest()[:20]).write_bytes(data)
    command = [sys.executable, "-m", "fuzz.guided", name, str(seconds), str(work), str(findings), str(MOST)]
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    said = done.stderr.decode("utf-8", "replace")
    (out / f"{name}.log").write_text(said, encoding="utf-8")
    failures = json.loads(summary.read_text())["failures"] if summary.exists() else {}
    if done.returncode:
        failures["the process was stopped"] = 1
    return {**read_stats(said), "failures": failures}


def read_stats(said: str) -> dict[str, Any]:
    """What libFuzzer printed of its work."""
    stats = dict(STAT.findall(said))
    reached = REACHED.findall(said)
    coverage, features, inputs = map(int, reached[-1]) if reached else (0, 0, 0)
    return {
        "executions": int(stats.get("number_of_executed_units", 0)),
        "coverage": coverage,
        "features": features,
        "inputs": inputs,
        "peak_mb": int(stats.get("peak_rss_mb", 0)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
