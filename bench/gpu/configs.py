"""The real configs as jobs for one GPU: each as it is, and as dslint's fixes leave it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HIDDEN = 64
RELEASE = "0.19.8"
# In the place of offload paths, so that equal configs are seen to be equal; a run has a folder of its own there.
SCRATCH = "/scratch"


class Job(NamedTuple):
    """One config of the corpus; `variant` is before or after the fixes, `config` what DeepSpeed is given.

    `run` names what is run: configs that are equal once fitted to one GPU share a run. `told` is what dslint says of the
    file as it is: "fix" for an error that a fix mends, "error" for one without a fix, "" for no error.
    """

    file: str
    variant: str
    config: dict[str, Any]
    run: str
    told: str


def jobs_of(folder: Path) -> list[Job]:
    """Each config as it is, and as `--fix --unsafe-fixes` leaves it where that changes it."""
    import dslint

    templates = templates_in(folder)
    found = []
    for path in sorted(folder.glob("*.json")):
        if path.name in templates:
            continue
        text = path.read_text(encoding="utf-8")
        fixed = dslint.fix(
            text=text, filename=path.name, unsafe=True, deepspeed_version=RELEASE, framework="transformers"
        )
        told = "fix" if any(each.severity == "error" for each in fixed.mended) else ""
        if any(each.severity == "error" for each in fixed.left):
            told = "error"
        found.append(job(path.name, "before", text, told))
        if path.name in fixed.texts:
            found.append(job(path.name, "after", fixed.texts[path.name], told))
    return found


def job(file: str, variant: str, text: str, told: str) -> Job:
    config = for_one_gpu(text)
    return Job(file, variant, config, hashlib.sha256(json.dumps(config).encode()).hexdigest()[:16], told)


def templates_in(folder: Path) -> set[str]:
    """Files with placeholders, by the flags in the verdicts that lie in the folder or beside it."""
    for place in (folder, folder.parent):
        if (place / "verdicts.jsonl").is_file():
            return set(flagged(place / "verdicts.jsonl"))
    return set()


def flagged(verdicts: Path) -> Iterator[str]:
    for line in verdicts.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "configs" and "template" in row["flags"]:
            yield Path(row["file"]).name


def for_one_gpu(text: str) -> dict[str, Any]:
    """The config as a Trainer with one process would hand it over."""
    import hjson

    config: dict[str, Any] = json.loads(json.dumps(hjson.loads(text)))
    config.pop("train_batch_size", None)
    micro = config.get("train_micro_batch_size_per_gpu")
    config["train_micro_batch_size_per_gpu"] = min(micro, 4) if isinstance(micro, int) and micro > 0 else 1
    steps = config.get("gradient_accumulation_steps")
    config["gradient_accumulation_steps"] = min(steps, 2) if isinstance(steps, int) and steps > 0 else 1
    fill(config)
    for block in offloads(config):
        if block.get("nvme_path"):
            block["nvme_path"] = SCRATCH
    return config


def offloads(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    zero = config.get("zero_optimization")
    for name in ("offload_param", "offload_optimizer"):
        block = zero.get(name) if isinstance(zero, dict) else None
        if isinstance(block, dict):
            yield block


# What the HF Trainer puts for "auto" with its own defaults, a bf16 run and a model of HIDDEN features.
AUTO: dict[str, Any] = {
    "gradient_clipping": 1.0,
    "lr": 5e-5,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
    "weight_decay": 0.0,
    "warmup_min_lr": 0,
    "warmup_max_lr": 5e-5,
    "warmup_num_steps": 10,
    "total_num_steps": 1000,
    "reduce_bucket_size": HIDDEN * HIDDEN,
    "stage3_prefetch_bucket_size": int(0.9 * HIDDEN * HIDDEN),
    "stage3_param_persistence_threshold": 10 * HIDDEN,
    "opt_level": "O1",
}


def fill(node: Any, block: str = "") -> None:
    if not isinstance(node, dict):
        return
    for key, value in list(node.items()):
        if value == "auto":
            if key == "enabled":
                node[key] = block in ("bf16", "bfloat16")
            elif key in AUTO:
                node[key] = AUTO[key]
        else:
            fill(value, key)
