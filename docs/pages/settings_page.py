"""Every setting, from schemas/settings.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[2] / "schemas" / "settings.json"

HEAD = """# Settings

Settings live in `[tool.dslint]` of pyproject.toml, or in dslint.toml without a table; the nearest one upwards of the working
directory counts. An option on the command line wins. An unknown setting is an error, with the name that was likely meant.
`dslint --show-settings` prints what is in force and where each value comes from; `dslint --show-files`, which files a run reads.

```toml title="pyproject.toml"
[tool.dslint]
hardware = "a100"
world-size = 8
framework = "transformers"
ignore = ["learning-rates-at-odds"]

[tool.dslint.per-file-ignores]
"legacy/**" = ["DS2"]

[tool.dslint.severity]
unknown-key = "error"
```

The schema of the table is `schemas/settings.json`; editors with a TOML language server complete and check it.

"""


def page() -> str:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return HEAD + "\n".join(section(name, entry) for name, entry in schema["properties"].items())


def section(name: str, entry: dict[str, Any]) -> str:
    lines = [f"## {name}", entry.get("description", "")]
    if "enum" in entry:
        lines.append("One of " + ", ".join(f"`{value}`" for value in entry["enum"]) + ".")
    if "default" in entry:
        lines.append(f"Default: `{json.dumps(entry['default'])}`")
    lines += [f"```toml\n{toml(name, example)}\n```" for example in entry.get("examples", [])]
    return "\n\n".join(line for line in lines if line) + "\n"


def toml(name: str, value: Any) -> str:
    if isinstance(value, dict):
        members = "\n".join(f"{json.dumps(key)} = {json.dumps(item)}" for key, item in value.items())
        return f"[tool.dslint.{name}]\n{members}"
    return f"[tool.dslint]\n{name} = {json.dumps(value)}"
