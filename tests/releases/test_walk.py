from typing import Any

import pytest
from plain import node_of

from dslint.documents.tree import UNKNOWN
from dslint.releases.release import NEWEST, parse_version
from dslint.releases.schema import schema_for
from dslint.releases.walk import Violation, walk


def said(config: dict[str, Any], release: str = NEWEST.name, auto: Any = frozenset()) -> list[Violation]:
    found = parse_version(release)
    assert found is not None
    return walk(schema_for(found), node_of(config), auto)


def one(config: dict[str, Any], release: str = NEWEST.name, auto: Any = frozenset()) -> Violation:
    found = said(config, release, auto)
    assert len(found) == 1, found
    return found[0]


def test_a_plain_config_has_no_violation():
    config = {
        "train_batch_size": 8,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "overlap_comm": True, "offload_param": {"device": "cpu"}},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        "gradient_clipping": 1.0,
        "_comment": "ours",
        "//": "also ours",
        "#note": "and this",
    }
    assert said(config) == []


def test_an_unknown_key_is_ignored_at_the_top_and_refused_in_a_model():
    top = one({"gradient_clipp1ng": 1.0})
    assert (top.kind, top.refused, top.details["suggestions"]) == (
        "unknown-key",
        False,
        ["gradient_clipping"],
    )
    model = one({"zero_optimization": {"stge": 2}})
    assert (model.kind, model.refused, model.details["suggestions"]) == ("unknown-key", True, ["stage"])
    assert model.pointer == "/zero_optimization/stge"


def test_an_unknown_key_with_auto_is_dropped_by_a_model():
    assert one({"zero_optimization": {"no_such": "auto"}}).refused is False


def test_precision_blocks_refuse_unknown_keys_from_0_17_1_on():
    assert one({"fp16": {"no_such": 1}}, "0.17.0").refused is False
    assert one({"fp16": {"no_such": 1}}, "0.17.1").refused is True


def test_a_wrong_name_that_people_use_is_known():
    assert one({"micro_batch_per_gpu": 2}).details["suggestions"] == ["train_micro_batch_size_per_gpu"]
    found = one({"zero_optimization": {"cpu_offload_params": True}})
    assert found.details["suggestions"] == ["offload_param"]


def test_a_key_in_the_wrong_block_is_told_its_place():
    found = one({"overlap_comm": True})
    assert (found.kind, found.refused) == ("misplaced-key", False)
    assert found.details["right_places"] == ["/zero_optimization/overlap_comm"]
    found = one({"zero_optimization": {"zero_allow_untested_optimizer": True}})
    assert (found.kind, found.refused) == ("misplaced-key", True)
    assert found.details["right_places"] == ["/zero_allow_untested_optimizer"]
    found = one({"optimizer": {"type": "Adam", "lr": 1e-3}})
    assert found.details["right_places"] == ["/optimizer/params/lr"]
    found = one({"scheduler": {"type": "WarmupLR", "params": {}, "warmup_num_steps": 10}})
    assert found.details["right_places"] == ["/scheduler/params/warmup_num_steps"]


def test_a_word_that_stands_everywhere_has_no_place():
    assert one({"enabled": True}).kind == "unknown-key"
    assert one({"device": "cuda"}).kind == "unknown-key"


def test_a_removed_key_is_refused_even_when_off():
    found = one({"amp": {"enabled": False}})
    assert (found.kind, found.refused) == ("removed-key", True)
    assert (found.details["since"], found.details["until"]) == ("0.19.8", "0.19.7")
    assert said({"amp": {"enabled": False}}, "0.19.7") == []
    assert one({"sparse_gradients": None}).kind == "removed-key"
    found = one({"curriculum_learning": {"enabled": False}})
    assert found.details["replaced_by"] == "/data_efficiency/data_sampling/curriculum_learning"
    assert one({"zero_optimization": {"mics_shard_size": "auto"}}).refused is True


def test_a_key_that_went_without_a_word_is_ignored():
    found = one({"aio": {"thread_count": 1}})
    assert (found.kind, found.refused) == ("removed-key", False)
    assert found.details["replaced_by"] == "/aio/intra_op_parallelism"
    assert said({"aio": {"thread_count": 1}}, "0.16.3") == []


def test_a_key_that_is_not_there_yet_says_since_when():
    found = one({"zero_optimization": {"log_trace_cache_warnings": True}}, "0.14.5")
    assert (found.kind, found.refused) == ("future-key", True)
    assert found.details["since"] == "0.16.4"
    found = one({"tensor_parallel": {"autotp_size": 2}}, "0.14.5")
    assert (found.kind, found.refused) == ("future-key", False)


