"""A trial under the real Trainer: it reads the config, fills "auto" from its arguments, compares the rest, and trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dslint.engine.models import MOST_ROWS, subject
from dslint.engine.session import Session
from dslint.launches.trainer import content_at, typed

# Fields that must say what the config says, or the Trainer stops before anything else is seen.
FIELDS: Final[Mapping[str, str]] = {
    "/train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "/gradient_accumulation_steps": "gradient_accumulation_steps",
    "/gradient_clipping": "max_grad_norm",
    "/optimizer/params/lr": "learning_rate",
    "/optimizer/params/eps": "adam_epsilon",
    "/optimizer/params/weight_decay": "weight_decay",
    "/scheduler/params/warmup_num_steps": "warmup_steps",
    "/scheduler/params/total_num_steps": "max_steps",
    "/fp16/enabled": "fp16",
    "/bf16/enabled": "bf16",
}


def fields(content: Any, steps: int, processes: int, given: Mapping[str, str]) -> dict[str, Any]:
    """TrainingArguments for a config's content: its own numbers where it has some, the defaults where it says "auto".

    `given` are fields as the user gives them, as text; they win.
    """
    found: dict[str, Any] = {"max_steps": steps}
    for pointer, name in FIELDS.items():
        value = content_at(content, pointer)
        if isinstance(value, int | float):
            found[name] = value
    betas = content_at(content, "/optimizer/params/betas")
    if isinstance(betas, list) and len(betas) == 2:
        found["adam_beta1"], found["adam_beta2"] = betas
    whole = content_at(content, "/train_batch_size")
    if isinstance(whole, int) and "per_device_train_batch_size" not in found:
        share = whole // (processes * found.get("gradient_accumulation_steps", 1))
        found["per_device_train_batch_size"] = max(1, share)
    found |= {name: typed_field(name, text) for name, text in given.items()}
    return found


def typed_field(name: str, text: str) -> Any:
    """A field's value: as the Trainer's own command line would read it where dslint knows its type, else by its looks."""
    value = typed(name, text)
    if value != text or not isinstance(value, str):
        return value
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


def train(session: Session) -> None:
    """TrainingArguments, Trainer, train. What they raise is left to the caller."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    trial = session.trial
    session.stage("load")
    arguments = TrainingArguments(
        output_dir="trainer",
        deepspeed=session.config,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        **device_field(TrainingArguments, session),
        **fields(session.content, session.wanted, session.processes, trial.arguments),
    )
    made = subject(trial.model, trial.folders, "transformers")
    session.stage("init")
    steps = session.steps_for(made.model)

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            session.built(trainer.model_wrapped)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop = control.should_training_stop or steps.done

    rows = arguments.per_device_train_batch_size
    trainer = Trainer(
        model=made.model,
        args=arguments,
        train_dataset=Rows(made.batch, rows * arguments.gradient_accumulation_steps * session.processes),
        data_collator=collate,
        callbacks=[Watch()],
    )
    trainer.train()


def device_field(cls: type, session: Session) -> dict[str, Any]:
    """The field that says CPU, by the name that this release has for it."""
    if session.device != "cpu":
        return {}
    known = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return {"use_cpu": True} if "use_cpu" in known else {"no_cuda": True}


class Rows:
    """Synthetic rows, as a dataset that begins anew for ever."""

    def __init__(self, batch: Any, least: int) -> None:
        self._batch = batch(MOST_ROWS)
        self._length = max(least, 64) * 64

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        return {name: part[index % MOST_ROWS] for name, part in self._batch.items()}


def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A micro batch, its rows cut to what tells something."""
    import torch

    return {name: torch.stack([row[name] for row in rows[:MOST_ROWS]]) for name in rows[0]}
