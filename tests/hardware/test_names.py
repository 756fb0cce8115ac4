"""How people, nvidia-smi and Slurm write the hardware, and which profile that is."""

import pytest

from dslint.hardware.names import ALIASES, spellings
from dslint.hardware.profiles import profile, suggest
from dslint.hardware.table import PROFILES

MEANT = {
    "a100": "a100",
    "A100": "a100",
    "NVIDIA A100-SXM4-80GB": "a100",
    "a100_80gb": "a100",
    "gpu:a100_80g:2": "a100",
    "gpu:nvidia_a100-sxm4-40gb:8": "a100",
    "a10080g": "a100",
    "a100&ib": "a100",
    "dgx-a100": "a100",
    "nvidia_a100_1g.10gb": "a100",
    "Tesla V100-SXM2-32GB": "v100",
    "v100-32g": "v100",
    "gpu:v100": "v100",
    "gpu:v100:4": "v100",
    "nvidia-tesla-v100": "v100",
    "skylake,v100": "v100",
    "nvidia_h100_80gb_hbm3": "h100",
    "NVIDIA H100 NVL": "h100",
    "h100pcie": "h100",
    "NVIDIA GH200 480GB": "gh200",
    "Tesla P100-PCIE-16GB": "p100",
    "Tesla T4": "t4",
    "GRID T4-16Q": "t4",
    "RTX 2080 Ti": "rtx2080ti",
    "rtx_2080_ti": "rtx2080ti",
    "gpu:2080ti:4": "rtx2080ti",
    "rtx_3090": "rtx3090",
    "NVIDIA GeForce RTX 4070 Ti SUPER": "rtx4070tisuper",
    "NVIDIA GeForce RTX 3080 Laptop GPU": "rtx3080",
    "RTX A6000": "rtxa6000",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    "NVIDIA RTX 4000 SFF Ada Generation": "rtx4000ada",
    "quadro rtx 6000": "quadrortx6000",
    "Quadro RTX 8000": "quadrortx8000",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtxpro6000",
    "NVIDIA TITAN V": "titanv",
    "titan_rtx": "titanrtx",
    "AMD Instinct MI300X": "mi300x",
    "gaudi2": "gaudi2",
    "HL-225": "gaudi2",
    "CPU": "cpu",
}


@pytest.mark.parametrize(("written", "name"), MEANT.items())
def test_a_name_is_understood_however_it_is_spelled(written, name):
    found = profile(written)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("each", PROFILES, ids=lambda each: each.name)
def test_every_profile_is_found_by_its_name_and_by_its_title(each):
    assert profile(each.name) == each
    assert profile(each.title) == each


def test_every_alias_belongs_to_a_profile_and_no_spelling_to_two():
    names = {each.name for each in PROFILES}
    assert set(ALIASES) <= names
    spelled = [alias for aliases in ALIASES.values() for alias in aliases]
    assert len(spelled) == len(set(spelled))
    assert not names & set(spelled)
    assert all(spellings()[each.name] == each for each in PROFILES)


@pytest.mark.parametrize(
    "written", ["", "gpu", "gpu:4", "4", "80gb", "banana", "tesla", "nvidia", "h1000", "a100x", "ib&highmem"]
)
def test_what_names_no_model_is_unknown(written):
    assert profile(written) is None


@pytest.mark.parametrize("written", ["a100|v100", "[a100|h100]", "rtx3090,rtx2080ti", "v100|cpu"])
def test_models_that_differ_in_what_they_can_do_are_ambiguous(written):
    assert profile(written) is None


def test_a_bare_rtx_6000_is_ambiguous_between_a_quadro_without_bf16_and_an_ada_card_with_it():
    assert profile("rtx_6000") is None
    assert {profile(name).bf16 for name in ("quadro rtx 6000", "rtx 6000 ada")} == {False, True}


def test_of_models_that_can_do_the_same_the_smallest_is_taken():
    assert profile("v100|t4").name == "t4"
    assert profile("a40|a10").name == "a10"


@pytest.mark.parametrize(
    ("written", "memory"),
    [
        ("a100", (40, 80)),
        ("a100-40gb", (40,)),
        ("NVIDIA A100-SXM4-80GB", (80,)),
        ("a10080g", (80,)),
        ("a100l", (80,)),
        ("v100l", (32,)),
        ("v100_16", (16, 32)),
        ("nvidia_h100_80gb_hbm3", (80,)),
        # The 480 GB of a GH200's name belong to its CPU.
        ("NVIDIA GH200 480GB", (96, 144)),
        ("nvidia_a100_3g.20gb", (20,)),
        ("a100-1g.10gb", (10,)),
    ],
)
def test_a_size_in_the_name_narrows_the_memory(written, memory):
    assert profile(written).memory == memory


def test_the_name_of_a_generation_tells_what_it_computes_in_but_no_memory():
    ampere = profile("ampere")
    assert (ampere.bf16, ampere.fp8, ampere.memory, ampere.compute_capability) == (True, False, (), (8, 0))
    assert profile("volta").bf16 is False
    assert profile("pascal").fp16 is False


def test_suggestions_name_what_was_nearly_written():
    assert suggest("v1000")[0] == "v100"
    assert "rtx3090" in suggest("rtx3099")
    assert suggest("a100|v100") == ["a100", "v100"]
    assert "quadrortx6000" in suggest("quadro rtx 600")
    assert suggest("banana") == []


def test_what_a_gpu_computes_in_follows_from_its_compute_capability():
    for each in PROFILES:
        if each.compute_capability:
            assert each.fp16 == (each.compute_capability >= (7, 0)), each
            assert each.bf16 == each.tf32 == (each.compute_capability >= (8, 0)), each
            assert each.fp8 == (each.compute_capability >= (8, 9)), each
            assert each.architecture, each


def test_every_device_has_memory_but_the_cpu_and_names_are_plain():
    for each in PROFILES:
        assert bool(each.memory) == (each.name != "cpu"), each
        assert each.memory == tuple(sorted(each.memory))
        assert each.name.isalnum(), each
        assert each.name.islower(), each


def test_importing_profiles_loads_no_table():
    import subprocess
    import sys

    code = "import sys, dslint.hardware.profiles; print([n for n in sys.modules if n.startswith('dslint.h')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "['dslint.hardware', 'dslint.hardware.profiles']"
