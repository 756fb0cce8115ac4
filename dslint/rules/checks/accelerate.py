"""What Accelerate refuses in its file or leaves out: a check for each kind of fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from dslint.documents.tree import Document, Place, find, find_member
from dslint.fixing.fix import Change, Fix
from dslint.launches.launch import Launch
from dslint.releases.release import parse_version
from dslint.rules.finding import Related
from dslint.rules.match import Match

if TYPE_CHECKING:
    from dslint.launches.accelerate import AccelerateConfig
    from dslint.launches.fault import Fault

Check = Callable[[Launch], Iterator[Match]]
Mender = Callable[["Fault"], "Fix | None"]


def faults_of(launch: Launch) -> list[Fault]:
    """The faults of a launch's Accelerate file, worked out once."""
    known: list[Fault] | None = launch.memo.get("accelerate-faults")
    if known is not None:
        return known
    # Imported here: most launches have no such file.
    from dslint.launches.accelerate_faults import faults

    config = launch.accelerate
    found = [] if config is None else faults(config, accelerate_version(launch), stage_of(launch))
    launch.memo["accelerate-faults"] = found
    return found


def accelerate_version(launch: Launch) -> tuple[int, ...] | None:
    text = launch.versions.get("accelerate")
    release = parse_version(text) if text else None
    return release.version if release else None


def stage_of(launch: Launch) -> int | None:
    """The ZeRO stage of a named config; unknown while only Accelerate's file is looked at."""
    config = launch.config
    if config.dialect != "deepspeed" or config.derived:
        return None
    zero = config.root.get("zero_optimization")
    if zero is None:
        return 0
    stage = zero.get("stage")
    if stage is None:
        return 0
    return stage.value if isinstance(stage.value, int) and not isinstance(stage.value, bool) else None


def check_of(*kinds: str, refused: bool | None = None, mend: Mender | None = None) -> Check:
    """A check that finds some kinds of faults, those that stop the launch or those that do not."""

    def check(launch: Launch) -> Iterator[Match]:
        for fault in faults_of(launch):
            if fault.kind in kinds and (refused is None or fault.refused is refused):
                fix = mend(fault) if mend else None
                yield Match(fault.pointer, values=values_of(fault), fix=fix)

    return check


def values_of(fault: Fault) -> dict[str, Any]:
    """A fault's parts for its message, with a hint at what was meant."""
    parts = dict(fault.parts)
    meant = parts.get("instead") or parts.get("close") or ""
    parts["hint"] = f"; write `{meant}`" if parts.get("instead") else f"; `{meant}` is close" if meant else ""
    since, until = parts.get("since"), parts.get("until")
    if since or until:
        parts["bounds"] = f"from {since} on" if not until else f"from {since} to before {until}"
    return parts


# --- fixes


def rename_to_close(safety: str) -> Mender:
    def mend(fault: Fault) -> Fix | None:
        name = fault.parts.get("instead") or fault.parts.get("close")
        if not name or ":" in name:
            return None
        change = Change("rename", fault.pointer, name)
        return Fix(safety, f"rename it to {name}", (change,))  # type: ignore[arg-type]

    return mend


def set_to(part: str, message: str = "set it to {value}") -> Mender:
    def mend(fault: Fault) -> Fix | None:
        value = fault.parts.get(part)
        if value in (None, ""):
            return None
        return Fix("safe", message.format(value=value), (Change("set", fault.pointer, value),))

    return mend


def remove(fault: Fault) -> Fix:
    return Fix(
        "unsafe", "remove it, so that the DeepSpeed config decides", (Change("remove", fault.pointer),)
    )


def quote_precision(fault: Fault) -> Fix | None:
    if fault.parts.get("value") != "no":
        return None
    return Fix("safe", "quote it, so that it is text", (Change("set", fault.pointer, "no"),))


def as_number(fault: Fault) -> Fix | None:
    text = str(fault.parts["value"]).strip()
    if not text.isdecimal():
        return None
    return Fix("safe", "write it without quotes", (Change("set", fault.pointer, int(text)),))


def standard_launcher(fault: Fault) -> Fix:
    return Fix("unsafe", "start each machine with torchrun", (Change("set", fault.pointer, "standard"),))


