"""Changes by pointer come out as edits in the file's own style, and leave everything else as it was."""

import difflib
import json
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dslint.documents.editing import CannotEdit, changed, edits, strict_json, without_duplicates
from dslint.documents.json import parse
from dslint.documents.tree import UNKNOWN, Document, Node, Source, walk
from dslint.fixing.apply import apply
from dslint.fixing.fix import Change


def read(text, **options):
    return parse(Source("ds_config.json", text), **options)


def edited(text, *changes):
    """The text after the changes; its content must be the old content with just these."""
    document = read(text)
    new = apply(text, edits(document, changes))
    assert read(new).root.plain() == changed(document.root.plain(), changes)
    return new


def put(pointer, value):
    return Change("set", pointer, value)


def remove(pointer):
    return Change("remove", pointer)


def rename(pointer, key):
    return Change("rename", pointer, key)


def move(pointer, target):
    return Change("move", pointer, target)


BLOCKS = """\
{
    "train_batch_size": 8, // for 8 GPUs
    // half precision
    "fp16": {
        "enabled": true,  # yes
        "loss_scale": 2e8
    },

    "zero_optimization": {
        "stage": 3, "overlap_comm": true
    }
}
"""


@pytest.mark.parametrize(
    ("text", "change", "want"),
    [
        # set
        ('{"a": 1, "b": 2}', put("/a", 3), '{"a": 3, "b": 2}'),
        ('{"a": 1, "b": 2}', put("/c", 3), '{"a": 1, "b": 2, "c": 3}'),
        ('{"a":1,"b":2}', put("/c", [3, 4]), '{"a":1,"b":2,"c":[3,4]}'),
        ('{ "a" : 1 }', put("/c", {"d": 1}), '{ "a" : 1, "c" : { "d" : 1 } }'),
        ("{}", put("/a", 1), '{"a": 1}'),
        ("{\n}\n", put("/a", 1), '{\n  "a": 1\n}\n'),
        ("{\n    // nothing yet\n}", put("/a", 1), '{\n    // nothing yet\n  "a": 1\n}'),
        ("", put("/a", 1), '{"a": 1}'),
        ('{"a": 1}', put("/b/c/d", None), '{"a": 1, "b": {"c": {"d": null}}}'),
        ('{\n\t"a": 1\n}', put("/b/c", 2), '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', put("/b", 2), '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n'),
        ('{\n  "a": 1,\n}', put("/b", 2), '{\n  "a": 1,\n  "b": 2,\n}'),
        ('{\n  "a": 1 # c\n}', put("/b", 2), '{\n  "a": 1, # c\n  "b": 2\n}'),
        ('{\n  "a": 1, # c\n  "z": 1\n}', put("/a_b", 2), '{\n  "a": 1, # c\n  "a_b": 2,\n  "z": 1\n}'),
        ("{\n  'a': 1\n}", put("/b", "x"), "{\n  'a': 1,\n  'b': 'x'\n}"),
        ("{\n  a: 1\n}", put("/b", "x"), '{\n  a: 1,\n  b: "x"\n}'),
        ("{\n  a: x\n  b: y\n}", put("/c", 1), "{\n  a: x\n  b: y\n  c: 1\n}"),
        ("{\n  a: x, y\n}", put("/c", 1), "{\n  a: x, y\n  c: 1\n}"),
        ("a: 1\n", put("/b", 2), "a: 1\nb: 2\n"),
        ('{"a": [1, 2]}', put("/a/1", 5), '{"a": [1, 5]}'),
        ('{"a": [1, 2]}', put("/a/2", 5), '{"a": [1, 2, 5]}'),
        ('{"a": [1, 2]}', put("/a/-", 5), '{"a": [1, 2, 5]}'),
        ('{"a": []}', put("/a/0", 5), '{"a": [5]}'),
        ('{"a": 1, "a": 2}', put("/a", 3), '{"a": 1, "a": 3}'),
        ('{"a": "8"}', put("/a", 8), '{"a": 8}'),
        ('{"a": 1}', put("/a", True), '{"a": true}'),
        ('{"a": 1}', put("/a", 1e-05), '{"a": 1e-05}'),
        ('{"a~/": 1}', put("/a~0~1", 2), '{"a~/": 2}'),
        ('{"a": 1}', put("", {"b": 2}), '{"b": 2}'),
        ('{"a": "é"}', put("/b", 'ü "q"'), '{"a": "é", "b": "ü \\"q\\""}'),
        # remove
        ('{"a": 1, "b": 2}', remove("/a"), '{"b": 2}'),
        ('{"a": 1, "b": 2}', remove("/b"), '{"a": 1}'),
        ('{ "a": 1 }', remove("/a"), "{}"),
        ('{"a": 1, "b": 2,}', remove("/b"), '{"a": 1,}'),
        ('{"a": [1, 2, 3]}', remove("/a/1"), '{"a": [1, 3]}'),
        ('{"a": [1, 2, 3]}', remove("/a/2"), '{"a": [1, 2]}'),
        ('{"a": 1, "b": 2, "a": 3}', remove("/a"), '{"b": 2}'),
        ('{\n  "a": 1,\n  "b": 2\n}', remove("/b"), '{\n  "a": 1\n}'),
        ('{\n  "a": 1, # one\n  "b": 2 # two\n}', remove("/b"), '{\n  "a": 1 # one\n}'),
        ('{\n  # one\n  "a": 1, # one\n  "b": 2\n}', remove("/a"), '{\n  # one\n  "b": 2\n}'),
        ('{\n  "a": {\n    "b": 1\n  }\n}', remove("/a/b"), '{\n  "a": {}\n}'),
        ('{\n  "a": 1,\n\n  "b": 2\n}', remove("/b"), '{\n  "a": 1\n}'),
        ('{\n  "a": 1\n  , "b": 2\n}', remove("/b"), '{\n  "a": 1\n}'),
        ('{"a": 1,\n "b": 2}', remove("/b"), '{"a": 1}'),
        ('{"a": 1,\n "b": 2}', remove("/a"), '{\n "b": 2}'),
        ("{\n  a: x\n  b: y\n}", remove("/a"), "{\n  b: y\n}"),
        ("a: 1\nb: 2\n", remove("/a"), "b: 2\n"),
        # rename
        ('{"a": 1, "b": 2}', rename("/a", "c"), '{"c": 1, "b": 2}'),
        ("{'a': 1}", rename("/a", "c d"), "{'c d': 1}"),
        ("{a: 1}", rename("/a", "c"), "{c: 1}"),
        ("{a: 1}", rename("/a", "c d"), '{"c d": 1}'),
        # move
        ('{"a": {"b": 2e8, "c": 1}}', move("/a/b", "/b"), '{"a": {"c": 1}, "b": 2e8}'),
        ('{"a": {"b": 0.10}}', move("/a/b", "/b"), '{"a": {}, "b": 0.10}'),
        ('{"a": 1, "b": 2}', move("/a", "/c"), '{"c": 1, "b": 2}'),
        ('{"a": 1}', move("/a", "/b/c"), '{"b": {"c": 1}}'),
        ('{\n  "a": {\n    "b": {\n      "c": 1\n    }\n  }\n}', move("/a/b", "/b"),
         '{\n  "a": {},\n  "b": {\n    "c": 1\n  }\n}'),
        ('{\n  "a": 1, # one\n  "b": {\n    "c": 2\n  }\n}', move("/a", "/b/a"),
         '{\n  "b": {\n    "c": 2,\n    "a": 1 # one\n  }\n}'),
        ('{\n  "a": 1, # one\n  "b": {"c": 2}\n}', move("/a", "/b/a"),
         '{\n  "b": {"c": 2, "a": 1 /* one */}\n}'),
        ('{\n  "a": 1, # one\n  "b": 2\n}', move("/a", "/c/a"),
         '{\n  "b": 2,\n  "c": {\n    "a": 1 # one\n  }\n}'),
        ("{\n  a: x\n  b: {c: 1}\n}", move("/a", "/b/a"), '{\n  b: {c: 1, a: "x"}\n}'),
        # in blocks
        (BLOCKS, put("/gradient_clipping", 1.0),
         BLOCKS.replace("    }\n}", '    },\n    "gradient_clipping": 1.0\n}')),
        (BLOCKS, put("/train_micro_batch_size_per_gpu", 1),
         BLOCKS.replace("GPUs\n", 'GPUs\n    "train_micro_batch_size_per_gpu": 1,\n')),
        (BLOCKS, put("/zero_optimization/overlap_comm", False), BLOCKS.replace("comm\": true", "comm\": false")),
        (BLOCKS, remove("/fp16/loss_scale"),
         BLOCKS.replace('true,  # yes\n        "loss_scale": 2e8', "true  # yes")),
        (BLOCKS, remove("/zero_optimization/stage"), BLOCKS.replace('"stage": 3, ', "")),
        (BLOCKS, move("/fp16/loss_scale", "/zero_optimization/loss_scale"),
         BLOCKS.replace('true,  # yes\n        "loss_scale": 2e8', "true  # yes")
         .replace("comm\": true", 'comm": true, "loss_scale": 2e8')),
    ],
)  # fmt: skip
def test_a_change_is_written_in_the_files_own_style(text, change, want):
    assert edited(text, change) == want


