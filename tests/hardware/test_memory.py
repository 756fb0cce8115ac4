"""The memory arithmetic, against the ZeRO paper's table and DeepSpeed's own estimates."""

import pytest

from dslint.hardware.memory import (
    GB,
    Model,
    Setup,
    Strategy,
    activations,
    estimate,
    guessed,
    host_memory,
    largest_layer,
    model_states,
)


def setup(gpus=8, nodes=1, precision="bf16", sequence=2048, bucket=2 * 10**8):
    return Setup(gpus, nodes, precision, sequence, bucket)


def size(parts, *names):
    return sum(part.size for part in parts if not names or part.name in names)


PAPER = ("weights", "gradients", "optimizer states")


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_model_states_are_those_of_the_zero_paper(stage, gigabytes):
    """Its figure 1: 7.5 billion parameters on 64 GPUs."""
    parts = model_states(int(7.5e9), Strategy(stage), setup(gpus=8, nodes=8))
    assert size(parts, *PAPER) / GB == pytest.approx(gigabytes, abs=0.06)


def test_a_parameter_takes_16_bytes_on_one_gpu_whatever_the_stage():
    for stage in (0, 1, 2, 3):
        assert size(model_states(1000, Strategy(stage), setup(gpus=1)), *PAPER) == 16 * 1000


def test_in_fp32_weights_and_gradients_take_4_bytes_and_zero_keeps_its_copy():
    parts = model_states(1000, Strategy(1), setup(gpus=1, precision="fp32"))
    assert size(parts, *PAPER) == (4 + 4 + 12) * 1000


def test_a_bigger_stage_never_takes_more_of_a_gpu():
    for gpus in (1, 2, 8):
        sizes = [size(model_states(10**9, Strategy(stage), setup(gpus=gpus))) for stage in (0, 1, 2, 3)]
        assert sizes == sorted(sizes, reverse=True)


def test_offloading_leaves_weights_or_nothing_on_the_gpu():
    assert size(model_states(10**9, Strategy(2, "optimizer"), setup())) == 2 * 10**9
    assert size(model_states(10**9, Strategy(3, "optimizer"), setup())) == 2 * 10**9 / 8
    assert model_states(10**9, Strategy(3, "all"), setup()) == []


@pytest.mark.parametrize(
    ("params", "layers", "hidden"), [(7e9, 32, 4096), (70e9, 80, 8192), (1.3e9, 24, 2048), (13e9, 40, 5120)]
)
def test_the_guessed_geometry_is_near_that_of_known_models(params, layers, hidden):
    model = guessed(int(params))
    assert model.layers == pytest.approx(layers, rel=0.25)
    assert model.hidden == pytest.approx(hidden, rel=0.2)
    assert 12 * model.layers * model.hidden**2 == pytest.approx(params, rel=0.1)


def test_activations_grow_with_the_tokens_in_flight():
    model = guessed(10**9)
    one = activations(model, setup(), 1).size
    assert activations(model, setup(), 4).size == 4 * one
    assert activations(model, setup(sequence=4096), 2).size == 4 * one
    # A layer of 34 bytes for each token and hidden unit: s = 1024, h = 1024, b = 1.
    layer = activations(Model(10**9, 0, 1024), setup(sequence=1024), 1).size - 8 * 1024 * 128_000
    assert layer == 34 * 1024 * 1024


def test_the_parts_of_an_estimate_say_how_they_come_about():
    figures = estimate(guessed(7 * 10**9), Strategy(1), setup(), 1)
    lines = {part.name: (part.size, part.how) for part in figures.parts}
    assert lines["optimizer states"] == (12 * 7 * 10**9 / 8, "12 bytes × 7 B ÷ 8")
    assert lines["weights"] == (14 * 10**9, "2 bytes × 7 B")
    assert figures.total == sum(part.size for part in figures.parts)


SIZES = [
    (int(125e6), 40_000_000),
    (int(1.3e9), 100_000_000),
    (7 * 10**9, 524_288_000),
    (70 * 10**9, 2 * 10**9),
]


@pytest.mark.engine
@pytest.mark.parametrize(("params", "layer"), SIZES)
@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (2, 1), (8, 1), (8, 4)])
class TestAgainstDeepSpeed:
    """DeepSpeed's estimates leave activations and buffers out, and so do these comparisons."""

    @pytest.fixture
    def zero2(self, deepspeed):
        from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs

        return estimate_zero2_model_states_mem_needs

    @pytest.fixture
    def zero3(self, deepspeed):
        from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs

        return estimate_zero3_model_states_mem_needs

    def test_stage_2_takes_what_deepspeed_estimates(self, zero2, params, layer, gpus, nodes):
        _, gpu = zero2(params, gpus, nodes, cpu_offload=False)
        assert size(model_states(params, Strategy(2), setup(gpus, nodes))) == pytest.approx(gpu, abs=1)

    def test_stage_2_with_offload_takes_what_deepspeed_estimates(self, zero2, params, layer, gpus, nodes):
        host, gpu = zero2(params, gpus, nodes, cpu_offload=True)
        strategy = Strategy(2, "optimizer")
        assert size(model_states(params, strategy, setup(gpus, nodes))) == gpu
        if nodes == 1:
            # For several nodes DeepSpeed counts the GPUs of all of them into the memory of each.
            assert host_memory(guessed(params), strategy, setup(gpus, nodes)) == pytest.approx(host, abs=1)

    def test_stage_3_takes_what_deepspeed_estimates(self, zero3, params, layer, gpus, nodes):
        _, gpu, largest = zero3(params, layer, gpus, nodes, cpu_offload=False, cpu_offload_params=False)
        ours = size(model_states(params, Strategy(3), setup(gpus, nodes)))
        assert ours + largest == pytest.approx(gpu, abs=1)

    @pytest.mark.parametrize(("offload", "weights"), [("optimizer", False), ("all", True)])
    def test_stage_3_with_offload_takes_what_deepspeed_estimates(
        self, zero3, params, layer, gpus, nodes, offload, weights
    ):
        host, gpu, largest = zero3(params, layer, gpus, nodes, cpu_offload=True, cpu_offload_params=weights)
        strategy = Strategy(3, offload)
        ours = size(model_states(params, strategy, setup(gpus, nodes)))
        assert ours + largest == pytest.approx(gpu, abs=1)
        assert host_memory(guessed(params), strategy, setup(gpus, nodes)) == pytest.approx(host, abs=1)

    def test_the_working_set_is_at_least_the_largest_layer_that_deepspeed_counts(
        self, zero3, params, layer, gpus, nodes
    ):
        model = guessed(params)
        *_, largest = zero3(params, largest_layer(model), gpus, nodes)
        figures = estimate(model, Strategy(3), setup(gpus, nodes), 1)
        assert size(figures.parts, "largest layer", "gathered weights") >= largest
