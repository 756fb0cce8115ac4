"""What a release's schema says of a config: one check for each kind of violation, refused or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from dslint.documents.tree import Node, find, find_member, split_pointer
from dslint.fixing.fix import Change, Fix, Safety
from dslint.launches.launch import Launch
from dslint.releases.schema import property_at, schema_for
from dslint.releases.validity import valid
from dslint.releases.walk import Violation, ViolationKind, walk
from dslint.rules.conditions import FILLS_AUTO
from dslint.rules.match import Match

KINDS: Final[tuple[str, ...]] = get_args(ViolationKind)

# The places where the HF Trainer or Accelerate put a value of their own for "auto"
# (transformers/integrations/deepspeed.py, accelerate/accelerator.py).
FILLED: Final = frozenset(
    {
        "/train_batch_size",
        "/train_micro_batch_size_per_gpu",
        "/gradient_accumulation_steps",
        "/gradient_clipping",
        "/fp16/enabled",
        "/bf16/enabled",
        "/bfloat16/enabled",
        "/amp/enabled",
        "/amp/opt_level",
        "/optimizer/params/lr",
        "/optimizer/params/betas",
        "/optimizer/params/eps",
        "/optimizer/params/weight_decay",
        "/scheduler/params/warmup_min_lr",
        "/scheduler/params/warmup_max_lr",
        "/scheduler/params/warmup_num_steps",
        "/scheduler/params/total_num_steps",
        "/zero_optimization/reduce_bucket_size",
        "/zero_optimization/stage3_prefetch_bucket_size",
        "/zero_optimization/stage3_param_persistence_threshold",
        "/zero_optimization/stage3_gather_16bit_weights_on_model_save",
        "/zero_optimization/stage",
        "/zero_optimization/offload_optimizer/device",
        "/zero_optimization/offload_param/device",
    }
)


def violations(launch: Launch) -> Sequence[Violation]:
    """The walk of this launch's config, done once for all checks."""
    known: Sequence[Violation] | None = launch.memo.get("violations")
    if known is None:
        filled = FILLED if launch.framework in FILLS_AUTO else frozenset[str]()
        root = launch.config.root
        found = walk(schema_for(launch.release), root, filled)
        known = launch.memo["violations"] = [
            one
            for one in found
            if not (is_passed_over(root, one) or asks_for_nothing(one) or is_tried(one, launch))
        ]
    return known


def asks_for_nothing(violation: Violation) -> bool:
    """Is it a key that the release passes over, whose value asks for nothing that could be missed?"""
    passed_over = violation.kind in ("removed-key", "future-key", "ignored-key") and not violation.refused
    return passed_over and is_off(violation.node)


def is_tried(violation: Violation, launch: Launch) -> bool:
    """Is it a list of values, or a word for all stages, that the tuner tries one by one?"""
    if not launch.is_tuned or violation.kind not in ("wrong-type", "not-allowed"):
        return False
    node = violation.node
    return node.kind == "array" or (violation.pointer == "/zero_optimization/stage" and node.value == "all")


def is_passed_over(root: Node, violation: Violation) -> bool:
    """Is it in a bfloat16 block beside a bf16 block, which every release reads instead?"""
    return violation.pointer.startswith("/bfloat16/") and root.get("bf16") is not None


def of_kind(kind: str, refused: bool) -> Callable[[Launch], Iterator[Match]]:
    """The check for one kind of violation."""

    def check(launch: Launch) -> Iterator[Match]:
        for violation in violations(launch):
            if violation.kind == kind and violation.refused is refused and not stops_later(violation, launch):
                yield match_of(violation, launch)

    return check


