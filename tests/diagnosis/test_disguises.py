# ruff: noqa: E501 - lines of logs are as long as they are
"""A message is recognised whatever the way from the process to the file has made of its line."""

from __future__ import annotations

import gzip
import json
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_logs import END, START, diagnosed, names, realistic, steps, traceback_of

BOTH = "bfloat16 and fp16 modes cannot be simultaneously enabled"
BATCH = (
    "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size "
    "32 != 4 * 1 * 2"
)
MISMATCH = (
    "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
    "- ds train_micro_batch_size_per_gpu=4 vs hf per_device_train_batch_size=8\n"
    "- ds optimizer.params.lr=0.0001 vs hf learning_rate=5e-05\n"
    "The easiest method is to set these DeepSpeed config values to 'auto'."
)
VALIDATION = (
    "pydantic_core._pydantic_core.ValidationError: 2 validation errors for DeepSpeedZeroConfig\n"
    "stage3_prefetch_bucket_size\n"
    "  Input should be a valid integer, got a number with a fractional part [type=int_from_float, input_value=15099494.4, input_type=float]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/int_from_float\n"
    "offload_optimiser\n"
    "  Extra inputs are not permitted [type=extra_forbidden, input_value={'device': 'cpu'}, input_type=dict]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/extra_forbidden"
)
EACH = {
    "both-precisions-on": f"AssertionError: {BOTH}",
    "batch-equation": f"AssertionError: {BATCH}",
    "trainer-mismatch": MISMATCH,
    "untested-optimizer": 'AssertionError: You are using an untested ZeRO Optimizer. Please add <"zero_allow_untested_optimizer": true> in the configuration file to use it.',
    "loss-scale-at-minimum": "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
}

PREFIXES = {
    "torch": "[rank3]: ",
    "torchrun": "[default3]:",
    "bracket": "[3]: ",
    "srun": "3: ",
    "mpirun": "[1,3]<stderr>:",
    "pdsh": "worker-3: ",
    "address": "10.0.0.3: ",
    "ray": "(RayTrainWorker pid=4711, ip=10.0.0.3) ",
    "compose": "trainer-3  | ",
    "kubectl": "[pod/train-worker-3/pytorch] ",
    "container": "2025-03-11T04:12:17.123456789Z stderr F ",
    "pdsh and torch": "worker-1: [rank3]: ",
    "container and srun": "2025-03-11T04:12:17.123Z 3: ",
}


def with_prefix(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize(("name", "text"), EACH.items(), ids=EACH)
def test_behind_a_prefix(name, text, prefix):
    assert names(diagnosed(realistic(with_prefix(traceback_of(text), prefix))))[0] == name


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_report_of_several_lines_behind_a_prefix(prefix):
    diagnosis = diagnosed(realistic(with_prefix(traceback_of(VALIDATION), prefix)))
    assert sorted(names(diagnosis)) == ["bucket-size-fraction", "unknown-key"]
    pointers = {pointer for cause in diagnosis.causes for pointer in cause.pointers}
    assert pointers == {
        "/zero_optimization/stage3_prefetch_bucket_size",
        "/zero_optimization/offload_optimiser",
    }


@pytest.mark.parametrize(
    ("prefix", "rank"), [("[rank3]: ", "3"), ("[default3]:", "3"), ("3: ", "3"), ("[1,3]<stderr>:", "3")]
)
def test_the_rank_is_read_from_the_prefix(prefix, rank):
    cause = diagnosed(realistic(with_prefix(traceback_of(EACH["both-precisions-on"]), prefix))).causes[0]
    assert cause.ranks == [rank]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 132])
@pytest.mark.parametrize(("name", "text"), EACH.items(), ids=EACH)
def test_wrapped_hard_by_a_terminal(name, text, width):
    log = realistic(traceback_of(text))
    wrapped = "\n".join(
        line[at : at + width] for line in log.split("\n") for at in range(0, max(1, len(line)), width)
    )
    assert name in names(diagnosed(wrapped))


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize(("name", "text"), EACH.items(), ids=EACH)
def test_wrapped_at_words(name, text, width):
    wrapped = "\n".join(
        row for line in traceback_of(text).split("\n") for row in textwrap.wrap(line, width) or [""]
    )
    assert name in names(diagnosed(realistic(wrapped)))


def test_a_wrapped_message_keeps_its_captures_and_its_first_line():
    text = f"AssertionError: {BATCH}"
    rows = [text[at : at + 80] for at in range(0, len(text), 80)]
    cause = diagnosed(START + "\n".join(rows) + "\n" + END).causes[0]
    assert cause.details[0][0] == {"train": "32", "micro": "4", "accumulation": "1", "world": "2"}
    assert cause.evidence.line == START.count("\n") + 1


@pytest.mark.parametrize("kept", [60, 80, 100])
def test_cut_off_by_a_collector(kept):
    text = f"AssertionError: {BATCH}"[:kept] + "..."
    assert names(diagnosed(realistic(text))) == ["batch-equation"]


def test_cut_off_before_anything_certain_is_said():
    assert names(diagnosed(realistic("AssertionError: Check batch..."))) == []


@pytest.mark.parametrize("lost", ["AssertionError: ", "AssertionError: bfloat16 and fp16 "])
def test_without_its_head(lost):
    text = f"AssertionError: {BOTH}".removeprefix(lost)
    assert names(diagnosed(realistic(text))) == ["both-precisions-on"]


