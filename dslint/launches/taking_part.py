"""A launch → the files that take part in it."""

from __future__ import annotations

import os

from dslint.documents.tree import Source
from dslint.launches.launch import Launch


def sources_of(launch: Launch) -> dict[str, Source]:
    """The texts that a launch was made of, by absolute path: its config, and all that says something of it.

    The file that pins the release is none of them: most of what such a file says is of something else.
    """
    places = [place for fact, place in launch.origins.items() if fact != "release"]
    found = [launch.config.source, *(place.source for place in places)]
    found += [argument.place.source for argument in launch.arguments.values()]
    if launch.command is not None:
        found.append(launch.command.source)
    if launch.script is not None:
        found.append(launch.script.source)
    if launch.program is not None:
        found.append(launch.program.source)
    found += [part.document.source for part in (launch.accelerate, launch.training) if part is not None]
    by_name = {source.path: source for source in found}
    return {os.path.abspath(name): source for name, source in by_name.items()}
