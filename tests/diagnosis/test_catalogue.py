"""The catalogue: its files are checked when they are read, and its examples are run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from made_logs import diagnosed, names, realistic

from dslint.diagnosis.catalogue import (
    SOURCES,
    CatalogueError,
    compile_catalogue,
    decode,
    fingerprint,
    load_catalogue,
)
from dslint.diagnosis.messagefile import compile_sources, read_sources
from dslint.diagnosis.wording import sentences
from dslint.rules import book

ENTRIES = [entry for _, entry in read_sources(SOURCES)]
EXAMPLES = [(entry, example) for entry in ENTRIES for example in entry.examples]

FILE = """\
family: sample
messages:
  - name: sample-message
    summary: something happened
    match: "the {thing:word} is not here"
    why: The {thing} is missing.
    fix: Bring it.
    sources: [https://example.org/thing]
    evidence: source
"""


@pytest.mark.parametrize(("entry", "example"), EXAMPLES, ids=lambda value: getattr(value, "name", ""))
def test_an_example_is_recognised_as_its_message_alone(entry, example):
    diagnosis = diagnosed(realistic(example.log))
    assert names(diagnosis) == [entry.name]
    cause = diagnosis.causes[0]
    told = [dict(captures) for captures, _ in cause.details]
    assert any(all(one.get(name) == value for name, value in example.captures.items()) for one in told), told
    if example.at:
        assert cause.pointers == example.at


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_message_says_what_why_and_what_to_do(entry):
    assert entry.why
    assert entry.fix
    assert all(source.startswith("https://") for source in entry.sources)
    assert all(text.rstrip()[-1] in ".`)}" for text in (*entry.why, *entry.fix)), "a sentence has no end"
    assert not entry.summary.endswith(".")


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.match], ids=lambda entry: entry.name)
def test_a_message_has_a_sentence_left_when_nothing_was_captured(entry):
    assert sentences([text for text in entry.why if "{" not in text] or entry.why, [{}]) or any(
        "{" in text for text in entry.why
    )
    captured = {name: "x" for text in (*entry.why, *entry.fix) for name in holes(text)}
    assert sentences(entry.why, [captured])
    assert sentences(entry.fix, [captured])


def holes(text: str) -> list[str]:
    import re

    return re.findall(r"\{([a-z_]+)\}", text)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_message_names_rules_that_are_in_the_book(entry):
    known = {rule.name for rule in book.load()}
    assert set(entry.rules) <= known


def test_what_is_not_proved_by_an_example_is_told_by_the_numbers_or_needs_many_sightings():
    without = {entry.name for entry in ENTRIES if not entry.examples and entry.metric is None}
    assert without <= {"overflow-skipped", "cache-flushes"}


def test_the_words_that_a_person_reads_name_no_release_that_is_not_one():
    for entry in ENTRIES:
        assert (
            entry.releases is None or entry.releases[0] in "<>=" or entry.releases.startswith("transformers")
        )


def write(folder: Path, text: str, name: str = "sample.yaml") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_compiling_writes_what_decodes_to_the_same_messages(tmp_path):
    target = tmp_path / "out" / "messages.json"
    compile_catalogue(write(tmp_path / "messages", FILE), target)
    catalogue = decode(json.loads(target.read_text(encoding="utf-8")))
    assert [message.name for message in catalogue.messages] == ["sample-message"]
    assert catalogue.messages[0].patterns[0].literal == " is not here"
    assert not list(target.parent.glob(".*"))


def test_the_compiled_form_of_the_whole_book_is_what_is_loaded():
    compiled = json.loads(json.dumps(compile_sources(SOURCES)))
    assert decode(compiled) == load_catalogue()


def test_a_changed_file_makes_the_compiled_form_stale(tmp_path):
    folder = write(tmp_path / "messages", FILE)
    before = fingerprint(folder)
    os.utime(folder / "sample.yaml", (1, 1))
    assert fingerprint(folder) != before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("    fix: Bring it.\n", ""), "fix"),
        (("family: sample\n", ""), "family"),
        (("the {thing:word} is", "the {thing:colour} is"), "unknown kind 'colour'"),
        (('"the {thing:word} is not here"', '"{thing}"'), "no fixed text"),
        (("    match:", "    metric: loss-nan\n    match:"), "either `match` or `metric`"),
        (("    why:", "    includes: [nobody]\n    why:"), "unknown message 'nobody'"),
        (("    why:", "    wyh: typo\n    why:"), "wyh"),
        (("family: sample", "family: [sample"), "cannot be read as YAML"),
    ],
)
def test_a_broken_file_is_told_with_its_place(tmp_path, change, told):
    folder = write(tmp_path / "messages", FILE.replace(*change))
    with pytest.raises(CatalogueError, match=r"messages") as caught:
        compile_sources(folder)
    assert told in str(caught.value)


def test_a_name_that_is_given_twice_is_told(tmp_path):
    folder = write(tmp_path / "messages", FILE)
    write(folder, FILE.replace("family: sample", "family: other"), "other.yaml")
    with pytest.raises(CatalogueError, match="sample-message"):
        compile_sources(folder)


def test_a_folder_without_files_is_told(tmp_path):
    with pytest.raises(CatalogueError, match="no message file"):
        compile_sources(tmp_path)