def test_a_key_that_no_release_reads_any_more_is_told():
    found = one({"quantize_training": {"enabled": True}}, "0.18.9")
    assert (found.kind, found.refused) == ("ignored-key", False)
    assert one({"quantize_training": {"enabled": True}}).kind == "removed-key"


def test_a_deprecated_key_says_what_to_write():
    found = one({"zero_optimization": {"stage": 2, "cpu_offload": True}})
    assert (found.kind, found.refused) == ("deprecated-key", False)
    assert found.details == {
        "replaced_by": "/zero_optimization/offload_optimizer",
        "value": {"device": "cpu"},
    }
    found = one({"zero_optimization": {"stage": 3, "stage3_gather_fp16_weights_on_model_save": True}})
    assert found.details["replaced_by"] == "/zero_optimization/stage3_gather_16bit_weights_on_model_save"
    assert found.details["value"] is True


def test_a_deprecated_key_beside_the_new_one_is_refused_even_when_off():
    zero = {"stage": 2, "cpu_offload": False, "offload_optimizer": {"device": "cpu"}}
    found = [violation for violation in said({"zero_optimization": zero}) if violation.refused]
    assert [violation.kind for violation in found] == ["alias-conflict"]
    assert found[0].details["other_pointer"] == "/zero_optimization/offload_optimizer"
    zero["cpu_offload"] = "auto"
    assert not any(violation.refused for violation in said({"zero_optimization": zero}))


def test_a_field_and_its_alias_together_are_refused():
    zero = {"stage": 3, "prefetch_bucket_size": 1, "stage3_prefetch_bucket_size": 1}
    found = one({"zero_optimization": zero})
    assert (found.kind, found.refused) == ("alias-conflict", True)
    zero["prefetch_bucket_size"] = "auto"
    assert said({"zero_optimization": zero}) == []


def test_types_are_refused_only_where_the_engine_does():
    found = one({"zero_optimization": {"stage": 3, "sub_group_size": 1.5}})
    assert (found.kind, found.refused) == ("wrong-type", True)
    assert (found.details["expected"], found.details["got"]) == ("integer", "number")
    assert said({"zero_optimization": {"stage": 3, "sub_group_size": 1e9}}) == []
    found = one({"zero_optimization": {"stage": 3, "sub_group_size": 1.5}}, "0.14.5")
    assert (found.refused, found.details["reads_as"]) == (False, 1)
    assert one({"fp16": None}).refused is True
    assert said({"zero_optimization": {"stage": 0, "offload_param": None}}) == []


def test_out_of_range_says_the_bound():
    found = one({"zero_optimization": {"stage": 3, "reduce_bucket_size": 0}})
    assert (found.kind, found.refused) == ("out-of-range", True)
    assert found.details == {"exclusive_minimum": 0}
    assert said({"zero_optimization": {"stage": 3, "reduce_bucket_size": 0}}, "0.19.5") == []
    found = one({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 1.5}}})
    assert found.details == {"minimum": 0.0, "maximum": 1.0}


def test_a_bound_of_a_definition_is_told_too():
    found = one({"fp16": {"enabled": True, "loss_scale": -1}})
    assert (found.kind, found.details) == ("out-of-range", {"minimum": 0})
    found = one({"fp16": {"enabled": 2}})
    assert (found.kind, found.details["expected"]) == ("wrong-type", "boolean")
    found = one({"zero_optimization": {"stage": 3, "sub_group_size": "-5"}})
    assert (found.kind, found.details["expected"]) == ("wrong-type", "integer")


def test_a_word_for_a_block_is_of_the_wrong_type():
    found = one({"zero_optimization": {"stage": 3, "offload_param": "cpu"}})
    assert (found.kind, found.refused) == ("wrong-type", True)
    assert (found.details["expected"], found.details["got"]) == ("object", "string")


def test_a_word_that_is_not_allowed_says_which_are():
    found = one({"zero_optimization": {"stage": 3, "offload_param": {"device": "gpu"}}})
    assert (found.kind, found.refused) == ("not-allowed", True)
    assert found.details["allowed"] == ["none", "cpu", "nvme"]
    found = one({"zero_optimization": {"stage": 4}})
    assert (found.kind, found.details["allowed"]) == ("not-allowed", [0, 1, 2, 3])
    found = one({"communication_data_type": "float16"})
    assert found.details["allowed"] == ["fp32", "fp16", "bf16", None]
    assert said({"communication_data_type": "FP16"}) == []


