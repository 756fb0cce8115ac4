"""Files that say which version of a package a repository uses, and how each kind of them says it.

A reader takes a file's source and the pattern of the packages that are looked for, and yields mentions.
Readers of TOML and Python parse the file; the others go by lines, which is how those formats are
written.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from dslint.documents.tree import Place, Source
from dslint.releases.requirement_names import read
from dslint.releases.specifiers import from_conda, from_poetry


class Mention(NamedTuple):
    """A package with the specifier that a file gives it (PEP 440, "" for none) and where it stands."""

    package: str
    specifier: str
    place: Place


class Wanted(NamedTuple):
    """The packages that are looked for, as patterns. A name's `-`, `_` and `.` are alike, so is its case.

    They are texts, for each kind of file needs few of them and `re` keeps what it has compiled.
    """

    requirement: str
    link: str
    locked: str
    pipfile_locked: str
    name: str


@lru_cache(maxsize=8)
def wanted(packages: tuple[str, ...]) -> Wanted:
    name = f"(?P<name>{'|'.join(package.replace('-', '[-_.]') for package in packages)})"
    version = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!]+"
    return Wanted(
        # deepspeed[extra] >=0.10, <0.15 — or with brackets around the specifier
        rf"(?i)(?<![\w./-]){name}(?:\s*\[[\w,\s.-]*\])?"
        rf"(?:\s*\(?(?P<specifier>{version}(?:\s*,\s*{version})*)|(?![\w.-]))",
        # …/DeepSpeed.git@v0.14.5, …/deepspeed-0.14.5.tar.gz, …/DeepSpeed/archive/refs/tags/v0.14.5.zip
        rf"(?i)/{name}(?:\.git)?(?:@|-|/archive/(?:refs/tags/)?)v?(?P<version>\d+\.\d+(?:\.\d+)?)(?!\.?\d)",
        rf'(?im)^name = "{name}"\r?\nversion = "(?P<version>[^"]+)"',
        rf'(?is)"{name}"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"(?P<specifier>[^"]+)"',
        rf"(?i){name}",
    )


Reader = Callable[[Source, Wanted], Iterable[Mention]]


def package_of(match: re.Match[str]) -> str:
    return re.sub(r"[-_.]+", "-", match["name"]).lower()


def found(source: Source, match: re.Match[str], offset: int = 0, specifier: str | None = None) -> Mention:
    if specifier is None:
        specifier = match["specifier"] or ""
    place = Place(source, match.start() + offset, match.end() + offset)
    return Mention(package_of(match), re.sub(r"\s+", "", specifier), place)


def lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their offsets, without line ends."""
    offset = 0
    for line in text.splitlines(keepends=True):
        yield offset, line.rstrip("\r\n")
        offset += len(line)


def without_comment(line: str) -> str:
    """A line up to its `#`, if that starts it or stands after a blank."""
    match = re.search(r"(?:^|\s)#", line)
    return line[: match.start()] if match else line


INCLUDE = r"(?m)^\s*(?:-r|--requirement|-c|--constraint)(?:\s+|=)(?P<path>\S+)"


def requirements(source: Source, want: Wanted) -> Iterator[Mention]:
    yield from requirement_lines(source, want, set())


def requirement_lines(source: Source, want: Wanted, seen: set[str]) -> Iterator[Mention]:
    """A requirements file and those that it includes, each once."""
    seen.add(os.path.realpath(source.path))
    for offset, line in lines(source.text):
        text = without_comment(line)
        included = re.match(INCLUDE, text)
        if included:
            path = os.path.join(os.path.dirname(source.path), included["path"])
            other = read(path) if os.path.realpath(path) not in seen else None
            if other is not None:
                yield from requirement_lines(other, want, seen)
            continue
        yield from requirement(source, want, text, offset)


def requirement(source: Source, want: Wanted, text: str, offset: int) -> Iterator[Mention]:
    """A requirement at the start of a text: `name[extra]==version; marker`, `name @ link` or a bare link."""
    link = re.search(want.link, text) if "/" in text else None
    if link and not re.search(r"[=<>~]=", text[: link.start()]):
        yield found(source, link, offset, f"=={link['version']}")
        return
    start = len(text) - len(text.lstrip())
    match = re.match(want.requirement, text[start:])
    if match:
        yield found(source, match, offset + start)


