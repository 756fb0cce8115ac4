"""Faults of YAML itself, and of a training program's YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dslint.documents.tree import Place, find_member
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.release import parse_version
from dslint.rules.checks.accelerate import Check, place_in, stage_of
from dslint.rules.finding import Related
from dslint.rules.match import Match

if TYPE_CHECKING:
    from dslint.launches.fault import Fault

# What each program is called.
NAMES: Final = {
    "llamafactory": "LLaMA-Factory",
    "axolotl": "Axolotl",
    "swift": "ms-swift",
    "trainer": "the Trainer",
}
# What each program's own release is pinned by.
PACKAGES: Final = {"llamafactory": "llamafactory", "axolotl": "axolotl", "swift": "ms-swift"}


def faults_of(launch: Launch) -> list[Fault]:
    """The faults of a launch's training YAML; some hang on the stage of the config that it names."""
    if launch.training is None:
        return []
    # Imported here: most launches have no such file.
    from dslint.launches.training_faults import faults

    text = launch.versions.get(PACKAGES.get(launch.training.kind, ""))
    release = parse_version(text) if text else None
    return faults(launch.training, release.version if release else None, stage_of(launch))


def number_as_text(launch: Launch) -> Iterator[Match]:
    for fault in faults_of(launch):
        if fault.kind == "number-as-text":
            change = Change("set", fault.pointer, fault.parts["number"])
            fix = Fix("safe", "write it as YAML 1.1 has numbers, with a point", (change,))
            yield Match(fault.pointer, values=fault.parts, fix=fix)


def clash(launch: Launch) -> Iterator[Match]:
    """A key that the program refuses beside the DeepSpeed config of this launch."""
    training = launch.training
    if training is None:
        return
    for fault in faults_of(launch):
        if fault.kind == "clash":
            given = find_member(training.document.root, "/deepspeed")
            related: tuple[Related, ...] = ()
            if given is not None:
                place = Place(training.document.source, given.key_start, given.node.end, "/deepspeed")
                related = (Related(place, "DeepSpeed is asked for here"),)
            yield Match(
                fault.pointer,
                place=place_in(training.document, fault.pointer),
                values={**fault.parts, "program": NAMES[training.kind]},
                related=related,
            )


def unreadable(launch: Launch) -> Iterator[Match]:
    """What `yaml.safe_load` stops at; the first is enough, since it gets no further."""
    for problem in launch.config.problems:
        if "yaml" in problem.refused_by:
            place = Place(launch.config.source, problem.start, problem.end, problem.pointer or None)
            yield Match(problem.pointer, place=place, values={"said": problem.message})
            return


def duplicate(launch: Launch) -> Iterator[Match]:
    for problem in launch.config.problems:
        if problem.kind == "duplicate-key":
            place = Place(launch.config.source, problem.start, problem.end, problem.pointer)
            yield Match(problem.pointer, place=place, values={"key": problem.pointer.rpartition("/")[2]})


TRAINING_CHECKS: Final[dict[str, Check]] = {
    "number-as-text": number_as_text,
    "training-clash": clash,
    "yaml-unreadable": unreadable,
    "yaml-duplicate-key": duplicate,
}
