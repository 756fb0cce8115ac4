"""The profiles themselves.

NVIDIA's figures follow from the compute capability (https://developer.nvidia.com/cuda-gpus, and the
arithmetic tables of the CUDA programming guide): fp16 in DeepSpeed from 7.0, bf16 and tf32 from 8.0, fp8 from
8.9. Memory sizes are those of the vendors' data sheets.
"""

from __future__ import annotations

from dslint.hardware.profiles import Profile

ARCHITECTURES: dict[tuple[int, int], str] = {
    (3, 7): "Kepler",
    (5, 2): "Maxwell",
    (6, 0): "Pascal",
    (6, 1): "Pascal",
    (7, 0): "Volta",
    (7, 5): "Turing",
    (8, 0): "Ampere",
    (8, 6): "Ampere",
    (8, 7): "Ampere",
    (8, 9): "Ada Lovelace",
    (9, 0): "Hopper",
    (10, 0): "Blackwell",
    (10, 3): "Blackwell",
    (12, 0): "Blackwell",
    (12, 1): "Blackwell",
}

NO_FP16 = (
    "DeepSpeed refuses fp16 below compute capability 7.0; from 0.13.2 on it takes "
    "it with DS_ALLOW_DEPRECATED_FP16=1"
)


def architecture_of(capability: tuple[int, int]) -> str:
    """The architecture of an NVIDIA compute capability, or "" for one that is not known."""
    return ARCHITECTURES.get(capability, "")


def nvidia(
    name: str, title: str, capability: tuple[int, int], memory: tuple[int, ...], note: str = ""
) -> Profile:
    """A profile of an NVIDIA GPU: what it computes in follows from its compute capability."""
    return Profile(
        name,
        f"NVIDIA {title}",
        "NVIDIA",
        architecture_of(capability),
        capability,
        memory,
        fp16=capability >= (7, 0),
        bf16=capability >= (8, 0),
        tf32=capability >= (8, 0),
        fp8=capability >= (8, 9),
        note=note or (NO_FP16 if capability < (7, 0) else ""),
    )


# name, title, compute capability, memory in GB
NVIDIA_DATA_CENTER = (
    nvidia("k80", "Tesla K80", (3, 7), (12,)),
    nvidia("m40", "Tesla M40", (5, 2), (12, 24)),
    nvidia("m60", "Tesla M60", (5, 2), (8,)),
    nvidia("p4", "Tesla P4", (6, 1), (8,)),
    nvidia("p40", "Tesla P40", (6, 1), (24,)),
    nvidia("p100", "Tesla P100", (6, 0), (12, 16)),
    nvidia("v100", "Tesla V100", (7, 0), (16, 32)),
    nvidia("t4", "T4", (7, 5), (16,)),
    nvidia("a2", "A2", (8, 6), (16,)),
    nvidia("a10", "A10", (8, 6), (24,)),
    nvidia("a10g", "A10G", (8, 6), (24,)),
    nvidia("a16", "A16", (8, 6), (16,), "a board carries four of them, each a device of its own"),
    nvidia("a30", "A30", (8, 0), (24,)),
    nvidia("a40", "A40", (8, 6), (48,)),
    nvidia("a100", "A100", (8, 0), (40, 80)),
    nvidia("a800", "A800", (8, 0), (40, 80)),
    nvidia("l4", "L4", (8, 9), (24,)),
    nvidia("l20", "L20", (8, 9), (48,)),
    nvidia("l40", "L40", (8, 9), (48,)),
    nvidia("l40s", "L40S", (8, 9), (48,)),
    nvidia("h20", "H20", (9, 0), (96, 141)),
    nvidia("h100", "H100", (9, 0), (80, 94, 96)),
    nvidia("h800", "H800", (9, 0), (80,)),
    nvidia("h200", "H200", (9, 0), (141,)),
    nvidia("gh200", "GH200", (9, 0), (96, 144)),
    nvidia("b100", "B100", (10, 0), (180,)),
    nvidia("b200", "B200", (10, 0), (180,)),
    nvidia("gb200", "GB200", (10, 0), (186,)),
    nvidia("b300", "B300", (10, 3), (270,)),
    nvidia("gb300", "GB300", (10, 3), (278,)),
    nvidia("gb10", "GB10 (DGX Spark)", (12, 1), (128,), "the memory is shared with the CPU"),
)

