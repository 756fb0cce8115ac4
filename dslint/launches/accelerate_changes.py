"""Changes of the DeepSpeed config that Accelerate makes → edits of the file that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dslint.documents.tree import Document
from dslint.fixing.fix import Change, Edit
from dslint.launches.accelerate_keys import DERIVED

if TYPE_CHECKING:
    from dslint.launches.accelerate import AccelerateConfig

BLOCK: Final = "/deepspeed_config"
KEYS: Final = {pointer: key for key, pointer in DERIVED.items()}
FORMATS: Final = ("/fp16", "/bf16")


def edits_of(accelerate: AccelerateConfig, derived: Document, changes: Sequence[Change]) -> list[Edit] | None:
    """What to replace in Accelerate's file, so that the config that it makes changes so.

    None when the file has no setting for it, or has no place to edit.
    """
    from dslint.documents.editing import CannotEdit, changed, edits

    try:
        wanted = changed(derived.root.plain(), changes)
        made = list(settings_for(accelerate.document, changes, wanted))
        return None if None in made else edits(accelerate.document, [change for change in made if change])
    except CannotEdit:
        return None


def settings_for(document: Document, changes: Sequence[Change], wanted: Any) -> Iterator[Change | None]:
    """The same changes in Accelerate's own settings; None for one that it has no setting for."""
    for change in changes:
        if change.pointer.startswith(FORMATS):
            continue
        if change.op == "set" and change.pointer in KEYS:
            yield Change("set", f"{BLOCK}/{KEYS[change.pointer]}", change.value)
        elif change.op == "remove" and (own := settings_below(document, change.pointer)):
            yield from (Change("remove", f"{BLOCK}/{key}") for key in own)
        else:
            yield None
    if any(change.pointer.startswith(FORMATS) for change in changes):
        yield precision_for(wanted)


def settings_below(document: Document, pointer: str) -> list[str]:
    """The settings in the file that make what stands at a pointer of the config, or below it."""
    block = document.root.get("deepspeed_config")
    given = {member.key for member in block.members} if block else set()
    return [key for key, made in DERIVED.items() if key in given and (made + "/").startswith(pointer + "/")]


def precision_for(wanted: Any) -> Change | None:
    """`mixed_precision` for the two blocks as they shall be."""
    on = {}
    for name in ("fp16", "bf16"):
        block = wanted.get(name, {})
        enabled = block.get("enabled", False) if isinstance(block, dict) else None
        if not isinstance(enabled, bool) or (
            isinstance(block, dict) and block.keys() - {"enabled", "auto_cast"}
        ):
            return None
        on[name] = enabled
    if all(on.values()):
        return None
    name = next((name for name, enabled in on.items() if enabled), "no")
    return Change("set", "/mixed_precision", name)
