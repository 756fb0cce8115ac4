"""Where a rule begins and ends to hold, dslint and that release's engine are of one mind."""

from pathlib import Path

import pytest
from engines import SDISTS

from dslint.engine.boundaries import boundaries, bounds, false_error, missed
from dslint.engine.verdict import Run, Verdict
from dslint.rules import book
from dslint.rules.compile import rule_files

ROOT = Path(__file__).parents[2]
FILES = {rule.name: rule for _, rule in rule_files(str(ROOT / "rules"))}


def pytest_generate_tests(metafunc):
    if "proof" in metafunc.fixturenames:
        rules = book.load()
        # Without the releases there is nothing to ask; the empty set is listed as skipped.
        files = FILES.values() if SDISTS else ()
        found = [each for rule in files for each in boundaries(rule, rules, FILES)]
        metafunc.parametrize("proof", found, ids=lambda each: each.name)


@pytest.mark.matrix
def test_dslint_and_the_engine_agree_at_a_rules_bounds(proof, engines):
    verdict = engines.verdict(proof)
    assert not false_error(proof, verdict), (
        f"{proof.told} at {proof.release}, which takes it:\n{proof.run.text}"
    )
    if missed(proof, verdict):
        pytest.xfail(f"no rule tells of what {proof.release} refuses: {verdict.error}")


def test_bounds_are_the_releases_named_and_the_ones_before():
    assert bounds(FILES["loss-scale-window-zero"]) == ["0.19.2", "0.19.3"]


def test_an_error_where_the_engine_takes_the_config_is_false_and_silence_where_it_refuses_a_miss():
    from dslint.engine.boundaries import Boundary

    told, silent = (Boundary("a", 1, "0.19.8", Run("{}"), names, None) for names in (("a",), ()))
    taken, refused = Verdict("load", None), Verdict(None, "ValueError: no")
    assert [false_error(told, taken), false_error(told, refused), false_error(silent, taken)] == [
        True,
        False,
        False,
    ]
    assert [missed(silent, refused), missed(silent, taken), missed(told, refused)] == [True, False, False]
