"""Asks the DeepSpeed that this interpreter imports about configs: JSON list on stdin, list of verdicts on stdout.

A verdict is "ok", or the kind and first line of the error that DeepSpeedConfig raises. Run with DS_ACCELERATOR=cpu.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from typing import Any


def mend_old_imports() -> None:
    """Names that releases before 0.14.5 import and today's numpy and torch no longer have."""
    import numpy
    import torch.distributed.elastic.agent.server.api as elastic

    numpy.BUFSIZE = getattr(numpy, "BUFSIZE", 8192)
    elastic.log = getattr(elastic, "log", logging.getLogger("elastic"))
    elastic._get_socket_with_port = getattr(elastic, "_get_socket_with_port", None)


def verdict(config: Any) -> str:
    from deepspeed.runtime.config import DeepSpeedConfig

    try:
        DeepSpeedConfig(config)
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:200] + " " + " ".join(str(error).split("\n")[1:4])[:160]
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
