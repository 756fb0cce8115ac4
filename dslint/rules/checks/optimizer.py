"""The optimizer block against what a release builds from it: names, and parameters against the real signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dslint.documents.tree import Node, find
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.names import nearest
from dslint.releases.release import KNOWN, Release
from dslint.releases.schema import optimizers, torch_optimizers
from dslint.rules.conditions import reach
from dslint.rules.match import Match

# What torch.optim brings; DeepSpeed looks a name that is none of its own up there, in exact case.
# Names that only newer torch releases have are here too: which torch will run is not known.
TORCH_OPTIMIZERS: Final = frozenset(
    {
        "ASGD",
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "LBFGS",
        "Muon",
        "NAdam",
        "Optimizer",
        "RAdam",
        "RMSprop",
        "Rprop",
        "SGD",
        "SparseAdam",
    }
)


def optimizer_type(launch: Launch) -> str | None:
    """The optimizer's name, as the file spells it; None where there is none or it is not known."""
    node = find(launch.config.root, "/optimizer/type")
    return node.value if node is not None and node.kind == "string" else None


def entry_of(launch: Launch) -> Mapping[str, Any] | None:
    """What this release builds for the optimizer's name, when it is one of DeepSpeed's own."""
    name = optimizer_type(launch)
    return None if name is None else optimizers(launch.release).get(name.lower())


def unknown(launch: Launch) -> Iterator[Match]:
    """A name that neither DeepSpeed nor torch.optim has, and that no release had."""
    name = optimizer_type(launch)
    if name is None or is_known(name, launch.release) or last_with(name) is not None or is_ours(launch):
        return
    near = nearest(name, sorted({*TORCH_OPTIMIZERS, *display_names(launch.release)}))
    hint = f"; did you mean {near[0]}?" if near else ""
    fix = Fix("safe", f"set it to {near[0]}", (Change("set", "/optimizer/type", near[0]),)) if near else None
    yield Match("/optimizer/type", values={"name": name, "hint": hint}, fix=fix)


def removed(launch: Launch) -> Iterator[Match]:
    """A name that other releases have and this one has not."""
    name = optimizer_type(launch)
    if name is None or is_known(name, launch.release) or is_ours(launch):
        return
    last = last_with(name)
    if last is not None:
        yield Match(
            "/optimizer/type", values={"name": name, "last": last.name}, fix=uncompressed(launch, name)
        )


# The optimizers whose communication the 1-bit ones compress.
UNCOMPRESSED: Final[Mapping[str, str]] = {"onebitadam": "Adam", "zerooneadam": "Adam", "onebitlamb": "Lamb"}


def uncompressed(launch: Launch, name: str) -> Fix | None:
    """The optimizer without the compression, and without the parameters that only the compression had."""
    plain = UNCOMPRESSED.get(name.lower())
    entry = None if plain is None else optimizers(launch.release).get(plain.lower())
    params = reach(launch.config.root, ("optimizer", "params")).node
    if plain is None or entry is None or params is None or params.kind != "object" or params.open:
        return None
    gone = [member.key for member in params.members if member.key not in entry["params"]]
    changes = [Change("set", "/optimizer/type", plain)]
    changes += [Change("remove", f"/optimizer/params/{key}") for key in gone]
    dropped = f", and drop {', '.join(gone)}" if gone else ""
    return Fix("unsafe", f"take {plain}, the same optimizer without compression{dropped}", tuple(changes))


def is_ours(launch: Launch) -> bool:
    """Does the program bring an optimizer of its own, so that the engine never looks at this block?"""
    return is_given(launch, "optimizer")


def is_given(launch: Launch, parameter: str) -> bool:
    """Does the program hand deepspeed.initialize something under this name?"""
    if launch.program is None:
        return False
    calls = launch.program.named("deepspeed.initialize")
    given = [call.arguments.get(parameter) for call in calls]
    return any(one is not None and one.value is not None for one in given)


def is_known(name: str, release: Release) -> bool:
    return name.lower() in optimizers(release) or name in TORCH_OPTIMIZERS


def last_with(name: str) -> Release | None:
    """The newest release whose own optimizers include a name."""
    low = name.lower()
    return next((release for release in reversed(KNOWN) if low in optimizers(release)), None)


def display_names(release: Release) -> list[str]:
    spelled = {
        "adam": "Adam",
        "adamw": "AdamW",
        "lamb": "Lamb",
        "lion": "Lion",
        "muon": "Muon",
        "adagrad": "Adagrad",
    }
    return [spelled.get(name, name) for name in optimizers(release)]


