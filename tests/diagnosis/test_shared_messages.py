# ruff: noqa: E501 - lines of logs are as long as they are
"""Every message that people are known to have met is recognised, in a log with noise around it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_logs import diagnosed, names, realistic, traceback_of

from dslint.diagnosis.catalogue import SOURCES
from dslint.diagnosis.messagefile import read_sources

SHARED = Path(__file__).parents[2] / "../shared/facts/messages.jsonl"

# Fragments whose text the catalogue has no example of: what the software prints, and the message that it is.
WRITTEN: dict[str, list[tuple[str, str]]] = {
    "- ds gradient_accumulation_steps=": [
        (
            "trainer-mismatch",
            traceback_of(
                "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
                "- ds gradient_accumulation_steps=8 vs hf gradient_accumulation_steps=1\n"
                "The easiest method is to set these DeepSpeed config values to 'auto'."
            ),
        )
    ],
    "- ds gradient_clipping=": [
        (
            "trainer-mismatch",
            traceback_of(
                "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
                "- ds gradient_clipping=0.5 vs hf max_grad_norm=1.0"
            ),
        )
    ],
    "- ds scheduler.params.total_num_steps=": [
        (
            "trainer-mismatch",
            traceback_of(
                "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
                "- ds scheduler.params.total_num_steps=0 vs hf num_training_steps (calculated)=260"
            ),
        )
    ],
    "- ds optimizer.params.lr=": [
        (
            "trainer-mismatch",
            traceback_of(
                "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
                "- ds optimizer.params.lr=0.0001 vs hf learning_rate=5e-05"
            ),
        )
    ],
    "OVERFLOW! Rank 0 Skipping step.": [
        (
            "loss-scale-falls-to-floor",
            "\n".join(
                "[2025-03-11 04:12:01,000] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
                f"Attempted loss scale: {2**power}, reducing to {2 ** (power - 1)}"
                for power in range(16, 0, -1)
            ),
        )
    ],
    "expected scalar type Float but found Half / BFloat16": [
        ("scalar-type-mismatch", traceback_of("RuntimeError: expected scalar type Float but found Half")),
        ("scalar-type-mismatch", traceback_of("RuntimeError: expected scalar type Float but found BFloat16")),
    ],
    "argument after ** must be a mapping": [
        (
            "block-is-no-object",
            traceback_of(
                f"TypeError: deepspeed.runtime.zero.config.DeepSpeedZeroConfig() argument after ** must be a mapping, not {kind}",
                ["deepspeed/runtime/config.py"],
            ),
        )
        for kind in ("bool", "NoneType")
    ],
    "Input should be 0, 1, 2, 3": [
        (
            "zero-stage-value",
            traceback_of(
                "pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig\n"
                "stage\n"
                f"  Input should be {listed} [type=enum, input_value=4, input_type=int]\n"
                "    For further information visit https://errors.pydantic.dev/2.11/v/enum",
                rank=1,
            ),
        )
        for listed in ("0, 1, 2 or 3", "0, 1, 2, 3")
    ],
    "float division by zero (lr_schedules)": [
        (
            "warmup-division",
            traceback_of("ZeroDivisionError: float division by zero", ["deepspeed/runtime/lr_schedules.py"]),
        )
    ],
    "lr_range_test_step_size must be": [
        (
            "range-test-and-cycle",
            traceback_of("ValueError: lr_range_test_step_size must be a positive integer, got 0"),
        ),
        ("range-test-and-cycle", traceback_of("ValueError: cycle_first_step_size must be positive, got 0")),
    ],
    "tuple index out of range (all_gather": [
        (
            "sequence-parallel-index",
            traceback_of(
                "IndexError: tuple index out of range", ["deepspeed/runtime/sequence_parallel/ulysses_sp.py"]
            ),
        )
    ],
    "You cannot perform fine-tuning on purely": [
        (
            "quantized-base",
            traceback_of(
                "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top "
                "of the quantized model to correctly perform fine-tuning."
            ),
        ),
        (
            "quantized-zero3",
            traceback_of(
                "AttributeError: 'Params4bit' object has no attribute 'ds_id'",
                ["deepspeed/runtime/zero/partition_parameters.py"],
            ),
        ),
    ],
    "Please correct the following DeepSpeed config values that mismatch kwargs": [
        (
            "accelerate-mismatch",
            traceback_of(
                "ValueError: Please correct the following DeepSpeed config values that mismatch kwargs  values:\n"
                "- ds train_batch_size=32 vs arg train_batch_size=16\n"
                "The easiest method is to set these DeepSpeed config values to 'auto'."
            ),
        )
    ],
    "`precision='bf16-true')` is not supported": [
        (
            "lightning-precision",
            traceback_of(
                "ValueError: `Trainer(strategy='deepspeed', precision='bf16-true')` is not supported. `precision` must be one of: "
                "('32-true', '16-mixed', 'bf16-mixed').",
                ["lightning/pytorch/strategies/deepspeed.py"],
            ),
        ),
        (
            "lightning-precision",
            traceback_of(
                "ValueError: `precision='bf16-true')` is not supported in DeepSpeed. `precision` must be one of: 32, 16, bf16."
            ),
        ),
    ],
    "unrecognized arguments: --deepspeed / ": [
        (
            "unrecognized-arguments",
            "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --deepspeed ds_config.json",
        ),
        ("unrecognized-arguments", "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: \\ "),
    ],
    "Unable to parse hostfile / ": [
        ("hostfile-format", traceback_of("ValueError: Unable to parse hostfile, expected one node per line")),
        ("hostfile-format", "[ERROR] Hostfile is not formatted correctly, unable to proceed with training."),
    ],
    "Address already in use / EADDRINUSE": [
        (
            "port-in-use",
            "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"
            + traceback_of(
                "RuntimeError: The server socket has failed to listen on any local network address. EADDRINUSE 29500"
            ),
        )
    ],
    "Valid config keys have changed in V2": [
        (
            "pydantic-two",
            "/opt/conda/lib/python3.10/site-packages/pydantic/_internal/_config.py:334: UserWarning: Valid config keys have changed "
            "in V2:\n* 'allow_population_by_field_name' has been renamed to 'validate_by_name' (deepspeed/runtime/config_utils.py)",
        ),
        (
            "pydantic-two",
            traceback_of(
                "pydantic.errors.PydanticUserError: If you use `@root_validator` with pre=False (the default) you MUST specify "
                "`skip_on_failure=True`.",
                ["deepspeed/runtime/zero/config.py"],
            ),
        ),
        (
            "pydantic-two",
            traceback_of(
                "AttributeError: 'FieldInfo' object has no attribute '__fields__'",
                ["deepspeed/runtime/config_utils.py"],
            ),
        ),
    ],
    "learning_rate constant after warmup": [
        (
            "learning-rate-constant",
            "[2025-03-11 04:11:33,000] [INFO] [logging.py:128:log_dist] [Rank 0] DeepSpeed using configured LR scheduler = WarmupLR\n"
            + "\n".join(
                f"{{'loss': 1.{step:03d}, 'grad_norm': 0.9, 'learning_rate': {min(step, 100) * 2e-07:.3g}, 'epoch': 0.1}}"
                for step in range(60, 200)
            ),
        )
    ],
    "learning_rate: 0.0 for all steps": [
        (
            "learning-rate-zero",
            "\n".join(
                f"{{'loss': 1.{step:03d}, 'grad_norm': 0.9, 'learning_rate': 0.0, 'epoch': 0.1}}"
                for step in range(60, 90)
            ),
        )
    ],
    "grad_norm larger than max_grad_norm": [
        (
            "clipping-missing",
            "TrainingArguments(max_grad_norm=1.0, ...)\n"
            "[2025-03-11 04:11:33,000] [INFO] [config.py:1000:print]   gradient_clipping ............ 0.0\n"
            + "\n".join(
                f"{{'loss': 1.{step:03d}, 'grad_norm': {7 + step / 10}, 'learning_rate': 1e-05, 'epoch': 0.1}}"
                for step in range(60, 90)
            ),
        )
    ],
    "world_size / 'Instantaneous batch size'": [
        (
            "each-node-alone",
            "+ accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 train.py\n"
            "[INFO|trainer.py:2134] 2025-03-11 04:11:40,120 >> ***** Running training *****\n"
            "[INFO|trainer.py:2137] 2025-03-11 04:11:40,120 >>   Instantaneous batch size per device = 4\n"
            "[INFO|trainer.py:2140] 2025-03-11 04:11:40,120 >>   Total train batch size (w. parallel, distributed & accumulation) = 64\n"
            "[INFO|trainer.py:2141] 2025-03-11 04:11:40,120 >>   Gradient Accumulation steps = 2",
        )
    ],
    "adapter_model / pytorch_model.bin of a few": [
        ("zero3-small-file", "-rw-r--r-- 1 user user 401K Mar 11 04:12 output/adapter_model.bin"),
        ("zero3-small-file", "-rw-r--r-- 1 user user 892K Mar 11 04:12 output/pytorch_model.bin"),
    ],
}

EXAMPLES = [(entry.name, example.log) for _, entry in read_sources(SOURCES) for example in entry.examples]


def facts() -> list[dict[str, str]]:
    if not SHARED.is_file():
        return []
    return [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]


def printed(fragment: str) -> Iterator[tuple[str, str]]:
    """What the software prints for a fragment, each with the name of its message; `…` in it stands for what differs."""
    for start, texts in WRITTEN.items():
        if fragment.startswith(start):
            yield from texts
            return
    words = fragment.replace("error(s)", "error").replace("[...]", "…").replace("…", " ").split()
    pieces = [piece.strip() for piece in fragment.replace("[...]", "…").split("…")]
    whole = [(name, log) for name, log in EXAMPLES if all(piece in log for piece in pieces)]
    yield from (whole or [(name, log) for name, log in EXAMPLES if all(word in log for word in words)])[:1]


@pytest.mark.parametrize(
    "fact", facts() or [None], ids=lambda fact: fact["fragment"][:60] if fact else "absent"
)
def test_a_known_message_is_recognised_amid_noise(fact):
    if fact is None:
        pytest.skip(f"the list of known messages is not at {SHARED}")
    texts = list(printed(fact["fragment"]))
    assert texts, f"no text is known that has {fact['fragment']!r} in it"
    for name, text in texts:
        found = names(diagnosed(realistic(text)))
        assert found, f"{text!r} was not recognised"
        assert found[0] == name


def test_the_list_of_known_messages_is_whole():
    if not SHARED.is_file():
        pytest.skip(f"the list of known messages is not at {SHARED}")
    assert len(facts()) >= 120
