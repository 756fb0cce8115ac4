"""Asks the real transformers what it says of (config, TrainingArguments) pairs. A program: JSON in, JSON out.

In: a list of {"config", "arguments", "world_size", "steps"}. Out: {"version", "messages": [[…], …]}, for each
pair the lines of the error that `trainer_config_process` and `trainer_config_finalize` raise, none when they
raise none.
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
    messages = []
    for case in json.load(sys.stdin):
        arguments = Arguments(output_dir="out", use_cpu=True, report_to=[], **case["arguments"])
        arguments.processes = case["world_size"]
        loaded = HfTrainerDeepSpeedConfig(copy.deepcopy(case["config"]))
        loaded.trainer_config_process(arguments)
        try:
            loaded.trainer_config_finalize(arguments, model, case["steps"])
            messages.append([])
        except ValueError as error:
            messages.append([line for line in str(error).splitlines() if line.startswith("- ds ")])
    json.dump({"version": transformers.__version__, "messages": messages}, sys.stdout)


if __name__ == "__main__":
    main()
