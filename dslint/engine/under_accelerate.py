"""A trial under Accelerate: `Accelerator.prepare` reads the config, fills its "auto" values and makes the engine."""

from __future__ import annotations

import os
from typing import Any

from dslint.engine.models import MOST_ROWS, loss_of, subject
from dslint.engine.session import Session
from dslint.launches.trainer import content_at


def train(session: Session) -> None:
    """Accelerator, prepare, steps. What they raise is left to the caller."""
    import torch
    from accelerate import Accelerator
    from accelerate.utils import DeepSpeedPlugin

    # As `accelerate launch --use_deepspeed` sets it; without it Accelerate takes DistributedDataParallel.
    os.environ["ACCELERATE_USE_DEEPSPEED"] = "true"
    session.stage("load")
    plugin = DeepSpeedPlugin(hf_ds_config=session.config)
    # Not cpu=True, even on a CPU: Accelerate then leaves DeepSpeed out.
    accelerator = Accelerator(deepspeed_plugin=plugin, mixed_precision=mixed_precision(session))
    made = subject(session.trial.model, session.trial.folders, "accelerate")
    session.stage("init")
    steps = session.steps_for(made.model)
    optimizer, scheduler = optimizer_and_scheduler(session, made.model)
    rows = min(MOST_ROWS, micro_batch(session.content))
    loader = torch.utils.data.DataLoader(list(range(64 * rows)), batch_size=rows)
    prepared = accelerator.prepare(made.model, optimizer, loader, *filter(None, [scheduler]))
    engine = prepared[0]
    session.built(engine)
    while not steps.done:
        with accelerator.accumulate(engine):
            batch = {name: part.to(engine.device) for name, part in made.batch(rows).items()}
            accelerator.backward(loss_of(engine(**batch)))
            prepared[1].step()
            prepared[1].zero_grad()


def optimizer_and_scheduler(session: Session, model: Any) -> tuple[Any, Any]:
    """Accelerate's stand-ins for what the config itself names; else AdamW, and no scheduler."""
    import torch
    from accelerate.utils import DummyOptim, DummyScheduler

    if not isinstance(content_at(session.content, "/optimizer"), dict):
        own = session.own({"optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3)})
        return own["optimizer"], None
    optimizer = DummyOptim(model.parameters(), lr=1e-3)
    if not isinstance(content_at(session.content, "/scheduler"), dict):
        return optimizer, None
    return optimizer, DummyScheduler(optimizer, total_num_steps=1000, warmup_num_steps=10)


def mixed_precision(session: Session) -> str:
    """What `accelerate launch --mixed_precision` says: as asked for, else what it would have to say for the config."""
    for name in ("bf16", "fp16"):
        if content_at(session.content, f"/{name}/enabled") is True:
            return session.trial.arguments.get("mixed_precision", name)
    return session.trial.arguments.get("mixed_precision", "no")


def micro_batch(content: Any) -> int:
    micro = content_at(content, "/train_micro_batch_size_per_gpu")
    return micro if isinstance(micro, int) and micro > 0 else MOST_ROWS
