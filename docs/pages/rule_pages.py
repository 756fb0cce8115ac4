"""A page for every rule, and the list of them: drawn from the rule files, with what dslint says of their examples."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dslint import resources
from dslint.rules import book
from dslint.rules.compile import PLACEHOLDER, default_message, rule_files
from dslint.rules.examples import Bench
from dslint.rules.finding import Finding
from dslint.rules.model import Example, RuleFile

FAMILIES: dict[str, str] = {
    "syntax": "Syntax and loaders",
    "schema": "Keys and values",
    "precision": "Precision and loss scale",
    "batch": "Batch sizes",
    "zero": "ZeRO",
    "offload": "Offload",
    "optimizer": "Optimizers",
    "scheduler": "Schedulers",
    "blocks": "Other blocks",
    "trainer": "The Trainer",
    "launch": "Launches",
    "script": "Scripts",
    "program": "Python programs",
    "accelerate": "Accelerate YAML",
    "training": "LLaMA-Factory and Axolotl YAML",
    "ignores": "Ignores",
}

# No rule file tells of these two; dslint/silencing finds them.
IGNORES: dict[str, tuple[str, str, str]] = {
    "unused-ignore": (
        "DS001",
        "An ignore that silences nothing",
        """An ignore that outlives its finding hides the next one that comes to its place. So dslint reports every
`dslint: ignore[NAME]` and every `"//dslint": "ignore[NAME]"` that silenced nothing in this run, if the rule was checked.

## Fix

**safe**: the name is taken out, and with the last name the whole ignore. `dslint --fix` does it.

## Example

```json title="reported"
{
  "train_batch_size": 8,
  "gradient_clipping": 1.0  // dslint: ignore[gradient-clipping-off]
}
```
""",
    ),
    "invalid-ignore": (
        "DS002",
        "An ignore that names no rule",
        """An ignore counts only when it names rules that exist, so that it hides nothing else. `ignore` without names, and names
that no rule has, silence nothing and are reported; a near name is suggested.

## Fix

There is no automatic fix: only you know which rule was meant.

## Example

