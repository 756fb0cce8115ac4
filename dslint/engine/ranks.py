"""Which of a trial's processes this is, as its launcher tells it: torchrun's names first, then Slurm's and MPI's."""

from __future__ import annotations

import os
from typing import Final

RANK: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
LOCAL_RANK: Final = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
PROCESSES: Final = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def rank() -> int:
    """Among all processes."""
    return told(RANK, 0)


def local_rank() -> int:
    """Among those of this machine."""
    return told(LOCAL_RANK, 0)


def processes() -> int:
    return told(PROCESSES, 1)


def told(names: tuple[str, ...], default: int) -> int:
    for name in names:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return default
