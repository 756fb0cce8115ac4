"""Python programs: which calls are found, what is known of their arguments, and where everything stands."""

from __future__ import annotations

import textwrap
import time

import pytest

from dslint.documents.python import Loaded, is_worth_reading, read_program
from dslint.documents.tree import UNKNOWN, Source, walk


def program_of(text, path="train.py"):
    return read_program(Source(path, textwrap.dedent(text)))


def config_of(text, number=0):
    return program_of(text).configs[number]


def plain_config(text):
    document = config_of(text).document
    assert document is not None
    return document.root.plain()


def initialized(lines, name="config"):
    """The config that reaches deepspeed.initialize after some lines of code."""
    return plain_config(f"import deepspeed\n{textwrap.dedent(lines)}\ndeepspeed.initialize(config={name})\n")


# Files that give nothing.


@pytest.mark.parametrize(
    "text",
    [
        "print 'deepspeed.initialize(x)'\n",
        "try:\n    deepspeed.initialize()\nexcept Exception, e:\n    pass\n",
        "import deepspeed\nraise ValueError, 'initialize('\n",
    ],
)
def test_a_python_2_file_gives_nothing_and_no_problem(text):
    program = program_of(text)
    assert program.problem is None
    assert program.calls == ()


def test_a_file_that_no_python_reads_has_a_problem_at_its_place():
    program = program_of("import deepspeed\nengine = deepspeed.initialize(config=\n")
    assert program.problem is not None
    assert program.problem.kind == "syntax"
    assert program.source.position(program.problem.start).row == 2


@pytest.mark.parametrize(
    "tail",
    [
        "\0",
        "(" * 3000,
        "-" * 100_000 + "1",
        "x" + ".a" * 50_000,
        "+".join(["1"] * 30_000),
        "[" * 150 + "]" * 150,
        "\ud800",
    ],
    ids=["nul", "brackets", "signs", "attributes", "sum", "lists", "surrogate"],
)
def test_text_that_breaks_parsers_raises_nothing(tail):
    program = program_of("import deepspeed\ndeepspeed.initialize(config={})\nx = " + tail)
    assert program.problem is not None or program.calls


def test_a_file_that_names_no_library_is_not_parsed():
    assert not is_worth_reading("import torch\n\ndef initialize(model):\n    return Trainer(model)\n")
    assert program_of("def broken(:\n    Trainer(\n").problem is None


def test_a_file_that_only_mentions_a_library_is_not_parsed():
    assert not is_worth_reading("# speed things up with deepspeed\nimport torch\n")


# Spans.


def test_keys_and_values_have_their_places_in_the_file():
    text = 'import deepspeed\nc = {\n    "fp16": {"enabled": True},\n}\ndeepspeed.initialize(config=c)\n'
    program = program_of(text)
    root = program.configs[0].document.root
    assert text[root.start : root.end] == '{\n    "fp16": {"enabled": True},\n}'
    member = root.member("fp16")
    assert text[member.key_start : member.key_end] == '"fp16"'
    assert text[member.node.start : member.node.end] == '{"enabled": True}'
    enabled = member.node.member("enabled")
    assert text[enabled.node.start : enabled.node.end] == "True"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_places_are_right_beside_other_scripts_line_ends_and_a_byte_order_mark(end, mark):
    lines = [
        "import deepspeed",
        "# größer 世界 😀",
        "c = {'名': '😀', 'stage': 3}  # ü",
        "deepspeed.initialize(config=c)",
        "",
    ]
    text = mark + end.join(lines)
    root = read_program(Source("train.py", text)).configs[0].document.root
    (first, second) = root.members
    assert text[first.key_start : first.key_end] == "'名'"
    assert text[first.node.start : first.node.end] == "'😀'"
    assert text[second.key_start : second.key_end] == "'stage'"
    assert text[second.node.start : second.node.end] == "3"