def stops_later(violation: Violation, launch: Launch) -> bool:
    """Does it load, and stop the engine when that is set up or makes its first step?

    Arguments of optimizers and schedulers have checks of their own, which know the class that is built.
    """
    if not violation.stops or violation.refused or violation.node.value == "auto":
        return False
    if violation.pointer == "/gradient_predivide_factor":
        # ZeRO's stage 1 need not come to it, and stages 2 and 3 refuse all but 1 there.
        stage = find(launch.config.root, "/zero_optimization/stage")
        return find(launch.config.root, "/zero_optimization") is None or (
            stage is not None and stage.value == 0
        )
    return not violation.pointer.startswith(("/optimizer/params", "/scheduler/params"))


def stopping_value(launch: Launch) -> Iterator[Match]:
    """Values that the release takes when it reads the config, and cannot compute with."""
    for violation in violations(launch):
        if stops_later(violation, launch):
            match = match_of(violation, launch)
            # Nobody trains with it today, so what is plainly meant may be restored.
            fix = None if match.fix is None else match.fix._replace(safety="safe")
            yield match._replace(values={**match.values, "said": wanted(violation)}, fix=fix)


def wanted(violation: Violation) -> str:
    """What belongs where a value stops the engine."""
    if violation.kind == "not-allowed":
        return f"{say_allowed(violation.details)} is wanted"
    kind = {"quoted-number": "number", "quoted-boolean": "boolean"}.get(violation.kind)
    return say_type({"expected": kind} if kind else violation.details)


def match_of(violation: Violation, launch: Launch) -> Match:
    if violation.kind == "unknown-key":
        violation = with_fitting(violation, launch)
    values = {
        "key": split_pointer(violation.pointer)[-1] if violation.pointer else "",
        "where": where(violation.pointer),
        "said": said(violation),
    }
    mark = "value" if violation.kind in VALUE_KINDS or violation.member is None else "key"
    fix = FIXES.get(violation.kind, no_fix)(violation, launch)
    return Match(violation.pointer, values=values, mark=mark, fix=fix)


def with_fitting(violation: Violation, launch: Launch) -> Violation:
    """An unknown key with those suggestions alone that would take its value, where some would."""
    names = violation.details["suggestions"]
    if violation.node.kind != "boolean" or not names:
        return violation
    parent = violation.pointer.rpartition("/")[0]
    fitting = [name for name in names if fits_at(launch, f"{parent}/{name}", violation.node)]
    return violation._replace(details={**violation.details, "suggestions": fitting})


VALUE_KINDS: Final = frozenset(
    {"wrong-type", "out-of-range", "not-allowed", "quoted-number", "quoted-boolean", "missing-key"}
)


def where(pointer: str) -> str:
    parts = split_pointer(pointer)[:-1]
    return f"in {'.'.join(parts)}" if parts else "at the top level"


def dotted(pointer: str) -> str:
    return ".".join(split_pointer(pointer))


def said(violation: Violation) -> str:
    """The part of the message that only this violation knows."""
    say = SAYINGS.get(violation.kind)
    return "" if say is None else say(violation.details)


def say_unknown(details: Mapping[str, Any]) -> str:
    names = details["suggestions"]
    return f"; did you mean {names[0]}?" if names else ""


def say_misplaced(details: Mapping[str, Any]) -> str:
    return " or ".join(dotted(place) for place in details["right_places"])


def say_removed(details: Mapping[str, Any]) -> str:
    replaced = details.get("replaced_by")
    reason = f"; use {dotted(replaced)}" if replaced else ""
    again = f" and came back in {details['again']}" if details.get("again") else ""
    return f"{details['since']}{again}{reason}"


def say_deprecated(details: Mapping[str, Any]) -> str:
    replaced = details.get("replaced_by")
    return f"; {dotted(replaced)} takes its place" if replaced else ""


def say_type(details: Mapping[str, Any]) -> str:
    expected = EXPECTED.get(str(details["expected"]).rstrip("?"), str(details["expected"]))
    return f"{expected} is wanted"


