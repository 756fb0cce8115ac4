"""Files → launches: which config meets which framework, arguments, hardware, world size and release."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dslint.documents.tree import Document, Place, Source, walk
from dslint.launches.discover import File
from dslint.launches.launch import Framework, Launch
from dslint.launches.reading import Reading, stub
from dslint.releases.pins import find_pins, resolve_release
from dslint.releases.release import Release, parse_version

if TYPE_CHECKING:
    from dslint.linting import Context
    from dslint.workspace import Workspace


class Surroundings(NamedTuple):
    """What every launch of a folder shares: the release, and the versions of the libraries beside DeepSpeed."""

    release: Release
    release_place: Place | None
    versions: dict[str, str]


class Join:
    """The files of a run and what the options say, from which launches are put together."""

    __slots__ = ("_surroundings", "context", "reading")

    def __init__(self, reading: Reading, context: Context) -> None:
        self.reading = reading
        self.context = context
        self._surroundings: dict[str, Surroundings] = {}

    def around(self, path: str) -> Surroundings:
        folder = os.path.dirname(os.path.abspath(path))
        known = self._surroundings.get(folder)
        if known is None:
            known = self._surroundings[folder] = surroundings(folder, self.context.release)
        return known

    def launch(
        self,
        config: Document,
        path: str,
        framework: Framework | None,
        framework_place: Place | None = None,
        **facts: object,
    ) -> Launch:
        """A launch of a config that a file at `path` makes; what the options say goes over what files show."""
        around = self.around(path)
        origins: dict[str, Place] = dict(facts.pop("origins", {}))  # type: ignore[call-overload]
        if framework_place is not None and self.context.framework is None:
            origins["framework"] = framework_place
        if around.release_place is not None:
            origins["release"] = around.release_place
        hardware = self.context.hardware or facts.pop("hardware", None)
        world_size = self.context.world_size or facts.pop("world_size", None)
        facts.pop("hardware", None)
        facts.pop("world_size", None)
        return Launch(
            config=config,
            release=around.release,
            framework=self.context.framework or framework or framework_shown(config),
            hardware=hardware,  # type: ignore[arg-type]
            world_size=world_size,  # type: ignore[arg-type]
            versions=around.versions,
            origins=origins,
            **facts,  # type: ignore[arg-type]
        )


def surroundings(folder: str, option: str | None) -> Surroundings:
    name, learned = resolve_release(option, None, folder)
    release = parse_version(name)
    assert release is not None, name
    pins = find_pins(folder)
    versions = {package: pin.version for package, pin in pins.items() if pin.version is not None}
    return Surroundings(release, learned if isinstance(learned, Place) else None, versions)


def launches_of(read: Sequence[tuple[File, Source]], context: Context, workspace: Workspace) -> list[Launch]:
    """Every launch that the files make, configs on their own included."""
    reading = Reading(read, workspace)
    join = Join(reading, context)
    found: list[Launch] = []
    if any(file.kind != "json" for file, _ in read):
        # A config alone pays for none of the readers of scripts, programs and YAML.
        from dslint.launches.combine import combined

        found = combined(join)
    taken = {(launch.config.source.path, launch.config.root.start) for launch in found}
    for path, document in reading.configs():
        if (document.source.path, document.root.start) not in taken:
            found.append(join.launch(document, path, None))
    return found


def framework_shown(config: Document) -> Framework | None:
    """A config that says "auto" is written for the HF Trainer, or for Accelerate, which fill it the same way."""
    # The word in the text spares the walk, which most configs need not.
    auto = (config.derived or "auto" in config.source.text) and any(
        node.kind == "string" and node.value == "auto" for _, node in walk(config.root)
    )
    return "transformers" if auto else None


__all__ = ["Join", "launches_of", "stub"]
