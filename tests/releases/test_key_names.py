import pytest

from dslint.releases.names import distance, nearest, places_of_keys, related
from dslint.releases.release import NEWEST
from dslint.releases.schema import schema_for

TOP = list(schema_for(NEWEST)["properties"])


@pytest.mark.parametrize(
    ("left", "right", "slips"),
    [
        ("stage", "stage", 0),
        ("stge", "stage", 1),
        ("sateg", "stage", 2),
        ("staeg", "stage", 1),
        ("", "ab", 2),
    ],
)
def test_slips_are_counted(left, right, slips):
    assert distance(left, right, 5) == slips


def test_counting_stops_beyond_the_limit():
    assert distance("abcdefgh", "zzzzzzzz", 2) == 3


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gradient_clipp1ng", "gradient_clipping"),
        ("gradient-clipping", "gradient_clipping"),
        ("Train_Batch_Size", "train_batch_size"),
        ("gradient_acumulation_step", "gradient_accumulation_steps"),
        ("zero_optimisation", "zero_optimization"),
        ("schduler", "scheduler"),
    ],
)
def test_a_slip_finds_its_word(word, meant):
    assert nearest(word, TOP)[0] == meant


@pytest.mark.parametrize("word", ["memory_optimization", "logging", "lr", "x", "", "cuda_visible_devices"])
def test_another_word_finds_none(word):
    assert nearest(word, TOP) == []


def test_a_part_of_one_key_finds_it():
    assert related("train_micro_batch_size", TOP) == ["train_micro_batch_size_per_gpu"]
    assert related("stage3_reduce_bucket_size", ["reduce_bucket_size", "stage"]) == ["reduce_bucket_size"]
    assert related("batch_size", ["train_batch_size", "max_batch_size"]) == []
    assert related("enabled", ["is_enabled"]) == []


def test_places_list_blocks_before_what_is_in_them():
    places = places_of_keys(schema_for(NEWEST))
    assert places["overlap_comm"] == ["/zero_optimization/overlap_comm"]
    assert places["curriculum_learning"] == ["/data_efficiency/data_sampling/curriculum_learning"]
    assert "amp" not in places
