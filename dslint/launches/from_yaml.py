"""Accelerate's and the trainers' YAML → the launches that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslint.documents.tree import Document, Place
from dslint.launches.accelerate import AccelerateConfig, accelerate_config
from dslint.launches.launch import Argument, Launch
from dslint.launches.resolve import find_file
from dslint.launches.training_yaml import TrainingConfig
from dslint.releases.release import parse_version

if TYPE_CHECKING:
    from dslint.launches.commands import LaunchCommand
    from dslint.launches.join import Join


def accelerate_of(join: Join, path: str, document: Document) -> AccelerateConfig | None:
    """What a YAML document says to Accelerate, at the version that is pinned beside it."""
    text = join.around(path).versions.get("accelerate")
    release = parse_version(text) if text else None
    return accelerate_config(document, version=release.version if release else None)


def accelerate_launches(join: Join, path: str, accelerate: AccelerateConfig) -> list[Launch]:
    """The file as the subject of its own rules, and the DeepSpeed config that it names or makes."""
    place = Place(accelerate.document.source, accelerate.document.root.start, accelerate.document.root.start)
    origins = {"config": place}
    found = [join.launch(accelerate.document, path, "accelerate", accelerate=accelerate)]
    if accelerate.uses_deepspeed is not True:
        return found
    if accelerate.world_size is not None and accelerate.num_processes is not None:
        origins["world_size"] = accelerate.num_processes.place
    config = accelerate.derived or named_config(join, accelerate.config_file)
    if config is not None:
        if accelerate.config_file is not None:
            origins["config"] = accelerate.config_file.place
        found.append(
            join.launch(
                config,
                path,
                "accelerate",
                world_size=accelerate.world_size,
                origins=origins,
                accelerate=accelerate,
            )
        )
    return found


def training_launches(join: Join, path: str, training: TrainingConfig) -> list[Launch]:
    """A training YAML as the subject of its own rules, and the DeepSpeed config that it names or holds."""
    found = [training_launch(join, path, training, training.document)]
    config = training.inline or named_config(join, training.config)
    if config is not None:
        found.append(training_launch(join, path, training, config))
    return found


def training_launch(
    join: Join, path: str, training: TrainingConfig, config: Document, command: LaunchCommand | None = None
) -> Launch:
    origins: dict[str, Place] = {} if command is None else dict(command.origins)
    if training.config is not None:
        origins["config"] = training.config.place
    start = training.document.root.start
    return join.launch(
        config,
        path,
        "transformers",
        Place(training.document.source, start, start),
        arguments=training.arguments,
        arguments_complete=training.complete,
        world_size=None if command is None else command.world_size,
        origins=origins,
        training=training,
        command=command,
    )


def named_config(join: Join, named: Argument | None) -> Document | None:
    """The config file that an argument names, where it is there."""
    if named is None:
        return None
    path = find_file(named.value, named.place.source, join.reading.workspace)
    return None if path is None else join.reading.config(path)
