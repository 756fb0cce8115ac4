"""A fix of the config that Accelerate makes becomes an edit of Accelerate's file."""

from __future__ import annotations

import pytest

from dslint.documents import yaml
from dslint.documents.tree import Source
from dslint.fixing.fix import Change
from dslint.launches.accelerate import accelerate_config
from dslint.launches.accelerate_changes import edits_of

TEXT = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_processes: 8
deepspeed_config:
  zero_stage: 2
  offload_param_device: nvme   # too slow
  offload_param_nvme_path: /nvme
  gradient_clipping: 1.0
mixed_precision: bf16
"""


def after(*changes: Change) -> str | None:
    [document] = yaml.parse(Source("a.yaml", TEXT))
    config = accelerate_config(document)
    edits = edits_of(config, config.derived, changes)
    if edits is None:
        return None
    text = TEXT
    for edit in reversed(edits):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text


def test_a_value_is_set_in_accelerates_own_key() -> None:
    assert after(Change("set", "/zero_optimization/stage", 3)) == TEXT.replace(
        "zero_stage: 2", "zero_stage: 3"
    )
    assert after(Change("set", "/gradient_accumulation_steps", "auto")) == TEXT.replace(
        "clipping: 1.0\n", "clipping: 1.0\n  gradient_accumulation_steps: auto\n"
    )


def test_a_removed_block_takes_all_its_keys_along() -> None:
    wanted = TEXT.replace("  offload_param_device: nvme   # too slow\n  offload_param_nvme_path: /nvme\n", "")
    assert after(Change("remove", "/zero_optimization/offload_param")) == wanted


@pytest.mark.parametrize(
    ("fp16", "bf16", "precision"), [(True, False, "fp16"), (False, True, "bf16"), (False, False, "'no'")]
)
def test_the_formats_are_one_setting(fp16: bool, bf16: bool, precision: str) -> None:
    changes = (Change("set", "/fp16/enabled", fp16), Change("set", "/bf16/enabled", bf16))
    assert after(*changes) == TEXT.replace("mixed_precision: bf16", f"mixed_precision: {precision}")


@pytest.mark.parametrize(
    "change",
    [
        Change("set", "/zero_optimization/overlap_comm", True),
        Change("set", "/fp16/loss_scale", 0),
        Change("set", "/fp16/enabled", True),
        Change("rename", "/gradient_clipping", "x"),
        Change("remove", "/train_batch_size"),
    ],
)
def test_what_accelerate_has_no_setting_for_is_left_alone(change: Change) -> None:
    assert after(change) is None
