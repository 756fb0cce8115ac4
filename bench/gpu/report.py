"""The results of bench.gpu as a page: python -m bench.gpu.report FILE.json > FILE.md."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Rows = dict[str, dict[str, Any]]


def page(known: dict[str, Any]) -> str:
    return (
        "\n".join(
            [
                "# Real configs and stress runs on a GPU",
                "",
                f"`make gpu`: DeepSpeed {known['deepspeed']}, torch {known['torch']}, {known['machine']}, {known['date']}.",
                *tested(known),
                *configs(known),
                *stressed(known["stress"]),
                *unscaled(known["unscaled"]),
            ]
        )
        + "\n"
    )


def tested(known: dict[str, Any]) -> Iterator[str]:
    if known["tests"] is not None:
        yield f"The `gpu` tests: {' '.join(known['tests']['said']).strip('= ') or 'no word of them'}."


def configs(known: dict[str, Any]) -> Iterator[str]:
    """The corpus, before and after."""
    runs = known["runs"]
    before, after = ({**of(known, variant)} for variant in ("before", "after"))
    if not before:
        return
    refused = {name for name, row in before.items() if row["verdict"] != "ok"}
    taken = before.keys() - refused
    told = {row["file"]: row["told"] for row in known["configs"]}
    mended, unmended, untold = (
        {name for name in refused if told[name] == kind} for kind in ("fix", "error", "")
    )
    changed = taken & after.keys()
    spent = sum(run["seconds"] for run in runs.values())
    left = sum(row["run"] not in runs for row in known["configs"])
    yield from (
        "",
        "## Every config of the corpus, before and after the fixes",
        "",
        "Each config that is no template, on one GPU: `deepspeed.initialize` and 20 optimizer steps of a small model, as it",
        'is and as `dslint --fix --unsafe-fixes` leaves it. "auto" is filled as the HF Trainer fills it, train_batch_size is',
        "left to DeepSpeed, a micro batch is at most 4, accumulation at most 2, offload paths lie in a temporary folder;",
        f"configs that are then equal share a run. {len(runs)} runs, {spent:.0f} s of children"
        + (f"; {left} files are still to be run." if left else "."),
        "",
        "| | files | train 20 steps |",
        "|---|---|---|",
        f"| as they are | {len(before)} | {len(taken)} |",
        f"| refused, and dslint has an error with a fix for it | {len(mended)} | {good(mended, after)} once fixed |",
        f"| refused, and dslint has an error without a fix | {len(unmended)} | 0 |",
        f"| refused, and dslint has no error: the config is right elsewhere | {len(untold)} | 0 |",
        f"| accepted, and changed by a fix | {len(changed)} | {good(changed, after)} once fixed |",
        "",
        "### Mended files that do not train",
        "",
        *listed(
            f"{name}: {after[name]['verdict']}"
            for name in sorted((mended | changed) & after.keys())
            if after[name]["verdict"] != "ok"
        ),
        "",
        "### Refused files with an error and no fix",
        "",
        *counted(before, unmended),
        "",
        "### Refused files without an error",
        "",
        *counted(before, untold),
    )


def counted(rows: Rows, names: set[str]) -> list[str]:
    verdicts = Counter(rows[name]["verdict"] for name in names)
    return listed(f"{count} × {text}" for text, count in verdicts.most_common())


def of(known: dict[str, Any], variant: str) -> Rows:
    """The results of a variant by file; those that are not run yet are left out."""
    runs = known["runs"]
    return {
        row["file"]: runs[row["run"]]
        for row in known["configs"]
        if row["variant"] == variant and row["run"] in runs
    }


def good(names: set[str], after: Rows) -> int:
    return sum(name in after and after[name]["verdict"] == "ok" for name in names)


def stressed(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield from (
        "",
        "## Stress runs",
        "",
        "`dslint validate --stress` on a small transformer: overflow makes gradients 2^40 times too large for a stretch of",
        "steps, underflow 2^16 times too small.",
        "",
        "| | ends | steps | skipped | gradient that is 0 | loss |",
        "|---|---|---|---|---|---|",
    )
    for row in rows:
        zeros = row.get("zeros")
        share = "" if zeros is None else f"{100 * zeros:.1f} %"
        loss = " → ".join(f"{float(value):.3g}" for value in row.get("loss", []))
        cells = (row["name"], row["headline"], row.get("steps", 0), row.get("skipped", 0), share, loss)
        yield f"| {' | '.join(map(str, cells))} |"
    errors = dict.fromkeys(row["error"] for row in rows if row.get("error"))
    yield ""
    yield from listed(errors)


def unscaled(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield from (
        "",
        "## fp16 without ZeRO does not scale the loss",
        "",
        "Rule fp16-without-zero-unscaled: one step of a Linear(64, 64) under a static loss scale of 1024; the norm of the update",
        "of the weights.",
        "",
        "| optimizer | stage | precision | update |",
        "|---|---|---|---|",
    )
    for row in rows:
        yield f"| {row['optimizer']}, lr {row['rate']:g} | {row['stage']} | {row['precision']} | {row['update']:.2e} |"


def listed(texts: Iterable[str]) -> list[str]:
    return [f"- {text}" for text in texts] or ["None."]


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
