"""The Trainer's pairs, held against what the real transformers raises."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dslint.documents.tree import UNKNOWN, Place, Source
from dslint.launches.launch import Argument
from dslint.launches.trainer import HF_PAIRS, expected, mismatches, trl_defaults, typed

PLACE = Place(Source("train.py", ""), 0, 0)
ORACLE = Path(__file__).with_name("trainer_oracle.py")
# An interpreter that has transformers, accelerate and deepspeed; this one, unless told otherwise.
PYTHON = os.environ.get("DSLINT_FRAMEWORKS_PYTHON", sys.executable)
# What only the length of the data shows.
UNSEEN = {"scheduler.params.total_num_steps", "scheduler.params.warmup_num_steps"}


def given(**fields):
    return {name: Argument(value, PLACE) for name, value in fields.items()}


def pointers(found):
    return [mismatch.pair.pointer for mismatch in found]


def made_up_pair(rng: random.Random) -> dict:
    """One pair: each key is absent, "auto", what the arguments make of it, or something else."""
    arguments = {
        name: rng.choice(values)
        for name, values in {
            "per_device_train_batch_size": [1, 4, 8],
            "gradient_accumulation_steps": [1, 2, 16],
            "max_grad_norm": [0.5, 1.0, 1, 0],
            "learning_rate": [5e-5, 1e-4, 2e-5],
            "adam_beta1": [0.9, 0.8],
            "adam_beta2": [0.999, 0.95],
            "adam_epsilon": [1e-8, 1e-6],
            "weight_decay": [0.0, 0.01, 0],
            "warmup_steps": [0, 10, 0.1, 1],
            "max_steps": [-1, 50, 1000],
        }.items()
        if rng.random() < 0.6
    }
    arguments.update(rng.choice([{}, {"fp16": True}, {"bf16": True}, {"bf16": True, "fp16": False}]))
    if rng.random() < 0.1:
        arguments[rng.choice(["fp16_full_eval", "bf16_full_eval"])] = True
    if rng.random() < 0.1:
        arguments["save_on_each_node"] = True
    config: dict = {}
    for pointer, values in {
        "train_batch_size": [8, 16, 32, 64],
        "train_micro_batch_size_per_gpu": [1, 4, 8],
        "gradient_accumulation_steps": [1, 2, 16],
        "gradient_clipping": [0.5, 1.0, 1, 0.0, True],
        "fp16/enabled": [True, False, 1],
        "bf16/enabled": [True, False, 0],
        "optimizer/params/lr": [5e-5, 1e-4, "5e-5"],
        "optimizer/params/betas": [[0.9, 0.999], [0.8, 0.95], [0.9]],
        "optimizer/params/eps": [1e-8, 1e-6],
        "optimizer/params/weight_decay": [0, 0.0, 0.01],
        "scheduler/params/warmup_min_lr": [0, 1e-6],
        "scheduler/params/warmup_max_lr": [5e-5, 1e-4],
        "scheduler/params/warmup_num_steps": [0, 1, 10, 100],
        "scheduler/params/total_num_steps": [50, 1000],
        "zero_optimization/stage": [0, 2, 3],
        "zero_optimization/reduce_bucket_size": [5e8],
        "zero_optimization/stage3_prefetch_bucket_size": [1e6],
        "amp/enabled": [True],
    }.items():
        if rng.random() < 0.4:
            *parents, key = pointer.split("/")
            place = config
            for parent in parents:
                place = place.setdefault(parent, {})
            place[key] = "auto" if rng.random() < 0.4 and key != "stage" else rng.choice([*values, None])
    steps = arguments.get("max_steps", -1)
    return {
        "config": config,
        "arguments": arguments,
        "world_size": rng.choice([1, 2, 8]),
        "steps": steps if steps > 0 else rng.choice([120, 3000]),
    }


@pytest.mark.frameworks
def test_mismatches_agree_with_what_transformers_raises_on_500_made_up_pairs():
    rng = random.Random(20)
    cases = [made_up_pair(rng) for _ in range(500)]
    done = subprocess.run(
        [PYTHON, str(ORACLE)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "DS_ACCELERATOR": "cpu", "TRANSFORMERS_VERBOSITY": "error"},
    )
    if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
        pytest.skip(f"{PYTHON} has no transformers with deepspeed, so the pairs were not held against it")
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout[done.stdout.index('{"version"') :])
    version = tuple(int(part) for part in answer["version"].split(".")[:3])
    raised = 0
    for case, arguments, lines in zip(cases, answer["arguments"], answer["messages"], strict=True):
        case["arguments"] = arguments
        ours = mismatches(case["config"], given(**case["arguments"]), True, case["world_size"], version)
        said = [line[len("- ds ") :].partition("=")[0] for line in lines]
        found = [mismatch.pair.pointer[1:].replace("/", ".") for mismatch in ours]
        if case["arguments"].get("max_steps", -1) > 0:
            assert found == said, case
        else:
            assert set(found) <= set(said), case
            assert set(said) - set(found) <= UNSEEN, case
        for mismatch in ours:
            line = lines[said.index(mismatch.pair.pointer[1:].replace("/", "."))]
            name = mismatch.pair.name
            if version < (5,) and name == "fp16|fp16_full_eval":
                name += "+fp16_backend(amp)"
            assert line.endswith(f"={mismatch.found} vs hf {name}={mismatch.expected}"), case
        raised += bool(lines)
    assert 100 < raised < 500, "the made-up pairs must hold both kinds"


def test_a_default_counts_when_no_other_argument_can_be_given():
    assert pointers(mismatches({"gradient_clipping": 0.5}, {}, True)) == ["/gradient_clipping"]
    assert mismatches({"gradient_clipping": 1}, {}, True) == []


def test_a_default_does_not_count_when_arguments_may_be_given_unseen():
    assert mismatches({"gradient_clipping": 0.5}, {}, False) == []


def test_an_unknown_argument_or_value_is_no_mismatch():
    assert mismatches({"gradient_clipping": 0.5}, given(max_grad_norm=UNKNOWN), True) == []
    assert mismatches({"gradient_clipping": UNKNOWN}, {}, True) == []
    assert mismatches({"optimizer": {"params": {"betas": [0.9, UNKNOWN]}}}, {}, True) == []
    assert mismatches({"optimizer": UNKNOWN}, {}, True) == []


def test_the_train_batch_size_needs_the_world_size():
    config = {"train_batch_size": 64}
    assert mismatches(config, given(per_device_train_batch_size=4), True) == []
    assert pointers(mismatches(config, given(per_device_train_batch_size=4), True, world_size=8)) == [
        "/train_batch_size"
    ]
    assert mismatches(config, given(per_device_train_batch_size=8), True, world_size=8) == []


def test_fp16_asked_for_against_a_config_fixed_to_bf16_stops_twice():
    config = {"bf16": {"enabled": True}, "fp16": {"enabled": False}}
    assert pointers(mismatches(config, given(fp16=True), True)) == ["/fp16/enabled", "/bf16/enabled"]


def test_auto_find_batch_size_leaves_the_batch_sizes_alone():
    config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4}
    assert pointers(mismatches(config, given(auto_find_batch_size=True), True)) == [
        "/gradient_accumulation_steps"
    ]


@pytest.mark.parametrize(
    ("version", "fields", "steps"),
    [
        ((4, 57, 1), {}, 0),
        ((5, 15, 0), {}, 0),
        ((5, 18, 0), {}, 1),
        (None, {}, UNKNOWN),
        (None, {"warmup_steps": 100}, 100),
        ((4, 57, 1), {"warmup_ratio": 0.03}, UNKNOWN),
        ((4, 57, 1), {"warmup_ratio": 0.03, "max_steps": 1000}, 30),
        ((5, 0, 0), {"warmup_ratio": 0.03, "max_steps": 1000}, 30),
        ((5, 24, 0), {"warmup_steps": 0.03, "max_steps": 1000}, 30),
    ],
)
def test_warmup_steps_follow_the_release(version, fields, steps):
    (pair,) = [pair for pair in HF_PAIRS if pair.pointer == "/scheduler/params/warmup_num_steps"]
    assert expected(pair, given(**fields), True, version=version) == steps


def test_apex_is_compared_only_before_5():
    config = {"amp": {"enabled": True}}
    assert pointers(mismatches(config, {}, True, version=(4, 57, 1))) == ["/amp/enabled"]
    assert mismatches(config, {}, True, version=(5, 0, 0)) == []
    assert mismatches(config, {}, True) == []


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("per_device_train_batch_size", "4", 4),
        ("per_device_train_batch_size", "4.0", UNKNOWN),
        ("learning_rate", "2e-5", 2e-5),
        ("bf16", "True", True),
        ("bf16", "0", False),
        ("bf16", "maybe", UNKNOWN),
        ("warmup_steps", "100", 100),
        ("warmup_steps", "0.1", 0.1),
        ("output_dir", "out", "out"),
    ],
)
def test_a_field_is_read_from_the_command_line_by_its_type(name, text, value):
    found = typed(name, text)
    assert found is value if value is UNKNOWN else (found == value and type(found) is type(value))


def test_trl_classes_have_defaults_of_their_own():
    assert trl_defaults("SFTConfig", {}, (0, 24, 0)) == {"learning_rate": 2e-5, "bf16": True}
    assert trl_defaults("SFTConfig", given(fp16=True), (0, 24, 0)) == {"learning_rate": 2e-5}
    assert trl_defaults("GRPOConfig", given(bf16=False, learning_rate=1e-6), (0, 15, 2)) == {}
    unknown = trl_defaults("DPOConfig", {}, None)
    assert set(unknown) == {"learning_rate", "bf16"}
    assert all(value is UNKNOWN for value in unknown.values())
