"""`dslint hardware`: the GPU kinds that dslint knows, and which of them this machine has."""

from __future__ import annotations

import click

from dslint.cli.exits import Stop
from dslint.hardware.profiles import Profile

HEADINGS = ("name", "title", "architecture", "cc", "memory", "fp16", "bf16", "tf32", "fp8")


@click.command(short_help="List GPU kinds and what they can do.")
@click.argument("name", required=False)
@click.option("--detect", "ask", is_flag=True, help="Say which accelerator this machine has.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
def command(name: str | None, ask: bool, form: str) -> None:
    """List the GPU kinds that dslint knows, or show the one that NAME means.

    The columns: name, architecture, compute capability (cc), memory in GB for one device, and which number
    formats DeepSpeed can train in on it.
    """
    if name and ask:
        raise click.UsageError("NAME and --detect go apart: one names a kind, the other asks for it.")
    if ask:
        profiles = [detected()]
    elif name:
        profiles = [named(name)]
    else:
        from dslint.hardware.table import PROFILES

        profiles = list(PROFILES)
    click.echo(as_json(profiles, one=bool(name or ask)) if form == "json" else as_table(profiles))


def named(name: str) -> Profile:
    """The profile that a name on the command line means, `auto` asking the machine.

    Raises:
        Stop: the name means none, or several that differ.
    """
    from dslint.hardware.profiles import profile, suggest

    if name == "auto":
        return detected()
    found = profile(name)
    if found is not None:
        return found
    near = suggest(name)
    hint = f" Did you mean {either(near)}?" if near else ""
    raise Stop(f"no hardware is known as {name!r}.{hint} `dslint hardware` lists all.")


def detected() -> Profile:
    """The profile of this machine's accelerator, with the reason on standard error.

    Raises:
        Stop: there is none, or it is not known.
    """
    from dslint.hardware.detect import detect

    found = detect()
    if found.profile is None:
        raise Stop(f"{found.reason}. Name the hardware instead; `dslint hardware` lists what is known.")
    click.echo(found.reason, err=True)
    return found.profile


def either(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def as_json(profiles: list[Profile], one: bool) -> str:
    import json

    items = [profile._asdict() for profile in profiles]
    for item in items:
        if item["compute_capability"]:
            item["compute_capability"] = ".".join(map(str, item["compute_capability"]))
    return json.dumps(items[0] if one else items, indent=2, ensure_ascii=False)


def as_table(profiles: list[Profile]) -> str:
    rows = [HEADINGS, *(row(profile) for profile in profiles)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in rows]
    notes: dict[str, list[str]] = {}
    for profile in profiles:
        if profile.note:
            notes.setdefault(profile.note, []).append(profile.name)
    lines += [""] if notes else []
    lines += [f"{', '.join(names)}: {note}" for note, names in notes.items()]
    return "\n".join(lines)


def row(profile: Profile) -> tuple[str, ...]:
    capability = profile.compute_capability
    return (
        profile.name,
        profile.title,
        profile.architecture,
        ".".join(map(str, capability)) if capability else "-",
        "/".join(map(str, profile.memory)) or "-",
        *(answer(can) for can in (profile.fp16, profile.bf16, profile.tf32, profile.fp8)),
    )


def answer(can: bool | None) -> str:
    """Yes, no, or `?` for what depends on the machine."""
    return "?" if can is None else "yes" if can else "no"
