"""A finding's fix as text edits, for formats that carry them."""

from __future__ import annotations

from dslint.fixing.fix import Edit
from dslint.rules.finding import Finding


def edits_of(finding: Finding) -> list[Edit]:
    """The edits of the fix: those that its changes by pointer come to, then those that it has as such."""
    fix = finding.fix
    if fix is None:
        return []
    edits = list(fix.edits)
    if fix.changes and finding.document is not None and not finding.document.derived:
        # Imported here: a run without fixes needs no editor.
        from dslint.documents.editing import edits as edits_for

        edits[:0] = edits_for(finding.document, fix.changes)
    return edits
