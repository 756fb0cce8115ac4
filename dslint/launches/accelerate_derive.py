"""Accelerate's settings → the DeepSpeed config that its `DeepSpeedPlugin` makes of them when it is given no
file.

Each node of the config stands where the setting stands that it was made of, and `origin` points at that
setting. What the plugin adds by itself stands at the settings' home, and points to where the setting would
be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dslint.documents.tree import UNKNOWN, Document, Kind, Member, Node, Source, Syntax
from dslint.launches.accelerate_keys import AUTO_CLIPPING_SINCE, AUTO_STEPS_SINCE, NEWEST, Version


class Setting(NamedTuple):
    """A key with its value, and where both stand in the source. `origin` is its pointer, None in a script."""

    value: Any
    key_start: int
    key_end: int
    start: int
    end: int
    origin: str | None

    def made(self, key: str, value: Any) -> Member:
        """A member of the config that is made of this setting."""
        return Member(key, self.key_start, self.key_end, self.node(value))

    def node(self, value: Any) -> Node:
        return Node(kind_of(value), self.start, self.end, value, origin=self.origin)

    def holds(self, key: str, members: list[Member]) -> Member:
        """An object of the config that is made of this setting."""
        node = Node("object", self.start, self.end, members=members, origin=self.origin)
        return Member(key, self.key_start, self.key_end, node)

    def beside(self, key: str) -> Setting:
        """Where a setting would stand that is not given: at its home's key."""
        origin = None if self.origin is None else f"{self.origin}/{key}"
        return Setting(None, self.key_start, self.key_end, self.key_start, self.key_end, origin)


def kind_of(value: Any) -> Kind:
    if value is UNKNOWN:
        return "unknown"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else "string"


class Refused(ValueError):
    """Accelerate stops at a value; the message says what it makes of it."""


def derive(
    source: Source,
    settings: Mapping[str, Setting],
    precision: Setting | None,
    home: Setting,
    version: Version | None = None,
    syntax: Syntax = "yaml",
) -> Document:
    """The config as a document of the DeepSpeed dialect.

    Args:
        settings: the keys of `deepspeed_config` that are given.
        precision: `mixed_precision`; None when it is not given, and may come from the program.
        home: `deepspeed_config` itself.
        version: Accelerate's, the newest if unknown.
    """
    maker = Maker(settings, home, version or NEWEST)
    members = [
        maker.auto("train_batch_size"),
        maker.auto("train_micro_batch_size_per_gpu"),
        maker.steps(),
        maker.zero(),
        *maker.clipping(),
        *formats(precision, home),
    ]
    root = Node("object", home.start, home.end, members=members, origin=home.origin)
    return Document(source, root, syntax, "deepspeed", derived=True)


class Maker:
    """What `DeepSpeedPlugin.__post_init__` makes of the settings."""

    __slots__ = ("home", "settings", "version")

    def __init__(self, settings: Mapping[str, Setting], home: Setting, version: Version) -> None:
        self.settings = settings
        self.home = home
        self.version = version

    def auto(self, key: str) -> Member:
        return self.home.beside(key).made(key, "auto")

    def read(self, key: str) -> tuple[Setting | None, Any]:
        """A setting with the value that arrives; UNKNOWN where Accelerate stops at it."""
        setting = self.settings.get(key)
        if setting is None or setting.value is None:
            return None, None
        try:
            return setting, READERS[key](setting.value)
        except Refused:
            return setting, UNKNOWN

    def steps(self) -> Member:
        key = "gradient_accumulation_steps"
        setting, value = self.read(key)
        if setting is not None:
            return setting.made(key, value)
        return self.home.beside(key).made(key, "auto" if self.version >= AUTO_STEPS_SINCE else 1)

    def clipping(self) -> list[Member]:
        key = "gradient_clipping"
        setting, value = self.read(key)
        if setting is None:
            return [self.auto(key)] if self.version >= AUTO_CLIPPING_SINCE else []
        if self.version < AUTO_CLIPPING_SINCE and setting.value == "none":
            return []
        # Zero is left out, which is not the same as off: DeepSpeed clips at 1.0 by itself from 0.19.3 on.
        return [setting.made(key, value)] if value is UNKNOWN or value else []

    def zero(self) -> Member:
        setting, value = self.read("zero_stage")
        stage = setting or self.home.beside("zero_stage")
        members = [
            stage.made("stage", value if setting else 2),
            *self.offload("optimizer"),
            *self.offload("param"),
        ]
        setting, value = self.read("zero3_save_16bit_model")
        if setting is not None:
            members.append(setting.made("stage3_gather_16bit_weights_on_model_save", value))
        return self.home.holds("zero_optimization", members)

    def offload(self, what: str) -> list[Member]:
        setting, device = self.read(f"offload_{what}_device")
        if setting is None or device == "none":
            return []
        members = [setting.made("device", device)]
        if device == "nvme":
            # The launcher does not pass the path on.
            path = self.settings.get(f"offload_{what}_nvme_path") or setting
            members.append(path.made("nvme_path", "none"))
        return [setting.holds(f"offload_{what}", members)]


def formats(precision: Setting | None, home: Setting) -> list[Member]:
    """The fp16 and bf16 blocks: `DeepSpeedPlugin.set_mixed_precision`."""
    if precision is None or not isinstance(precision.value, str):
        place = precision or home
        return [place.made(key, UNKNOWN) for key in ("fp16", "bf16")]
    on = {"fp16": "fp16", "bf16": "bf16", "fp8": "bf16"}.get(precision.value.lower())
    blocks = []
    for key in ("fp16", "bf16"):
        inner = [precision.made("enabled", key == on)]
        if key == on == "fp16":
            inner.append(precision.made("auto_cast", True))
        blocks.append(precision.holds(key, inner))
    return blocks


# --- values: each setting goes to the program as text in its environment


def as_text(value: Any) -> str:
    return str(value)


def stage(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    try:
        return int(as_text(value))
    except ValueError as error:
        raise Refused("it is no whole number") from error


def steps(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    text = as_text(value)
    return int(text) if text.isdigit() else text


def clipping(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    text = as_text(value).lower()
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError as error:
        raise Refused("it is neither a number nor auto") from error


def lower(value: Any) -> Any:
    return UNKNOWN if value is UNKNOWN else as_text(value).lower()


def truth(value: Any) -> Any:
    """`zero3_save_16bit_model`: anything but true is false, `1` too."""
    return UNKNOWN if value is UNKNOWN else as_text(value).lower() == "true"


TRUTHS: Final = frozenset({"y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0"})


def switch(value: Any) -> Any:
    """`zero3_init_flag`."""
    if value is UNKNOWN:
        return UNKNOWN
    text = as_text(value).lower()
    if text not in TRUTHS:
        raise Refused("it is neither true nor false")
    return text in ("y", "yes", "t", "true", "on", "1")


READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "zero_stage": stage,
    "gradient_accumulation_steps": steps,
    "gradient_clipping": clipping,
    "offload_optimizer_device": lower,
    "offload_param_device": lower,
    "zero3_save_16bit_model": truth,
    "zero3_init_flag": switch,
}
