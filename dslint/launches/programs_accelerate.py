"""The DeepSpeed config that Accelerate's DeepSpeedPlugin makes of its arguments when it is given none.

As `DeepSpeedPlugin.__post_init__` and `set_mixed_precision` build it (accelerate 1.15). A parameter that is
left out comes from the environment that `accelerate launch` sets, so it is unknown here.
"""

from __future__ import annotations

from typing import Any, Final

from dslint.documents.python import Call
from dslint.documents.tree import UNKNOWN, Document, Source
from dslint.launches.programs_making import Maker

PRECISIONS: Final = ("no", "fp16", "bf16", "fp8")


def plugin_config(source: Source, plugin: Call, accelerator: Call | None) -> Document:
    """The derived config of a DeepSpeedPlugin call, with the Accelerator call that takes it, where there
    is one.
    """
    make = Maker(plugin.arguments, plugin.callee_start, plugin.callee_end)
    clipping = make.value("gradient_clipping")
    root = make.object(
        ("train_batch_size", make.scalar("auto")),
        ("train_micro_batch_size_per_gpu", make.scalar("auto")),
        ("gradient_accumulation_steps", make.given("gradient_accumulation_steps")),
        (
            "zero_optimization",
            make.object(
                ("stage", make.given("zero_stage")),
                (
                    "offload_optimizer",
                    offload(make, "offload_optimizer_device", "offload_optimizer_nvme_path"),
                ),
                ("offload_param", offload(make, "offload_param_device", "offload_param_nvme_path")),
                ("stage3_gather_16bit_weights_on_model_save", make.given("zero3_save_16bit_model")),
            ),
        ),
    )
    if clipping is UNKNOWN or clipping:
        make.add(root, "gradient_clipping", make.given("gradient_clipping"))
    add_precision(make, root, accelerator)
    # MS-AMP, and what `**unknown` may hold.
    root.open = not plugin.complete or make.value("enable_msamp") is not False
    return Document(source, root, "python", derived=True)


def offload(make: Maker, device: str, path: str) -> Any:
    return make.object(
        ("device", make.given(device)), ("nvme_path", path_for(make, device, path)), near=device
    )


def path_for(make: Maker, device: str, path: str) -> Any:
    """The path counts with nvme alone; Accelerate leaves it out otherwise."""
    where = make.value(device)
    if where is UNKNOWN:
        return make.unknown(device)
    return make.given(path) if where == "nvme" else make.scalar(None, device)


def add_precision(make: Maker, root: Any, accelerator: Call | None) -> None:
    """Both blocks are always there, as the Accelerator's `mixed_precision` has them."""
    given = accelerator.arguments.get("mixed_precision") if accelerator is not None else None
    if given is None or given.value not in PRECISIONS:
        make.add(root, "fp16", make.unknown())
        make.add(root, "bf16", make.unknown())
        return
    precision = given.value
    near = (given.start, given.end)
    for name, on in (("fp16", precision == "fp16"), ("bf16", precision in ("bf16", "fp8"))):
        members = [("enabled", make.scalar(on, span=near))]
        if name == "fp16" and on:
            members.append(("auto_cast", make.scalar(True, span=near)))
        make.add(root, name, make.object(*members, span=near))
