"""The unit that is checked: one config with everything that it meets, each part known or unknown (None)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dslint.documents.tree import Document, Place
from dslint.releases.release import Release

if TYPE_CHECKING:
    # A config alone needs no reader of scripts, programs or YAML.
    from dslint.documents.python import Program
    from dslint.documents.script import Script
    from dslint.hardware.profiles import Profile
    from dslint.launches.accelerate import AccelerateConfig
    from dslint.launches.commands import LaunchCommand
    from dslint.launches.training_yaml import TrainingConfig

Framework = Literal["deepspeed", "transformers", "accelerate", "lightning"]


class Argument(NamedTuple):
    """An argument beside the config (a TrainingArguments field, by its name) and where it stands.

    `value` is UNKNOWN when only a run would show it. A field that is not given at all is not in the mapping, and
    `Launch.arguments_complete` says whether its default may then be assumed.
    """

    value: Any
    place: Place


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch:
    """One config and what it runs with.

    `origins` says where a fact was learned: config, framework, hardware, world_size, release. `command` is the command
    that starts it, `script` the script that the command stands in, `program` the Python that it runs; `accelerate` and
    `training` are the YAML files of Accelerate and of a trainer (LLaMA-Factory, Axolotl, …) that take part.

    A script, a program or a command that names no config is a launch too, whose `config` is a document of the dialect
    script, program or launch with nothing in it: rules on these look at the other fields.
    """

    config: Document
    release: Release
    framework: Framework | None = None
    hardware: Profile | None = None
    world_size: int | None = None
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    arguments_complete: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Place] = field(default_factory=dict)
    command: LaunchCommand | None = None
    script: Script | None = None
    program: Program | None = None
    accelerate: AccelerateConfig | None = None
    training: TrainingConfig | None = None
    # What several checks work out from the same launch, kept so that it is worked out once.
    memo: dict[str, Any] = field(default_factory=dict)