def test_a_scalar_behind_a_name_stands_where_the_name_is_used():
    text = 'import deepspeed\nSIZE = 4\nc = {"train_batch_size": SIZE}\ndeepspeed.initialize(config=c)\n'
    node = program_of(text).configs[0].document.root.get("train_batch_size")
    assert node.value == 4
    assert text[node.start : node.end] == "SIZE"


def test_an_object_behind_a_name_stands_where_its_literal_is():
    text = 'import deepspeed\nzero = {"stage": 3}\nc = {"zero_optimization": zero}\ndeepspeed.initialize(config=c)\n'
    node = program_of(text).configs[0].document.root.get("zero_optimization")
    assert text[node.start : node.end] == '{"stage": 3}'


def test_keywords_and_values_of_a_call_have_their_places():
    text = "from transformers import TrainingArguments\nTrainingArguments('out', fp16 = True)\n"
    call = program_of(text).calls[0]
    assert text[call.start : call.end] == "TrainingArguments('out', fp16 = True)"
    assert text[call.callee_start : call.callee_end] == "TrainingArguments"
    given = call.arguments["fp16"]
    assert text[given.start : given.end] == "True"
    assert text[slice(*given.keyword)] == "fp16"
    assert call.arguments["output_dir"].keyword is None


# Values.


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("5e8", 5e8),
        ("int(5e8)", 500000000),
        ("1024 * 1024", 1048576),
        ("2 ** 20", 1048576),
        ("1 << 20", 1048576),
        ("-1", -1),
        ("not True", False),
        ("None", None),
        ("'a' 'b'", "ab"),
        ("'a' + 'b'", "ab"),
        ("f'zero{SIZE}'", "zero4"),
        ("f'{SIZE:>3}'", UNKNOWN),
        ("SIZE * 2", 8),
        ("SIZE if True else other", 4),
        ("SIZE == 4", True),
        ("os.path.join('a', 'b.json')", "a/b.json"),
        ("str(Path('a') / 'b.json')", "a/b.json"),
        ("(0.9, 0.999)", [0.9, 0.999]),
        ("[0.9, beta()]", [0.9, UNKNOWN]),
        ("1 / 0", UNKNOWN),
        ("10 ** 10 ** 10", UNKNOWN),
        ("'x' * 10 ** 9", UNKNOWN),
        ("1e999", UNKNOWN),
        ("float('inf')", UNKNOWN),
        ("float('5e-5')", 5e-5),
        ("int('x')", UNKNOWN),
        ("os.environ.get('SIZE', 4)", UNKNOWN),
        ("int(os.environ['SIZE'])", UNKNOWN),
        ("args.size", UNKNOWN),
        ("torch.float16", UNKNOWN),
        ("Settings.size", 16),
        ("settings.size", 16),
        ("other_settings.size", 2),
        ("Settings.lr", 1e-4),
        ("Settings.changed", UNKNOWN),
        ("twice(8)", UNKNOWN),
        ("len('abc')", UNKNOWN),
        ("b'x'", UNKNOWN),
        ("{1, 2}", UNKNOWN),
        ("lambda: 1", UNKNOWN),
        ("[x for x in (1, 2)]", UNKNOWN),
    ],
)
def test_an_expression_is_worked_out_or_unknown(expression, value):
    found = initialized(
        f"""
        import os, torch
        from pathlib import Path
        from dataclasses import dataclass, field
        SIZE = 4
        @dataclass
        class Settings:
            size: int = 16
            lr: float = field(default=1e-4)
            changed: int = 1
        settings = Settings()
        other_settings = Settings(size=2)
        settings.changed = 3
        @cache
        def twice(x):
            return 2 * x
        config = {{"value": {expression}}}
        """
    )["value"]
    assert found is UNKNOWN if value is UNKNOWN else (found == value and isinstance(found, type(value)))


def test_a_name_bound_in_two_branches_is_unknown():
    assert initialized(
        """
        if flag:
            stage = 2
        else:
            stage = 3
        config = {"stage": stage}
        """
    ) == {"stage": UNKNOWN}


