"""Edits make a new text; two texts make a diff that `patch` takes."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.tree import Source
from dslint.fixing.apply import Overlap, apply, diff
from dslint.fixing.fix import Edit

SOURCE = Source("x.json", "abcdef")


def edit(start, end, content):
    return Edit(SOURCE, start, end, content)


@pytest.mark.parametrize(
    ("edits", "want"),
    [
        ([], "abcdef"),
        ([edit(4, 5, "X"), edit(0, 1, "Y")], "YbcdXf"),
        ([edit(2, 2, "1"), edit(2, 2, "2")], "ab12cdef"),
        ([edit(0, 6, "")], ""),
        ([edit(6, 6, "!")], "abcdef!"),
        ([edit(1, 2, "X"), edit(2, 3, "Y")], "aXYdef"),
        ([edit(2, 4, "X"), edit(2, 2, "1")], "ab1Xef"),
    ],
)
def test_edits_count_from_the_old_text(edits, want):
    assert apply("abcdef", edits) == want


@pytest.mark.parametrize(
    "edits", [[edit(0, 3, ""), edit(2, 4, "")], [edit(5, 9, "")], [edit(1, 4, ""), edit(2, 2, "x")]]
)
def test_edits_that_touch_the_same_characters_are_refused(edits):
    with pytest.raises(Overlap, match=r"x\.json"):
        apply("abcdef", edits)


def test_an_overlap_is_a_value_error():
    assert issubclass(Overlap, ValueError)


def test_equal_texts_have_no_diff():
    assert diff("a.json", "x\n", "x\n") == ""


def test_a_diff_says_when_the_last_newline_is_missing():
    assert diff("d/a.json", '{"a": 1}', '{"a": 2}') == (
        "--- a/d/a.json\n+++ b/d/a.json\n@@ -1 +1 @@\n"
        '-{"a": 1}\n\\ No newline at end of file\n+{"a": 2}\n\\ No newline at end of file\n'
    )


lines = st.lists(st.sampled_from(["a", "b", "c\r", "é", "\x0c", "x\ry", "\u2028", ""]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(lines, lines, st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"]))
def test_patch_makes_the_new_text_from_the_diff(tmp_path_factory, old_rows, new_rows, old_end, new_end):
    if shutil.which("patch") is None:
        pytest.skip("the program `patch` is not installed")
    old, new = "\n".join(old_rows) + old_end, "\n".join(new_rows) + new_end
    text = diff("f", old, new)
    if not text:
        assert old == new
        return
    folder = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(old.encode())
    command = ["patch", "--binary", "-s", "-p1", "f"]
    subprocess.run(command, input=text.encode(), cwd=folder, check=True, capture_output=True)
    left = (folder / "f").read_bytes() if (folder / "f").exists() else b""
    assert left == new.encode()
