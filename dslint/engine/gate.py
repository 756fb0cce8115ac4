"""Between a fix and the file: what the real engine does not take is not written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from dslint.documents.tree import Source
from dslint.engine.fitting import content_of, fit, framework_for
from dslint.engine.trial import Framework
from dslint.engine.verdict import Verdict
from dslint.fixing.mend import Mended, Refused
from dslint.launches.discover import kind_of
from dslint.launches.launch import Launch
from dslint.linting import Outcome
from dslint.workspace import Workspace

Judge = Callable[[str, str, Framework], Verdict]
# Lightning's own loop is not run here.
RUNS: Final[dict[str, Framework]] = {
    "deepspeed": "deepspeed",
    "transformers": "transformers",
    "accelerate": "accelerate",
}


class Gated(NamedTuple):
    """What may be written. `unproven` are the paths that hold no config of their own, which no engine can be asked about."""

    mended: Mended
    unproven: list[str]


def gate(mended: Mended, workspace: Workspace, lint: Callable[[Workspace], Outcome], judge: Judge) -> Gated:
    """Take each mended config to the engine; the files that it refuses keep their old text.

    Args:
        workspace: the files as they were before the fixes.
        judge: asked with a config's text, its path as shown and who hands it over; `validating.accepted` in the command.
    """
    kept: dict[str, Source] = {}
    refused: dict[str, str] = {}
    unproven: list[str] = []
    for path, source in mended.texts.items():
        frameworks = list(loaders(source, mended.outcome.launches))
        if not frameworks:
            unproven.append(source.path)
        errors = [
            error for framework in frameworks if (error := objection(source, framework, judge)) is not None
        ]
        if errors:
            refused[source.path] = errors[0]
        else:
            kept[path] = source
    if not refused:
        return Gated(mended, unproven)
    left_out = [
        Refused(finding, refused[finding.place.source.path])
        for finding in mended.applied
        if finding.place.source.path in refused
    ]
    applied = [finding for finding in mended.applied if finding.place.source.path not in refused]
    outcome = lint(workspace.with_texts(kept))
    return Gated(Mended(kept, applied, [*mended.refused, *left_out], outcome), unproven)


def loaders(source: Source, launches: list[Launch]) -> Iterator[Framework]:
    """Who hands this file to DeepSpeed, each once; none where it is no DeepSpeed config itself."""
    told: set[str] = set()
    if kind_of(source.path) not in (None, "json"):
        return
    for launch in launches:
        config = launch.config
        if config.source.path != source.path or config.dialect != "deepspeed" or config.derived:
            continue
        framework = RUNS.get(launch.framework or "") or framework_for(content_of(source.text))[0]
        if launch.framework != "lightning" and framework not in told:
            told.add(framework)
            yield framework


def objection(source: Source, framework: Framework, judge: Judge) -> str | None:
    """What the engine says against a text, in a sentence; None when it takes it."""
    verdict = judge(fit(source.text, source.path, 1).text, source.path, framework)
    if verdict.accepted:
        return None
    return f"the engine does not take the mended file: {' '.join((verdict.error or '').split())[:400]}"
