"""What a log says of the run itself: the DeepSpeed release, the precision, the stage, the config's path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dslint.diagnosis.sightings import Evidence
from dslint.diagnosis.stretch import Stretch, evidence_at

HEAD: Final = 8 << 20
NOWHERE: Final = Evidence(0, None, "", None)

_VERSION: Final = re.compile(
    rb"(?:DeepSpeed info: version=|deepspeed info \.+ |\bdeepspeed==|\bdeepspeed-)(\d+\.\d+\.\d+)"
)
_ENABLED: Final = re.compile(rb"(bfloat16|fp16)_enabled \.+ (True|False)")
_CREATING: Final = re.compile(
    rb"Creating (?:torch\.)?(float16|bfloat16|fp16) ZeRO stage|Creating (BF16|fp16) (?:unfused )?optimizer"
)
_CONFIG: Final = re.compile(rb"--deepspeed(?:_config)?(?:=|\s+|',\s*')([\w./~-]+\.(?:json|hjson))")
_STAGE3: Final = re.compile(
    rb"ZeRO stage 3|zero_stage[:=] ?3|\"stage\": 3|zero_optimization_stage \.+ (?:ZeroStageEnum\.weights|3)|"
    rb"stage3\.py|stage3_|[zZ]e[rR][oO][-_]?3|ds_z3"
)
_CLIP: Final = re.compile(rb"gradient_clipping \.+ ([\d.]+)")
_CLIP_ASKED: Final = re.compile(rb"max_grad_norm['\"]?[=:]\s?([\d.]+)")
_SCHEDULER: Final = re.compile(rb"configured LR scheduler = (\w+)|scheduler_name \.+ (\w+)")
_RATE_ASKED: Final = re.compile(rb"lr_scheduler_type['\"]?[=:]?\s?(?:SchedulerType\.)?['\"<]*([A-Za-z_]+)")
_BATCH: Final = (
    re.compile(rb"Instantaneous batch size per device = ([\d,]+)"),
    re.compile(rb"Total train batch size \(w\. parallel, distributed & accumulation\) = ([\d,]+)"),
    re.compile(rb"Gradient Accumulation steps = ([\d,]+)"),
)
_MACHINES: Final = re.compile(
    rb"(?:--num_machines|--nnodes|--num_nodes|num_machines:|SLURM_NNODES=|SLURM_JOB_NUM_NODES=)[= ]?\s?(\d+)"
)
_PROCESSES: Final = re.compile(rb"(?:--num_processes|num_processes:)[= ]?\s?(\d+)")


@dataclass(slots=True)
class Facts:
    """Read from the first megabytes of a log, where a run presents itself; `deepspeed` and `zero3` from all of it."""

    deepspeed: bool = False
    zero3: bool = False
    version: str | None = None
    precision: str | None = None
    precision_evidence: Evidence = NOWHERE
    config: str | None = None
    clip: float | None = None
    clip_asked: float | None = None
    scheduler: str | None = None
    rate_asked: str | None = None
    banners: int = 0
    world: int | None = None
    machines: int | None = None
    processes: int | None = None
    batch_evidence: Evidence = NOWHERE
    _read: int = 0

    def __call__(self, stretch: Stretch) -> None:
        buffer, start, end, _ = stretch
        if not self.deepspeed:
            self.deepspeed = (
                buffer.find(b"eepspeed", start, end) >= 0 or buffer.find(b"eepSpeed", start, end) >= 0
            )
        if self._read < HEAD:
            self._head(stretch)
            self._read += end - start

    def _head(self, stretch: Stretch) -> None:
        buffer, start, end, _ = stretch
        self.zero3 = self.zero3 or bool(_STAGE3.search(buffer, start, end))
        self.version = self.version or _text(_VERSION, stretch)
        self.config = self.config or _text(_CONFIG, stretch)
        self.scheduler = self.scheduler or _text(_SCHEDULER, stretch)
        self.rate_asked = self.rate_asked or _text(_RATE_ASKED, stretch)
        self.clip = _number(_CLIP, stretch) if self.clip is None else self.clip
        self.clip_asked = _number(_CLIP_ASKED, stretch) if self.clip_asked is None else self.clip_asked
        self.machines = self.machines or _whole(_MACHINES, stretch)
        self.processes = self.processes or _whole(_PROCESSES, stretch)
        self.banners += buffer.count(b"***** Running training *****", start, end)
        if self.world is None:
            self.world = _world(stretch)
            if self.world:
                self.batch_evidence = _banner(stretch)
        if self.precision is None:
            self.precision, at = _precision(stretch)
            if self.precision:
                self.precision_evidence = evidence_at(stretch, at)


def _text(pattern: re.Pattern[bytes], stretch: Stretch) -> str | None:
    match = pattern.search(stretch.buffer, stretch.start, stretch.end)
    return (
        next((group.decode("utf-8", "replace") for group in match.groups() if group), None) if match else None
    )


def _number(pattern: re.Pattern[bytes], stretch: Stretch) -> float | None:
    text = _text(pattern, stretch)
    try:
        return float(text.rstrip(".")) if text else None
    except ValueError:
        return None


def _whole(pattern: re.Pattern[bytes], stretch: Stretch) -> int | None:
    text = _text(pattern, stretch)
    return int(text.replace(",", "")) if text else None


def _world(stretch: Stretch) -> int | None:
    """The number of processes, from the Trainer's banner: total batch / (batch per device × accumulation)."""
    device, total, accumulation = (_whole(pattern, stretch) for pattern in _BATCH)
    if not (device and total and accumulation) or total % (device * accumulation):
        return None
    return total // (device * accumulation)


def _banner(stretch: Stretch) -> Evidence:
    match = _BATCH[1].search(stretch.buffer, stretch.start, stretch.end)
    return evidence_at(stretch, match.start() if match else stretch.start)


def _precision(stretch: Stretch) -> tuple[str | None, int]:
    for match in _ENABLED.finditer(stretch.buffer, stretch.start, stretch.end):
        if match[2] == b"True":
            return ("bf16" if match[1] == b"bfloat16" else "fp16"), match.start()
    created = _CREATING.search(stretch.buffer, stretch.start, stretch.end)
    if created is None:
        return None, 0
    return ("bf16" if (created[1] or created[2]) in (b"bfloat16", b"BF16") else "fp16"), created.start()
