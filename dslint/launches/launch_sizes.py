"""How many ranks a launch command starts, by the rules of its launcher; None wherever a run, a file or a machine decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dslint.documents.script import Job
from dslint.documents.shell_words import Word
from dslint.documents.tree import Place, Source
from dslint.launches.launchers import CLOSED

if TYPE_CHECKING:
    from dslint.launches.commands import Launcher, Option


class Step(NamedTuple):
    """What srun or mpirun makes of the job: counts are None where they are not known, or where neither is there."""

    job: Job | None
    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    place: Place | None = None


class Size(NamedTuple):
    """A world size and where it was learned."""

    ranks: int
    place: Place | None


def size_of(
    launchers: Sequence[Launcher],
    wrappers: Sequence[str],
    environment: Mapping[str, Word],
    arguments: Mapping[str, Option],
    step: Step,
    source: Source,
) -> Size | None:
    """The world size of a chain of launchers.

    torchrun, accelerate and composer are told the size of the whole; deepspeed's own launcher is too, unless something
    else starts it more than once. Plain python may start ranks by itself, so nothing is known of it.
    """
    if not launchers:
        return None
    inner = launchers[-1]
    if inner.open:
        return None
    outside = [launcher.name for launcher in launchers[:-1]]
    around = bool({"srun", "mpirun", "jsrun"} & set(outside))
    if around and inner.name != "python" and step.tasks_per_node is not None and step.tasks_per_node > 1:
        # One launcher a node is what launchers count on.
        return None
    if inner.name == "deepspeed":
        return (
            None if around and step.tasks != 1 else deepspeed_size(inner, wrappers, environment, step, source)
        )
    if inner.name in ("torchrun", "torch.distributed.launch"):
        return torchrun_size(inner, environment, step, source)
    if inner.name == "accelerate":
        return counted(inner.value("num_processes"), source)
    if inner.name == "composer":
        return composer_size(inner, source)
    if inner.name == "python":
        return (
            Size(step.tasks, step.place)
            if around and step.tasks is not None and step.place is not None
            else None
        )
    if inner.name in ("llamafactory-cli", "lmf", "swift", "megatron", "xtuner"):
        return tool_size(inner.name, environment, source)
    if inner.name in ("axolotl", "trl"):
        option = arguments.get("num_processes")
        return counted(option.value if option is not None else None, source)
    return None


def number_of(word: Word | None) -> int | None:
    """A count from 1 on."""
    if word is None or not isinstance(word.text, str) or not re.fullmatch(r"[1-9]\d{0,5}", word.text):
        return None
    return int(word.text)


def counted(word: Word | None, source: Source) -> Size | None:
    number = number_of(word)
    return (
        Size(number, Place(source, word.start, word.end)) if word is not None and number is not None else None
    )


def times(size: Size | None, count: int | None) -> Size | None:
    return Size(size.ranks * count, size.place) if size is not None and count is not None else None


def devices(environment: Mapping[str, Word], source: Source) -> Size | None:
    """How many devices CUDA_VISIBLE_DEVICES shows: `0,1,2,3` shows four."""
    word = environment.get("CUDA_VISIBLE_DEVICES")
    if word is None or not isinstance(word.text, str) or not re.fullmatch(r"\d+(?:,\d+)*", word.text):
        return None
    return Size(len(set(word.text.split(","))), Place(source, word.start, word.end))


def deepspeed_size(
    launcher: Launcher, wrappers: Sequence[str], environment: Mapping[str, Word], step: Step, source: Source
) -> Size | None:
    """By deepspeed/launcher/runner.py: `--include` counts slots; else nodes times `--num_gpus`; else what is visible."""
    options = launcher.options
    if "elastic_training" in options or "exclude" in options or "autotuning" in options:
        return None
    if "include" in options:
        return (
            None
            if "num_gpus" in options or "num_nodes" in options
            else included(launcher.value("include"), source)
        )
    hostfile = launcher.value("hostfile")
    local = hostfile is None or hostfile.text == "/dev/null"
    nodes: int | None = 1 if local else None
    if "num_nodes" in options:
        nodes = number_of(launcher.value("num_nodes"))
    if "num_gpus" in options:
        return times(counted(launcher.value("num_gpus"), source), nodes)
    if not local or nodes != 1:
        return None
    if "CUDA_VISIBLE_DEVICES" in environment:
        return devices(environment, source)
    if step.job is not None and step.job.gpus_per_node is not None and not set(wrappers) & CLOSED:
        # Slurm shows a job the GPUs that it asked for, and no others.
        return (
            Size(step.job.gpus_per_node, step.job.places.get("gpus_per_node"))
            if step.job.gpus_per_node
            else None
        )
    return None


def included(word: Word | None, source: Source) -> Size | None:
    """`localhost:0,1` or `worker-0:0,1@worker-1:0`; a host without slots has as many as its hostfile says."""
    if word is None or not isinstance(word.text, str):
        return None
    slots: set[tuple[str, str]] = set()
    for part in word.text.split("@"):
        host, colon, numbers = part.partition(":")
        if not colon or not re.fullmatch(r"\d+(?:,\d+)*", numbers):
            return None
        slots.update((host, number) for number in numbers.split(","))
    return Size(len(slots), Place(source, word.start, word.end))


def torchrun_size(
    launcher: Launcher, environment: Mapping[str, Word], step: Step, source: Source
) -> Size | None:
    """nnodes times nproc_per_node. Without either, the environment (PET_NNODES, …) may say."""
    per_node = launcher.value("nproc_per_node")
    nnodes = launcher.value("nnodes")
    if per_node is None and nnodes is None and "standalone" not in launcher.options:
        return None
    nodes: int | None = 1
    if nnodes is not None and "standalone" not in launcher.options:
        text = nnodes.text if isinstance(nnodes.text, str) else ""
        same = re.fullmatch(r"(\d+):\1", text)
        nodes = int(same[1]) if same else number_of(nnodes)
    if per_node is None:
        return (
            None if nodes is None or nnodes is None else Size(nodes, Place(source, nnodes.start, nnodes.end))
        )
    if per_node.text in ("gpu", "auto"):
        return times(devices(environment, source) or visible(step), nodes)
    return times(counted(per_node, source), nodes)


def visible(step: Step) -> Size | None:
    job = step.job
    if job is None or job.gpus_per_node is None:
        return None
    return Size(job.gpus_per_node, job.places.get("gpus_per_node"))


def composer_size(launcher: Launcher, source: Source) -> Size | None:
    if "world_size" in launcher.options:
        return counted(launcher.value("world_size"), source)
    return counted(launcher.value("nproc"), source)


def tool_size(name: str, environment: Mapping[str, Word], source: Source) -> Size | None:
    """Tools that start torchrun by the environment: NPROC_PER_NODE on each of NNODES nodes."""
    nnodes = environment.get("NNODES")
    nodes = 1 if nnodes is None else number_of(nnodes)
    per_node = environment.get("NPROC_PER_NODE")
    if per_node is not None:
        return times(counted(per_node, source), nodes)
    if name in ("llamafactory-cli", "lmf"):
        # It takes every visible device.
        return times(devices(environment, source), nodes)
    return None
