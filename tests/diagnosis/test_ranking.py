# ruff: noqa: E501 - lines of logs are as long as they are
"""The cause comes before what follows from it, and the rank that failed first before the others."""

from __future__ import annotations

from made_logs import END, LOGS, START, diagnosed, names, steps, traceback_of

BOTH = "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled"
TIMEOUT = (
    "[rank{}]:[E ProcessGroupNCCL.cpp:563] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=134, "
    "OpType=_ALLGATHER_BASE, NumelIn=1, NumelOut=8, Timeout(ms)=1800000) ran for 1800351 milliseconds before timing out."
)
EXIT = "[2025-03-11 04:42:17,123] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py'] exits with return code = {}"


def test_the_cause_before_the_timeouts_of_the_others_and_the_launchers_report():
    others = "\n".join(TIMEOUT.format(rank, rank) for rank in (0, 1, 2, 4))
    log = (
        START
        + steps(1, 90)
        + others
        + "\n"
        + traceback_of(BOTH, rank=3)
        + "\n"
        + END
        + EXIT.format(-6)
        + "\n"
    )
    assert names(diagnosed(log)) == ["both-precisions-on", "collective-timeout", "aborted"]


def test_of_two_causes_the_first():
    one, other = (
        traceback_of(BOTH, rank=5),
        traceback_of("AssertionError: zero stage 2 requires an optimizer", rank=0),
    )
    assert names(diagnosed(START + one + "\n" + other + "\n")) == [
        "both-precisions-on",
        "zero-needs-optimizer",
    ]
    assert names(diagnosed(START + other + "\n" + one + "\n")) == [
        "zero-needs-optimizer",
        "both-precisions-on",
    ]


def test_advice_after_what_stopped_the_run():
    advice = "[2025-03-11 04:11:40,000] [WARNING] [config_utils.py:70:_process_deprecated_field] Config parameter cpu_offload is deprecated use offload_optimizer instead\n"
    assert names(diagnosed(START + advice + traceback_of(BOTH) + "\n")) == [
        "both-precisions-on",
        "deprecated-key",
    ]


def test_sick_numbers_before_advice_and_after_what_stopped_the_run():
    advice = "[2025-03-11 04:11:40,000] [WARNING] [config_utils.py:70:_process_deprecated_field] Config parameter cpu_offload is deprecated use offload_optimizer instead\n"
    sick = "".join("{'loss': nan, 'grad_norm': 0.8, 'learning_rate': 1e-05}\n" for _ in range(9))
    assert names(diagnosed(START + advice + sick)) == ["loss-not-a-number", "deprecated-key"]
    assert (
        names(diagnosed(START + sick + traceback_of("RuntimeError: 'weight' must be 2-D") + "\n"))[0]
        == "zero3-weight-not-2d"
    )


def test_the_exit_code_is_told_when_there_is_nothing_else():
    diagnosis = diagnosed(
        START + steps(1, 50) + traceback_of("KeyError: 'labels'", rank=1) + "\n" + END + EXIT.format(1) + "\n"
    )
    assert names(diagnosis) == ["return-code"]
    assert diagnosis.first_error is not None
    assert diagnosis.first_error.text == "KeyError: 'labels'"


def test_what_tells_a_part_of_the_story_is_folded_into_it():
    diagnosis = diagnosed((LOGS / "loss-scale-at-minimum-0.16.9.log").read_bytes())
    assert names(diagnosis) == ["loss-scale-at-minimum", "return-code"]
    cause = diagnosis.causes[0]
    assert {"loss-scale-falls-to-floor", "every-step-skipped"} <= {part.message.name for part in cause.folded}
    assert cause.step == 0
    assert len(cause.plot) > 4


def test_an_error_that_was_raised_from_another_is_one_error():
    diagnosis = diagnosed((LOGS / "trainer-config-missing.log").read_bytes())
    assert names(diagnosis) == ["config-not-found", "return-code"]
    assert diagnosis.first_error is None


def test_a_message_that_comes_again_and_again_is_one_with_its_count_and_ranks():
    lines = "\n".join(traceback_of(BOTH, rank=rank) for rank in range(16))
    cause = diagnosed(START + lines + "\n").causes[0]
    assert cause.count == 16
    assert cause.ranks == [str(rank) for rank in range(16)]
    assert cause.evidence.rank == "0"


def test_a_message_a_million_times_is_counted_and_costs_nothing():
    line = "[2025-03-11 04:11:40,000] [WARNING] [config_utils.py:70:_process_deprecated_field] Config parameter cpu_offload is deprecated use offload_optimizer instead\n"
    cause = diagnosed(START + line * 30_000).causes[0]
    assert cause.count == 30_000
    assert len(cause.details) == 1


def test_the_frame_of_the_users_own_script_is_told():
    cause = diagnosed(
        START + traceback_of(BOTH, ["deepspeed/__init__.py", "deepspeed/runtime/config.py"], rank=0) + "\n"
    ).causes[0]
    assert cause.evidence.frame == "/home/user/train.py:42"