def block_not_mapping(launch: Launch) -> Iterator[Match]:
    for fault in faults_of(launch):
        if fault.kind != "block-not-mapping":
            continue
        fix = None
        node = launch.config.node(fault.pointer)
        if fault.parts["is_path"] and node is not None:
            value = {"deepspeed_config_file": node.value}
            fix = Fix(
                "safe", "name the file by deepspeed_config_file", (Change("set", fault.pointer, value),)
            )
        yield Match(fault.pointer, values=values_of(fault), fix=fix)


# --- faults that the DeepSpeed config beside the file decides on


def init_flag(launch: Launch) -> Iterator[Match]:
    """`zero3_init_flag` at another stage than 3: the stage is the config's, the flag stands in
    Accelerate's file.
    """
    if launch.accelerate is None:
        return
    for fault in faults_of(launch):
        if fault.kind == "init-flag-at-stage":
            place = place_in(launch.accelerate.document, fault.pointer)
            yield Match(fault.pointer, place=place, values=values_of(fault), related=stage_shown(launch))


def stage_shown(launch: Launch) -> tuple[Related, ...]:
    member = find_member(launch.config.root, "/zero_optimization/stage")
    if member is None or launch.config.derived:
        return ()
    place = Place(launch.config.source, member.key_start, member.node.end, "/zero_optimization/stage")
    return (Related(place, "the stage is set here"),)


def beside_program(launch: Launch) -> Iterator[Match]:
    """A config that the program or the Trainer is given, beside keys of Accelerate's file that then stop
    the run.
    """
    accelerate = launch.accelerate
    if accelerate is None or not accelerate.uses_deepspeed or accelerate.config_file is not None:
        return
    given = launch.origins.get("config")
    if launch.config.derived or launch.config.dialect != "deepspeed" or given is None:
        return
    from dslint.launches.accelerate_faults import refused_beside_file

    for fault in refused_beside_file(accelerate):
        place = place_in(accelerate.document, fault.pointer)
        related = (Related(given, "the DeepSpeed config is given here"),)
        fix = fix_in(accelerate.document, Change("remove", fault.pointer))
        yield Match(fault.pointer, place=place, values=values_of(fault), related=related, fix=fix)


def fix_in(document: Document, change: Change) -> Fix | None:
    """A fix of another file than the finding's config."""
    from dslint.documents.editing import CannotEdit, edits

    try:
        made = edits(document, [change])
    except CannotEdit:
        return None
    return Fix("unsafe", "remove it, so that the DeepSpeed config decides", edits=tuple(made))


def place_in(document: Document, pointer: str) -> Place:
    member = find_member(document.root, pointer)
    if member is None:
        return Place(document.source, document.root.start, document.root.start, pointer)
    return Place(document.source, member.key_start, max(member.key_end, member.node.end), pointer)


def zero_missing(launch: Launch) -> Iterator[Match]:
    """`DeepSpeedPlugin` wants the ZeRO block in every config that it is given, by Accelerate's file or the
    Trainer. The tuner gives it others, which have the block.
    """
    if (
        launch.is_tuned
        or launch.config.derived
        or launch.config.root.kind != "object"
        or not is_given_to_plugin(launch)
    ):
        return
    if launch.config.root.get("zero_optimization") is None:
        given = launch.origins.get("config")
        related = (Related(given, "the config is given here"),) if given is not None else ()
        yield Match("/zero_optimization", related=related)


def is_given_to_plugin(launch: Launch) -> bool:
    """Does a Trainer, or Accelerate's file, certainly take this config?"""
    accelerate: AccelerateConfig | None = launch.accelerate
    if accelerate is not None and accelerate.config_file is not None:
        return accelerate.uses_deepspeed is True
    if launch.framework != "transformers":
        return False
    return launch.training is not None or bool(launch.arguments)


