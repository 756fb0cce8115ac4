"""From what people, nvidia-smi and Slurm write to the profile that it means.

A name is cut into words of letters and digits. The longest runs of words that spell a known model count;
other words (a vendor, a form factor, a count, an interconnect) are left aside. A memory size among them
narrows the profile.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from dslint.hardware.profiles import Profile
from dslint.hardware.table import PROFILES

# Spellings beside the profile's own name, which is always one. "RTX 6000" is none: both a Quadro of the
# Turing generation and an Ada card are called so, and only one of them has bf16. So with 4000 and 5000.
ALIASES: dict[str, tuple[str, ...]] = {
    "gtx1060": ("1060",),
    "gtx1070": ("1070",),
    "gtx1070ti": ("1070ti",),
    "gtx1080": ("1080",),
    "gtx1080ti": ("1080ti",),
    "p40": ("p40s",),
    "quadrogv100": ("gv100",),
    "quadrop6000": ("p6000",),
    "quadrortx8000": ("rtx8000",),
    "rtxa2000": ("a2000",),
    "rtxa4000": ("a4000",),
    "rtxa4500": ("a4500",),
    "rtxa5000": ("a5000",),
    "rtxa5500": ("a5500",),
    "rtxa6000": ("a6000",),
    "rtx2000ada": ("2000ada", "ada2000"),
    "rtx4000ada": ("4000ada", "ada4000"),
    "rtx4500ada": ("4500ada", "ada4500"),
    "rtx5000ada": ("5000ada", "ada5000"),
    "rtx5880ada": ("5880ada",),
    "rtx6000ada": ("6000ada", "ada6000", "rtxada6000"),
    "rtxpro4000": ("rtxpro4000blackwell", "pro4000"),
    "rtxpro4500": ("rtxpro4500blackwell", "pro4500"),
    "rtxpro5000": ("rtxpro5000blackwell", "pro5000"),
    "rtxpro6000": ("rtxpro6000blackwell", "pro6000", "pro6000blackwell"),
    "gb10": ("dgxspark",),
    "mi250": ("gfx90a",),
    "mi100": ("gfx908",),
    "mi300x": ("mi300", "gfx942"),
    "mi325x": ("mi325",),
    "mi350x": ("mi350", "gfx950"),
    "mi355x": ("mi355",),
    "gaudi": ("gaudi1", "hl205"),
    "gaudi2": ("hl225", "hl225b", "hl225c"),
    "gaudi3": ("hl325", "hl325l", "hl328", "hl338"),
    "max1100": ("pvc1100",),
    "max1550": ("pvc1550",),
}

# A model's name with a memory size built in, as some clusters call their nodes.
SIZED: dict[str, tuple[str, int]] = {"a100l": ("a100", 80), "v100l": ("v100", 32), "p100l": ("p100", 16)}

GENERATIONS: tuple[str, ...] = (
    "kepler",
    "maxwell",
    "pascal",
    "volta",
    "turing",
    "ampere",
    "ada",
    "hopper",
    "blackwell",
)

MEMORY = re.compile(r"(\d{1,3})gi?b?")
SLICE = re.compile(r"\d+g[. _](\d{1,3})gi?b?")
# What sticks to a model's name without a separator: a form factor or a memory size that GPUs are sold with.
SUFFIX = re.compile(r"(?:sxm\d?|pcie|nvl|hbm\d?|(?:12|16|20|24|32|40|48|64|80|94|96|141)gi?b?)+$")
# Words that stand inside a model's full name and tell nothing.
INNER = frozenset({"sff", "generation", "geforce", "laptop", "mobile", "maxq"})


class Reading(NamedTuple):
    """What a name was read as: every profile that it names, with the memory sizes that it mentions."""

    profiles: list[Profile]
    sizes: list[int]


def find(name: str) -> Profile | None:
    """The profile that `name` means; None when it means none, or several that differ in what they can do.

    Of several that can do the same, the one with the least memory is taken: what suits it suits the others.
    """
    named = read(name).profiles
    if not named or len({capabilities(each) for each in named}) > 1:
        return None
    return weakest(named)


def near(name: str) -> list[str]:
    """At most five names of profiles: those that the name itself holds, else those that it resembles."""
    from difflib import get_close_matches

    name = name[:100]  # no name is longer, and the likeness of long texts takes long to tell
    held = [each.name for each in read(name).profiles]
    if held:
        return held[:5]
    close = get_close_matches(re.sub(r"[\W_]+", "", name.lower()), list(spellings()), n=8, cutoff=0.6)
    return list(dict.fromkeys(spellings()[spelling].name for spelling in close))[:5]


def weakest(profiles: list[Profile]) -> Profile:
    """Of several, the one that can do least: the fewest number formats, then the least memory."""
    return min(profiles, key=lambda each: (capabilities(each), max(each.memory, default=0), each.name))


def capabilities(profile: Profile) -> tuple[bool, bool, bool, bool]:
    """The number formats, those that matter most to training first; what is unknown counts as missing."""
    return (profile.bf16, bool(profile.fp16), profile.tf32, profile.fp8)


def read(name: str) -> Reading:
    text = name.lower()
    sliced = SLICE.search(text)
    words = [word for word in re.split(r"[\W_]+", text) if word and word not in INNER]
    sizes = [int(match[1]) for word in words if (match := MEMORY.fullmatch(word))]
    found: list[Profile] = []
    at = 0
    while at < len(words):
        length, profile = longest(words, at)
        if profile is not None and profile not in found:
            found.append(profile)
        at += length
    if any(each.compute_capability for each in found):
        # "RTX 6000 Ada" names a model; the generation beside it adds nothing.
        found = [each for each in found if each.name not in GENERATIONS] or found
    if sliced:
        return Reading([each._replace(memory=(int(sliced[1]),)) for each in found], sizes)
    return Reading([narrowed(each, sizes) for each in found], sizes)


def longest(words: list[str], at: int) -> tuple[int, Profile | None]:
    """How many words from `at` on spell a model (at least 1), and which."""
    for length in range(min(5, len(words) - at), 0, -1):
        spelled = "".join(words[at : at + length])
        if spelled in spellings():
            return length, spellings()[spelled]
    word = words[at]
    if word in SIZED:
        model, size = SIZED[word]
        return 1, spellings()[model]._replace(memory=(size,))
    suffix = SUFFIX.search(word)
    model = word[: suffix.start()] if suffix else word
    if suffix and model in spellings():
        return 1, narrowed(spellings()[model], [int(size) for size in re.findall(r"(\d+)g", suffix[0])])
    return 1, generation(word) if word in GENERATIONS else None


def narrowed(profile: Profile, sizes: list[int]) -> Profile:
    """The profile with just the memory sizes that the name mentions, if it is sold with them."""
    memory = tuple(size for size in profile.memory if size in sizes)
    return profile._replace(memory=memory) if memory else profile


@cache
def spellings() -> dict[str, Profile]:
    """Every spelling of a model, without separators, and its profile."""
    known = {profile.name: profile for profile in PROFILES}
    for profile in PROFILES:
        for alias in (*ALIASES.get(profile.name, ()), *shortened(profile.name)):
            known[alias] = profile
    return known


def shortened(name: str) -> tuple[str, ...]:
    """A GeForce card is often called by its number alone: `2080ti`, `3090`, `4090`."""
    number = re.fullmatch(r"rtx(\d{4}(?:d|ti|super|tisuper)?)", name)
    return (number[1],) if number else ()


def generation(word: str) -> Profile:
    """What every NVIDIA GPU of a generation can do, as a profile that names no model and no memory."""
    members = [each for each in PROFILES if each.architecture.lower().startswith(word)]
    least = weakest(members)
    lowest = min(each.compute_capability for each in members if each.compute_capability)
    return least._replace(
        name=word, title=f"NVIDIA {least.architecture} GPU", compute_capability=lowest, memory=()
    )
