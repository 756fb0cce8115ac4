"""Open texts and the files around them → a judgement. Runs in one thread, which alone uses the working directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dslint.cli.check import Job, context_of, rules_for
from dslint.cli.exits import Stop
from dslint.documents.tree import Document, Source
from dslint.launches.discover import File, Patterns, shown_path
from dslint.launches.launch import Launch
from dslint.linting import Outcome
from dslint.releases import pins
from dslint.releases.release import Release, parse_version
from dslint.rules.book import BrokenRule
from dslint.rules.finding import Finding
from dslint.server.buffers import Buffer
from dslint.server.index import Index, limit_of
from dslint.server.options import Options
from dslint.server.related import related
from dslint.settings import Settings, SettingsError, load, merge
from dslint.workspace import Workspace

# Where no more than so many files matter, and so many characters, all of them are judged together, as `dslint .` does.
FEW_FILES = 30
FEW_CHARACTERS = 150_000


class Stale(Exception):
    """The texts have changed since this judgement was begun; nobody waits for it any more."""


class Watched(Workspace):
    """A workspace whose reader stops when its work is stale."""

    __slots__ = ("_stale",)

    def __init__(self, overlay: dict[str, Source], stale: Callable[[], bool]) -> None:
        super().__init__(overlay)
        self._stale = stale

    def source(self, path: str, shown: str) -> Source:
        self.check()
        return super().source(path, shown)

    def has(self, path: str) -> bool:
        self.check()
        return super().has(path)

    def check(self) -> None:
        if self._stale():
            raise Stale


class Setup(NamedTuple):
    """The settings in force, with the rules that they choose."""

    settings: Settings
    job: Job


class Judgement(NamedTuple):
    """What was found in a workspace folder, for the versions of its open texts by absolute path.

    - versions: without the texts that are too large to be judged;
    - findings: those of the outcome that the baseline does not know;
    - releases: the release of each open file's folder, also of files that no launch came of;
    - trouble: why the settings could not be used, in a sentence, else empty;
    - memo: answers that were worked out from it, kept for the next time they are asked for.
    """

    root: str
    generation: int
    versions: Mapping[str, int]
    outcome: Outcome
    findings: list[Finding]
    workspace: Workspace
    job: Job
    releases: Mapping[str, Release]
    trouble: str
    memo: dict[Any, Any]

    def findings_at(self, path: str) -> list[Finding]:
        return [f for f in self.findings if self.path(f.place.source) == path]

    def launches_at(self, path: str) -> list[Launch]:
        """The launches whose config stands in a file, as text that can be pointed at."""
        return [
            launch
            for launch in self.outcome.launches
            if not launch.config.derived
            and launch.config.root.kind != "unknown"
            and launch.config.dialect == "deepspeed"
            and self.path(launch.config.source) == path
        ]

    def documents(self) -> list[Document]:
        return [launch.config for launch in self.outcome.launches]

    def path(self, source: Source) -> str:
        return os.path.normpath(os.path.join(self.root, source.path))


class Judge:
    """One workspace folder: its settings, its index of files, and how its open texts are judged."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.options = Options()
        self._index = Index(root)
        self._setup: Setup | None = None
        self._trouble = ""
        self._read_again = True

    def forget(self) -> None:
        """Files on disk, settings or pins may be others now."""
        self._read_again = True

    def judge(self, buffers: list[Buffer], generation: int, stale: Callable[[], bool]) -> Judgement:
        """Every finding on the open texts, as `dslint .` in this folder would see them.

        Raises:
            Stale: the texts have changed meanwhile.
        """
        if self._read_again:
            self._read_again = False
            self._index.forget()
            pins.forget()
            self.set_up()
        setup = self.setup()
        chosen = Patterns(setup.settings.include, setup.settings.exclude)
        overlay, files = opened(buffers, chosen)
        around = self._index.sources(chosen)
        for path, file in self.beside(overlay, around).items():
            files.setdefault(path, file)
        kept = {path: source for path, (_, source) in around.items() if path in files}
        workspace = Watched({**kept, **overlay}, stale)
        job = Job(setup.settings, setup.job.context, list(files.values()), setup.job.all_rules)
        outcome = job.lint(workspace)
        workspace.check()
        trouble, findings = self.unknown(job, outcome)
        releases = {path: self.release(path) for path in overlay}
        versions = {buffer.path: buffer.version for buffer in buffers if buffer.path in overlay}
        return Judgement(
            self.root,
            generation,
            versions,
            outcome,
            findings,
            Workspace(dict(workspace.overlay)),
            job,
            releases,
            self._trouble or trouble,
            {},
        )

    def unknown(self, job: Job, outcome: Outcome) -> tuple[str, list[Finding]]:
        """What the baseline does not know, and why it could not be read, else an empty text."""
        if job.settings.baseline is None:
            return "", outcome.findings
        # Imported here: most repositories have no baseline.
        from dslint.cli.knowing import unknown

        try:
            return "", unknown(job, outcome)
        except Stop as error:
            return str(error), outcome.findings

    def beside(
        self, overlay: Mapping[str, Source], around: Mapping[str, tuple[File, Source]]
    ) -> dict[str, File]:
        """The files that take part beside the open ones."""
        texts = {path: source.text for path, (_, source) in around.items()}
        texts.update((path, source.text) for path, source in overlay.items())
        few = len(texts) <= FEW_FILES and sum(map(len, texts.values())) <= FEW_CHARACTERS
        chosen = list(texts) if few else related(overlay, texts)
        return {path: around[path][0] for path in chosen if path in around and path not in overlay}

    def release(self, path: str) -> Release:
        option = self.setup().settings.deepspeed_version
        name, _ = pins.resolve_release(option, None, os.path.dirname(path))
        release = parse_version(name)
        assert release is not None, name
        return release

    def setup(self) -> Setup:
        if self._setup is None:
            self.set_up()
        assert self._setup is not None
        return self._setup

    def set_up(self) -> None:
        """Read the settings; what can't be used leaves the last good ones in force, at first those of no file."""
        try:
            self._setup = set_up(merge(load(self.root, None, False), self.options.values))
            self._trouble = ""
        except (SettingsError, BrokenRule, Stop) as error:
            self._trouble = str(error)
            if self._setup is None:
                self._setup = set_up(Settings())


def set_up(settings: Settings) -> Setup:
    all_rules = rules_for(settings)
    return Setup(settings, Job(settings, context_of(settings, all_rules), (), all_rules))


def opened(buffers: list[Buffer], chosen: Patterns) -> tuple[dict[str, Source], dict[str, File]]:
    """The open texts that are judged, and their files. A text that is too large stands for no file: the one on disk counts."""
    overlay: dict[str, Source] = {}
    files: dict[str, File] = {}
    for buffer in buffers:
        shown = shown_path(buffer.path)
        if buffer.kind is None or len(buffer.text) > limit_of(buffer.kind):
            continue
        overlay[buffer.path] = Source(shown, buffer.text)
        if not chosen.excluded(shown):
            files[buffer.path] = File(buffer.path, shown, buffer.kind, True)
    return overlay, files
