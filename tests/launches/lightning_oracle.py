"""Asks the real Lightning which DeepSpeed config it makes. Run as a program: JSON in, JSON out.

In: a list of {"strategy": keywords, "trainer": {"precision", "accumulate_grad_batches",
"gradient_clip_val"}}, where a strategy may be a name instead. Out: the configs, in that order.
"""

import json
import sys
from types import SimpleNamespace


def main() -> None:
    from lightning.pytorch.plugins.precision import DeepSpeedPrecision
    from lightning.pytorch.strategies import DeepSpeedStrategy, StrategyRegistry

    made = []
    for case in json.load(sys.stdin):
        given = case["strategy"]
        strategy = StrategyRegistry.get(given) if isinstance(given, str) else DeepSpeedStrategy(**given)
        trainer = case["trainer"]
        strategy.precision_plugin = DeepSpeedPrecision(trainer["precision"])
        strategy._lightning_module = SimpleNamespace(
            trainer=SimpleNamespace(
                accumulate_grad_batches=trainer["accumulate_grad_batches"],
                gradient_clip_val=trainer["gradient_clip_val"],
                fit_loop=SimpleNamespace(_data_source=SimpleNamespace(is_defined=lambda: False)),
            )
        )
        strategy._format_config()
        made.append(strategy.config)
    sys.stdout.write("\n" + json.dumps(made))


if __name__ == "__main__":
    main()
