"""Fixes on variants of real configs: what fuzz/fix_promises.py promises, held on each of thousands.

`python -m bench.fix_safety --count 10000` prints what it did and writes bench/results/fix_safety.md. A variant is a real config
with one or two mutations (bench/parity), written in one of several styles: indentation, line ends, a byte order mark, comments.
"""

from __future__ import annotations

import argparse
import collections
import json
import platform
import random
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from bench.parity.mutate import Mutator
from fuzz.fix_promises import Case, check

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench" / "results" / "fix_safety.md"
RELEASES = ("0.19.8", "0.18.9", "0.17.1", "0.16.9", "0.14.5")
FRAMEWORKS = (None, "deepspeed", "transformers", "accelerate")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configs", type=Path, default=ROOT.parent / "shared" / "corpus" / "configs")
    asked = parser.parse_args()
    mutator = Mutator(asked.configs)
    started = time.process_time()
    counts: collections.Counter[str] = collections.Counter()
    rules: collections.Counter[str] = collections.Counter()
    broken: list[str] = []
    for number in range(asked.count):
        case = case_of(mutator, asked.seed, number)
        try:
            done = check(case)
        except Exception as error:
            broken.append(f"{number}: {type(error).__name__}: {error}")
            print(broken[-1], flush=True)
            continue
        counts["changed"] += done.text != case.text
        counts["fixes"] += len(done.mended.applied)
        counts["refused"] += len(done.mended.refused)
        rules.update(finding.name for finding in done.mended.applied)
        if number % 1000 == 999:
            print(f"{number + 1} of {asked.count}: {dict(counts)}, {len(broken)} broken", flush=True)
    took = time.process_time() - started
    told = report(asked, counts, rules, broken, took)
    if asked.count >= 10_000:
        RESULT.write_text(told, encoding="utf-8")
    print(told)
    return int(bool(broken))


def case_of(mutator: Mutator, seed: int, number: int) -> Case:
    """The variant of a number, in a style that the number gives it; the same each time."""
    chance = random.Random(f"fix:{seed}:{number}")
    text = styled(mutator.variant(seed, number).config, chance)
    framework: Any = chance.choice(FRAMEWORKS)
    return Case("ds_config.json", text, chance.choice(RELEASES), framework)


def styled(config: dict[str, Any], chance: random.Random) -> str:
    text = json.dumps(config, indent=chance.choice((2, 4, "\t", 3, None)), ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.15:
        # A comment behind some rows: what hjson reads and json does not.
        rows = [row + (" // why" if chance.random() < 0.2 else "") for row in text.split("\n")]
        text = "\n".join(rows)
    if chance.random() < 0.2:
        text = text.replace("\n", "\r\n")
    if chance.random() < 0.1:
        text = "\ufeff" + text
    return text + chance.choice(("", "\n", "\n\n"))


def report(
    asked: argparse.Namespace,
    counts: collections.Counter[str],
    rules: collections.Counter[str],
    broken: list[str],
    took: float,
) -> str:
    rows = "\n".join(f"| {name} | {count} |" for name, count in rules.most_common())
    faults = "\n".join(f"- {fault}" for fault in broken) or "None."
    return f"""# Fixes on {asked.count:,} variants

`python -m bench.fix_safety --count {asked.count} --seed {asked.seed}`, {date.today().isoformat()}, Python \
{sys.version.split()[0]}, {platform.machine()} {platform.system()}; {took:.0f} s of processor time.

Each variant is a real config with one or two mutations, in one of several styles, and is fixed with safe and unsafe
fixes. Held on each: the new text is read by each loader that read the old one; its content differs only at the pointers
that the fixes name; rows that no fix names are the same bytes; fixing it again changes nothing.

| | |
|---|---|
| variants | {asked.count:,} |
| changed by fixes | {counts["changed"]:,} |
| fixes applied | {counts["fixes"]:,} |
| fixes left out, since they would not have been safe to write | {counts["refused"]:,} |
| promises broken | {len(broken)} |

## Broken promises

{faults}

## Fixes by rule

| rule | applied |
|---|---|
{rows}
"""


if __name__ == "__main__":
    sys.exit(main())
