"""What the HF Trainer compares between its arguments and the config."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dslint.documents.tree import UNKNOWN
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Argument, Launch
from dslint.launches.trainer import Mismatch, mismatches
from dslint.releases.release import parse_version
from dslint.rules.finding import Related
from dslint.rules.match import Match


def mismatch(launch: Launch) -> Iterator[Match]:
    """A pair that is given on both sides and differs, which the Trainer refuses."""
    if not launch.arguments and not launch.arguments_complete:
        return
    version = launch.versions.get("transformers")
    release = parse_version(version) if version else None
    for found in mismatches(
        launch.config.root.plain(),
        launch.arguments,
        launch.arguments_complete,
        launch.world_size,
        release.version if release else None,
    ):
        yield mismatch_match(launch, found)


def mismatch_match(launch: Launch, found: Mismatch) -> Match:
    given = [launch.arguments[name] for name in found.pair.arguments if name in launch.arguments]
    pointer = found.pair.pointer
    values = {
        "key": pointer[1:].replace("/", "."),
        "found": shown(found.found),
        "name": found.pair.name,
        "expected": shown(found.expected),
        "source": "" if given else ", its default",
    }
    related = tuple(Related(argument.place, f"{found.pair.name} comes from here") for argument in given)
    fix = Fix("unsafe", 'set it to "auto", which the Trainer fills', (Change("set", pointer, "auto"),))
    return Match(pointer, values=values, related=related or learned(launch), fix=fix)


def learned(launch: Launch) -> tuple[Related, ...]:
    place = launch.origins.get("config")
    return () if place is None else (Related(place, "the Trainer is given this config here"),)


def shown(value: Any) -> str:
    return json.dumps(value)


def both_formats(launch: Launch) -> Iterator[Match]:
    """fp16 and bf16 both asked for among the arguments, which TrainingArguments refuses, DeepSpeed or not."""
    first, second = known(launch, "fp16"), known(launch, "bf16")
    if first is not None and second is not None and first.value is True and second.value is True:
        yield Match(
            first.place.pointer,
            place=first.place,
            related=(Related(second.place, "bf16 is asked for here"),),
        )


def known(launch: Launch, name: str) -> Argument | None:
    argument = launch.arguments.get(name)
    return None if argument is None or argument.value is UNKNOWN else argument


TRAINER_CHECKS: Final[Mapping[str, Callable[[Launch], Iterator[Match]]]] = {
    "trainer-mismatch": mismatch,
    "both-formats-in-arguments": both_formats,
}
