"""GPU kinds: architecture, compute capability, memory, and which number formats they compute in."""

from __future__ import annotations

from typing import NamedTuple


class Profile(NamedTuple):
    """What a kind of accelerator can do.

    `memory` holds the sizes that it is sold with, in GB, for one device; empty when that is not known.

    `bf16` and `fp16` say that the device computes in the format and that DeepSpeed's `is_bf16_supported()`
    and `is_fp16_supported()` accept it. The two differ twice: a recent PyTorch answers
    `torch.cuda.is_bf16_supported()` with True on GPUs before Ampere too, which only emulate bf16 (here:
    False), and DeepSpeed refuses fp16 below compute capability 7.0 (here: False, though a P100 can). `fp16`
    is None where it depends on the machine: a CPU has it with AVX512-FP16 alone. `note` says what else to
    know, in a sentence.
    """

    name: str
    title: str
    vendor: str
    architecture: str
    compute_capability: tuple[int, int] | None
    memory: tuple[int, ...]
    fp16: bool | None
    bf16: bool
    tf32: bool
    fp8: bool
    note: str = ""


def profile(name: str) -> Profile | None:
    """The profile that a name means, however it is spelled: see `dslint.hardware.names`."""
    from dslint.hardware.names import find

    return find(name)


def suggest(name: str) -> list[str]:
    """Names of profiles that somebody who wrote `name` may have meant, the likeliest first, at most five."""
    from dslint.hardware.names import near

    return near(name)
