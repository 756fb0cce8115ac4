"""`dslint validate`: configs on the real DeepSpeed, in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dslint.cli.exits import Stop

if TYPE_CHECKING:
    from dslint.engine.running import Launcher
    from dslint.engine.trial import Framework, Trial
    from dslint.engine.validating import Pair
    from dslint.engine.verdict import Verdict
    from dslint.fixing.mend import Mended
    from dslint.linting import Outcome
    from dslint.workspace import Workspace

STEPS = 20


def pairs_of(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """`--argument NAME=VALUE` …, as a dict."""
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, as in bf16=true")
        found[name] = value
    return found


@click.command("validate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("configs", nargs=-1, required=True, type=click.Path(), metavar="CONFIG...")
@click.option(
    "--steps", default=STEPS, show_default=True, type=click.IntRange(1), help="Optimizer steps to take."
)
@click.option("--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", show_default=True)
@click.option(
    "--num-gpus",
    "processes",
    type=click.IntRange(1),
    help="Processes of a node.  [default: 1, the batch sizes fitted to it]",
)
@click.option(
    "--framework",
    type=click.Choice(["deepspeed", "transformers", "accelerate"]),
    help="What hands the config to DeepSpeed; transformers lets the real Trainer fill auto.  [default: by the config]",
)
@click.option(
    "--argument",
    "arguments",
    multiple=True,
    callback=pairs_of,
    metavar="NAME=VALUE",
    help="A TrainingArguments field, under transformers; may repeat.",
)
@click.option(
    "--model",
    default="tiny",
    show_default=True,
    metavar="tiny|MODULE:FACTORY",
    help="The model; a factory gives your own.",
)
@click.option(
    "--stress",
    type=click.Choice(["overflow", "underflow"]),
    help="Make gradients too large for fp16, or so small that they vanish in it.",
)
@click.option(
    "--storm",
    type=click.IntRange(1),
    metavar="STEPS",
    help="How long --stress lasts.  [default: until it must tell]",
)
@click.option(
    "--compare", type=click.Path(), metavar="FIXED", help="Run this config too, under the same conditions."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--report", type=click.Path(), metavar="FILE.html", help="Also write a report with plots.")
@click.option(
    "--timeout",
    default=300.0,
    show_default=True,
    type=click.FloatRange(1),
    metavar="S",
    help="Seconds for one run.",
)
@click.option("--hostfile", type=click.Path(), help="Passed to the deepspeed launcher.")
@click.option("--launcher", metavar="NAME", help="Passed to the deepspeed launcher: pdsh, slurm, openmpi, …")
@click.option("--launcher-args", help="Passed to the deepspeed launcher.")
@click.option("--num-nodes", type=click.IntRange(1), help="Passed to the deepspeed launcher.")
def command(
    configs: tuple[str, ...],
    compare: str | None,
    form: str,
    report: str | None,
    hostfile: str | None,
    launcher: str | None,
    launcher_args: str | None,
    num_nodes: int | None,
    **asked: Any,
) -> None:
    """Train a few steps with each CONFIG on the installed DeepSpeed, and say what came of it.

    A small transformer with random weights trains on synthetic tokens; nothing is downloaded. Exit status: 0 every run was
    accepted, 1 one was refused or died, 2 one could not be run.
    """
    from dslint.engine.running import Launcher

    check(asked)
    check_report(report)
    passed = Launcher(hostfile, launcher, launcher_args, num_nodes)
    check_launcher(passed)
    trials = [trial_of(path, asked) for path in configs]
    other = None if compare is None else trial_of(compare, asked)
    pairs = run_all(trials, other, passed)
    write(pairs, form, report)
    sys.exit(status_of(pairs))


def check(asked: dict[str, Any]) -> None:
    if asked["arguments"] and asked["framework"] not in (None, "transformers"):
        raise click.UsageError(
            "--argument gives a TrainingArguments field, and goes with --framework transformers."
        )
    if asked["storm"] is not None and asked["stress"] is None:
        raise click.UsageError("--storm says how long --stress lasts; give that too.")
    if asked["model"] != "tiny" and ":" not in asked["model"]:
        raise click.UsageError(
            f"--model {asked['model']} is neither tiny nor MODULE:FACTORY, as in my_models:small."
        )


def check_launcher(launcher: Launcher) -> None:
    """Without its hostfile, the deepspeed launcher stays on this machine and says nothing of it.

    Raises:
        Stop: the hostfile is not there, or something asks for other machines without one.
    """
    if launcher.hostfile is not None and not os.path.isfile(launcher.hostfile):
        raise Stop(
            f"{launcher.hostfile} is no file; --hostfile names a list of hosts, as in worker-1 slots=8"
        )
    if launcher.hostfile is not None and not os.access(launcher.hostfile, os.R_OK):
        raise Stop(f"{launcher.hostfile} cannot be read: permission denied")
    if launcher.hostfile is None and (launcher.launcher or launcher.launcher_args or launcher.nodes):
        raise Stop(
            "--launcher, --launcher-args and --num-nodes go with --hostfile: without one, DeepSpeed stays on this machine"
        )


def check_report(path: str | None) -> None:
    """Before minutes are spent on runs whose report has no place.

    Raises:
        Stop: a report can't be written there.
    """
    if path is None:
        return
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise Stop(f"{path} is a folder; --report names the file to write")
    if os.path.exists(path) and not os.path.isfile(path):
        raise Stop(f"{path} is no regular file (a pipe, a socket or a device), so --report does not write it")
    if not os.path.isdir(folder):
        raise Stop(f"{path}: the folder {folder} is not there, so the report has no place; make it first")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise Stop(f"{path}: the report can't be written here: permission denied")


def trial_of(path: str, asked: dict[str, Any]) -> Trial:
    """What is asked of one config.

    Raises:
        Stop: the file can't be read.
    """
    from dslint.engine.fitting import Fitted, content_of, fit, framework_for
    from dslint.engine.trial import Trial
    from dslint.fixing.writing import Unreadable, read
    from dslint.launches.discover import kind_of

    if kind_of(path) not in (None, "json"):
        raise Stop(f"{path} is no DeepSpeed config in JSON; give validate the config that it names")
    try:
        text = read(path, path).text
    except Unreadable as error:
        raise Stop(str(error)) from error
    framework = asked["framework"]
    notes: tuple[str, ...] = ()
    if framework is None:
        framework, notes = framework_for(content_of(text, path), asked["arguments"])
    if asked["arguments"] and framework != "transformers":
        raise Stop(
            f"--argument gives the Trainer a field, and {path} goes to bare DeepSpeed; add --framework transformers"
        )
    fitted = fit(text, path, 1) if asked["processes"] is None else Fitted(text)
    return Trial(
        fitted.text,
        path,
        framework,
        asked["steps"],
        asked["device"],
        asked["processes"] or 1,
        asked["model"],
        asked["stress"],
        asked["storm"],
        asked["arguments"],
        folders=(os.getcwd(),),
        notes=(*notes, *fitted.notes),
        original=text if fitted.text != text else None,
        seconds=asked["timeout"],
    )


def run_all(trials: Sequence[Trial], other: Trial | None, launcher: Launcher) -> list[Pair]:
    from dslint.engine.running import CannotRun
    from dslint.engine.validating import compare

    pairs = []
    try:
        with stopping_on_signals():
            for trial in trials:
                with Progress(trial.shown) as progress:
                    pairs.append(compare(trial, other, launcher, progress.show))
    except CannotRun as error:
        raise Stop(str(error)) from error
    return pairs


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end as Ctrl-C does: by an exception on whose way out every process is ended.

    Raises:
        SystemExit: 128 plus the signal's number, when one came.
    """

    wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def stop(number: int, _: object) -> NoReturn:
        # A second one must not break into the ending of the processes.
        for other in wanted:
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    old = [(number, signal.signal(number, stop)) for number in wanted]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


