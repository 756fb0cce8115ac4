"""Edits of dict literals and of calls' keywords in programs."""

from __future__ import annotations

import ast
import os
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.editing import CannotEdit, changed, edits
from dslint.documents.python import read_program
from dslint.documents.python_editing import remove_keyword, rename_keyword, set_keyword
from dslint.documents.tree import Source
from dslint.fixing.fix import Change

EXAMPLES = int(os.environ.get("DSLINT_FUZZ", "200"))


def applied(text, wanted):
    for edit in sorted(wanted, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text


def program_with(literal):
    return f"import deepspeed\nconfig = {literal}\ndeepspeed.initialize(config=config)\n"


def edited(literal, *changes):
    text = program_with(textwrap.dedent(literal).strip())
    document = read_program(Source("train.py", text)).configs[0].document
    new = applied(text, edits(document, changes))
    return new[len("import deepspeed\nconfig = ") : -len("\ndeepspeed.initialize(config=config)\n")]


SPREAD = """
{
    "train_batch_size": 8,  # all of it
    'fp16': {"enabled": True, "loss_scale": 0},
    "bf16": {
        "enabled": False
    }
}
"""


def test_a_value_is_set_in_its_place():
    assert edited(SPREAD, Change("set", "/fp16/enabled", False)) == SPREAD.strip().replace("True", "False")


def test_a_key_is_added_at_the_end_in_the_style_of_the_dict():
    assert edited(SPREAD, Change("set", "/zero_optimization/stage", 2)) == SPREAD.strip().replace(
        "    }\n}", '    },\n    "zero_optimization": {\n        "stage": 2\n    }\n}'
    )
    assert edited(SPREAD, Change("set", "/fp16/auto_cast", "x")) == SPREAD.strip().replace(
        '"loss_scale": 0', '"loss_scale": 0, "auto_cast": "x"'
    )


def test_a_comma_that_ends_the_dict_stays_its_style():
    assert edited('{\n    "a": 1,\n}', Change("set", "/b", 2)) == '{\n    "a": 1,\n    "b": 2,\n}'
    assert edited('{"a": 1,}', Change("set", "/b", 2)) == '{"a": 1, "b": 2,}'


def test_a_comment_at_the_end_of_the_last_row_stays_there():
    assert edited("{\n    'a': 1  # one\n}", Change("set", "/b", 2)) == "{\n    'a': 1,  # one\n    'b': 2\n}"


def test_the_first_key_of_an_empty_dict():
    assert edited("{}", Change("set", "/fp16/enabled", True)) == '{"fp16": {"enabled": True}}'


def test_a_removed_key_takes_its_row_its_comma_and_its_comment_along():
    assert edited(SPREAD, Change("remove", "/train_batch_size")) == SPREAD.strip().replace(
        '    "train_batch_size": 8,  # all of it\n', ""
    )
    assert edited(SPREAD, Change("remove", "/bf16")) == SPREAD.strip().replace(
        ',\n    "bf16": {\n        "enabled": False\n    }\n', "\n"
    )
    assert edited(SPREAD, Change("remove", "/fp16/loss_scale")) == SPREAD.strip().replace(
        ', "loss_scale": 0', ""
    )
    assert edited(SPREAD, Change("remove", "/fp16/enabled")) == SPREAD.strip().replace(
        '"enabled": True, ', ""
    )


def test_a_renamed_key_keeps_its_quotes_and_place():
    assert edited(SPREAD, Change("rename", "/fp16", "half")) == SPREAD.strip().replace("'fp16'", "'half'")


def test_a_moved_value_keeps_its_spelling():
    assert edited('{"a": 5e8, "b": {"c": 1}}', Change("move", "/a", "/b/d")) == '{"b": {"c": 1, "d": 5e8}}'
    assert edited('{"a": 5e8}', Change("move", "/a", "/b/d")) == '{"b": {"d": 5e8}}'


def test_keywords_of_dict_are_edited_as_such():
    assert edited("dict(a=1, b=dict(c=2))", Change("set", "/b/d", 3)) == "dict(a=1, b=dict(c=2, d=3))"
    assert edited("dict(a=1, b=2)", Change("rename", "/a", "c")) == "dict(c=1, b=2)"
    assert edited("dict(a=1, b=2)", Change("remove", "/b")) == "dict(a=1)"
    with pytest.raises(CannotEdit):
        edited("dict(a=1)", Change("set", "/not-a-name", 3))


def test_changes_build_on_each_other():
    assert (
        edited(
            '{"fp16": {"enabled": True}}',
            Change("remove", "/fp16"),
            Change("set", "/bf16/enabled", True),
            Change("set", "/bf16/x", 1),
        )
        == '{"bf16": {"enabled": True, "x": 1}}'
    )


@pytest.mark.parametrize(
    ("program", "change"),
    [
        ("size = 8\nconfig = {'train_batch_size': size}", Change("set", "/train_batch_size", 4)),
        ("config = {'train_batch_size': args.size}", Change("set", "/train_batch_size", 4)),
        ("config = {}\nconfig['fp16'] = {'enabled': True}", Change("remove", "/fp16")),
        ("config = {KEY: 1}\nKEY = 'a'", Change("rename", "/a", "b")),
        ("config = {'a': 1, 'a': 2}", Change("remove", "/a")),
        ("config = {'a': 1}", Change("remove", "/b")),
        ("config = {'a': 1}", Change("set", "/a/b", 1)),
        ("config = {'a': 1, 'b': 2}", Change("rename", "/a", "b")),
        ("config = {'a': 1}", Change("set", "", {})),
    ],
)
def test_what_is_not_written_as_a_literal_is_left_alone(program, change):
    text = f"import deepspeed\n{program}\ndeepspeed.initialize(config=config)\n"
    document = read_program(Source("train.py", text)).configs[0].document
    with pytest.raises(CannotEdit):
        edits(document, [change])


def test_a_value_that_a_statement_sets_is_edited_there():
    text = "import deepspeed\nconfig = {}\nconfig['a'] = 1\ndeepspeed.initialize(config=config)\n"
    document = read_program(Source("train.py", text)).configs[0].document
    assert applied(text, edits(document, [Change("set", "/a", 2)])) == text.replace("= 1", "= 2")


# Made-up dicts and changes.

keys = st.sampled_from(["fp16", "bf16", "stage", "enabled", "a b"])
scalars = st.one_of(
    st.integers(-5, 10**6),
    st.booleans(),
    st.none(),
    st.sampled_from([1e-5, 0.9]),
    st.sampled_from(["auto", "c'd", 'e"f']),
)
contents = st.recursive(
    st.dictionaries(keys, scalars, max_size=4),
    lambda inner: st.dictionaries(keys, st.one_of(scalars, inner, st.lists(scalars, max_size=2)), max_size=4),
    max_leaves=8,
)


@st.composite
def written(draw, value, indent=0):
    """A dict as somebody may write it."""
    if not isinstance(value, dict):
        return f"({value!r})" if draw(st.integers(0, 9)) == 0 else repr(value)
    parts = []
    for key, item in value.items():
        quote = draw(st.sampled_from("'\""))
        space = draw(st.sampled_from([" ", "", "  "]))
        parts.append(f"{quote}{key}{quote}:{space}{draw(written(item, indent + 4))}")
    if not parts:
        return draw(st.sampled_from(["{}", "{ }"]))
    trailing = draw(st.booleans())
    if draw(st.booleans()):
        return "{" + ", ".join(parts) + ("," if trailing else "") + "}"
    rows = []
    for number, part in enumerate(parts):
        comma = "," if trailing or number + 1 < len(parts) else ""
        comment = draw(
            st.sampled_from(["", "", "  # note, with } and ,", "\n" + " " * (indent + 4) + "# on its own"])
        )
        rows.append(f"{' ' * (indent + 4)}{part}{comma}{comment}\n")
    return "{\n" + "".join(rows) + " " * indent + "}"


@st.composite
def changes_of(draw, content):
    path = []
    here = content
    while isinstance(here, dict) and here and (not path or draw(st.booleans())):
        key = draw(st.sampled_from(sorted(here)))
        path.append(key)
        here = here[key]
    pointer = "".join(f"/{key}" for key in path)
    op = draw(st.sampled_from(["set", "set", "add", "remove", "rename", "move"]))
    new = draw(keys)
    if op == "add" or not path:
        return Change("set", f"{pointer}/{new}" if isinstance(here, dict) else f"/{new}", draw(scalars))
    if op == "set":
        return Change("set", pointer, draw(scalars))
    if op == "rename":
        return Change("rename", pointer, new)
    if op == "move":
        return Change("move", pointer, f"/{new}/{draw(keys)}")
    return Change("remove", pointer)


@st.composite
def cases(draw):
    content = draw(contents)
    return content, draw(written(content)), draw(st.lists(changes_of(content), min_size=1, max_size=3))


@settings(max_examples=EXAMPLES, deadline=None)
@given(cases(), st.sampled_from(["\n", "\r\n"]))
def test_the_text_says_afterwards_what_the_changes_make_of_it(case, newline):
    content, literal, wanted = case
    text = program_with(literal).replace("\n", newline)
    document = read_program(Source("train.py", text)).configs[0].document
    assert document.root.plain() == content
    try:
        expected = changed(content, wanted)
        found = edits(document, wanted)
    except CannotEdit:
        return
    new = applied(text, found)
    again = read_program(Source("train.py", new)).configs[0].document.root.plain()
    assert again == expected, new
    assert repr(sorted(again)) == repr(sorted(expected))
    if newline == "\r\n":
        assert new.count("\n") == new.count("\r\n")
    # Rows that no change is about are still there, byte for byte.
    for edit in found:
        assert 0 <= edit.start <= edit.end <= len(text)


# Keywords.


def call_of(text):
    (call,) = read_program(Source("train.py", text)).calls
    return Source("train.py", text), call


def keywords_of(text):
    call = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


@pytest.mark.parametrize(
    "arguments",
    [
        "'out', fp16=True, lr=1",
        "'out', lr=1, fp16=True",
        "'out', lr=1, fp16=True,",
        "fp16=True",
        "\n    'out',\n    fp16=True,  # half\n    lr=1,\n",
        "\n    'out',\n    lr=1,\n    fp16=True\n",
        "\n    'out', lr=1, fp16=True\n",
        "'out', fp16=True, **rest",
        "'out', lr=(1), fp16 = (True)",
    ],
)
def test_keywords_are_removed_renamed_and_set(arguments):
    text = f"from transformers import TrainingArguments\nargs = TrainingArguments({arguments})\n"
    source, call = call_of(text)
    before = keywords_of(text)
    without = applied(text, remove_keyword(source, call, "fp16"))
    assert keywords_of(without) == {name: value for name, value in before.items() if name != "fp16"}
    assert ",," not in without.replace(" ", "")
    assert "(," not in without.replace(" ", "").replace("\n", "")
    renamed = applied(text, rename_keyword(source, call, "fp16", "bf16"))
    assert list(keywords_of(renamed)) == ["bf16" if name == "fp16" else name for name in before]
    off = applied(text, set_keyword(source, call, "fp16", False))
    assert keywords_of(off) == {**before, "fp16": "False"}
    more = applied(text, set_keyword(source, call, "max_grad_norm", 1.0))
    assert keywords_of(more) == {**before, "max_grad_norm": "1.0"}
    for new in (without, renamed, off, more):
        assert new.count("# half") == (0 if new is without else text.count("# half"))


def test_a_row_that_a_keyword_leaves_empty_goes_too():
    text = "from transformers import TrainingArguments\nTrainingArguments(\n    'o',\n    fp16=True,\n    lr=1,\n)\n"
    source, call = call_of(text)
    assert applied(text, remove_keyword(source, call, "fp16")) == text.replace("    fp16=True,\n", "")


def test_an_argument_that_is_no_keyword_there_is_left_alone():
    text = "from transformers import TrainingArguments\ncommon = {'fp16': True}\nTrainingArguments('o', bf16=flag, **common)\n"
    source, call = call_of(text)
    for attempt in (
        lambda: remove_keyword(source, call, "fp16"),
        lambda: remove_keyword(source, call, "output_dir"),
        lambda: remove_keyword(source, call, "lr"),
        lambda: rename_keyword(source, call, "fp16", "x"),
        lambda: set_keyword(source, call, "bf16", True),
    ):
        with pytest.raises(CannotEdit):
            attempt()