def test_coloured():
    text = "\x1b[1;31mAssertionError\x1b[0m: \x1b[31mbfloat16 and \x1b[1mfp16\x1b[0m modes cannot be simultaneously enabled\x1b[0m"
    cause = diagnosed(realistic(text)).causes[0]
    assert cause.message.name == "both-precisions-on"
    assert "\x1b" not in cause.evidence.text


def test_with_windows_line_ends():
    diagnosis = diagnosed(realistic(traceback_of(VALIDATION, rank=0)).replace("\n", "\r\n"))
    assert sorted(names(diagnosis)) == ["bucket-size-fraction", "unknown-key"]


def test_after_a_progress_bar_on_the_same_line():
    bar = "".join(f"\r{at}%|██        | {at}/100 [00:30<00:10,  3.3it/s]" for at in range(100))
    assert names(diagnosed(START + bar + f"AssertionError: {BOTH}\n" + END)) == ["both-precisions-on"]


def test_in_a_line_of_megabytes_without_an_end():
    bars = "".join(f"\r{at % 100}%|██        | {at}/200000 [00:30<00:10,  3.3it/s]" for at in range(200_000))
    assert len(bars) > 8 << 20
    diagnosis = diagnosed(START + bars + f"\rAssertionError: {BOTH}\n" + END)
    assert names(diagnosis) == ["both-precisions-on"]
    assert diagnosis.causes[0].evidence.line == START.count("\n") + 1


def test_as_a_string_in_a_line_of_json():
    log = "".join(
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-03-11T04:12:17.1Z"}) + "\n"
        for line in realistic(
            traceback_of(
                'AssertionError: You are using an untested ZeRO Optimizer. Please add <"zero_allow_untested_optimizer": true>'
            )
        ).split("\n")
    )
    assert names(diagnosed(log)) == ["untested-optimizer"]


def test_a_whole_traceback_in_one_line_of_json():
    line = json.dumps({"level": "error", "msg": traceback_of(MISMATCH)})
    cause = diagnosed(realistic(line)).causes[0]
    assert cause.message.name == "trainer-mismatch"
    assert cause.pointers == ["/train_micro_batch_size_per_gpu", "/optimizer/params/lr"]


def test_unpacked_from_gzip():
    assert names(diagnosed(gzip.compress(realistic(EACH["batch-equation"]).encode()))) == ["batch-equation"]


def test_unpacked_from_two_gzip_files_in_one():
    log = realistic(EACH["batch-equation"]).encode()
    middle = len(log) // 2
    assert names(diagnosed(gzip.compress(log[:middle]) + gzip.compress(log[middle:]))) == ["batch-equation"]


def test_from_a_gzip_file_that_is_still_being_written():
    log = (realistic(EACH["batch-equation"]) + steps(1, 5000)).encode()
    assert names(diagnosed(gzip.compress(log)[:-4000])) == ["batch-equation"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_in_another_encoding(encoding):
    diagnosis = diagnosed(realistic(EACH["batch-equation"]).encode(encoding))
    assert names(diagnosis) == ["batch-equation"]


def test_among_bytes_that_are_no_text():
    log = realistic(EACH["batch-equation"]).encode()
    assert names(diagnosed(b"\xff\x00\xfe\x80\n" * 50 + log + b"\x00\xff" * 500)) == ["batch-equation"]


def test_ranks_that_print_at_once():
    first = with_prefix(traceback_of(VALIDATION), "[rank0]: ").split("\n")
    second = with_prefix(traceback_of(VALIDATION), "[rank1]: ").split("\n")
    mixed = "\n".join(line for pair in zip(first, second, strict=True) for line in pair)
    diagnosis = diagnosed(realistic(mixed))
    assert sorted(names(diagnosis)) == ["bucket-size-fraction", "unknown-key"]
    assert all(cause.ranks == ["0", "1"] for cause in diagnosis.causes)


def test_ranks_that_print_at_once_without_saying_who_they_are():
    lines = VALIDATION.split("\n")
    mixed = "\n".join(line for line in lines for _ in range(2))
    assert set(names(diagnosed(realistic(mixed)))) == {"bucket-size-fraction", "unknown-key"}


def test_a_report_whose_header_is_cut_away():
    text = "\n".join(VALIDATION.split("\n")[4:])
    cause = diagnosed(realistic(text)).causes[0]
    assert cause.message.name == "unknown-key"
    assert cause.pointers == ["/offload_optimiser"]


def test_the_source_that_a_traceback_quotes_is_not_the_message():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/conda/lib/python3.10/site-packages/transformers/training_args.py", line 1785, in __post_init__\n'
        '    raise ValueError("At most one of fp16 and bf16 can be True, but not both")\n'
        "ValueError: At most one of fp16 and bf16 can be True, but not both"
    )
    cause = diagnosed(START + text + "\n" + END).causes[0]
    assert cause.count == 1
    assert cause.evidence.line == START.count("\n") + 4


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pair=st.sampled_from(list(EACH.items())),
    prefix=st.sampled_from(["", *PREFIXES.values()]),
    crlf=st.booleans(),
    colour=st.booleans(),
    packed=st.booleans(),
    ranks=st.integers(1, 4),
    training=st.integers(1, 400),
)
def test_in_any_disguise_at_once(pair, prefix, crlf, colour, packed, ranks, training):
    name, text = pair
    if colour:
        text = text.replace(": ", ":\x1b[0m \x1b[31m", 1) + "\x1b[0m"
    blocks = [with_prefix(traceback_of(text, rank=rank), prefix) for rank in range(ranks)]
    log = realistic("\n".join(blocks), training)
    data = (log.replace("\n", "\r\n") if crlf else log).encode()
    diagnosis = diagnosed(gzip.compress(data) if packed else data)
    assert names(diagnosis) == [name]
