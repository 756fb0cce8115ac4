"""Asks the real Accelerate which DeepSpeed config its plugin makes. Run as a program: JSON in, JSON out.

In: a list of {"plugin": keywords, "mixed_precision"}. Out: the configs, in that order.
"""

import json
import sys


def main() -> None:
    from accelerate.utils import DeepSpeedPlugin

    made = []
    for case in json.load(sys.stdin):
        plugin = DeepSpeedPlugin(**case["plugin"])
        plugin.set_mixed_precision(case["mixed_precision"])
        config = dict(plugin.deepspeed_config)
        config.pop("steps_per_print")  # infinity, so that the engine doesn't print
        made.append(config)
    sys.stdout.write("\n" + json.dumps(made))


if __name__ == "__main__":
    main()
