"""`dslint rule`: what a rule says and why, from its file."""

from __future__ import annotations

import json as std_json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from dslint import resources
from dslint.cli.exits import Stop
from dslint.rules.book import DOCS_URL, BrokenRule

if TYPE_CHECKING:
    from dslint.rules.model import Example, RuleFile


@click.command("rule")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Print every rule whole.")
@click.option(
    "--rules",
    "folders",
    multiple=True,
    type=click.Path(readable=False),
    help="A folder of your own rules; may repeat.",
)
@click.option(
    "--check",
    "check_folder",
    type=click.Path(readable=False),
    help="Test the examples of a folder of your own rules.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    name: str | None, everything: bool, folders: tuple[str, ...], check_folder: str | None, form: str
) -> None:
    """Explain the rule NAME (a name or a code such as DS201), or list all rules."""
    # Rule files are YAML with pydantic behind; no other command pays for that.
    from dslint.rules.compile import rule_files

    try:
        if check_folder is not None:
            raise SystemExit(check_examples(check_folder))
        rules: list[RuleFile] = []
        for folder in (resources.folder("rules"), *folders):
            rules += [rule for _, rule in rule_files(folder)]
    except BrokenRule as error:
        raise Stop(str(error)) from error
    rules.sort(key=lambda rule: rule.code)
    if name is not None:
        chosen = [rule for rule in rules if name in (rule.name, rule.code)]
        rules = chosen or no_such_rule(name, rules)
    if form == "json":
        click.echo(
            std_json.dumps(
                [{**rule.model_dump(), "url": DOCS_URL.format(name=rule.name)} for rule in rules], indent=2
            )
        )
    elif name is None and not everything:
        click.echo(listing(rules))
    else:
        click.echo("\n\n".join(explained(rule) for rule in rules))


def no_such_rule(name: str, rules: Sequence[RuleFile]) -> NoReturn:
    import difflib

    known = [word for rule in rules for word in (rule.name, rule.code)]
    near = difflib.get_close_matches(name, known, 1)
    ask = f"did you mean {near[0]}?" if near else "dslint rule lists all of them"
    raise Stop(f"there is no rule {name}; {ask}")


def check_examples(folder: str) -> int:
    """Run the examples of a team's own rules beside the built-in ones; 0 when all hold."""
    from dslint.cli.check import own_rules
    from dslint.rules import book
    from dslint.rules.compile import rule_files
    from dslint.rules.examples import faults

    if not Path(folder).is_dir():
        raise Stop(f"{folder}: there is no such folder; give the one that holds your rule files")
    own = list(rule_files(folder))
    built_in = book.load()
    rules = (*built_in, *own_rules([folder], built_in))
    broken = [f"{path}: {fault}" for path, rule in own for fault in faults(rule, rules)]
    for line in broken:
        click.echo(line)
    click.echo(f"{len(own)} rules checked, {len(broken)} examples do not hold")
    return 1 if broken else 0


def listing(rules: Sequence[RuleFile]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "\n".join(
        f"{rule.code}  {rule.severity:<7}  {'fix' if rule.fix else '   '}  {rule.name:<{width}}  {rule.summary}"
        for rule in rules
    )


def no_plan(rule: RuleFile) -> str:
    """What stands for the fixes of a rule that plans none: a check may make them, as its examples show."""
    mended = any(example.fixed is not None for example in rule.examples)
    return "Fix\n  it depends on the config; see the examples" if mended else "There is no automatic fix."


def explained(rule: RuleFile) -> str:
    """A rule as a person reads it in a terminal."""
    from dslint.rules.compile import PLACEHOLDER, default_message

    fixes = "\n".join(
        f"  {fix.safety}: " + PLACEHOLDER.sub(r"<\1>", fix.message or default_message(fix))
        for fix in rule.fixes
    )
    examples = "\n".join(example_text(example) for example in rule.examples)
    parts = [
        f"{rule.code} {rule.name} ({rule.severity})\n{rule.summary}.",
        rule.why.strip(),
        f"Fix\n{fixes}" if fixes else no_plan(rule),
        f"Examples\n{examples}",
        "Sources\n" + "\n".join(f"  {source}" for source in rule.sources),
        "  " + DOCS_URL.format(name=rule.name),
    ]
    return "\n\n".join(parts)


def example_text(example: Example) -> str:
    facts = [
        f"{label} {value}"
        for label, value in (
            ("DeepSpeed", example.release),
            ("under", example.framework),
            ("on", example.hardware),
            ("GPUs:", example.world_size),
        )
        if value is not None
    ]
    where = f" ({', '.join(facts)})" if facts else ""
    texts = [("bad", example.bad), ("fixed", example.fixed), ("good", example.good)]
    return "\n".join(
        f"  {word}{where}:\n" + "\n".join(f"    {line}" for line in text.strip().splitlines())
        for word, text in texts
        if text is not None
    )
