"""Changes on plain data, and the draft that remembers what is old in a text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.editing import CannotEdit, Draft, changed
from dslint.documents.tree import UNKNOWN, Source
from dslint.fixing.apply import apply
from dslint.fixing.fix import Change


@pytest.mark.parametrize(
    ("plain", "change", "want"),
    [
        ({"a": 1}, Change("set", "/a", 2), {"a": 2}),
        ({"a": 1}, Change("set", "/b/c", 2), {"a": 1, "b": {"c": 2}}),
        ({"a": [1]}, Change("set", "/a/1", 2), {"a": [1, 2]}),
        ({"a": [1, {"b": 2}]}, Change("remove", "/a/1/b"), {"a": [1, {}]}),
        ({"a": [1, 2]}, Change("remove", "/a/0"), {"a": [2]}),
        ({"a": 1, "b": 2}, Change("rename", "/a", "c"), {"c": 1, "b": 2}),
        ({"a": {"b": 1}}, Change("move", "/a/b", "/c/d"), {"a": {}, "c": {"d": 1}}),
        ({"a": 1}, Change("set", "", {"b": 2}), {"b": 2}),
    ],
)
def test_plain_data_changes_as_the_text_would(plain, change, want):
    before = repr(plain)
    assert changed(plain, [change]) == want
    assert repr(plain) == before


def test_a_renamed_key_keeps_its_place():
    assert list(changed({"a": 1, "b": 2}, [Change("rename", "/a", "c")])) == ["c", "b"]


def test_what_is_unknown_stays_the_one_unknown():
    assert changed({"a": UNKNOWN}, [Change("set", "/b", 1)])["a"] is UNKNOWN


@pytest.mark.parametrize(
    "change",
    [
        Change("remove", "/b"),
        Change("remove", ""),
        Change("set", "/a/b", 1),
        Change("rename", "/a", "c"),
        Change("move", "/a", "/c"),
        Change("move", "/l/0", "/x"),
        Change("move", "/o", "/o/p/q"),
        Change("set", "/l/7", 1),
    ],
)
def test_a_change_that_does_not_fit_is_refused(change):
    with pytest.raises(CannotEdit):
        changed({"a": 1, "c": 2, "l": [1], "o": {"p": 1}}, [change])


@settings(max_examples=300)
@given(
    st.text(max_size=20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.text(max_size=4)), max_size=6),
)
def test_a_drafts_edits_make_its_text_from_the_old_one(text, replacements):
    source = Source("x", text)
    draft = Draft(source)
    wanted = text
    for one, other, content in replacements:
        start, end = sorted((min(one, len(wanted)), min(other, len(wanted))))
        wanted = wanted[:start] + content + wanted[end:]
        draft.replace(start, end, content)
    assert draft.text == wanted
    found = draft.edits()
    assert apply(text, found) == wanted
    assert all(a.end < b.start for a, b in pairwise(found))