def precision_at_odds(launch: Launch) -> Iterator[Match]:
    """A precision that the command or the program asks Accelerate for, beside a config with the other format on."""
    asked = precision_asked(launch)
    if asked is None:
        return
    precision, place = asked
    other = "bf16" if precision == "fp16" else "fp16"
    pointer = f"/{other}/enabled"
    node = find(launch.config.root, pointer)
    if node is not None and str(node.value).lower() == "true":
        related = (Related(place, f"{precision} is asked for here"),)
        yield Match(pointer, values={"format": other, "precision": precision}, related=related)


def precision_asked(launch: Launch) -> tuple[str, Place] | None:
    """What the program's only Accelerator is asked for, by itself or by its launcher's flag; None where that is not known."""
    command, program = launch.command, launch.program
    if command is None or program is None or not takes_named_config(launch):
        return None
    calls = program.named("accelerate.Accelerator")
    if len(calls) != 1 or not calls[0].complete or "deepspeed_plugin" in calls[0].arguments:
        return None
    given = calls[0].arguments.get("mixed_precision")
    if given is not None and given.value is not None:
        own = Place(program.source, given.start, given.end)
        return (given.value, own) if given.value in HALVES else None
    flags = [launcher.value("mixed_precision") for launcher in command.launchers]
    words = [word for word in flags if word is not None and word.text in HALVES]
    if len(words) != 1 or not isinstance(words[0].text, str):
        return None
    return words[0].text, Place(command.source, words[0].start, words[0].end)


HALVES: Final = ("fp16", "bf16", "fp8")


def takes_named_config(launch: Launch) -> bool:
    """Does `accelerate launch` hand the program this config, which its file or a flag of it names?"""
    if launch.config.derived or launch.command is None or launch.framework != "accelerate":
        return False
    accelerate: AccelerateConfig | None = launch.accelerate
    if accelerate is not None:
        return accelerate.uses_deepspeed is True and accelerate.config_file is not None
    flags = [launcher.options for launcher in launch.command.launchers]
    return any("use_deepspeed" in options and "deepspeed_config_file" in options for options in flags)


ACCELERATE_CHECKS: Final[dict[str, Check]] = {
    "accelerate-beside-file": check_of("beside-file", mend=remove),
    "accelerate-beside-program": beside_program,
    "accelerate-precision-at-odds": precision_at_odds,
    "accelerate-dropped-key": check_of("dropped-key", mend=rename_to_close("unsafe")),
    "accelerate-unknown-key": check_of("unknown-key", mend=rename_to_close("safe")),
    "accelerate-other-release": check_of("key-of-another-release"),
    "accelerate-bad-value": check_of("bad-value"),
    "accelerate-distributed-type": check_of("bad-distributed-type", mend=set_to("close")),
    "accelerate-no-distributed-type": check_of("no-distributed-type"),
    "accelerate-bad-precision": check_of("bad-precision", mend=set_to("instead")),
    "accelerate-precision-refused": check_of("precision-not-text", refused=True, mend=quote_precision),
    "accelerate-precision-unquoted": check_of("precision-not-text", refused=False, mend=quote_precision),
    "accelerate-gpu-ids": check_of("gpu-ids-not-text", mend=set_to("ids", "write it as text: '{value}'")),
    "accelerate-too-few-gpus": check_of("too-few-gpus"),
    "accelerate-not-deepspeed": check_of("not-deepspeed"),
    "accelerate-block-not-mapping": block_not_mapping,
    "accelerate-several-documents": check_of("several-documents"),
    "accelerate-nvme-path": check_of("nvme-path-dropped"),
    "accelerate-zero-clipping": check_of("zero-clipping"),
    "accelerate-init-flag": init_flag,
    "accelerate-save-not-true": check_of("save-not-true"),
    "accelerate-lone-machines": check_of("lone-machines", mend=standard_launcher),
    "accelerate-uneven-machines": check_of("uneven-machines", "too-few-processes", refused=False),
    "accelerate-too-few-processes": check_of("too-few-processes", refused=True),
    "accelerate-hosts-ignored": check_of("hosts-ignored"),
    "accelerate-both-filters": check_of("both-filters"),
    "accelerate-unknown-launcher": check_of("unknown-launcher", mend=set_to("close")),
    "accelerate-count-not-number": check_of("count-not-number", mend=as_number),
    "zero-block-missing": zero_missing,
}
