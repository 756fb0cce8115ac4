"""Scripts, programs and YAML → the launches that they make together.

A command in a script brings the world size, the hardware and the arguments; the program that it runs brings
the framework, and the config where the command names none. A program that no command runs is a launch on
its own; so is a YAML that makes a config.
"""

from __future__ import annotations

from dslint.documents import json, yaml
from dslint.documents.python import Program
from dslint.documents.script import Script
from dslint.documents.tree import Document, Place
from dslint.launches.commands import launch_commands
from dslint.launches.from_commands import command_launches, started
from dslint.launches.from_programs import config_of, uses_of, written
from dslint.launches.from_scripts import written_configs
from dslint.launches.from_yaml import accelerate_launches, accelerate_of, training_launches
from dslint.launches.join import Join
from dslint.launches.kubernetes import embedded_files, workloads
from dslint.launches.launch import Launch
from dslint.launches.programs import ConfigUse
from dslint.launches.reading import stub
from dslint.launches.recognise import is_config
from dslint.launches.training_yaml import training_config


def combined(join: Join) -> list[Launch]:
    """Every launch of the scripts, programs and YAML files of a run, and one for each of these files by
    itself.
    """
    found: list[Launch] = []
    started_paths: set[str] = set()
    for path, script in join.reading.scripts():
        found += script_launches(join, path, script, started_paths)
    for path, document in join.reading.yamls():
        found += yaml_launches(join, path, document, started_paths)
    for path, program in join.reading.programs():
        found.append(by_itself(join, path, program))
        if path not in started_paths:
            found += program_launches(join, path, program)
    return found


def script_launches(join: Join, path: str, script: Script, started_paths: set[str]) -> list[Launch]:
    """A script as the subject of its own rules, its commands, and the configs that it writes and no
    command takes.
    """
    source = script.source
    written = written_configs(script, source)
    found = [join.launch(stub(source, "shell", "script"), path, None, script=script)]
    for command in launch_commands(script):
        at = started(command, script, join)
        launches = command_launches(join, at, written)
        found += launches
        if at.path is not None and any(launch.config.dialect == "deepspeed" for launch in launches):
            started_paths.add(at.path)
    taken = {launch.config.root.start for launch in found if launch.config.source is source}
    for one in written:
        if one.document.root.start not in taken:
            found.append(join.launch(one.document, path, None, script=script))
    return found


def yaml_launches(join: Join, path: str, document: Document, started_paths: set[str]) -> list[Launch]:
    """The launches of one YAML document; most YAML has nothing to do with training."""
    accelerate = accelerate_of(join, path, document)
    if accelerate is not None:
        return accelerate_launches(join, path, accelerate)
    training = training_config(document)
    if training is not None:
        return training_launches(join, path, training)
    return manifest_launches(join, path, document, started_paths)


def manifest_launches(join: Join, path: str, document: Document, started_paths: set[str]) -> list[Launch]:
    """What the containers of a Kubernetes manifest run, and the configs that a ConfigMap holds."""
    found = []
    for workload in workloads(document):
        found += script_launches(join, path, workload.script, started_paths)
    for file in embedded_files(document):
        if file.name.lower().endswith((".yaml", ".yml")):
            for inner in yaml.parse(document.source, file.start, file.end):
                found += yaml_launches(join, path, inner, started_paths)
        else:
            config = json.parse(document.source, file.start, file.end)
            if is_config(config):
                found.append(join.launch(config, path, None))
    return found


def by_itself(join: Join, path: str, program: Program) -> Launch:
    """A program as the subject of rules on programs."""
    return join.launch(
        stub(program.source, "python", "program"),
        path,
        program.framework,
        program.framework_place,
        program=program,
    )


def program_launches(join: Join, path: str, program: Program) -> list[Launch]:
    """The launches that a program makes when it is run with nothing beside it."""
    versions = join.around(path).versions
    found = [use_launch(join, path, program, use) for use in uses_of(program, versions)]
    for _, document in written(program):
        if not any(launch.config.root is document.root for launch in found):
            found.append(
                join.launch(document, path, program.framework, program.framework_place, program=program)
            )
    return found


def use_launch(join: Join, path: str, program: Program, use: ConfigUse) -> Launch:
    framework = use.framework or program.framework
    origins: dict[str, Place] = {"config": use.place}
    if use.world_size is not None:
        origins["world_size"] = use.place
    found = config_of(use, program, join.reading)
    config = stub(program.source, "python", "launch") if found is None else found[1]
    return join.launch(
        config,
        path,
        framework,
        use.place,
        arguments=use.arguments,
        arguments_complete=use.complete,
        world_size=use.world_size,
        origins=origins,
        program=program,
    )
