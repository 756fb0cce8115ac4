"""A bounded look with each fuzz target: its seeds, and the same few hundred changes of them in every run."""

from __future__ import annotations

import itertools
import random

import pytest

from fuzz.blind import inputs
from fuzz.findings import Recorder, fault_of
from fuzz.mutate import mutate
from fuzz.report import report
from fuzz.targets import NAMES, target

# Inputs that a few seconds are enough for.
CHANGED = {"json": 800, "fixes": 150, "log": 200, "rules": 200}
SEEDS = {"fixes": 40, "log": 40, "rules": 60}


@pytest.mark.parametrize("name", NAMES)
def test_no_input_breaks_a_promise(name):
    chosen = target(name)
    record = Recorder(name, chosen, None)
    seeds = [data for data in chosen.seeds() if len(data) <= 4096]
    chance = random.Random(1)
    for data in chance.sample(seeds, min(SEEDS.get(name, 150), len(seeds))):
        chosen.one(data)
    for data in itertools.islice(inputs(chosen, 1, 4096), len(seeds), len(seeds) + CHANGED.get(name, 300)):
        record(data)
    assert record.failures == {}
    assert record.runs == CHANGED.get(name, 300)


@pytest.mark.parametrize("name", NAMES)
def test_every_target_has_seeds_and_takes_what_is_no_text(name):
    chosen = target(name)
    assert next(iter(chosen.seeds()))
    for data in (
        b"",
        b"\0",
        b"\0\0\0\0",
        b"\xff\xfe{\0}\0",
        b"\xed\xa0\x80",
        bytes(range(256)),
        b"\xef\xbb\xbf",
    ):
        chosen.one(data)


def test_a_failure_is_kept_once_with_its_smallest_input(tmp_path):
    class Broken:
        WORDS = ("x",)

        def seeds(self):
            return [b"seed"]

        def one(self, data):
            if len(data) > 2:
                raise ValueError(f"of {len(data)}")

    record = Recorder("broken", Broken(), tmp_path)
    for data in (b"aaaaa", b"aaa", b"aaaa", b"a"):
        record(data)
    (folder,) = tmp_path.iterdir()
    assert (folder / "input").read_bytes() == b"aaa"
    assert sum(record.failures.values()) == 3
    assert "ValueError" in (folder / "told.txt").read_text()


def test_two_failures_in_one_place_are_one():
    def fails(text):
        try:
            target("json").one(text)
            raise ValueError(text)
        except ValueError as error:
            return fault_of(error)

    assert fails(b"{}") == fails(b"[]")


def test_the_plain_mutator_gives_the_same_for_the_same_seed_and_keeps_within_its_bound():
    def changes(seed):
        chance = random.Random(seed)
        return [mutate(b"some text\nof rows\n", [b"other"], [b"word"], chance, 100) for _ in range(200)]

    assert changes(1) == changes(1) != changes(2)
    assert max(map(len, changes(1))) <= 100


def test_a_report_tells_runs_and_what_later_runs_no_longer_met():
    rows = [
        {
            "target": "json",
            "begun": "2026-01-01",
            "seconds": 60,
            "executions": 10,
            "failures": {"X in a": 3},
            "commit": "abc",
        },
        {
            "target": "json",
            "begun": "2026-01-02",
            "seconds": 60,
            "executions": 1000,
            "failures": {},
            "coverage": 7,
        },
    ]
    told = report(rows)
    assert "| json | 2 | 2 | 1,010 | 7 |" in told
    assert "- json: `X in a`: 3 times at abc; not met in the 1 later runs" in told
