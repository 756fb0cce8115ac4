"""Asks the DeepSpeed that this interpreter imports about configs: JSON list on stdin, list of verdicts on stdout.

A verdict is "ok", or the kind and first line of the error that DeepSpeedConfig raises. Run with DS_ACCELERATOR=cpu.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import types
import warnings
from pathlib import Path
from typing import Any


def mend_old_imports() -> None:
    """What releases before 0.15 import and today's numpy, torch and pydantic no longer have."""
    import importlib.util

    import numpy
    import torch.distributed.elastic.agent.server.api as elastic

    numpy.BUFSIZE = getattr(numpy, "BUFSIZE", 8192)
    elastic.log = getattr(elastic, "log", logging.getLogger("elastic"))
    elastic._get_socket_with_port = getattr(elastic, "_get_socket_with_port", None)
    spec = importlib.util.find_spec("deepspeed")
    if spec is None or spec.origin is None:
        raise SystemExit("deepspeed is not importable here")
    package = Path(spec.origin).parent
    old = "ConfigDict" not in (package / "runtime" / "config_utils.py").read_text(encoding="utf-8")
    if old:
        for name in ("intel_extension_for_pytorch", "oneccl_bindings_for_pytorch"):
            sys.modules.setdefault(name, types.ModuleType(name))
    if old and not (package / "pydantic_v1.py").exists():
        import pydantic.v1

        sys.modules["pydantic"] = pydantic.v1


def verdict(config: Any) -> str:
    from deepspeed.runtime.config import DeepSpeedConfig

    try:
        DeepSpeedConfig(config)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return "ok"


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    configs = json.load(sys.stdin)
    mend_old_imports()
    import deepspeed

    logging.disable(logging.CRITICAL)
    found = {"version": deepspeed.__version__, "verdicts": [verdict(config) for config in configs]}
    os.write(answers, json.dumps(found).encode())


if __name__ == "__main__":
    main()