```json title="reported: `fp16-and-bf61` is no rule; did you mean `fp16-and-bf16`?"
{
  "fp16": {"enabled": true},  // dslint: ignore[fp16-and-bf61]
  "bf16": {"enabled": true}
}
```
""",
    ),
}

LANGUAGES: dict[str, str] = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "bash",
    ".py": "python",
    ".toml": "toml",
    ".txt": "text",
}


@cache
def rules() -> dict[str, list[RuleFile]]:
    """Family → its rules, by code."""
    found: dict[str, list[RuleFile]] = {}
    for path, rule in rule_files(resources.folder("rules")):
        found.setdefault(path.parent.name, []).append(rule)
    known = [*FAMILIES, *sorted(set(found) - set(FAMILIES))]
    return {family: sorted(found[family], key=lambda rule: rule.code) for family in known if family in found}


def title_of(family: str) -> str:
    return FAMILIES.get(family, family.replace("-", " ").capitalize())


def navigation() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [
        {title_of(family): [{rule.name: f"rules/{rule.name}.md"} for rule in listed]}
        for family, listed in rules().items()
    ]
    return [*entries, {title_of("ignores"): [{name: f"rules/{name}.md"} for name in IGNORES]}]


def pages() -> dict[str, str]:
    found = {"rules/index.md": index()}
    for family, listed in rules().items():
        for rule in listed:
            found[f"rules/{rule.name}.md"] = rule_page(rule, family)
    for name, (code, summary, text) in IGNORES.items():
        found[f"rules/{name}.md"] = (
            f"{front_matter(summary)}# {name}\n\n{badges(code, 'warning', title_of('ignores'))}\n\n**{summary}.**\n\n{text}"
        )
    return found


def index() -> str:
    count = sum(map(len, rules().values())) + len(IGNORES)
    parts = [
        f"# Rules\n\n{count} rules. **error**: the release stops. **warning**: it runs, but ignores what is written or harms the"
        " run. **info**: advice. **safe** fixes are applied with `--fix`, **unsafe** ones, which change training, with"
        " `--fix --unsafe-fixes`.\n"
    ]
    for family, listed in rules().items():
        parts.append(f"## {title_of(family)}\n\n{table(rows(listed))}")
    parts.append(
        f"## {title_of('ignores')}\n\n"
        + table((code, name, "warning", summary, "") for name, (code, summary, _) in IGNORES.items())
    )
    return "\n".join(parts)


def rows(listed: list[RuleFile]) -> Iterator[tuple[str, str, str, str, str]]:
    for rule in listed:
        yield rule.code, rule.name, rule.severity, rule.summary, ", ".join(safeties(rule))


def table(entries: Any) -> str:
    lines = ["| code | | rule | | fix |", "|---|---|---|---|---|"]
    for code, name, severity, summary, fix in entries:
        lines.append(f"| {code} | {chip(severity)} | [{name}]({name}.md) | {escape(summary)} | {fix} |")
    return "\n".join(lines) + "\n"


def safeties(rule: RuleFile) -> list[str]:
    return sorted({fix.safety for fix in rule.fixes} | set(shown_safeties(rule)))


def shown_safeties(rule: RuleFile) -> Iterator[str]:
    for example in rule.examples:
        finding = found_in(rule, example)
        if finding is not None and finding.fix is not None:
            yield finding.fix.safety


def rule_page(rule: RuleFile, family: str) -> str:
    """Title, severity, what it says, why, when, how it is mended, examples, sources."""
    parts = [
        f"{front_matter(rule.summary)}# {rule.name}",
        badges(rule.code, rule.severity, title_of(family)),
        f"**{rule.summary}.**",
        f"## Why\n\n{rule.why.strip()}",
        f"## When\n\n{conditions(rule)}",
        f"## Fix\n\n{fixes(rule)}",
        "## Examples\n\n" + "\n\n".join(example_text(rule, example) for example in rule.examples),
        "## Sources\n\n" + "\n".join(f"- <{source}>" for source in rule.sources),
        silencing(rule.name),
    ]
    return "\n\n".join(parts) + "\n"


def front_matter(summary: str) -> str:
    return f"---\ndescription: {json.dumps(summary)}\n---\n\n"


def badges(code: str, severity: str, family: str) -> str:
    return f"`{code}` · {chip(severity)} · {family}"


def chip(severity: str) -> str:
    return f'<span class="severity {severity}">{severity}</span>'


def conditions(rule: RuleFile) -> str:
    """The facts that the rule asks for besides the config's own text."""
    tables = [{**rule.when, **case} for case in rule.any] or [rule.when]
    facts = [
        ("DeepSpeed releases", sorted({str(case.get("$release", "all")) for case in tables})),
        *(
            (f"`{path}`", sorted({spelled(case[path]) for case in tables if path in case}))
            for path in fact_paths(tables)
        ),
    ]
    lines = [
        f"- {label}: {', '.join(f'`{value}`' if value != 'all' else 'all' for value in values)}"
        for label, values in facts
    ]
    if rule.check:
        lines.append(f"- found by the check `{rule.check}`, since a table of keys and values can't say it")
    if rule.generic:
        lines.append("- silent where a sharper rule speaks at the same place")
    return "\n".join(lines)


def fact_paths(tables: list[dict[str, Any]]) -> list[str]:
    return sorted({path for case in tables for path in case} - {"$release"})


def spelled(test: Any) -> str:
    return test if isinstance(test, str) else json.dumps(test, ensure_ascii=False)


def fixes(rule: RuleFile) -> str:
    lines = [
        f"- **{fix.safety}**: "
        + PLACEHOLDER.sub(r"*\1*", " ".join((fix.message or default_message(fix)).split()))
        for fix in rule.fixes
    ]
    if not lines:
        lines = [
            f"- **{finding.fix.safety}**: for example, {finding.fix.message}"
            for finding in (found_in(rule, example) for example in rule.examples)
            if finding is not None and finding.fix is not None
        ]
    return "\n".join(dict.fromkeys(lines)) or "There is no automatic fix."


