"""Writes schemas/deepspeed/torch.json: the optimizers and schedulers of torch that a config can name.

    python schemas/torch_signatures.py          (where torch is installed)

DeepSpeed looks a name up in torch when it is none of its own. Parameters that older or newer versions of torch had
are kept: a name is listed when some version since 2.0 takes it, so that nothing is called wrong by mistake.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parent / "deepspeed" / "torch.json"

SINCE = {"Adafactor": "2.5", "Muon": "2.9"}
"""Optimizers that came after torch 2.0."""

ALSO = {"verbose": "deprecated"}
"""A parameter of every scheduler up to torch 2.6."""


def parameters(kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    required = []
    for name, parameter in list(inspect.signature(kind).parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            required.append(name)
            found[name] = None
        else:
            default = parameter.default
            default = list(default) if isinstance(default, tuple) else default
            found[name] = default if isinstance(default, int | float | str | bool | list) else None
    return {"params": found, "required": required}


def main() -> None:
    import torch
    from torch.optim import lr_scheduler
    from torch.optim.optimizer import Optimizer

    optimizers = {}
    for name, kind in sorted(vars(torch.optim).items()):
        if inspect.isclass(kind) and issubclass(kind, Optimizer) and kind is not Optimizer:
            optimizers[name] = parameters(kind)
            if name in SINCE:
                optimizers[name]["torch"] = SINCE[name]
    schedulers = {}
    for name in sorted(lr_scheduler.__all__):
        kind = getattr(lr_scheduler, name)
        if name != "LRScheduler":
            schedulers[name] = parameters(kind)
            schedulers[name]["params"] |= ALSO
    version = ".".join(torch.__version__.split(".")[:2])
    table = {"torch": version, "optimizers": optimizers, "schedulers": schedulers}
    PLACE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
