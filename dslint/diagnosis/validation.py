"""pydantic's report of several lines, turned into one line for each key, with the key's whole path in the config.

pydantic prints the class that refused, then for each key its name on a line and what is wrong with it on the next. The
class tells which block of the config it was:

    2 validation errors for DeepSpeedZeroConfig          →   validation of DeepSpeedZeroConfig: zero_optimization.stage:
    stage                                                    Input should be 0, 1, 2 or 3 [type=enum, …]
      Input should be 0, 1, 2 or 3 [type=enum, …]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dslint.diagnosis.around import Neighbour

BLOCKS: Final[dict[str, str]] = {
    "DeepSpeedZeroConfig": "zero_optimization",
    "DeepSpeedZeroOffloadParamConfig": "zero_optimization.offload_param",
    "DeepSpeedZeroOffloadOptimizerConfig": "zero_optimization.offload_optimizer",
    "DeepSpeedZeroLeafModuleConfig": "zero_optimization.leaf_module",
    "ZenFlowConfig": "zero_optimization.zenflow",
    "DeepSpeedFP16Config": "fp16",
    "DeepSpeedBF16Config": "bf16",
    "DeepSpeedMonitorConfig": "",
    "TensorBoardConfig": "tensorboard",
    "WandbConfig": "wandb",
    "CSVConfig": "csv_monitor",
    "CometConfig": "comet",
    "CommsConfig": "comms_logger",
    "CommsLoggerConfig": "comms_logger",
    "HybridEngineConfig": "hybrid_engine",
    "CompileConfig": "compile",
    "TPTrainingConfig": "tensor_parallel",
    "TPConfig": "tensor_parallel.tp",
    "DeepSpeedThroughputTimerConfig": "timers.throughput",
    "DeepSpeedInferenceConfig": "",
    "DeepSpeedTPConfig": "tensor_parallel",
    "DeepSpeedMoEConfig": "moe",
    "QuantizationConfig": "quant",
    "BaseQuantConfig": "quant",
    "QKVQuantConfig": "quant.qkv",
    "InferenceCheckpointConfig": "checkpoint_config",
    "RaggedInferenceEngineConfig": "",
    "DSStateManagerConfig": "state_manager",
    "MemoryConfig": "state_manager.memory_config",
    "KVCacheConfig": "",
}
_HEADER: Final = re.compile(r"(\d+) validation errors? for (\w+)\s*$")
_COMPLAINT: Final = re.compile(r"^\s{1,4}(?P<text>\S.*?(?:\[type=\w+.*|\(type=[\w.]+.*))$")
_CUT_COMPLAINT: Final = re.compile(
    r"^\s{2}(?P<text>(?:Input should be|Input is not|Extra inputs|extra fields|Value error,|Assertion failed,|[Ff]ield required|"
    r"value is not|value could not|ensure this|str type).*)$"
)
_KEY: Final = re.compile(r"^[\w.\[\]-]{2,200}(?: -> \w+)*\s*$")
_CLASS_IN_PATH: Final = re.compile(
    r"^[A-Z]\w*(?:\[.*\])?$|^function-|^literal\[|^(?:int|bool|str|float|nullable)$"
)


class Complaint(NamedTuple):
    """One key's complaint as one line; `offset` counts the lines from the one that was looked at."""

    text: str
    offset: int


def is_part(text: str) -> bool:
    """Whether a line can be a part of such a report."""
    return (
        "validation error" in text or "[type=" in text or "(type=" in text or bool(_CUT_COMPLAINT.match(text))
    )


def complaints(rows: Sequence[Neighbour]) -> list[Complaint]:
    """The complaints in rows that begin with a report's header. Another library's report gives none."""
    header = _HEADER.search(rows[0].text)
    if header is None or header[2] not in BLOCKS:
        return []
    wanted, model = int(header[1]), header[2]
    found: list[Complaint] = []
    key = said = ""
    for offset, line in rows[1:]:
        match = _COMPLAINT.match(line) or _CUT_COMPLAINT.match(line)
        if match:
            # Processes that print at once say each line twice.
            if key or match["text"] != said:
                found.append(Complaint(one_line(model, key, match["text"]), offset))
            key, said = "", match["text"]
        elif _HEADER.search(line):
            continue
        elif line.strip() and not line[0].isspace():
            if len(found) >= wanted or not _KEY.match(line):
                break
            key = line.strip()
    return found


def headless(before: str, line: str) -> Complaint | None:
    """The complaint of a report whose header is cut off: a line, with the key on the line before it."""
    match = _COMPLAINT.match(line) or _CUT_COMPLAINT.match(line)
    if match is None or not _KEY.match(before):
        return None
    return Complaint(one_line("?", before.strip(), match["text"]), 0)


def one_line(model: str, key: str, text: str) -> str:
    """`validation of MODEL: PATH: TEXT`, the path from the config's root."""
    parts = [part for part in key.replace(" -> ", ".").split(".") if part and not _CLASS_IN_PATH.match(part)]
    path = ".".join([*filter(None, [BLOCKS.get(model, "")]), *parts]) or "(the config)"
    return f"validation of {model}: {path}: {text}"
