"""`dslint upgrade --to X.Y.Z`: what another DeepSpeed release means for these files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from dslint.cli.exits import Stop
from dslint.cli.rewriting import replace, show

if TYPE_CHECKING:
    from dslint.cli.check import Job
    from dslint.fixing.mend import Mended
    from dslint.linting import Outcome
    from dslint.migrating.releases import Default, Ignored, Upgrade
    from dslint.releases.pins import Pin
    from dslint.releases.release import Release
    from dslint.rules.finding import Finding
    from dslint.workspace import Workspace

OutputFormat = Literal["text", "json"]


@click.command("upgrade", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option("--to", required=True, metavar="X.Y.Z", help="The DeepSpeed release to go to.")
@click.option(
    "--from", "start", metavar="A.B.C", help="The one to come from.  [default: the pinned or installed one]"
)
@click.option("--fix", is_flag=True, help="Mend what the new release breaks, where that is safe.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that change training.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text")
@click.option("--hardware", metavar="NAME|auto", help="The GPU that trains; dslint hardware lists them.")
@click.option("--world-size", type=click.IntRange(min=1), help="How many GPUs train, in all.")
@click.option(
    "--framework",
    type=click.Choice(["deepspeed", "transformers", "accelerate", "lightning"]),
    help="What hands the config to DeepSpeed.",
)
@click.option("--config", "settings_file", type=click.Path(readable=False), help="The settings file to use.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(
    paths: tuple[str, ...],
    to: str,
    start: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    output_format: OutputFormat,
    settings_file: str | None,
    isolated: bool,
    **options: Any,
) -> None:
    """What breaks, what is newly ignored and what changes its default between two DeepSpeed releases, for these files.

    PATHS are files or folders, the working directory by default. Exit status: 0 nothing changes; 1 something does, or is
    broken by the new release; 2 dslint could not tell.
    """
    from dslint.cli.check import Job, context_of, gather, rules_for
    from dslint.launches.discover import NoSuchPath
    from dslint.migrating.releases import compare
    from dslint.rules.book import BrokenRule
    from dslint.settings import SettingsError, load, merge

    target = known(to)
    options["deepspeed_version"] = None if start is None else known(start).name
    options["unsafe_fixes"] = unsafe_fixes or None
    try:
        settings = merge(load(os.getcwd(), settings_file, isolated), options)
        all_rules = rules_for(settings)
        context = context_of(settings, all_rules)
        if "-" in paths:
            raise NoSuchPath("dslint upgrade looks at files and what pins their release; - can't be given")
        files, workspace = gather(paths or (".",), "", settings)
    except (SettingsError, NoSuchPath, BrokenRule) as error:
        raise Stop(str(error)) from error
    before = Job(settings, context, files, all_rules).lint(workspace)
    if before.failures:
        raise Stop(before.failures[0])
    job = Job(settings, context._replace(release=target.name), files, all_rules)
    found = compare(before, job.lint(workspace), target)
    if fix or diff:
        mended = mend_new(found, job, workspace)
        if diff:
            show(mended.texts, workspace)
        else:
            replace(mended.texts, workspace)
            found = compare(before, mended.outcome, target)._replace(
                defaults=found.defaults, gone=found.gone, ignored=found.ignored
            )
    report = as_json if output_format == "json" else as_text
    click.echo(report(found, before, target), nl=False, err=diff)
    sys.exit(int(found.matters))


def known(name: str) -> Release:
    """The release of that name.

    Raises:
        Stop: there is none that dslint knows.
    """
    from dslint.releases.release import KNOWN, NEWEST, OLDEST, parse_version

    release = parse_version(name)
    if release is None or release not in KNOWN:
        raise Stop(
            f"{name} is no DeepSpeed release that dslint knows; it knows those from {OLDEST.name} to {NEWEST.name}"
        )
    return release


# --- fixes


def mend_new(found: Upgrade, job: Job, workspace: Workspace) -> Mended:
    """Fix what comes with the new release, and what those fixes bring."""
    from dslint.fixing.mend import key, mend

    new = {key(finding) for finding in found.new}
    return mend(workspace, job.lint, lambda finding: key(finding) in new and job.may_mend(finding))


# --- reports


def as_json(found: Upgrade, before: Outcome, target: Release) -> str:
    from dslint.reports.as_json import item, where

    def default(each: Default) -> dict[str, Any]:
        return {
            **where(each.place),
            "from": {"release": each.start.name, "default": each.before},
            "to": {"release": each.end.name, "default": each.after},
        }

    def pin(each: Pin) -> dict[str, Any]:
        return {**where(each.place), "specifier": each.specifier, "wanted": f"=={target.name}"}

    return (
        json.dumps(
            {
                "from": [release.name for release in before.releases],
                "to": target.name,
                "new": [item(finding) for finding in found.new],
                "gone": [item(finding) for finding in found.gone],
                "ignored": [where(each.place) for each in found.ignored],
                "defaults": [default(each) for each in found.defaults],
                "pins": [pin(each) for each in found.pins],
            },
            indent=2,
        )
        + "\n"
    )


def as_text(found: Upgrade, before: Outcome, target: Release) -> str:
    parts: list[str] = []

    def section(title: str, lines: list[str]) -> None:
        if lines:
            parts.append("\n".join([f"{title}:", *(f"  {line}" for line in lines)]) + "\n\n")

    def of(chosen: Callable[[Finding], bool]) -> list[str]:
        return [line for finding in found.new if chosen(finding) for line in finding_lines(finding)]

    section(f"Stops at {target.name}", of(lambda finding: finding.severity == "error"))
    section(f"Is ignored or does harm at {target.name}", of(lambda finding: finding.severity == "warning"))
    section(f"Worth knowing at {target.name}", of(lambda finding: finding.severity == "info"))
    section(f"Is passed over at {target.name}", [ignored_line(each) for each in found.ignored])
    section("Changes its default", [default_line(each) for each in found.defaults])
    section("Goes away", [line for finding in found.gone for line in list(finding_lines(finding))[:1]])
    section("To bump", [pin_line(each, target) for each in found.pins])
    return "".join(parts) + closing(found, before, target)


def finding_lines(finding: Finding) -> Iterator[str]:
    from dslint.reports.visible import one_line

    yield f"{spot(finding.place)}: {finding.name}: {one_line(finding.message)}"
    if finding.fix is not None:
        option = "--fix" if finding.fix.safety == "safe" else "--fix --unsafe-fixes"
        yield f"  fix: {one_line(finding.fix.message) or 'there is one'} ({option})"


def ignored_line(each: Ignored) -> str:
    return f"{spot(each.place)}: {each.name} is not read by DeepSpeed {each.target.name}, which says nothing"


def default_line(each: Default) -> str:
    return (
        f"{spot(each.place)}: {each.name} is not given: {json.dumps(each.before)} at {each.start.name}, "
        f"{json.dumps(each.after)} at {each.end.name}; {json.dumps(each.before)} written out keeps it as it is"
    )


def pin_line(pin: Pin, target: Release) -> str:
    return f"{spot(pin.place)}: deepspeed{pin.specifier} does not let {target.name} in"


def spot(place: Any) -> str:
    position = place.source.position(place.start)
    return f"{place.source.path}:{position.row}:{position.column}"


def closing(found: Upgrade, before: Outcome, target: Release) -> str:
    if not before.launches:
        return "No DeepSpeed config and no launch of one is here.\n"
    releases = [release.name for release in before.releases]
    move = f"From {' and '.join(releases)} to {target.name}"
    if releases == [target.name]:
        return f"The files are for {target.name} already.\n"
    if not found.matters:
        return f"{move}, nothing changes for these files.\n"
    counts = [
        counted(sum(finding.severity == "error" for finding in found.new), "fault stops", "faults stop"),
        counted(
            sum(finding.severity == "warning" for finding in found.new), "warning comes", "warnings come"
        ),
        counted(len(found.ignored), "key is passed over", "keys are passed over"),
        counted(len(found.defaults), "default changes", "defaults change"),
    ]
    return f"{move}: {', '.join(count for count in counts if count)}.\n"


def counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}" if number else ""