def example_text(rule: RuleFile, example: Example) -> str:
    language = LANGUAGES.get(Path(example.filename).suffix, "text")
    facts = circumstances(example)
    if example.good is not None:
        return fence(language, f"good{facts}", pretty(example.good, language)) + others(example)
    bad = pretty(example.bad or "", language)
    parts = [fence(language, f"bad{facts}", bad) + others(example)]
    finding = found_in(rule, example)
    if finding is not None:
        parts.append(
            f'!!! quote ""\n\n    {finding.severity}[{rule.code}] {rule.name}: {escape(finding.message)}'
        )
    if example.fixed is not None:
        parts.append(fence("diff", "fixed", difference(bad, pretty(example.fixed, language))))
    return "\n\n".join(parts)


def others(example: Example) -> str:
    return "".join(
        "\n\n" + fence(LANGUAGES.get(Path(name).suffix, "text"), name, text)
        for name, text in example.files.items()
    )


def circumstances(example: Example) -> str:
    words = [
        text
        for text, value in (
            (f"DeepSpeed {example.release}", example.release),
            (f"under {example.framework}", example.framework),
            (f"on {example.hardware}", example.hardware),
            (f"{example.world_size} GPUs", example.world_size),
        )
        if value is not None
    ]
    where = [] if example.filename == "ds_config.json" else [example.filename]
    return "".join(f", {word}" for word in (*where, *words))


@cache
def book_of_rules() -> tuple[book.Rule, ...]:
    return book.load()


def found_in(rule: RuleFile, example: Example) -> Finding | None:
    """What dslint finds of this rule in a bad example."""
    if example.bad is None:
        return None
    return found_in_text(rule.code, example.model_dump_json())


@cache
def found_in_text(code: str, example: str) -> Finding | None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Example.model_validate_json(example), book_of_rules())
        met = [finding for finding in bench.lint(bench.workspace).findings if finding.code == code]
    return met[0] if met else None


def fence(language: str, title: str, text: str) -> str:
    # A fence longer than any in the text.
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f'{ticks}{language} title="{title}"\n{text.rstrip()}\n{ticks}'


def difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def pretty(text: str, language: str) -> str:
    """JSON that stands in one long line, laid out; everything else as it is."""
    flat = text.strip()
    if language != "json" or "\n" in flat or len(flat) < 60:
        return flat
    try:
        plain = json.loads(flat, object_pairs_hook=Pairs, parse_float=raw, parse_int=raw, parse_constant=raw)
    except ValueError:
        return flat
    return laid_out(plain, "")


class Pairs(list[tuple[str, Any]]):
    """An object's members in order, repeated keys and all."""


class Raw(str):
    """A number as it is spelled."""


def raw(text: str) -> Raw:
    return Raw(text)


def laid_out(value: Any, indent: str) -> str:
    """A line for each member, save where an object is short enough for one line."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        flat = "{" + ", ".join(f"{json.dumps(key)}: {laid_out(item, '')}" for key, item in value) + "}"
        if indent and len(flat) + len(indent) <= 60 and "\n" not in flat:
            return flat
        inner = indent + "  "
        members = [f"{inner}{json.dumps(key)}: {laid_out(item, inner)}" for key, item in value]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}" if members else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(laid_out(item, indent) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def silencing(name: str) -> str:
    return (
        "## Silencing\n\nIn a comment on the line or the line before: "
        f'`dslint: ignore[{name}] reason`; in plain JSON, in the object: `"//dslint": "ignore[{name}]"`; for good: '
        f'`ignore = ["{name}"]` in the [settings](../settings.md).'
    )


def escape(text: str) -> str:
    """Text that Markdown takes as it stands."""
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", text)


def names() -> set[str]:
    return {rule.name for listed in rules().values() for rule in listed} | set(IGNORES)


def by_code() -> Mapping[str, RuleFile]:
    return {rule.code: rule for listed in rules().values() for rule in listed}