@pytest.mark.parametrize(
    "line",
    [
        "exec(open('configurator.py').read())",
        "globals().update(overrides)",
        "globals()[key] = value",
        "from settings import *",
        "vars()[key] = value",
    ],
)
def test_a_global_that_may_be_set_unseen_is_unknown(line):
    assert initialized(f"stage = 3\n{line}\nconfig = {{'stage': stage}}", "{'stage': stage}") == {
        "stage": UNKNOWN
    }


def test_names_that_come_by_star_before_do_not_matter():
    assert initialized("from settings import *\nstage = 3\nconfig = {'stage': stage}") == {"stage": 3}


@pytest.mark.parametrize(
    "line",
    ["setattr(s, key, 1)", "s.stage = 2", "s.__dict__.update(x)", "vars(s).update(x)", "adapt(s)", "pass"],
)
def test_a_setting_that_may_be_changed_unseen_is_unknown(line):
    found = initialized(f"class S:\n    stage = 3\ns = S()\n{line}\nconfig = {{'stage': s.stage}}")
    assert found["stage"] is UNKNOWN if line != "pass" else found == {"stage": 3}


def test_a_name_bound_twice_in_a_row_has_its_last_value():
    assert initialized("stage = 2\nstage = 3\nconfig = {'stage': stage}\nstage = 4") == {"stage": 3}


def test_the_branch_that_a_call_stands_in_decides():
    program = program_of(
        """
        import deepspeed
        if flag:
            config = {"stage": 2}
            deepspeed.initialize(config=config)
        else:
            config = {"stage": 3}
            deepspeed.initialize(config=config)
        """
    )
    assert [config.document.root.plain() for config in program.configs] == [{"stage": 2}, {"stage": 3}]


def test_changes_in_a_row_are_applied():
    assert initialized(
        """
        config = {"zero_optimization": {"stage": 2}, "fp16": {"enabled": True}, "amp": {}}
        config["zero_optimization"]["stage"] = 3
        config.update({"bf16": {"enabled": True}}, train_batch_size=8)
        del config["amp"]
        config.pop("fp16")
        config.setdefault("steps_per_print", 10)
        config.setdefault("train_batch_size", 16)
        """
    ) == {
        "zero_optimization": {"stage": 3},
        "bf16": {"enabled": True},
        "train_batch_size": 8,
        "steps_per_print": 10,
    }


def test_a_change_in_a_branch_makes_that_part_unknown():
    assert initialized(
        """
        config = {"zero_optimization": {"stage": 2}, "train_batch_size": 8}
        if offload:
            config["zero_optimization"]["offload_optimizer"] = {"device": "cpu"}
            config["train_batch_size"] = 4
        """
    ) == {"zero_optimization": {"stage": 2, "offload_optimizer": UNKNOWN}, "train_batch_size": UNKNOWN}


def test_a_change_under_a_computed_key_opens_the_object():
    document = config_of(
        """
        import deepspeed
        config = {"zero_optimization": {"stage": 2}, "train_batch_size": 8}
        config["zero_optimization"][key] = 1
        deepspeed.initialize(config=config)
        """
    ).document
    assert document.root.plain() == {"zero_optimization": {"stage": UNKNOWN}, "train_batch_size": 8}
    assert document.root.get("zero_optimization").open
    assert not document.root.open


def test_a_spread_of_something_unknown_opens_the_object():
    root = config_of("import deepspeed\ndeepspeed.initialize(config={'a': 1, **base, 'b': 2})").document.root
    assert root.open
    assert root.plain() == {"a": UNKNOWN, "b": 2}


def test_a_spread_of_something_known_is_merged():
    assert initialized("base = {'a': 1, 'b': 1}\nconfig = {'a': 0, **base, 'b': 2}") == {"a": 1, "b": 2}


