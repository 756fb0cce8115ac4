"""`dslint check`, the main job: options and settings → findings, or fixes → a report and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import click

from dslint.cli.exits import Stop
from dslint.documents.tree import Source
from dslint.launches.discover import File, NoSuchPath, discover, kind_of
from dslint.linting import Context, Outcome, lint, merged
from dslint.reports import FORMATS, Run, render
from dslint.reports.colour import terminal_width, wants_colour
from dslint.rules import book
from dslint.rules.finding import IGNORE_RULES, LEVEL, Finding
from dslint.settings import (
    Settings,
    SettingsError,
    check_selectors,
    fixable,
    load,
    merge,
    selected,
    severity_of,
)
from dslint.workspace import Workspace

# From this many files on, a terminal gets a progress bar.
MANY = 200


def split_words(_: click.Context, __: click.Parameter, value: Sequence[str]) -> tuple[str, ...] | None:
    """`--select DS2,DS301 --select NAME` → one tuple; None when the option is not given."""
    words = tuple(word.strip() for text in value for word in text.split(",") if word.strip())
    return words or None


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, in place.")
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    default=None,
    help="With --fix or --diff: also fixes that change training.",
)
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option(
    "--validate",
    is_flag=True,
    help="With --fix or --diff: only what the installed DeepSpeed then trains with.",
)
@click.option(
    "--select", multiple=True, callback=split_words, help="Check only these codes, names or prefixes (DS2)."
)
@click.option(
    "--ignore", multiple=True, callback=split_words, help="Leave these codes, names or prefixes out."
)
@click.option("--extend-select", multiple=True, callback=split_words, help="Check these too.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    help="Exit 1 from this severity on.",
)
@click.option("--output-format", type=click.Choice(list(FORMATS)), help="How to report.  [default: full]")
@click.option("--output-file", type=click.Path(dir_okay=False), help="Write the report to a file.")
@click.option("--deepspeed-version", metavar="X.Y.Z", help="The DeepSpeed release to check against.")
@click.option("--hardware", metavar="NAME|auto", help="The GPU that trains; dslint hardware lists them.")
@click.option("--world-size", type=click.IntRange(min=1), help="How many GPUs train, in all.")
@click.option(
    "--framework",
    type=click.Choice(["deepspeed", "transformers", "accelerate", "lightning"]),
    help="What hands the config to DeepSpeed; deepspeed is a bare deepspeed.initialize.",
)
@click.option("--config", "settings_file", type=click.Path(readable=False), help="The settings file to use.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@click.option(
    "--rules", multiple=True, type=click.Path(readable=False), help="A folder of your own rules; may repeat."
)
@click.option(
    "--stdin-filename", default="ds_config.json", show_default=True, help="The name for what - reads."
)
@click.option("--no-cache", is_flag=True, help="Keep nothing on disk between runs.")
@click.option("--statistics", is_flag=True, help="Count the findings by rule.")
@click.option("--quiet", "-q", is_flag=True, help="Print the findings alone.")
def command(
    paths: tuple[str, ...],
    fix: bool,
    diff: bool,
    validate: bool,
    settings_file: str | None,
    isolated: bool,
    stdin_filename: str,
    output_file: str | None,
    no_cache: bool,
    statistics: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Check DeepSpeed configs and what launches them.

    PATHS are files or folders, the working directory by default; - reads standard input.
    """
    try:
        settings = merge(load(os.getcwd(), settings_file, isolated), options)
        all_rules = rules_for(settings)
        rules = tuple(rule for rule in all_rules if selected(rule.code, rule.name, settings))
        files, workspace = gather(paths or (".",), stdin_filename, settings)
        context = context_of(settings, rules)
    except (SettingsError, NoSuchPath, book.BrokenRule) as error:
        raise Stop(str(error)) from error
    job = Job(settings, context, files, all_rules)
    if validate and not (fix or diff):
        raise click.UsageError(
            "--validate goes with --fix or --diff; dslint validate CONFIG runs a config as it is."
        )
    if fix or diff:
        status = mend_files(
            job,
            workspace,
            write=fix and not diff,
            validate=validate,
            stdin=paths == ("-",),
            form=Form(output_file, statistics, quiet),
        )
    else:
        outcome = job.lint(workspace)
        status = report(job, outcome, Form(output_file, statistics, quiet))
    sys.exit(status)


class Form:
    """How the report is to be given."""

    __slots__ = ("file", "quiet", "statistics")

    def __init__(self, file: str | None, statistics: bool, quiet: bool) -> None:
        self.file = file
        self.statistics = statistics
        self.quiet = quiet


