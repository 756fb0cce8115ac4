"""The site builds without a complaint, and every address that a finding gives leads to a page."""

import json
import os
import re
import subprocess
import sys

import pytest
from source_copy import ROOT

from dslint.releases.schema import known_schemas
from dslint.rules import book
from dslint.rules.finding import IGNORE_RULES

pytestmark = pytest.mark.slow

SITE = "https://deepspeed-lint.github.io/"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip(
        "mkdocs", reason="mkdocs is absent, so the site was not built; install the docs extra"
    )
    pytest.importorskip(
        "material", reason="mkdocs-material is absent, so the site was not built; install the docs extra"
    )
    home = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(home / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "site"


def page_of(site, url):
    assert url.startswith(SITE)
    return site / url.removeprefix(SITE) / "index.html"


def test_every_rule_has_a_page_at_the_address_that_its_findings_give(site):
    urls = [rule.url for rule in book.load()] + [book.DOCS_URL.format(name=name) for _, name in IGNORE_RULES]
    assert [url for url in urls if not page_of(site, url).is_file()] == []


def test_the_list_of_rules_names_every_rule(site):
    text = (site / "rules" / "index.html").read_text(encoding="utf-8")
    names = [rule.name for rule in book.load()] + [name for _, name in IGNORE_RULES]
    assert [name for name in names if f">{name}<" not in text] == []


def test_a_rule_page_says_why_shows_a_diff_and_names_its_sources(site):
    text = (site / "rules" / "fp16-and-bf16" / "index.html").read_text(encoding="utf-8")
    assert "before the first step" in text
    assert '<span class="gd">' in text
    assert 'href="https://github.com/deepspeedai/DeepSpeed' in text


def test_options_settings_releases_and_hardware_have_their_pages(site):
    words = {
        "options": "--unsafe-fixes",
        "settings": "per-file-ignores",
        "releases": "bf16.check_grad_overflow",
        "hardware": "v100",
        "rule-format": "Computed checks",
        "loss-scale": "already at minimum",
        "fp16-to-bf16": "dslint migrate",
        "ci": "pre-commit.ci",
    }
    pages = {name: (site / name / "index.html").read_text(encoding="utf-8") for name in words}
    assert [name for name, word in words.items() if word not in re.sub(r"<[^>]+>", "", pages[name])] == []


def test_the_catalogue_entry_leads_to_schemas_that_the_site_has(site):
    entry = json.loads((ROOT / "schemas" / "catalog-entry.json").read_text(encoding="utf-8"))
    assert set(entry) == {"name", "description", "fileMatch", "url", "versions"}
    for url in (entry["url"], *entry["versions"].values()):
        schema = json.loads((site / url.removeprefix(SITE)).read_text(encoding="utf-8"))
        assert schema["$schema"].endswith("2020-12/schema")
    assert set(entry["versions"]) == set(known_schemas())