def parameter(launch: Launch) -> Iterator[Match]:
    """A parameter that the class which is built does not take."""
    name = optimizer_type(launch)
    params = reach(launch.config.root, ("optimizer", "params")).node
    if name is None or params is None or is_ours(launch):
        return
    taken = taken_parameters(launch, name)
    if taken is None:
        return
    entry = entry_of(launch)
    others = frozenset() if entry is None else frozenset(entry["params"])
    for member in params.members:
        if member.key not in taken and member.key != "max_grad_norm":
            yield parameter_match(launch, member.key, params, sorted(taken), member.key in others)


def taken_parameters(launch: Launch, name: str) -> frozenset[str] | None:
    """The parameters that the optimizer takes in this launch; None where any will do, or none is known."""
    entry = entry_of(launch)
    if entry is None:
        torch = torch_optimizers().get(name)
        return None if torch is None else frozenset(torch["params"])
    if entry["others"] != "refused":
        return None
    use = class_in_use(launch)
    chosen = [one["params"] for one in entry["classes"] if one["when"] == use]
    return frozenset({*chosen[0], *entry["engine"]} if chosen else entry["params"])


def class_in_use(launch: Launch) -> str | None:
    """Which of an optimizer's classes this config builds: torch, cpu or gpu; None where that can't be told."""
    root = launch.config.root
    torch_adam = reach(root, ("optimizer", "params", "torch_adam")).node
    if torch_adam is not None:
        asked = torch_adam.plain()
        if torch_adam.kind == "unknown":
            return None
        if asked:
            return "torch"
    zero = root.get("zero_optimization")
    if zero is None:
        return "gpu"
    if (
        zero.kind != "object"
        or zero.open
        or zero.get("cpu_offload") is not None
        or zero.get("zenflow") is not None
    ):
        return None
    offload = zero.get("offload_optimizer")
    if offload is None or offload.kind == "null":
        return "gpu"
    device = offload.get("device") if offload.kind == "object" and not offload.open else None
    value = None if device is None else device.value
    return {"cpu": "cpu", "nvme": "cpu", "none": "gpu"}.get(value) if isinstance(value, str) else None


def parameter_match(launch: Launch, key: str, params: Node, known: list[str], elsewhere: bool) -> Match:
    pointer = f"/optimizer/params/{key}"
    near = [] if elsewhere else [name for name in nearest(key, known) if params.get(name) is None]
    if near:
        fix = Fix("safe", f"rename it to {near[0]}", (Change("rename", pointer, near[0]),))
    else:
        fix = Fix("unsafe", f"remove {key}", (Change("remove", pointer),))
    hint = f"; did you mean {near[0]}?" if near else ""
    if elsewhere:
        hint = f" in the form that this config asks for ({FORMS[class_in_use(launch) or 'gpu']})"
    return Match(
        pointer, values={"key": key, "name": optimizer_type(launch), "hint": hint}, mark="key", fix=fix
    )


FORMS: Final = {
    "gpu": "DeepSpeed's own for GPUs",
    "cpu": "DeepSpeed's own for an offloaded optimizer",
    "torch": "torch's, since torch_adam is on",
}


def untested(launch: Launch) -> Iterator[Match]:
    """ZeRO with an optimizer that DeepSpeed has not tested it with, and no word that this is wanted."""
    name = optimizer_type(launch)
    stage = reach(launch.config.root, ("zero_optimization", "stage")).node
    allow = launch.config.root.get("zero_allow_untested_optimizer")
    if name is None or is_ours(launch) or launch.config.root.open:
        return
    if allow is not None and (allow.kind == "unknown" or allow.plain()):
        return
    if stage is None or stage.kind != "number" or stage.value not in (1, 2, 3):
        return
    entry = entry_of(launch)
    if (entry is None and name in TORCH_OPTIMIZERS) or (entry is not None and entry["zero"] == "untested"):
        change = Change("set", "/zero_allow_untested_optimizer", True)
        yield Match(
            "/zero_allow_untested_optimizer" if allow is not None else "/optimizer/type",
            values={"name": name, "stage": stage.value},
            fix=Fix("safe", "set zero_allow_untested_optimizer to true", (change,)),
        )


OPTIMIZER_CHECKS: Final = {
    "optimizer-unknown": unknown,
    "optimizer-removed": removed,
    "optimizer-parameter": parameter,
    "optimizer-untested": untested,
}