def say_range(details: Mapping[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusive_minimum": "above",
        "maximum": "at most",
        "exclusive_maximum": "below",
    }
    told = [f"{word} {details[bound]:g}" for bound, word in words.items() if details.get(bound) is not None]
    return " and ".join(told) or "within its bounds"


def say_allowed(details: Mapping[str, Any]) -> str:
    allowed = ", ".join(json.dumps(value) for value in details["allowed"])
    names = details.get("suggestions")
    return f"{allowed}" + (f"; did you mean {json.dumps(names[0])}?" if names else "")


def say_quoted(details: Mapping[str, Any]) -> str:
    if details["reads_as"] != details["meant"] or isinstance(details["reads_as"], str):
        return f"and is read as {json.dumps(details['reads_as'])}"
    return f"and is read as {json.dumps(details['meant'])}, as long as the release converts it"


EXPECTED: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text",
    "object": "an object",
    "array": "a list",
}

SAYINGS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "unknown-key": say_unknown,
    "misplaced-key": say_misplaced,
    "removed-key": say_removed,
    "future-key": lambda details: str(details["since"]),
    "deprecated-key": say_deprecated,
    "alias-conflict": lambda details: str(details["other"]),
    "wrong-type": say_type,
    "out-of-range": say_range,
    "not-allowed": say_allowed,
    "quoted-number": say_quoted,
    "quoted-boolean": say_quoted,
    "foreign-key": lambda details: str(details["framework"]),
    "missing-key": lambda details: str(details["key"]),
}


def no_fix(violation: Violation, launch: Launch) -> Fix | None:
    return None


def safety_of(violation: Violation) -> Safety:
    """Where the engine refuses the file, nobody trains with it today: the plain intent may be restored safely."""
    return "safe" if violation.refused else "unsafe"


def fix_unknown(violation: Violation, launch: Launch) -> Fix | None:
    parent = violation.pointer.rpartition("/")[0]
    key = split_pointer(violation.pointer)[-1]
    names = [n for n in violation.details["suggestions"] if fits_at(launch, f"{parent}/{n}", violation.node)]
    if not names:
        return (
            Fix("unsafe", f"remove {key}", (Change("remove", violation.pointer),))
            if violation.refused
            else None
        )
    meant = f"{parent}/{names[0]}"
    if find(launch.config.root, meant) is not None:
        return Fix(
            "unsafe", f"remove {key}, since {names[0]} is there", (Change("remove", violation.pointer),)
        )
    if len(names) > 1:
        return Fix("unsafe", f"rename {key} to {names[0]}", (Change("rename", violation.pointer, names[0]),))
    return Fix(
        safety_of(violation), f"rename {key} to {names[0]}", (Change("rename", violation.pointer, names[0]),)
    )


def fits_at(launch: Launch, pointer: str, node: Node) -> bool:
    """Would the release take this value at that key? A rename that brings another refusal mends nothing."""
    schema = schema_for(launch.release)
    entry = property_at(schema, pointer)
    if entry is None or node.kind == "unknown":
        return True
    if "properties" in entry:
        return node.kind == "object"
    if node.kind == "boolean" and "boolean" not in types_of(entry):
        # Many numbers take true for 1, which nobody means who writes it.
        return False
    return valid(entry, node, schema.get("$defs", {}))


def types_of(entry: Mapping[str, Any]) -> set[str]:
    """The kinds that an entry of the schema names, in itself or in its choices; all where it names none."""
    if "type" in entry:
        return {entry["type"]} if isinstance(entry["type"], str) else set(entry["type"])
    choices = [*entry.get("anyOf", ()), *entry.get("oneOf", ())]
    return set().union(*map(types_of, choices)) if choices else {"boolean"}