NVIDIA_GEFORCE = (
    nvidia("gtx1060", "GeForce GTX 1060", (6, 1), (3, 6)),
    nvidia("gtx1070", "GeForce GTX 1070", (6, 1), (8,)),
    nvidia("gtx1070ti", "GeForce GTX 1070 Ti", (6, 1), (8,)),
    nvidia("gtx1080", "GeForce GTX 1080", (6, 1), (8,)),
    nvidia("gtx1080ti", "GeForce GTX 1080 Ti", (6, 1), (11,)),
    nvidia("titanxp", "TITAN Xp", (6, 1), (12,)),
    nvidia("titanv", "TITAN V", (7, 0), (12,)),
    nvidia("titanrtx", "TITAN RTX", (7, 5), (24,)),
    nvidia("gtx1650", "GeForce GTX 1650", (7, 5), (4,)),
    nvidia("gtx1660", "GeForce GTX 1660", (7, 5), (6,)),
    nvidia("gtx1660ti", "GeForce GTX 1660 Ti", (7, 5), (6,)),
    nvidia("rtx2060", "GeForce RTX 2060", (7, 5), (6, 12)),
    nvidia("rtx2060super", "GeForce RTX 2060 SUPER", (7, 5), (8,)),
    nvidia("rtx2070", "GeForce RTX 2070", (7, 5), (8,)),
    nvidia("rtx2070super", "GeForce RTX 2070 SUPER", (7, 5), (8,)),
    nvidia("rtx2080", "GeForce RTX 2080", (7, 5), (8,)),
    nvidia("rtx2080super", "GeForce RTX 2080 SUPER", (7, 5), (8,)),
    nvidia("rtx2080ti", "GeForce RTX 2080 Ti", (7, 5), (11,)),
    nvidia("rtx3050", "GeForce RTX 3050", (8, 6), (6, 8)),
    nvidia("rtx3060", "GeForce RTX 3060", (8, 6), (8, 12)),
    nvidia("rtx3060ti", "GeForce RTX 3060 Ti", (8, 6), (8,)),
    nvidia("rtx3070", "GeForce RTX 3070", (8, 6), (8,)),
    nvidia("rtx3070ti", "GeForce RTX 3070 Ti", (8, 6), (8,)),
    nvidia("rtx3080", "GeForce RTX 3080", (8, 6), (10, 12)),
    nvidia("rtx3080ti", "GeForce RTX 3080 Ti", (8, 6), (12,)),
    nvidia("rtx3090", "GeForce RTX 3090", (8, 6), (24,)),
    nvidia("rtx3090ti", "GeForce RTX 3090 Ti", (8, 6), (24,)),
    nvidia("rtx4060", "GeForce RTX 4060", (8, 9), (8,)),
    nvidia("rtx4060ti", "GeForce RTX 4060 Ti", (8, 9), (8, 16)),
    nvidia("rtx4070", "GeForce RTX 4070", (8, 9), (12,)),
    nvidia("rtx4070super", "GeForce RTX 4070 SUPER", (8, 9), (12,)),
    nvidia("rtx4070ti", "GeForce RTX 4070 Ti", (8, 9), (12,)),
    nvidia("rtx4070tisuper", "GeForce RTX 4070 Ti SUPER", (8, 9), (16,)),
    nvidia("rtx4080", "GeForce RTX 4080", (8, 9), (16,)),
    nvidia("rtx4080super", "GeForce RTX 4080 SUPER", (8, 9), (16,)),
    nvidia("rtx4090", "GeForce RTX 4090", (8, 9), (24,)),
    nvidia("rtx4090d", "GeForce RTX 4090 D", (8, 9), (24,)),
    nvidia("rtx5050", "GeForce RTX 5050", (12, 0), (8,)),
    nvidia("rtx5060", "GeForce RTX 5060", (12, 0), (8,)),
    nvidia("rtx5060ti", "GeForce RTX 5060 Ti", (12, 0), (8, 16)),
    nvidia("rtx5070", "GeForce RTX 5070", (12, 0), (12,)),
    nvidia("rtx5070ti", "GeForce RTX 5070 Ti", (12, 0), (16,)),
    nvidia("rtx5080", "GeForce RTX 5080", (12, 0), (16,)),
    nvidia("rtx5090", "GeForce RTX 5090", (12, 0), (32,)),
    nvidia("rtx5090d", "GeForce RTX 5090 D", (12, 0), (32,)),
)

