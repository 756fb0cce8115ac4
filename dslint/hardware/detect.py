"""`--hardware auto`: which accelerators this machine has. The vendors' tools are asked first, then PyTorch.

Nothing is imported for it that could fail or take long: PyTorch is asked in a process of its own.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from dslint.hardware.names import find, weakest
from dslint.hardware.profiles import Profile
from dslint.hardware.table import nvidia

TIMEOUT = 15.0
# PyTorch alone can take many seconds to import from a network disk.
TORCH_TIMEOUT = 120.0


class Device(NamedTuple):
    """One accelerator as its tool reports it. `memory` in GB (10^9 bytes), None when it was not told."""

    name: str
    capability: tuple[int, int] | None = None
    memory: int | None = None


class Detection(NamedTuple):
    """What was found. `reason` says how the profile was learned, or why there is none."""

    profile: Profile | None
    reason: str
    devices: tuple[Device, ...] = ()


def detect() -> Detection:
    """The accelerator of this machine; of several kinds the weakest, for a launch runs on all."""
    for tool, ask in (
        ("nvidia-smi", nvidia_smi),
        ("rocm-smi", rocm_smi),
        ("hl-smi", hl_smi),
        ("torch", torch_devices),
    ):
        devices = ask()
        if devices:
            return judged(tool, devices)
    return Detection(
        None, "no GPU was found: nvidia-smi, rocm-smi, hl-smi and PyTorch report none on this machine"
    )


def judged(tool: str, devices: tuple[Device, ...]) -> Detection:
    profiles: list[Profile] = []
    for device in devices:
        profile = profile_of(device)
        if profile is None:
            return Detection(
                None, f"{tool} reports {device.name!r}, a GPU that dslint does not know", devices
            )
        profiles.append(profile)
    chosen = weakest(profiles)
    kinds = {profile.name for profile in profiles}
    many = f"{len(devices)} GPUs" if len(devices) > 1 else "1 GPU"
    unlike = f" of {len(kinds)} kinds, the weakest of them {chosen.name}" if len(kinds) > 1 else ""
    return Detection(chosen, f"{tool} reports {many}{unlike}: {listed(devices)}", devices)


def listed(devices: tuple[Device, ...]) -> str:
    counts: dict[str, int] = {}
    for device in devices:
        counts[device.name] = counts.get(device.name, 0) + 1
    return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in counts.items())


def profile_of(device: Device) -> Profile | None:
    """The profile of a device; one of an unknown model is made up from its compute capability."""
    profile = find(device.name)
    capability = device.capability
    if capability and (profile is None or profile.compute_capability != capability):
        title = device.name.removeprefix("NVIDIA ")
        profile = nvidia(re.sub(r"[\W_]+", "", title.lower()), title, capability, ())
    if profile is not None and device.memory:
        profile = profile._replace(memory=(device.memory,))
    return profile


def nvidia_smi() -> tuple[Device, ...]:
    # A driver before 510 knows no compute_cap and refuses the whole query.
    for fields in ("name,compute_cap,memory.total", "name,memory.total"):
        text = output("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
        if text is not None:
            return tuple(filter(None, (smi_row(line) for line in text.splitlines())))
    return ()


def smi_row(line: str) -> Device | None:
    """`NVIDIA A100-SXM4-80GB, 8.0, 81920`, the memory in MiB; a field may be `[N/A]`."""
    name, *rest = (part.strip() for part in line.split(","))
    if not name or not rest:
        return None
    capability = None
    if len(rest) > 1 and (match := re.fullmatch(r"(\d+)\.(\d)", rest[0])):
        capability = (int(match[1]), int(match[2]))
    memory = int(rest[-1]) * 2**20 // 10**9 if rest[-1].isdecimal() else None
    return Device(name, capability, memory)


def rocm_smi() -> tuple[Device, ...]:
    text = output("rocm-smi", "--showproductname", "--json")
    if text is None:
        return ()
    import json

    try:
        cards = json.loads(text[text.find("{") :])
    except ValueError:
        return ()
    found = []
    for card, facts in sorted(cards.items()):
        if not card.startswith("card") or not isinstance(facts, dict):
            continue
        words = [str(value) for key, value in facts.items() if key.lower() in ROCM_NAMES]
        known = [word for word in words if find(word)]
        if words:
            found.append(Device((known or words)[0]))
    return tuple(found)


ROCM_NAMES = frozenset({"card series", "card model", "card sku", "gfx version"})


def hl_smi() -> tuple[Device, ...]:
    text = output("hl-smi", "-Q", "name", "-f", "csv,noheader")
    return tuple(Device(line.strip()) for line in (text or "").splitlines() if line.strip())


ASK_TORCH = """
import torch
if torch.cuda.is_available():
    for i in range(torch.cuda.device_count()):
        of = torch.cuda.get_device_properties(i)
        hip = bool(torch.version.hip)
        print("dslint", "" if hip else f"{of.major}.{of.minor}", of.total_memory, of.name, sep="\\t")
"""


def torch_devices() -> tuple[Device, ...]:
    """What PyTorch sees. It is asked only if it is installed beside dslint."""
    if not any(Path(entry, "torch").is_dir() for entry in sys.path if entry):
        return ()
    text = output(sys.executable, "-c", ASK_TORCH, timeout=TORCH_TIMEOUT) or ""
    found = []
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == 4 and parts[0] == "dslint":
            major, _, minor = parts[1].partition(".")
            capability = (int(major), int(minor)) if minor else None
            found.append(Device(parts[3], capability, int(parts[2]) // 10**9))
    return tuple(found)


def output(program: str, *arguments: str, timeout: float | None = None) -> str | None:
    """What a program prints; None if there is none, or it fails or outlasts `timeout` (TIMEOUT) seconds."""
    path = shutil.which(program)
    if not path:
        return None
    import subprocess

    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout or TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
