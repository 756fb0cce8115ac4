"""What is said of Accelerate's files, held against the real Accelerate."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dslint.documents import yaml
from dslint.documents.tree import UNKNOWN, Source
from dslint.launches.accelerate import AccelerateConfig, accelerate_config
from dslint.launches.accelerate_faults import faults

ORACLE = Path(__file__).with_name("accelerate_files_oracle.py")
# An interpreter that has accelerate and deepspeed; this one, unless told otherwise.
PYTHON = os.environ.get("DSLINT_FRAMEWORKS_PYTHON", sys.executable)
SHARED = Path(__file__).parents[2] / "../shared"

pytestmark = pytest.mark.frameworks

FILES = {"ds.json": '{"zero_optimization": {"stage": 2}}'}
TOP = {
    "compute_environment": ["LOCAL_MACHINE"],
    "distributed_type": [
        "DEEPSPEED",
        "DEEPSPEED",
        "DEEPSPEED",
        "DEEPSPEED",
        "MULTI_GPU",
        "'NO'",
        "deepspeed",
    ],
    "num_processes": ["1", "8", "8", "15", "'8'"],
    "num_machines": ["1", "1", "1", "2", "'2'"],
    "machine_rank": ["0"],
    "mixed_precision": ["bf16", "fp16", "'no'", "no", "float16", "BF16", "null", "1"],
    "gpu_ids": ["all", "0,1", "0", "[0, 1]", "null", "'0'"],
    "use_cpu": ["false"],
    "downcast_bf16": ["no"],
    "debug": ["true"],
    "fp16": ["true", "false"],
    "ipex_config": ["{}"],
    "parallelism_config": ["{}"],
    "lr_scheduler": ["cosine"],
    "zero_stage": ["2"],
    "fsdp_config": ["{}"],
}
BLOCK = {
    "zero_stage": ["2", "3", "0", "'2'", "2.0", "true", "auto", "null", "4"],
    "gradient_accumulation_steps": ["1", "4", "auto", "4.0", "null", "'2'"],
    "gradient_clipping": ["1.0", "0", "1", "auto", "none", "1e-1", "false", "null", "0.0"],
    "offload_optimizer_device": ["cpu", "none", "nvme", "CPU", "None", "null"],
    "offload_param_device": ["cpu", "none", "nvme", "gpu"],
    "offload_optimizer_nvme_path": ["/nvme"],
    "zero3_init_flag": ["true", "false", "auto", "'True'", "null", "1"],
    "zero3_save_16bit_model": ["true", "false", "1", "'yes'", "yes", "null"],
    "deepspeed_config_file": ["ds.json", "null", "none", "''", "ds.json"],
    "deepspeed_multinode_launcher": ["standard", "pdsh", "Standard"],
    "deepspeed_hostfile": ["hosts"],
    "bf16": ["{enabled: true}"],
    "mixed_precision": ["bf16"],
    "steps_per_print": ["10"],
}


def made_up_file(rng: random.Random) -> str:
    """A file of which each key is mostly sound."""

    def pick(values: list[str]) -> str:
        return values[0] if rng.random() < 0.6 else rng.choice(values)

    rare = {"fp16", "ipex_config", "parallelism_config", "lr_scheduler", "zero_stage", "gpu_ids", "debug"}
    lines = [
        f"{key}: {pick(values)}"
        for key, values in TOP.items()
        if rng.random() < (0.06 if key in rare else 0.93)
    ]
    chosen = [
        key
        for key in BLOCK
        if rng.random() < (0.05 if key in ("mixed_precision", "steps_per_print") else 0.3)
    ]
    block = [f"  {key}: {pick(BLOCK[key])}" for key in chosen]
    if block:
        lines += ["deepspeed_config:", *block]
    elif rng.random() < 0.5:
        lines.append("deepspeed_config: " + rng.choice(["{}", "null", "ds.json", "[1]"]))
    return "\n".join(lines) + "\n"


def real(cases: list[dict]) -> tuple[tuple[int, ...], list[dict]]:
    done = subprocess.run(
        [PYTHON, str(ORACLE)], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
        pytest.skip(f"{PYTHON} has no accelerate with deepspeed, so nothing was held against it")
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout[done.stdout.index('{"version"') :])
    return tuple(int(part) for part in said["version"].split(".")[:3]), said["answers"]


def read(text: str, version: tuple[int, ...] | None) -> AccelerateConfig | None:
    [document] = yaml.parse(Source("a.yaml", text))
    return accelerate_config(document, version=version)


def bare(config: dict) -> dict:
    """A config without what says nothing: no offload, no path, the default for saving."""
    zero = {
        key: dict(value) if isinstance(value, dict) else value
        for key, value in config["zero_optimization"].items()
    }
    for key in ("offload_optimizer", "offload_param"):
        block = zero.get(key, {})
        if block.get("device", "none") == "none":
            zero.pop(key, None)
        elif block.get("nvme_path", 0) is None:
            del block["nvme_path"]
    if zero.get("stage3_gather_16bit_weights_on_model_save") is False:
        del zero["stage3_gather_16bit_weights_on_model_save"]
    return {**config, "zero_optimization": zero}


def test_refusals_and_made_configs_are_those_of_the_real_accelerate() -> None:
    rng = random.Random(7)
    texts = [made_up_file(rng) for _ in range(600)]
    version, answers = real([{"yaml": text, "files": FILES} for text in texts])
    stopped = made = 0
    for text, answer in zip(texts, answers, strict=True):
        config = read(text, version)
        if config is None:
            continue
        refused = [fault for fault in faults(config, version, flags_known=True) if fault.refused]
        if config.uses_deepspeed is False:
            # What is no DeepSpeed launch is not dslint's to judge.
            assert not refused or "error" in answer, (text, refused)
            continue
        if any(fault.kind in ("unknown-launcher", "no-address") for fault in refused):
            # These stop only what is started on machines that are not here.
            continue
        assert bool(refused) == ("error" in answer), (text, refused, answer)
        stopped += bool(refused)
        if "error" in answer or config.derived is None:
            continue
        made += 1
        derived = bare(config.derived.root.plain())
        wanted = bare(answer["config"])
        if derived["fp16"] is UNKNOWN:
            derived.pop("fp16"), derived.pop("bf16"), wanted.pop("fp16"), wanted.pop("bf16")
        assert derived == wanted, text
        if answer["command"] is None and config.world_size is not None:
            machines = config.num_machines.value if config.num_machines else 1
            assert config.world_size == int(answer["each"]) * int(machines), text
    assert stopped > 100, "the made-up files must hold both kinds"
    assert made > 60, "the made-up files must hold both kinds"


def test_the_flag_for_zero_init_is_said_to_be_ignored_where_accelerate_warns() -> None:
    sound = (
        "distributed_type: DEEPSPEED\nnum_processes: 2\nnum_machines: 1\nmachine_rank: 0\ndeepspeed_config:\n"
    )
    texts = [sound + f"  zero_stage: {stage}\n  zero3_init_flag: true\n" for stage in range(4)]
    version, answers = real([{"yaml": text} for text in texts])
    for text, answer in zip(texts, answers, strict=True):
        said = [fault for fault in faults(read(text, version), version) if fault.kind == "init-flag-at-stage"]
        assert bool(said) == any("only applicable for ZeRO Stage 3" in line for line in answer["warnings"]), (
            text
        )


def test_no_public_file_is_refused_that_accelerate_takes() -> None:
    files = sorted(SHARED.glob("corpus/accelerate/*"))
    if not files:
        pytest.skip("the corpus of public files is not beside the repository")
    texts = [file.read_text(encoding="utf-8") for file in files]
    version, answers = real([{"yaml": text} for text in texts])
    for file, text, answer in zip(files, texts, answers, strict=True):
        config = read(text, version)
        if config is None or not config.uses_deepspeed:
            continue
        refused = [fault for fault in faults(config, version) if fault.refused]
        # The DeepSpeed configs that these files name are not here.
        missing = "Expected a string path to an existing deepspeed config" in answer.get("error", "")
        assert bool(refused) == ("error" in answer and not missing), (file.name, refused, answer)