class Progress:
    """What a run is about, on one line of a terminal that is gone when it ends."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._on = sys.stderr.isatty()
        self._said = ""

    def __enter__(self) -> Progress:
        return self

    def show(self, steps: int, doing: str) -> None:
        text = f"{self._name}: {doing}" + (f", step {steps}" if steps else "")
        if self._on and text != self._said:
            click.echo(f"\r\x1b[2K{text}", nl=False, err=True)
            self._said = text

    def __exit__(self, *_: object) -> None:
        if self._said:
            click.echo("\r\x1b[2K", nl=False, err=True)


def taken_by_engine(mended: Mended, workspace: Workspace, lint: Callable[[Workspace], Outcome]) -> Mended:
    """For `dslint check --fix --validate`: of the mended files, those that the installed engine trains with.

    Raises:
        Stop: the engine is not installed, or this machine kept it from running.
    """
    from dslint.engine.gate import gate
    from dslint.engine.running import CannotRun
    from dslint.engine.validating import accepted

    def judge(text: str, shown: str, framework: Framework) -> Verdict:
        with Progress(shown) as progress:
            return accepted(text, framework, shown=shown, progress=progress.show)

    try:
        with stopping_on_signals():
            gated = gate(mended, workspace, lint, judge)
    except CannotRun as error:
        raise Stop(str(error)) from error
    for path in gated.unproven:
        click.echo(
            f"dslint: {path}: holds no whole DeepSpeed config, so the engine was not asked about its fixes",
            err=True,
        )
    return gated.mended


def write(pairs: Sequence[Pair], form: str, report: str | None) -> None:
    from dslint.reports.colour import Paint, terminal_width, wants_colour

    if form == "json":
        from dslint.engine.report_json import render as as_json

        click.echo(as_json(pairs), nl=False)
    else:
        from dslint.engine.report_text import render

        colour = wants_colour(sys.stdout.isatty())
        bars = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        click.echo(render(pairs, Paint(colour), terminal_width(), bars), nl=False, color=colour)
    if report is not None:
        from dslint.engine.report_html import render as as_html

        try:
            Path(report).write_text(as_html(pairs), encoding="utf-8")
        except OSError as error:
            raise Stop(f"{report}: the report can't be written: {error.strerror}") from error


def status_of(pairs: Sequence[Pair]) -> int:
    ends = {validated.record.ended for pair in pairs for validated in pair.all}
    if ends & {"not-run", "late"}:
        return 2
    return int(ends != {"accepted"})
