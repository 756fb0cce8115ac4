"""DeepSpeed's kernels that the configs of the corpus need, compiled side by side before anything waits for one.

usage: python -m bench.gpu.kernels
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

BUILDERS = ("FusedAdamBuilder", "CPUAdamBuilder", "FusedLambBuilder", "AsyncIOBuilder")


def architecture() -> str | None:
    """The GPU's compute capability, as in 9.0; DeepSpeed's builder fails on the 9.0a that torch makes of it."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return None
    return said[0] if said else None


def set_up() -> None:
    """What this process and all that it starts need in their environment."""
    known = architecture()
    if known is not None:
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", known)
    os.environ.setdefault("MAX_JOBS", str(os.cpu_count() or 4))
    # The runs are many and small.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def start() -> list[subprocess.Popen[bytes]]:
    """A process for each kernel, which ends when it is built."""
    return [
        subprocess.Popen([sys.executable, "-m", "bench.gpu.kernels", name], stderr=subprocess.DEVNULL)
        for name in BUILDERS
    ]


def wait(processes: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Until they are built, or the time is over; then whoever needs one waits for it."""
    last = time.monotonic() + seconds
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, last - time.monotonic()))


def build(name: str) -> None:
    from deepspeed.accelerator import get_accelerator

    started = time.monotonic()
    try:
        builder = get_accelerator().create_op_builder(name)
        builder.load(verbose=False)
        said = "built"
    except BaseException as error:
        said = f"not built: {' '.join(str(error).split())[:200]}"
    print(f"{name} {said}, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    set_up()
    if sys.argv[1:]:
        build(sys.argv[1])
    else:
        wait(start(), 3600.0)
