"""Everything that DeepSpeed, Transformers and Accelerate raise about DeepSpeed is in the catalogue: their sources are asked.

Each `raise` and `assert` with a text is found in the installed packages' sources; its text, with something in the place of
what only a run knows, must be recognised. What is left out is listed here with the reason.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dslint.diagnosis.around import Around
from dslint.diagnosis.catalogue import load_catalogue
from dslint.diagnosis.lines import Line
from dslint.diagnosis.recognise import Recogniser

DEEPSPEED = (
    "__init__.py",
    "runtime/config.py",
    "runtime/config_utils.py",
    "runtime/precision_config.py",
    "runtime/lr_schedules.py",
    "runtime/engine.py",
    "runtime/torch_autocast.py",
    "runtime/base_optimizer.py",
    "runtime/bf16_optimizer.py",
    "runtime/fp16",
    "runtime/zero",
    "runtime/zenflow",
    "runtime/superoffload",
    "runtime/swap_tensor",
    "runtime/pipe",
    "runtime/checkpoint_engine",
    "runtime/activation_checkpointing",
    "runtime/tensor_parallel",
    "runtime/data_pipeline/config.py",
    "runtime/data_pipeline/curriculum_scheduler.py",
    "runtime/compiler.py",
    "launcher",
    "comm",
    "moe",
    "ops/op_builder/builder.py",
    "ops/adam/cpu_adam.py",
    "module_inject/auto_ep_config.py",
    "module_inject/autotp_config.py",
    "utils/zero_to_fp32.py",
)
FRAMEWORKS = (
    "transformers/integrations/deepspeed.py",
    "accelerate/utils/deepspeed.py",
    "accelerate/accelerator.py",
    "accelerate/utils/dataclasses.py",
    "transformers/trainer.py",
    "transformers/training_args.py",
)

# What stands for the value of a hole, where a number would not do.
HOLES = {"runtime/precision_config.py": "fp16.hysteresis", "accelerate/utils/deepspeed.py": "optimizer.type"}

# Text of what is left out → why.
LEFT_OUT = {
    "has no attribute": "any Python object says it",
    "is not a field in": "the schema's own code, not a config, is at fault",
    "is a required field and does not have a default value": "the schema's own code, not a config, is at fault",
    "need to call step() first": "a question to the scheduler before its first step, harmless where it is met",
    "not yet support": "three words that everything says",
    "already in registry": "a parameter's summary alone stands before it",
    "unknown event": "a profiler's own name",
    "Test failed": "a test within the package",
    "TestFailed": "a test within the package",
    "Event type mismatch": "between SuperOffload and its own process",
    "does not match": "two counts and three words",
    "Cannot rollback": "SuperOffload's own bookkeeping",
    "is not yet defined": "between DeepSpeed's own communication layers",
    "op must be deepspeed.comm.isend": "a caller's argument",
    "does not support symmetric memory": "a caller's choice of backend",
    "torch.distributed must be initialized before SDMA": "AMD's SDMA path, which no setting reaches",
    "doesn't exist": "a path on the command line of zero_to_fp32",
    "key 7 invalid": "a caller's coordinates in a topology",
    "Checkpoint size should be set after commit": "the checkpoint engine's own order of calls",
    "model_parameters must be a list": "a caller's argument",
    "param argument that would be given to the optimizer": "a caller's argument",
}
# Of the Trainer and Accelerate only what is about DeepSpeed is asked for.
ABOUT = re.compile(r"[dD]eep[sS]peed|ZeRO|[zZ]ero-?3|\bds_|DummyOptim|DummyScheduler|zero3|device_map='auto'")
NOT_ABOUT = {
    "torchao": "FP8 and FSDP",
    "clip_grad_value_": "said of both, and known",
    "Please consider using deepspeed": "FSDP with MS-AMP",
    "gradient_accumulation_plugin": "Accelerate's own arguments",
    "MegatronLM": "Megatron-LM",
    "incompatible with DDP": "torch's DDP",
}


class Raised(NamedTuple):
    file: str
    line: int
    exception: str
    text: str


def package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"{name} is not installed, so its sources cannot be asked what they raise")
    return Path(spec.origin).parent


def constants(root: Path) -> dict[str, str]:
    """The texts that the package's own constants stand for."""
    found: dict[str, str] = {}
    for path in root.rglob("constants.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                found.update(
                    {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
                )
    return found


def raised(path: Path, shown: str, known: dict[str, str]) -> Iterator[Raised]:
    hole = HOLES.get(shown, "7")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text, exception = text_of(node.exc.args[0], hole, known), ast.unparse(node.exc.func)
        elif isinstance(node, ast.Assert) and node.msg is not None:
            text, exception = text_of(node.msg, hole, known), "AssertionError"
        else:
            continue
        if text and len(text.strip()) > 8:
            yield Raised(shown, node.lineno, exception, text)


def text_of(node: ast.expr, hole: str, known: dict[str, str]) -> str | None:
    """The text of an expression, with `hole` in the place of what only a run knows; None where it has none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value, hole, known) or hole for value in node.values)
    if isinstance(node, ast.FormattedValue):
        return known.get(ast.unparse(node.value), hole)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [text_of(side, hole, known) for side in (node.left, node.right)]
        return "".join(part or hole for part in parts) if any(parts) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = text_of(node.left, hole, known)
        return re.sub(r"%[sdrf]", hole, text) if text else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = text_of(node.func.value, hole, known)
        names = [known.get(ast.unparse(argument), hole) for argument in node.args]
        return re.sub(r"\{[^}]*\}", lambda _: names.pop(0) if names else hole, text) if text else None
    return None


def is_known(recogniser: Recogniser, one: Raised, package_path: str) -> bool:
    start = f'Traceback (most recent call last):\n  File "/opt/{package_path}", line {one.line}, in f\n    raise x\n'.encode()
    text = f"{one.exception}: {one.text}"
    buffer = start + text.encode() + b"\n"
    at = len(start)
    for part in text.split("\n"):
        around = Around(buffer, at, at + len(part.encode()), Line(part, None, ""))
        if recogniser.on_line(part, around) is not None:
            return True
        at += len(part.encode()) + 1
    return False


def unknown(root: Path, specs: tuple[str, ...], prefix: str) -> list[Raised]:
    recogniser = Recogniser(load_catalogue())
    known = constants(root)
    left: list[Raised] = []
    asked = 0
    for spec in specs:
        path = root / spec
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.is_file() else []:
            shown = file.relative_to(root).as_posix()
            for one in raised(file, shown, known):
                asked += 1
                if not is_known(recogniser, one, f"{prefix}{shown}"):
                    left.append(one)
    assert asked > 100, "hardly anything is raised in these sources; they have moved"
    return left


@pytest.mark.engine
def test_what_deepspeed_raises_is_in_the_catalogue():
    left = unknown(package("deepspeed"), DEEPSPEED, "deepspeed/")
    missing = [one for one in left if not any(text in one.text for text in LEFT_OUT)]
    assert not missing, "\n".join(
        f"{one.file}:{one.line}: {' '.join(one.text.split())[:150]}" for one in missing
    )


@pytest.mark.frameworks
def test_what_transformers_and_accelerate_raise_about_deepspeed_is_in_the_catalogue():
    root = package("transformers").parent
    package("accelerate")
    left = [one for one in unknown(root, FRAMEWORKS, "") if ABOUT.search(one.text)]
    missing = [one for one in left if not any(text in one.text for text in (*LEFT_OUT, *NOT_ABOUT))]
    assert not missing, "\n".join(
        f"{one.file}:{one.line}: {' '.join(one.text.split())[:150]}" for one in missing
    )
