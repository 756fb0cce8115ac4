"""Asks the real transformers what it says of (config, TrainingArguments) pairs. A program: JSON in, JSON out.

In: a list of {"config", "arguments", "world_size", "steps"}. Out: {"version", "arguments", "messages": [[…], …]}: for
each pair the arguments as that release takes them (before 5.0 a share of all steps is `warmup_ratio`), and the lines of
the error that `trainer_config_process` and `trainer_config_finalize` raise, none when they raise none.
"""

import copy
import json
import sys
from types import SimpleNamespace


def main() -> None:
    import transformers
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    class Arguments(transformers.TrainingArguments):
        processes = 1

        @property
        def world_size(self) -> int:
            return self.processes

    model = SimpleNamespace(config=SimpleNamespace(hidden_size=64))
    messages, taken = [], []
    for case in json.load(sys.stdin):
        given = case["arguments"]
        if transformers.__version__ < "5" and isinstance(given.get("warmup_steps"), float):
            given["warmup_ratio"] = given.pop("warmup_steps")
        taken.append(given)
        arguments = Arguments(output_dir="out", use_cpu=True, report_to=[], **given)
        arguments.processes = case["world_size"]
        loaded = HfTrainerDeepSpeedConfig(copy.deepcopy(case["config"]))
        loaded.trainer_config_process(arguments)
        try:
            loaded.trainer_config_finalize(arguments, model, case["steps"])
            messages.append([])
        except ValueError as error:
            messages.append([line for line in str(error).splitlines() if line.startswith("- ds ")])
    json.dump({"version": transformers.__version__, "arguments": taken, "messages": messages}, sys.stdout)


if __name__ == "__main__":
    main()
