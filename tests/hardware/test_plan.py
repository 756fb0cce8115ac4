"""Which strategy is taken for which machine and model, and what config comes of it."""

import pytest

from dslint.hardware.config import config_for
from dslint.hardware.memory import GB, Strategy
from dslint.hardware.plan import (
    GLOBAL_BATCH,
    Machine,
    enough_gpus,
    largest_model,
    longest_sequence,
    machine_for,
    plan,
    plan_without_model,
    precision_for,
)
from dslint.hardware.profiles import profile
from dslint.hardware.table import PROFILES

FRAMEWORKS = ("deepspeed", "transformers", "accelerate", "lightning")


def machine(name="a100-80gb", gpus=8, nodes=1, host=None) -> Machine:
    return machine_for(profile(name), gpus, nodes, host)


def taken(made):
    return made.chosen.strategy


@pytest.mark.parametrize(
    ("name", "precision"),
    [("a100", "bf16"), ("h100", "bf16"), ("v100", "fp16"), ("t4", "fp16"), ("p100", "fp32"), ("cpu", "bf16")],
)
def test_the_precision_is_the_best_that_the_hardware_computes_in(name, precision):
    assert precision_for(profile(name)) == precision


@pytest.mark.parametrize(
    ("name", "gpus", "params", "strategy"),
    [
        ("a100-80gb", 8, 7e9, Strategy(1)),
        ("a100-40gb", 8, 7e9, Strategy(3)),
        ("a100-80gb", 8, 13e9, Strategy(2)),
        ("a100-80gb", 1, 7e9, Strategy(2, "optimizer")),
        ("rtx3090", 1, 7e9, Strategy(2, "optimizer")),
        ("t4", 1, 7e9, Strategy(3, "all")),
        ("h100", 8, 70e9, Strategy(3, "optimizer")),
        ("a100-80gb", 1, 1e9, Strategy(1)),
    ],
)
def test_the_fastest_strategy_that_fits_is_taken(name, gpus, params, strategy):
    made = plan(machine(name, gpus), int(params), 2048)
    assert taken(made) == strategy
    assert made.chosen.estimate.total <= made.machine.usable
    for option in made.options[: made.options.index(made.chosen)]:
        assert option.estimate.total > made.machine.usable, option


def test_more_nodes_need_less_offloading():
    assert taken(plan(machine("h100", 8, 4), int(70e9), 2048)) == Strategy(3)


def test_usable_memory_is_the_gpu_less_the_headroom():
    assert machine("a100-80gb").usable == 80 * GB * 0.9 - GB


def test_of_several_memory_sizes_the_smallest_is_planned_for():
    assert machine("a100").memory == 40
    assert machine("a100-80gb").memory == 80


def test_the_micro_batch_is_the_largest_that_fits_up_to_what_a_step_asks_for():
    made = plan(machine("a100-80gb", 1), int(1e9), 2048)
    assert made.chosen.micro_batch == 16
    assert plan(machine("a100-80gb", 1), int(1e9), 16384).chosen.micro_batch < 4
    assert plan(machine("a100-80gb", 8, 8), int(1e9), 128).chosen.micro_batch == 1


def test_host_memory_rules_offloading_out():
    made = plan(machine("t4", 1, host=64), int(7e9), 2048)
    assert made.chosen is None
    assert "needs 189 GB of the host's 64" in made.options[-1].obstacle
    assert plan(machine("t4", 1, host=256), int(7e9), 2048).chosen


def test_what_would_fit_does_fit():
    small = machine("t4", 1, host=64)
    gpus = enough_gpus(small, int(7e9), 2048)
    assert gpus > 1
    assert plan(small._replace(nodes=gpus), int(7e9), 2048).chosen
    long = machine("rtx3060ti", 1)
    assert plan(long, int(1e9), 65536).chosen is None
    shorter = longest_sequence(long, int(1e9), 65536)
    assert plan(long, int(1e9), shorter).chosen
    assert plan(long, int(1e9), shorter * 2).chosen is None


