"""A program's part in launches: what it hands to which framework."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dslint.documents.json import parse
from dslint.documents.python import Loaded, read_program
from dslint.documents.tree import UNKNOWN, Document, Node, Source, walk
from dslint.launches.programs import (
    as_loaded,
    config_uses,
    initializations,
    parsed_arguments,
    plugins,
    strategies,
    training_arguments,
    written_configs,
)
from dslint.launches.programs_lightning import lightning_config

# An interpreter that has the frameworks; this one, unless told otherwise.
PYTHON = os.environ.get("DSLINT_FRAMEWORKS_PYTHON", sys.executable)


def program_of(text):
    return read_program(Source("train.py", textwrap.dedent(text)))


def values_of(use):
    return {name: argument.value for name, argument in use.arguments.items()}


def asked(oracle: str, cases: list, library: str) -> list:
    """What a framework answers; the test is skipped where it is not installed."""
    done = subprocess.run(
        [PYTHON, str(Path(__file__).with_name(oracle))],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "DS_ACCELERATOR": "cpu"},
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"{PYTHON} has no {library} with deepspeed, so nothing was held against it")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def is_part(node: Node, content) -> bool:
    """Whether a tree says nothing but what the content holds, and leaves nothing out but where it is open."""
    if node.kind != "object":
        return node.kind == "unknown" or node.value == content
    if not node.open and {member.key for member in node.members} != set(content):
        return False
    return all(member.key in content and is_part(member.node, content[member.key]) for member in node.members)


# Transformers.


def test_training_arguments_are_given_as_a_launch_wants_them():
    text = 'from transformers import TrainingArguments\nargs = TrainingArguments("out", fp16=True, deepspeed="ds.json")\n'
    (use,) = training_arguments(read_program(Source("train.py", text)))
    assert use.framework == "transformers"
    assert isinstance(use.config, Loaded)
    assert use.config.path == "ds.json"
    assert use.complete
    assert values_of(use) == {"output_dir": "out", "fp16": True, "deepspeed": "ds.json"}
    place = use.arguments["fp16"].place
    assert text[place.start : place.end] == "fp16=True"
    assert text[use.place.start : use.place.end] == '"ds.json"'


def test_a_dict_given_to_training_arguments_is_a_document():
    (use,) = training_arguments(
        program_of(
            "from transformers import TrainingArguments\nTrainingArguments('o', deepspeed={'fp16': {}})"
        )
    )
    assert isinstance(use.config, Document)
    assert use.config.syntax == "python"
    assert not use.config.derived


def test_without_a_config_none_is_given_only_when_no_other_argument_can_be():
    complete, open_ended, computed = training_arguments(
        program_of(
            """
            from transformers import TrainingArguments
            TrainingArguments("o")
            TrainingArguments("o", **more)
            TrainingArguments("o", deepspeed=path())
            """
        )
    )
    assert complete.config is None
    assert open_ended.config is UNKNOWN
    assert not open_ended.complete
    assert computed.config is UNKNOWN


def test_an_attribute_set_afterwards_is_unknown():
    (use,) = training_arguments(
        program_of(
            """
            from transformers import TrainingArguments
            args = TrainingArguments("o", bf16=False)
            args.bf16 = True
            args.max_grad_norm = 0.5
            """
        )
    )
    assert values_of(use)["bf16"] is UNKNOWN
    assert values_of(use)["max_grad_norm"] is UNKNOWN


def test_a_class_of_the_program_brings_its_defaults_to_a_call():
    (use,) = training_arguments(
        program_of(
            """
            from transformers import TrainingArguments
            class Mine(TrainingArguments):
                bf16: bool = True
                weight_decay: float = 0.1
            Mine("o", weight_decay=0.0)
            """
        )
    )
    assert values_of(use) == {"bf16": True, "weight_decay": 0.0, "output_dir": "o"}
    assert use.complete


def test_trl_defaults_are_unknown_without_its_version_and_known_with_it():
    program = program_of("from trl import SFTConfig\nSFTConfig('o', deepspeed='ds.json')")
    (use,) = training_arguments(program)
    assert values_of(use)["bf16"] is UNKNOWN
    assert values_of(use)["learning_rate"] is UNKNOWN
    (use,) = training_arguments(program, {"trl": "0.24.0"})
    assert values_of(use)["bf16"] is True
    assert values_of(use)["learning_rate"] == 2e-5


def test_a_ppo_config_of_old_is_no_training_arguments():
    assert training_arguments(program_of("from trl import PPOConfig\nPPOConfig(ppo_epochs=4)")) == []


def test_arguments_parsed_from_the_command_line_have_the_class_defaults():
    (found,) = parsed_arguments(
        program_of(
            """
            import transformers
            class TrainingArguments(transformers.TrainingArguments):
                bf16: bool = True
            parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
            model_args, args = parser.parse_args_into_dataclasses()
            """
        )
    )
    assert {name: argument.value for name, argument in found.arguments.items()} == {"bf16": True}
    assert found.complete
    assert found.command_line
    assert not found.file


def test_a_class_from_another_file_leaves_parsed_arguments_incomplete():
    (found,) = parsed_arguments(
        program_of(
            """
            from transformers import HfArgumentParser
            from arguments import TrainingArguments
            args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
            """
        )
    )
    assert not found.complete
    assert found.command_line


def test_a_parser_of_other_classes_alone_parses_no_training_arguments():
    assert (
        parsed_arguments(
            program_of(
                "from transformers import HfArgumentParser\nclass A:\n    pass\nHfArgumentParser(A).parse_args()"
            )
        )
        == []
    )


# Bare DeepSpeed.


def test_initialize_without_a_config_leaves_it_to_the_command_line():
    given, left, computed = initializations(
        program_of(
            """
            import deepspeed
            deepspeed.initialize(config_params={"fp16": {}})
            deepspeed.initialize(args=args, model=model)
            deepspeed.initialize(config=make())
            """
        )
    )
    assert isinstance(given.config, Document)
    assert left.config is None
    assert computed.config is UNKNOWN


@pytest.mark.parametrize(
    "lines",
    [
        "config = args.ds",
        "config = json.load(open(args.ds))",
        "with open(args.ds) as f:\n    config = json.load(f)\nconfig['train_batch_size'] = 4",
    ],
)
def test_a_config_whose_path_the_command_line_gives_names_the_option(lines):
    (use,) = initializations(
        program_of(
            "import argparse, deepspeed, json\nparser = argparse.ArgumentParser()\nparser.add_argument('--ds')\n"
            f"args = parser.parse_args()\n{lines}\ndeepspeed.initialize(config=config)\n"
        )
    )
    assert use.option == "ds"
    assert use.config is UNKNOWN
    if lines.startswith("config = args"):
        assert use.loaded is None
    else:
        assert use.loaded.path == ""
        assert len(use.loaded.overrides) == lines.count("train_batch_size")


def test_an_option_that_is_given_as_it_is_names_itself():
    (use,) = initializations(
        program_of(
            "import argparse, deepspeed\nparser = argparse.ArgumentParser()\nparser.add_argument('--ds')\n"
            "deepspeed.initialize(config=parser.parse_args().ds)\n"
            "args = parser.parse_args()\ndeepspeed.initialize(config=args.ds)\n"
        )
    )[1:]
    assert use.option == "ds"


# Accelerate.


def test_a_plugin_makes_a_config_of_its_arguments():
    text = (
        "from accelerate import Accelerator, DeepSpeedPlugin\n"
        "plugin = DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=2, offload_param_device='nvme')\n"
        "Accelerator(mixed_precision='fp16', deepspeed_plugin=plugin)\n"
    )
    (use,) = plugins(read_program(Source("train.py", text)))
    document = use.config
    assert document.derived
    content = document.root.plain()
    assert content["zero_optimization"]["stage"] == 3
    assert content["gradient_accumulation_steps"] == 2
    assert content["fp16"] == {"enabled": True, "auto_cast": True}
    assert content["bf16"] == {"enabled": False}
    # What is left out comes from the environment that accelerate launch sets.
    assert content["gradient_clipping"] is UNKNOWN
    assert content["zero_optimization"]["offload_optimizer"]["device"] is UNKNOWN
    stage = document.node("/zero_optimization/stage")
    assert text[stage.start : stage.end] == "3"


def test_a_plugin_with_a_config_of_its_own_names_it():
    (use,) = plugins(
        program_of("from accelerate import DeepSpeedPlugin\nDeepSpeedPlugin(hf_ds_config='z.json')")
    )
    assert use.config.path == "z.json"


@pytest.mark.frameworks
def test_the_config_of_a_plugin_is_what_accelerate_makes():
    rng = random.Random(3)
    cases = []
    for _ in range(60):
        plugin = {
            "zero_stage": rng.choice([0, 1, 2, 3]),
            "gradient_accumulation_steps": rng.choice([1, 4]),
            "gradient_clipping": rng.choice([0.5, 1.0]),
            "offload_optimizer_device": rng.choice(["none", "cpu", "nvme"]),
            "offload_param_device": rng.choice(["none", "cpu", "nvme"]),
            "offload_optimizer_nvme_path": "/fast",
            "offload_param_nvme_path": "/faster",
            "zero3_save_16bit_model": rng.choice([True, False]),
            "enable_msamp": False,
        }
        cases.append({"plugin": plugin, "mixed_precision": rng.choice(["no", "fp16", "bf16"])})
    answers = asked("accelerate_oracle.py", cases, "accelerate")
    for case, answer in zip(cases, answers, strict=True):
        (use,) = plugins(
            program_of(
                "from accelerate import Accelerator, DeepSpeedPlugin\n"
                f"plugin = DeepSpeedPlugin(**{case['plugin']!r})\n"
                f"Accelerator(deepspeed_plugin=plugin, mixed_precision={case['mixed_precision']!r})\n"
            )
        )
        assert use.config.root.plain() == answer, case
        assert not use.config.root.open


# Lightning.


def test_a_named_strategy_makes_a_config():
    text = "import lightning as L\nL.Trainer(strategy='deepspeed_stage_3_offload', precision=16, devices=4, num_nodes=2)\n"
    (use,) = strategies(read_program(Source("train.py", text)))
    document = use.config
    assert document.derived
    content = document.root.plain()
    assert content["zero_optimization"]["stage"] == 3
    assert content["zero_optimization"]["offload_param"]["device"] == "cpu"
    assert content["fp16"]["enabled"] is True
    assert "bf16" not in content
    assert content["train_micro_batch_size_per_gpu"] is UNKNOWN
    assert use.world_size == 8
    enabled = document.node("/fp16/enabled")
    assert text[enabled.start : enabled.end] == "16"
    stage = document.node("/zero_optimization/stage")
    assert text[stage.start : stage.end] == "'deepspeed_stage_3_offload'"


def test_a_strategy_behind_a_name_meets_its_trainer():
    (use,) = strategies(
        program_of(
            """
            from pytorch_lightning import Trainer
            from pytorch_lightning.strategies import DeepSpeedStrategy
            strategy = DeepSpeedStrategy(stage=3, offload_optimizer=args.offload)
            trainer = Trainer(strategy=strategy, precision="bf16-mixed", gradient_clip_val=0.5, devices="auto")
            """
        )
    )
    content = use.config.root.plain()
    assert content["bf16"] == {"enabled": True}
    assert content["gradient_clipping"] == 0.5
    assert content["zero_optimization"]["offload_optimizer"] is UNKNOWN
    assert values_of(use)["precision"] == "bf16-mixed"
    assert use.world_size is None


def test_a_strategy_without_a_trainer_leaves_the_precision_open():
    (use,) = strategies(
        program_of(
            "from lightning.pytorch.strategies import DeepSpeedStrategy as S\ns = S(stage=2)  # deepspeed"
        )
    )
    assert use.config.root.open
    assert use.config.root.get("fp16") is None


def test_a_strategy_with_a_config_of_its_own_names_it():
    by_path, by_dict = strategies(
        program_of(
            """
            import lightning as L
            from lightning.pytorch.strategies import DeepSpeedStrategy
            L.Trainer(strategy=DeepSpeedStrategy(config="ds.json"), precision=16)
            L.Trainer(strategy=DeepSpeedStrategy(config={"gradient_accumulation_steps": 4}), precision=16)
            """
        )
    )
    assert by_path.config.path == "ds.json"
    assert by_dict.config.root.plain() == {"gradient_accumulation_steps": 4}
    assert not by_dict.config.derived


@pytest.mark.frameworks
def test_the_config_of_a_strategy_is_what_lightning_makes():
    rng = random.Random(5)
    cases = []
    for _ in range(60):
        strategy = {
            name: rng.choice(values)
            for name, values in {
                "zero_optimization": [True, False],
                "stage": [0, 1, 2, 3],
                "offload_optimizer": [True, False],
                "offload_parameters": [True, False],
                "offload_params_device": ["cpu", "nvme"],
                "nvme_path": ["/fast"],
                "pin_memory": [True],
                "reduce_bucket_size": [500_000_000],
                "loss_scale": [0, 128],
                "initial_scale_power": [32],
                "logging_batch_size_per_gpu": [4],
                "partition_activations": [True],
                "thread_count": [2],
                "zero_allow_untested_optimizer": [False],
            }.items()
            if rng.random() < 0.4
        }
        named = [
            "deepspeed",
            "deepspeed_stage_1",
            "deepspeed_stage_2_offload",
            "deepspeed_stage_3_offload_nvme",
        ]
        cases.append(
            {
                "strategy": rng.choice([strategy, strategy, rng.choice(named)]),
                "trainer": {
                    "precision": rng.choice(["16-mixed", "bf16-mixed", "32-true", "16-true", "bf16-true"]),
                    "accumulate_grad_batches": rng.choice([1, 4]),
                    "gradient_clip_val": rng.choice([None, 0, 0.5]),
                },
            }
        )
    answers = asked("lightning_oracle.py", cases, "lightning")
    for case, answer in zip(cases, answers, strict=True):
        given = case["strategy"]
        strategy = repr(given) if isinstance(given, str) else f"DeepSpeedStrategy(**{given!r})"
        program = program_of(
            "from lightning.pytorch import Trainer\nfrom lightning.pytorch.strategies import DeepSpeedStrategy\n"
            f"Trainer(strategy={strategy}, **{case['trainer']!r})\n"
        )
        (trainer,) = program.named("lightning.Trainer")
        made = next(iter(program.named("lightning.DeepSpeedStrategy")), None)
        content = lightning_config(program.source, made, trainer, whole=True).root.plain()
        (use,) = strategies(program)
        assert is_part(use.config.root, content), case
        if content["train_micro_batch_size_per_gpu"] is UNKNOWN:
            # Asked of the data; without any it is 1.
            content["train_micro_batch_size_per_gpu"] = 1
        assert content == answer, case


def test_defaults_that_only_tune_are_left_out_and_what_is_written_is_not():
    (use,) = strategies(
        program_of(
            """
            import lightning as L
            from lightning.pytorch.strategies import DeepSpeedStrategy
            L.Trainer(strategy=DeepSpeedStrategy(stage=3, sub_group_size=10, loss_scale=8), precision=16)
            """
        )
    )
    zero = use.config.node("/zero_optimization")
    assert zero.open
    assert zero.get("sub_group_size").value == 10
    assert zero.get("allgather_bucket_size") is None
    assert use.config.root.open
    assert use.config.node("/fp16").plain() == {"enabled": True, "loss_scale": 8}
    assert use.config.node("/gradient_clipping").value == 0.0


# All of a program.


def test_uses_come_in_the_order_of_the_text():
    uses = config_uses(
        program_of(
            """
            import deepspeed
            from transformers.integrations import HfDeepSpeedConfig
            dschf = HfDeepSpeedConfig("ds.json")
            with deepspeed.zero.Init(config_dict_or_path="ds.json"):
                pass
            deepspeed.initialize(config="ds.json")
            """
        )
    )
    assert [(use.call.name, use.framework) for use in uses] == [
        ("transformers.HfDeepSpeedConfig", None),
        ("deepspeed.zero.Init", None),
        ("deepspeed.initialize", "deepspeed"),
    ]


def test_a_dict_that_is_dumped_counts_when_it_is_a_config():
    found = written_configs(
        program_of(
            """
            import json
            # deepspeed
            with open("ds.json", "w") as f:
                json.dump({"zero_optimization": {"stage": 2}}, f)
            with open("metrics.json", "w") as f:
                json.dump({"train_loss": loss}, f)
            """
        )
    )
    assert [path for path, _ in found] == ["ds.json"]


def test_a_file_that_the_program_writes_is_what_it_takes():
    program = program_of(
        """
        import json, os
        from transformers import TrainingArguments
        PATH = os.path.join("out", "ds.json")
        with open(PATH, "w") as f:
            json.dump({"zero_optimization": {"stage": 2}}, f)
        TrainingArguments("out", deepspeed="./out/ds.json")
        """
    )
    (use,) = config_uses(program)
    ((_, document),) = written_configs(program)
    assert use.config is document


def test_a_file_is_seen_as_the_program_changes_it():
    (use,) = initializations(
        program_of(
            """
            import deepspeed, json
            config = json.load(open("ds.json"))
            config["train_batch_size"] = args.size
            config["bf16"]["enabled"] = True
            del config["amp"]
            deepspeed.initialize(config=config)
            """
        )
    )
    file = parse(
        Source(
            "ds.json",
            '{"train_batch_size": 8, "amp": {}, "bf16": {"enabled": false}, "zero_optimization": {}}',
        )
    )
    seen = as_loaded(file, use.config)
    assert seen.root.open
    assert seen.root.plain() == {
        "train_batch_size": UNKNOWN,
        "amp": UNKNOWN,
        "bf16": {"enabled": UNKNOWN},
        "zero_optimization": {},
    }
    assert file.root.plain()["train_batch_size"] == 8


def test_a_file_that_the_program_leaves_alone_is_itself():
    file = parse(Source("ds.json", "{}"))
    assert as_loaded(file, Loaded("ds.json", 0, 1)) is file


def test_derived_configs_stand_within_the_program():
    text = "import lightning as L\nL.Trainer(strategy='deepspeed', **more)\n"
    (use,) = strategies(read_program(Source("train.py", text)))
    assert not use.complete
    for pointer, node in walk(use.config.root):
        assert 0 <= node.start < node.end <= len(text), pointer
