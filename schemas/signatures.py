"""Reads the optimizers and schedulers that a release builds, and the parameters that they really take."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from reading import UNKNOWN, Package, evaluate

TORCH = Path(__file__).resolve().parent / "deepspeed" / "torch.json"
ENGINE = "runtime/engine.py"
SCHEDULES = "runtime/lr_schedules.py"

Table = dict[str, Any]


def optimizer_table(package: Package, overlay: Table) -> Table:
    """DeepSpeed's own names (lower case) → their classes, parameters, and standing with ZeRO."""
    names = package.constants("runtime/config.py")["DEEPSPEED_OPTIMIZERS"]
    tested = zero_tested(package)
    popped = engine_arguments(package)
    table: Table = {}
    for name in names:
        known = overlay[name]
        given = {*known.get("given", ()), *popped.get(name, ())}
        if "'max_grad_norm' is not supported as an optimizer parameter" in package.text(ENGINE):
            given.add("max_grad_norm")
        classes = []
        for when, (file, class_name, *more) in known["classes"].items():
            if file == "torch":
                params = torch_parameters(class_name, *more)
                class_name = "torch.optim." + (more[0] if more else class_name)
            elif file == "engine":
                params = muon_parameters(package)
            else:
                params = signature(package, file, class_name)
                if params is None:
                    continue
            params |= known.get("more", {})
            kept = {key: value for key, value in params.items() if key not in given}
            classes.append({"class": class_name, "when": when, "params": kept})
        entry: Table = {"classes": classes, "engine": popped.get(name, [])}
        all_names = dict.fromkeys([*(key for part in classes for key in part["params"]), *entry["engine"]])
        entry["params"] = list(all_names)
        required = [key for key, value in classes[0]["params"].items() if value == REQUIRED]
        for part in classes:
            part["params"] = {
                key: (None if value == REQUIRED else value) for key, value in part["params"].items()
            }
        entry["required"] = known.get("required", required)
        entry["zero"] = known.get("zero") or ("tested" if classes[0]["class"] in tested else "untested")
        entry["others"] = known.get("others", "refused")
        if "needs" in known:
            entry["needs"] = known["needs"]
        table[name] = entry
    return table


REQUIRED = "\0required"


def signature(
    package: Package, file: str, class_name: str, skip: tuple[str, ...] = ("self",)
) -> Table | None:
    """Parameter → default of a class's constructor, without what the engine passes first; None without the class."""
    if not package.text(file):
        return None
    constants = package.constants(file)
    for node in package.tree(file).body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                    return parameters(inner, constants)
    return None


def parameters(function: ast.FunctionDef, constants: Table) -> Table:
    arguments = [*function.args.posonlyargs, *function.args.args][2:]
    defaults = function.args.defaults[-len(arguments) :] if arguments else []
    padded: list[ast.expr | None] = [None] * (len(arguments) - len(defaults))
    padded += defaults
    found: Table = {}
    for argument, default in zip(arguments, padded, strict=True):
        value = REQUIRED if default is None else evaluate(default, constants)
        found[argument.arg] = None if value is UNKNOWN else value
    return found


def engine_arguments(package: Package) -> dict[str, list[str]]:
    """Optimizer name → parameters that the engine takes out of `params` before it builds the class."""
    constants = package.constants("runtime/config.py")
    words = re.findall(r"optimizer_parameters\.pop\(\s*([A-Z_]+|'\w+'|\"\w+\")", package.text(ENGINE))
    keys = [constants[word] if word.isupper() else word.strip("'\"") for word in words]
    keys = [key for key in dict.fromkeys(keys) if key != "foreach"]
    found = {"adam": keys, "adamw": keys}
    if re.search(r"MUON_OPTIMIZER:\s*adam_w_mode = ", package.text(ENGINE)):
        found["muon"] = keys
    return found


def zero_tested(package: Package) -> set[str]:
    """The classes that ZeRO takes without `zero_allow_untested_optimizer`."""
    text = package.text("runtime/zero/utils.py")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ZERO_SUPPORTED_OPTIMIZERS":
            assert isinstance(node.value, ast.List)
            found = {ast.unparse(part) for part in node.value.elts}
            return found | ({"MuonWithAuxAdam"} if "MuonWithAuxAdam" in text else set())
    raise LookupError("runtime/zero/utils.py lists no ZERO_SUPPORTED_OPTIMIZERS")


def muon_parameters(package: Package) -> Table:
    """The keys that the engine hands to Muon's two halves; it passes over every other one."""
    text = package.text(ENGINE)
    lists = re.findall(r"_(?:MUON|ADAM)_HALF_KEYS = (\([^)]*\))", text)
    if not lists:
        lists = re.findall(r"for key in (\[\"lr\"[^]]*\]):\s+if key in optimizer_parameters", text)
    keys = [key for part in lists for key in ast.literal_eval(part)]
    keys += re.findall(r"optimizer_parameters, \w+_keys,\s+\"(\w+_lr)\"", text)
    return dict.fromkeys(keys)


def scheduler_table(package: Package) -> Table:
    """DeepSpeed's own schedulers → parameters with defaults, and the ones that must be given."""
    constants = package.constants(SCHEDULES)
    names = constants["VALID_LR_SCHEDULES"]
    table: Table = {}
    for name in names:
        params = signature(package, SCHEDULES, name)
        if params is None:
            continue
        required = [key for key, value in params.items() if value == REQUIRED]
        defaults = {key: (None if value == REQUIRED else value) for key, value in params.items()}
        table[name] = {"params": defaults, "required": required}
    return table


def torch_parameters(*names: str) -> Table:
    """The parameters of torch.optim classes, taken together."""
    known = json.loads(TORCH.read_text(encoding="utf-8"))["optimizers"]
    found: Table = {}
    for name in names:
        found |= known[name]["params"]
    return found
