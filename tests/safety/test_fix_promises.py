"""Fixes on the real configs and on variants of them keep what fuzz/fix_promises.py promises; bench/fix_safety.py tries 10,000."""

from __future__ import annotations

import pytest
from places import SHARED

from bench.fix_safety import case_of
from bench.parity.mutate import Mutator
from fuzz.fix_promises import Case, check

VARIANTS = 300


@pytest.mark.parametrize("framework", [None, "transformers"])
def test_every_real_config_keeps_what_no_fix_names(corpus, framework):
    changed = 0
    for path in sorted((corpus / "configs").glob("*.json")):
        text = path.read_bytes().decode("utf-8")
        changed += check(Case("ds_config.json", text, "0.19.8", framework)).text != text
    assert changed > 20


def test_variants_of_real_configs_keep_what_no_fix_names(corpus):
    mutator = Mutator(SHARED / "corpus" / "configs")
    changed = 0
    for number in range(VARIANTS):
        case = case_of(mutator, 2, number)
        changed += check(case).text != case.text
    assert changed > VARIANTS // 3


def test_accelerates_files_and_scripts_are_fixed_once_for_all(corpus):
    for path in sorted((corpus / "accelerate").iterdir()):
        check(Case("accelerate.yaml", path.read_bytes().decode("utf-8"), "0.19.8", "accelerate"))


def test_a_fix_that_another_one_makes_room_for_is_made_in_the_same_run(corpus):
    """Comments are an error to Accelerate, and the move would bring them to other rows, so it waits until they are gone."""
    done = check(case_of(Mutator(SHARED / "corpus" / "configs"), 1, 1009))
    assert {"not-strict-json", "misplaced-key-refused"} <= {finding.name for finding in done.mended.applied}
