"""The list of formats, and what rendering costs at a cold start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from dslint import settings
from dslint.reports import FORMATS, Run, render, renderer

ROOT = Path(__file__).parents[2]


def test_the_formats_are_those_of_the_contract_and_of_the_settings():
    assert list(FORMATS) == ["full", "concise", "json", "sarif", "github", "gitlab", "junit"]
    assert list(get_args(settings.Format)) == list(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_findings_and_their_absence(name, sample):
    for findings in (sample.findings, []):
        text = render(name, findings, Run(("0.19.8",), 2, "/repo"))
        assert text.endswith("\n") or (name == "github" and not findings)
        assert "\x1b" not in text


def test_an_unknown_format_is_a_key_error():
    with pytest.raises(KeyError):
        renderer("xml")


@pytest.mark.parametrize("name", FORMATS)
def test_the_order_of_the_findings_that_come_in_does_not_matter(name, sample):
    run = Run(("0.19.8",), 2, "/repo")
    assert render(name, sample.findings, run) == render(name, sample.findings[::-1], run)


@pytest.mark.parametrize("name", ["json", "full", "concise"])
def test_the_everyday_formats_import_nothing_heavy(name):
    heavy = (
        "pydantic ruamel jsonschema tree_sitter pathspec importlib.metadata subprocess asyncio concurrent "
        "email logging textwrap difflib unicodedata hashlib xml urllib shutil click tomllib"
    )
    code = f"""
import sys
before = set(sys.modules)
from dslint.documents.tree import Place, Source
from dslint.reports import Run, render
from dslint.rules.finding import Finding
source = Source("c.json", "{{}}")
render({name!r}, [Finding("DS201", "n", "error", "m", Place(source, 0, 1, ""))], Run())
print(sorted(set({heavy!r}.split()) & (set(sys.modules) - before)))
from dslint.reports import FORMATS
others = {{where.partition(":")[0] for name, where in FORMATS.items() if name != {name!r}}}
print(sorted(others & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]
