"""The unit that is checked: one config with everything that it meets, each part known or unknown (None)."""

from __future__ import annotations

from collections.abc import Mapping
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


class Launch:
    """One config and what it runs with.

    `origins` says where a fact was learned: config, framework, hardware, world_size, release. `command` is the command
    that starts it, `script` the script that the command stands in, `program` the Python that it runs; `accelerate` and
    `training` are the YAML files of Accelerate and of a trainer (LLaMA-Factory, Axolotl, …) that take part.

    A script, a program or a command that names no config is a launch too, whose `config` is a document of the dialect
    script, program or launch with nothing in it: rules on these look at the other fields.
    """

    # Written out, as a dataclass costs every cold start more than the file that it reads.
    __slots__ = (
        "accelerate",
        "arguments",
        "arguments_complete",
        "command",
        "config",
        "framework",
        "hardware",
        "memo",
        "origins",
        "program",
        "release",
        "script",
        "training",
        "versions",
        "world_size",
    )

    def __init__(
        self,
        config: Document,
        release: Release,
        framework: Framework | None = None,
        hardware: Profile | None = None,
        world_size: int | None = None,
        arguments: Mapping[str, Argument] | None = None,
        arguments_complete: bool = False,
        versions: Mapping[str, str] | None = None,
        origins: Mapping[str, Place] | None = None,
        command: LaunchCommand | None = None,
        script: Script | None = None,
        program: Program | None = None,
        accelerate: AccelerateConfig | None = None,
        training: TrainingConfig | None = None,
    ) -> None:
        self.config = config
        self.release = release
        self.framework = framework
        self.hardware = hardware
        self.world_size = world_size
        self.arguments: Mapping[str, Argument] = arguments or {}
        self.arguments_complete = arguments_complete
        self.versions: Mapping[str, str] = versions or {}
        self.origins: Mapping[str, Place] = origins or {}
        self.command = command
        self.script = script
        self.program = program
        self.accelerate = accelerate
        self.training = training
        # What several checks work out from the same launch, kept so that it is worked out once.
        self.memo: dict[str, Any] = {}

    @property
    def is_tuned(self) -> bool:
        """Is the config what the tuner of `deepspeed --autotuning` starts from, and that of no run?"""
        command = self.command
        return command is not None and any("autotuning" in launcher.options for launcher in command.launchers)

    def facts(self) -> dict[str, Any]:
        """What it was made of, by name."""
        return {name: getattr(self, name) for name in Launch.__slots__ if name != "memo"}

    def but(self, **changes: Any) -> Launch:
        """A launch like this one with other facts, of which nothing is worked out yet."""
        return Launch(**self.facts() | changes)