def test_the_largest_model_fits_and_the_next_does_not():
    for strategy in (Strategy(1), Strategy(2), Strategy(3)):
        largest = largest_model(strategy, machine(), 2048)
        fitting = [o.strategy for o in plan(machine(), largest, 2048).options if not o.obstacle]
        over = [o.strategy for o in plan(machine(), int(largest * 1.11), 2048).options if not o.obstacle]
        assert strategy in fitting
        assert strategy not in over


def test_a_cpu_offloads_nothing_and_its_processes_share_the_host():
    made = plan(machine("cpu", 4, host=256), int(1e9), 2048)
    assert made.machine.memory == 64
    assert {option.strategy.offload for option in made.options} == {"none"}
    unknown = plan(machine("cpu", 4), int(7e9), 2048)
    assert unknown.chosen.micro_batch == 1


def test_without_a_model_zero_2_is_taken_and_nothing_weighed():
    assert taken(plan_without_model(machine(), 2048)) == Strategy(2)
    assert taken(plan_without_model(machine(gpus=1), 2048)) == Strategy(1)


def config(name="a100-80gb", gpus=8, params=7e9, framework="deepspeed", nodes=1):
    return config_for(plan(machine(name, gpus, nodes), int(params), 2048), framework)


@pytest.mark.parametrize("framework", ["transformers", "accelerate"])
def test_batch_keys_are_auto_where_the_framework_fills_them(framework):
    written = config(framework=framework)
    assert written["train_batch_size"] == "auto"
    assert written["train_micro_batch_size_per_gpu"] == "auto"
    assert written["gradient_accumulation_steps"] == "auto"


@pytest.mark.parametrize("gpus", [1, 2, 3, 7, 8, 64])
def test_bare_deepspeed_gets_batch_sizes_that_multiply_out(gpus):
    written = config(gpus=gpus, params=1e9)
    micro, steps = written["train_micro_batch_size_per_gpu"], written["gradient_accumulation_steps"]
    assert written["train_batch_size"] == micro * steps * gpus
    assert written["train_batch_size"] <= max(GLOBAL_BATCH, gpus)


def test_lightning_gets_no_key_that_it_refuses():
    written = config(framework="lightning")
    assert "gradient_accumulation_steps" not in written
    assert "train_batch_size" not in written
    assert "optimizer" not in written
    assert isinstance(written["train_micro_batch_size_per_gpu"], int)


def test_accelerate_gets_no_optimizer_beside_that_of_the_script():
    assert "optimizer" not in config(framework="accelerate")


@pytest.mark.parametrize("each", PROFILES, ids=lambda each: each.name)
def test_no_config_turns_on_a_precision_that_the_hardware_lacks(each):
    written = config_for(plan_without_model(machine_for(each, 2, 1, None), 2048), "deepspeed")
    assert not ("fp16" in written and "bf16" in written)
    assert ("bf16" in written) == each.bf16
    assert ("fp16" in written) == (bool(each.fp16) and not each.bf16)


def test_fp16_scales_its_loss_dynamically_down_to_1():
    block = config("v100-32gb")["fp16"]
    assert block["loss_scale"] == 0
    assert block["min_loss_scale"] == 1
    assert isinstance(block["min_loss_scale"], int)
    assert 2 ** block["initial_scale_power"] > block["min_loss_scale"]


def test_offloading_is_written_as_it_was_planned():
    assert config("t4", 1)["zero_optimization"]["offload_param"]["device"] == "cpu"
    one = config("rtx3090", 1)["zero_optimization"]
    assert one["offload_optimizer"]["device"] == "cpu"
    assert "offload_param" not in one
    assert "offload_optimizer" not in config()["zero_optimization"]


def test_gradients_are_clipped_in_every_config():
    assert {config(framework=framework)["gradient_clipping"] for framework in FRAMEWORKS} == {1.0}


def test_a_plan_that_chose_nothing_has_no_config():
    with pytest.raises(ValueError, match="nothing fits"):
        config_for(plan(machine("t4", 1, host=8), int(70e9), 2048), "deepspeed")


