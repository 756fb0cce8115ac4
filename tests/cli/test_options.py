"""Every option of every command is documented, explained and completed."""

import sys

import click
import pytest
from places import ROOT

from dslint.cli.main import COMMANDS, cli
from dslint.settings import READERS

CONTEXT = click.Context(cli, info_name="dslint")


@pytest.fixture(scope="module")
def pages():
    """The modules that draw the site's pages."""
    sys.path.insert(0, str(ROOT / "docs" / "pages"))
    import options_page
    import settings_page

    yield {"options": options_page.page(), "settings": settings_page.page()}
    sys.path.remove(str(ROOT / "docs" / "pages"))


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_option_is_explained_and_has_its_row_in_the_documentation(name, pages):
    command = cli.get_command(CONTEXT, name)
    section = (pages["options"] + "\n## ").partition(f"## dslint {name}\n")[2].partition("\n## ")[0]
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help or isinstance(option.type, click.Choice), option.name
            for word in option.opts:
                assert any(word in row for row in section.splitlines() if row.startswith("| <code>")), word


def test_every_setting_is_in_the_documentation(pages):
    assert [key for key in READERS if f"## {key}\n" not in pages["settings"]] == []


def test_every_option_of_a_setting_is_called_like_it():
    """What the command line sets over the settings has the same name there."""
    check = cli.get_command(CONTEXT, "check")
    options = {word.removeprefix("--") for option in check.params for word in option.opts}
    alone = {"per-file-ignores", "severity", "include", "exclude", "unfixable"}
    assert set(READERS) - options == alone


def test_the_readme_and_the_pages_name_no_option_that_there_is_not():
    known = {
        word for name in COMMANDS for option in cli.get_command(CONTEXT, name).params for word in option.opts
    }
    for path in (ROOT / "docs" / "ci.md", ROOT / "docs" / "silencing.md"):
        text = path.read_text(encoding="utf-8")
        ours = [
            line for line in text.splitlines() if "dslint" in line or "args:" in line or "--output" in line
        ]
        words = {word.strip("`[](),.\"'").partition("=")[0] for line in ours for word in line.split()}
        assert {word for word in words if word.startswith("--")} - known == set(), path.name