def fix_misplaced(violation: Violation, launch: Launch) -> Fix | None:
    places = violation.details["right_places"]
    key = split_pointer(violation.pointer)[-1]
    if find(launch.config.root, places[0]) is not None:
        return Fix(
            safety_of(violation) if violation.refused else "safe",
            f"remove {key} here, since {dotted(places[0])} is given",
            (Change("remove", violation.pointer),),
        )
    if is_other_format(violation.pointer, places[0]):
        # Moved to the other format's block it would act on a format that is off, or turn into a fault of its own.
        return Fix(
            "safe", f"remove {key}, which only the other format has", (Change("remove", violation.pointer),)
        )
    if needs_switch(launch, places[0]):
        # Moved, it would be alone in a block that is not on, or that the release refuses without its switch.
        gone = Fix(
            "unsafe",
            f"remove {key}, which is for {dotted(places[0])}",
            (Change("remove", violation.pointer),),
        )
        return gone if violation.refused else None
    safety: Safety = safety_of(violation) if len(places) == 1 else "unsafe"
    if any(blocked(launch, place) for place in places[:1]):
        return None
    return Fix(safety, f"move it to {dotted(places[0])}", (Change("move", violation.pointer, places[0]),))


def needs_switch(launch: Launch, place: str) -> bool:
    """Would a key at this place make a new block, one that has to be switched on?"""
    block = place.rpartition("/")[0]
    if not block or find(launch.config.root, block) is not None:
        return False
    entry = property_at(schema_for(launch.release), block)
    return entry is not None and "enabled" in entry.get("properties", {})


def is_other_format(pointer: str, place: str) -> bool:
    blocks = {split_pointer(pointer)[0], split_pointer(place)[0]}
    return len(blocks) == 2 and blocks <= {"fp16", "bf16", "bfloat16"}


def blocked(launch: Launch, pointer: str) -> bool:
    """Is something that is no object in the way to a pointer?"""
    parent = pointer.rpartition("/")[0]
    while parent:
        node = find(launch.config.root, parent)
        if node is not None and node.kind != "object":
            return True
        parent = parent.rpartition("/")[0]
    return False


def fix_removed(violation: Violation, launch: Launch) -> Fix:
    key = split_pointer(violation.pointer)[-1]
    # A block that is off, or that the release ignores, takes nothing from the training when it goes.
    idle = not violation.refused or is_off(violation.node)
    return Fix("safe" if idle else "unsafe", f"remove {key}", (Change("remove", violation.pointer),))


def is_off(node: Node) -> bool:
    """A block or a switch that asks for nothing: false, 0, null, {}, or `enabled: false`."""
    if node.kind == "object":
        enabled = node.get("enabled")
        return not node.members or (enabled is not None and enabled.value in (False, 0))
    return node.kind != "unknown" and not node.plain()


def fix_future(violation: Violation, launch: Launch) -> Fix | None:
    key = split_pointer(violation.pointer)[-1]
    if not violation.refused:
        return None
    safety: Safety = "safe" if is_off(violation.node) else "unsafe"
    return Fix(safety, f"remove {key}", (Change("remove", violation.pointer),))


def fix_deprecated(violation: Violation, launch: Launch) -> Fix | None:
    replaced = violation.details.get("replaced_by")
    if not replaced or "value" not in violation.details or blocked(launch, replaced):
        return None
    key = split_pointer(violation.pointer)[-1]
    remove = Change("remove", violation.pointer)
    value = violation.details["value"]
    if value is None:
        return Fix("safe", f"remove {key}", (remove,))
    if find(launch.config.root, replaced) is not None:
        return None
    if find_member(launch.config.root, violation.pointer) is not None and value == violation.node.value:
        parent, _, name = replaced.rpartition("/")
        if parent == violation.pointer.rpartition("/")[0]:
            return Fix("safe", f"rename {key} to {name}", (Change("rename", violation.pointer, name),))
    message = f"replace {key} by {dotted(replaced)}: {json.dumps(value)}"
    return Fix("safe", message, (remove, Change("set", replaced, value)))


def fix_conflict(violation: Violation, launch: Launch) -> Fix:
    """Two keys for one thing: the older goes; what they say decides whether that is safe."""
    other = find(launch.config.root, violation.details["other_pointer"])
    same = other is not None and other.plain() == violation.node.plain()
    key = split_pointer(violation.pointer)[-1]
    safety: Safety = "safe" if same or is_off(violation.node) else "unsafe"
    return Fix(
        safety, f"remove {key} and keep {violation.details['other']}", (Change("remove", violation.pointer),)
    )


