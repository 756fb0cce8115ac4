import json

import pytest
from jsonschema import Draft202012Validator
from probes import keys

from dslint.releases.release import KNOWN, NEWEST, parse_version
from dslint.releases.schema import (
    absent_optimizers,
    default_at,
    full_schema,
    known_schemas,
    optimizer,
    optimizers,
    property_at,
    scheduler,
    schedulers,
    schema_for,
    torch_optimizers,
)

NAMES = known_schemas()


def release(name):
    found = parse_version(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_by_the_meta_schema(name):
    Draft202012Validator.check_schema(schema_for(release(name)))


@pytest.mark.parametrize("name", NAMES)
def test_every_key_says_what_it_is_and_since_when(name):
    schema = full_schema(release(name))
    for pointer, entry in keys(schema):
        assert entry.get("description"), f"{pointer} has no description"
        assert "x-since" in entry, f"{pointer} does not say since when"


@pytest.mark.parametrize("name", NAMES)
def test_every_object_says_what_becomes_of_an_unknown_key(name):
    schema = schema_for(release(name))
    assert schema["x-unknown"] == "ignored"
    for pointer, entry in keys(schema):
        if "properties" in entry:
            assert entry.get("x-unknown") in ("refused", "ignored", "free", "entries"), pointer


@pytest.mark.parametrize("name", NAMES)
def test_dates_agree_with_the_release(name):
    here = release(name).version
    schema = schema_for(release(name))
    for pointer, entry in keys(schema):
        since = release(entry.get("x-since", "0.0.0")).version
        until = release(entry.get("x-until", "99.0.0")).version
        if "x-removed" in entry:
            assert until < release(entry["x-removed"]).version <= here, pointer
        else:
            assert since <= here <= until, pointer
    for _, entry in keys(schema):
        for key, dates in entry.get("x-absent", {}).items():
            until = release(dates["until"]).version if "until" in dates else None
            assert release(dates["since"]).version > here or (until is not None and until < here), key


def test_a_release_between_two_files_has_the_older_one():
    assert schema_for(release("0.17.3"))["x-release"] == "0.17.2"
    assert schema_for(release("0.17.2")) == schema_for(release("0.17.3"))


def test_a_version_beyond_the_known_has_the_newest_schema_and_an_old_one_the_oldest():
    assert schema_for(release("1.2.3")) == schema_for(NEWEST)
    assert schema_for(release("0.5.0"))["x-release"] == "0.9.5"


def test_every_release_loads():
    for known in KNOWN:
        assert release(schema_for(known)["x-release"]).version <= known.version


def test_defaults_follow_the_release():
    assert default_at(release("0.19.2"), "/gradient_clipping") == 0.0
    assert default_at(release("0.19.3"), "/gradient_clipping") == 1.0
    assert default_at(release("0.19.2"), "/bf16/check_grad_overflow") is False
    assert default_at(release("0.19.3"), "/bf16/check_grad_overflow") is True
    assert default_at(NEWEST, "/zero_optimization/stage3_prefetch_bucket_size") == 50_000_000


def test_bounds_follow_the_release():
    before = property_at(schema_for(release("0.19.5")), "/zero_optimization/reduce_bucket_size")
    after = property_at(schema_for(release("0.19.6")), "/zero_optimization/reduce_bucket_size")
    assert before is not None
    assert after is not None
    assert before["minimum"] == 0
    assert after["exclusiveMinimum"] == 0


def test_optimizers_are_looked_up_as_the_engine_does():
    assert optimizer(NEWEST, "ADAMW") is optimizers(NEWEST)["adamw"]
    assert optimizer(NEWEST, "SGD") is torch_optimizers()["SGD"]
    assert optimizer(NEWEST, "sgd") is None
    assert optimizer(NEWEST, "OneBitAdam") is None
    assert absent_optimizers(NEWEST)["onebitadam"] == {"until": "0.19.6", "gone": "0.19.7"}
    assert optimizer(release("0.19.6"), "OneBitAdam") is not None


def test_optimizer_parameters_are_those_of_the_real_classes():
    adam = optimizers(NEWEST)["adam"]
    assert {"lr", "betas", "eps", "weight_decay", "bias_correction", "torch_adam", "adam_w_mode"} <= set(
        adam["params"]
    )
    assert "adamw_mode" not in adam["params"]
    assert adam["zero"] == "tested"
    assert optimizers(NEWEST)["lamb"]["zero"] == "untested"
    assert "max_grad_norm" not in optimizers(NEWEST)["lamb"]["params"]
    assert optimizers(release("0.18.9"))["onebitadam"]["zero"] == "refused"
    assert optimizers(NEWEST)["muon"]["others"] == "ignored"
    assert "fp32_optimizer_states" not in optimizers(release("0.9.5"))["lamb"]["params"]


def test_scheduler_parameters_are_those_of_the_real_classes():
    decay = schedulers(NEWEST)["WarmupDecayLR"]
    assert decay["required"] == ["total_num_steps"]
    assert "lr_decay_style" not in decay["params"]
    assert scheduler(NEWEST, "CosineAnnealingLR")["required"] == ["T_max"]
    assert scheduler(NEWEST, "warmuplr") is None
    assert "WarmupCosineLR" not in schedulers(release("0.12.2"))
    assert "WarmupCosineLR" in schedulers(release("0.12.3"))


def test_the_full_schema_is_json():
    assert json.loads(json.dumps(full_schema(NEWEST)))["x-release"] == NEWEST.name
