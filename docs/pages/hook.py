"""mkdocs hook: the pages that are drawn from the rule files, the schemas and the command line join those written by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import hardware_page  # noqa: E402
import options_page  # noqa: E402
import releases_page  # noqa: E402
import rule_pages  # noqa: E402
import settings_page  # noqa: E402

from dslint.releases.release import NEWEST  # noqa: E402
from dslint.releases.schema import full_schema, known_schemas  # noqa: E402


def on_config(config: Any) -> Any:
    """The families of rules become a part of the navigation."""
    for entry in config.nav:
        if "Rules" in entry:
            entry["Rules"] += rule_pages.navigation()
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    for path, text in schemas().items():
        files.append(File.generated(config, path, content=text))
    # The list of rules is at /rules/, where every rule's page is; the format, docs/rules.md, goes beside.
    format_page = files.get_file_from_path("rules.md")
    format_page.dest_uri, format_page.url = "rule-format/index.html", "rule-format/"
    return files


def pages() -> dict[str, str]:
    """Path below docs/ → Markdown."""
    return {
        **rule_pages.pages(),
        "options.md": options_page.page(),
        "settings.md": settings_page.page(),
        "releases.md": releases_page.page(),
        "hardware.md": hardware_page.page(),
        "changes.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }


def schemas() -> dict[str, str]:
    """What editors fetch: the addresses of schemas/catalog-entry.json, and the schemas of settings and rule files."""
    found = {f"schemas/deepspeed-{name}.json": releases_page.schema_of(name) for name in known_schemas()}
    found["schemas/deepspeed.json"] = full_schema(NEWEST)
    texts = {path: json.dumps(schema, ensure_ascii=False) for path, schema in found.items()}
    for name in ("settings.json", "rule.json"):
        texts[f"schemas/{name}"] = (ROOT / "schemas" / name).read_text(encoding="utf-8")
    return texts
