"""A trial under a bare `deepspeed.initialize`: the loop that a program without a framework has."""

from __future__ import annotations

from typing import Any

from dslint.engine import loading
from dslint.engine.models import MOST_ROWS, loss_of, moved, subject
from dslint.engine.session import Session


def train(session: Session) -> None:
    """Load, initialize, step. What the engine raises is left to the caller."""
    import deepspeed
    from deepspeed.runtime.config import DeepSpeedConfig

    deepspeed.init_distributed()
    session.stage("load")
    DeepSpeedConfig(session.config)
    made = subject(session.trial.model, session.trial.folders, "deepspeed")
    session.stage("init")
    steps = session.steps_for(made.model)
    engine, *_ = deepspeed.initialize(
        model=made.model,
        model_parameters=[parameter for parameter in made.model.parameters() if parameter.requires_grad],
        config=session.config,
        **session.own(loading.own_optimizer(session.config, made.model)),
    )
    session.built(engine)
    rows = min(int(engine.train_micro_batch_size_per_gpu()), MOST_ROWS)
    kind = next(engine.module.parameters()).dtype
    while not steps.done:
        for _ in range(engine.gradient_accumulation_steps()):
            loss = loss_of(forward(engine, moved(made.batch(rows), engine.device, kind)))
            engine.backward(loss)
            engine.step()


def forward(engine: Any, batch: Any) -> Any:
    return engine(**batch) if isinstance(batch, dict) else engine(*batch)
