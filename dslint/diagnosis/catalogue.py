"""The catalogue as it is loaded: compiled JSON, made on demand in a checkout, carried by an installed wheel."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from dslint.diagnosis.message import Catalogue, Message, Pattern
from dslint.resources import CHECKOUT, INSTALLED, folder, is_checkout

SOURCES: Final = Path(folder("rules")) / "messages"
# Where a checkout keeps what it has compiled, and an installed wheel carries what was compiled for it.
CACHE: Final = Path(CHECKOUT) / "rules" / "messages.compiled.json"
CARRIED: Final = (Path(INSTALLED) / "messages.json", Path(INSTALLED) / "rules" / "messages.compiled.json")


class CatalogueError(Exception):
    """The catalogue cannot be read; the sentence says which file, what is wrong there, and what to do."""


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The catalogue of this installation. Raises CatalogueError."""
    if is_checkout():
        return decode(_fresh(SOURCES, CACHE))
    for carried in CARRIED:
        if carried.is_file():
            return decode(_read(carried))
    if SOURCES.is_dir():
        return decode(_compile_in_memory(SOURCES))
    raise CatalogueError(
        f"{CARRIED[0]}: the catalogue of messages is missing from this installation; install dslint again"
    )


def compile_catalogue(source_dir: Path, target: Path) -> None:
    """Check the YAML files of `source_dir` and write the compiled catalogue to `target`. Raises CatalogueError."""
    from dslint.diagnosis.messagefile import compile_sources

    compiled = compile_sources(source_dir)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and moved into place: two runs at once must not read each other's half.
    aside = target.with_name(f".{target.name}.{id(compiled):x}")
    aside.write_text(json.dumps(compiled, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    aside.replace(target)


def fingerprint(source_dir: Path) -> list[list[Any]]:
    """What tells whether a compiled form is still of these files, and of the code that compiles: sizes and times of change."""
    here = Path(__file__).parent
    code = [here / name for name in ("anchors.py", "message.py", "messagefile.py", "template.py")]
    stats = ((path.name, path.stat()) for path in (*sorted(source_dir.glob("*.yaml")), *code))
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]


def decode(compiled: dict[str, Any]) -> Catalogue:
    """The compiled form as objects."""
    return Catalogue(tuple(_message(item) for item in compiled["messages"]), tuple(compiled["anchors"]))


def _fresh(sources: Path, cache: Path) -> dict[str, Any]:
    expected = fingerprint(sources)
    if cache.is_file():
        try:
            compiled = _read(cache)
        except CatalogueError:
            compiled = {}
        if compiled.get("fingerprint") == expected:
            return compiled
    try:
        compile_catalogue(sources, cache)
        return _read(cache)
    except OSError:
        # A checkout that may not be written to still has its sources.
        return _compile_in_memory(sources)


def _compile_in_memory(sources: Path) -> dict[str, Any]:
    from dslint.diagnosis.messagefile import compile_sources

    return compile_sources(sources)


def _read(path: Path) -> dict[str, Any]:
    try:
        compiled: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogueError(
            f"{path}: cannot be read as the compiled catalogue ({error}); delete it to have it made again"
        ) from error
    return compiled


def _message(item: dict[str, Any]) -> Message:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in item.items()
    }
    values["patterns"] = tuple(_pattern(row) for row in item["patterns"])
    values["captures"] = tuple(_pattern(row) for row in item["captures"])
    return Message(**values)


def _pattern(row: list[Any]) -> Pattern:
    pattern, squeezed, literal, squeezed_literal, weight, words = row
    return Pattern(pattern, squeezed, literal, squeezed_literal, weight, tuple(words))
