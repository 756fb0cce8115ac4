"""What Accelerate refuses in its own file, and what it silently leaves out: every claim holds for real
releases.

Each kind of fault has its function; `FAULTS` names them. A fault that depends on Accelerate's release is
given for a known version, and for an unknown one only where all releases from 0.21 to 1.15 agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Node, join_pointer
from dslint.launches.accelerate import AccelerateConfig, number
from dslint.launches.accelerate_derive import READERS, Refused
from dslint.launches.accelerate_keys import (
    AUTO_CLIPPING_SINCE,
    AUTO_STEPS_SINCE,
    BOOLEAN_PRECISION_REFUSED_SINCE,
    DEFAULTS_SINCE,
    DERIVED,
    DISTRIBUTED_TYPES,
    INSTEAD,
    LAUNCH_ARGUMENT_GROUPS,
    LAUNCH_ARGUMENTS,
    LAUNCHERS,
    LAUNCHING,
    MOE_SINCE,
    PRECISIONS,
    REFUSED_BESIDE_FILE,
    SET_ANYWAY,
    TOP_KEYS,
    Span,
    Version,
)
from dslint.launches.fault import Fault

BLOCK: Final = "/deepspeed_config"


class Asked(NamedTuple):
    """What is asked: of which file, of which Accelerate, and how much of the launch is known.

    stage: the ZeRO stage of the DeepSpeed config that the file names, where it is known.
    flags_known: the flags of `accelerate launch` are all known and part of `config`.
    """

    config: AccelerateConfig
    version: Version | None = None
    stage: int | None = None
    flags_known: bool = False


def faults(
    config: AccelerateConfig,
    version: Version | None = None,
    stage: int | None = None,
    flags_known: bool = False,
) -> list[Fault]:
    """Every fault of a file, in the order of its text; see `Asked` for the arguments."""
    asked = Asked(config, version, stage, flags_known)
    found = [fault for function in FAULTS.values() for fault in function(asked)]
    root = config.document.root
    return sorted(found, key=lambda fault: position(root, fault.pointer))


def position(root: Node, pointer: str) -> int:
    node: Node | None = root
    start = root.start
    for part in pointer.split("/")[1:]:
        member = node.member(part) if node is not None else None
        if member is None:
            break
        start, node = member.key_start, member.node
    return start


def members(config: AccelerateConfig) -> dict[str, Node]:
    block = config.document.root.get("deepspeed_config")
    return {member.key: member.node for member in block.members} if block else {}


# --- the file's top


def unknown_keys(asked: Asked) -> Iterator[Fault]:
    """A key that `ClusterConfig` has no field for stops the launch."""
    if asked.config.uses_deepspeed is False:
        return
    for member in asked.config.document.root.members:
        span = TOP_KEYS.get(member.key)
        pointer = join_pointer("", member.key)
        if span is None:
            yield Fault(
                "unknown-key", pointer, {"key": member.key, "close": close(member.key, TOP_KEYS)}, True
            )
        elif asked.version is not None and not span.holds(asked.version):
            yield Fault("key-of-another-release", pointer, {"key": member.key, **bounds(span)}, True)


def bounds(span: Span) -> dict[str, str]:
    def name(version: Version | None) -> str:
        return ".".join(map(str, version)) if version and version > (0,) else ""

    return {"since": name(span.since), "until": name(span.until)}


def close(word: str, words: Mapping[str, Any]) -> str:
    """The known word that a wrong one is most like, or nothing."""
    # Imported here: it is slow to import, and most files have no wrong word.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, words, 1, 0.8)), "")


def distributed_type(asked: Asked) -> Iterator[Fault]:
    given = asked.config.facts.get("distributed_type")
    pointer = "/distributed_type"
    if given is None:
        if asked.config.document.root.get("distributed_type") is None and asked.config.uses_deepspeed is None:
            yield Fault("no-distributed-type", pointer, {}, True)
        return
    span = DISTRIBUTED_TYPES.get(given.value) if isinstance(given.value, str) else None
    if isinstance(given.value, str) and span is None:
        parts = {"value": given.value, "close": close(given.value.upper(), DISTRIBUTED_TYPES)}
        yield Fault("bad-distributed-type", pointer, parts, True)


def not_deepspeed(asked: Asked) -> Iterator[Fault]:
    """DeepSpeed settings under another `distributed_type` are never looked at."""
    given = asked.config.facts.get("distributed_type")
    if asked.config.uses_deepspeed is False and given is not None and members(asked.config):
        value = "NO" if given.value is False else given.value
        yield Fault("not-deepspeed", BLOCK, {"distributed_type": value}, False)


def several_documents(asked: Asked) -> Iterator[Fault]:
    if any(problem.kind == "several-documents" for problem in asked.config.document.problems):
        yield Fault("several-documents", "", {}, True)


def block_not_mapping(asked: Asked) -> Iterator[Fault]:
    block = asked.config.document.root.get("deepspeed_config")
    if asked.config.uses_deepspeed and block is not None and block.kind not in ("object", "null", "unknown"):
        is_path = isinstance(block.value, str) and block.value.endswith((".json", ".hjson"))
        yield Fault("block-not-mapping", BLOCK, {"is_path": is_path}, True)


def gpu_ids(asked: Asked) -> Iterator[Fault]:
    """`gpu_ids` is split at its commas: a number or a list stops the launch."""
    node = asked.config.document.root.get("gpu_ids")
    if node is None or asked.config.uses_deepspeed is False:
        return
    if node.kind in ("number", "array", "object", "boolean"):
        ids = [str(item.value) for item in node.items] if node.items else [str(node.value)]
        yield Fault("gpu-ids-not-text", "/gpu_ids", {"ids": ",".join(ids)}, True)
    elif isinstance(node.value, str) and node.value != "all":
        visible = len([part for part in node.value.split(",") if part.strip()])
        processes = number(asked.config.facts, "num_processes", None)
        machines = number(asked.config.facts, "num_machines", 1)
        if processes and machines and machines >= 1 and processes // machines > visible:
            parts = {"processes": processes // machines, "gpus": visible}
            yield Fault("too-few-gpus", "/gpu_ids", parts, False)


def no_processes(asked: Asked) -> Iterator[Fault]:
    """Without `num_processes` the launch needs its flag; up to 0.33 the file must have it."""
    if not asked.config.uses_deepspeed or "num_processes" in asked.config.facts:
        return
    if asked.flags_known or before(asked.version, DEFAULTS_SINCE):
        yield Fault("no-processes", "/num_processes", {}, True)


def mixed_precision(asked: Asked) -> Iterator[Fault]:
    node = asked.config.document.root.get("mixed_precision")
    if node is None or not asked.config.uses_deepspeed or node.kind in ("null", "unknown"):
        return
    pointer = "/mixed_precision"
    if node.value is False:
        # `no` without quotes. Up to 0.33 a false value counts as none at all.
        refused = asked.version is not None and asked.version >= BOOLEAN_PRECISION_REFUSED_SINCE
        if refused or asked.version is None:
            yield Fault("precision-not-text", pointer, {"value": "no"}, refused)
    elif not isinstance(node.value, str):
        yield Fault("precision-not-text", pointer, {"value": node.value}, True)
    elif node.value.lower() not in PRECISIONS:
        instead = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "no", "fp32": "no"}
        parts = {"value": node.value, "instead": instead.get(node.value.lower(), "")}
        yield Fault("bad-precision", pointer, parts, True)


# --- the DeepSpeed settings


def beside_file(asked: Asked) -> Iterator[Fault]:
    if asked.config.uses_deepspeed and asked.config.config_file is not None:
        yield from refused_beside_file(asked.config)


def refused_beside_file(config: AccelerateConfig) -> Iterator[Fault]:
    """What must not be in this file once a DeepSpeed config is given: by this file's
    `deepspeed_config_file`, by the program's `DeepSpeedPlugin(hf_ds_config=…)`, or by the Trainer's
    `--deepspeed`.

    From 0.16 on the mere presence of the key stops the run, with whatever value.
    """
    for key in members(config):
        if key.lower() in REFUSED_BESIDE_FILE:
            yield Fault("beside-file", join_pointer(BLOCK, key), {"key": key}, True)
    for key in ("mixed_precision", "fp16"):
        node = config.document.root.get(key)
        if node is not None and (
            node.value is True if key == "fp16" else node.kind not in ("null", "unknown")
        ):
            yield Fault("beside-file", join_pointer("", key), {"key": key}, True)


def dropped_keys(asked: Asked) -> Iterator[Fault]:
    """A key of `deepspeed_config` that Accelerate does not know goes nowhere, without a word."""
    if not asked.config.uses_deepspeed:
        return
    for key, node in members(asked.config).items():
        known = key in DERIVED or key in LAUNCHING or is_launch_argument(key)
        if known and not (key == "deepspeed_moe_layer_cls_names" and before(asked.version, MOE_SINCE)):
            continue
        if key in SET_ANYWAY and node.value == SET_ANYWAY[key]:
            continue
        parts = {
            "key": key,
            "instead": INSTEAD.get(key, ""),
            "close": close(key, dict.fromkeys((*DERIVED, *LAUNCHING))),
        }
        yield Fault("dropped-key", join_pointer(BLOCK, key), parts, False)


def is_launch_argument(key: str) -> bool:
    return key in LAUNCH_ARGUMENTS or key.startswith(LAUNCH_ARGUMENT_GROUPS)


def before(version: Version | None, bound: Version) -> bool:
    return version is not None and version < bound


def bad_values(asked: Asked) -> Iterator[Fault]:
    """Values that Accelerate cannot make anything of: it stops when it reads them."""
    if not asked.config.uses_deepspeed:
        return
    for key, node in members(asked.config).items():
        if node.kind in ("null", "unknown") or key not in READERS:
            continue
        try:
            value = UNKNOWN if node.kind in ("object", "array") else READERS[key](node.value)
        except Refused as refusal:
            # Up to 0.29 "none" stood for no clipping.
            if not (key == "gradient_clipping" and node.value == "none" and asked.version is None):
                refused = not (node.value == "none" and before(asked.version, AUTO_CLIPPING_SINCE))
                if refused:
                    yield bad_value(key, node, str(refusal))
            continue
        if value == "auto" and before(asked.version, AUTO_SINCE.get(key, (0,))):
            yield bad_value(key, node, "this release wants a number")
        elif node.kind in ("object", "array"):
            yield bad_value(key, node, "it is no single value")


AUTO_SINCE: Final = {
    "gradient_accumulation_steps": AUTO_STEPS_SINCE,
    "gradient_clipping": AUTO_CLIPPING_SINCE,
}


def bad_value(key: str, node: Node, reason: str) -> Fault:
    parts = {"key": key, "value": node.value, "reason": reason}
    return Fault("bad-value", join_pointer(BLOCK, key), parts, True)


def save_not_true(asked: Asked) -> Iterator[Fault]:
    """`zero3_save_16bit_model: 1` or `"yes"` is false to Accelerate, which knows the word true alone."""
    node = members(asked.config).get("zero3_save_16bit_model")
    if node is None or not asked.config.uses_deepspeed or node.kind not in ("string", "number"):
        return
    if str(node.value).lower() not in ("true", "false", "no", "off", "n", "f", "0", "none"):
        yield Fault("save-not-true", BLOCK + "/zero3_save_16bit_model", {"value": node.value}, False)


def init_flag(asked: Asked) -> Iterator[Fault]:
    """`zero3_init_flag` is for stage 3; at another Accelerate warns and sets it to false."""
    config = asked.config
    node = members(config).get("zero3_init_flag")
    if node is None or not config.uses_deepspeed or str(node.value).lower() != "true":
        return
    stage = asked.stage if config.config_file is not None else own_stage(config)
    if stage is not None and stage != 3:
        yield Fault("init-flag-at-stage", BLOCK + "/zero3_init_flag", {"stage": stage}, False)


def own_stage(config: AccelerateConfig) -> int | None:
    """The stage that the file itself asks for; 2 when it asks for none."""
    given = config.settings.get("zero_stage")
    if given is None or given.value is None:
        return 2
    try:
        value = READERS["zero_stage"](given.value)
    except Refused:
        return None
    return value if isinstance(value, int) else None


def nvme_path(asked: Asked) -> Iterator[Fault]:
    """The launcher does not hand the NVMe paths on: DeepSpeed is given the relative path "none" (all
    releases).
    """
    if not asked.config.uses_deepspeed or asked.config.config_file is not None:
        return
    for what in ("optimizer", "param"):
        device = asked.config.settings.get(f"offload_{what}_device")
        if device is None or str(device.value).lower() != "nvme":
            continue
        key = f"offload_{what}_nvme_path"
        shown = key if key in members(asked.config) else f"offload_{what}_device"
        yield Fault("nvme-path-dropped", join_pointer(BLOCK, shown), {"what": what, "key": key}, False)


def zero_clipping(asked: Asked) -> Iterator[Fault]:
    """`gradient_clipping: 0` is left out of the config, and DeepSpeed's own default counts: 1.0 from
    0.19.3 on.
    """
    node = members(asked.config).get("gradient_clipping")
    if not asked.config.uses_deepspeed or node is None or asked.config.config_file is not None:
        return
    if node.value is not UNKNOWN and str(node.value) in ("0", "0.0"):
        yield Fault("zero-clipping", BLOCK + "/gradient_clipping", {}, False)


# --- several machines


def machines(asked: Asked) -> Iterator[Fault]:
    config = asked.config
    node = config.document.root.get("num_machines")
    if not config.uses_deepspeed or node is None:
        return
    if isinstance(node.value, str):
        yield Fault("count-not-number", "/num_machines", {"key": "num_machines", "value": node.value}, True)
        return
    count, processes = number(config.facts, "num_machines", 1), number(config.facts, "num_processes", None)
    if count is None or count <= 1:
        return
    given = config.document.root.get("num_processes")
    if given is not None and isinstance(given.value, str):
        yield Fault(
            "count-not-number", "/num_processes", {"key": "num_processes", "value": given.value}, True
        )
    launcher = config.settings.get("deepspeed_multinode_launcher")
    name = "pdsh" if launcher is None or launcher.value is None else launcher.value
    if processes is not None and processes % count:
        started = processes // count * count
        few = processes < count
        parts = {"processes": processes, "machines": count, "started": started, "each": processes // count}
        kind = "too-few-processes" if few else "uneven-machines"
        yield Fault(kind, "/num_processes", parts, few and name == "standard")
    if name is not UNKNOWN:
        yield from launcher_faults(asked, str(name), count)


def launcher_faults(asked: Asked, name: str, count: int) -> Iterator[Fault]:
    config = asked.config
    hostfile = config.settings.get("deepspeed_hostfile")
    pointer = BLOCK + "/deepspeed_multinode_launcher"
    if name == "standard":
        address = config.facts.get("main_process_ip")
        if asked.flags_known and (address is None or address.value is None):
            yield Fault("no-address", "/main_process_ip", {"machines": count}, True)
    elif hostfile is None or hostfile.value is None:
        yield Fault("lone-machines", pointer, {"launcher": name, "machines": count}, False)
    elif name.lower() not in LAUNCHERS or name.lower() == "standard":
        parts = {"launcher": name, "close": close(name.lower(), LAUNCHERS)}
        yield Fault("unknown-launcher", pointer, parts, True)


def hosts_ignored(asked: Asked) -> Iterator[Fault]:
    """A hostfile, and filters of hosts, are for the deepspeed command: torchrun gets none of them."""
    config = asked.config
    if not config.uses_deepspeed:
        return
    count = number(config.facts, "num_machines", 1)
    launcher = config.settings.get("deepspeed_multinode_launcher")
    standard = launcher is not None and launcher.value == "standard"
    own = members(config)
    if count is not None and (count <= 1 or standard):
        for key in ("deepspeed_hostfile", "deepspeed_inclusion_filter", "deepspeed_exclusion_filter"):
            if key in own and own[key].kind not in ("null", "unknown"):
                parts = {"key": key, "machines": count, "launcher": "standard" if standard else ""}
                yield Fault("hosts-ignored", join_pointer(BLOCK, key), parts, False)
    elif {"deepspeed_inclusion_filter", "deepspeed_exclusion_filter"} <= own.keys():
        exclusion = own["deepspeed_exclusion_filter"]
        if exclusion.kind not in ("null", "unknown"):
            yield Fault("both-filters", BLOCK + "/deepspeed_inclusion_filter", {}, False)


FAULTS: Final[dict[str, Callable[[Asked], Iterator[Fault]]]] = {
    "unknown-keys": unknown_keys,
    "distributed-type": distributed_type,
    "not-deepspeed": not_deepspeed,
    "several-documents": several_documents,
    "block-not-mapping": block_not_mapping,
    "gpu-ids": gpu_ids,
    "no-processes": no_processes,
    "mixed-precision": mixed_precision,
    "beside-file": beside_file,
    "dropped-keys": dropped_keys,
    "bad-values": bad_values,
    "save-not-true": save_not_true,
    "init-flag": init_flag,
    "nvme-path": nvme_path,
    "zero-clipping": zero_clipping,
    "machines": machines,
    "hosts-ignored": hosts_ignored,
}
