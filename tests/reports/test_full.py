"""The full format: what a person sees in a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.documents.tree import Place, Source
from dslint.reports import Run, render
from dslint.reports.frame import draw
from dslint.rules.finding import Finding, Related

WHOLE = """\
warning[DS203] gradient-clipping-off: gradients are not clipped
 --> ds_config.json:1:1
  |
1 | {
  | ^
  |
  = why: Without a limit one bad batch can ruin the weights.
  = fix: set gradient_clipping to 1.0 (changes training: --fix --unsafe-fixes)
  = see: https://example.org/rules/gradient-clipping-off/

error[DS201] fp16-and-bf16: fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops
 --> ds_config.json:6:23
  |
4 |     "enabled": true
  |                ---- fp16 is on here
...
6 |   "bf16": {"enabled": true}
  |                       ^^^^
 ::: scripts/train it.sh:2:47
  |
2 | deepspeed train.py --deepspeed ds_config.json --fp16
  |                                               ------ and asked for here
  |
  = why: The engine asserts that at most one is on.
  = fix: turn fp16 off (--fix)
  = see: https://example.org/rules/fp16-and-bf16/

info[DS901] flag-without-need: --fp16 says what the config says
 --> scripts/train it.sh:2:47
  |
2 | deepspeed train.py --deepspeed ds_config.json --fp16
  |                                               ^^^^^^
  |
  = fix: drop the flag (--fix)

Found 1 error, 1 warning and 1 info in 2 files (4 checked) against DeepSpeed 0.19.8; \
2 fixable with --fix (1 more with --unsafe-fixes).
"""


def frame_of(
    text: str, start: int, end: int, path: str = "c.json", width: int = 120, related=()
) -> list[str]:
    finding = Finding("DS1", "n", "error", "m", Place(Source(path, text), start, end), related=tuple(related))
    return render("full", [finding], Run(width=width, quiet=True)).splitlines()[1:]


def test_a_whole_report(sample):
    assert render("full", sample.findings, Run(("0.19.8",), 4, "/repo")) == WHOLE


def test_colour_adds_styles_and_changes_no_text(sample):
    import re

    coloured = render("full", sample.findings, Run(("0.19.8",), 4, "/repo", color=True))
    assert "\x1b[1;31merror[DS201]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == WHOLE


def test_a_fix_that_fix_itself_could_not_make_is_not_advertised(sample):
    text = render("full", sample.findings, Run(fixing=True))
    assert "= fix: turn fp16 off\n" in text
    assert "(changes training: --fix --unsafe-fixes)" in text
    assert "(changes training" not in render("full", sample.findings, Run(fixing=True, unsafe_fixes=True))


def test_tabs_become_spaces_above_and_below():
    assert frame_of('\t"a":\tx', 6, 7)[2:4] == ['1 |     "a":    x', "  |             ^"]


def test_wide_characters_take_two_columns():
    assert frame_of('"名前": x', 6, 7)[2:4] == ['1 | "名前": x', "  |         ^"]
    assert frame_of("名前", 0, 2)[2:4] == ["1 | 名前", "  | ^^^^"]


def test_combining_characters_take_none():
    assert frame_of("e\u0301e\u0301 x", 5, 6)[3] == "  |    ^"


def test_a_span_over_rows_is_marked_to_the_end_of_the_first():
    assert frame_of('{"a": {  \n  "b": 1}}', 6, 19)[2:4] == ['1 | {"a": {', "  |       ^"]


def test_an_empty_span_and_an_empty_file_get_one_caret():
    assert frame_of("abc", 1, 1)[2:4] == ["1 | abc", "  |  ^"]
    assert frame_of("", 0, 0)[1:4] == ["  |", "1 |", "  | ^"]


def test_a_span_at_the_end_of_the_file_stands_behind_the_last_character():
    assert frame_of("abc", 3, 3)[3] == "  |    ^"
    assert frame_of("abc\n", 4, 4)[0] == " --> c.json:2:1"


def test_a_byte_order_mark_takes_no_column():
    assert frame_of('\ufeff{"a": 1}', 1, 2)[:4] == [" --> c.json:1:1", "  |", '1 | {"a": 1}', "  | ^"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_end_as_they_may(end):
    assert frame_of(f"a{end}bc{end}", 1 + len(end), 3 + len(end))[2:4] == ["2 | bc", "  | ^^"]


def test_the_gutter_is_as_wide_as_the_largest_row():
    text = "\n" * 99 + "x"
    assert frame_of(text, 99, 100)[:4] == ["   --> c.json:100:1", "    |", "100 | x", "    | ^"]


def test_marks_on_one_row_share_its_line():
    source = Source("c.json", "one two")
    finding = Finding(
        "DS1", "n", "error", "m", Place(source, 4, 7), related=(Related(Place(source, 0, 3), "because"),)
    )
    lines = render("full", [finding], Run(quiet=True)).splitlines()
    assert lines[3:6] == ["1 | one two", "  |     ^^^", "  | --- because"]


def test_long_rows_are_cropped_around_the_mark():
    text = "a" * 500 + "MARK" + "b" * 500
    line, marks = frame_of(text, 500, 504, width=80)[2:4]
    assert len(line) <= 80
    assert line.startswith("1 | ...a")
    assert line.endswith("b...")
    assert line[marks.index("^") : marks.rindex("^") + 1] == "MARK"


def test_a_mark_longer_than_the_terminal_is_cropped_too():
    line, marks = frame_of("x" * 30 + "M" * 500, 30, 530, width=60)[2:4]
    assert len(line) <= 60
    assert len(marks) <= len(line)
    assert "xM" in line


def test_a_row_of_many_megabytes_costs_next_to_nothing():
    from time import perf_counter

    text = '{"a": 1, "b": "' + "x" * 30_000_000 + '"}'
    source = Source("c.json", text)
    findings = [Finding("DS1", "n", "error", "m", Place(source, at, at + 3)) for at in range(1000, 1200)]
    source.position(0)
    start = perf_counter()
    render("full", findings, Run())
    assert perf_counter() - start < 2


def test_nothing_unseen_reaches_the_terminal():
    evil = "\x1b[2J\u202e\u2066\x00\x9b\u200b\u2028\x7f\udc80"
    source = Source(f"c{evil}.json", f'{{"{evil}": 1}}')
    finding = Finding(
        f"DS{evil}"[:2],
        "n",
        "error",
        f"message {evil}\nnext",
        Place(source, 1, 4),
        why=evil,
        url=evil,
        related=(Related(Place(source, 1, 4), evil),),
    )
    for name in ("full", "concise"):
        text = render(name, [finding], Run(("0",), 1))
        assert all(char.isprintable() or char == "\n" for char in text)
        assert "\\x1b[2J\\u202e\\u2066\\x00\\x9b\\u200b" in text


printable = st.text(
    st.one_of(st.sampled_from('ab\t{}": 名é\u0301\x1b\u202e'), st.characters(exclude_characters="\r\n")),
    max_size=60,
)


def columns(text: str) -> int:
    """The width of shown text by the tables of Unicode, apart from the code that is tested."""
    wide = {"W": 2, "F": 2}
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me") or char in "\u200c\u200d"
        else wide.get(unicodedata.east_asian_width(char), 1)
        for char in text
    )


@given(printable, printable, printable, st.integers(20, 100))
def test_the_marked_columns_are_those_of_the_marked_text(before, marked, after, room):
    line = before + marked + after
    drawn = draw(line, len(before), len(before) + len(marked), room)
    assert columns(drawn.text) <= room
    assert all(char.isprintable() or char in "\u200c\u200d" for char in drawn.text)
    assert drawn.left <= drawn.right <= columns(drawn.text)
    if drawn.whole and "\t" not in line:
        assert columns(draw(before, 0, 0, 10_000).text) == drawn.left
        assert columns(draw(marked, 0, 0, 10_000).text) == drawn.right - drawn.left


def test_statistics_count_by_rule(sample):
    text = render("full", [*sample.findings, sample.findings[2]], Run(statistics=True))
    assert (
        "2  warning  DS203 gradient-clipping-off (2 with a fix)\n"
        "1  error    DS201 fp16-and-bf16 (1 with a fix)\n"
        "1  info     DS901 flag-without-need (1 with a fix)\n"
        "\nFound 1 error, 2 warnings" in text
    )


def test_concise_is_a_line_a_finding(sample):
    assert render("concise", sample.findings, Run(quiet=True)).splitlines() == [
        "ds_config.json:1:1: warning[DS203] gradient-clipping-off: gradients are not clipped [unsafe]",
        "ds_config.json:6:23: error[DS201] fp16-and-bf16: "
        "fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops [*]",
        "scripts/train it.sh:2:47: info[DS901] flag-without-need: --fp16 says what the config says [*]",
    ]
