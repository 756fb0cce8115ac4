"""From what the engine raised to the findings that foresaw it, and else to what the catalogue of messages knows of it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dslint import resources
from dslint.documents.tree import Source
from dslint.engine.fitting import content_of, meant_for
from dslint.engine.trial import EngineError, Record, Trial
from dslint.rules.finding import Finding

if TYPE_CHECKING:
    from dslint.diagnosis.diagnose import Cause

# A finding below this many points does not explain an error.
ENOUGH: Final = 4
# A config's name that is known as one without a look at its content.
USUAL: Final = "ds_config.json"
_ROW: Final = re.compile(r"\bline (\d+),? column \d+")
_INPUT: Final = re.compile(r"input_value=.*?(?=, input_type=|\])", re.DOTALL)


class Explanation(NamedTuple):
    """`findings` are all that dslint says of the config under the release that ran; `explaining` those behind the error.

    `cause` is what the catalogue of messages says of the error, where it knows it. `unforeseen` is true for an error that
    dslint did not predict.
    """

    findings: tuple[Finding, ...]
    explaining: tuple[Finding, ...] = ()
    cause: Cause | None = None

    def unforeseen(self, record: Record) -> bool:
        return record.ended == "refused" and not any(f.severity == "error" for f in self.explaining)


def explain(record: Record) -> Explanation:
    """Lint the trial's config as the engine that ran would have it, and match."""
    findings = tuple(lint(record.trial, record.machine))
    error = record.error
    if error is None or record.ended not in ("refused", "died"):
        return Explanation(findings)
    cause = cause_of(error, record.said)
    return Explanation(findings, tuple(matching(error, findings, cause, record.ended == "refused")), cause)


def lint(trial: Trial, machine: Mapping[str, Any]) -> Sequence[Finding]:
    """What dslint says of the config; whatever its name and content, it was named as one."""
    return linted(trial, machine, trial.shown) or [
        renamed(finding, trial.shown) for finding in linted(trial, machine, USUAL)
    ]


def linted(trial: Trial, machine: Mapping[str, Any], name: str) -> Sequence[Finding]:
    from dslint.api import everything
    from dslint.hardware.profiles import profile

    known = profile(machine["device_name"]) if machine.get("device") == "cuda" else None
    text = trial.text if trial.original is None else trial.original
    ran = int(machine.get("processes", trial.processes))
    return everything(
        text=text,
        filename=name,
        deepspeed_version=machine.get("deepspeed"),
        framework=trial.framework,
        world_size=ran if trial.original is None else meant_for(content_of(text)),
        hardware=None if known is None else known.name,
    )


def renamed(finding: Finding, path: str) -> Finding:
    place = finding.place
    return finding._replace(place=place._replace(source=Source(path, place.source.text)))


def cause_of(error: EngineError, said: str) -> Cause | None:
    """What the catalogue says of the error's own text; where that is not enough, of all that the run printed."""
    from dslint.diagnosis.diagnose import diagnose

    for text in (f"{error.type}: {error.message}\n", said):
        causes = diagnose(io.BytesIO(text.encode()), deepspeed=True).causes
        if causes and causes[0].message.level != "consequence":
            return causes[0]
    return None


def matching(
    error: EngineError, findings: Sequence[Finding], cause: Cause | None, refused: bool
) -> list[Finding]:
    """The findings that fit an error best; where none does, the only error that dslint predicted."""
    scored = [(points(error, finding, cause), finding) for finding in findings]
    best = max((score for score, _ in scored), default=0)
    if best >= ENOUGH:
        return [finding for score, finding in scored if score == best]
    predicted = [finding for finding in findings if finding.severity == "error"]
    return predicted if refused and len(predicted) == 1 else []


def points(error: EngineError, finding: Finding, cause: Cause | None) -> int:
    """How much speaks for a finding being behind an error. A setting's value, quoted whole, tells nothing of its own."""
    from dslint.diagnosis.explain import likeness

    text = _INPUT.sub("", error.message)
    score = 1 if finding.severity == "error" else 0
    if any(claim.lower() in " ".join(error.message.lower().split()) for claim in claims(finding.name)):
        score += 8
    if cause is not None and likeness(cause, finding):
        score += 4
    row = _ROW.search(error.message)
    if row and int(row[1]) == finding.place.source.position(finding.place.start).row:
        score += 4
    keys = (finding.place.pointer or "").split("/")[1:]
    if keys and re.search(rf"(?<!\w){re.escape(keys[-1])}(?!\w)", text):
        score += 4 + sum(key in text for key in keys[:-1])
    return score


def claims(name: str) -> list[str]:
    """The texts that a rule's file says the engine refuses with; none for rules of one's own."""
    for family in os.scandir(resources.folder("rules")):
        path = os.path.join(family.path, f"{name}.yaml")
        if family.is_dir() and family.name != "messages" and os.path.isfile(path):
            from pathlib import Path

            from dslint.rules.compile import read_rule

            return [claim.refuses for claim in read_rule(Path(path)).claims if claim.refuses]
    return []