class Job:
    """What one call of `dslint check` checks, and what it leaves out of what the rules find."""

    __slots__ = ("all_rules", "context", "files", "settings")

    def __init__(
        self, settings: Settings, context: Context, files: Sequence[File], all_rules: Sequence[book.Rule]
    ) -> None:
        self.all_rules = all_rules
        self.settings = settings
        self.context = context
        self.files = files

    def lint(self, workspace: Workspace) -> Outcome:
        """Every finding that the settings let through, with the severity that they give it."""
        with progress(len(self.files)) as advance:
            outcome = lint(self.files, self.context, workspace, advance)
        findings = [self.graded(finding) for finding in outcome.findings]
        return outcome._replace(findings=self.spoken(findings, outcome))

    def spoken(self, findings: list[Finding], outcome: Outcome) -> list[Finding]:
        """What people have not silenced; most runs have no ignore, and read none of the code for them."""
        if self.settings.per_file_ignores:
            from dslint.silencing import without_ignored_files

            findings = without_ignored_files(findings, self.settings)
        sources = outcome.sources.values()
        if not any("dslint" in source.text for source in sources):
            return findings
        from dslint.silencing import reported, silence

        documents = [launch.config for launch in outcome.launches]
        known = {word for rule in self.all_rules for word in (rule.code, rule.name)}
        active = {word for rule in self.context.rules for word in (rule.code, rule.name)}
        result = silence(findings, sources, documents, active.__contains__, known)
        idle = [self.graded(finding) for finding in reported(result.unused, known)]
        chosen = [finding for finding in idle if selected(finding.code, finding.name, self.settings)]
        return merged([*result.kept, *chosen])

    def graded(self, finding: Finding) -> Finding:
        severity = severity_of(finding.code, finding.name, finding.severity, self.settings)
        if severity == finding.severity:
            return finding
        return finding._replace(severity=severity)

    def may_mend(self, finding: Finding) -> bool:
        if finding.fix is None or not fixable(finding.code, finding.name, self.settings):
            return False
        return finding.fix.safety == "safe" or self.settings.unsafe_fixes


def rules_for(settings: Settings) -> tuple[book.Rule, ...]:
    """The built-in rules and the team's own.

    Raises:
        BrokenRule: a rule file can't be used.
        SettingsError: a selector is about no rule.
    """
    rules = book.load()
    if settings.rules:
        rules = (*rules, *own_rules(settings.rules, rules))
    check_selectors(settings, lambda: [*IGNORE_RULES, *((rule.code, rule.name) for rule in rules)])
    return rules


def own_rules(folders: Sequence[str], built_in: Sequence[book.Rule]) -> list[book.Rule]:
    from dslint.rules.compile import compile_folder

    own: list[book.Rule] = []
    taken = {word for rule in built_in for word in (rule.code, rule.name)}
    for folder in folders:
        if not os.path.isdir(folder):
            raise book.BrokenRule(
                f"{folder}: there is no such folder of rules; give one that holds YAML rule files"
            )
        for rule in book.thaw(compile_folder(folder)):
            for word in (rule.code, rule.name):
                if word in taken:
                    raise book.BrokenRule(
                        f"{folder}: the rule {word} exists already; give yours another code and name"
                    )
            refuse_unknown_check(folder, rule)
            taken |= {rule.code, rule.name}
            own.append(rule)
    return own


def refuse_unknown_check(folder: str, rule: book.Rule) -> None:
    from dslint.rules.checks import check_named

    try:
        if rule.check is not None:
            check_named(rule.check)
    except KeyError:
        raise book.BrokenRule(
            f"{folder}: the rule {rule.name} names the check {rule.check}, and dslint has no such check; "
            "write what must hold as `when`"
        ) from None


def context_of(settings: Settings, rules: tuple[book.Rule, ...]) -> Context:
    from dslint.releases.release import NEWEST, parse_version

    version = settings.deepspeed_version
    if version is not None and parse_version(version) is None:
        raise SettingsError(
            f"{version} is no DeepSpeed version; write it as X.Y.Z, for example {NEWEST.name}"
        )
    return Context(
        rules=rules,
        release=version,
        framework=settings.framework,
        hardware=hardware_of(settings.hardware),
        world_size=settings.world_size,
    )


def hardware_of(name: str | None) -> Any:
    if name is None:
        return None
    from dslint.hardware.profiles import profile, suggest

    if name == "auto":
        from dslint.hardware.detect import detect

        found = detect()
        if found.profile is None:
            click.echo(
                f"dslint: --hardware auto: {found.reason}; nothing is checked against hardware", err=True
            )
        return found.profile
    known = profile(name)
    if known is None:
        near = suggest(name)
        ask = f"did you mean {near[0]}?" if near else "dslint hardware lists the known ones"
        raise SettingsError(f"{name} is no known hardware; {ask}")
    return known


