"""Reads a DeepSpeed package's source, without importing it: its config models, constants and the names it uses.

Reading works for every release alike; the old ones cannot be imported beside today's torch and pydantic. A test holds
what is read of the installed release against the models that it really has.
"""

from __future__ import annotations

import ast
import operator
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

MODEL_FILES = (
    "runtime/config.py",
    "runtime/zero/config.py",
    "runtime/zero/offload_config.py",
    "runtime/zero/leaf_module_config.py",
    "runtime/zenflow/zenflow_config.py",
    "runtime/precision_config.py",
    "runtime/tensor_parallel/config.py",
    "runtime/compiler.py",
    "compile/config.py",
    "monitor/config.py",
    "utils/config.py",
    "comm/config.py",
    "inference/config.py",
)
"""Where the pydantic models of a training config stand, in one release or another."""

UNKNOWN = object()
"""A default that only a run would show."""


@dataclass
class Field:
    """One field of a pydantic model."""

    name: str
    annotation: ast.expr
    default: Any = UNKNOWN
    alias: str | None = None
    bounds: dict[str, Any] = field(default_factory=dict)
    deprecated: bool = False
    new_param: str | None = None
    sets_new_param: bool = True


@dataclass
class Model:
    """A pydantic model, or an Enum (then `values`)."""

    name: str
    file: str
    bases: list[str]
    fields: dict[str, Field] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