def fix_allowed(violation: Violation, launch: Launch) -> Fix | None:
    names = violation.details.get("suggestions")
    if not names:
        return None
    return Fix(
        safety_of(violation),
        f"set it to {json.dumps(names[0])}",
        (Change("set", violation.pointer, names[0]),),
    )


def fix_quoted(violation: Violation, launch: Launch) -> Fix | None:
    meant = violation.details["meant"]
    if meant is None:
        return None
    safety: Safety = "safe" if violation.refused or violation.details["reads_as"] == meant else "unsafe"
    return Fix(
        safety, f"take the quotes off: {json.dumps(meant)}", (Change("set", violation.pointer, meant),)
    )


def fix_null(violation: Violation, launch: Launch) -> Fix | None:
    """null where nothing may stand means what leaving the key out does."""
    if violation.details["got"] != "null" or violation.member is None:
        return None
    key = violation.member.key
    return Fix(
        safety_of(violation),
        f"remove {key}, which leaves it at its default",
        (Change("remove", violation.pointer),),
    )


def fix_comment(violation: Violation, launch: Launch) -> Fix:
    return Fix("unsafe", "remove the comment key", (Change("remove", violation.pointer),))


FIXES: Final[Mapping[str, Callable[[Violation, Launch], Fix | None]]] = {
    "unknown-key": fix_unknown,
    "misplaced-key": fix_misplaced,
    "removed-key": fix_removed,
    "future-key": fix_future,
    "deprecated-key": fix_deprecated,
    "alias-conflict": fix_conflict,
    "not-allowed": fix_allowed,
    "wrong-type": fix_null,
    "quoted-number": fix_quoted,
    "quoted-boolean": fix_quoted,
    "comment-key": fix_comment,
}

# The checks that have nothing to say where the walk met no violation of their kind.
STOPPING: Final = "schema-value-stops"
BY_KIND: Final = frozenset(f"schema-{kind}{end}" for kind in KINDS for end in ("-refused", "")) | {STOPPING}


def kinds_of(launch: Launch) -> set[str]:
    """The names of the checks whose kind of violation this launch has."""
    return {
        STOPPING if stops_later(v, launch) else f"schema-{v.kind}{'-refused' if v.refused else ''}"
        for v in violations(launch)
    }


# From so many unknown keys without a likeness on, the file is a program's own settings as well as DeepSpeed's.
SHARED_FILE: Final = 5


def strangers(launch: Launch) -> list[Violation]:
    """Top-level keys that DeepSpeed does not know and that resemble none of its own."""
    return [
        violation
        for violation in violations(launch)
        if violation.kind == "unknown-key"
        and not violation.refused
        and not violation.details["suggestions"]
        and violation.pointer.count("/") == 1
    ]


def unknown_key(launch: Launch) -> Iterator[Match]:
    """Unknown keys that are ignored; in a file that a program shares with DeepSpeed, only those that look like a slip."""
    others = strangers(launch)
    left_out = {id(violation) for violation in others} if len(others) >= SHARED_FILE else set[int]()
    for violation in violations(launch):
        if violation.kind == "unknown-key" and not violation.refused and id(violation) not in left_out:
            yield match_of(violation, launch)


def shared_file(launch: Launch) -> Iterator[Match]:
    """A file that holds settings of a program beside DeepSpeed's."""
    others = strangers(launch)
    if len(others) >= SHARED_FILE:
        names = [split_pointer(violation.pointer)[-1] for violation in others]
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        yield Match(others[0].pointer, mark="key", values={"count": len(names), "names": shown})


SCHEMA_CHECKS: Final = {
    f"schema-{kind}{'-refused' if refused else ''}": of_kind(kind, refused)
    for kind in KINDS
    for refused in (True, False)
} | {STOPPING: stopping_value, "schema-unknown-key": unknown_key, "shared-file": shared_file}