def gather(paths: Sequence[str], stdin_filename: str, settings: Settings) -> tuple[list[File], Workspace]:
    """The files to check. `-` is standard input, under the name that the user gives it."""
    if "-" not in paths:
        return discover(paths, settings.include, settings.exclude), Workspace()
    if len(paths) > 1:
        raise NoSuchPath("- reads standard input and can't be given together with other paths")
    from dslint.fixing.writing import Unreadable, decode

    try:
        text = decode(sys.stdin.buffer.read(), "standard input")
    except Unreadable as error:
        raise NoSuchPath(str(error)) from error
    file = File(os.path.abspath(stdin_filename), stdin_filename, kind_of(stdin_filename) or "json", True)
    return [file], Workspace({file.path: Source(stdin_filename, text)})


def progress(count: int) -> Any:
    """A bar on a terminal when there is much to read; else nothing."""
    if count < MANY or not sys.stderr.isatty():
        return nullcontext(lambda: None)
    return Bar(count)


class Bar:
    """click's progress bar as a context that gives a function to call for each file."""

    def __init__(self, count: int) -> None:
        self._bar: Any = click.progressbar(length=count, label="checking", file=sys.stderr)

    def __enter__(self) -> Callable[[], None]:
        self._bar.__enter__()
        return lambda: self._bar.update(1)

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)


def mend_files(
    job: Job, workspace: Workspace, *, write: bool, validate: bool, stdin: bool, form: Form
) -> int:
    """Fix to a fixpoint; write, or show the difference."""
    from dslint.fixing.apply import diff as diff_of
    from dslint.fixing.mend import mend
    from dslint.fixing.writing import Unwritable
    from dslint.fixing.writing import write as write_file

    before: dict[str, Source] = {}
    mended = mend(workspace, job.lint, job.may_mend)
    if validate:
        from dslint.cli.validate import taken_by_engine

        mended = taken_by_engine(mended, workspace, job.lint)
    for path, source in sorted(mended.texts.items()):
        before[path] = workspace.source(path, source.path)
        if not write:
            click.echo(diff_of(source.path, before[path].text, source.text), nl=False)
        elif stdin:
            click.echo(source.text, nl=False)
        else:
            try:
                write_file(path, before[path].text, source.text)
            except Unwritable as error:
                raise Stop(str(error)) from error
    if stdin and write and not mended.texts:
        click.echo(next(iter(mended.outcome.sources.values())).text, nl=False)
    for refused in mended.refused:
        place = refused.finding.place
        row = place.source.position(place.start).row
        click.echo(
            f"dslint: {place.source.path}:{row}: the fix for {refused.finding.name} was left out: {refused.reason}",
            err=True,
        )
    if not write:
        return status_of(job, job.lint(workspace))
    return report(job, mended.outcome, form, fixed=len(mended.applied), to_stderr=stdin)


def report(job: Job, outcome: Outcome, form: Form, fixed: int | None = None, to_stderr: bool = False) -> int:
    """Write the report; the exit status."""
    settings = job.settings
    terminal = form.file is None and (sys.stderr if to_stderr else sys.stdout).isatty()
    run = Run(
        releases=[release.name for release in outcome.releases],
        checked=len({launch.config.source.path for launch in outcome.launches}),
        directory=os.getcwd(),
        color=wants_colour(terminal),
        width=terminal_width(),
        statistics=form.statistics,
        # Where nothing could be read, the line that says so is all there is to say.
        quiet=form.quiet or bool(outcome.failures and not outcome.launches),
        fixing=fixed is not None,
        fixed=fixed or 0,
        unsafe_fixes=settings.unsafe_fixes,
        fail_on=settings.fail_on,
    )
    text = render(settings.output_format, outcome.findings, run)
    if form.file is not None:
        try:
            with open(form.file, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Stop(f"{form.file}: the report can't be written: {error.strerror}") from error
    else:
        click.echo(text, nl=False, err=to_stderr, color=run.color)
    return status_of(job, outcome)


def status_of(job: Job, outcome: Outcome) -> int:
    for failure in outcome.failures:
        click.echo(f"dslint: {failure}", err=True)
    if outcome.failures:
        return 2
    if job.settings.fail_on == "never":
        return 0
    least = LEVEL[job.settings.fail_on]
    return int(any(LEVEL[finding.severity] >= least for finding in outcome.findings))
