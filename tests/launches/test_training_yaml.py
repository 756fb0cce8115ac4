"""Training YAML is known by its keys, and becomes arguments by their TrainingArguments names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents import json, yaml
from dslint.documents.tree import UNKNOWN, Source, walk
from dslint.launches.accelerate import is_accelerate
from dslint.launches.neox import is_neox, neox_document
from dslint.launches.training_faults import faults
from dslint.launches.training_yaml import TOOLS, TrainingConfig, kind_of, training_config

LLAMAFACTORY = """\
model_name_or_path: ./model
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_config.json
per_device_train_batch_size: 1
learning_rate: 5e-5
bf16: true
output_dir: out
"""
AXOLOTL = """\
base_model: x/y
datasets:
  - path: d
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
optimizer: adamw_torch
lr_scheduler: cosine
learning_rate: 2e-5
bf16: auto
deepspeed: deepspeed_configs/zero2.json
"""
SWIFT = """\
model: Qwen/Qwen2.5-7B-Instruct
tuner_type: lora
torch_dtype: bfloat16
per_device_train_batch_size: 1
learning_rate: 1e-4
deepspeed: zero3
"""
TRAINER = """\
model_name_or_path: x
output_dir: out
per_device_train_batch_size: 4
learning_rate: 2.0e-5
num_train_epochs: 1
deepspeed: ds.json
"""


def read(text: str) -> TrainingConfig:
    [document] = yaml.parse(Source("x.yaml", text))
    config = training_config(document)
    assert config is not None
    return config


def values(text: str) -> dict[str, object]:
    return {name: argument.value for name, argument in read(text).arguments.items()}


@pytest.mark.parametrize(
    ("text", "kind"),
    [(LLAMAFACTORY, "llamafactory"), (AXOLOTL, "axolotl"), (SWIFT, "swift"), (TRAINER, "trainer")],
)
def test_a_file_is_known_by_its_keys(text: str, kind: str) -> None:
    assert read(text).kind == kind
    assert read(text).document.dialect == "training"


@pytest.mark.parametrize(
    "text",
    [
        "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\n",
        "zero_optimization: {stage: 3}\nbf16: {enabled: true}\ngradient_clipping: 1.0\n",
        "model: {name: x}\ntraining: {per_device_train_batch_size: 2, bf16: true}\ndeepspeed_config: x.json\n",
        "jobs: {}\noutput_dir: x\nper_device_train_batch_size: 1\nlearning_rate: 1\ndeepspeed: x\nbf16: true\n",
        "stage: build\nscript: make\n",
        "model: x\ndataset: y\n",
        "- deepspeed: x\n",
    ],
)
def test_other_files_are_left_alone(text: str) -> None:
    [document] = yaml.parse(Source("x.yaml", text))
    assert training_config(document) is None


def test_the_config_that_a_file_names_has_its_place() -> None:
    config = read(LLAMAFACTORY)
    assert config.config.value == "ds_config.json"
    place = config.config.place
    assert LLAMAFACTORY[place.start : place.end] == "ds_config.json"
    assert place.pointer == "/deepspeed"
    assert config.inline is None


@pytest.mark.parametrize("nothing", ["", "null", "false", "''"])
def test_no_config_is_named_where_the_key_is_empty(nothing: str) -> None:
    assert read(LLAMAFACTORY.replace("ds_config.json", nothing)).config is None


def test_a_path_that_a_run_fills_in_is_unknown() -> None:
    assert read(LLAMAFACTORY.replace("ds_config.json", "${DS}")).config.value is UNKNOWN


def test_a_config_within_the_file_points_into_it() -> None:
    text = LLAMAFACTORY.replace("deepspeed: ds_config.json", "deepspeed:\n  zero_optimization: {stage: 3}")
    config = read(text)
    assert config.config is None
    assert config.inline.root.plain() == {"zero_optimization": {"stage": 3}}
    node = config.inline.node("/zero_optimization/stage")
    assert (node.origin, text[node.start : node.end]) == ("/deepspeed/zero_optimization/stage", "3")


def test_swift_brings_configs_of_its_own() -> None:
    config = read(SWIFT)
    assert config.config is None
    assert config.preset.value == "zero3"
    assert read(SWIFT.replace("zero3", "my/ds.json")).config.value == "my/ds.json"
    assert read(LLAMAFACTORY.replace("ds_config.json", "zero3")).config.value == "zero3"


def test_axolotls_names_become_the_trainers() -> None:
    found = values(AXOLOTL)
    assert found["per_device_train_batch_size"] == 2
    assert found["num_train_epochs"] == 3
    assert found["optim"] == "adamw_torch"
    assert found["lr_scheduler_type"] == "cosine"
    assert found["learning_rate"] == 2e-5
    place = read(AXOLOTL).arguments["per_device_train_batch_size"].place
    assert place.pointer == "/micro_batch_size"


@pytest.mark.parametrize(
    ("keys", "bf16", "fp16"),
    [
        ("bf16: true\nfp16: true", True, False),
        ("bf16: false\nfp16: true", False, True),
        ("bf16: auto\nfp16: false", UNKNOWN, False),
        ("bf16: auto\nfp16: true", UNKNOWN, UNKNOWN),
        ("bf16: full\nfp16: true", True, False),
        ("bf16:\nfp16: true", False, True),
    ],
)
def test_axolotl_takes_fp16_only_where_bf16_is_off(keys: str, bf16: object, fp16: object) -> None:
    found = values(AXOLOTL.replace("bf16: auto", keys))
    assert found["bf16"] is bf16
    assert found["fp16"] is fp16


def test_swift_reads_the_precision_from_the_dtype() -> None:
    found = values(SWIFT)
    assert (found["bf16"], found["fp16"]) == (True, False)
    assert values(SWIFT + "bf16: false\n")["bf16"] is False


def test_only_a_file_that_goes_straight_into_the_trainers_class_has_its_defaults() -> None:
    assert read(LLAMAFACTORY).complete
    assert not any(read(text).complete for text in (AXOLOTL, SWIFT, TRAINER))


def test_values_go_to_the_trainer_as_the_program_hands_them_on() -> None:
    assert values(SWIFT.replace("1e-4", "'0.1'"))["learning_rate"] == 0.1
    assert values(TRAINER + "bf16: 'true'\n")["bf16"] is True
    assert values(LLAMAFACTORY.replace("bf16: true", "bf16: null"))["bf16"] is False
    assert values(LLAMAFACTORY + "max_grad_norm: null\n")["max_grad_norm"] is UNKNOWN


# --- faults


def said(text: str, **asked) -> list[tuple[str, str]]:
    return [(fault.kind, fault.pointer) for fault in faults(read(text), **asked)]


def test_a_number_that_yaml_reads_as_text_is_found_where_the_program_does_not_mend_it() -> None:
    assert said(LLAMAFACTORY) == [("number-as-text", "/learning_rate")]
    assert said(LLAMAFACTORY, version=(0, 9, 3)) == []
    assert said(AXOLOTL) == said(SWIFT) == said(TRAINER) == []
    assert said(LLAMAFACTORY.replace("5e-5", "5.0e-5")) == []
    assert said(LLAMAFACTORY.replace("5e-5", "'5e-5'")) == []
    [fault] = faults(read(LLAMAFACTORY))
    assert fault.parts["number"] == 5e-5


SOUND = LLAMAFACTORY.replace("5e-5", "5.0e-5")


@pytest.mark.parametrize(
    ("keys", "asked", "pointers"),
    [
        ("use_galore: true\n", {}, ["/use_galore"]),
        ("use_galore: false\n", {}, []),
        ("use_apollo: true\n", {"version": (0, 9, 1)}, []),
        ("use_apollo: true\n", {"version": (0, 9, 2)}, ["/use_apollo"]),
        ("pure_bf16: true\n", {"stage": 3}, ["/pure_bf16"]),
        ("pure_bf16: true\n", {"stage": 2}, []),
        ("pure_bf16: true\n", {}, []),
        ("quantization_bit: 8\n", {"stage": 3}, ["/quantization_bit"]),
        ("quantization_bit: 4\n", {"stage": 3}, []),
        ("use_badam: true\n", {"stage": 2}, ["/use_badam"]),
        ("use_badam: true\n", {"stage": 3}, []),
        ("use_badam: true\nbadam_mode: ratio\n", {"stage": 3}, ["/badam_mode"]),
        ("badam_mode: ratio\n", {"stage": 3}, []),
    ],
)
def test_what_llamafactory_refuses_beside_deepspeed_is_found(
    keys: str, asked: dict, pointers: list[str]
) -> None:
    found = faults(read(SOUND + keys), **asked)
    assert [fault.pointer for fault in found] == pointers
    assert all(fault.refused for fault in found)


def test_nothing_clashes_without_deepspeed() -> None:
    assert said(SOUND.replace("deepspeed: ds_config.json\n", "") + "use_galore: true\n") == []


def test_axolotl_takes_one_way_to_shard() -> None:
    fsdp = AXOLOTL + "fsdp:\n  - full_shard\n"
    assert said(fsdp) == [("clash", "/fsdp")]
    assert said(AXOLOTL + "fsdp:\n") == []


# --- GPT-NeoX

NEOX = """\
{
  # model
  "pipe-parallel-size": 1,
  "model-parallel-size": 1,
  "num-layers": 12,
  "seq-length": 2048,
  "zero_optimization": {"stage": 1, "overlap_comm": True},
  "fp16": {"enabled": true},
}
"""


def test_gpt_neox_files_are_no_plain_configs() -> None:
    [document] = yaml.parse(Source("125M.yml", NEOX))
    assert neox_document(document).dialect == "neox"
    assert training_config(document) is None
    assert not is_accelerate(document.root)
    plain = json.parse(Source("ds.json", '{"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}}'))
    assert not is_neox(plain.root)


# --- whatever the values

KEYS = sorted(
    {
        *(
            "bf16",
            "fp16",
            "learning_rate",
            "deepspeed",
            "warmup_ratio",
            "lr_scheduler",
            "torch_dtype",
            "max_steps",
        ),
        *(name for tool in TOOLS.values() for name in tool.renamed),
    }
)
ANYTHING = st.sampled_from(
    ["auto", "null", "'2'", "${X}", "[1, 2]", "{a: 1}", "true", "no", "1e-5", "-3", ".nan", "x y"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([LLAMAFACTORY, AXOLOTL, SWIFT, TRAINER]), st.dictionaries(st.sampled_from(KEYS), ANYTHING)
)
def test_any_values_are_read_without_failing(text: str, changes: dict[str, str]) -> None:
    lines = [line for line in text.splitlines() if line.partition(":")[0] not in changes]
    text = "\n".join([*lines, *(f"{key}: {value}" for key, value in changes.items())]) + "\n"
    for document in yaml.parse(Source("x", text)):
        kind_of(document.root)
        config = training_config(document)
        if config is not None:
            faults(config, stage=3)
            for _, node in walk(config.document.root):
                assert 0 <= node.start <= node.end <= len(text)
