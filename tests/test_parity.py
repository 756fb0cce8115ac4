"""The parts of bench/parity that need no engine: variants, what is left out of them, and the smallest form."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.parity.judging import disagreement, gist, word  # noqa: E402
from bench.parity.mutate import Mutator, bases, without  # noqa: E402
from bench.parity.reducing import smallest  # noqa: E402
from bench.parity.stepping import step  # noqa: E402

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_clipping": "auto",
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3, "overlap_comm": True, "sub_group_size": "auto"},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def test_a_base_has_no_auto_left(folder):
    [(_, config)] = bases(folder)
    assert config["gradient_clipping"] == 1.0
    assert "auto" not in json.dumps(config)


def test_a_seed_gives_the_same_variants_again_and_another_seed_others(folder):
    first, again = Mutator(folder), Mutator(folder)
    variants = [first.variant(1, number) for number in range(50)]
    assert variants == [again.variant(1, number) for number in range(50)]
    assert variants != [first.variant(2, number) for number in range(50)]
    assert sum(variant.config != first.bases[0][1] for variant in variants) > 40


def test_the_smallest_form_keeps_just_what_the_disagreement_needs():
    found = smallest(CONFIG, lambda config: config.get("zero_optimization", {}).get("stage") == 3)
    assert found == {"zero_optimization": {"stage": 3}}


def test_without_takes_out_what_stands_at_a_pointer_or_the_block_that_lacks_it():
    assert without(CONFIG, ["/bf16/enabled"])["bf16"] == {}
    assert "bf16" not in without(CONFIG, ["/bf16/missing"])
    assert CONFIG["bf16"] == {"enabled": True}


def test_a_refusal_that_dslint_does_not_see_is_missed_and_an_error_on_what_is_taken_is_false():
    clean = {"train_batch_size": 1}
    broken = {"train_batch_size": 1, "zero_optimization": {"stagge": 2}}
    assert disagreement("ok", word(clean, "0.19.8")) is None
    assert disagreement("ValidationError: stagge", word(broken, "0.19.8")) is None
    missed = disagreement("ValueError: no 5", word(clean, "0.19.8"))
    false = disagreement("ok", word(broken, "0.19.8"))
    assert missed is not None
    assert false is not None
    assert (missed.kind, missed.group) == ("missed", gist("ValueError: no 7"))
    assert (false.kind, false.group) == ("false", "unknown-key-refused")


def test_an_error_that_waits_for_initialize_is_no_disagreement_with_a_config_that_loads():
    config = {"train_batch_size": 1, "optimizer": {"type": "AdamW", "params": {"max_grad_norm": 1.0}}}
    said = word(config, "0.19.8")
    assert said.later == ("max-grad-norm-in-optimizer",)
    assert disagreement("ok", said) is None


class Stops:
    """An engine that stops at an odd number of steps between reports, and has no wandb."""

    def errors(self, configs):
        return [self.error(config) for config in configs]

    def error(self, config):
        if "wandb" in config:
            return "ModuleNotFoundError: No module named 'wandb'"
        return f"TypeError: {config['steps_per_print']}" if config.get("steps_per_print", 0) % 2 else None


def test_what_stops_past_the_reading_is_counted_by_kind_in_its_smallest_form():
    quiet = [{"steps_per_print": number, "dump_state": True} for number in range(4)] + [{"wandb": {}}]
    found = step(Stops(), [{"steps_per_print": 2}, {"steps_per_print": 1}], quiet, 10, 1, lambda config: True)
    assert (found.told, found.ran) == (2, ({"steps_per_print": 2},))
    assert (found.quiet, found.machine, found.missed) == (5, 1, 2)
    [stop] = found.stops
    assert stop.config in ({"steps_per_print": 1}, {"steps_per_print": 3})


def test_a_config_is_made_smaller_only_as_long_as_dslint_is_silent_about_it():
    quiet = [{"steps_per_print": 1, "dump_state": True}]
    found = step(Stops(), [], quiet, 10, 1, lambda config: "dump_state" in config)
    assert [stop.config for stop in found.stops] == quiet
