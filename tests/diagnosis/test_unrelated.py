# ruff: noqa: E501 - lines of logs are as long as they are
"""Logs in which there is nothing to find: nothing is found."""

from __future__ import annotations

import pytest
from made_logs import END, START, diagnosed, names, steps, traceback_of

PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-8.3.4, pluggy-1.5.0
rootdir: /home/user/shop
collected 214 items

tests/test_cart.py ....F...........                                      [  7%]
tests/test_api.py ..........E.......s....                                [ 18%]

=================================== FAILURES ===================================
______________________________ test_total_of_cart ______________________________

    def test_total_of_cart():
>       assert total(["3", 4]) == 7

tests/test_cart.py:31:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def mean(items):
>       return sum(items) // len(items)
E       TypeError: unsupported operand type(s) for +: 'int' and 'str'

shop/cart.py:12: TypeError
_________________________ ERROR at setup of test_login _________________________
E       json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 4 column 1 (char 89)
E       pydantic_core._pydantic_core.ValidationError: 2 validation errors for Customer
E       email
E         Input should be a valid string [type=string_type, input_value=1, input_type=int]
E       age
E         Extra inputs are not permitted [type=extra_forbidden, input_value=4, input_type=int]
E       ZeroDivisionError: float division by zero
E       AttributeError: 'NoneType' object has no attribute 'get'
E       TypeError: '<=' not supported between instances of 'float' and 'str'
E       IndexError: tuple index out of range
E       OSError: [Errno 98] Address already in use
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_cart - TypeError: unsupported operand type(s) for //: 'str' and 'int'
ERROR tests/test_api.py::test_login - json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
============== 1 failed, 211 passed, 1 skipped, 1 error in 12.31s ==============
"""

WEB_SERVER = """\
2025-03-11 04:12:17,123 INFO uvicorn.error Started server process [4711]
2025-03-11 04:12:18,003 ERROR uvicorn.error [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use
2025-03-11 04:12:19,100 WARNING app.config Config parameter DEBUG is deprecated, use LOG_LEVEL instead
Traceback (most recent call last):
  File "/srv/app/main.py", line 31, in load
    settings = Settings(**yaml.safe_load(text))
TypeError: app.settings.Settings() argument after ** must be a mapping, not NoneType
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
stage
  Input should be 0, 1, 2 or 3 [type=enum, input_value=4, input_type=int]
    For further information visit https://errors.pydantic.dev/2.11/v/enum
"""

TORCH_ALONE = """\
epoch 1 batch 100 loss 0.6931 lr 0.001
epoch 1 batch 200 loss 0.6420 lr 0.001
/opt/conda/lib/python3.11/site-packages/torch/utils/data/dataloader.py:560: UserWarning: This DataLoader will create 8 worker processes in total.
Traceback (most recent call last):
  File "train.py", line 88, in <module>
    out = model(x.half())
RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float
"""

OUT_OF_MEMORY = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/user/train.py", line 42, in <module>
[rank0]:     trainer.train()
[rank0]:   File "/opt/conda/lib/python3.10/site-packages/deepspeed/runtime/engine.py", line 1899, in forward
[rank0]:     loss = self.module(*inputs, **kwargs)
[rank0]:   File "/opt/conda/lib/python3.10/site-packages/transformers/models/llama/modeling_llama.py", line 410, in forward
[rank0]:     attn_output = torch.matmul(attn_weights, value_states)
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.93 GiB memory in use. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""

GRPO = "\n".join(
    f"{{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-06, 'rewards/accuracy': 0.{step:02d}, 'reward': 0.5, 'kl': 0.0, 'epoch': 0.1}}"
    for step in range(60)
)

DECAY = "\n".join(
    f"{{'loss': 1.2, 'grad_norm': 0.9, 'learning_rate': {max(0, 40 - step) * 1e-06:.2g}, 'epoch': 0.1}}"
    for step in range(42)
)

EVALUATION = "\n".join("{'eval_loss': nan, 'eval_runtime': 3.1, 'epoch': 1.0}" for _ in range(5))

SEARCH = "\n".join(
    f"[2025-03-11 04:12:0{at},000] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
    f"Attempted loss scale: {2 ** (16 - at)}, reducing to {2 ** (15 - at)}"
    for at in range(4)
)


@pytest.mark.parametrize(
    "log",
    [
        "",
        "\n",
        START + steps(1, 3000),
        PYTEST,
        WEB_SERVER,
        TORCH_ALONE,
        START + steps(1, 100) + OUT_OF_MEMORY,
        START + GRPO,
        START + DECAY,
        START + EVALUATION,
        START + SEARCH + "\n" + steps(5, 100),
        traceback_of("KeyError: 'labels'"),
        START + steps(1, 50) + traceback_of("KeyError: 'labels'") + "\n" + END,
    ],
    ids=[
        "empty",
        "blank",
        "healthy",
        "pytest",
        "web server",
        "torch alone",
        "out of memory",
        "rewards",
        "decay to zero",
        "evaluation",
        "search for the loss scale",
        "traceback alone",
        "an unknown error",
    ],
)
def test_nothing_is_recognised(log):
    assert names(diagnosed(log)) == []


@pytest.mark.parametrize("name", ["healthy-0.16.9.log", "trainer-healthy.log"])
def test_nothing_is_recognised_in_what_healthy_runs_printed(name):
    from made_logs import LOGS

    diagnosis = diagnosed((LOGS / name).read_bytes())
    assert names(diagnosis) == []
    assert diagnosis.first_error is None


def test_an_unknown_first_error_is_pointed_at():
    log = (
        START
        + steps(1, 50)
        + traceback_of("KeyError: 'labels'", rank=2)
        + "\n"
        + traceback_of("ValueError: x", rank=0)
        + "\n"
        + END
    )
    error = diagnosed(log).first_error
    assert error is not None
    assert (error.rank, error.text) == ("2", "KeyError: 'labels'")
    assert log.split("\n")[error.line - 1].endswith("KeyError: 'labels'")


def test_the_search_for_the_loss_scale_is_noted_as_normal():
    diagnosis = diagnosed(START + SEARCH + "\n" + steps(5, 100))
    assert len(diagnosis.notes) == 1
    assert "65536 to 4096" in diagnosis.notes[0]
    assert "normal" in diagnosis.notes[0]
