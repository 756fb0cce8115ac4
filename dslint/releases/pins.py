"""Which release a repository uses: the pins in its files, what is installed, and the order among them.

Files are looked for from a config's folder upwards to the repository's root; the nearest folder that
says something wins. In one folder a pin (`==0.14.5`, a lock) goes before a range, then the order of
`requirement_files.READERS` holds: requirements and constraints files, pyproject.toml, setup.cfg,
setup.py, a conda environment, lock files, a Dockerfile. Of several requirements files one that has the
package in its name goes first, then requirements.txt, then the rest by name. In one file, where markers
choose between several pins, the newest is taken.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dslint.documents.tree import Place
from dslint.releases.release import NEWEST, parse_version
from dslint.releases.requirement_names import kind_of, read

if TYPE_CHECKING:
    from dslint.releases.requirement_files import Mention

PACKAGES: tuple[str, ...] = (
    "deepspeed",
    "transformers",
    "accelerate",
    "lightning",
    "pytorch-lightning",
    "trl",
    "peft",
    "torch",
    "bitsandbytes",
    "llamafactory",
    "axolotl",
    "ms-swift",
)
# Folders beside the requirement files that hold more of them.
INNER = ("requirements", "docker", ".devcontainer")


class Pin(NamedTuple):
    """What a file says of a package's version.

    `version` is the pinned one if `exact`; else the one to assume for a range: the newest known
    DeepSpeed release below its upper bound. It is None where a range tells nothing: it has no upper
    bound, or is another package's.
    """

    version: str | None
    specifier: str
    place: Place
    exact: bool


def find_pins(
    start: str | os.PathLike[str],
    stop: str | os.PathLike[str] | None = None,
    packages: tuple[str, ...] = PACKAGES,
) -> dict[str, Pin]:
    """The pins that hold for a folder, by package; see the module for the order.

    Folders are searched from `start` up to `stop`; without `stop`, up to the one that holds `.git`, else
    up to the working directory if `start` is below it, else `start` alone. A range that tells no version
    stands only where nothing farther up tells one that meets it.
    """
    pins: dict[str, Pin] = {}
    for folder in folders(os.path.abspath(os.fspath(start)), os.path.abspath(stop) if stop else None):
        for package, pin in pins_in(folder, packages).items():
            nearer = pins.get(package)
            if nearer is None or (
                nearer.version is None
                and pin.version is not None
                and (not nearer.specifier or allowed(nearer.specifier, pin.version))
            ):
                pins[package] = pin
    return pins


def allowed(specifier: str, version: str) -> bool:
    from dslint.releases.specifiers import allows

    return allows(specifier, version)


def resolve_release(
    option: str | None, setting: str | None, folder: str | os.PathLike[str]
) -> tuple[str, Place | str]:
    """The DeepSpeed release that a config in `folder` is checked against, and where it was learned.

    In this order: the option, the settings, a pin in the repository (its place), the installed package,
    the newest release that dslint knows. The name is as it was written, without a pre-release or local
    part.
    """
    if option:
        return option, "--deepspeed-version"
    if setting:
        return setting, "the settings"
    pin = find_pins(folder, packages=("deepspeed",)).get("deepspeed")
    if pin is not None and pin.version is not None:
        return pin.version, pin.place
    present = installed("deepspeed")
    release = parse_version(present) if present else None
    if release is not None:
        return release.name, "the installed package"
    return NEWEST.name, "the newest release that dslint knows"


def folders(start: str, stop: str | None) -> Iterator[str]:
    """`start` and the folders above it that belong to the same repository, the nearest first."""
    chain = [start]
    while stop != chain[-1] and (stop is not None or ".git" not in listing(chain[-1])):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            here = os.getcwd()
            if stop is not None or here not in chain:
                return iter([start])
            return iter(chain[: chain.index(here) + 1])
        chain.append(parent)
    return iter(chain)


@lru_cache(maxsize=4096)
def listing(folder: str) -> tuple[str, ...]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return tuple(sorted(os.listdir(folder)))
    except OSError:
        return ()


@lru_cache(maxsize=4096)
def pins_in(folder: str, packages: tuple[str, ...]) -> dict[str, Pin]:
    """The pin of each package in one folder, the believed one first."""
    best: dict[str, tuple[Standing, Pin]] = {}
    for rank, path, kind in requirement_files(folder):
        for package, pin in pins_of(path, kind, packages).items():
            standing = Standing(not pin.exact, pin.version is None, rank, *plainness(path, package))
            if package not in best or standing < best[package][0]:
                best[package] = standing, pin
    return {package: pin for package, (_, pin) in best.items()}


class Standing(NamedTuple):
    """How far a pin is believed among those of its folder: the smallest first."""

    range: bool
    silent: bool
    rank: int
    plainness: int
    path: str


def plainness(path: str, package: str) -> tuple[int, str]:
    name = os.path.basename(path).lower()
    if package in name:
        return 0, path
    return (1 if name in ("requirements.txt", "environment.yml", "dockerfile") else 2), path


def requirement_files(folder: str) -> Iterator[tuple[int, str, str]]:
    """The files of a folder that may pin something, each between the rank and the name of its kind."""
    for inner in ("", *INNER):
        if inner and inner not in listing(folder):
            continue
        for name in listing(os.path.join(folder, inner) if inner else folder):
            known = kind_of(name)
            # What lies in `requirements/` need not say so in its name.
            if known is None and inner == "requirements" and name.endswith((".txt", ".in")):
                known = kind_of("requirements.txt")
            if known is not None:
                yield known[0], os.path.join(folder, inner, name), known[1]


def pins_of(path: str, kind: str, packages: tuple[str, ...]) -> dict[str, Pin]:
    """The pins of one file. A file that names none of the packages is not parsed."""
    source = read(path)
    if source is None:
        return {}
    text = source.text.lower()
    named = any(package in text or package.replace("-", "_") in text for package in packages)
    if not named and not (kind in ("requirements", "constraints") and includes(text)):
        return {}
    from dslint.releases.requirement_files import READERS, wanted

    mentions: dict[str, list[Pin]] = {}
    for mention in READERS[kind](source, wanted(packages)):
        mentions.setdefault(mention.package, []).append(pin_of(mention))
    return {package: chosen(pins) for package, pins in mentions.items()}


def includes(text: str) -> bool:
    """Whether a requirements file may name another: `-r base.txt`, `--constraint=…`."""
    return any(option in text for option in ("-r", "-c"))


def pin_of(mention: Mention) -> Pin:
    from dslint.releases.specifiers import exact, newest_within

    pinned = exact(mention.specifier)
    version = pinned
    if pinned is None and mention.package == "deepspeed":
        version = newest_within(mention.specifier)
    return Pin(version, mention.specifier, mention.place, pinned is not None)


def chosen(pins: list[Pin]) -> Pin:
    """Of one file's pins: the newest exact one, else the first that tells a version, or at least a range."""
    pinned = [pin for pin in pins if pin.exact]
    if pinned:
        return max(pinned, key=comparable)
    return min(pins, key=lambda pin: (pin.version is None, not pin.specifier))


