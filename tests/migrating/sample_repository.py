"""A small repository with every kind of file that a move reaches, all of them in fp16."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "requirements.txt": "deepspeed==0.18.9\ntransformers==4.57.0\naccelerate==1.10.0\n",
    "pair.json": """\
{
  // both blocks, as people write them
  "train_micro_batch_size_per_gpu": 4,
  "fp16": { "enabled": true, "loss_scale": 0, "initial_scale_power": 16 },
  "bf16": { "enabled": false },
  "gradient_clipping": 0.5,
  "zero_optimization": { "stage": 2 }
}
""",
    "plain.json": (
        '{\r\n\t"train_batch_size": 8,\r\n\t"fp16": {\r\n\t\t"enabled": true,\r\n\t\t"min_loss_scale": 1\r\n\t},\r\n'
        '\t"communication_data_type": "fp16",\r\n\t"zero_optimization": {"stage": 2}\r\n}\r\n'
    ),
    "auto.json": (
        '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto", "loss_scale": 0},\n'
        ' "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "gradient_clipping": "auto"}\n'
    ),
    "train.sh": """\
#!/bin/bash
cat > heredoc.json <<'EOF'
{"train_batch_size": 8, "fp16": {"enabled": true, "hysteresis": 2}, "gradient_clipping": 1.0}
EOF
ARGS="--output_dir out --fp16 --per_device_train_batch_size 8"
deepspeed --num_gpus 2 trainer.py $ARGS \\
    --fp16_opt_level O2 \\
    --deepspeed auto.json
deepspeed bare.py --deepspeed_config heredoc.json --dtype fp16
accelerate launch --config_file accelerate.yaml --mixed_precision fp16 accelerated.py
""",
    "job.sbatch": """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
export ACCELERATE_MIXED_PRECISION=fp16
FLAGS=(--fp16 True --bf16 False)
srun torchrun --nproc_per_node 4 trainer.py --output_dir out "${FLAGS[@]}" --deepspeed auto.json
""",
    "Makefile": "train:\n\tdeepspeed bare.py --deepspeed_config pair.json --dtype=fp16\n",
    "trainer.py": """\
from transformers import HfArgumentParser, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
""",
    "bare.py": """\
import argparse

import deepspeed

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="fp16", choices=["fp16", "bf16", "fp32"])
parser.add_argument("--local_rank", type=int, default=-1)
deepspeed.add_config_arguments(parser)
arguments = parser.parse_args()
""",
    "direct.py": """\
import torch
from transformers import AutoModelForCausalLM, TrainingArguments

CONFIG = {
    "train_micro_batch_size_per_gpu": "auto",
    "fp16": {"enabled": True, "loss_scale_window": 500},
    "zero_optimization": {"stage": 1},
}
arguments = TrainingArguments(output_dir="out", fp16=True, fp16_opt_level="O1", deepspeed=CONFIG)
model = AutoModelForCausalLM.from_pretrained("model", torch_dtype=torch.float16)
""",
    "own_class.py": """\
from dataclasses import dataclass

from transformers import HfArgumentParser, TrainingArguments


@dataclass
class Mine(TrainingArguments):
    fp16: bool = True
    extra: int = 1


(arguments,) = HfArgumentParser(Mine).parse_args_into_dataclasses()
""",
    "accelerated.py": """\
from accelerate import Accelerator, DeepSpeedPlugin

plugin = DeepSpeedPlugin(zero_stage=2, gradient_clipping=1.0)
accelerator = Accelerator(mixed_precision='fp16', deepspeed_plugin=plugin)
""",
    "lightning_run.py": """\
from lightning.pytorch import Trainer
from lightning.pytorch.strategies import DeepSpeedStrategy

trainer = Trainer(
    devices=2,
    precision="16-mixed",
    strategy=DeepSpeedStrategy(stage=2, loss_scale=0, initial_scale_power=8),
)
""",
    "accelerate.yaml": """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 2
  gradient_accumulation_steps: 1
mixed_precision: fp16  # as on the old machine
num_machines: 1
num_processes: 2
""",
    "llamafactory.yaml": """\
model_name_or_path: a/b
stage: sft
do_train: true
finetuning_type: lora
dataset: data
template: llama3
deepspeed: auto.json
output_dir: out
fp16: true
""",
    "axolotl.yaml": """\
base_model: a/b
micro_batch_size: 2
num_epochs: 1
datasets:
  - path: data
bf16: false
fp16: true
deepspeed: auto.json
""",
    "inline.yaml": """\
model_name_or_path: a/b
per_device_train_batch_size: 4
learning_rate: 1.0e-4
output_dir: out
fp16: true
deepspeed:
  train_micro_batch_size_per_gpu: 4
  fp16:
    enabled: true
    loss_scale: 0
  zero_optimization:
    stage: 2
""",
}


def write(folder: Path, files: dict[str, str] = FILES) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in sorted(folder.iterdir()) if path.is_file()}
