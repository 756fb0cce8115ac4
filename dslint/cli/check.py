"""`dslint check`, the main job: options and settings → findings, or fixes → a report and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dslint.cli.exits import Stop, tell
from dslint.documents.tree import Source
from dslint.launches.discover import File, NoSuchPath, discover, kind_of
from dslint.linting import Context, Outcome, lint, merged
from dslint.reports import FORMATS, RuleText, Run, render
from dslint.reports.colour import Paint, terminal_width, wants_colour
from dslint.rules import book
from dslint.rules.finding import IGNORE_RULES, LEVEL, Finding
from dslint.settings import (
    Settings,
    SettingsError,
    check_selectors,
    chosen_rules,
    fixable,
    ignored_rules,
    load,
    merge,
    selected,
    severity_of,
)
from dslint.workspace import Workspace

if TYPE_CHECKING:
    from dslint.changed import Changes
    from dslint.silencing.judged import Judge

# From this many files on, a terminal gets a progress bar.
MANY = 200


def split_words(_: click.Context, __: click.Parameter, value: Sequence[str]) -> tuple[str, ...] | None:
    """`--select DS2,DS301 --select NAME` → one tuple; None when the option is not given."""
    words = tuple(word.strip() for text in value for word in text.split(",") if word.strip())
    return words or None


class Check(click.Command):
    """Keeps the order of the options that say where reports go: a file belongs to the format before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and sum(word.startswith("--output-f") for word in args) > 1:
            _, _, order = self.make_parser(ctx).parse_args(list(args))
            ctx.meta["dslint.order"] = [parameter.name for parameter in order]
        return super().parse_args(ctx, args)