def test_a_value_that_stands_there_already_is_no_edit():
    assert edits(read('{"a": 2e8}'), [put("/a", 2e8)]) == []


def test_several_changes_come_out_as_edits_that_do_not_touch():
    changes = [put("/c", 3), remove("/b"), rename("/a", "d"), put("/c", 4), move("/c", "/e/c")]
    document = read('{"a": 1, "b": 2}')
    found = edits(document, changes)
    assert apply(document.source.text, found) == '{"d": 1, "e": {"c": 4}}'
    assert all(one.end < other.start for one, other in pairwise(found))


def test_a_config_in_a_script_is_edited_in_its_place():
    text = 'cat <<EOF\n{\n  "a": $A,\n  "b": 1\n}\nEOF\necho "{}"\n'
    start, end = text.index("{"), text.index("EOF\necho")
    document = read(text, start=start, end=end, substitute=lambda placeholder: UNKNOWN)
    new = apply(text, edits(document, [put("/c", 2), remove("/b")]))
    assert new == 'cat <<EOF\n{\n  "a": $A,\n  "c": 2\n}\nEOF\necho "{}"\n'
    with pytest.raises(CannotEdit, match="shell"):
        edits(document, [put("/c", "$HOME")])


@pytest.mark.parametrize(
    ("text", "change", "says"),
    [
        ('{"a": 1', put("/a", 2), "syntax error"),
        ('{"a": 1}', remove("/b"), "`b` is not there"),
        ('{"a": 1}', remove("/a/b"), "`a.b` is not there"),
        ('{"a": 1}', remove(""), "as a whole"),
        ('{"a": 1}', put("/a/b", 2), "`a` is no object"),
        ("[1]", put("/a", 2), "the config is no object"),
        ('{"a": [1]}', put("/a/5", 2), "cannot be set"),
        ('{"a": 1, "b": 2}', rename("/a", "b"), "`b` is there already"),
        ('{"a": 1, "b": {"a": 2}}', move("/a", "/b/a"), "`b.a` is there already"),
        ('{"a": {"b": 1}}', move("/a", "/a/b/c"), "into itself"),
        ('{"a": [1]}', move("/a/0", "/b"), "has no key"),
        ('{"a": 1}', put("/a", float("nan")), "cannot be written"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_with_the_reason(text, change, says):
    with pytest.raises(CannotEdit, match=says):
        edits(read(text), [change])


def test_a_key_that_stands_twice_is_not_renamed():
    with pytest.raises(CannotEdit, match="twice"):
        edits(read('{"a": 1, "a": 2}'), [rename("/a", "b")])


def test_a_derived_document_has_no_place_to_edit():
    source = Source("x.yaml", "a: 1")
    with pytest.raises(CannotEdit):
        edits(Document(source, Node("object", 0, 4), "yaml", derived=True), [put("/a", 1)])


# --- in any style


KEYS = ["a", "b", "stage3_x", "stage3_y", "fp16", "x y", "q~/r", "it's"]
VALUES = [1, 0, -5, 1.5, 2e8, 1e-05, True, False, None, "s", "auto", 'a "q" \\ é', "", "x,y}"]
QUOTELESS = ["s", "auto", "x,y}"]

contents = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
configs = st.dictionaries(st.sampled_from(KEYS), contents, max_size=5)


@st.composite
def layouts(draw):
    choose = st.sampled_from
    return {
        "newline": draw(choose(["\n", "\r\n"])),
        "rows": draw(choose([True, True, True, False])),
        "unit": draw(choose(["  ", "    ", "\t"])),
        "quote": draw(choose(['"', '"', "'", ""])),
        "comments": draw(st.booleans()),
        "trailing": draw(st.booleans()),
        "commas": draw(choose([True, True, True, False])),
        "space": draw(choose([" ", " ", ""])),
        "pad": draw(choose(["", " "])),
        "quoteless": draw(choose([True, False, False])),
        "random": draw(st.randoms(use_true_random=False)),
    }


def key_in(layout, key):
    if layout["quote"] == "" and key.isidentifier():
        return key
    text = json.dumps(key)
    return "'" + text[1:-1].replace("'", "\\'") + "'" if layout["quote"] == "'" else text


def written(value, layout, indent=""):
    """A value in some layout that hjson reads."""
    if isinstance(value, list):
        one_row = {**layout, "rows": False, "quoteless": False, "comments": False}
        return "[" + f",{layout['space']}".join(written(item, one_row, indent) for item in value) + "]"
    if not isinstance(value, dict):
        return json.dumps(value)
    if not value:
        return "{}"
    rows = layout["rows"] and layout["random"].random() < 0.8
    inner = indent + layout["unit"]
    text = "{" if rows else "{" + layout["pad"]
    for number, (key, item) in enumerate(value.items()):
        is_last = number == len(value) - 1
        bare = rows and layout["quoteless"] and item in QUOTELESS
        comma = not bare and (layout["commas"] or not rows) and (not is_last or layout["trailing"])
        if rows:
            if layout["comments"] and layout["random"].random() < 0.2:
                text += f"{layout['newline']}{inner}# above"
            text += layout["newline"] + inner
        body = item if bare else written(item, layout, inner if rows else indent)
        text += f"{key_in(layout, key)}:{layout['space']}{body}{',' * comma}"
        if rows and not bare and layout["comments"]:
            text += layout["random"].choice(["", "", " # c", "  // c, {", " /* c */"])
        elif not rows and not is_last:
            text += layout["space"]
    return text + (layout["newline"] + indent if rows else layout["pad"]) + "}"


@st.composite
def changes_of(draw, root):
    pointers = [pointer for pointer, _ in walk(root)]
    pointer = draw(st.sampled_from(pointers))
    target = draw(st.sampled_from(pointers)) + draw(
        st.sampled_from(["/a", "/fp16", "/new", "/stage3_z", "/new/deep"])
    )
    op = draw(st.sampled_from(["set", "set new", "remove", "rename", "move"]))
    if op.startswith("set"):
        return put(target if op == "set new" else pointer, draw(contents))
    if op == "remove":
        return remove(pointer)
    return (
        rename(pointer, draw(st.sampled_from(["new", "n w", "a"])))
        if op == "rename"
        else move(pointer, target)
    )


def refused(make):
    try:
        return make(), None
    except CannotEdit as error:
        return None, error


@settings(max_examples=1000, deadline=None)
@given(st.data(), configs, layouts())
def test_in_any_style_the_content_changes_as_asked_and_nothing_else(data, config, layout):
    text = written(config, layout) + layout["newline"]
    document = read(text)
    assume(not any(problem.kind == "syntax" for problem in document.problems))
    assert document.root.plain() == config
    changes = data.draw(st.lists(changes_of(document.root), min_size=1, max_size=3))
    want, no_content = refused(lambda: changed(config, changes))
    found, no_edits = refused(lambda: edits(document, changes))
    assert (no_content is None) == (no_edits is None), (no_content, no_edits)
    if found is None:
        return
    new = apply(text, found)
    after = read(new)
    assert after.root.plain() == want
    assert not any("hjson" in problem.refused_by for problem in after.problems)
    before_kinds = {problem.kind for problem in document.problems}
    # After a value without quotes no comma can stand, and a key with a quote in it needs an escape or other quotes.
    allowed = before_kinds | (
        {"missing-comma"} if before_kinds & {"quoteless", "quoteless-swallows"} else set()
    )
    allowed |= {"escape"} if "single-quotes" in before_kinds else set()
    assert {problem.kind for problem in after.problems} <= allowed | {"not-an-object"}
    if layout["newline"] == "\r\n":
        assert "\n" not in new.replace("\r\n", "")


@settings(max_examples=300, deadline=None)
@given(st.data(), configs, layouts())
def test_a_second_time_a_value_is_set_nothing_changes(data, config, layout):
    text = written(config, layout)
    document = read(text)
    assume(not any(problem.kind == "syntax" for problem in document.problems))
    change = put(
        data.draw(st.sampled_from([pointer for pointer, _ in walk(document.root)])), data.draw(contents)
    )
    new = apply(text, edits(document, [change]))
    assume(not any(problem.kind == "syntax" for problem in read(new).problems))
    assert edits(read(new), [change]) == []


@settings(max_examples=300, deadline=None)
@given(st.data(), configs, layouts())
def test_rows_away_from_the_change_keep_their_bytes(data, config, layout):
    text = written(config, layout) + layout["newline"]
    document = read(text)
    assume(document.root.members and not any(problem.kind == "syntax" for problem in document.problems))
    pointer = data.draw(st.sampled_from([pointer for pointer, _ in walk(document.root)][1:]))
    node = document.node(pointer)
    new = apply(text, edits(document, [data.draw(st.sampled_from([remove(pointer), put("/new", 1)]))]))
    matcher = difflib.SequenceMatcher(None, text.splitlines(True), new.splitlines(True), autojunk=False)
    gone = sum(end - start for tag, start, end, _, _ in matcher.get_opcodes() if tag != "equal")
    rows = text.count("\n", node.start, node.end) + 1
    # Its own rows, the one before for the comma, and the brackets where nothing is left between them.
    assert gone <= rows + 3


# --- strict JSON


@settings(max_examples=500, deadline=None)
@given(configs, layouts(), st.sampled_from(["", "\ufeff"]))
def test_strict_json_is_what_hjson_read(config, layout, mark):
    text = mark + written(config, layout) + layout["newline"]
    document = read(text)
    assume(not any(problem.kind == "syntax" for problem in document.problems))
    new = apply(text, strict_json(document, comments=True))
    assert json.loads(new) == config
    assert strict_json(read(new), comments=True) == []
    kept = read(apply(text, strict_json(document)))
    assert {problem.kind for problem in kept.problems} <= {"comment"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: 1\nb: x # no comment\n", '{"a": 1,\n"b": "x # no comment"}\n'),
        ("{\n  // why\n  'a': 1, # one\n  \"b\": /* two */ 2,\n}", '{\n  "a": 1,\n  "b": 2\n}'),
        ("# nothing\n", "{}"),
        ("", "{}"),
        ("{\n  a: '''\n     x\n     y\n     '''\n}", '{\n  "a": "x\\ny"\n}'),
        ('{"a": 1\u0663}', '{"a": 13}'),
        ('{"a": "\\\'"}', '{"a": "\'"}'),
    ],
)
def test_strict_json_of_what_only_hjson_reads(text, want):
    new = apply(text, strict_json(read(text), comments=True))
    assert new == want
    json.loads(new)


@pytest.mark.parametrize("text", ['{"a": 1', "{a: NaN\n b: NaN}", '{"a": {{ x }}}'])
def test_what_strict_json_cannot_say_is_refused(text):
    with pytest.raises(CannotEdit):
        strict_json(read(text))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('{"a": 1, "b": 2, "a": 3}', '{"b": 2, "a": 3}'),
        (
            '{\n  "a": 1, # old\n  "b": {"c": 1, "c": 2, "c": 3},\n  "a": 3\n}',
            '{\n  "b": {"c": 3},\n  "a": 3\n}',
        ),
        ('{"a": {"x": 1, "x": 2}, "a": {"y": 1, "y": 2}}', '{"a": {"y": 2}}'),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_without_duplicates_the_last_stays(text, want):
    document = read(text)
    assert apply(text, without_duplicates(document)) == want
    assert read(want).root.plain() == document.root.plain()


def test_every_real_config_can_be_edited_anywhere(corpus):
    for path in sorted((corpus / "configs").glob("*.json")):
        text = path.read_bytes().decode("utf-8")
        document = read(text)
        members = [pointer for pointer, _ in walk(document.root)][1:]
        for change in [put("/new_key", 1), put("/new_block/key", "x"), *map(remove, members[:40:3])]:
            edited(text, change)
            # A removal takes rows out; what is left stands as it was.
            if change.op == "remove":
                rows = edited(text, change).splitlines()
                assert len([row for row in rows if row not in text.splitlines()]) <= 2, path.name
