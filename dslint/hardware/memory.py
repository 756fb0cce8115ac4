"""How much memory training takes: the arithmetic of the ZeRO paper, with DeepSpeed's own additions.

Model states (https://arxiv.org/abs/1910.02054, section 3.1): in mixed precision Adam keeps for each
parameter 2 bytes of weight, 2 of gradient, and 12 of optimizer state (the fp32 weight, momentum and
variance), 16 in all. ZeRO shards over N GPUs the optimizer states (stage 1), the gradients too (stage
2), the weights too (stage 3).

DeepSpeed's own estimates (`deepspeed.runtime.zero.stage3.estimate_zero3_model_states_mem_needs`, and
`estimate_zero2_…` in stage_1_and_2) add the fp32 copy of the gradients that its step makes; here it is a
line of its own, so that both figures can be read.

Sizes are in bytes, and a GB is 10^9 of them, which is a little less than what a GPU sold as "80 GB" has.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Precision = Literal["bf16", "fp16", "fp32"]
Offload = Literal["none", "optimizer", "all"]

GB = 10**9
# What the estimate takes for a vocabulary: that of Llama 3, rounded; larger than most.
VOCABULARY = 128_000
# `stage3_max_live_parameters` and `stage3_prefetch_bucket_size` as DeepSpeed sets them.
MAX_LIVE = 10**9
PREFETCH = 5 * 10**7
# DeepSpeed's `additional_buffer_factor` for host memory.
HOST_FACTOR = 1.5


class Model(NamedTuple):
    """A decoder-only transformer: its parameters, and the geometry that its activations depend on."""

    params: int
    layers: int
    hidden: int


class Strategy(NamedTuple):
    """A ZeRO stage and what goes to the host: nothing, the optimizer states, or (stage 3) the weights too."""

    stage: int
    offload: Offload = "none"

    @property
    def title(self) -> str:
        where = {"none": "", "optimizer": " + optimizer on CPU", "all": " + optimizer and weights on CPU"}
        return f"ZeRO-{self.stage}{where[self.offload]}"


class Part(NamedTuple):
    """One line of an estimate: what for, how many bytes, and how they come about."""

    name: str
    size: float
    how: str


class Estimate(NamedTuple):
    """What one GPU holds, part by part, and what a node's host memory holds for it."""

    parts: tuple[Part, ...]
    host: float

    @property
    def total(self) -> float:
        return sum(part.size for part in self.parts)


class Setup(NamedTuple):
    """What the arithmetic depends on beside the model: GPUs of one node, nodes, and the data."""

    gpus: int
    nodes: int
    precision: Precision
    sequence: int
    bucket: int

    @property
    def world(self) -> int:
        return self.gpus * self.nodes

    @property
    def width(self) -> int:
        """Bytes of a weight, a gradient or an activation."""
        return 4 if self.precision == "fp32" else 2


