"""`dslint init`: a config that is right for a machine, with the memory arithmetic that it rests on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast, get_args

import click

from dslint.cli.exits import Stop
from dslint.cli.hardware import named
from dslint.hardware.config import config_for
from dslint.hardware.explain import report
from dslint.hardware.plan import MOST_GPUS, Machine, machine_for, plan, plan_without_model
from dslint.launches.launch import Framework

UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


class Parameters(click.ParamType[int]):
    """A number of parameters: `7b`, `350m`, `1.3B`, `7e9`."""

    name = "count"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).lower().replace("_", "")
        match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmbt]?)", text)
        if not match or not (number := float(match[1]) * UNITS[match[2]]) or number < 1000:
            self.fail(
                f"{value!r} is no number of parameters. Write 7b, 350m or 7e9; for a mixture of experts, all "
                "experts counted.",
                param,
                ctx,
            )
        return round(number)


@click.command(short_help="Write a config that is right for a machine.")
@click.option(
    "--hardware", required=True, metavar="NAME|auto", help="The GPU kind; `dslint hardware` lists them."
)
@click.option("--gpus", required=True, type=click.IntRange(1, MOST_GPUS), help="GPUs of one node.")
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, MOST_GPUS), help="Nodes.")
@click.option("--params", type=Parameters(), help="The model's parameters, as in 7b or 350m.")
@click.option(
    "--seq-len", default=2048, show_default=True, type=click.IntRange(1), help="Tokens in a sequence."
)
@click.option(
    "--host-memory", type=click.IntRange(1), metavar="GB", help="Memory of one node, for offloading."
)
@click.option(
    "--framework",
    default="deepspeed",
    show_default=True,
    type=click.Choice(list(get_args(Framework))),
    help="What loads the config.",
)
@click.option("--deepspeed-version", metavar="X.Y.Z", help="The release that the config is for.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write there, not to stdout.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--explain", is_flag=True, help="Show everything that was weighed, and what is assumed.")
@click.pass_context
def command(
    context: click.Context,
    hardware: str,
    gpus: int,
    nodes: int,
    params: int | None,
    seq_len: int,
    host_memory: int | None,
    framework: str,
    deepspeed_version: str | None,
    output: Path | None,
    force: bool,
    explain: bool,
) -> None:
    """Write a DeepSpeed config for a machine and a model.

    The config goes to standard output, the memory arithmetic to standard error. Exit status 1: nothing fits.
    """
    if output and output.exists() and not force:
        raise Stop(f"{output} exists already. Name another file, or give --force to replace it.")
    release = release_for(deepspeed_version)
    machine = machine_of(hardware, gpus, nodes, host_memory)
    made = plan(machine, params, seq_len) if params else plan_without_model(machine, seq_len)
    loader = cast("Framework", framework)
    config = config_for(made, loader) if made.chosen else {}
    click.echo("\n".join(report(made, config, loader, release, explain)), err=True)
    if made.chosen is None:
        context.exit(1)
    text = json.dumps(config, indent=2) + "\n"
    if output:
        write(output, text)
    else:
        click.echo(text, nl=False)


def release_for(option: str | None) -> str:
    """The release's name with where it was learned.

    Raises:
        Stop: it is no release that dslint knows.
    """
    from dslint.documents.tree import Place
    from dslint.releases.pins import resolve_release
    from dslint.releases.release import NEWEST, OLDEST, parse_version

    name, where = resolve_release(option, None, Path.cwd())
    release = parse_version(name)
    if release is None or release.version < OLDEST.version:
        raise Stop(
            f"DeepSpeed {name} is not known. dslint knows the releases {OLDEST.name} to {NEWEST.name}."
        )
    learned = f"as {where.source.path} pins it" if isinstance(where, Place) else where
    return f"DeepSpeed {release.name} ({learned})"


def machine_of(hardware: str, gpus: int, nodes: int, host_memory: int | None) -> Machine:
    """The machine that the options name.

    Raises:
        Stop: the hardware is not known, or names a generation of GPUs with memories of all sizes.
    """
    profile = named(hardware)
    if not profile.memory and profile.architecture != "CPU":
        raise Stop(
            f"{hardware!r} names a generation of GPUs, whose memories differ. Name the model; "
            "`dslint hardware` lists them."
        )
    return machine_for(profile, gpus, nodes, host_memory)


def write(path: Path, text: str) -> None:
    """Put the text at a path, whole or not at all.

    Raises:
        Stop: the file cannot be written.
    """
    from dslint.fixing import writing

    try:
        if path.exists():
            writing.write(path, writing.read(path, str(path)).text, text)
        else:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise Stop(f"{path} cannot be written: {(error.strerror or str(error)).lower()}.") from None
    except (writing.Unreadable, writing.Unwritable) as error:
        raise Stop(f"{error}.") from None
