"""What the editor's settings ask of dslint; they go over the settings file as options of the command line do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dslint.settings import Settings, SettingsError, merge, nearest

# The editor's names → those of the settings.
NAMES: Final[Mapping[str, str]] = {
    "hardware": "hardware",
    "worldSize": "world-size",
    "framework": "framework",
    "deepspeedVersion": "deepspeed-version",
    "select": "select",
    "ignore": "ignore",
    "extendSelect": "extend-select",
}


class Options(NamedTuple):
    """`values` are settings by their names; `faults` are sentences on what could not be used."""

    values: Mapping[str, Any] = {}
    faults: tuple[str, ...] = ()


def read(given: object) -> Options:
    """The editor's settings, with or without a `dslint` around them; null is "not set", empty is "not set any more"."""
    if not isinstance(given, Mapping):
        return Options()
    inner = given.get("dslint")
    table = inner if isinstance(inner, Mapping) else given
    values: dict[str, Any] = {}
    faults: list[str] = []
    for key, value in table.items():
        if key not in NAMES:
            close = nearest(str(key), NAMES)
            hint = f"did you mean {close}?" if close else "the settings are " + ", ".join(NAMES)
            faults.append(f"the editor's settings: there is no {key}; {hint}")
        elif value in ("", []):
            # Taken back, whatever was given before.
            values[NAMES[key]] = None
        elif value is not None:
            try:
                merge(Settings(), {NAMES[key]: value})
            except SettingsError as error:
                faults.append(f"the editor's settings: {key}{str(error).removeprefix('--' + NAMES[key])}")
            else:
                values[NAMES[key]] = value
    return Options(values, tuple(faults))


def over(given: Options, later: Options) -> Options:
    """The settings of the start with later ones over them."""
    faults = (*given.faults, *(fault for fault in later.faults if fault not in given.faults))
    return Options({**given.values, **later.values}, faults)
