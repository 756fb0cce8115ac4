"""An Accelerate configuration file: what it launches, and the DeepSpeed config that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dslint.documents.tree import UNKNOWN, Document, Member, Node, Place, Source, join_pointer
from dslint.launches.accelerate_derive import Setting, derive
from dslint.launches.accelerate_keys import DERIVED, DISTRIBUTED_TYPES, FLAGS_WIN_SINCE, TOP_KEYS, Version
from dslint.launches.launch import Argument

# Keys that no other kind of file has at its top.
TELLING: Final = frozenset(
    {"distributed_type", "compute_environment", "main_training_function", "downcast_bf16"}
)


@dataclass(frozen=True, slots=True)
class AccelerateConfig:
    """What an Accelerate file says, flags of `accelerate launch` included.

    document: the file, of the dialect "accelerate". uses_deepspeed: None when only a run, or the program,
    would show it. config_file: the DeepSpeed config that it names; the path is relative to the folder that
    the launch runs in. derived: the DeepSpeed config that Accelerate makes by itself when no file is named.
    world_size: the processes of all machines together; None when a hostfile or the program decides. facts:
    every scalar at the file's top, by its name. settings: every scalar of its `deepspeed_config`, by its
    name.
    """

    document: Document
    uses_deepspeed: bool | None
    config_file: Argument | None
    derived: Document | None
    world_size: int | None
    facts: Mapping[str, Argument]
    settings: Mapping[str, Argument]

    @property
    def mixed_precision(self) -> Argument | None:
        return self.facts.get("mixed_precision")

    @property
    def num_processes(self) -> Argument | None:
        return self.facts.get("num_processes")

    @property
    def num_machines(self) -> Argument | None:
        return self.facts.get("num_machines")


def is_accelerate(root: Node) -> bool:
    """Is this the tree of an Accelerate file? By its keys: a doubt means no."""
    if root.kind != "object":
        return False
    keys = {member.key for member in root.members}
    known = keys & TOP_KEYS.keys()
    if len(known) < 2 or 2 * len(known) < len(keys):
        return False
    if not keys & TELLING:
        return "deepspeed_config" in known and len(known) >= 3
    kind = root.get("compute_environment")
    return kind is None or kind.value is UNKNOWN or kind.value != "AMAZON_SAGEMAKER"


def accelerate_config(
    document: Document, flags: Mapping[str, Argument] | None = None, version: Version | None = None
) -> AccelerateConfig | None:
    """What a YAML document says to Accelerate, or None when it is no Accelerate file.

    Args:
        flags: of the `accelerate launch` that names the file, by their names without dashes, values as text.
        version: Accelerate's, where it is known.
    """
    if not is_accelerate(document.root):
        return None
    document = document._replace(dialect="accelerate")
    facts = with_flags(scalars(document, document.root, ""), flags or {}, True)
    block = document.root.member("deepspeed_config")
    inner = scalars(document, block.node, "/deepspeed_config") if block else {}
    settings = with_flags(inner, flags or {}, flags_win(version))
    uses = uses_deepspeed(facts, flags or {})
    file = config_file(settings)
    return AccelerateConfig(
        document=document,
        uses_deepspeed=uses,
        config_file=file,
        derived=derived(document, block, settings, flags or {}, version) if uses and file is None else None,
        world_size=world_size(facts, settings, document.root),
        facts=facts,
        settings=settings,
    )


def scalars(document: Document, node: Node, pointer: str) -> dict[str, Argument]:
    return {
        member.key: Argument(
            member.node.value,
            Place(document.source, member.node.start, member.node.end, join_pointer(pointer, member.key)),
        )
        for member in node.members
        if member.node.kind not in ("object", "array")
    }


def flags_win(version: Version | None) -> bool | None:
    return None if version is None else version >= FLAGS_WIN_SINCE


def with_flags(
    settings: dict[str, Argument], flags: Mapping[str, Argument], win: bool | None
) -> dict[str, Argument]:
    """The settings with a launch's flags over them, or under them; where nobody knows which, both are
    unknown.
    """
    merged = dict(settings)
    for name, flag in flags.items():
        given = settings.get(name)
        if given is None or given.value is None or win:
            if name in SHARED_NAMES:
                merged[name] = flag
        elif win is None and str(given.value).lower() != str(flag.value).lower():
            merged[name] = Argument(UNKNOWN, flag.place)
    return merged


SHARED_NAMES: Final = frozenset(
    {
        *TOP_KEYS,
        *DERIVED,
        *("deepspeed_config_file", "zero3_init_flag", "deepspeed_multinode_launcher", "deepspeed_hostfile"),
        *("deepspeed_inclusion_filter", "deepspeed_exclusion_filter", "deepspeed_moe_layer_cls_names"),
    }
)


def uses_deepspeed(facts: Mapping[str, Argument], flags: Mapping[str, Argument]) -> bool | None:
    """Will the launch run DeepSpeed? A flag for a way to train wins over `distributed_type`."""
    if "use_deepspeed" in flags:
        return True
    if flags.keys() & {"use_fsdp", "use_megatron_lm", "multi_gpu", "tpu", "cpu"}:
        return False
    given = facts.get("distributed_type")
    if given is None or given.value is UNKNOWN:
        return None
    if given.value == "DEEPSPEED":
        return True
    return False if given.value in DISTRIBUTED_TYPES or given.value in (False, None) else None


def config_file(settings: Mapping[str, Argument]) -> Argument | None:
    """`deepspeed_config_file`, where it counts: null and "none" stand for no file."""
    given = settings.get("deepspeed_config_file")
    if given is None or given.value is None or given.value == "none":
        return None
    return given


# --- the DeepSpeed config that Accelerate makes


def derived(
    document: Document,
    block: Member | None,
    settings: Mapping[str, Argument],
    flags: Mapping[str, Argument],
    version: Version | None,
) -> Document | None:
    if block is not None and block.node.kind not in ("object", "null"):
        return None
    home = home_of(document, block)
    members = {member.key: member for member in block.node.members} if block else {}
    own = {
        key: setting_of(member, "/deepspeed_config", settings[key].value)
        for key, member in members.items()
        if key in settings
    }
    # A flag stands in another file than the config's nodes: its setting is unknown here.
    for key in flags.keys() & DERIVED.keys() - own.keys():
        own[key] = home.beside(key)._replace(value=UNKNOWN)
    return derive(document.source, own, precision_of(document, flags), home, version)


def derived_from_flags(
    source: Source, flags: Mapping[str, Argument], home: Place, version: Version | None = None
) -> Document:
    """The config that `accelerate launch --use_deepspeed --zero_stage 3 …` makes without a file.

    Args:
        flags: by their names without dashes, values as text; those of another source are unknown.
        home: where the command stands; what Accelerate adds by itself is shown there.
    """
    own = Setting(None, home.start, home.end, home.start, home.end, None)
    settings = {name: flag_setting(flag, source, own) for name, flag in flags.items() if name in DERIVED}
    given = flags.get("mixed_precision")
    precision = None if given is None else flag_setting(given, source, own)
    return derive(source, settings, precision, own, version, "shell")


def flag_setting(flag: Argument, source: Source, home: Setting) -> Setting:
    place = flag.place
    if place.source is not source:
        return home._replace(value=UNKNOWN)
    return Setting(flag.value, place.start, place.end, place.start, place.end, None)


def home_of(document: Document, block: Member | None) -> Setting:
    if block is None:
        start = document.root.start
        return Setting(None, start, start, start, start, "/deepspeed_config")
    return setting_of(block, "", None)


def setting_of(member: Member, pointer: str, value: Any) -> Setting:
    origin = join_pointer(pointer, member.key)
    return Setting(value, member.key_start, member.key_end, member.node.start, member.node.end, origin)


def precision_of(document: Document, flags: Mapping[str, Argument]) -> Setting | None:
    """`mixed_precision`, or its old name `fp16: true`; None where the program may choose."""
    if "mixed_precision" in flags:
        return None
    member = document.root.member("mixed_precision")
    if member is not None:
        # Up to 0.33 false, which `no` is to YAML, counts as "no".
        value = "no" if member.node.value is False else member.node.value
        return setting_of(member, "", value) if value is not None else None
    member = document.root.member("fp16")
    return setting_of(member, "", "fp16") if member is not None and member.node.value is True else None


# --- how many


def world_size(
    facts: Mapping[str, Argument], settings: Mapping[str, Argument], root: Node | None = None
) -> int | None:
    """The processes of all machines, each of which takes part in data parallelism.

    With several machines Accelerate starts `num_processes // num_machines` on each. A filter of hosts, or
    processes that share a sequence, make it unknown.
    """
    processes, machines = number(facts, "num_processes", None), number(facts, "num_machines", 1)
    if processes is None or machines is None or processes < 1:
        return None
    parallel = root.get("parallelism_config") if root else None
    if parallel is not None and (parallel.members or parallel.kind == "unknown"):
        return None
    if machines <= 1:
        return processes
    launcher = settings.get("deepspeed_multinode_launcher")
    if launcher is None or launcher.value != "standard":
        return None
    return processes // machines * machines or None


def number(facts: Mapping[str, Argument], name: str, default: int | None) -> int | None:
    given = facts.get(name)
    if given is None or given.value is None:
        return default
    value = given.value
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
