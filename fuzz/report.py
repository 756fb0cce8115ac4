"""`python -m fuzz.report DIR`: the runs that DIR/runs.jsonl tells of, as bench/results/fuzz.md."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.targets import NAMES

RESULT = Path(__file__).parents[1] / "bench" / "results" / "fuzz.md"


def main(arguments: Sequence[str]) -> int:
    made = argparse.ArgumentParser(prog="python -m fuzz.report", description=__doc__)
    made.add_argument("folder", type=Path, help="what --out of `python -m fuzz` was")
    made.add_argument("--to", type=Path, default=RESULT)
    asked = made.parse_args(arguments)
    rows = [
        json.loads(line) for line in (asked.folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    asked.to.write_text(report(rows), encoding="utf-8")
    print(f"{asked.to}: {len(rows)} runs")
    return 0


def report(rows: Sequence[dict[str, Any]]) -> str:
    """The report: a row for each target, then every failure with the runs that met it."""
    seconds = sum(row["seconds"] for row in rows)
    targets = "\n".join(target_row(name, [row for row in rows if row["target"] == name]) for name in NAMES)
    return f"""# Fuzzing

{len(rows)} runs of one target each, one after the other, from {rows[0]["begun"]} to {rows[-1]["begun"]} (the beginning of the
last), {seconds / 60:.0f} minutes in all; Python {rows[-1].get("python", "")}, {rows[-1].get("mutator", "")}, \
{platform.machine()} {platform.system()}, at the lowest priority on a
machine with other work. `python -m fuzz TARGET --seconds N --out DIR` makes such runs, `python -m fuzz.report DIR` this page.

Coverage and features are libFuzzer's counts for the code of dslint that the target reaches, the highest of its runs.

| target | runs | minutes | executions | coverage | features | inputs kept | peak, MB |
|---|---|---|---|---|---|---|---|
{targets}
| all | {len(rows)} | {seconds / 60:.0f} | {sum(row["executions"] for row in rows):,} | | | | |

## What was found

A run goes on behind a failure, so one fault is met many times until it is settled; the commit is the one that was fuzzed. What no
later run met again was mended, and is in tests/fuzz/test_found.py, or the promise was the wrong one and says now what is meant.

{chr(10).join(failures(rows)) or "Nothing."}
"""


def target_row(name: str, rows: Sequence[dict[str, Any]]) -> str:
    def most(key: str) -> int:
        return max((row.get(key, 0) for row in rows), default=0)

    minutes = sum(row["seconds"] for row in rows) / 60
    runs = sum(row["executions"] for row in rows)
    return (
        f"| {name} | {len(rows)} | {minutes:.0f} | {runs:,} | {most('coverage'):,} | {most('features'):,} | "
        f"{most('inputs'):,} | {most('peak_mb')} |"
    )


def failures(rows: Sequence[dict[str, Any]]) -> list[str]:
    met: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        for fault in row["failures"]:
            met.setdefault((row["target"], fault), []).append(row)
    told = []
    for (name, fault), where in met.items():
        later = [row for row in rows if row["target"] == name and row["begun"] > where[-1]["begun"]]
        times = sum(row["failures"][fault] for row in where)
        after = f"not met in the {len(later)} later runs" if later else "met in the last run of its target"
        commits = ", ".join(dict.fromkeys(row.get("commit", "?") for row in where))
        told.append(f"- {name}: `{' '.join(fault.split())[:200]}`: {times} times at {commits}; {after}")
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
