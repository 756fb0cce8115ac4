"""What the real Accelerate makes of its files: JSON cases on stdin, JSON answers on stdout.

A case is {"yaml": text, "files": {name: text}}. Its answer has "error", or "deepspeed" and the plugin's
"config". Run by an interpreter that has accelerate and deepspeed; what `accelerate launch` does up to the
start of the processes is done here in one process, and so is what `Accelerator()` then does with the
environment.
"""

import json
import logging
import os
import sys
import tempfile
import warnings

os.environ.setdefault("DS_ACCELERATOR", "cpu")
logging.disable(logging.CRITICAL)

import accelerate  # noqa: E402
from accelerate.commands import launch  # noqa: E402
from accelerate.utils import DeepSpeedPlugin  # noqa: E402
from accelerate.utils.launch import prepare_deepspeed_cmd_env  # noqa: E402
from torch.distributed.elastic.agent.server import WorkerSpec  # noqa: E402

CLEAN = dict(os.environ)


def answer(case):
    os.environ.clear()
    os.environ.update(CLEAN)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in {**case.get("files", {}), "a.yaml": case["yaml"], "t.py": ""}.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        try:
            return launched()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        finally:
            os.chdir("/")


def launched():
    # Port 0 is any free one: a port in use would stop the launch for another reason.
    parser = launch.launch_command_parser()
    args = parser.parse_args(["--config_file", "a.yaml", "--main_process_port", "0", "t.py"])
    args, defaults, precision_in_file = launch._validate_launch_command(args)
    if not args.use_deepspeed:
        return {"deepspeed": False}
    fields = [*defaults.deepspeed_config.keys(), *(["mixed_precision"] if precision_in_file else [])]
    args.deepspeed_fields_from_accelerate_config = ",".join(fields)
    command, environment = prepare_deepspeed_cmd_env(args)
    each = getattr(args, "nproc_per_node", None)
    if command is None and each is not None:
        WorkerSpec(role="", local_world_size=int(each), rdzv_handler=None, entrypoint="true", args=())
    os.environ.update(environment)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plugin = DeepSpeedPlugin()
        plugin.set_mixed_precision(os.environ["ACCELERATE_MIXED_PRECISION"])
    config = {key: value for key, value in plugin.deepspeed_config.items() if key != "steps_per_print"}
    return {
        "deepspeed": True,
        "config": config,
        "command": command,
        "each": each,
        "warnings": [str(warning.message) for warning in caught],
    }


if __name__ == "__main__":
    answers = [answer(case) for case in json.load(sys.stdin)]
    print(json.dumps({"version": accelerate.__version__, "answers": answers}))