@click.command("check", cls=Check, context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option(
    "--output-format",
    multiple=True,
    type=click.Choice(list(FORMATS)),
    help="How to report; several, each with its --output-file, report in several ways.  [default: full]",
)
@click.option(
    "--output-file",
    multiple=True,
    type=click.Path(readable=False),
    help="Write the report of the --output-format before it to a file.",
)
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
@click.option(
    "--changed",
    metavar="REF",
    help="Report on what the files that differ from the merge base with a git reference take part in.",
)
@click.option(
    "--baseline", type=click.Path(readable=False), help="A file of known findings, which are left unsaid."
)
@click.option(
    "--write-baseline", is_flag=True, help="Write what is found now to the baseline, so that it is known."
)
@click.option(
    "--add-ignores", is_flag=True, help="Write an ignore for every finding into its file; see --reason."
)
@click.option("--reason", metavar="TEXT", help="With --add-ignores: why the findings are to stay.")
@click.option("--show-settings", is_flag=True, help="Print the settings and where each comes from.")
@click.option("--show-files", is_flag=True, help="Print the files that a run would read.")
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
    output_format: tuple[str, ...],
    output_file: tuple[str, ...],
    changed: str | None,
    write_baseline: bool,
    add_ignores: bool,
    reason: str | None,
    show_settings: bool,
    show_files: bool,
    no_cache: bool,
    statistics: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Check DeepSpeed configs and what launches them.

    PATHS are files or folders, the working directory by default; - reads standard input.
    """
    refuse_together(locals(), "-" in paths)
    options["output_format"] = output_format[0] if output_format else None
    try:
        settings = merge(load(os.getcwd(), settings_file, isolated), options)
        all_rules = rules_for(settings)
        if write_baseline and settings.baseline is None:
            raise click.UsageError(
                "--write-baseline needs a file: give --baseline dslint-baseline.json, or set baseline in the settings."
            )
        if show_settings:
            from dslint.cli.showing import show

            return show(settings)
        files, workspace = gather(paths or (".",), stdin_filename, settings)
        if show_files:
            from dslint.reports.visible import visible

            return click.echo("".join(f"{visible(file.shown)}\n" for file in files), nl=False)
        context = context_of(settings, all_rules)
    except (SettingsError, NoSuchPath, book.BrokenRule) as error:
        raise Stop(str(error)) from error
    job = Job(settings, context, files, all_rules, changes_since(changed, settings, files))
    form = Form(outputs(settings, output_format, output_file), statistics, quiet)
    if fix or diff or add_ignores:
        from dslint.cli.mending import mend_files

        result = mend_files(
            job,
            workspace,
            write=not diff,
            fix=not add_ignores,
            validate=validate,
            stdin=paths == ("-",),
            reason=reason,
            quiet=quiet,
        )
    else:
        result = Result(job.lint(workspace))
    if settings.baseline is not None:
        from dslint.cli.knowing import with_baseline

        result = with_baseline(job, result, write=write_baseline, quiet=quiet)
    sys.exit(
        status_of(job, result.outcome) if diff else report(job, result, form, to_stderr=fix and "-" in paths)
    )


def refuse_together(given: Mapping[str, Any], stdin: bool) -> None:
    """Options that mean nothing, or two things, together."""
    fix, diff, adds = given["fix"], given["diff"], given["add_ignores"]
    if given["validate"] and (adds or not (fix or diff)):
        raise click.UsageError(
            "--validate goes with --fix or --diff; dslint validate CONFIG runs a config as it is."
        )
    if given["reason"] is not None and not adds:
        raise click.UsageError("--reason goes with --add-ignores, which writes it behind each ignore.")
    if adds and fix:
        raise click.UsageError("--add-ignores keeps what --fix mends: run --fix first, then --add-ignores.")
    if given["write_baseline"] and (diff or adds or given["changed"] is not None or stdin):
        raise click.UsageError(
            "--write-baseline needs to see everything as it is on disk: leave out --diff, --add-ignores, "
            "--changed and -."
        )
    if adds and stdin:
        raise click.UsageError("--add-ignores writes into files; - has none.")
    if given["changed"] is not None and stdin:
        raise click.UsageError("--changed compares files with git; - has none.")


def outputs(settings: Settings, formats: Sequence[str], files: Sequence[str]) -> Sequence[Output]:
    """Where reports go and how: to standard output in the settings' format, when no option says more."""
    if len(formats) + len(files) < 2:
        return (Output(settings.output_format, files[0] if files and files[0] != "-" else None),)
    from dslint.cli.outputs import paired

    order = click.get_current_context().meta["dslint.order"]
    return paired(order, formats, files, settings.output_format)


def changes_since(reference: str | None, settings: Settings, files: Sequence[File]) -> Changes | None:
    if reference is None:
        return None
    from dslint.changed import NoChanges, since

    try:
        return since(reference, settings, files)
    except NoChanges as error:
        raise Stop(str(error)) from error


class Output(NamedTuple):
    """One report: its format, and the file that it goes to, None for standard output."""

    format: str
    file: str | None


class Form(NamedTuple):
    """How the reports are to be given."""

    outputs: Sequence[Output]
    statistics: bool
    quiet: bool


class Result(NamedTuple):
    """What a call found and did: `fixed` is None where nothing was to be mended, `known` the baseline's share."""

    outcome: Outcome
    fixed: int | None = None
    known: int = 0


class Job:
    """What one call of `dslint check` checks, and what it leaves out of what the rules find."""

    __slots__ = ("all_rules", "changes", "context", "files", "settings")

    def __init__(
        self,
        settings: Settings,
        context: Context,
        files: Sequence[File],
        all_rules: Sequence[book.Rule],
        changes: Changes | None = None,
    ) -> None:
        self.all_rules = all_rules
        self.changes = changes
        self.settings = settings
        self.context = context
        self.files = files

    def lint(self, workspace: Workspace, bar: bool = True) -> Outcome:
        """Every finding that the settings let through, with the severity that they give it; `bar` shows how far it is."""
        wanted = None if self.changes is None else self.changes.concern
        with progress(len(self.files) if bar else 0) as advance:
            outcome = lint(self.files, self.context, workspace, advance, wanted)
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
        result = silence(
            findings, sources, documents, active.__contains__, known, self.judge(outcome).has_judged
        )
        idle = [self.graded(finding) for finding in reported(result.unused, known)]
        chosen = [finding for finding in idle if selected(finding.code, finding.name, self.settings)]
        return merged([*result.kept, *chosen])

    def judge(self, outcome: Outcome) -> Judge:
        """Who knows which rules this run could decide in which files."""
        from dslint.silencing.judged import Judge

        differs = None if self.changes is None else self.changes.base.differs
        return Judge(self.context.rules, outcome.launches, self.settings, differs)

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


def context_of(settings: Settings, all_rules: tuple[book.Rule, ...]) -> Context:
    """What the settings say, with the rules that they choose.

    Raises:
        SettingsError: the release or the hardware is not known.
    """
    from dslint.releases.release import NEWEST, parse_version

    version = settings.deepspeed_version
    if version is not None and parse_version(version) is None:
        raise SettingsError(
            f"{version} is no DeepSpeed version; write it as X.Y.Z, for example {NEWEST.name}"
        )
    return Context(
        rules=chosen_rules(all_rules, settings),
        release=version,
        framework=settings.framework,
        hardware=hardware_of(settings.hardware),
        world_size=settings.world_size,
        ignored=ignored_rules(all_rules, settings),
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
        return discover(paths, settings.include, settings.exclude, settings.root), Workspace()
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


def report(job: Job, result: Result, form: Form, to_stderr: bool = False) -> int:
    """Write the reports; the exit status."""
    settings, outcome = job.settings, result.outcome
    stream = sys.stderr if to_stderr else sys.stdout
    run = Run(
        releases=[release.name for release in outcome.releases],
        checked=len({launch.config.source.path for launch in outcome.launches}),
        directory=os.getcwd(),
        color=wants_colour(stream is not None and stream.isatty()),
        width=terminal_width(),
        statistics=form.statistics,
        # Where nothing could be read, the line that says so is all there is to say.
        quiet=form.quiet or bool(outcome.failures and not outcome.launches),
        fixing=result.fixed is not None,
        fixed=result.fixed or 0,
        known=result.known,
        changed=None if job.changes is None else job.changes.reference,
        unsafe_fixes=settings.unsafe_fixes,
        fail_on=settings.fail_on,
        rules=texts_of(job.all_rules) if any(each.format == "sarif" for each in form.outputs) else {},
    )
    for output in form.outputs:
        if output.file is None:
            click.echo(render(output.format, outcome.findings, run), nl=False, err=to_stderr, color=run.color)
        else:
            from dslint.cli.outputs import write

            write(
                output.file, render(output.format, outcome.findings, run._replace(color=wants_colour(False)))
            )
    if form.statistics and not any(each.format in ("full", "concise") for each in form.outputs):
        from dslint.reports.summary import statistics

        click.echo(statistics(outcome.findings, Paint(False)), nl=False, err=True)
    return status_of(job, outcome)


def texts_of(rules: Sequence[book.Rule]) -> dict[str, RuleText]:
    return {rule.code: RuleText(rule.summary, rule.why, rule.severity) for rule in rules}


def status_of(job: Job, outcome: Outcome) -> int:
    for failure in outcome.failures:
        tell(failure)
    if outcome.failures:
        return 2
    if job.settings.fail_on == "never":
        return 0
    least = LEVEL[job.settings.fail_on]
    return int(any(LEVEL[finding.severity] >= least for finding in outcome.findings))
