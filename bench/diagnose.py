# ruff: noqa: E501 - lines of logs are as long as they are
"""How fast `dslint diagnose` reads a log, and in how much memory: a log of 2 GB is made, read and deleted.

    python bench/diagnose.py [--size 2000] [--write]

Each kind of log is read by a process of its own; the figures are its processor time (what a quiet machine would take) and
wall time (what this one took), with the peak of its resident memory. `--write` puts them into results/diagnose.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1_000_000


class Taken(NamedTuple):
    kind: str
    megabytes: float
    processor: float
    wall: float
    memory: float
    status: int


def mixed(start: int) -> Iterator[str]:
    """A healthy run as it is: the Trainer's records and bars, the engine's reports, NCCL's chatter, timers."""
    for step in range(start, start + 2000):
        yield f"\r{step % 100:3}%|███▏      | {step}/100000 [1:23:45<99:59:59,  1.23s/it]"
        yield f"\r{{'loss': {2.5 - step % 999 / 999:.4f}, 'grad_norm': {1 + step % 7 / 9:.6f}, 'learning_rate': {1e-5 + step * 1e-12:.10f}, 'epoch': {step / 9999:.2f}}}\n"
        if step % 10 == 0:
            yield f"[2025-03-11 04:{step % 60:02}:17,{step % 1000:03}] [INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped=3, lr=[1.9e-05, 1.9e-05], mom=[(0.9, 0.999), (0.9, 0.999)]\n"
            yield f"[2025-03-11 04:{step % 60:02}:17,{step % 1000:03}] [INFO] [timer.py:264:stop] epoch=0/micro_step={step * 8}/global_step={step}, RunningAvgSamplesPerSec=967.0887, CurrSamplesPerSec=910.6867, MemAllocated=21.39GB, MaxMemAllocated=62.41GB\n"
        if step % 25 == 0:
            for rank in range(8):
                yield f"node{rank % 2}:{4711 + rank}:{4890 + rank} [{rank}] NCCL INFO Channel {step % 32:02}/0 : {rank}[{rank}] -> {rank + 1}[{rank + 1}] via P2P/CUMEM/read\n"
        if step % 50 == 0:
            yield f"[Rank 0] time (ms) | fwd_microstep: 234.55 | bwd_microstep: 480.39 | bwd_inner_microstep: 480.3{step} | bwd_allreduce_microstep: 0.01 | step_microstep: 12.5\n"
            yield "/opt/conda/lib/python3.10/site-packages/torch/utils/checkpoint.py:295: FutureWarning: `torch.cpu.amp.autocast(args...)` is deprecated.\n"
        if step % 500 == 0:
            yield f"Saving model checkpoint to output/checkpoint-{step}\n"


def sick(start: int) -> Iterator[str]:
    """Nothing but records in which everything is NaN."""
    for step in range(start, start + 2000):
        yield f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': {step / 9999:.2f}}}\n"


def warned(start: int) -> Iterator[str]:
    """A warning of every rank at every step, among them one that the catalogue knows."""
    for step in range(start, start + 500):
        for rank in range(4):
            yield f"[rank{rank}]: /opt/conda/lib/python3.10/site-packages/torch/utils/checkpoint.py:{step % 400}: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n"
        yield f"[2025-03-11 04:12:17,{step % 1000:03}] [WARNING] [stage3.py:2104:step] {step % 9} pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance.\n"


def bars(start: int) -> Iterator[str]:
    """A progress bar alone, without any line end."""
    for step in range(start, start + 5000):
        yield f"\r{step % 100:3}%|███▏      | {step}/1000000 [1:23:45<99:59:59,  1.23s/it]"


KINDS = {
    "a healthy run": mixed,
    "NaN throughout": sick,
    "warnings of all ranks": warned,
    "one progress bar": bars,
}


def write_log(path: Path, kind: str, size: int) -> None:
    """A log of `size` bytes or a little more, block after block."""
    with path.open("wb") as file:
        step = 1
        while file.tell() < size:
            block = "".join(KINDS[kind](step)).encode()
            for _ in range(8):
                file.write(block)
            step += 2000


def measure(path: Path, kind: str, packed: bool = False) -> Taken:
    size = path.stat().st_size
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, memory, read = done.stdout.split("\n")[-2].split()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(
        kind + (", gzip" if packed else ""),
        int(read) / MEGABYTE if packed else size / MEGABYTE,
        processor,
        wall,
        int(memory) / 1024,
        int(status),
    )


MEASURED = """
import io, resource, sys
from contextlib import redirect_stdout
from dslint.cli.diagnose import command
from dslint.diagnosis import scan
seen = {}
feed = scan.Scanner.feed
def counted(self, block):
    seen["bytes"] = seen.get("bytes", 0) + len(block)
    feed(self, block)
scan.Scanner.feed = counted
status = 0
try:
    command([sys.argv[1]], standalone_mode=True)
except SystemExit as end:
    status = end.code or 0
print()
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, seen["bytes"])
"""


def table(rows: list[Taken]) -> str:
    lines = [
        "| log | MB | processor s | MB/s | wall s | MB/s | peak memory MiB | exit |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.kind} | {row.megabytes:,.0f} | {row.processor:.1f} | {row.megabytes / row.processor:.0f} | {row.wall:.1f} | "
        f"{row.megabytes / row.wall:.0f} | {row.memory:.0f} | {row.status} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=2000, help="megabytes of each log")
    parser.add_argument("--write", action="store_true", help="put the figures into results/diagnose.md")
    options = parser.parse_args()
    subprocess.run(
        [sys.executable, "-c", "from dslint.diagnosis.catalogue import load_catalogue; load_catalogue()"],
        cwd=ROOT,
        check=True,
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        for kind in KINDS:
            write_log(path, kind, options.size * MEGABYTE)
            rows.append(measure(path, kind))
            print(rows[-1], flush=True)
        write_log(path, "a healthy run", options.size * MEGABYTE // 4)
        subprocess.run(["gzip", "-1", str(path)], check=True)
        rows.append(measure(path.with_suffix(".log.gz"), "a healthy run", packed=True))
        print(rows[-1], flush=True)
    shown = table(rows)
    print(shown)
    if options.write:
        load = os.getloadavg()[0]
        text = (
            "# How fast a log is read\n\n"
            f"Made by `python bench/diagnose.py --size {options.size} --write` on {datetime.date.today():%Y-%m-%d}, "
            f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, one process; the machine's load "
            f"was {load:.1f} at the end, so processor time is what counts and wall time is what it took beside others.\n\n"
            f"{shown}\n\n"
            "The log is made on the fly and deleted. Peak memory is the whole process's, the catalogue included; it does not grow "
            "with the log (a blank log takes as much but for a few MiB).\n"
        )
        (ROOT / "bench" / "results" / "diagnose.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
