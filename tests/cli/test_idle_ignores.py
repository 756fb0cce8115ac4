"""An ignore is idle only where the run could have found what it is for."""

import json

import pytest
from cli_runs import dslint, write

from dslint.api import checked, gathered
from dslint.cli.check import context_of
from dslint.rules import book
from dslint.settings import Settings
from dslint.silencing.judged import Judge

BF16 = '"train_batch_size": 8, "bf16": {"enabled": true}, "gradient_clipping": 1.0'
FP16 = '"train_batch_size": 8, "fp16": {"enabled": true}'
SCRIPT = "deepspeed --num_gpus 2 train.py --deepspeed_config ds_config.json\n"


def config(folder, rule, members):
    write(folder, {"ds_config.json": f'{{"//dslint": "ignore[{rule}] why", {members}}}\n'})


def rules(folder, *options):
    done = dslint(folder, "--output-format", "json", "--fail-on", "never", *options)
    assert done.returncode == 0, done.err
    return {finding["name"] for finding in json.loads(done.out)}


@pytest.mark.parametrize(
    ("rule", "members", "open_with", "idle_with"),
    [
        # Hardware and world size: without them nothing is known.
        ("bf16-unsupported", BF16, [(), ("--hardware", "v100")], [("--hardware", "a100")]),
        ("batch-equation", '"train_batch_size": 7', [(), ("--world-size", "2")], [("--world-size", "7")]),
        # The framework: some of them would make the fault.
        (
            "gradient-clipping-off",
            FP16,
            [("--deepspeed-version", "0.19.2")],
            [("--deepspeed-version", "0.19.2", "--framework", "lightning"), ("--deepspeed-version", "0.19.8")],
        ),
        # No fact could make it.
        ("fp16-and-bf16", BF16, [("--select", "DS1,DS001")], [()]),
        ("bf16-unsupported", '"train_batch_size": 8, "gradient_clipping": 1.0', [], [()]),
        ("unknown-key", BF16, [("--ignore", "unknown-key")], [()]),
        # What stands beside a config.
        ("trainer-mismatch", BF16, [()], []),
    ],
)  # fmt: skip
def test_an_ignore_is_called_unused_only_where_its_rule_was_judged(
    tmp_path, rule, members, open_with, idle_with
):
    config(tmp_path, rule, members)
    for options in open_with:
        assert "unused-ignore" not in rules(tmp_path, *options), options
    for options in idle_with:
        assert "unused-ignore" in rules(tmp_path, *options), options


def test_a_script_brings_what_the_config_alone_lacks(tmp_path):
    config(tmp_path, "batch-equation", '"train_batch_size": 8')
    write(tmp_path, {"train.sh": SCRIPT, "train.py": "import deepspeed\ndeepspeed.initialize(args)\n"})
    assert "unused-ignore" not in rules(tmp_path, "ds_config.json")
    assert "unused-ignore" in rules(tmp_path)
    config(tmp_path, "batch-equation", '"train_batch_size": 7')
    assert rules(tmp_path) & {"unused-ignore", "batch-equation"} == set()


def test_fix_leaves_an_ignore_that_this_run_could_not_judge(tmp_path):
    config(tmp_path, "bf16-unsupported", BF16)
    before = (tmp_path / "ds_config.json").read_text()
    assert dslint(tmp_path, "--fix").returncode == 0
    assert (tmp_path / "ds_config.json").read_text() == before
    assert dslint(tmp_path, "--fix", "--hardware", "a100").returncode == 0
    assert "dslint" not in (tmp_path / "ds_config.json").read_text()


def test_what_per_file_ignores_take_away_was_not_judged(tmp_path):
    config(tmp_path, "fp16-and-bf16", BF16 + ', "fp16": {"enabled": true}')
    write(tmp_path, {"dslint.toml": '[per-file-ignores]\n"*.json" = ["DS201"]\n'})
    assert "unused-ignore" not in rules(tmp_path)


def test_an_ignore_in_a_file_that_launches_nothing_is_idle(tmp_path):
    write(tmp_path, {"notes.sh": "# dslint: ignore[batch-equation]\necho hello\n"})
    assert rules(tmp_path) == {"unused-ignore"}


def test_with_every_fact_at_hand_most_rules_are_judged_and_looking_changes_nothing():
    """Guards the tests above: a judge that never judges would pass most of them."""
    text = f'{{{BF16}, "zero_optimization": {{"stage": 2}}}}'
    files, workspace = gathered(None, text, "ds_config.json")
    facts = Settings(deepspeed_version="0.19.8", framework="deepspeed", hardware="a100", world_size=8)
    context = context_of(facts, book.load())
    outcome = checked(files, context, workspace)
    (source,) = outcome.sources.values()
    judge = Judge(context.rules, outcome.launches, Settings())
    own = [rule.name for rule in context.rules if rule.document == "deepspeed"]
    judged = [name for name in own if judge.has_judged(name, source)]
    assert len(judged) > 0.9 * len(own)
    assert checked(files, context, workspace).findings == outcome.findings
