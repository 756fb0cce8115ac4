"""Changes of YAML keep the file's own style, touch nothing else, and are refused where they are in doubt."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents import yaml
from dslint.documents.editing import CannotEdit, changed, edits
from dslint.documents.tree import Source
from dslint.documents.yaml_writing import block, flow, scalar
from dslint.fixing.fix import Change


def after(text: str, *changes: Change) -> str:
    [document] = yaml.parse(Source("x.yaml", text))
    for edit in reversed(edits(document, changes)):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text


def put(pointer: str, value: object) -> Change:
    return Change("set", pointer, value)


ACCELERATE = """\
compute_environment: LOCAL_MACHINE  # here
deepspeed_config:
    # what ZeRO does
    zero_stage: 3   # all of it
    "offload_param_device": 'cpu'
distributed_type: DEEPSPEED
mixed_precision: "fp16"
num_processes: 8
"""


def test_a_value_is_replaced_in_its_own_quotes() -> None:
    assert after(ACCELERATE, put("/mixed_precision", "bf16")) == ACCELERATE.replace('"fp16"', '"bf16"')
    assert after(ACCELERATE, put("/deepspeed_config/zero_stage", 2)) == ACCELERATE.replace(
        "stage: 3", "stage: 2"
    )


def test_a_number_is_written_so_that_yaml_1_1_reads_a_number() -> None:
    assert (
        after("learning_rate: 5e-5 # fast\n", put("/learning_rate", 5e-5))
        == "learning_rate: 5.0e-05 # fast\n"
    )


def test_a_new_key_goes_behind_the_last_with_its_column() -> None:
    assert after(ACCELERATE, put("/deepspeed_config/zero3_init_flag", True)) == ACCELERATE.replace(
        "'cpu'\n", "'cpu'\n    zero3_init_flag: true\n"
    )
    assert after("a: 1", put("/b", "x: y")) == "a: 1\nb: 'x: y'"


def test_missing_parents_are_made_with_the_files_own_indentation() -> None:
    assert (
        after(ACCELERATE, put("/fsdp_config/a/b", 1)) == ACCELERATE + "fsdp_config:\n    a:\n        b: 1\n"
    )


def test_a_removed_key_takes_its_row_and_comment_along() -> None:
    assert after(ACCELERATE, Change("remove", "/deepspeed_config/zero_stage")) == ACCELERATE.replace(
        "    zero_stage: 3   # all of it\n", ""
    )
    assert after("a: 1\nb: 2", Change("remove", "/b")) == "a: 1"
    assert after("a: 1\r\nb: 2\r\nc: 3\r\n", Change("remove", "/b")) == "a: 1\r\nc: 3\r\n"


def test_a_mapping_that_loses_its_only_key_is_left_empty() -> None:
    assert after("a:\n  b: 1\nc: 2\n", Change("remove", "/a/b")) == "a: {}\nc: 2\n"


def test_the_first_key_behind_a_dash_makes_room_for_the_second() -> None:
    assert after("l:\n  - a: 1\n    b: 2\n", Change("remove", "/l/0/a")) == "l:\n  - b: 2\n"


def test_items_come_and_go() -> None:
    assert after("l:\n- a\n- b\n", Change("remove", "/l/0")) == "l:\n- b\n"
    assert after("l:\n- a\n- b\nc: 1\n", put("/l/-", "d")) == "l:\n- a\n- b\n- d\nc: 1\n"
    assert after("l: [a, b]\n", put("/l/-", "d")) == "l: [a, b, d]\n"


def test_braces_stay_braces() -> None:
    text = '{"zero_optimization": {"stage": 3}, "x": 1}\n'
    assert after(text, put("/zero_optimization/overlap_comm", True)) == text.replace(
        "3}", '3, "overlap_comm": true}'
    )
    assert after(text, Change("remove", "/x")) == '{"zero_optimization": {"stage": 3}}\n'
    assert after("a: {b: 1, c: 2}\n", Change("remove", "/a/b")) == "a: {c: 2}\n"
    assert after("a: {}\n", put("/a/b", 1)) == "a: {b: 1}\n"
    rows = "a: {\n  b: 1,\n  c: 2\n}\n"
    assert after(rows, put("/a/d", 3)) == "a: {\n  b: 1,\n  c: 2,\n  d: 3\n}\n"


def test_a_key_is_renamed_in_its_quotes_and_moved_with_its_value() -> None:
    assert after(
        ACCELERATE, Change("rename", "/deepspeed_config/offload_param_device", "x")
    ) == ACCELERATE.replace("offload_param_device", "x")
    assert after("a: 1\nb:\n  c: 2\n", Change("move", "/a", "/b/a")) == "b:\n  c: 2\n  a: 1\n"


def test_changes_build_on_one_another() -> None:
    text = after(
        ACCELERATE, Change("remove", "/mixed_precision"), put("/num_processes", 4), put("/debug", False)
    )
    assert text.endswith("distributed_type: DEEPSPEED\nnum_processes: 4\ndebug: false\n")


def test_only_the_part_of_a_source_that_is_yaml_is_read_again() -> None:
    text = "cat <<EOF > a.yaml\nzero_stage: 3\nx: 1\nEOF\necho 'a: b: c'\n"
    [document] = yaml.parse(Source("x.sh", text), 19, 38)
    [edit] = edits(document, [put("/y", 2)])
    assert text[: edit.start] + edit.content + text[edit.end :] == text.replace("x: 1\n", "x: 1\ny: 2\n")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: &x 1\nb: *x\n", put("/a", 2)),
        ("a: &x 1\nb: *x\n", put("/b", 2)),
        ("a: &x 1\nb: *x\n", Change("remove", "/a")),
        ("a: &x\n  b: 1\nc: *x\n", put("/a/b", 2)),
        ("a: &x\n  b: 1\nc: *x\n", put("/a/d", 2)),
        ("a: &x\n  b: 1\nc: *x\n", put("/c/b", 2)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", put("/c/b", 2)),
        ("a: |\n  text\nb: 1\n", put("/a", "x")),
        ("a: one\n  two\n", put("/a", "x")),
        ("a: 1\na: 2\n", put("/a", 3)),
        ("a: !!str 5\n", put("/a", 3)),
        ("a: ${X}\nb: {}\n", Change("move", "/a", "/b/a")),
        ("a: [1\n", put("/a", 3)),
        ("a: 1\n", Change("remove", "/b")),
        ("a: 1\n", put("/a/b", 1)),
        ("a:\nb: 1\n", put("/a/c", 2)),
        ("a: 1\nb: 2\n", Change("rename", "/a", "b")),
    ],
)
def test_what_is_in_doubt_is_refused_with_a_sentence(text: str, change: Change) -> None:
    with pytest.raises(CannotEdit, match=r"\w{3}"):
        after(text, change)


# --- whatever the tree

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.text("yno1e-5:# '\"", max_size=6),
)
KEYS = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
MAPPINGS = st.recursive(
    st.dictionaries(KEYS, VALUES, max_size=4),
    lambda inner: st.dictionaries(KEYS, st.one_of(VALUES, inner, st.lists(VALUES, max_size=3)), max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(VALUES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(KEYS, inner)), max_leaves=8)
)
def test_what_is_written_reads_back_as_itself(value: object) -> None:
    if "$" in repr(value) or "{{" in repr(value) or "<" in repr(value):
        return
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    assert pyyaml.safe_load(f"a: {flow(value)}\n") == {"a": value}
    assert pyyaml.safe_load("a:" + "\n".join(block(value, 0, 2)) + "\n") == {"a": value}


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, 5e-324, 1e16, 0.1])
def test_every_float_is_written_as_a_float(value: float) -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    assert pyyaml.safe_load(scalar(value)) == value


def as_text(value: object, style: str) -> str:
    if style == "flow" or not value:
        return flow(value) + "\n"
    return "\n".join(block(value, -2, 2)[1:]) + "\n"


@settings(max_examples=300, deadline=None)
@given(MAPPINGS.filter(bool), st.sampled_from(["block", "flow"]), st.data())
def test_a_change_does_what_it_says_and_nothing_else(
    tree: dict[str, object], style: str, data: st.DataObject
) -> None:
    text = as_text(tree, style)
    [document] = yaml.parse(Source("x", text))
    tree = document.root.plain()
    key = data.draw(st.sampled_from(sorted(tree)))
    name = data.draw(KEYS)
    change = data.draw(
        st.sampled_from(
            [
                put(f"/{key}", data.draw(VALUES)),
                put(f"/{name}", data.draw(MAPPINGS)),
                Change("remove", f"/{key}"),
                Change("rename", f"/{key}", name),
            ]
        )
    )
    try:
        wanted = changed(tree, [change])
        new = after(text, change)
    except CannotEdit:
        return
    [again] = yaml.parse(Source("x", new))
    assert again.root.plain() == wanted
    untouched = [line for line in text.splitlines() if line.startswith(tuple("abcdefghijklmnopqrstuvwxyz"))]
    touched = change.pointer.removeprefix("/") + ":"
    for line in untouched:
        if style == "block" and not line.startswith(touched):
            assert line in new.splitlines()
