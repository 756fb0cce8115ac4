"""Build hook: a wheel carries the rule book and the catalogue of messages compiled; a run needs neither YAML nor pydantic.

An editable install carries nothing: a checkout compiles what has changed when it runs. The compiled forms are made in a
folder of their own, so that a build leaves the source tree as it was.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class CarryCompiled(BuildHookInterface):
    PLUGIN_NAME = "custom"
    made = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self.made = tempfile.mkdtemp(prefix="dslint-build-")
        build_data["force_include"].update({**carried(), **compiled(Path(self.made))})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.made:
            shutil.rmtree(self.made, ignore_errors=True)


def carried() -> dict[str, str]:
    """Rule files, which `dslint rule` prints, and schemas; not what the schemas are generated with."""
    files = [path for path in (ROOT / "rules").rglob("*.yaml") if path.parent.name != "messages"]
    files += (ROOT / "schemas").glob("*.json")
    files += (ROOT / "schemas" / "deepspeed").glob("*.json")
    return {str(path): f"dslint/data/{path.relative_to(ROOT).as_posix()}" for path in files}


def compiled(folder: Path) -> dict[str, str]:
    sys.path.insert(0, str(ROOT))
    try:
        from dslint.diagnosis.messagefile import compile_sources
        from dslint.rules.compile import compile_folder
    finally:
        sys.path.remove(str(ROOT))
    rules, messages = folder / "compiled.json", folder / "messages.json"
    compile_folder(str(ROOT / "rules"), str(rules))
    catalogue = compile_sources(ROOT / "rules" / "messages")
    # It holds the sources' times of change, which would make no two wheels alike and tell an installed wheel nothing.
    del catalogue["fingerprint"]
    messages.write_text(
        json.dumps(catalogue, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    return {str(rules): "dslint/data/rules/compiled.json", str(messages): "dslint/data/messages.json"}
