"""Build hook: the wheel carries the rule book compiled, so that a run needs neither YAML nor pydantic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class CompileRules(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, str(ROOT))
        try:
            from dslint.rules.compile import compile_folder
        finally:
            sys.path.remove(str(ROOT))
        compile_folder(str(ROOT / "rules"), str(ROOT / "rules" / "compiled.json"))
        build_data["artifacts"].append("rules/compiled.json")
