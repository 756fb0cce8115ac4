"""Starts what a repository launches as far as a CPU goes, on the real frameworks: each file's arguments and config.

Run by test_migrate_real.py in a folder that `dslint migrate` has been through; prints a JSON object, file → what was seen.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import shlex
import sys
from pathlib import Path

os.environ["DS_ACCELERATOR"] = "cpu"


def engine_config(config) -> dict:
    """What DeepSpeed itself makes of a config."""
    from deepspeed.runtime.config import DeepSpeedConfig

    read = DeepSpeedConfig(config)
    return {
        "fp16": bool(
            getattr(read, "fp16_enabled", None)
            or getattr(getattr(read, "float16_config", None), "enabled", False)
        ),
        "bf16": bool(
            getattr(read, "bfloat16_enabled", None)
            or getattr(getattr(read, "bfloat16_config", None), "enabled", False)
        ),
        "clip": read.gradient_clipping,
    }


def trained(arguments) -> dict:
    """What the HF Trainer makes of its arguments and their config, and DeepSpeed of that."""
    config = arguments.hf_deepspeed_config
    # What hangs on the model's size and the length of the data; none of it here.
    config.trainer_config_finalize(
        arguments, type("Model", (), {"config": type("Config", (), {"hidden_size": 8})()})(), 100
    )
    return {"fp16": arguments.fp16, "bf16": arguments.bf16, "engine": engine_config(config.config)}


def parsed(words: list[str], own_class: type | None = None) -> dict:
    from transformers import HfArgumentParser, TrainingArguments

    (arguments,) = HfArgumentParser(own_class or TrainingArguments).parse_args_into_dataclasses(words)
    return trained(arguments)


def script_words(folder: Path, script: str, program: str) -> list[str]:
    """A script's words behind the program, with its one variable or array put in."""
    text = (folder / script).read_text().replace("\\\n", " ")
    lines = text.splitlines()
    variables = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and name.isidentifier():
            variables[name] = value.strip('"()')
    line = next(line for line in lines if program in line and not line.startswith("cat"))
    for name, value in variables.items():
        line = line.replace(f'"${{{name}[@]}}"', value).replace(f"${name}", value)
    words = shlex.split(line)
    return words[words.index(program) + 1 :]


def run(folder: Path) -> dict:
    import deepspeed  # noqa: F401
    import torch
    import transformers.training_args
    import yaml
    from accelerate.utils import DeepSpeedPlugin
    from transformers import HfArgumentParser, TrainingArguments

    # The launches are for GPUs: what this machine can do is not the question here, and no ranks are waited for.
    transformers.training_args.is_torch_bf16_gpu_available = lambda: True
    TrainingArguments._setup_devices = property(lambda self: torch.device("cpu"))
    TrainingArguments.distributed_state = None
    TrainingArguments._n_gpu = 0
    os.chdir(folder)
    seen: dict = {}
    for name in ("pair.json", "plain.json"):
        text = "\n".join(line for line in (folder / name).read_text().splitlines() if "//" not in line)
        seen[name] = engine_config(json.loads(text))
    heredoc = (folder / "train.sh").read_text().split("<<'EOF'\n")[1].split("EOF")[0]
    seen["heredoc"] = engine_config(json.loads(heredoc))
    seen["train.sh"] = parsed(script_words(folder, "train.sh", "trainer.py"))
    seen["job.sbatch"] = parsed(script_words(folder, "job.sbatch", "trainer.py"))
    for name in ("llamafactory.yaml", "inline.yaml"):
        values = yaml.safe_load((folder / name).read_text())
        own = {
            key: value
            for key, value in values.items()
            if key in ("output_dir", "fp16", "bf16", "deepspeed", "per_device_train_batch_size")
        }
        (arguments,) = HfArgumentParser(TrainingArguments).parse_dict(own)
        seen[name] = trained(arguments)
    # The program makes its own arguments, and then reads a model that is not here.
    text = (folder / "direct.py").read_text().split("model = ")[0]
    (folder / "direct_head.py").write_text(text)
    seen["direct.py"] = trained(runpy.run_path("direct_head.py")["arguments"])
    sys.argv = ["own_class.py", "--output_dir", "out", "--deepspeed", "auto.json"]
    seen["own_class.py"] = trained(runpy.run_path("own_class.py")["arguments"])
    sys.argv = ["bare.py", *script_words(folder, "train.sh", "bare.py")]
    seen["bare.py"] = {"dtype": runpy.run_path("bare.py")["arguments"].dtype}
    sys.argv = ["bare.py", *script_words(folder, "Makefile", "bare.py")]
    seen["Makefile"] = {"dtype": runpy.run_path("bare.py")["arguments"].dtype}
    facts = yaml.safe_load((folder / "accelerate.yaml").read_text())
    settings = facts["deepspeed_config"]
    plugin = DeepSpeedPlugin(
        zero_stage=settings["zero_stage"],
        gradient_clipping=settings.get("gradient_clipping"),
        gradient_accumulation_steps=settings["gradient_accumulation_steps"],
    )
    plugin.set_mixed_precision(facts["mixed_precision"])
    plugin.deepspeed_config.update(train_micro_batch_size_per_gpu=1)
    plugin.deepspeed_config.pop("train_batch_size", None)
    seen["accelerate.yaml"] = engine_config(plugin.deepspeed_config)
    return seen


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        result = run(Path(sys.argv[1]))
    print("SEEN " + json.dumps(result))
