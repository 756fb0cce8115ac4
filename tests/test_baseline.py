"""Baselines: what is known stays unsaid when rows move, and what is new is said."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dslint import baseline
from dslint.baseline import BaselineError
from dslint.documents.tree import Place, Source
from dslint.rules.finding import Finding

CONFIG = '{\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true}\n}\n'
SCRIPT = "#!/bin/bash\ndeepspeed --bf16 train.py\n"


def found(path: str, text: str, what: str, pointer: str | None, name: str = "fp16-and-bf16") -> Finding:
    start = text.index(what)
    return Finding("DS201", name, "error", "m", Place(Source(path, text), start, start + len(what), pointer))


def known(findings, tmp_path, directory=None):
    """A baseline of findings, written and read."""
    path = str(tmp_path / "known.json")
    baseline.write(baseline.counted(findings, path, str(directory or tmp_path)), path)
    return baseline.read(path)


def test_what_is_known_is_not_new(tmp_path):
    findings = [found("c.json", CONFIG, "fp16", "/fp16"), found("t.sh", SCRIPT, "--bf16", None)]
    outcome = baseline.apply(findings, known(findings, tmp_path), str(tmp_path))
    assert (outcome.new, outcome.known, outcome.gone) == ([], findings, {})


def test_rows_may_move(tmp_path):
    before = [found("c.json", CONFIG, "fp16", "/fp16"), found("t.sh", SCRIPT, "--bf16", None)]
    moved = [
        found("c.json", '{\n\n  "x": 1,' + CONFIG[1:], "fp16", "/fp16"),
        found(
            "t.sh",
            SCRIPT.replace("\n", "\n# more\n\n").replace("deepspeed --", "  deepspeed  --"),
            "--bf16",
            None,
        ),
    ]
    assert baseline.apply(moved, known(before, tmp_path), str(tmp_path)).new == []


@pytest.mark.parametrize(
    "other",
    [
        found("d.json", CONFIG, "fp16", "/fp16"),
        found("c.json", CONFIG, "fp16", "/bf16"),
        found("c.json", CONFIG, "fp16", "/fp16", "other-rule"),
        found("c.json", CONFIG, "fp16", None),
    ],
    ids=["file", "pointer", "rule", "no pointer"],
)
def test_another_file_pointer_or_rule_is_new(tmp_path, other):
    outcome = baseline.apply(
        [other], known([found("c.json", CONFIG, "fp16", "/fp16")], tmp_path), str(tmp_path)
    )
    assert outcome.new == [other]
    assert sum(outcome.gone.values()) == 1


def test_another_text_on_the_row_of_a_script_is_new(tmp_path):
    before = [found("t.sh", SCRIPT, "--bf16", None)]
    after = [found("t.sh", SCRIPT.replace("train.py", "other.py"), "--bf16", None)]
    assert baseline.apply(after, known(before, tmp_path), str(tmp_path)).new == after


def test_of_findings_that_are_alike_as_many_are_known_as_were_counted(tmp_path):
    one = found("c.json", CONFIG, "fp16", "/fp16")
    two = found("c.json", CONFIG, "enabled", "/fp16")
    three = found("c.json", CONFIG, "true", "/fp16")
    outcome = baseline.apply([three, one, two], known([one, two], tmp_path), str(tmp_path))
    assert (outcome.known, outcome.new) == ([one, two], [three])


def test_files_are_named_from_the_baseline_s_folder(tmp_path):
    (tmp_path / "inner").mkdir()
    there = known([found("inner/c.json", CONFIG, "fp16", "/fp16")], tmp_path)
    assert (
        baseline.apply([found("c.json", CONFIG, "fp16", "/fp16")], there, str(tmp_path / "inner")).new == []
    )


def test_the_file_is_json_with_a_line_an_entry_in_a_stable_order(tmp_path):
    findings = [
        found("t.sh", SCRIPT, "--bf16", None),
        found("c.json", CONFIG, "fp16", "/fp16"),
        found("c.json", CONFIG, "true", "/fp16"),
        found("c.json", CONFIG, "bf16", "/bf16"),
    ]
    written, again = (
        baseline.text(baseline.counted(some, "known.json", str(tmp_path)))
        for some in (findings, findings[::-1])
    )
    assert written == again
    assert json.loads(written)["findings"]["c.json"] == [
        {"rule": "fp16-and-bf16", "pointer": "/bf16"},
        {"rule": "fp16-and-bf16", "pointer": "/fp16", "count": 2},
    ]
    assert len(written.splitlines()) == 12


def test_an_empty_baseline_is_a_baseline(tmp_path):
    assert known([], tmp_path).entries == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("\xff", "is no JSON"),
        ("[]", "no baseline of version 1"),
        ('{"version": 2, "findings": {}}', "no baseline of version 1"),
        ('{"version": 1}', "no baseline of version 1"),
        ('{"version": 1, "findings": []}', "an entry of another form"),
        ('{"version": 1, "findings": {"a": [{"rule": "x"}]}}', "an entry of another form"),
        (
            '{"version": 1, "findings": {"a": [{"rule": "x", "pointer": "", "count": "2"}]}}',
            "an entry of another form",
        ),
    ],
)
def test_a_broken_baseline_is_told_in_one_sentence(tmp_path, text, said):
    path = tmp_path / "known.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BaselineError, match=said) as caught:
        baseline.read(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_baseline_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BaselineError, match="--write-baseline"):
        baseline.read(str(tmp_path / "none.json"))
    with pytest.raises(BaselineError, match="cannot be written"):
        baseline.write(Counter(), str(tmp_path / "no" / "folder.json"))


def test_a_file_that_is_no_baseline_is_not_written_over(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(CONFIG, encoding="utf-8")
    with pytest.raises(BaselineError, match="no baseline, so it was not written over"):
        baseline.write(Counter(), str(path))
    assert path.read_text(encoding="utf-8") == CONFIG


def test_a_baseline_with_the_conflicts_of_a_merge_is_written_anew(tmp_path):
    path = tmp_path / "known.json"
    text = baseline.text(Counter({baseline.Entry("c.json", "fp16-and-bf16", "/fp16"): 1}))
    path.write_text("<<<<<<< ours\n" + text + "=======\n>>>>>>> theirs\n", encoding="utf-8")
    baseline.write(Counter(), str(path))
    assert baseline.read(str(path)).entries == {}
