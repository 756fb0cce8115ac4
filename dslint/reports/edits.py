"""A finding's fix as text edits, for formats that carry them."""

from __future__ import annotations

from dslint.fixing.fix import Edit
from dslint.rules.finding import Finding


def edits_of(finding: Finding) -> list[Edit] | None:
    """Edits for the fix's changes by pointer, then its own; None without a fix that the text allows."""
    fix = finding.fix
    if fix is None:
        return None
    if not fix.changes or finding.document is None:
        return list(fix.edits)
    # Imported here: a run without fixes needs no editor.
    from dslint.documents import editing

    try:
        return [*editing.edits(finding.document, fix.changes), *fix.edits]
    except editing.CannotEdit:
        return None
