"""rules/messages/*.yaml: read, checked and compiled. Only compiling needs this module, with ruamel.yaml and pydantic."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dslint.diagnosis.anchors import ANCHORS, rarest, whole_words
from dslint.diagnosis.catalogue import CatalogueError, fingerprint
from dslint.diagnosis.template import Template, TemplateError, read_template, squeeze

Trouble = Literal[
    "loss-scale-floor",
    "overflow-run",
    "all-steps-skipped",
    "loss-nan",
    "loss-zero",
    "gradient-nan",
    "gradient-zero",
    "rate-zero",
    "rate-constant",
    "clip-missing",
    "world-too-small",
    "precision-at-odds",
]


Framework = Literal["deepspeed", "transformers", "accelerate", "lightning"]


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_several)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Example(BaseModel):
    """A log excerpt as the software prints it, what is captured from it and where that points."""

    model_config = ConfigDict(extra="forbid")

    log: str
    captures: dict[str, str] = {}
    at: list[str] = []


class Entry(BaseModel):
    """One message as it is written; `dslint.diagnosis.message.Message` says what the fields mean.

    `bare`: it can be printed without a level or an exception's name before it, so these pieces of it are searched for.
    """

    model_config = ConfigDict(extra="forbid")

    name: Name
    summary: Annotated[str, Field(min_length=5, max_length=90)]
    level: Literal["cause", "symptom", "consequence"] = "cause"
    severity: Literal["error", "warning", "info"] = "error"
    match: Texts = []
    capture: Texts = []
    metric: Trouble | None = None
    near: Texts = []
    unless: Texts = []
    needs: Literal["deepspeed", "zero3"] | None = None
    least: Annotated[int, Field(ge=1)] = 1
    bare: Texts = []
    rules: Annotated[list[Name], BeforeValidator(_several)] = []
    framework: Framework | None = None
    at: Texts = []
    why: Texts
    fix: Texts
    releases: str | None = None
    sources: Annotated[Texts, Field(min_length=1)]
    evidence: Literal["engine", "transformers", "accelerate", "source", "thread", "documentation"]
    includes: Texts = []
    examples: list[Example] = []


class MessageFile(BaseModel):
    """One file: a family and its messages, with the framework that prints all of them."""

    model_config = ConfigDict(extra="forbid")

    family: Name
    framework: Framework | None = None
    messages: Annotated[list[Entry], Field(min_length=1)]


def read_file(path: Path) -> MessageFile:
    """One file of messages, checked. Raises CatalogueError."""
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, YAMLError) as error:
        raise CatalogueError(f"{path}: cannot be read as YAML: {error}") from error
    try:
        return MessageFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CatalogueError(f"{path}: {place}: {first['msg']}") from error


def read_sources(source_dir: Path) -> list[tuple[str, Entry]]:
    """Every message with its family. Raises CatalogueError for a broken file, a name given twice, or no file at all."""
    paths = sorted(source_dir.glob("*.yaml"))
    if not paths:
        raise CatalogueError(f"{source_dir}: holds no message file (*.yaml)")
    entries: list[tuple[str, Entry]] = []
    seen: dict[str, Path] = {}
    for path in paths:
        content = read_file(path)
        for entry in content.messages:
            if entry.name in seen:
                raise CatalogueError(f"{path}: the message {entry.name!r} is in {seen[entry.name]} already")
            if bool(entry.match) == bool(entry.metric):
                raise CatalogueError(f"{path}: {entry.name}: give either `match` or `metric`")
            seen[entry.name] = path
            entry.framework = entry.framework or content.framework
            entries.append((content.family, entry))
    for _, entry in entries:
        for name in entry.includes:
            if name not in seen:
                raise CatalogueError(
                    f"{seen[entry.name]}: {entry.name}: includes the unknown message {name!r}"
                )
    return entries


def compile_sources(source_dir: Path) -> dict[str, Any]:
    """The compiled form of a folder of message files. Raises CatalogueError."""
    entries = read_sources(source_dir)
    templates = {entry.name: _templates(family, entry, source_dir) for family, entry in entries}
    counts = Counter(
        word
        for matches, _ in templates.values()
        for template in matches
        for word in set(whole_words(template.literals))
    )
    anchors = list(ANCHORS)
    for _, entry in entries:
        anchors += [text for text in entry.bare if not any(anchor in text for anchor in anchors)]
    messages = [_compile(family, entry, templates[entry.name], counts) for family, entry in entries]
    return {"fingerprint": fingerprint(source_dir), "anchors": anchors, "messages": messages}


def _templates(family: str, entry: Entry, source_dir: Path) -> tuple[list[Template], list[Template]]:
    try:
        return [read_template(text) for text in entry.match], [read_template(text) for text in entry.capture]
    except TemplateError as error:
        raise CatalogueError(f"{source_dir / family}.yaml: {entry.name}: {error}") from error


def _compile(
    family: str, entry: Entry, templates: tuple[list[Template], list[Template]], counts: Counter[str]
) -> dict[str, Any]:
    matches, captures = templates
    return {
        "name": entry.name,
        "family": family,
        "summary": entry.summary,
        "level": entry.level,
        "severity": entry.severity,
        "patterns": [_row(template, rarest(whole_words(template.literals), counts)) for template in matches],
        "captures": [_row(template, []) for template in captures],
        "metric": entry.metric,
        "near": entry.near,
        "unless": entry.unless,
        "needs": entry.needs,
        "least": entry.least,
        "rules": entry.rules,
        "framework": entry.framework,
        "at": entry.at,
        "why": [" ".join(text.split()) for text in entry.why],
        "fix": [" ".join(text.split()) for text in entry.fix],
        "releases": entry.releases,
        "sources": entry.sources,
        "evidence": entry.evidence,
        "includes": entry.includes,
    }


def _row(template: Template, words: list[str]) -> list[Any]:
    literal = template.longest
    return [template.pattern, template.squeezed, literal, squeeze(literal), template.weight, words]
