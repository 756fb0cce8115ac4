"""Whatever a file holds: nothing is raised, and every place lies within it."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.python import read_program
from dslint.documents.tree import Source, walk
from dslint.launches.programs import config_uses, parsed_arguments, written_configs

EXAMPLES = int(os.environ.get("DSLINT_FUZZ", "300"))

PROGRAM = '''"""Trains – with deepspeed."""
import argparse, json, os
import deepspeed as ds
from dataclasses import dataclass, field
from pathlib import Path
from accelerate import Accelerator, DeepSpeedPlugin
from pytorch_lightning import Trainer
from pytorch_lightning.strategies import DeepSpeedStrategy
from transformers import AutoModel, HfArgumentParser, TrainingArguments
BASE = {"fp16": {"enabled": True}, "größe": [1, 2.5, None]}
@dataclass
class Mine(TrainingArguments):
    bf16: bool = field(default=True)
    def __post_init__(self):
        super().__post_init__()
class Job:
    def __init__(self, config):
        self.config = {**config, "zero_optimization": dict(stage=3)}
        self.config["zero_optimization"]["stage"] -= 1
    def run(self, *rest, **more):
        return ds.initialize(*rest, config=self.config, **more)
def make(stage=2, *, size: int = 8):
    config = {"train_batch_size": size, **BASE}
    if stage > 2:
        config.update({"zero_optimization": {"stage": stage}})
    elif stage:
        del config["fp16"]
    for key, value in config.items():
        config[key] = value
    return config
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", choices=["fp16", "bf16"], default="bf16")
    parser = ds.add_config_arguments(parser)
    args = parser.parse_args()
    with open(Path(__file__).parent / "ds.json") as f:
        loaded = json.load(f)
    loaded["bf16"] = {"enabled": args.dtype == "bf16"}
    engine, _, *rest = ds.initialize(args=args, config=loaded)
    model = AutoModel.from_pretrained("x", device_map={"": 0})
    training = Mine("out", deepspeed=make(3), learning_rate=1e-4 * 2)
    training.bf16 = False
    plugin = DeepSpeedPlugin(zero_stage=2)
    Accelerator(deepspeed_plugin=plugin, mixed_precision="bf16")
    Trainer(strategy=DeepSpeedStrategy(stage=3), precision=16)
    with open("out.json", "w") as f:
        json.dump(make(size=4), f)
    (parsed,) = HfArgumentParser((Mine,)).parse_args_into_dataclasses()
    try:
        Job(make()).run(model=model)
    except ValueError as error:
        raise SystemExit(f"{error}: {(lambda x: x)(1)!r}") from error
    finally:
        [ds.initialize(config=x) for x in (BASE,)]
if __name__ == "__main__":
    main()
'''
TOKENS = st.sampled_from(
    [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "=",
        "**",
        "*",
        "'",
        '"',
        "\n",
        "    ",
        "é",
        "config",
        "self",
        "ds",
        ".",
        "1",
        "\\",
    ]
)


def check(text):
    program = read_program(Source("train.py", text))
    size = len(text)
    for call in program.calls:
        assert 0 <= call.start < call.end <= size
        for given_value in call.arguments.values():
            assert 0 <= given_value.start <= given_value.end <= size
    if program.problem is not None:
        assert 0 <= program.problem.start <= size
    documents = [config.document for config in program.configs if config.document is not None]
    documents += program.definitions.values()
    documents += [use.config for use in config_uses(program) if hasattr(use.config, "root")]
    for document in documents:
        for _, node in walk(document.root):
            assert 0 <= node.start <= node.end <= size
            for member in node.members:
                assert 0 <= member.key_start <= member.key_end <= size
    parsed_arguments(program)
    written_configs(program)
    return program


def test_the_program_itself_is_read():
    program = check(PROGRAM)
    assert program.problem is None
    assert len(program.calls) == 12
    assert len(program.configs) == 4


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_a_damaged_program_raises_nothing(data):
    text = PROGRAM
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + "".join(data.draw(st.lists(TOKENS, max_size=3)))
            + text[at + data.draw(st.integers(0, 6)) :]
        )
    check(text)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sets(st.integers(0, len(PROGRAM.splitlines()) - 1), max_size=12), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_a_program_without_some_of_its_rows_raises_nothing(gone, newline):
    rows = [row for number, row in enumerate(PROGRAM.splitlines()) if number not in gone]
    check(newline.join(rows))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=200))
def test_any_text_raises_nothing(text):
    check("import deepspeed\ndeepspeed.initialize(config={})\n" + text)
