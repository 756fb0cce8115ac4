"""Which ZeRO stage and which offload a model needs on a machine: the fastest that fits."""

from __future__ import annotations

from typing import NamedTuple

from dslint.hardware.memory import GB, Estimate, Model, Precision, Setup, Strategy, estimate, guessed
from dslint.hardware.profiles import Profile

# Of a GPU's memory this share stays free for fragmentation, and this much goes to the driver and NCCL.
FREE_SHARE = 0.1
RUNTIME = 1 * GB
LARGEST_MICRO_BATCH = 16
# Sequences in one optimizer step: a micro batch is not made larger than that asks for, accumulation
# fills up to it.
GLOBAL_BATCH = 32
# Under this GPU memory small buckets are worth their slower communication.
SMALL_GPU = 40
LARGE_BUCKET = 2 * 10**8
SMALL_BUCKET = 5 * 10**7
MOST_GPUS = 4096
# GB of host memory that a node has at most, unless it is told.
MOST_HOST_MEMORY = 2048

ONE_GPU = (Strategy(1), Strategy(2, "optimizer"), Strategy(3, "all"))
SEVERAL_GPUS = (
    Strategy(1),
    Strategy(2),
    Strategy(3),
    Strategy(2, "optimizer"),
    Strategy(3, "optimizer"),
    Strategy(3, "all"),
)


class Machine(NamedTuple):
    """GPUs of one kind. `memory` of one and `host_memory` of a node are in GB; None is unknown."""

    profile: Profile
    gpus: int
    nodes: int = 1
    memory: int | None = None
    host_memory: int | None = None

    @property
    def usable(self) -> float:
        """The bytes of one GPU that training may fill; unlimited where the memory is not known."""
        return self.memory * GB * (1 - FREE_SHARE) - RUNTIME if self.memory else float("inf")


class Option(NamedTuple):
    """A strategy weighed at the largest micro batch that fits; `micro_batch` is 0 if not even 1 does."""

    strategy: Strategy
    estimate: Estimate
    micro_batch: int
    obstacle: str


class Plan(NamedTuple):
    """What was chosen, and everything that was weighed. `chosen` is None when nothing fits."""

    machine: Machine
    model: Model | None
    setup: Setup
    chosen: Option | None
    options: tuple[Option, ...]


def precision_for(profile: Profile) -> Precision:
    """bf16 where the hardware computes in it, else fp16 where DeepSpeed takes that, else fp32."""
    return "bf16" if profile.bf16 else "fp16" if profile.fp16 else "fp32"


def machine_for(profile: Profile, gpus: int, nodes: int, host_memory: int | None) -> Machine:
    """The machine, with the smallest memory that the GPU is sold with. A CPU's processes share the host's."""
    if profile.memory:
        return Machine(profile, gpus, nodes, profile.memory[0], host_memory)
    return Machine(profile, gpus, nodes, host_memory // gpus if host_memory else None, None)


def setup_for(machine: Machine, sequence: int) -> Setup:
    small = machine.memory is not None and machine.memory < SMALL_GPU
    bucket = SMALL_BUCKET if small else LARGE_BUCKET
    return Setup(machine.gpus, machine.nodes, precision_for(machine.profile), sequence, bucket)


def plan(machine: Machine, params: int, sequence: int) -> Plan:
    """The fastest strategy that fits, and how the others do."""
    model, setup = guessed(params), setup_for(machine, sequence)
    options = tuple(weigh(strategy, model, setup, machine) for strategy in strategies(machine))
    chosen = next((option for option in options if not option.obstacle), None)
    return Plan(machine, model, setup, chosen, options)


def plan_without_model(machine: Machine, sequence: int) -> Plan:
    """ZeRO-2 (on one GPU ZeRO-1), where nothing can be weighed because the model's size is not given."""
    setup = setup_for(machine, sequence)
    strategy = Strategy(2 if setup.world > 1 else 1)
    return Plan(machine, None, setup, Option(strategy, Estimate((), 0.0), 1, ""), ())


def strategies(machine: Machine) -> tuple[Strategy, ...]:
    """What there is to choose from, the fastest first. From a CPU there is nowhere to offload to."""
    every = SEVERAL_GPUS if machine.gpus * machine.nodes > 1 else ONE_GPU
    if machine.profile.architecture == "CPU":
        return tuple(strategy for strategy in every if strategy.offload == "none")
    return every


def weigh(strategy: Strategy, model: Model, setup: Setup, machine: Machine) -> Option:
    fitting = 0
    micro_batch = 1
    largest = min(LARGEST_MICRO_BATCH, GLOBAL_BATCH // setup.world) if machine.memory else 1
    while micro_batch <= max(1, largest):
        if estimate(model, strategy, setup, micro_batch).total > machine.usable:
            break
        fitting, micro_batch = micro_batch, micro_batch * 2
    figures = estimate(model, strategy, setup, max(1, fitting))
    return Option(strategy, figures, fitting, obstacle(figures, fitting, machine))


def obstacle(figures: Estimate, fitting: int, machine: Machine) -> str:
    """Why a strategy cannot be taken, or ""."""
    if not fitting:
        return f"needs {figures.total / GB:.1f} GB of a GPU's {machine.usable / GB:.1f}"
    host = machine.host_memory or MOST_HOST_MEMORY
    if figures.host > host * GB:
        known = "" if machine.host_memory else ", the most that a node is taken to have"
        return f"needs {figures.host / GB:.0f} GB of the host's {host}{known}"
    return ""


def largest_model(strategy: Strategy, machine: Machine, sequence: int) -> int:
    """The most parameters that a strategy holds on a machine, to two figures; 0 if hardly any."""
    fits = 0
    for exponent in range(7, 13):
        for mantissa in range(10, 100):
            params = mantissa * 10 ** (exponent - 1)
            if weigh(strategy, guessed(params), setup_for(machine, sequence), machine).obstacle:
                return fits
            fits = params
    return fits


def enough_gpus(machine: Machine, params: int, sequence: int) -> int | None:
    """How many GPUs, doubling the nodes, would hold the model; None if not even very many do."""
    nodes = machine.nodes * 2
    while nodes * machine.gpus <= MOST_GPUS:
        if plan(machine._replace(nodes=nodes), params, sequence).chosen:
            return nodes * machine.gpus
        nodes *= 2
    return None


def longest_sequence(machine: Machine, params: int, sequence: int) -> int | None:
    """The longest sequence, halving, with which the model would fit; None if not even 128 tokens do."""
    while sequence > 128:
        sequence //= 2
        if plan(machine, params, sequence).chosen:
            return sequence
    return None