def test_handing_a_dict_to_unknown_code_makes_it_unknown():
    root = config_of(
        "import deepspeed\nconfig = {'a': 1}\nadapt(config)\ndeepspeed.initialize(config=config)"
    ).document.root
    assert root.open
    assert root.plain() == {"a": UNKNOWN}


@pytest.mark.parametrize(
    "line",
    [
        "print(config)",
        "logger.info(config)",
        "json.dump(config, open('x', 'w'))",
        "copy.deepcopy(config)",
        "wandb.log(config)",
        "TrainingArguments(deepspeed=config)",
        "shown(config)",
        "config.get('a')",
    ],
)
def test_handing_a_dict_to_code_that_leaves_it_alone_keeps_it(line):
    program = program_of(
        f"""
        import deepspeed, json
        from transformers import TrainingArguments
        def shown(x):
            print(x["a"])
        config = {{"a": 1}}
        {line}
        deepspeed.initialize(config=config)
        """
    )
    assert program.named("deepspeed.initialize")[0].arguments["config"].value == {"a": 1}


def test_a_function_of_the_file_is_looked_into():
    found = initialized(
        """
        def make(stage, offload=False, size=8):
            zero = {"stage": stage, "offload": offload}
            return {"train_batch_size": size, "zero_optimization": zero, "lr": args.lr}
        config = make(3, size=16)
        """
    )
    assert found == {
        "train_batch_size": 16,
        "zero_optimization": {"stage": 3, "offload": False},
        "lr": UNKNOWN,
    }


def test_the_argument_of_the_only_call_is_the_parameter():
    program = program_of(
        """
        import deepspeed
        def train(config, model):
            deepspeed.initialize(model=model, config=config)
        def main():
            config = {"train_batch_size": 8}
            train(config, model)
        main()
        """
    )
    assert program.configs[0].document.root.plain() == {"train_batch_size": 8}


def test_a_parameter_of_a_function_that_is_called_twice_is_unknown():
    program = program_of(
        """
        import deepspeed
        def train(config):
            deepspeed.initialize(config=config)
        train({"train_batch_size": 8})
        train({"train_batch_size": 4})
        """
    )
    assert program.calls[0].arguments["config"].value is UNKNOWN


def test_an_attribute_of_self_is_followed():
    program = program_of(
        """
        import deepspeed
        class Job:
            def __init__(self):
                self.config = {"train_batch_size": 8}
            def run(self):
                deepspeed.initialize(config=self.config)
        """
    )
    assert program.configs[0].document.root.plain() == {"train_batch_size": 8}


def test_many_changes_that_read_the_same_dict_take_no_long_time():
    lines = "".join(f"config['k{number}'] = config['k']\n" for number in range(300))
    start = time.perf_counter()
    program_of(f"import deepspeed\nconfig = {{'k': 1}}\n{lines}deepspeed.initialize(config=config)\n")
    assert time.perf_counter() - start < 1  # seconds; unbounded it takes minutes


# Files.


@pytest.mark.parametrize(
    "lines",
    [
        "config = json.load(open('ds.json'))",
        "with open('ds.json') as f:\n    config = json.load(f)",
        "f = open('ds.json')\nconfig = json.load(f)",
        "with open('ds.json') as f:\n    config = json.loads(f.read())",
        "config = json.loads(Path('ds.json').read_text())",
        "with Path('ds.json').open() as f:\n    config = hjson.load(f)",
        "PATH = 'ds.json'\nconfig = PATH",
        "config = 'ds.json'",
    ],
)
def test_a_config_from_a_file_is_named_by_its_path(lines):
    config = config_of(
        f"import deepspeed, json, hjson\nfrom pathlib import Path\n{lines}\ndeepspeed.initialize(config=config)"
    )
    assert config.document is None
    assert config.file.path == "ds.json"
    assert config.file.overrides == ()
    assert not config.file.blurred


