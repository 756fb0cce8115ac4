"""A config made for a cluster, fitted to the few processes that a trial has; and who is to hand it to the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from dslint.documents.editing import CannotEdit, edits
from dslint.documents.json import parse
from dslint.documents.tree import Source
from dslint.engine.trial import Framework
from dslint.fixing.apply import apply
from dslint.fixing.fix import Change
from dslint.launches.trainer import content_at

BATCH: Final = "train_batch_size"
PARTS: Final = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


class Fitted(NamedTuple):
    """The text to run with, and the sentences that say what was changed or assumed for it."""

    text: str
    notes: tuple[str, ...] = ()


def content_of(text: str, shown: str = "") -> Any:
    """A JSON config's plain content, as far as it reads."""
    return parse(Source(shown, text)).root.plain()


def meant_for(content: Any) -> int | None:
    """The number of processes for which a config's three batch sizes fit together; None where they do not tell."""
    if not isinstance(content, dict):
        return None
    numbers = [
        number
        for number in (content.get(name) for name in (BATCH, *PARTS))
        if isinstance(number, int) and not isinstance(number, bool) and number > 0
    ]
    if len(numbers) < 3:
        return None
    whole, micro, steps = numbers
    count, rest = divmod(whole, micro * steps)
    return count if rest == 0 else None


def fit(text: str, shown: str, processes: int) -> Fitted:
    """A text whose batch sizes are for more processes than run: its train_batch_size is left to the engine to work out."""
    content = content_of(text, shown)
    count = meant_for(content)
    if count is None or count == processes or count == 1:
        return Fitted(text)
    document = parse(Source(shown, text))
    try:
        fitted = apply(text, edits(document, [Change("remove", f"/{BATCH}")]))
    except (CannotEdit, ValueError):
        return Fitted(text)
    ran = content[PARTS[0]] * content[PARTS[1]] * processes
    who = "one process" if processes == 1 else f"{processes} processes"
    return Fitted(
        fitted,
        (
            f"the batch sizes are for {count} processes; {who} ran here, with a {BATCH} of {ran}. "
            f"--num-gpus {count} runs it as it is",
        ),
    )


def framework_for(content: Any, given: Collection[str] = ()) -> tuple[Framework, tuple[str, ...]]:
    """Who hands a config over when nobody says it: the Trainer where something is "auto", which only a framework fills.

    `given` are the names of the Trainer's arguments that were told. The sentences say what was assumed.
    """
    if "auto" not in set(texts(content)):
        return "deepspeed", ()
    if find_spec("transformers") is None or find_spec("accelerate") is None:
        return "deepspeed", (
            '"auto" is for a framework to fill, and transformers is not installed; DeepSpeed got the config as it is',
        )
    notes = [
        'something is "auto" in it, so the Trainer handed it over; --framework deepspeed hands it over as it is'
    ]
    precision = (content_at(content, "/fp16/enabled"), content_at(content, "/bf16/enabled"))
    if "auto" in precision and not {"fp16", "bf16"} & set(given):
        notes.append(
            "whether fp16 or bf16 is on is up to the Trainer's arguments; --argument bf16=true turns it on"
        )
    return "transformers", tuple(notes)


def texts(content: Any) -> Iterator[str]:
    """Every text in a config that stands as a value."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from texts(value)
