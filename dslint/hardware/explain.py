"""What is said beside a config that `dslint init` writes: the arithmetic, what was weighed, what to set."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dslint.hardware.config import LEARNING_RATE, Config, accumulation
from dslint.hardware.memory import GB, VOCABULARY, Estimate, all_activations, count
from dslint.hardware.plan import (
    FREE_SHARE,
    GLOBAL_BATCH,
    RUNTIME,
    Machine,
    Option,
    Plan,
    enough_gpus,
    largest_model,
    longest_sequence,
    strategies,
)
from dslint.launches.launch import Framework


def report(made: Plan, config: Config, framework: Framework, release: str, explain: bool) -> list[str]:
    """What is said beside the config (empty where nothing fits): the arithmetic, and what else to set."""
    blocks = [headline(made, release)]
    if made.model is None:
        blocks.append(without_model(made))
    elif made.chosen is None:
        blocks.append(nothing_fits(made))
    else:
        blocks.append(arithmetic(made, made.chosen))
    if made.model and (explain or made.chosen is None):
        blocks.append(weighed(made))
    if explain:
        blocks += [assumptions(made), *([keys(config)] if config else [])]
    if made.chosen:
        blocks.append(advice(made, made.chosen, framework))
    return [line for block in blocks for line in (*block, "")][:-1]


def headline(made: Plan, release: str) -> list[str]:
    machine = made.machine
    nodes = f"{machine.nodes} nodes of " if machine.nodes > 1 else ""
    memory = f", {machine.memory} GB" if machine.memory else ""
    facts = [
        f"{nodes}{machine.gpus} × {machine.profile.title}{memory}",
        made.setup.precision,
        *([f"{count(made.model.params)} parameters"] if made.model else []),
        f"sequences of {made.setup.sequence} tokens",
        release,
    ]
    lines = ["; ".join(facts)]
    others = machine.profile.memory[1:]
    if others:
        sizes = " and ".join(map(str, others))
        name = f"{machine.profile.name}-{others[-1]}gb"
        lines.append(f"It is sold with {sizes} GB too: --hardware {name} plans for that.")
    return lines


def arithmetic(made: Plan, option: Option) -> list[str]:
    """The estimate of the chosen strategy, line by line, against what a GPU has."""
    machine = made.machine
    lines = table(option.estimate, f"{option.strategy.title}, {each(machine)}")
    if machine.memory:
        less = f"less {FREE_SHARE:.0%} free and {RUNTIME / GB:.0f} GB for driver and communication"
        lines.append(row("of", machine.usable, f"{machine.memory} GB {less}"))
    else:
        lines.append("The memory is not known: give --host-memory to have it weighed.")
    if option.estimate.host:
        lines.append(row("host memory of a node", option.estimate.host, "with DeepSpeed's factor 1.5"))
    return lines


def each(machine: Machine) -> str:
    return "for one process" if machine.profile.architecture == "CPU" else "on one GPU"


def table(figures: Estimate, title: str) -> list[str]:
    parts = [row(f"  {part.name}", part.size, part.how) for part in figures.parts]
    return [f"{title}, in GB", *parts, row("in all", figures.total, "")]


def row(name: str, size: float, how: str) -> str:
    return f"{name:<28}{size / GB:>8.1f}  {how}".rstrip()


def weighed(made: Plan) -> list[str]:
    """Every strategy, the fastest first, with why it was taken or left."""
    lines = [f"{'weighed, the fastest first':<40}{'GB':>8}  {'micro batch':<11}"]
    for option in made.options:
        verdict = option.obstacle or ("taken" if option is made.chosen else "fits, but is slower")
        batch = str(option.micro_batch or "-")
        size = option.estimate.total / GB
        lines.append(f"  {option.strategy.title:<38}{size:>8.1f}  {batch:<11}  {verdict}")
    return lines


def without_model(made: Plan) -> list[str]:
    """What fits, since no model's size was given."""
    if made.machine.memory is None:
        return ["No --params, so no memory was weighed."]
    lines = ["No --params, so no memory was weighed. What fits at micro batch 1:"]
    for strategy in strategies(made.machine):
        largest = largest_model(strategy, made.machine, made.setup.sequence)
        lines.append(f"  {strategy.title:<38}{'up to ' + count(largest) if largest else 'nothing':>12}")
    return lines