class Package:
    """The source of one release: `folder` is the one that holds `deepspeed/`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "deepspeed"
        self.other_names: set[tuple[str, str, str, str]] = set()
        if not self.root.is_dir():
            raise FileNotFoundError(f"{folder} holds no deepspeed package")

    @cached_property
    def models(self) -> dict[str, Model]:
        """Class name → model, over the files in which config models stand."""
        found: dict[str, Model] = {}
        for file in MODEL_FILES:
            for model in self._models_in(file):
                found.setdefault(model.name, model)
        return found

    @cached_property
    def pydantic(self) -> int:
        """The major version of pydantic whose rules the models follow."""
        text = self.text("runtime/config_utils.py")
        return 2 if "ConfigDict" in text else 1

    def text(self, file: str) -> str:
        path = self.root / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def tree(self, file: str) -> ast.Module:
        return ast.parse(self.text(file))

    def constants(self, file: str) -> dict[str, Any]:
        """The module-level names of a file whose values can be told; what it star-imports from beside it, too."""
        if file not in self._constants:
            values: dict[str, Any] = {}
            self._constants[file] = values
            for node in self.tree(file).body:
                self._gather(node, file, values)
        return self._constants[file]

    @cached_property
    def _constants(self) -> dict[str, dict[str, Any]]:
        return {}

    def _gather(self, node: ast.stmt, file: str, values: dict[str, Any]) -> None:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and (node.level or node.module.startswith("deepspeed."))
        ):
            source = self._module_file(node, file)
            if source is not None:
                there = self.constants(source)
                for alias in node.names:
                    if alias.name == "*":
                        values.update(there)
                    elif alias.name in there:
                        values[alias.asname or alias.name] = there[alias.name]
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            value = evaluate(node.value, values)
            if value is not UNKNOWN:
                values[node.targets[0].id] = value
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                    value = evaluate(inner.value, values)
                    if value is not UNKNOWN:
                        values[f"{node.name}.{inner.targets[0].id}"] = value

    def _module_file(self, node: ast.ImportFrom, file: str) -> str | None:
        if node.level:
            parent = Path(file).parent
            for _ in range(node.level - 1):
                parent = parent.parent
            path = parent / (node.module or "").replace(".", "/")
        else:
            path = Path((node.module or "").removeprefix("deepspeed.").replace(".", "/"))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.name != "__init__.py" and (self.root / candidate).is_file():
                return candidate.as_posix()
        return None

    def _models_in(self, file: str) -> list[Model]:
        if not (self.root / file).is_file():
            return []
        constants = self.constants(file)
        found = []
        for node in self.tree(file).body:
            if not isinstance(node, ast.ClassDef):
                continue
            bases = [ast.unparse(base) for base in node.bases]
            model = Model(node.name, file, bases)
            if "Enum" in bases:
                model.values = [
                    evaluate(inner.value, constants) for inner in node.body if isinstance(inner, ast.Assign)
                ]
            else:
                for inner in node.body:
                    if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                        model.fields[inner.target.id] = read_field(inner, constants)
                    elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Constant):
                        # pydantic 1 infers the type of a field from its default.
                        name = ast.unparse(inner.targets[0])
                        kind = ast.Name(type(inner.value.value).__name__)
                        model.fields[name] = Field(name, kind, default=inner.value.value)
            found.append(model)
        return found

    def fields_of(self, model: Model) -> list[Field]:
        """A model's fields, those of its bases first."""
        fields: dict[str, Field] = {}
        for base in model.bases:
            if base in self.models:
                fields.update({field.name: field for field in self.fields_of(self.models[base])})
        fields.update(model.fields)
        return list(fields.values())

    def is_config_model(self, model: Model) -> bool:
        """Whether a model is a DeepSpeedConfigModel, which drops the fields that are "auto"."""
        return any(
            base == "DeepSpeedConfigModel"
            or (base in self.models and self.is_config_model(self.models[base]))
            for base in model.bases
        )

    def reads(self, read: str, file: str, key: str) -> bool:
        """Whether the code reads a key: by a constant of `file` that is used elsewhere, or quoted in `file`."""
        if read.startswith('"'):
            words = self.words.get(file, set())
            return read in words or read.replace('"', "'") in words
        if self.constants(file).get(read, key) != key:
            self.other_names.add((file, read, self.constants(file)[read], key))
            return False
        return read in self.constants(file) and (self.is_used(read, file) or self.text(file).count(read) > 1)

    def default_of(self, read: str, file: str) -> Any:
        return UNKNOWN if read.startswith('"') else self.constants(file).get(f"{read}_DEFAULT", UNKNOWN)

    def has_word(self, word: str) -> bool:
        return any(word in words for words in self.words.values())

    def literal(self, name: str) -> list[Any] | None:
        """The values of a module-level `Name = Literal[…]` among the models' files."""
        for file in MODEL_FILES:
            for node in self.tree(file).body if self.text(file) else ():
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                    value = node.value
                    if isinstance(value, ast.Subscript) and ast.unparse(value.value) == "Literal":
                        found = evaluate(value.slice, {})
                        return found if isinstance(found, list) else [found]
        return None

    def removed_keys(self, table: str) -> list[str]:
        """The keys of a table in runtime/config.py that lists what is refused because it was removed."""
        for node in self.tree("runtime/config.py").body:
            if (
                isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == table
                and isinstance(node.value, ast.Dict)
            ):
                return [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
        return []

    @cached_property
    def words(self) -> dict[str, set[str]]:
        """File → the identifiers and the quoted words in it, over the whole package."""
        return {
            path.relative_to(self.root).as_posix(): set(
                re.findall(
                    r"[A-Za-z_]\w*|\"[\w/-]+\"|'[\w/-]+'", path.read_text(encoding="utf-8", errors="replace")
                )
            )
            for path in self.root.rglob("*.py")
        }

    def is_used(self, name: str, defined_in: str) -> bool:
        """Whether a constant is named anywhere but where it is defined."""
        return any(name in words for file, words in self.words.items() if file != defined_in)


def read_field(node: ast.AnnAssign, constants: dict[str, Any]) -> Field:
    assert isinstance(node.target, ast.Name)
    found = Field(node.target.id, node.annotation)
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field":
        read_field_call(value, found, constants)
    elif value is not None:
        found.default = evaluate(value, constants)
    return found


def read_field_call(call: ast.Call, found: Field, constants: dict[str, Any]) -> None:
    """`Field(default, ge=…, alias=…, deprecated=…)`; the extras stand in `json_schema_extra` from pydantic 2 on."""
    if call.args:
        found.default = evaluate(call.args[0], constants)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    extra = keywords.get("json_schema_extra")
    if isinstance(extra, ast.Dict):
        for key, value in zip(extra.keys, extra.values, strict=True):
            if isinstance(key, ast.Constant):
                keywords[key.value] = value
    for name in ("ge", "gt", "le", "lt"):
        if name in keywords:
            found.bounds[name] = evaluate(keywords[name], constants)
    if "default" in keywords:
        found.default = evaluate(keywords["default"], constants)
    if "alias" in keywords:
        found.alias = evaluate(keywords["alias"], constants)
    if "deprecated" in keywords:
        found.deprecated = bool(evaluate(keywords["deprecated"], constants))
    if "new_param" in keywords:
        found.new_param = evaluate(keywords["new_param"], constants)
    if "set_new_param" in keywords:
        found.sets_new_param = bool(evaluate(keywords["set_new_param"], constants))


_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluate(node: ast.expr, constants: dict[str, Any]) -> Any:
    """The value of a constant expression, or UNKNOWN. `pp_int(x)` is a number that prints itself differently."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id, UNKNOWN)
    if isinstance(node, ast.Attribute):
        text = ast.unparse(node)
        return sys.maxsize if text == "sys.maxsize" else constants.get(text, UNKNOWN)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = evaluate(node.operand, constants)
        return UNKNOWN if value is UNKNOWN else -value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = evaluate(node.left, constants), evaluate(node.right, constants)
        return UNKNOWN if UNKNOWN in (left, right) else _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.List | ast.Tuple):
        items = [evaluate(item, constants) for item in node.elts]
        return UNKNOWN if UNKNOWN in items else items
    if isinstance(node, ast.Dict):
        keys = [evaluate(key, constants) if key else UNKNOWN for key in node.keys]
        values = [evaluate(value, constants) for value in node.values]
        return UNKNOWN if UNKNOWN in [*keys, *values] else dict(zip(keys, values, strict=True))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "pp_int" and node.args:
        value = evaluate(node.args[0], constants)
        return UNKNOWN if value is UNKNOWN else int(value)
    return UNKNOWN
