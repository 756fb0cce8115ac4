"""What a repository or a command line asks of dslint: `[tool.dslint]`, dslint.toml and options → `Settings`.

The nearest settings file upwards counts alone; those further up are not read. Nothing in it can name code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NoReturn, cast

from dslint.rules.finding import Severity

if TYPE_CHECKING:
    from dslint.rules.book import Rule

FailOn = Literal["error", "warning", "info", "never"]
Framework = Literal["deepspeed", "transformers", "accelerate", "lightning"]
Format = Literal["full", "concise", "json", "sarif", "github", "gitlab", "junit"]

FILE: Final = "dslint.toml"
PROJECT: Final = "pyproject.toml"
SEVERITIES: Final = ("error", "warning", "info")
ALL: Final = "ALL"


class SettingsError(ValueError):
    """Settings that cannot be used: one sentence with the file, the row where it is known, and what to do."""


class Layer(NamedTuple):
    """A choice of rules. `select` is None when nothing was chosen anew, so that what came before stays."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


NOTHING: Final = Layer()


# A NamedTuple, as a frozen dataclass of this size would cost a cold start a millisecond more.
class Settings(NamedTuple):
    """Everything that can be set. None and empty mean "not set".

    - select, extend_select, ignore, unfixable: rules by name, by code, by the start of a code (DS2), or ALL;
    - per_file_ignores: glob → rules; severity: rule → the severity that it gets;
    - include, exclude: patterns as in .gitignore; these and the globs are relative to `root`;
    - rules: folders with rule files; baseline: a file; both absolute when they come from a settings file;
    - world_size: the number of processes; deepspeed_version: as in "0.19.8";
    - file: the settings file, None without one; root: its folder, absolute, else empty;
    - options: the choice of rules on the command line, which goes over the file's;
    - origins: "file" or "option" by setting, for --show-settings; what is not in it has its default.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = {}
    severity: Mapping[str, Severity] = {}
    fail_on: FailOn = "warning"
    hardware: str | None = None
    world_size: int | None = None
    framework: Framework | None = None
    deepspeed_version: str | None = None
    rules: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    output_format: Format = "full"
    baseline: str | None = None
    file: str | None = None
    root: str = ""
    options: Layer = NOTHING
    origins: Mapping[str, str] = {}


class FormError(Exception):
    """A value of the wrong form; the text says what it should be."""


def text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise FormError("a text")


def texts(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value):
        return tuple(dict.fromkeys(value))
    raise FormError("a list of texts")


def boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise FormError("true or false")


def count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise FormError("a whole number from 1")


def version(value: object) -> str:
    if isinstance(value, str) and re.match(r"^[0-9]+(\.[0-9]+)+", value):
        return value
    raise FormError('a release in quotes, such as "0.19.8"')


def one_of(*choices: str) -> Callable[[object], str]:
    def reader(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise FormError("one of " + ", ".join(f'"{choice}"' for choice in choices))

    return reader


def table(form: str, reader: Callable[[object], Any]) -> Callable[[object], dict[str, Any]]:
    def read_table(value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or "" in value:
            raise FormError(form)
        try:
            return {key: reader(item) for key, item in value.items()}
        except FormError as wrong:
            raise FormError(f"{form}, each {wrong}") from None

    return read_table


READERS: Final[dict[str, Callable[[object], Any]]] = {
    "select": texts,
    "ignore": texts,
    "extend-select": texts,
    "per-file-ignores": table("a table of globs with the rules to ignore", texts),
    "severity": table("a table of rules with their severity", one_of(*SEVERITIES)),
    "fail-on": one_of(*SEVERITIES, "never"),
    "hardware": text,
    "world-size": count,
    "framework": one_of("deepspeed", "transformers", "accelerate", "lightning"),
    "deepspeed-version": version,
    "rules": texts,
    "include": texts,
    "exclude": texts,
    "unfixable": texts,
    "unsafe-fixes": boolean,
    "output-format": one_of("full", "concise", "json", "sarif", "github", "gitlab", "junit"),
    "baseline": text,
}


def load(start: str | os.PathLike[str], config: str | os.PathLike[str] | None, isolated: bool) -> Settings:
    """The settings for a folder: of `config` when given, else of the nearest settings file upwards.

    `isolated` reads no file at all.

    Raises:
        SettingsError: the file cannot be read, is no TOML, or sets something wrongly.
    """
    if isolated:
        if config is not None:
            raise SettingsError(
                "--isolated reads no settings file, so --config cannot go with it; leave one of them out"
            )
        return Settings()
    if config is not None:
        return of_file(os.fspath(config))
    here = os.path.abspath(os.fspath(start))
    while True:
        settings = of_folder(here)
        if settings is not None:
            return settings
        parent = os.path.dirname(here)
        if parent == here:
            return Settings()
        here = parent


def of_folder(folder: str) -> Settings | None:
    """The settings that a folder holds: its dslint.toml, else its pyproject.toml's table."""
    own = os.path.join(folder, FILE)
    if os.path.isfile(own):
        return of_file(own)
    project = os.path.join(folder, PROJECT)
    # A search for the word spares most repositories the TOML parser.
    if os.path.isfile(project) and b"dslint" in content(project):
        table = project_table(project, parsed(project))
        return None if table is None else read(table, project)
    return None


