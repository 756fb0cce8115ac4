"""The texts of a move, held against the rules before they are written."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from dslint.documents.tree import Source
from dslint.fixing.mend import Lint, key, mend, objection
from dslint.linting import Outcome
from dslint.migrating.moves import CannotMove, row_of
from dslint.migrating.plan import Planned
from dslint.rules.finding import LEVEL, Finding
from dslint.workspace import Workspace

# What a move brings along: its settings in the new format are mended at once.
MENDED: Final = frozenset(
    {
        "gradient-clipping-off",
        "loss-scale-key-in-bf16",
        "loss-scale-key-ignored-in-bf16",
        "loss-scale-window-zero",
        "loss-scale-window-zero-old",
        "min-loss-scale-below-one",
        "min-loss-scale-fractional",
        "min-loss-scale-no-room",
        "min-loss-scale-zero",
    }
)
PRECISION_BLOCKS: Final = frozenset({"fp16", "bf16", "bfloat16", "amp", "mixed_precision"})


class Verified(NamedTuple):
    """`texts` by absolute path, the mended ones among them; `mended` and `standing` are findings to tell of."""

    texts: dict[str, Source]
    mended: list[Finding]
    standing: list[Finding]


def verify(planned: Planned, workspace: Workspace, before: Outcome, lint: Lint) -> Verified:
    """The texts to write.

    Raises:
        CannotMove: they would not say what is meant, bring an error, or leave a fault of the precision that stops a run.
    """
    moved = workspace.with_texts(planned.texts)
    reason = objection([], planned.plan, before, lint(moved))
    if reason:
        raise CannotMove(f"nothing was written: {reason}")
    result = mend(moved, lint, lambda finding: finding.name in MENDED and is_moved(finding, planned))
    old = {key(finding) for finding in before.findings}
    standing = [finding for finding in result.outcome.findings if is_about_precision(finding)]
    for finding in standing:
        # Clipping that no file here has a place for is the user's to add.
        new = key(finding) not in old and is_loud(finding) and finding.name != "gradient-clipping-off"
        if finding.severity == "error" or new:
            raise CannotMove(
                f"nothing was written: after the move {row_of(finding.place)} would have {finding.name}: {finding.message}"
            )
    return Verified({**planned.texts, **result.texts}, result.applied, [f for f in standing if is_loud(f)])


def is_moved(finding: Finding, planned: Planned) -> bool:
    """Does it stand in a file that moves? Others keep their faults."""
    return os.path.abspath(finding.place.source.path) in planned.texts


def is_about_precision(finding: Finding) -> bool:
    """By its family, by its name, or by the key that it is about."""
    first = (finding.place.pointer or "").split("/")[1:2]
    return (
        finding.code.startswith("DS2")
        or "precision" in finding.name
        or "formats" in finding.name
        or bool(first and first[0] in PRECISION_BLOCKS)
    )


def is_loud(finding: Finding) -> bool:
    return LEVEL[finding.severity] >= LEVEL["warning"]