def guessed(params: int) -> Model:
    """A model of that size, as wide for its depth as the usual ones: hidden = 128 × layers.

    Its layers hold 12 × hidden² parameters each, so that 7e9 gives 33 layers of 4224, where Llama 2 7B
    has 32 of 4096.
    """
    hidden = max(128, round((params * 128 / 12) ** (1 / 3) / 128) * 128)
    return Model(params, max(1, hidden // 128), hidden)


def estimate(model: Model, strategy: Strategy, setup: Setup, micro_batch: int) -> Estimate:
    """What training the model so takes, on one GPU and on one node's host."""
    parts = [
        *model_states(model.params, strategy, setup),
        *gathered(model, strategy, setup),
        buffers(model, strategy, setup),
        activations(model, setup, micro_batch),
    ]
    return Estimate(tuple(part for part in parts if part.size), host_memory(model, strategy, setup))


def model_states(params: int, strategy: Strategy, setup: Setup) -> list[Part]:
    """Weights, gradients, optimizer states and the fp32 gradients of the step, on one GPU."""
    world, width = setup.world, setup.width
    stage = strategy.stage
    weights = Part("weights", *sharded(width, params, world, stage >= 3))
    if strategy.offload == "all":
        return []
    if strategy.offload == "optimizer":
        # Gradients leave for the host bucket by bucket, as they are made.
        return [weights]
    # In stage 3 an fp32 gradient takes the place of its 16-bit one: 2 bytes more, where the others add 4.
    step = 0 if width == 4 and stage >= 3 else 2 if stage >= 3 else 4
    return [
        weights,
        Part("gradients", *sharded(width, params, world, stage >= 2)),
        Part("optimizer states", *sharded(12, params, world, stage >= 1)),
        Part("fp32 gradients in the step", *sharded(step, params, world, stage >= 1)),
    ]


def sharded(each: int, params: int, world: int, split: bool) -> tuple[float, str]:
    """The bytes of a state and how they come about."""
    how = f"{each} bytes × {count(params)}"
    return (each * params / world, f"{how} ÷ {world}") if split and world > 1 else (each * params, how)


def gathered(model: Model, strategy: Strategy, setup: Setup) -> list[Part]:
    """Stage 3 alone: the weights that are whole at a time, or the largest layer with its gradient."""
    if strategy.stage < 3:
        return []
    largest = 2 * setup.width * largest_layer(model)
    live = setup.width * min(model.params, MAX_LIVE)
    if largest > live:
        return [Part("largest layer", largest, f"{2 * setup.width} bytes × {count(largest_layer(model))}")]
    how = f"{setup.width} bytes × {count(min(model.params, MAX_LIVE))} (stage3_max_live_parameters)"
    return [Part("gathered weights", live, how)]


def largest_layer(model: Model) -> int:
    """The parameters of the largest single module: the embedding or a feed-forward projection."""
    return min(model.params, max(VOCABULARY * model.hidden, 4 * model.hidden**2))


def buffers(model: Model, strategy: Strategy, setup: Setup) -> Part:
    """Communication buckets. With overlap_comm stage 2 takes 4.5 times both.

    The factor is that of the DeepSpeed guide in Transformers' documentation: 9 GB for two of 5e8.
    """
    bucket = min(setup.bucket, model.params)
    if strategy.stage >= 3:
        size = setup.width * (2 * bucket + min(PREFETCH, model.params))
        return Part("buffers", size, f"{setup.width} bytes × (2 × {count(bucket)} + prefetch)")
    if strategy.stage == 2:
        return Part(
            "buffers", 9 * setup.width * bucket, f"{setup.width} bytes × 2 buckets of {count(bucket)} × 4.5"
        )
    return Part("buffers", 2 * setup.width * bucket, f"{setup.width} bytes × 2 buckets of {count(bucket)}")


def activations(model: Model, setup: Setup, micro_batch: int) -> Part:
    """With gradient checkpointing: each layer's input, one layer in full, the logits and their gradient.

    A layer in full holds 34 bytes for each token and hidden unit in 16 bits, with an attention that keeps no
    matrix (https://arxiv.org/abs/2205.05198, equation 1 without its last term).
    """
    tokens = micro_batch * setup.sequence
    inputs = model.layers * tokens * model.hidden * setup.width
    one = tokens * model.hidden * 34 * setup.width // 2
    logits = 8 * tokens * VOCABULARY
    return Part("activations", inputs + one + logits, f"micro batch {micro_batch} × {setup.sequence} tokens")


def all_activations(model: Model, setup: Setup, micro_batch: int) -> float:
    """Without gradient checkpointing: every layer in full."""
    tokens = micro_batch * setup.sequence
    return model.layers * tokens * model.hidden * 34 * setup.width / 2 + 8 * tokens * VOCABULARY


def host_memory(model: Model, strategy: Strategy, setup: Setup) -> float:
    """What offloading takes of one node's memory, as DeepSpeed estimates it, with its factor for buffers.

    Stage 2 loads the model whole in every process, 4 bytes a parameter; stage 3 is taken to load it in shards
    (`zero.Init`).
    """
    if strategy.offload == "none":
        return 0.0
    if strategy.stage < 3:
        return model.params * max(4 * setup.gpus, 16 / setup.nodes) * HOST_FACTOR
    each = 18 if strategy.offload == "all" else 16
    return model.params * each / setup.nodes * HOST_FACTOR


def count(number: float) -> str:
    """7_000_000_000 → "7 B", 125_000_000 → "125 M"."""
    for unit, name in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.0f}"