def comparable(pin: Pin) -> tuple[int, ...]:
    release = parse_version(pin.version or "")
    return release.version if release else ()


def installed(package: str) -> str | None:
    """The installed version of a package, as its metadata spells it, or None.

    Looks along `sys.path`, then in the active virtual or conda environment, for it may be another than
    dslint's. Only names in folders are read: a `.dist-info` folder is there for an editable install too.
    """
    for entry in (*sys.path, *environments()):
        version = version_in(entry or os.curdir, normal(package))
        if version:
            return version
    return None


def environments() -> Iterator[str]:
    """The site-packages folders of the active virtual or conda environment."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        if prefix:
            yield os.path.join(prefix, "Lib", "site-packages")
            library = os.path.join(prefix, "lib")
            for name in listing(library):
                if name.startswith("python"):
                    yield os.path.join(library, name, "site-packages")


def version_in(folder: str, package: str) -> str | None:
    """The version of a package whose metadata lie in a folder: `name-1.2.3.dist-info`, `name.egg-info`."""
    length = len(package)
    for entry in listing(folder):
        if not entry.endswith((".dist-info", ".egg-info")) or normal(entry[:length]) != package:
            continue
        rest = entry[length:].rpartition(".")[0]
        if rest.startswith("-"):
            return rest[1:].partition("-py")[0]
        if not rest:
            return metadata_version(os.path.join(folder, entry, "PKG-INFO"))
    return None


def metadata_version(path: str) -> str | None:
    """The version in the PKG-INFO of a source tree that is installed in the old way."""
    source = read(path)
    match = re.search(r"^Version: *(\S+)", source.text, re.MULTILINE) if source else None
    return match[1] if match else None


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def forget() -> None:
    """Read the folders anew: for a process that outlives a change of the files."""
    listing.cache_clear()
    pins_in.cache_clear()