def pyproject(source: Source, want: Wanted) -> Iterator[Mention]:
    """pyproject.toml and Pipfile: lists of requirements, and tables of names with constraints."""
    data = toml(source.text)
    if data is None:
        return
    for text in strings_of(data):
        for mention in requirement(source, want, text, 0):
            at = quoted(source.text, text)
            yield mention._replace(place=Place(source, at, at + len(text)))
    for table in tables_of(data):
        for key, value in table.items():
            match = re.fullmatch(want.name, key)
            constraint = value.get("version") if isinstance(value, dict) else value
            if match and isinstance(constraint, str):
                yield Mention(package_of(match), from_poetry(constraint), entry(source, key, constraint))


def toml(text: str) -> dict[str, Any] | None:
    """The content of a TOML file, or None where it is broken."""
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        data: dict[str, Any] = parser.loads(text)
    except ValueError:
        return None
    return data


def at(data: Any, *keys: str) -> Any:
    """The value at a path of keys, or an empty dict; `*` stands for every key: a list of what is there."""
    for index, key in enumerate(keys):
        if not isinstance(data, dict):
            return {}
        if key == "*":
            return [at(value, *keys[index + 1 :]) for value in data.values()]
        data = data.get(key, {})
    return data


LISTS = (
    ("project", "dependencies"),
    ("project", "optional-dependencies", "*"),
    ("dependency-groups", "*"),
    ("tool", "uv", "dev-dependencies"),
    ("tool", "uv", "constraint-dependencies"),
    ("tool", "uv", "override-dependencies"),
    ("tool", "pdm", "dev-dependencies", "*"),
    ("tool", "hatch", "envs", "*", "dependencies"),
    ("tool", "hatch", "envs", "*", "extra-dependencies"),
)
TABLES = (
    ("tool", "poetry", "dependencies"),
    ("tool", "poetry", "dev-dependencies"),
    ("tool", "poetry", "group", "*", "dependencies"),
    ("tool", "pixi", "dependencies"),
    ("tool", "pixi", "pypi-dependencies"),
    ("tool", "pixi", "feature", "*", "pypi-dependencies"),
    ("packages",),
    ("dev-packages",),
)


def strings_of(data: dict[str, Any]) -> Iterator[str]:
    for keys in LISTS:
        stack = [at(data, *keys)]
        while stack:
            value = stack.pop(0)
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                stack = [*value, *stack]


def tables_of(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for keys in TABLES:
        value = at(data, *keys)
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict):
                yield table


def quoted(text: str, value: str) -> int:
    """Where a string stands in a TOML text, outside of comments; 0 if it is written in some escaped way."""
    for match in re.finditer(rf"""["']{re.escape(value)}["']""", text):
        line = text.rfind("\n", 0, match.start()) + 1
        if not text[line : match.start()].lstrip().startswith("#"):
            return match.start() + 1
    return 0


def entry(source: Source, key: str, constraint: str) -> Place:
    """Where `key = "constraint"` or `key = {version = "constraint"}` stands."""
    pattern = rf"""^[ \t]*["']?{re.escape(key)}["']?\s*=.*?["']{re.escape(constraint)}["']"""
    match = re.search(pattern, source.text, re.MULTILINE)
    return Place(source, match.start(), match.end()) if match else Place(source, 0, 0)


def setup_cfg(source: Source, want: Wanted) -> Iterator[Mention]:
    """install_requires and extras_require: one requirement a line, indented or behind the key."""
    section = ""
    for offset, line in lines(source.text):
        text = without_comment(line)
        heading = re.match(r"\[([^\]]+)\]", text)
        if heading:
            section = heading[1].strip()
        elif section in ("options", "options.extras_require"):
            key = re.match(r"[\w.-]+\s*=(?!=)\s*", text)
            start = key.end() if key else 0
            yield from requirement(source, want, text[start:], offset + start)


