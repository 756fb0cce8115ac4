"""Silencing: what an ignore is for, what it is not for, and how an idle one is told and taken away."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from dslint.api import everything as lint
from dslint.documents import json as json_documents
from dslint.documents import yaml as yaml_documents
from dslint.documents.editing import edits as edits_for
from dslint.documents.tree import Document, Place, Source
from dslint.fixing.fix import Edit
from dslint.rules.finding import Finding
from dslint.settings import Settings
from dslint.silencing.adding import add_ignores
from dslint.silencing.files import matches, without_ignored_files
from dslint.silencing.silence import silence
from dslint.silencing.unused import reported

KNOWN = {"DS201", "fp16-and-bf16", "DS203", "gradient-clipping-off"}


def documents_of(source: Source) -> list[Document]:
    if source.path.endswith(("yaml", "yml")):
        return yaml_documents.parse(source)
    return [json_documents.parse(source)] if source.path.endswith(("json", "json5")) else []


def finding_at(
    source: Source, what: str, name: str = "fp16-and-bf16", code: str = "DS201", pointer=None
) -> Finding:
    start = source.text.index(what)
    document = next(iter(documents_of(source)), None)
    return Finding(
        code, name, "error", "message", Place(source, start, start + len(what), pointer), document=document
    )


def applied(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text


def is_silenced(text: str, what: str = "MARK", path: str = "ds_config.json", **finding) -> bool:
    source = Source(path, text)
    outcome = silence([finding_at(source, what, **finding)], [source], documents_of(source))
    assert len(outcome.kept) + len(outcome.silenced) == 1
    return not outcome.kept


def mended(text: str, path: str = "ds_config.json", findings=lambda source: ()) -> str:
    """The text once every unused ignore in it has been removed by its fix."""
    source = Source(path, text)
    outcome = silence(list(findings(source)), [source], documents_of(source))
    for finding in reported(outcome.unused):
        assert finding.fix is not None, finding.message
        assert finding.fix.safety == "safe"
        edits = list(finding.fix.edits)
        if finding.fix.changes:
            edits += edits_for(finding.document, finding.fix.changes)
        text = applied(text, edits)
    return text


# Comments


@pytest.mark.parametrize(
    "text",
    [
        '{\n"a": "MARK" // dslint: ignore[fp16-and-bf16]\n}',
        '{\n"a": "MARK", # dslint: ignore[DS201] why not\n"b": 1}',
        '{\n/* dslint: ignore[DS203,fp16-and-bf16] */ "a": "MARK"}',
        '{\n// dslint: ignore[fp16-and-bf16]\n"a": "MARK"}',
        '{\n// dslint:ignore[ fp16-and-bf16 ]\n"a": "MARK"}',
        '{\n// kept for the V100s; dslint: ignore[fp16-and-bf16]\n"a": "MARK"}',
        '{\n// dslint: ignore[fp16-and-bf16]\n// dslint: ignore[gradient-clipping-off]\n"a": "MARK"}',
        '{\n/* dslint: ignore[fp16-and-bf16]\n for now */\n"a": "MARK"}',
        '{\r\n// dslint: ignore[fp16-and-bf16]\r\n"a": "MARK"}\r\n',
    ],
)
def test_a_json_comment_silences_its_row_and_the_next(text):
    assert is_silenced(text)


@pytest.mark.parametrize(
    "text",
    [
        '{\n// dslint: ignore[gradient-clipping-off]\n"a": "MARK"}',
        '{\n// dslint: ignore[fp16-and]\n"a": "MARK"}',
        '{\n// dslint: ignore[DS2]\n"a": "MARK"}',
        '{\n// dslint: ignore\n"a": "MARK"}',
        '{\n// dslint: ignore[fp16-and-bf16]\n"b": 1,\n"a": "MARK"}',
        '{\n// dslint: ignore[fp16-and-bf16]\n\n"a": "MARK"}',
        '{\n"a": "MARK"\n// dslint: ignore[fp16-and-bf16]\n}',
        '{\n"b": "// dslint: ignore[fp16-and-bf16]",\n"a": "MARK"}',
        '{\n"b": unquoted // dslint: ignore[fp16-and-bf16]\n"a": "MARK"}',
    ],
)
def test_what_is_named_otherwise_stands_elsewhere_or_is_a_text_is_not_silenced(text):
    assert not is_silenced(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: MARK  # dslint: ignore[fp16-and-bf16]\n",
        "it: isn't  # dslint: ignore[fp16-and-bf16]\na: MARK\n",
        "# dslint: ignore[fp16-and-bf16]\na: MARK\n",
        "x:\n  # dslint: ignore[DS201]\n  a: MARK\n",
    ],
)
def test_a_yaml_comment_silences(text):
    assert is_silenced(text, path="accelerate.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "x: a# dslint: ignore[fp16-and-bf16]\na: MARK\n",
        'x: "a # dslint: ignore[fp16-and-bf16]"\na: MARK\n',
        "x: |\n  # dslint: ignore[fp16-and-bf16]\na: MARK\n",
    ],
)
def test_yaml_text_that_looks_like_a_comment_is_none(text):
    assert not is_silenced(text, path="accelerate.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "run MARK  # dslint: ignore[fp16-and-bf16]\n",
        "# dslint: ignore[fp16-and-bf16]\nrun MARK\n",
        "# dslint: ignore[fp16-and-bf16]\ndeepspeed train.py \\\n  --x \\\n  MARK\n",
        "deepspeed train.py \\\n  MARK \\\n  --x  # dslint: ignore[fp16-and-bf16]\n",
    ],
)
def test_a_shell_comment_silences_the_whole_command(text):
    assert is_silenced(text, path="train.sh")


@pytest.mark.parametrize(
    "text",
    [
        "echo '# dslint: ignore[fp16-and-bf16]'\nrun MARK\n",
        'echo "a # dslint: ignore[fp16-and-bf16]"\nrun MARK\n',
        "echo a#dslint: ignore[fp16-and-bf16]\nrun MARK\n",
        "# dslint: ignore[fp16-and-bf16]\nfirst \\\n  --x\nrun MARK\n",
    ],
)
def test_shell_text_that_looks_like_a_comment_is_none(text):
    assert not is_silenced(text, path="train.sh")


def test_a_python_comment_silences_and_a_python_text_does_not():
    assert is_silenced("x = 'MARK'  # dslint: ignore[fp16-and-bf16]\n", path="train.py")
    assert not is_silenced("'''\n# dslint: ignore[fp16-and-bf16]\n'''; x = 'MARK'\n", path="train.py")


def test_python_that_cannot_be_read_still_has_comments():
    assert is_silenced("def (:\n  x = 'MARK'  # dslint: ignore[fp16-and-bf16]\n", path="train.py")


def test_a_comment_in_a_notebook_cell_silences():
    text = '{"cells": [{"source": [\n  "# dslint: ignore[fp16-and-bf16]\\n",\n  "x = MARK\\n"\n]}]}'
    assert is_silenced(text, path="train.ipynb")


def test_a_comment_in_a_heredoc_is_the_config_s():
    text = 'cat > ds.json <<EOF\n{\n// dslint: ignore[fp16-and-bf16]\n"a": "MARK"\n}\nEOF\n'
    source = Source("train.sh", text)
    document = json_documents.parse(source, text.index("{"), text.index("}") + 1)
    assert not silence([finding_at(source, "MARK")], [source], [document]).kept


# The key in plain JSON


def test_a_key_silences_its_object_and_what_is_below():
    text = (
        '{"fp16": {"//dslint": "ignore[fp16-and-bf16] for now", "enabled": {"x": "MARK"}}, "other": "THERE"}'
    )
    assert is_silenced(text, pointer="/fp16/enabled/x")
    assert is_silenced(text, "enabled", pointer="/fp16")
    assert is_silenced(text, pointer="/fp16/absent")
    assert not is_silenced(text, "THERE", pointer="/other")
    assert not is_silenced(text, "THERE", pointer="/fp16x")
    assert not is_silenced(text, name="other", code="DS999", pointer="/fp16/enabled/x")


def test_a_key_at_the_root_silences_the_whole_config():
    text = '{"//dslint": "ignore[DS201]", "a": "MARK"}'
    assert is_silenced(text, pointer="/a")
    assert is_silenced(text, pointer=None)


# Ignores that do nothing


def test_a_used_ignore_is_not_reported():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-bf16]\n"a": "MARK"}')
    assert silence([finding_at(source, "MARK")], [source], documents_of(source)).unused == []


def test_two_findings_under_one_ignore_are_both_silenced():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-bf16, DS203]\n"a": "MARK"}')
    two = [finding_at(source, "MARK"), finding_at(source, "MARK", "gradient-clipping-off", "DS203")]
    outcome = silence(two, [source], documents_of(source))
    assert (outcome.kept, outcome.unused, len(outcome.silenced)) == ([], [], 2)


def test_an_unused_ignore_is_a_warning_at_its_name():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-bf16] x\n"a": 1}')
    (found,) = reported(silence([], [source], documents_of(source)).unused)
    assert (found.code, found.name, found.severity) == ("DS001", "unused-ignore", "warning")
    assert source.text[found.place.start : found.place.end] == "fp16-and-bf16"
    assert found.why
    assert found.url


def test_an_unused_key_is_reported_at_the_key():
    source = Source("c.json", '{"//dslint": "ignore[fp16-and-bf16]", "a": 1}')
    (found,) = reported(silence([], [source], documents_of(source)).unused)
    assert source.text[found.place.start : found.place.end] == '"//dslint": "ignore[fp16-and-bf16]"'
    assert found.place.pointer == "/~1~1dslint"


@pytest.mark.parametrize(
    "text",
    [
        '{\n// dslint: ignore\n"a": 1}',
        '{\n// dslint: ignore[]\n"a": 1}',
        '{"//dslint": "yes"}',
        '{"//dslint": 3}',
    ],
)
def test_an_ignore_without_names_is_invalid(text):
    source = Source("c.json", text)
    (found,) = reported(silence([], [source], documents_of(source)).unused)
    assert (found.code, found.fix) == ("DS002", None)
    assert "names no rule" in found.message


def test_a_name_that_is_no_rule_is_told_with_the_nearest():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-fb16]\n"a": 1}')
    (found,) = reported(silence([], [source], documents_of(source), known=KNOWN).unused, KNOWN)
    assert found.message == "`fp16-and-fb16` is no rule; did you mean `fp16-and-bf16`?"
    assert (found.code, found.fix) == ("DS002", None)


def test_an_ignore_for_a_rule_that_was_not_checked_is_not_unused():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-bf16]\n"a": 1}')
    assert not silence([], [source], documents_of(source), active=lambda name: name != "fp16-and-bf16").unused


def test_in_a_broken_file_no_ignore_is_called_unused():
    source = Source("c.json", '{\n// dslint: ignore[fp16-and-bf16]\n"a": }')
    assert any(problem.kind == "syntax" for problem in documents_of(source)[0].problems)
    assert silence([], [source], documents_of(source)).unused == []


def test_a_config_of_several_launches_reports_its_ignore_once():
    source = Source("c.json", '{"//dslint": "ignore[fp16-and-bf16]"}')
    document = documents_of(source)[0]
    assert len(silence([], [source, source], [document, document]).unused) == 1


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("c.json", '{\n  // dslint: ignore[x] why\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'),
        ("c.json", '{\r\n  // dslint: ignore[x]\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1\r\n}\r\n'),
        ("c.json", '\ufeff// dslint: ignore[x]\n{"a": 1}\n', '\ufeff{"a": 1}\n'),
        ("c.json", '{"a": 1} // dslint: ignore[x]', '{"a": 1}'),
        ("c.json", '{"a": 1}\n// dslint: ignore[x]', '{"a": 1}\n'),
        ("c.json", '{\n  "a": 1, // dslint: ignore[x]\n  "b": 2}\n', '{\n  "a": 1,\n  "b": 2}\n'),
        ("c.json", '{"a": /* dslint: ignore[x] */ 1}\n', '{"a": 1}\n'),
        ("c.json", '{"a": 1 // V100s; dslint: ignore[x]\n}\n', '{"a": 1 // V100s\n}\n'),
        ("c.json", '{\n/* V100s\n dslint: ignore[x]\n*/\n"a": 1}', '{\n/* V100s\n\n*/\n"a": 1}'),
        ("c.json", '{"//dslint": "ignore[x]", "a": 1}\n', '{"a": 1}\n'),
        ("c.yaml", "a: 1  # dslint: ignore[x]\nb: 2\n", "a: 1\nb: 2\n"),
        ("t.sh", "# dslint: ignore[x]\nrun\n", "run\n"),
        ("t.py", "f(  # dslint: ignore[x]\n)\n", "f(\n)\n"),
    ],
)
def test_the_fix_removes_an_unused_ignore_and_nothing_else(path, before, after):
    assert mended(before, path) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n// dslint: ignore[x, DS201] why\n"a": "MARK"}', '{\n// dslint: ignore[DS201] why\n"a": "MARK"}'),
        ('{\n// dslint: ignore[DS201 , x]\n"a": "MARK"}', '{\n// dslint: ignore[DS201]\n"a": "MARK"}'),
        (
            '{"//dslint": "ignore[x,DS201] why", "a": "MARK"}',
            '{"//dslint": "ignore[DS201] why", "a": "MARK"}',
        ),
    ],
)
def test_of_several_names_the_fix_removes_the_unused_ones(before, after):
    assert mended(before, findings=lambda source: [finding_at(source, "MARK", pointer="/a")]) == after


# Adding


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "c.json",
            '{\n  // hello\n  "a": "MARK"\n}\n',
            '{\n  // hello\n  // dslint: ignore[fp16-and-bf16] old\n  "a": "MARK"\n}\n',
        ),
        (
            "c.json5",
            '{\r\n\t"a": "MARK"\r\n}\r\n',
            '{\r\n\t// dslint: ignore[fp16-and-bf16] old\r\n\t"a": "MARK"\r\n}\r\n',
        ),
        ("c.yaml", "x:\n  a: MARK\n", "x:\n  # dslint: ignore[fp16-and-bf16] old\n  a: MARK\n"),
        ("t.sh", "run x \\\n  MARK\n", "# dslint: ignore[fp16-and-bf16] old\nrun x \\\n  MARK\n"),
        ("t.py", "f(\n    MARK=1)\n", "f(\n    # dslint: ignore[fp16-and-bf16] old\n    MARK=1)\n"),
        ("t.py", "# dslint: ignore[b] c\nMARK\n", "# dslint: ignore[b, fp16-and-bf16] c\nMARK\n"),
    ],
)
def test_an_added_comment_stands_before_the_row_and_silences(path, before, after):
    source = Source(path, before)
    added = add_ignores([finding_at(source, "MARK")], documents_of(source), "old")
    assert applied(before, added.edits) == after
    assert added.left == []
    assert is_silenced(after, path=path)


def test_plain_json_stays_plain():
    source = Source("c.json", '{\n  "a": "MARK",\n  "b": "THERE"\n}\n')
    two = [finding_at(source, "MARK"), finding_at(source, "THERE", "gradient-clipping-off", "DS203")]
    added = add_ignores(two, documents_of(source))
    after = applied(source.text, added.edits)
    assert '"//dslint": "ignore[fp16-and-bf16, gradient-clipping-off]"' in after
    assert not documents_of(Source("c.json", after))[0].problems
    assert is_silenced(after, pointer="/a")
    again = Source("c.json", after)
    more = add_ignores([finding_at(again, "MARK", "third-rule", "DS301")], documents_of(again))
    assert '"ignore[fp16-and-bf16, gradient-clipping-off, third-rule]"' in applied(after, more.edits)


def test_one_comment_serves_all_findings_of_a_row():
    source = Source("t.sh", "run MARK\n")
    two = [
        finding_at(source, "MARK"),
        finding_at(source, "run", "other", "DS301"),
        finding_at(source, "MARK"),
    ]
    assert (
        applied(source.text, add_ignores(two, []).edits)
        == "# dslint: ignore[fp16-and-bf16, other]\nrun MARK\n"
    )


def test_where_no_comment_can_stand_the_finding_is_left():
    source = Source("t.sh", "#!/bin/bash MARK\n")
    added = add_ignores([finding_at(source, "MARK")], [])
    assert (added.edits, len(added.left)) == ([], 1)


# Files


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.json", "a/b.json", True),
        ("*.json", "a/b.yaml", False),
        ("a/*.json", "a/b.json", True),
        ("a/*.json", "a/c/b.json", False),
        ("a/**/*.json", "a/b.json", True),
        ("a/**/*.json", "a/c/d/b.json", True),
        ("a/**", "a/c/d/b.json", True),
        ("a", "x/a/c.json", True),
        ("a/", "a/c.json", True),
        ("./a/b.json", "a/b.json", True),
        ("b.json", "ab.json", False),
        ("b?.json", "b1.json", True),
        ("b[0-9].json", "b1.json", True),
        ("b[!0-9].json", "b1.json", False),
        ("b[z-a].json", "b1.json", False),
        ("!legacy/**", "new/b.json", True),
        ("!legacy/**", "legacy/b.json", False),
        ("b.json", "bxjson", False),
    ],
)
def test_globs_match_paths(glob, path, expected):
    assert matches(glob, path) is expected


def test_per_file_ignores_take_away_by_selector_relative_to_the_settings():
    settings = Settings(per_file_ignores={"legacy/*.json": ("DS2",)}, root="/repo")
    old, new = Source("legacy/c.json", "MARK"), Source("c.json", "MARK")
    findings = [finding_at(old, "MARK"), finding_at(old, "MARK", "other", "DS301"), finding_at(new, "MARK")]
    assert without_ignored_files(findings, settings, "/repo") == findings[1:]
    inside = Source("c.json", "MARK")
    assert without_ignored_files([finding_at(inside, "MARK")], settings, "/repo/legacy") == []


def test_what_names_itself_in_its_own_documentation_is_found_by_nobody():
    """A sentence about dslint is no ignore."""
    source = Source("t.sh", "# see dslint: rules are silenced with ignore[NAME]\nrun\n")
    assert silence([], [source], []).unused == []
    assert re.search("ignore", source.text)


def test_on_real_configs_added_ignores_silence_everything_and_change_nothing_else(corpus):
    seen = 0
    for path in sorted((corpus / "configs").rglob("*.json"))[::4]:
        text = path.read_text(encoding="utf-8", errors="replace")
        found = lint(text=text, filename="ds_config.json", deepspeed_version="0.19.8")
        document = json_documents.parse(Source("ds_config.json", text))
        if (
            not found
            or document.root.kind != "object"
            or any(each.refused_by > {"json"} for each in document.problems)
        ):
            continue
        added = add_ignores(found, [document])
        after = Source("ds_config.json", applied(text, added.edits))
        again = json_documents.parse(after)
        plain = again.root.plain()
        plain.pop("//dslint", None)
        assert plain == document.root.plain(), path
        outcome = silence(lint(text=after.text, deepspeed_version="0.19.8"), [after], [again])
        left = {(finding.name, finding.place.pointer) for finding in added.left}
        assert {(finding.name, finding.place.pointer) for finding in outcome.kept} <= left, path
        assert outcome.unused == [], path
        seen += 1
    assert seen > 10