def test_what_the_program_changes_in_a_loaded_config_is_told():
    file = config_of(
        """
        import deepspeed, json
        with open("ds.json") as f:
            config = json.load(f)
        config["train_micro_batch_size_per_gpu"] = args.size
        config["fp16"]["enabled"] = True
        if flag:
            config["zero_optimization"]["stage"] = 2
        del config["amp"]
        deepspeed.initialize(config=config)
        """
    ).file
    assert isinstance(file, Loaded)
    told = [(each.path, each.node and each.node.plain(), each.certain) for each in file.overrides]
    assert told == [
        (("train_micro_batch_size_per_gpu",), UNKNOWN, True),
        (("fp16", "enabled"), True, True),
        (("zero_optimization", "stage"), UNKNOWN, False),
        (("amp",), None, True),
    ]


def test_a_path_found_from_the_programs_own_place_is_anchored():
    program = read_program(
        Source(
            "examples/train.py",
            "import deepspeed, os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
            "deepspeed.initialize(config=os.path.join(HERE, 'ds.json'))\n"
            "deepspeed.initialize(config='ds.json')\n",
        )
    )
    first, second = (call.arguments["config"].value for call in program.calls)
    assert first == "examples/ds.json"
    assert first.anchored
    assert second == "ds.json"
    assert not getattr(second, "anchored", False)


def test_a_dict_that_is_dumped_to_a_json_file_is_a_config():
    program = program_of(
        """
        import json
        config = {"zero_optimization": {"stage": 2}}
        with open("ds.json", "w") as f:
            json.dump(config, f, indent=2)
        Path("other.json").write_text(json.dumps(config))
        from pathlib import Path
        with open("notes.txt", "w") as f:
            json.dump(config, f)
        """
    )
    assert [config.written_to for config in program.configs] == ["ds.json", "other.json"]


# Calls.


@pytest.mark.parametrize(
    ("text", "name", "dotted"),
    [
        ("import deepspeed as ds\nds.initialize()", "deepspeed.initialize", "deepspeed.initialize"),
        ("from deepspeed import initialize as go\ngo()", "deepspeed.initialize", "deepspeed.initialize"),
        ("import deepspeed\ndeepspeed.zero.Init()", "deepspeed.zero.Init", "deepspeed.zero.Init"),
        ("from deepspeed import zero\nzero.Init()", "deepspeed.zero.Init", "deepspeed.zero.Init"),
        (
            "from transformers import Seq2SeqTrainingArguments as T\nT()",
            "transformers.TrainingArguments",
            "transformers.Seq2SeqTrainingArguments",
        ),
        (
            "import transformers\ntransformers.training_args.TrainingArguments()",
            "transformers.TrainingArguments",
            "transformers.training_args.TrainingArguments",
        ),
        ("from trl import SFTConfig\nSFTConfig()", "transformers.TrainingArguments", "trl.SFTConfig"),
        (
            "from trl.trainer.grpo_config import GRPOConfig\nGRPOConfig()",
            "transformers.TrainingArguments",
            "trl.trainer.grpo_config.GRPOConfig",
        ),
        (
            "from sentence_transformers import SentenceTransformerTrainingArguments as A\nA()",
            "transformers.TrainingArguments",
            "sentence_transformers.SentenceTransformerTrainingArguments",
        ),
        (
            "from transformers import *\nTrainingArguments()",
            "transformers.TrainingArguments",
            "transformers.TrainingArguments",
        ),
        (
            "import pytorch_lightning as pl\npl.Trainer() # deepspeed",
            "lightning.Trainer",
            "pytorch_lightning.Trainer",
        ),
        (
            "from lightning.pytorch.strategies import DeepSpeedStrategy\nDeepSpeedStrategy()",
            "lightning.DeepSpeedStrategy",
            "lightning.pytorch.strategies.DeepSpeedStrategy",
        ),
        (
            "from accelerate.utils import DeepSpeedPlugin\nDeepSpeedPlugin()",
            "accelerate.DeepSpeedPlugin",
            "accelerate.utils.DeepSpeedPlugin",
        ),
        (
            "from transformers.integrations.deepspeed import HfDeepSpeedConfig\nHfDeepSpeedConfig({})",
            "transformers.HfDeepSpeedConfig",
            "transformers.integrations.deepspeed.HfDeepSpeedConfig",
        ),
    ],
)
def test_a_call_is_found_under_any_of_its_names(text, name, dotted):
    (call,) = program_of(text).calls
    assert (call.name, call.dotted) == (name, dotted)


