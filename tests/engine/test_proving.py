"""What `make engine` counts, and that a skipped check does not pass for a green one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from proving import Shown, told
from sources import fewest

ROOT = Path(__file__).parents[2]


def shown(rule, outcome="passed", claimed=True, why="", release="0.19.8"):
    return Shown(rule, "bad", release, claimed, outcome, why)


def test_a_rule_is_proven_by_a_claim_that_held_and_none_that_did_not():
    ones = [
        shown("sound"),
        shown("sound", claimed=False),
        shown("false"),
        shown("false", "failed"),
        shown("elsewhere", "skipped", why="Skipped: not shown on a CPU: the claim needs a GPU"),
        shown("elsewhere", claimed=False),
        shown("without-a-claim", claimed=False),
    ]
    first, second, *rest = told(ones)
    assert first == "3 rules with an engine claim: 1 proven, 1 not borne out, 1 can't be here"
    assert second == "on DeepSpeed 0.19.8; 5 examples"
    assert rest == ["  elsewhere: not shown on a CPU: the claim needs a GPU"]


def test_releases_are_those_that_the_proven_rules_were_shown_on():
    assert list(told([shown("a"), shown("b", release="0.18.9")]))[1].startswith(
        "on DeepSpeed 0.18.9, 0.19.8;"
    )


def test_few_releases_are_fetched_and_none_that_is_not_importable():
    assert set(fewest([{"0.18.9"}, {"0.18.9", "0.16.9"}, {"0.14.5"}, {"0.12.6"}])) == {"0.18.9", "0.14.5"}
    assert list(fewest([])) == []


@pytest.mark.parametrize(
    ("why", "prove", "status"),
    [
        ("deepspeed is not installed here", "1", 1),
        ("DeepSpeed 0.19.8 is not here; DSLINT_SDISTS names the folder of its source", "1", 1),
        ("DeepSpeed 0.18.5 is not here; DSLINT_SDISTS names the folder of its source", "1", 0),
        ("not shown on a CPU: the claim needs a GPU", "1", 0),
        ("deepspeed is not installed here", "0", 0),
    ],
)
def test_what_an_installation_mends_is_no_reason_to_skip(tmp_path, why, prove, status):
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n@pytest.mark.engine\ndef test_it():\n    pytest.skip({why!r})\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = engine: x\n")
    environment = {
        **os.environ,
        "DSLINT_PROVE": prove,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "proving", "-p", "no:cacheprovider", "-q", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert (why in done.stdout) or not status
