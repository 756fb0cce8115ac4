"""Everything that wants a GPU, in one command: the `gpu` tests, the stress runs, every real config before and after its fixes.

usage: python -m bench.gpu --configs DIR --out FILE.json [--seconds 480] [--workers 14] [--steps 20] [--no-tests]

Resumable: what FILE already holds of the same machine and releases is not run again. A page of the results lies beside it, in
FILE.md. Exit status 1 when a test fails or a run is still to be made.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.gpu import kernels
from bench.gpu.configs import Job, jobs_of
from bench.gpu.report import page

ROOT = Path(__file__).parents[2]
# Left of the time for what is under way when it is over.
TAIL = 30.0
# Waited for kernels, beyond what the tests and stress runs have taken.
BUILDING = 90.0


class Results:
    """What the file holds; written anew as a whole after each result, so that an interruption costs nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        where = where_it_runs()
        if any(known.get(name) != value for name, value in where.items()):
            known = {}
        self.all: dict[str, Any] = {
            "date": datetime.date.today().isoformat(),
            "tests": None,
            "stress": [],
            "unscaled": [],
            "configs": [],
            "runs": {},
            **known,
            **where,
        }

    def save(self) -> None:
        new = self._path.with_name(self._path.name + ".new")
        new.write_text(json.dumps(self.all, indent=1) + "\n", encoding="utf-8")
        os.replace(new, self._path)
        self._path.with_suffix(".md").write_text(page(self.all), encoding="utf-8")


def where_it_runs() -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in ("deepspeed", "torch")}
    return {"machine": machine(), **versions}


def machine() -> str:
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no GPU"


def tests() -> dict[str, Any]:
    """The `gpu` tests, several at once where pytest-xdist is there."""
    spread = ["-n", "5"] if importlib.util.find_spec("xdist") else []
    places = [place for place in ("tests/engine", "tests/hardware") if (ROOT / place).is_dir()]
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-p", "no:cacheprovider", *spread, *places]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout[-6000:], flush=True)
    return {"status": done.returncode, "said": done.stdout.rstrip().splitlines()[-1:]}


def unscaled() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bench.gpu.unscaled"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], flush=True)
        return []
    return list(json.loads(done.stdout.splitlines()[-1]))


def train(results: Results, jobs: list[Job], asked: argparse.Namespace, seconds: float) -> int:
    """Run what is not run yet; how many runs are left then?"""
    from bench.gpu.children import COLD, run_all, warm_up

    runs = results.all["runs"]
    results.all["configs"] = [
        {"file": job.file, "variant": job.variant, "run": job.run, "told": job.told} for job in jobs
    ]
    wanted = {job.run: job.config for job in jobs if job.run not in runs}
    print(f"{len(wanted)} runs to go, {len({job.run for job in jobs}) - len(wanted)} done before", flush=True)
    started = time.monotonic()
    if wanted and not warm_up():
        print("the imports touched the GPU; starting anew without them", flush=True)
        again = [sys.executable, "-m", "bench.gpu", *sys.argv[1:], "--seconds", str(seconds)]
        os.execve(sys.executable, again, {**os.environ, COLD: "1"})
    seconds -= time.monotonic() - started
    for count, (name, result) in enumerate(run_all(wanted, asked.steps, asked.workers, seconds), 1):
        runs[name] = result
        if count % 10 == 0:
            print(f"{count} of {len(wanted)}", flush=True)
            results.save()
    results.save()
    return sum(job.run not in runs for job in jobs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--configs", type=Path, required=True, help="a folder of real configs")
    parser.add_argument("--out", type=Path, required=True, help="the results, as JSON")
    parser.add_argument("--seconds", type=float, default=480, help="the time for all of it")
    parser.add_argument("--workers", type=int, default=min(14, os.cpu_count() or 1))
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps of a config")
    parser.add_argument("--no-tests", action="store_true", help="leave the tests out")
    asked = parser.parse_args()
    last = time.monotonic() + asked.seconds
    kernels.set_up()
    building = kernels.start()
    results = Results(asked.out)
    if not asked.no_tests and not passed(results.all["tests"]):
        results.all["tests"] = tests()
        results.save()
    stress(results)
    if not results.all["unscaled"]:
        results.all["unscaled"] = unscaled()
        results.save()
    jobs = jobs_of(asked.configs)
    kernels.wait(building, BUILDING)
    left = train(results, jobs, asked, last - TAIL - time.monotonic())
    print(f"{left} still to be run; the same command goes on" if left else "all is run", flush=True)
    return int(bool(left) or not (asked.no_tests or passed(results.all["tests"])))


def passed(tests: dict[str, Any] | None) -> bool:
    """Did the tests pass? Without a GPU all are skipped, which shows nothing."""
    return tests is not None and tests["status"] == 0 and " passed" in " ".join(tests["said"])


def stress(results: Results) -> None:
    from bench.gpu.stress import run_all

    done = {row["name"] for row in results.all["stress"]}
    for row in run_all(done, "cpu" if os.environ.get("DS_ACCELERATOR") == "cpu" else "cuda"):
        print(f"{row['name']}: {row['headline']}", flush=True)
        results.all["stress"].append(row)
        results.save()


if __name__ == "__main__":
    sys.exit(main())