@pytest.mark.parametrize(
    "text",
    [
        "import deepspeed\nmodel.initialize()",
        "import deepspeed\ndeepspeed.ops.initialize()",
        "from deepspeed.moe import Init\nInit()",
        "from setup import initialize  # deepspeed\ninitialize()",
        "from mine import TrainingArguments\nTrainingArguments()",
        "import deepspeed\nclass TrainingArguments:\n    pass\nTrainingArguments()",
    ],
)
def test_a_call_of_something_else_with_the_same_name_is_not_taken(text):
    assert program_of(text).calls == ()


def test_arguments_through_a_known_dict_count_and_through_an_unknown_one_leave_the_call_open():
    program = program_of(
        """
        from transformers import TrainingArguments
        common = {"bf16": True}
        TrainingArguments("out", **common)
        TrainingArguments("out", **vars(options))
        TrainingArguments(*rest)
        """
    )
    first, second, third = program.calls
    assert first.complete
    assert first.arguments["bf16"].value is True
    assert first.arguments["bf16"].keyword is None
    assert not second.complete
    assert not third.complete


def test_an_attribute_that_is_set_afterwards_is_told():
    (call,) = program_of(
        "from transformers import TrainingArguments\nargs = TrainingArguments('out')\nargs.bf16 = True\n"
    ).calls
    assert call.changed == {"bf16"}


def test_a_call_that_gives_an_argument_is_linked():
    program = program_of(
        """
        from accelerate import Accelerator, DeepSpeedPlugin
        plugin = DeepSpeedPlugin(zero_stage=2)
        accelerator = Accelerator(deepspeed_plugin=plugin)
        """
    )
    plugin, accelerator = program.calls
    assert accelerator.arguments["deepspeed_plugin"].made_by == plugin.order


def test_the_order_and_the_scope_of_calls_are_told():
    program = program_of(
        """
        from transformers import AutoModelForCausalLM, TrainingArguments, Trainer
        def main():
            model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
            if flag:
                args = TrainingArguments("out", deepspeed="ds.json")
            trainer = Trainer(model, args)
            trainer.train()
            trainer.save_model("out")
        """
    )
    assert [(call.name, call.scope, call.conditional) for call in program.calls] == [
        ("transformers.from_pretrained", "main", False),
        ("transformers.TrainingArguments", "main", True),
        ("transformers.Trainer", "main", False),
        ("trainer.train", "main", False),
        ("trainer.save_model", "main", False),
    ]
    assert program.calls[0].receiver == "transformers.AutoModelForCausalLM"
    assert program.calls[0].arguments["device_map"].value == "auto"


def test_a_value_from_the_command_line_names_its_option():
    program = program_of(
        """
        import argparse
        from transformers import TrainingArguments
        parser = argparse.ArgumentParser()
        parser.add_argument("--learning-rate", type=float)
        args = parser.parse_args()
        TrainingArguments("out", learning_rate=args.learning_rate, seed=args.seed)
        """
    )
    call = program.named("transformers.TrainingArguments")[0]
    assert call.arguments["learning_rate"].option == "learning_rate"
    assert call.arguments["seed"].option == ""


# Classes and parsers.