MACHINES = [
    ("a100-80gb", 8, 1, 7e9),
    ("a100-40gb", 8, 1, 13e9),
    ("v100-16gb", 4, 1, 1.3e9),
    ("v100-32gb", 8, 2, 7e9),
    ("t4", 1, 1, 7e9),
    ("t4", 2, 1, 125e6),
    ("rtx3090", 1, 1, 7e9),
    ("rtx4090", 2, 1, 7e9),
    ("p100", 4, 1, 350e6),
    ("h100", 8, 1, 70e9),
    ("h100", 8, 4, 70e9),
    ("h200", 8, 16, 405e9),
    ("mi300x", 8, 1, 70e9),
    ("gaudi2", 8, 1, 7e9),
    ("cpu", 2, 1, 125e6),
]


class Group:
    """Stands in for a launch of that many processes."""

    def __init__(self, world):
        self.get_data_parallel_world_size = lambda: world


def filled(value, micro, steps, world):
    """The config with "auto" as the Trainer and Accelerate replace it."""
    numbers = {
        "train_batch_size": micro * steps * world,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": steps,
        "lr": 5e-5,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "weight_decay": 0.0,
    }
    if isinstance(value, dict):
        return {
            key: numbers[key] if inner == "auto" else filled(inner, micro, steps, world)
            for key, inner in value.items()
        }
    return value


@pytest.mark.engine
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("name", "gpus", "nodes", "params"), MACHINES)
def test_the_engine_reads_the_config_as_it_is_meant(
    deepspeed, monkeypatch, framework, name, gpus, nodes, params
):
    from deepspeed.runtime import config as module

    made = plan(machine(name, gpus, nodes), int(params), 2048)
    written = filled(config_for(made, framework), 2, 3, gpus * nodes)
    monkeypatch.setattr(module.dist, "get_rank", lambda: 0)
    read = module.DeepSpeedConfig(written, mpu=Group(gpus * nodes))
    micro, steps = read.train_micro_batch_size_per_gpu, read.gradient_accumulation_steps
    assert read.train_batch_size == micro * steps * gpus * nodes
    assert read.gradient_clipping == 1.0
    assert int(read.zero_optimization_stage) == made.chosen.strategy.stage
    assert read.zero_config.reduce_bucket_size == made.setup.bucket
    offload = read.zero_config.offload_optimizer
    assert (offload is not None and offload.device == "cpu") == (made.chosen.strategy.offload != "none")
    blocks = (enabled(read, "bfloat16"), enabled(read, "float16"))
    assert blocks == (made.setup.precision == "bf16", made.setup.precision == "fp16")


def enabled(read, name):
    """Whether a precision is on: since 0.17.1 its block is an object, before a flag beside."""
    block = getattr(read, f"{name}_config", None)
    if block is not None:
        return block.enabled
    return getattr(read, {"bfloat16": "bfloat16_enabled", "float16": "fp16_enabled"}[name])


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "gpus", "params"), [("a100-80gb", 8, 7e9), ("t4", 1, 7e9), ("p100", 4, 350e6)]
)
def test_the_trainer_fills_the_config_without_a_mismatch(deepspeed, tmp_path, name, gpus, params):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    made = plan(machine(name, gpus), int(params), 2048)
    written = config_for(made, "transformers")
    flags = {made.setup.precision: True} if made.setup.precision == "bf16" else {}
    arguments = transformers.TrainingArguments(str(tmp_path), use_cpu=True, report_to="none", **flags)
    if made.setup.precision == "fp16":
        # The flag itself asks for a GPU when the arguments are made.
        arguments.fp16 = True
    held = HfTrainerDeepSpeedConfig(written)
    held.trainer_config_process(arguments)
    assert held.mismatches == []
    assert held.config["gradient_clipping"] == arguments.max_grad_norm
    assert held.config["optimizer"]["params"]["lr"] == arguments.learning_rate
