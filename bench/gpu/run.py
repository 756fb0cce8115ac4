"""Every real config on a GPU, before and after dslint's fixes: initialize, then optimizer steps.

usage: python -m bench.gpu.run --configs DIR --out FILE [--skip FILE] [--seconds 420] [--workers 8] [--steps 20]

Resumable: what FILE already holds is not run again. Each run is a forked child of a process that has imported torch and
deepspeed but made no CUDA context; its result comes back over a pipe, since some configs make DeepSpeed truncate files.

A config is run on one GPU: "auto" is filled as the HF Trainer fills it, train_batch_size is left to DeepSpeed, accumulation is at
most 2, and offload paths lie in a temporary folder. Nothing else of it is changed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

HIDDEN = 64
LIMIT = 150.0


class Job(NamedTuple):
    """One config text to run; `variant` is before or after."""

    file: str
    variant: str
    text: str


def jobs_of(folder: Path, skipped: frozenset[str]) -> list[Job]:
    """Each config as it is, and as `--fix --unsafe-fixes` leaves it where that changes it."""
    import dslint

    found = []
    for path in sorted(folder.glob("*.json")):
        if path.name in skipped:
            continue
        text = path.read_text(encoding="utf-8")
        found.append(Job(path.name, "before", text))
        fixed = dslint.fix(
            text=text, filename=path.name, unsafe=True, deepspeed_version="0.19.8", framework="transformers"
        )
        if path.name in fixed.texts:
            found.append(Job(path.name, "after", fixed.texts[path.name]))
    return found


def for_one_gpu(text: str, scratch: str) -> dict[str, Any]:
    """The config as a Trainer with one process would hand it over."""
    import hjson

    config: dict[str, Any] = json.loads(json.dumps(hjson.loads(text)))
    config.pop("train_batch_size", None)
    micro = config.get("train_micro_batch_size_per_gpu")
    config["train_micro_batch_size_per_gpu"] = min(micro, 4) if isinstance(micro, int) and micro > 0 else 1
    steps = config.get("gradient_accumulation_steps")
    config["gradient_accumulation_steps"] = min(steps, 2) if isinstance(steps, int) and steps > 0 else 1
    fill(config, AUTO)
    for block in ("offload_param", "offload_optimizer"):
        zero = config.get("zero_optimization")
        inner = zero.get(block) if isinstance(zero, dict) else None
        if isinstance(inner, dict) and inner.get("nvme_path"):
            inner["nvme_path"] = scratch
    return config


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


def fill(node: Any, table: dict[str, Any], block: str = "") -> None:
    if not isinstance(node, dict):
        return
    for key, value in list(node.items()):
        if value == "auto":
            if key == "enabled":
                node[key] = block in ("bf16", "bfloat16")
            elif key in table:
                node[key] = table[key]
        else:
            fill(value, table, key)


def work(job: Job, steps: int, send: Connection, port: int) -> None:
    """In a child: initialize and train; the verdict goes into the pipe."""
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    started = time.monotonic()
    stage = "initialize"
    done = 0
    losses: list[float] = []
    try:
        import deepspeed
        import torch

        scratch = tempfile.mkdtemp()
        os.chdir(scratch)
        config = for_one_gpu(job.text, scratch)
        os.environ.update(
            RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
        )
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, HIDDEN)
        )
        engine, *_ = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=config, **own_optimizer(config, model)
        )
        stage = "steps"
        kind = next(engine.module.parameters()).dtype
        while done < steps:
            for _ in range(engine.gradient_accumulation_steps()):
                batch = torch.randn(
                    engine.train_micro_batch_size_per_gpu(), HIDDEN, device=engine.device, dtype=kind
                )
                loss = engine(batch).float().pow(2).mean()
                engine.backward(loss)
                engine.step()
            losses.append(float(loss))
            done += 1
        verdict = "ok"
    except BaseException as error:
        verdict = f"{stage}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if os.environ.get("BENCH_DEBUG"):
            verdict += traceback.format_exc()
    send.send(
        {
            "file": job.file,
            "variant": job.variant,
            "verdict": verdict,
            "steps": done,
            "loss": [losses[0], losses[-1]] if losses else [],
            "seconds": round(time.monotonic() - started, 1),
        }
    )
    send.close()
    os._exit(0)


def own_optimizer(config: dict[str, Any], model: Any) -> dict[str, Any]:
    """A program whose config names no optimizer brings AdamW, DeepSpeed's own where the optimizer is offloaded."""
    import torch

    if isinstance(config.get("optimizer"), dict):
        return {}
    zero = config.get("zero_optimization")
    zero = zero if isinstance(zero, dict) else {}
    offload = zero.get("offload_optimizer")
    device = (
        offload.get("device") if isinstance(offload, dict) else ("cpu" if zero.get("cpu_offload") else None)
    )
    if device in ("cpu", "nvme"):
        from deepspeed.ops.adam import DeepSpeedCPUAdam

        return {"optimizer": DeepSpeedCPUAdam(model.parameters(), lr=1e-4)}
    return {"optimizer": torch.optim.AdamW(model.parameters(), lr=1e-4)}


