"""What the monitor adds to a step: `python bench/monitor_cost.py [--width 512] [--layers 8] [--steps 60]`.

One process trains with the monitor; the time spent in the monitor's own functions is measured around each of them and set
against the step. On a GPU the steps with and without it are compared too, for a wait would show there alone.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import time

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29617")

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator

from dslint.engine import models
from dslint.engine.worker import lift
from dslint.monitor import NumericalStability

SPENT = {"monitor": 0.0}


class Timed(NumericalStability):
    """The monitor, with the time that it takes."""

    def _timed(self, function, *arguments):
        start = time.perf_counter()
        result = function(*arguments)
        SPENT["monitor"] += time.perf_counter() - start
        return result

    def _backward(self, loss, averaged):
        return self._timed(super()._backward, loss, averaged)

    def _before(self, engine):
        return self._timed(super()._before, engine)

    def _after(self, engine):
        return self._timed(super()._after, engine)


def engine_for(width: int, layers: int, stage: int, precision: str):
    models.WIDTH, models.LAYERS, models.HEADS = width, layers, max(4, width // 64)
    torch.manual_seed(0)
    model = models.tiny_transformer()
    config = {
        "train_micro_batch_size_per_gpu": 8,
        precision: {"enabled": True},
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 1.0,
        "steps_per_print": 10**9,
    }
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4), config=config
    )
    return engine


def step(engine) -> float:
    device = get_accelerator()
    batch = models.moved(models.tokens(8), engine.device, torch.long)
    device.synchronize()
    start = time.perf_counter()
    engine.backward(engine(**batch))
    engine.step()
    device.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    on_cpu = get_accelerator().device_name() == "cpu"
    if on_cpu:
        lift(get_accelerator())
    deepspeed.init_distributed()
    where = "CPU" if on_cpu else torch.cuda.get_device_name()
    print(
        f"deepspeed {importlib.metadata.version('deepspeed')}, torch {torch.__version__}, {where}, {time.strftime('%Y-%m-%d')}"
    )
    print(f"{asked.layers} layers of width {asked.width}, medians of {asked.steps} steps\n")
    print("| | step, ms | in the monitor, us | share | step without it, ms |\n|---|---|---|---|---|")
    for stage in (1, 2, 3):
        for precision in ("bf16", "fp16"):
            engine = engine_for(asked.width, asked.layers, stage, precision)
            for _ in range(5):
                step(engine)
            alone, watched, own = [], [], []
            monitor = Timed(explain=False)
            for _ in range(asked.steps):
                alone.append(step(engine))
            monitor.watch(engine)
            for _ in range(asked.steps):
                SPENT["monitor"] = 0.0
                watched.append(step(engine))
                own.append(SPENT["monitor"])
            monitor.unwatch()
            with_it, without, inside = (statistics.median(part) for part in (watched, alone, own))
            print(
                f"| {precision}, ZeRO {stage} | {1000 * with_it:.2f} | {1e6 * inside:.0f} | {100 * inside / with_it:.2f} % "
                f"| {1000 * without:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
