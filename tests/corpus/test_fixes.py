"""Fixes on real files: a second run changes nothing, untouched lines stay, and what is fixed has no error left."""

import difflib

import pytest
from places import SHARED

import dslint
from dslint.documents import json
from dslint.documents.tree import Source

FILES = sorted((SHARED / "corpus" / "configs").glob("*.json"))
VERSIONS = ("0.19.8", "0.18.9", "0.16.9")


@pytest.fixture(autouse=True)
def _real_files(corpus):
    """Skips, loudly, where the real files are not."""


def fixed(path, version):
    text = path.read_text(encoding="utf-8")
    result = dslint.fix(
        text=text, filename=path.name, unsafe=True, deepspeed_version=version, framework="transformers"
    )
    return text, result.texts.get(path.name, text), result


@pytest.mark.parametrize("version", VERSIONS)
def test_fixing_twice_is_fixing_once(version):
    for path in FILES:
        _, once, _ = fixed(path, version)
        again = dslint.fix(
            text=once, filename=path.name, unsafe=True, deepspeed_version=version, framework="transformers"
        )
        assert again.texts == {}, path.name


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_left_parses_wherever_it_parsed_before(version):
    for path in FILES:
        text, new, _ = fixed(path, version)
        if is_readable(text):
            assert is_readable(new), path.name


def is_readable(text):
    return not any(len(problem.refused_by) == 2 for problem in json.parse(Source("x.json", text)).problems)


@pytest.mark.parametrize("version", VERSIONS)
def test_only_lines_that_a_fix_names_change(version):
    for path in FILES:
        text, new, result = fixed(path, version)
        if text == new:
            continue
        keys = {part for f in result.mended for c in f.fix.changes for part in words_of(c)}
        old_lines, new_lines = text.splitlines(keepends=True), new.splitlines(keepends=True)
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(
            None, old_lines, new_lines, autojunk=False
        ).get_opcodes():
            if tag == "equal":
                continue
            touched = "".join(old_lines[i1:i2] + new_lines[j1:j2])
            # A line beside a removed or added one may gain or lose its comma, or its line end, and nothing else.
            bare_old = [line.rstrip().rstrip(",") for line in old_lines[i1:i2]]
            bare_new = [line.rstrip().rstrip(",") for line in new_lines[j1:j2]]
            assert any(key in touched for key in keys) or bare_old == bare_new, (path.name, touched)


def words_of(change):
    yield from change.pointer.split("/")[1:]
    if change.op in ("rename", "move"):
        yield from str(change.value).split("/")


@pytest.mark.parametrize("version", VERSIONS)
def test_where_every_error_had_a_fix_no_error_is_left(version):
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        context = {"deepspeed_version": version, "framework": "transformers"}
        errors = [f for f in dslint.lint(text=text, filename=path.name, **context) if f.severity == "error"]
        if errors and all(finding.fix for finding in errors):
            _, _, result = fixed(path, version)
            left = [finding for finding in result.left if finding.severity == "error"]
            assert left == [], (path.name, [finding.message for finding in left])