def setup_py(source: Source, want: Wanted) -> Iterator[Mention]:
    """Literal install_requires and extras_require, also by a name that the module binds to a list."""
    import ast

    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return
    bound = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg not in ("install_requires", "extras_require"):
                continue
            value = keyword.value
            if isinstance(value, ast.Name):
                value = bound.get(value.id, value)
            for item in ast.walk(value):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    for mention in requirement(source, want, item.value, 0):
                        start = offset_of(source, item.lineno, item.col_offset)
                        end = offset_of(source, item.end_lineno or item.lineno, item.end_col_offset or 0)
                        yield mention._replace(place=Place(source, start, end))


def offset_of(source: Source, row: int, column: int) -> int:
    """The character offset of a place that `ast` names: a row from 1 and a column in UTF-8 bytes."""
    for number, (offset, line) in enumerate(lines(source.text), 1):
        if number == row:
            return offset + len(line.encode()[:column].decode(errors="ignore"))
    return 0


def environment(source: Source, want: Wanted) -> Iterator[Mention]:
    """A conda environment: `- deepspeed=0.14.5`, and below `- pip:` the requirements that pip reads."""
    pip: int | None = None
    for offset, line in lines(source.text):
        item = re.match(r"""(\s*)-\s+["']?""", without_comment(line))
        if not item:
            continue
        indent = len(item[1])
        text = without_comment(line)[item.end() :].rstrip("\"' ")
        if pip is not None and indent <= pip:
            pip = None
        if text == "pip:":
            pip = indent
        elif pip is not None:
            yield from requirement(source, want, text, offset + item.end())
        else:
            yield from conda(source, want, text, offset + item.end())


def conda(source: Source, want: Wanted, text: str, offset: int) -> Iterator[Mention]:
    channel = re.match(r"[\w./-]+::", text)
    start = channel.end() if channel else 0
    match = re.match(want.name + r"(?=$|[\s=<>!~])", text[start:])
    if match:
        specifier = from_conda(text[start + match.end() :].strip().replace(" ", ","))
        yield Mention(package_of(match), specifier, Place(source, offset + start, offset + len(text)))


def lock(source: Source, want: Wanted) -> Iterator[Mention]:
    """uv.lock, poetry.lock, pdm.lock, pylock.toml: tools write them, always a name above its version."""
    for match in re.finditer(want.locked, source.text):
        yield found(source, match, specifier=f"=={match['version']}")


def pipfile_lock(source: Source, want: Wanted) -> Iterator[Mention]:
    for match in re.finditer(want.pipfile_locked, source.text):
        yield found(source, match)


VARIABLE = r"\$\{?(\w+)\}?"


def dockerfile(source: Source, want: Wanted) -> Iterator[Mention]:
    """What RUN lines install, with the defaults of ARG and ENV filled in."""
    values: dict[str, str] = {}
    running = False
    for offset, line in lines(source.text):
        text = without_comment(line)
        word = re.match(r"\s*([A-Za-z]+)\s", text)
        instruction = word[1].upper() if word and not running else "RUN" if running else ""
        if instruction in ("ARG", "ENV"):
            for setting in re.finditer(r"""(\w+)[= ]["']?([\w.+-]+)""", text[word.end() :] if word else ""):
                values[setting[1]] = setting[2]
        elif instruction == "RUN":
            filled = re.sub(VARIABLE, lambda name: values.get(name[1], name[0]), text)
            yield from installed_by(source, want, text, filled, offset)
            running = text.rstrip().endswith("\\") or (running and not text.strip())


def installed_by(source: Source, want: Wanted, text: str, filled: str, offset: int) -> Iterator[Mention]:
    for match in re.finditer(want.requirement, filled):
        if match["specifier"]:
            # Where a variable was filled in, the name is what can be pointed at.
            name = None if text == filled else re.search(want.name, text)
            start, end = (name or match).span()
            yield found(source, match)._replace(place=Place(source, offset + start, offset + end))
    for match in re.finditer(want.link, filled):
        if text == filled:
            yield found(source, match, offset, f"=={match['version']}")


READERS: dict[str, Reader] = {
    "requirements": requirements,
    "constraints": requirements,
    "pyproject": pyproject,
    "setup.cfg": setup_cfg,
    "setup.py": setup_py,
    "environment": environment,
    "lock": lock,
    "pipfile.lock": pipfile_lock,
    "dockerfile": dockerfile,
}