def test_a_class_of_the_program_has_its_own_defaults():
    program = program_of(
        """
        import transformers
        from dataclasses import dataclass, field
        @dataclass
        class TrainingArguments(transformers.TrainingArguments):
            optim: str = field(default="adamw_torch")
            bf16: bool = True
            names: list = field(default_factory=list)
            required: int
        parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
        (model_args, args) = parser.parse_args_into_dataclasses()
        """
    )
    known = program.classes["TrainingArguments"]
    assert known.family == "transformers.TrainingArguments"
    assert known.complete
    assert {name: given.value for name, given in known.fields.items()} == {
        "optim": "adamw_torch",
        "bf16": True,
        "names": UNKNOWN,
    }
    (parser,) = program.parsers
    assert parser.classes == ("ModelArguments", "TrainingArguments")
    assert parser.sources == {"command line"}
    assert program.takes_local_rank is True


def test_a_class_that_runs_code_on_its_fields_is_not_complete():
    program = program_of(
        """
        from transformers import TrainingArguments
        class Mine(TrainingArguments):
            def __post_init__(self):
                self.bf16 = True
        class Theirs(Mixin, TrainingArguments):
            pass
        """
    )
    assert not program.classes["Mine"].complete
    assert not program.classes["Theirs"].complete


def test_a_parser_that_reads_a_file_too_says_so():
    program = program_of(
        """
        import sys
        from transformers import HfArgumentParser, TrainingArguments
        CLASSES = [TrainingArguments]
        parser = HfArgumentParser(CLASSES)
        if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
            (args,) = parser.parse_json_file(sys.argv[1])
        else:
            (args,) = parser.parse_args_into_dataclasses()
        """
    )
    assert program.parsers[0].classes == ("transformers.TrainingArguments",)
    assert program.parsers[0].sources == {"command line", "file"}


# Frameworks.


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("import deepspeed\ndeepspeed.initialize()", "deepspeed"),
        ("import deepspeed\nparser = deepspeed.add_config_arguments(parser)", "deepspeed"),
        ("from transformers import Trainer\nTrainer()  # deepspeed", "transformers"),
        ("from transformers import HfArgumentParser\nHfArgumentParser(MyTrainingArguments)", "transformers"),
        ("from transformers import HfArgumentParser\nHfArgumentParser(ScriptArguments)", None),
        (
            "from accelerate import Accelerator\nfrom transformers import HfArgumentParser\n"
            "HfArgumentParser(ScriptArguments)\nAccelerator()",
            "accelerate",
        ),
        ("from accelerate import Accelerator\nAccelerator()", "accelerate"),
        ("import lightning as L\nL.Trainer(strategy='deepspeed_stage_2')", "lightning"),
        ("import lightning as L\nL.Trainer(strategy='ddp')  # deepspeed", None),
        (
            "from accelerate import Accelerator\nfrom trl import SFTConfig\nAccelerator()\nSFTConfig()",
            "transformers",
        ),
        ("import deepspeed\nfrom transformers import Trainer\ndeepspeed.initialize()\nTrainer()", None),
    ],
)
def test_the_framework_is_what_the_program_hands_its_config_to(text, framework):
    program = program_of(text)
    assert program.framework == framework
    assert (program.framework_place is not None) == (framework is not None)


def test_dicts_for_other_programs_are_told_by_name():
    program = program_of(
        """
        import deepspeed
        def get_config(stage):
            return {"zero_optimization": {"stage": stage}, "train_batch_size": 8}
        BASE = {"fp16": {"enabled": True}}
        BASE["zero_optimization"] = {"stage": 1}
        """
    )
    assert {name: document.root.plain() for name, document in program.definitions.items()} == {
        "get_config": {"zero_optimization": {"stage": UNKNOWN}, "train_batch_size": 8},
        "BASE": {"fp16": {"enabled": True}, "zero_optimization": {"stage": 1}},
    }


def test_every_node_lies_within_the_file():
    text = "import deepspeed\nc = dict(a=1, **{'b': [1, {'c': x}]})\nc['d'] = (1, 2)\ndeepspeed.initialize(config=c)\n"
    root = program_of(text).configs[0].document.root
    for pointer, node in walk(root):
        assert 0 <= node.start < node.end <= len(text), pointer
        for member in node.members:
            assert text[member.key_start : member.key_end].strip("'\"") == member.key