class Running(NamedTuple):
    job: Job
    process: Any
    receive: Connection
    started: float


def run_all(jobs: list[Job], steps: int, workers: int, seconds: float) -> list[dict[str, Any]]:
    """The verdicts of as many jobs as the time allows."""
    context = multiprocessing.get_context("fork")
    deadline = time.monotonic() + seconds
    waiting = list(reversed(jobs))
    running: list[Running] = []
    results: list[dict[str, Any]] = []
    port = 20000
    while waiting or running:
        while waiting and len(running) < workers and time.monotonic() < deadline:
            job = waiting.pop()
            receive, send = context.Pipe(duplex=False)
            port += 1
            process = context.Process(target=work, args=(job, steps, send, port))
            process.start()
            send.close()
            running.append(Running(job, process, receive, time.monotonic()))
        if not running:
            break
        wait([one.receive for one in running], timeout=1.0)
        running = [one for one in running if not settled(one, results)]
    return results


def settled(one: Running, results: list[dict[str, Any]]) -> bool:
    """Take a finished or overdue child's result; True when it is done with."""
    verdict = None
    if one.receive.poll():
        try:
            results.append(one.receive.recv())
        except EOFError:
            verdict = "died without a word"
    elif not one.process.is_alive():
        verdict = f"died with {one.process.exitcode}"
    elif time.monotonic() - one.started > LIMIT:
        verdict = f"no answer in {LIMIT:.0f} s"
    else:
        return False
    if verdict is not None:
        results.append({"file": one.job.file, "variant": one.job.variant, "verdict": verdict, "steps": 0})
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one.process.pid, signal.SIGKILL)
    one.process.join(5)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument(
        "--skip", type=Path, help="a file with the names of templates and the like, one a line"
    )
    asked = parser.parse_args()
    skipped = frozenset(asked.skip.read_text().split()) if asked.skip else frozenset[str]()
    known = json.loads(asked.out.read_text()) if asked.out.exists() else {"results": []}
    done = {(row["file"], row["variant"]) for row in known["results"]}
    jobs = [job for job in jobs_of(asked.configs, skipped) if (job.file, job.variant) not in done]
    print(f"{len(jobs)} runs to go, {len(done)} done before", flush=True)
    import deepspeed
    import torch

    results = run_all(jobs, asked.steps, asked.workers, asked.seconds)
    known["results"] += results
    known["machine"] = machine()
    known["deepspeed"] = deepspeed.__version__
    known["torch"] = torch.__version__
    known["date"] = datetime.date.today().isoformat()
    asked.out.write_text(json.dumps(known, indent=1) + "\n")
    print(f"{len(results)} runs made, {sum(r['verdict'] == 'ok' for r in results)} ok", flush=True)
    return 0


def machine() -> str:
    import subprocess

    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no GPU"


if __name__ == "__main__":
    sys.exit(main())
