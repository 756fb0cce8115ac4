"""The results of bench.gpu.run as a page: python -m bench.gpu.report bench/results/gpu.json > bench/results/gpu.md."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def page(known: dict[str, Any]) -> str:
    rows = known["results"]
    before = {row["file"]: row for row in rows if row["variant"] == "before"}
    after = {row["file"]: row for row in rows if row["variant"] == "after"}
    refused = {name for name, row in before.items() if row["verdict"] != "ok"}
    taken = before.keys() - refused
    mended = refused & after.keys()
    changed = taken & after.keys()
    lines = [
        "# Real configs on a GPU, before and after the fixes",
        "",
        f"DeepSpeed {known['deepspeed']}, torch {known['torch']}, {known['machine']}, {known['date']}.",
        "Each config of the corpus that is no template, on one GPU: `deepspeed.initialize` and 20 optimizer steps of a small",
        'model, as it is and as `dslint --fix --unsafe-fixes` leaves it. "auto" is filled as the HF Trainer fills it,',
        "train_batch_size is left to DeepSpeed, accumulation is at most 2, offload paths lie in a temporary folder.",
        "",
        "| | files | train 20 steps |",
        "|---|---|---|",
        f"| as they are | {len(before)} | {len(taken)} |",
        f"| refused, and dslint offers a fix that changes the file | {len(mended)} | {good(mended, after)} once fixed |",
        f"| accepted, and changed by a fix | {len(changed)} | {good(changed, after)} once fixed |",
        f"| refused, and no fix is offered | {len(refused - mended)} | 0 |",
        "",
        "## Fixed files that do not train",
        "",
        *listed(f"{name}: {row['verdict']}" for name, row in after.items() if row["verdict"] != "ok"),
        "",
        "## Refused files without a fix",
        "",
        *(
            f"- {count} × {text}"
            for text, count in Counter(before[n]["verdict"] for n in refused - mended).most_common()
        ),
    ]
    return "\n".join(lines) + "\n"


def good(names: set[str], after: dict[str, Any]) -> int:
    return sum(after[name]["verdict"] == "ok" for name in names)


def listed(texts: Any) -> list[str]:
    return [f"- {text}" for text in texts] or ["None."]


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text())))
