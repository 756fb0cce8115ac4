"""Which accelerator this machine has, with stand-ins for the vendors' tools."""

import stat
import sys
from pathlib import Path

import pytest

from dslint.hardware.detect import Device, detect, profile_of, smi_row


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A PATH that holds nothing but the programs a test puts there; PyTorch is not beside dslint."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "path", [])

    def put(name, script):
        program = folder / name
        program.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return put


def test_nvidia_smi_tells_model_and_memory(tools):
    tools("nvidia-smi", 'print("NVIDIA A100-SXM4-80GB, 8.0, 81920\\n" * 8)')
    found = detect()
    assert found.profile.name == "a100"
    assert found.profile.memory == (85,)
    assert found.reason == "nvidia-smi reports 8 GPUs: 8 × NVIDIA A100-SXM4-80GB"


def test_several_unlike_gpus_give_the_weakest(tools):
    tools(
        "nvidia-smi",
        'print("NVIDIA GeForce RTX 3090, 8.6, 24576\\nNVIDIA GeForce RTX 2080 Ti, 7.5, 11264")',
    )
    found = detect()
    assert found.profile.name == "rtx2080ti"
    assert found.profile.bf16 is False
    assert "the weakest of them rtx2080ti" in found.reason


def test_an_old_driver_that_knows_no_compute_cap_is_asked_without_it(tools):
    tools(
        "nvidia-smi",
        'if "compute_cap" in sys.argv[1]:\n'
        '    sys.exit("Field compute_cap is not a valid field to query.")\n'
        'print("Tesla V100-SXM2-16GB, 16160")',
    )
    assert detect().profile.name == "v100"


def test_an_unknown_model_is_judged_by_its_compute_capability():
    made = profile_of(Device("NVIDIA Thor", (11, 0), 128))
    assert (made.bf16, made.fp8, made.memory) == (True, True, (128,))
    old = profile_of(Device("NVIDIA GeForce MX150", (6, 1), None))
    assert (old.fp16, old.bf16) == (False, False)


def test_a_compute_capability_outweighs_what_the_name_seems_to_say():
    assert profile_of(Device("NVIDIA A100-like", (7, 5), 16)).bf16 is False


def test_rocm_smi_is_asked_next(tools):
    tools(
        "rocm-smi",
        'print(\'{"card0": {"Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1"}, "system": {}}\')',
    )
    assert detect().profile.name == "mi300x"


def test_hl_smi_is_asked_after_it(tools):
    tools("hl-smi", 'print("HL-225\\nHL-225")')
    assert detect().profile.name == "gaudi2"


def test_torch_is_asked_last_in_a_process_of_its_own(tools, tmp_path, monkeypatch):
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "class version:\n"
        "    hip = None\n"
        "class cuda:\n"
        "    is_available = staticmethod(lambda: True)\n"
        "    device_count = staticmethod(lambda: 2)\n"
        "    @staticmethod\n"
        "    def get_device_properties(i):\n"
        "        class of: major, minor, total_memory, name = 7, 0, 34079637504, 'Tesla V100-SXM2-32GB'\n"
        "        return of\n"
        "print('a banner that is no answer')\n"
    )
    monkeypatch.setattr(sys, "path", [str(package.parent)])
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    found = detect()
    assert found.profile.name == "v100"
    assert found.profile.memory == (34,)
    assert "torch" not in sys.modules


def test_nothing_found_has_a_reason(tools):
    found = detect()
    assert found.profile is None
    assert "no GPU was found" in found.reason


def test_a_tool_that_fails_or_prints_nonsense_counts_as_absent(tools):
    tools("nvidia-smi", 'sys.exit("NVIDIA-SMI has failed because it could not talk to the driver.")')
    tools("rocm-smi", 'print("{no json")')
    tools("hl-smi", "sys.exit(1)")
    assert detect().profile is None


def test_a_tool_that_hangs_is_given_up(tools, monkeypatch):
    monkeypatch.setattr("dslint.hardware.detect.TIMEOUT", 0.2)
    tools("nvidia-smi", "import time; time.sleep(30)")
    assert detect().profile is None


def test_a_device_that_no_profile_fits_is_named(tools):
    tools("hl-smi", 'print("HL-9999")')
    found = detect()
    assert found.profile is None
    assert "'HL-9999'" in found.reason


def test_a_row_without_figures_is_read_as_far_as_it_goes():
    assert smi_row("Tesla T4, [N/A], [N/A]") == Device("Tesla T4", None, None)
    assert smi_row("") is None


@pytest.mark.gpu
def test_the_real_gpu_is_recognised():
    if not Path("/dev/nvidiactl").exists():
        pytest.skip("no NVIDIA device on this machine")
    found = detect()
    assert found.profile is not None, found.reason
    torch = pytest.importorskip("torch")
    assert found.profile.bf16 == torch.cuda.is_bf16_supported(including_emulation=False)
