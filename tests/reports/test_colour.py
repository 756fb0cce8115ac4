"""Colour by the usual variables, and text made harmless."""

from __future__ import annotations

import pytest

from dslint.reports.colour import Paint, terminal_width, wants_colour
from dslint.reports.visible import sentence, visible


@pytest.mark.parametrize(
    ("environ", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "3", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": ""}, False, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"CLICOLOR": "1"}, False, False),
        ({"CLICOLOR": "1"}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, True, True),
    ],
)
def test_colour_follows_the_variables(environ, terminal, expected):
    assert wants_colour(terminal, environ) is expected


def test_paint_without_colour_gives_the_text_back():
    assert Paint(False)("error", "x") == "x"
    assert Paint(True)("error", "x") == "\x1b[1;31mx\x1b[0m"
    assert Paint(True)("error", "") == ""


def test_the_width_is_that_of_columns_where_it_is_set():
    assert terminal_width({"COLUMNS": "77"}) == 77
    assert terminal_width({"COLUMNS": "5"}) == 40
    assert terminal_width({"COLUMNS": "x"}) >= 40


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("名前 é", "名前 é"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e\u2066\u200f", "\\u202e\\u2066\\u200f"),
        ("\U000e0001", "\\U000e0001"),
        ("\udc80", "\\udc80"),
        ("👩\u200d🔬", "👩\u200d🔬"),
    ],
)
def test_what_is_unseen_is_shown(text, expected):
    assert visible(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", "One."),
        ("From 0.17.1 on it is\nrefused. Before, not.", "From 0.17.1 on it is refused."),
        ("Set it to 1.0. `x` then holds.", "Set it to 1.0."),
        ("one", "one"),
        ("", ""),
    ],
)
def test_of_a_why_the_first_sentence_is_shown(text, expected):
    assert sentence(text) == expected