NVIDIA_WORKSTATION = (
    nvidia("quadrop6000", "Quadro P6000", (6, 1), (24,)),
    nvidia("quadrogv100", "Quadro GV100", (7, 0), (32,)),
    nvidia("quadrortx4000", "Quadro RTX 4000", (7, 5), (8,)),
    nvidia("quadrortx5000", "Quadro RTX 5000", (7, 5), (16,)),
    nvidia("quadrortx6000", "Quadro RTX 6000", (7, 5), (24,)),
    nvidia("quadrortx8000", "Quadro RTX 8000", (7, 5), (48,)),
    nvidia("rtxa2000", "RTX A2000", (8, 6), (6, 12)),
    nvidia("rtxa4000", "RTX A4000", (8, 6), (16,)),
    nvidia("rtxa4500", "RTX A4500", (8, 6), (20,)),
    nvidia("rtxa5000", "RTX A5000", (8, 6), (24,)),
    nvidia("rtxa5500", "RTX A5500", (8, 6), (24,)),
    nvidia("rtxa6000", "RTX A6000", (8, 6), (48,)),
    nvidia("rtx2000ada", "RTX 2000 Ada", (8, 9), (16,)),
    nvidia("rtx4000ada", "RTX 4000 Ada", (8, 9), (20,)),
    nvidia("rtx4500ada", "RTX 4500 Ada", (8, 9), (24,)),
    nvidia("rtx5000ada", "RTX 5000 Ada", (8, 9), (32,)),
    nvidia("rtx5880ada", "RTX 5880 Ada", (8, 9), (48,)),
    nvidia("rtx6000ada", "RTX 6000 Ada", (8, 9), (48,)),
    nvidia("rtxpro4000", "RTX PRO 4000 Blackwell", (12, 0), (24,)),
    nvidia("rtxpro4500", "RTX PRO 4500 Blackwell", (12, 0), (32,)),
    nvidia("rtxpro5000", "RTX PRO 5000 Blackwell", (12, 0), (48, 72)),
    nvidia("rtxpro6000", "RTX PRO 6000 Blackwell", (12, 0), (96,)),
)

HALF = "each of its two dies is a device of its own, with half of the board's 128 GB"

# PyTorch reports bf16 on every ROCm device; tf32 it reports from gfx94 on; MI300 brought fp8.
AMD = (
    Profile("mi100", "AMD Instinct MI100", "AMD", "CDNA", None, (32,), True, True, False, False),
    Profile("mi210", "AMD Instinct MI210", "AMD", "CDNA 2", None, (64,), True, True, False, False),
    Profile("mi250", "AMD Instinct MI250", "AMD", "CDNA 2", None, (64,), True, True, False, False, HALF),
    Profile("mi250x", "AMD Instinct MI250X", "AMD", "CDNA 2", None, (64,), True, True, False, False, HALF),
    Profile("mi300a", "AMD Instinct MI300A", "AMD", "CDNA 3", None, (128,), True, True, True, True),
    Profile("mi300x", "AMD Instinct MI300X", "AMD", "CDNA 3", None, (192,), True, True, True, True),
    Profile("mi308x", "AMD Instinct MI308X", "AMD", "CDNA 3", None, (192,), True, True, True, True),
    Profile("mi325x", "AMD Instinct MI325X", "AMD", "CDNA 3", None, (256,), True, True, True, True),
    # CDNA 4 has no tf32 in hardware.
    Profile("mi350x", "AMD Instinct MI350X", "AMD", "CDNA 4", None, (288,), True, True, False, True),
    Profile("mi355x", "AMD Instinct MI355X", "AMD", "CDNA 4", None, (288,), True, True, False, True),
)

XPU = "Ponte Vecchio"
INTEL = (
    Profile("gaudi", "Intel Gaudi", "Intel", "Gaudi", None, (32,), False, True, False, False),
    Profile("gaudi2", "Intel Gaudi 2", "Intel", "Gaudi 2", None, (96,), True, True, True, True),
    Profile("gaudi3", "Intel Gaudi 3", "Intel", "Gaudi 3", None, (128,), True, True, True, True),
    Profile("max1100", "Intel GPU Max 1100", "Intel", XPU, None, (48,), True, True, True, False),
    Profile("max1550", "Intel GPU Max 1550", "Intel", XPU, None, (128,), True, True, True, False),
)

CPU = Profile(
    "cpu",
    "CPU",
    "any",
    "CPU",
    None,
    (),
    fp16=None,
    bf16=True,
    tf32=False,
    fp8=False,
    note="DeepSpeed takes bf16 on every CPU, and fp16 where PyTorch finds AVX512-FP16",
)

PROFILES: tuple[Profile, ...] = (
    *NVIDIA_DATA_CENTER,
    *NVIDIA_GEFORCE,
    *NVIDIA_WORKSTATION,
    *AMD,
    *INTEL,
    CPU,
)