def of_file(path: str) -> Settings:
    whole = parsed(path)
    if os.path.basename(path) != PROJECT:
        return read(whole, path)
    table = project_table(path, whole)
    if table is None:
        raise SettingsError(
            f"{path}: there is no [tool.dslint] in it; add that table or name another --config"
        )
    return read(table, path)


def project_table(path: str, whole: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tool = whole.get("tool")
    table = tool.get("dslint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise SettingsError(f"{where(path, 'dslint')}: tool.dslint must be a table; write [tool.dslint]")
    return table


# Bytes of a settings file; pyproject.toml of large projects has some tens of thousands.
LARGEST: Final = 200_000
# A dotted key, and its parts from which on it is none: the TOML parser takes quadratic time for them.
DOTTED: Final = rb"[\w \t.-]+"
MOST_PARTS: Final = 100


def content(path: str) -> bytes:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise SettingsError(
                f"{path}: the settings file is no regular file; name another or use --isolated"
            )
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
            if len(data) > LARGEST and os.path.basename(path) == PROJECT:
                # Another tool's long lists are no reason to stop.
                data += file.read(100 * LARGEST)
                data = data if b"tool.dslint" in data else b""
        if len(data) > LARGEST:
            raise SettingsError(
                f"{path}: the settings file is larger than {LARGEST:,} bytes, which no settings are"
            )
        return data
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise SettingsError(
            f"{path}: the settings file cannot be read ({reason}); name another or use --isolated"
        ) from None


def project_settings(text: str) -> object:
    """The table [tool.dslint] in the text of a pyproject.toml; None without one, or when it can't be read."""
    try:
        tool = toml_parser().loads(text).get("tool")
    except (ValueError, RecursionError):
        return None
    return tool.get("dslint") if isinstance(tool, dict) else None


def toml_parser() -> Any:
    # Imported here, by name: most runs have no settings, and 3.10 has no tomllib.
    return __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")


def parsed(path: str) -> dict[str, Any]:
    toml = toml_parser()
    data = content(path)
    try:
        if any(match.group().count(b".") > MOST_PARTS for match in re.finditer(DOTTED, data)):
            raise RecursionError
        return cast("dict[str, Any]", toml.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise SettingsError(f"{called(path)}: the settings file is not UTF-8; save it as UTF-8") from None
    except toml.TOMLDecodeError as error:
        raise SettingsError(f"{called(path)}: this is no valid TOML: {error}") from None
    except RecursionError:
        raise SettingsError(f"{called(path)}: this is no valid TOML: it is nested too deeply") from None
    except ValueError:
        raise SettingsError(f"{called(path)}: this is no valid TOML: a number in it is too long") from None


def read(table: Mapping[str, object], path: str) -> Settings:
    """A settings table → Settings. Errors name `path`, and paths in the table are relative to its folder.

    Raises:
        SettingsError: a key is unknown or a value has the wrong form.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = READERS.get(key)
        if reader is None:
            refuse_key(path, key)
        try:
            values[key.replace("-", "_")] = reader(value)
        except FormError as wrong:
            raise SettingsError(
                f"{where(path, key)}: `{key}` must be {wrong}, not {described(value)}"
            ) from None
    root = os.path.dirname(os.path.abspath(path))
    if "rules" in values:
        values["rules"] = tuple(os.path.normpath(os.path.join(root, folder)) for folder in values["rules"])
    if "baseline" in values:
        values["baseline"] = os.path.normpath(os.path.join(root, values["baseline"]))
    return Settings(**values, file=path, root=root, origins=dict.fromkeys(table, "file"))


def refuse_key(path: str, key: str) -> NoReturn:
    close = nearest(key.replace("_", "-"), READERS)
    hint = f"did you mean `{close}`?" if close else "the settings are " + ", ".join(READERS)
    raise SettingsError(f"{where(path, key)}: there is no setting `{key}`; {hint}")


def nearest(word: str, words: Collection[str]) -> str | None:
    """The word that was probably meant."""
    # Imported here: only mistakes need it.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(words), n=1, cutoff=0.6)), None)


def described(value: object) -> str:
    """A wrong value as a person wrote it, not too long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, dict)) and not value:
        return "an empty list" if isinstance(value, list) else "an empty table"
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def where(path: str, key: str) -> str:
    """`pyproject.toml:12`, or the file alone when the key's row cannot be told."""
    row = row_of(path, key)
    return f"{called(path)}:{row}" if row else called(path)


def called(path: str) -> str:
    """A settings file as errors name it: relative to the working directory when it lies below."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return path if relative.startswith("..") else relative


def row_of(path: str, key: str) -> int | None:
    """The row on which a settings key is written, looked for here as TOML parsers give no positions."""
    try:
        lines = content(path).decode("utf-8-sig", errors="replace").splitlines()
    except SettingsError:
        return None
    inside = os.path.basename(path) != PROJECT
    quoted = rf"[\"']?{re.escape(key)}[\"']?"
    sets = re.compile(rf"\s*(?:tool\s*\.\s*)?(?:dslint\s*\.\s*)?{quoted}\s*[=.]")
    opens = re.compile(rf"\s*\[\s*(?:tool\s*\.\s*)?(?:dslint\s*\.\s*)?{quoted}\s*[.\]]")
    for row, line in enumerate(lines, start=1):
        header = line.lstrip().startswith("[")
        if header and os.path.basename(path) == PROJECT:
            inside = "dslint" in line
        if inside and (opens if header else sets).match(line):
            return row
    return None


def merge(settings: Settings, options: Mapping[str, object]) -> Settings:
    """Settings with the command line's options over them.

    Keys are those of the settings, with `-` or `_`; None and () are "not given". `select` chooses anew; `ignore` and
    `extend-select` go over what the file chose; every other option replaces its setting.

    Raises:
        SettingsError: an option is unknown or has the wrong form.
    """
    given = {key.replace("_", "-"): value for key, value in options.items() if value not in (None, ())}
    values: dict[str, Any] = {}
    for key, value in given.items():
        reader = READERS.get(key)
        if reader is None:
            raise SettingsError(f"there is no option --{key} to merge into the settings")
        try:
            values[key.replace("-", "_")] = reader(list(value) if isinstance(value, tuple) else value)
        except FormError as wrong:
            raise SettingsError(f"--{key} must be {wrong}, not {described(value)}") from None
    layer = Layer(values.pop("select", None), values.pop("extend_select", ()), values.pop("ignore", ()))
    origins = {**settings.origins, **{key.replace("_", "-"): "option" for key in values}}
    return settings._replace(**values, options=layer, origins=origins)


def selected(code: str, name: str, settings: Settings) -> bool:
    """Is a rule to be checked? The option's choice goes over the file's; in each the closest selector wins.

    A full name or code is closest, then the longer start of a code, then ALL; of equals, ignore wins. Where
    no `select` is given, every rule is chosen to begin with.
    """
    chosen = True
    for layer in (Layer(settings.select, settings.extend_select, settings.ignore), settings.options):
        if layer.select is not None:
            chosen = False
        wanted = closeness(code, name, (*(layer.select or ()), *layer.extend_select))
        unwanted = closeness(code, name, layer.ignore)
        if wanted or unwanted:
            chosen = wanted > unwanted
    return chosen


def chosen_rules(rules: tuple[Rule, ...], settings: Settings) -> tuple[Rule, ...]:
    """The rules that are to be checked; without a selector all of them, unasked."""
    layers = (Layer(settings.select, settings.extend_select, settings.ignore), settings.options)
    if all(layer.select is None and not layer.ignore for layer in layers):
        return rules
    return tuple(rule for rule in rules if selected(rule.code, rule.name, settings))


def ignored_rules(rules: tuple[Rule, ...], settings: Settings) -> tuple[Rule, ...]:
    """The rules that an `ignore` names, closer than by ALL, and that nothing chose again. Those that a `select` merely
    leaves out are none of them.
    """
    layers = (Layer(settings.select, settings.extend_select, settings.ignore), settings.options)
    if not any(layer.ignore for layer in layers):
        return ()
    return tuple(rule for rule in rules if was_ignored(rule.code, rule.name, layers))


def was_ignored(code: str, name: str, layers: Sequence[Layer]) -> bool:
    ignored = False
    for layer in layers:
        if layer.select is not None:
            ignored = False
        wanted = closeness(code, name, (*(layer.select or ()), *layer.extend_select))
        unwanted = closeness(code, name, layer.ignore)
        if wanted or unwanted:
            ignored = unwanted >= wanted and unwanted > closeness_of(code, name, ALL)
    return ignored


def fixable(code: str, name: str, settings: Settings) -> bool:
    """May a rule's fixes be made?"""
    return not closeness(code, name, settings.unfixable)


def severity_of(code: str, name: str, own: Severity, settings: Settings) -> Severity:
    """The severity that a rule gets: the settings' for the closest selector, else its own."""
    if not settings.severity:
        return own
    best = max(settings.severity, key=lambda selector: closeness(code, name, (selector,)))
    return settings.severity[best] if closeness(code, name, (best,)) else own


def closeness(code: str, name: str, selectors: Sequence[str]) -> int:
    """How close the closest of some selectors is to a rule; 0 when none is about it."""
    return max((closeness_of(code, name, selector) for selector in selectors), default=0)


def closeness_of(code: str, name: str, selector: str) -> int:
    if selector in (name, code):
        return 1000
    if selector == ALL:
        return 1
    return 1 + len(selector) if code.startswith(selector) else 0


def check_selectors(settings: Settings, known: Callable[[], Collection[tuple[str, str]]]) -> None:
    """Refuses selectors that are about no rule.

    `known` gives every rule's code and name; it is called only when something is selected.

    Raises:
        SettingsError: a name, code or start of a code is about no rule.
    """
    used = list(selectors_of(settings))
    if not used:
        return
    rules = known()
    words = {word for rule in rules for word in rule}
    for origin, selector in used:
        if selector in words or any(closeness_of(code, name, selector) for code, name in rules):
            continue
        close = nearest(selector, words)
        hint = f"did you mean `{close}`?" if close else "`dslint rule --all` lists them"
        place = (
            f"--{origin[2:]}"
            if origin.startswith("--")
            else f"{where(settings.file or '', origin)}: `{origin}`"
        )
        raise SettingsError(f"{place} names `{selector}`, which is no rule; {hint}")


def selectors_of(settings: Settings) -> Iterator[tuple[str, str]]:
    """Every selector with the setting, or the option with its dashes, that it stands in."""
    for key in ("select", "ignore", "extend-select", "unfixable"):
        for selector in getattr(settings, key.replace("-", "_")) or ():
            yield key, selector
    for selectors in settings.per_file_ignores.values():
        for selector in selectors:
            yield "per-file-ignores", selector
    for selector in settings.severity:
        yield "severity", selector
    for option, chosen in zip(("select", "extend-select", "ignore"), settings.options, strict=True):
        for selector in chosen or ():
            yield "--" + option, selector


def shown(settings: Settings) -> str:
    """The settings in force as TOML, each with the place that it comes from, for --show-settings."""
    # JSON's texts, lists and booleans are TOML's too.
    import json

    lines = [f"# the settings file: {settings.file}" if settings.file else "# no settings file"]
    tables: list[str] = []
    unset: list[str] = []
    for key in READERS:
        value = getattr(settings, key.replace("-", "_"))
        if value in (None, (), {}) and key not in settings.origins:
            unset.append(key)
        elif isinstance(value, Mapping):
            tables += ["", f"[{key}]  # {origin(settings, key)}"]
            tables += [f"{json.dumps(name)} = {json.dumps(item)}" for name, item in value.items()]
        else:
            lines.append(f"{key} = {json.dumps(value)}  # {origin(settings, key)}")
    lines += [
        f"# --{name} {','.join(chosen)} goes over these"
        for name, chosen in zip(("select", "extend-select", "ignore"), settings.options, strict=True)
        if chosen
    ]
    if unset:
        lines.append(f"# not set: {', '.join(unset)}")
    return "\n".join(lines + tables) + "\n"


def origin(settings: Settings, key: str) -> str:
    """Where a setting comes from: the option, the row of the settings file, or the default."""
    where_from = settings.origins.get(key)
    if where_from == "option":
        return f"--{key}"
    return where(settings.file, key) if where_from == "file" and settings.file else "default"