def nothing_fits(made: Plan) -> list[str]:
    """Why, and what to do, with the figures that would do."""
    machine, model = made.machine, made.model
    assert model is not None
    sequence = made.setup.sequence
    lines = [f"Nothing fits: {count(model.params)} parameters do not train on this machine. What would:"]
    gpus = enough_gpus(machine, model.params, sequence)
    if gpus:
        lines.append(f"  - {gpus} GPUs of this kind (--nodes {gpus // machine.gpus})")
    shorter = longest_sequence(machine, model.params, sequence)
    if shorter:
        lines.append(f"  - sequences of {shorter} tokens (--seq-len {shorter})")
    lines.append("  - GPUs with more memory (`dslint hardware` lists them)")
    if any("host" in option.obstacle for option in made.options):
        lines.append("  - more host memory (--host-memory), or offloading to NVMe instead of the CPU")
    weights = made.setup.width * model.params / GB
    lines.append(f"  - LoRA: {weights:.1f} GB of weights in all, and states for the adapter alone")
    return lines


def assumptions(made: Plan) -> list[str]:
    lines = ["assumed", f"  a step of about {GLOBAL_BATCH} sequences"]
    model = made.model
    if model is None:
        return lines
    without = all_activations(model, made.setup, made.chosen.micro_batch if made.chosen else 1)
    return [
        *lines,
        f"  a decoder-only transformer of {model.layers} layers, hidden size {model.hidden}, vocabulary "
        f"{VOCABULARY}",
        "  Adam: 12 bytes a parameter for the fp32 weight, momentum and variance (the ZeRO paper), and the",
        "  fp32 copy of the gradients that DeepSpeed's step makes",
        "  gradient checkpointing, and an attention that keeps no matrix; without checkpointing",
        f"  activations would take {without / GB:.1f} GB",
    ]


KEYS = {
    "bf16": "the hardware computes in it; its range is that of fp32, so there is no loss to scale",
    "fp16": "the hardware has no bf16; a scale below 1 would lose gradients, so it stops at 1",
    "zero_optimization": "what is sharded and what goes to the host, from the arithmetic above",
    "overlap_comm": "gradients are reduced while the backward pass goes on",
    "reduce_bucket_size": "smaller than the default 5e8, for the memory's sake",
    "stage3_gather_16bit_weights_on_model_save": "a saved model is whole, not in shards",
    "optimizer": "DeepSpeed makes it, so that it is the CPU's own where it is offloaded",
    "gradient_clipping": "written out, for releases before 0.19.3 clip only when told",
    "train_batch_size": "micro batch × accumulation × GPUs, or the framework's own",
}


def keys(config: Config) -> list[str]:
    """Why the config has each of its keys."""
    written = {**config, **config["zero_optimization"]}
    return ["keys", *(f"  {key}: {why}" for key, why in KEYS.items() if key in written)]


def advice(made: Plan, option: Option, framework: Framework) -> list[str]:
    """What the config cannot say: the settings beside it that must agree."""
    lines = list(ADVICE[framework](made, option))
    if made.model:
        lines.append("Turn gradient checkpointing on in the model.")
    if option.estimate.host and not made.machine.host_memory:
        lines.append(f"Check that a node has {option.estimate.host / GB:.0f} GB of memory free.")
    if made.setup.precision == "fp32":
        lines.append(f"{made.machine.profile.title}: {made.machine.profile.note or 'no 16-bit training'}.")
    return lines


def for_deepspeed(made: Plan, option: Option) -> Iterator[str]:
    yield f"The learning rate, {LEARNING_RATE}, suits fine-tuning; set your own."


def for_transformers(made: Plan, option: Option) -> Iterator[str]:
    flag = "neither --bf16 nor --fp16" if made.setup.precision == "fp32" else f"--{made.setup.precision}"
    batch = f", --per_device_train_batch_size {option.micro_batch}" if made.model else ""
    yield f"Start the script with {flag}{batch}; max_grad_norm stays at 1.0."
    if option.strategy.stage == 3:
        yield "Make the TrainingArguments before the model, so that it is loaded in shards."


def for_accelerate(made: Plan, option: Option) -> Iterator[str]:
    precision = "no" if made.setup.precision == "fp32" else made.setup.precision
    yield f'Set mixed_precision: "{precision}", and create the optimizer in the script.'


def for_lightning(made: Plan, option: Option) -> Iterator[str]:
    precision = {"bf16": "bf16-mixed", "fp16": "16-mixed", "fp32": "32-true"}[made.setup.precision]
    yield (
        f'Trainer(precision="{precision}", accumulate_grad_batches={accumulation(made)}), and '
        f"batch_size={option.micro_batch} in the DataLoader."
    )
    if option.strategy.offload != "none":
        yield "Offloading needs DeepSpeedCPUAdam in configure_optimizers."


ADVICE: dict[Framework, Callable[[Plan, Option], Iterator[str]]] = {
    "deepspeed": for_deepspeed,
    "transformers": for_transformers,
    "accelerate": for_accelerate,
    "lightning": for_lightning,
}
