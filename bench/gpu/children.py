"""Configs trained in forked children of one process that has imported torch and deepspeed, and made no CUDA context.

A child's result comes back over a pipe: some configs make DeepSpeed truncate files that its parent holds open.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from bench.gpu.configs import HIDDEN, offloads

LIMIT = 150.0
COLD = "BENCH_GPU_COLD"


def warm_up() -> bool:
    """Import in the parent what every child would else import for itself, most of a run's time.

    False when that touched the GPU: then no child can use it, and the parent has to begin anew with COLD in its environment.
    """
    # Asks the driver's management library whether there is a GPU, which a fork survives, and not CUDA.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import deepspeed
    import torch

    if os.environ.get(COLD):
        return True
    from dslint.engine.forks import USED

    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
    for name in USED:
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{deepspeed.__name__}.{name}")
    return child_can_use_the_gpu()


def child_can_use_the_gpu() -> bool:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            import torch
            from deepspeed.accelerator import get_accelerator

            torch.zeros(1, device=get_accelerator().device_name())
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Running(NamedTuple):
    run: str
    process: Any
    receive: Connection
    started: float


def run_all(
    configs: Mapping[str, dict[str, Any]], steps: int, workers: int, seconds: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The results of as many configs as the time allows, by the names of their runs, as they come."""
    context = multiprocessing.get_context("fork")
    deadline = time.monotonic() + seconds
    waiting = list(reversed(configs.items()))
    running: list[Running] = []
    port = 20000
    while waiting or running:
        while waiting and len(running) < workers and time.monotonic() < deadline:
            name, config = waiting.pop()
            receive, send = context.Pipe(duplex=False)
            port += 1
            process = context.Process(target=work, args=(config, steps, send, port))
            process.start()
            send.close()
            running.append(Running(name, process, receive, time.monotonic()))
        if not running:
            return
        wait([one.receive for one in running], timeout=1.0)
        left = []
        for one in running:
            result = result_of(one)
            if result is None:
                left.append(one)
            else:
                end(one)
                yield one.run, result
        running = left


def result_of(one: Running) -> dict[str, Any] | None:
    """A child's result, or what became of it; None while it is under way."""
    if one.receive.poll():
        try:
            return dict(one.receive.recv())
        except EOFError:
            return nothing("died without a word", one)
    if not one.process.is_alive():
        return nothing(f"died with {one.process.exitcode}", one)
    if time.monotonic() - one.started > LIMIT:
        return nothing(f"no answer in {LIMIT:.0f} s", one)
    return None


def nothing(verdict: str, one: Running) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "steps": 0,
        "loss": [],
        "seconds": round(time.monotonic() - one.started, 1),
    }


def end(one: Running) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one.process.pid, signal.SIGKILL)
    one.process.join(5)


def work(config: dict[str, Any], steps: int, send: Connection, port: int) -> None:
    """In a child: initialize and train; the verdict goes into the pipe."""
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.environ.update(
        RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    started = time.monotonic()
    losses: list[float] = []
    verdict = "ok"
    stage = "initialize"
    try:
        scratch = tempfile.mkdtemp()
        os.chdir(scratch)
        for block in offloads(config):
            if block.get("nvme_path"):
                block["nvme_path"] = scratch
        engine = initialize(config)
        stage = "steps"
        for _ in range(steps):
            losses.append(step(engine))
    except BaseException as error:
        verdict = f"{stage}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if os.environ.get("BENCH_DEBUG"):
            verdict += traceback.format_exc()
    send.send(
        {
            "verdict": verdict,
            "steps": len(losses),
            "loss": [losses[0], losses[-1]] if losses else [],
            "seconds": round(time.monotonic() - started, 1),
        }
    )
    send.close()
    os._exit(0)


def initialize(config: dict[str, Any]) -> Any:
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator

    from dslint.engine.loading import communicate_by_gloo

    if get_accelerator().device_name() == "cpu":
        communicate_by_gloo()
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, HIDDEN)
    )
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config, **own_optimizer(config, model)
    )
    return engine


def step(engine: Any) -> float:
    """One optimizer step on random numbers; the loss of its last micro batch."""
    import torch

    kind = next(engine.module.parameters()).dtype
    rows = engine.train_micro_batch_size_per_gpu()
    loss = None
    for _ in range(engine.gradient_accumulation_steps()):
        batch = torch.randn(rows, HIDDEN, device=engine.device, dtype=kind)
        loss = engine(batch).float().pow(2).mean()
        engine.backward(loss)
        engine.step()
    return float(loss)  # type: ignore[arg-type]


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
