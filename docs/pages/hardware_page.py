"""The GPU kinds and what they can do."""

from __future__ import annotations

from dslint.hardware.table import PROFILES


def page() -> str:
    lines = [
        "# Hardware\n",
        "`--hardware NAME` takes any of these, and other spellings of them (`A100-SXM4-80GB`); `--hardware auto` asks this"
        " machine. What is not told is not guessed: without a name, no rule about the GPU fires.\n",
        "| name | device | architecture | memory, GB | fp16 | bf16 | tf32 | fp8 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in PROFILES:
        capability = (
            f" ({each.compute_capability[0]}.{each.compute_capability[1]})" if each.compute_capability else ""
        )
        able = " | ".join(word(value) for value in (each.fp16, each.bf16, each.tf32, each.fp8))
        memory = ", ".join(map(str, each.memory))
        lines.append(
            f"| `{each.name}` | {each.title} | {each.architecture}{capability} | {memory} | {able} |"
        )
    return "\n".join(lines) + "\n"


def word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "depends"}[value]
