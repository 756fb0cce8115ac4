"""One config taken to the real DeepSpeed: read, built into an engine, stepped.

torch and deepspeed are imported inside the functions. Each function leaves marks on its process (a process group, files,
patches), so it is meant for a process that ends afterwards; dslint/engine/forks.py gives it one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Final
from unittest.mock import MagicMock

from dslint.engine import facts
from dslint.engine.filling import HIDDEN_SIZE, handed_over
from dslint.engine.verdict import Point, Run, Verdict

STEPS: Final = 3


def take(run: Run, rank: int = 0, store: str | None = None) -> Verdict:
    """Take a config as far as the run asks, as one of its processes. `store` is a file that they meet at.

    Whatever the engine raises, SystemExit included, is the verdict's error and never leaves this function.
    """
    reached: Point | None = None
    read: dict[str, Any] = {}
    try:
        for reached, config, engine in stages(run, rank, store):  # noqa: B007
            read = facts.read(run.facts, config, engine)
    except BaseException as error:
        return Verdict(reached, f"{type(error).__name__}: {error}", read)
    return Verdict(reached, None, read)


def stages(run: Run, rank: int, store: str | None) -> Iterator[tuple[Point, Any, Any]]:
    """Each point as it is passed, with DeepSpeed's config object and the engine when there is one."""
    config = handed_over(run.text, run.framework, run.world_size)
    yield "load", load(config, run.world_size), None
    if run.at == "load":
        return
    join_processes(rank, run.world_size, store)
    engine = initialize(handed_over(run.text, run.framework, run.world_size), run.kernels)
    yield "init", engine._config, engine
    if run.at == "steps":
        step(engine)
        yield "steps", engine._config, engine


def load(config: str | dict[str, Any], world_size: int = 1) -> Any:
    """DeepSpeed's config object for a config (a file's text, or a dict), as if `world_size` processes trained.

    Raises:
        Exception: whatever this release raises for the config.
    """
    from deepspeed.runtime.config import DeepSpeedConfig

    with processes(world_size), as_file(config) as given:
        return DeepSpeedConfig(given)


@contextlib.contextmanager
def as_file(config: str | dict[str, Any]) -> Iterator[str | dict[str, Any]]:
    """A text as a file's path, since that is how DeepSpeed's own loader is given it; a dict as it is."""
    if isinstance(config, dict):
        yield config
        return
    handle, path = tempfile.mkstemp(suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(config)
        yield path
    finally:
        os.unlink(path)


@contextlib.contextmanager
def processes(world_size: int) -> Iterator[None]:
    """As long as this lasts, DeepSpeed's communication says that so many processes train, and that this is the first."""
    from deepspeed import comm

    old = comm.get_rank, comm.get_world_size
    comm.get_rank, comm.get_world_size = (lambda group=None: 0), (lambda group=None: world_size)
    try:
        yield
    finally:
        comm.get_rank, comm.get_world_size = old


def join_processes(rank: int, world_size: int, store: str | None) -> None:
    """Set up torch's process group: in memory for one process, over a file for several."""
    import torch

    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size))
    # Up to 0.15 the CPU's accelerator asks numactl how many devices there are, unless this says so.
    os.environ.update(LOCAL_SIZE=str(world_size))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    meet = torch.distributed.HashStore() if store is None else torch.distributed.FileStore(store, world_size)
    torch.distributed.init_process_group("gloo", store=meet, rank=rank, world_size=world_size)


def initialize(config: str | dict[str, Any], kernels: bool = False) -> Any:
    """A DeepSpeed engine around a tiny model.

    On CPU three limits are lifted that say nothing of the config: DeepSpeed's question whether the CPU computes in fp16
    (torch does, slowly), communication over shared memory (gloo does without), and, unless `kernels`, the minutes that its
    C++ kernels take to compile, or that it has none for the CPU. Stand-ins that do nothing take their place: loss scaling,
    clipping and communication are the real ones, but an optimizer of DeepSpeed's own leaves the weights as they are.

    Raises:
        Exception: whatever this release raises for the config.
    """
    import deepspeed

    lift_cpu_limits(kernels)
    model = tiny_model()
    with as_file(config) as given:
        engine, *_ = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=given, **own_optimizer(given, model)
        )
    return engine


def tiny_model() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE), torch.nn.ReLU(), torch.nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)
    )


def own_optimizer(given: str | dict[str, Any], model: Any) -> dict[str, Any]:
    """The optimizer of a program whose config names none: AdamW, DeepSpeed's own for the CPU where it is offloaded."""
    import torch
    from deepspeed.runtime.config import DeepSpeedConfig

    read = DeepSpeedConfig(given)
    if read.optimizer_name is not None:
        return {}
    offload = facts.attribute(read, "zero_config.offload_optimizer.device")
    if facts.plain(offload) in ("cpu", "nvme"):
        from deepspeed.ops.adam import DeepSpeedCPUAdam

        return {"optimizer": DeepSpeedCPUAdam(model.parameters(), lr=1e-3)}
    return {"optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3)}


def lift_cpu_limits(kernels: bool) -> None:
    from deepspeed.accelerator import get_accelerator

    accelerator = get_accelerator()
    if accelerator.device_name() != "cpu":
        return
    type(accelerator).is_fp16_supported = lambda self: True
    communicate_by_gloo()
    if kernels:
        return
    for name in ("FusedAdamBuilder", "NotImplementedBuilder"):
        for cls in type(accelerator.create_op_builder(name)).__mro__:
            if "load" in vars(cls):
                setattr(cls, "load", lambda self, verbose=True: MagicMock())  # noqa: B010


def communicate_by_gloo() -> None:
    """Leave out DeepSpeed's communication over shared memory: a kernel that takes minutes to build, and a compiler."""
    # By its name in sys.modules: as an attribute of deepspeed.comm, torch is torch itself.
    communication: Any = importlib.import_module("deepspeed.comm.torch")
    communication.build_shm_op = lambda: None


def step(engine: Any) -> None:
    """A few optimizer steps on random numbers, in the engine's own precision."""
    import torch

    size = min(int(engine.train_micro_batch_size_per_gpu()), 16)
    for _ in range(STEPS * engine.gradient_accumulation_steps()):
        kind = next(engine.module.parameters()).dtype
        loss = engine(torch.randn(size, HIDDEN_SIZE, dtype=kind)).float().pow(2).mean()
        engine.backward(loss)
        engine.step()
