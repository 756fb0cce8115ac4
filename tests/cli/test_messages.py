"""What messages say where numbers are huge and names are strange."""

import json

import pytest
from cli_runs import dslint


def messages(config, *options):
    done = dslint("/", "--isolated", "--output-format", "json", *options, "-", stdin=config.encode())
    assert done.returncode in (0, 1), done.err
    return {finding["name"]: finding["message"] for finding in json.loads(done.out)}


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ("1048577", "train_batch_size 1048577 and"),
        ("1" + "0" * 400 + "1", "train_batch_size 10000000… (402 digits) and"),
        ("1000003.0", "train_batch_size 1000003 and"),
        ("7.5", "train_batch_size 7.5 and"),
    ],
)
def test_batch_sizes_are_told_with_their_digits(train, said):
    config = f'{{"train_batch_size": {train}, "gradient_accumulation_steps": 8}}'
    assert messages(config)["batch-impossible"].startswith(said)
    assert messages(config, "--world-size", "3")["batch-impossible"].startswith(said)


def test_infinity_is_no_batch_size_to_reckon_with():
    found = messages('{"train_batch_size": 1e999, "gradient_accumulation_steps": 8}', "--world-size", "3")
    assert not {"batch-impossible", "batch-equation"} & set(found)
    assert not any(" inf " in message for message in found.values())


@pytest.mark.parametrize(
    ("member", "meant"),
    [
        ('"pipeline_parallel_size": 2', None),
        ('"pipeline_model_parallel_size": 2', None),
        ('"tensorboard_dir": "runs"', None),
        ('"zero": {"stage": 2}', "zero_optimization"),
        ('"train_micro_batch_size": 2', "train_micro_batch_size_per_gpu"),
        ('"gradient_clipp1ng": 1.0', "gradient_clipping"),
    ],
)
def test_a_block_is_proposed_for_a_block_and_a_value_for_a_value(member, meant):
    message = messages(f'{{"train_batch_size": 8, {member}}}')["unknown-key"]
    assert message.partition("; did you mean ")[2] == (f"{meant}?" if meant else "")
