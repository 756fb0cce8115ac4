# ruff: noqa: E501 - lines of logs are as long as they are
"""What the diagnosis tests share: realistic logs to put a message into, and the real ones beside this file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from dslint.diagnosis.diagnose import Diagnosis, diagnose

LOGS = Path(__file__).parent / "logs"

START = """\
[2025-03-11 04:11:02,120] [WARNING] [runner.py:202:fetch_hostfile] Unable to find hostfile, will proceed with training with local resources only.
[2025-03-11 04:11:02,301] [INFO] [runner.py:568:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJsb2NhbGhvc3QiOiBbMCwgMV19 --master_addr=127.0.0.1 --master_port=29500 --enable_each_rank_log=None train.py --deepspeed ds_config.json
[2025-03-11 04:11:04,877] [INFO] [launch.py:145:main] WORLD INFO DICT: {'localhost': [0, 1]}
[2025-03-11 04:11:04,877] [INFO] [launch.py:163:main] dist_world_size=2
[2025-03-11 04:11:09,410] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda (auto detect)
/opt/conda/lib/python3.10/site-packages/transformers/utils/hub.py:124: FutureWarning: Using `TRANSFORMERS_CACHE` is deprecated and will be removed in v5 of Transformers. Use `HF_HOME` instead.
  warnings.warn(
[2025-03-11 04:11:12,004] [INFO] [comm.py:652:init_distributed] cdb=None
[2025-03-11 04:11:12,004] [INFO] [comm.py:683:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl
Loading checkpoint shards:   0%|          | 0/3 [00:00<?, ?it/s]\rLoading checkpoint shards:  33%|███▎      | 1/3 [00:01<00:03,  1.72s/it]\rLoading checkpoint shards: 100%|██████████| 3/3 [00:05<00:00,  1.72s/it]
node01:4711:4711 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>
node01:4711:4890 [0] NCCL INFO Channel 00/02 :    0   1
Some weights of LlamaForCausalLM were not initialized from the model checkpoint at ./model and are newly initialized: ['score.weight']
You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.
[2025-03-11 04:11:31,559] [INFO] [logging.py:128:log_dist] [Rank 0] DeepSpeed info: version=0.15.4, git-hash=unknown, git-branch=unknown
[2025-03-11 04:11:32,901] [INFO] [logging.py:128:log_dist] [Rank 0] Creating torch.bfloat16 ZeRO stage 3 optimizer
"""
END = """\
[2025-03-11 04:12:18,003] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4711
[2025-03-11 04:12:18,004] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4712
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
"""


def steps(first: int, last: int) -> str:
    """A stretch of healthy training, as the HF Trainer and the engine print it."""
    lines = []
    for step in range(first, last):
        loss, norm = 2.5 - step / 2000, 1.2 + (step % 7) / 50
        lines.append(
            f"\r {step % 100}%|▏         | {step}/100000 [00:30<8:20:00,  3.33it/s]"
            f"\r{{'loss': {loss:.4f}, 'grad_norm': {norm:.6f}, 'learning_rate': {1e-5 + step * 1e-9:.10f}, 'epoch': 0.01}}"
        )
        if step % 10 == 0:
            lines.append(
                f"[2025-03-11 04:11:40,000] [INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]"
            )
    return "\n".join(lines) + "\n"


def realistic(message: str, training: int = 40) -> str:
    """A log with the message in it: a start, some training, the message, and a launcher that gives up."""
    return START + steps(1, training) + message.rstrip("\n") + "\n" + END


def diagnosed(text: str | bytes) -> Diagnosis:
    return diagnose(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def names(diagnosis: Diagnosis) -> list[str]:
    return [cause.message.name for cause in diagnosis.causes]


def traceback_of(exception: str, frames: Sequence[str] = (), rank: int | None = None) -> str:
    """A traceback that ends with the exception's line (or lines)."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/user/train.py", line 42, in <module>',
        "    main()",
    ]
    for frame in frames:
        lines += [
            f'  File "/opt/conda/lib/python3.10/site-packages/{frame}", line 100, in wrapped',
            "    return inner(*args)",
        ]
    lines += exception.split("\n")
    start = f"[rank{rank}]: " if rank is not None else ""
    return "\n".join(start + line for line in lines)
