"""Does fp16 without ZeRO scale the loss? One step under a static loss scale of 1024; the norm of the update of the weights.

usage: python -m bench.gpu.unscaled, which prints a JSON array. The evidence behind the rule fp16-without-zero-unscaled.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, NamedTuple

SIZE = 64


class Case(NamedTuple):
    optimizer: str
    rate: float
    stage: int
    precision: str


CASES = tuple(
    Case(optimizer, rate, stage, precision)
    for optimizer, rate in (("SGD", 0.1), ("Adam", 1e-3))
    for stage, precision in ((0, "fp16"), (1, "fp16"), (0, "fp32"))
)


def update(case: Case) -> float:
    """The 2-norm of what one step changes in the weights."""
    import deepspeed
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(SIZE, SIZE)
    config: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": case.stage},
        "zero_allow_untested_optimizer": True,
    }
    if case.precision == "fp16":
        config["fp16"] = {"enabled": True, "loss_scale": 1024}
    optimizer = getattr(torch.optim, case.optimizer)(model.parameters(), lr=case.rate)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    before = engine.module.weight.detach().float().clone()
    kind = next(engine.module.parameters()).dtype
    loss = engine(torch.randn(4, SIZE, device=engine.device, dtype=kind)).float().pow(2).mean()
    engine.backward(loss)
    engine.step()
    return float((engine.module.weight.detach().float() - before).norm())


def main() -> None:
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29633")
    with contextlib.redirect_stdout(sys.stderr):
        rows = [{**case._asdict(), "update": update(case)} for case in CASES]
    print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