def test_quoted_numbers_are_told_even_where_they_are_read():
    found = one({"zero_optimization": {"stage": "2"}})
    assert (found.kind, found.refused, found.details) == ("quoted-number", False, {"reads_as": 2, "meant": 2})
    found = one({"gradient_clipping": "1.0"})
    assert (found.kind, found.refused, found.stops) == ("quoted-number", False, True)
    assert found.details == {"reads_as": "1.0", "meant": 1.0}
    assert one({"train_batch_size": "8"}).refused is True


def test_quoted_numbers_among_arguments_stop_the_training():
    config = {
        "optimizer": {"type": "Adam", "params": {"lr": "1e-4", "betas": [0.9, 0.999], "weight_decay": "auto"}}
    }
    found = one(config)
    assert (found.kind, found.pointer, found.stops) == ("quoted-number", "/optimizer/params/lr", True)
    assert found.details == {"reads_as": "1e-4", "meant": 1e-4}
    found = one(
        {
            "scheduler": {
                "type": "WarmupDecayLR",
                "params": {"total_num_steps": "100", "warmup_type": "linear"},
            }
        }
    )
    assert found.pointer == "/scheduler/params/total_num_steps"
    assert said({"scheduler": {"type": "NoSuch", "params": {"lr": "1"}}}) == []
    assert one({"optimizer": {"type": "SGD", "params": {"momentum": "0.9", "nesterov": "x"}}}).stops is True


def test_null_stops_the_training_where_the_engine_reckons_with_it():
    found = one({"gradient_clipping": None})
    assert (found.kind, found.refused, found.stops) == ("wrong-type", False, True)
    assert said({"steps_per_print": None}) == []


def test_a_quoted_boolean_is_true_where_a_block_is_a_plain_dict():
    found = one({"fp16": {"enabled": "false"}}, "0.17.0")
    assert (found.kind, found.refused) == ("quoted-boolean", False)
    assert found.details == {"reads_as": True, "meant": False}
    found = one({"fp16": {"enabled": "false"}}, "0.17.1")
    assert found.details == {"reads_as": False, "meant": False}


def test_comments_are_refused_only_where_unknown_keys_are():
    assert said({"optimizer": {"type": "Adam", "_comment": "x"}}) == []
    found = one({"zero_optimization": {"stage": 2, "//": "x"}})
    assert (found.kind, found.refused) == ("comment-key", True)


def test_keys_of_other_programs_are_told_apart():
    found = one({"per_device_train_batch_size": 8})
    assert (found.kind, found.details["framework"]) == ("foreign-key", "transformers")
    found = one({"zero3_init_flag": True})
    assert (found.kind, found.details["framework"]) == ("foreign-key", "accelerate")


def test_auto_is_taken_where_it_is_resolved_and_dropped_by_models():
    config = {"train_batch_size": "auto", "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}}
    found = one(config)
    assert (found.pointer, found.kind, found.refused) == ("/train_batch_size", "wrong-type", True)
    assert said(config, auto=frozenset({"/train_batch_size"})) == []
    assert said(config, auto=lambda pointer: True) == []


def test_what_is_unknown_violates_nothing():
    config = {"train_batch_size": UNKNOWN, "fp16": UNKNOWN, "zero_optimization": {"stage": UNKNOWN}}
    assert said(config) == []


def test_a_key_that_a_block_must_have_is_missed():
    found = one({"amp": {"opt_level": "O1"}}, "0.19.7")
    assert (found.kind, found.refused, found.pointer) == ("missing-key", True, "/amp/enabled")


def test_an_open_object_may_hold_the_missing_key():
    node = node_of({"amp": {"opt_level": "O1"}})
    node.members[0].node.open = True
    found = parse_version("0.19.7")
    assert found is not None
    assert walk(schema_for(found), node) == []


def test_violations_come_in_the_order_of_the_text():
    config = {"zero_optimization": {"no_a": 1, "stage": 7}, "no_b": 1, "fp16": {"enabled": "maybe"}}
    pointers = [violation.pointer for violation in said(config)]
    assert pointers == ["/zero_optimization/no_a", "/zero_optimization/stage", "/no_b", "/fp16/enabled"]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, -0.0, "1" * 5000])
def test_odd_numbers_do_no_harm(value):
    for release in ("0.14.5", NEWEST.name):
        said(
            {"zero_optimization": {"stage": value, "sub_group_size": value}, "train_batch_size": value},
            release,
        )
