"""The parser says of a text what Python's json and hjson say of it: whether they stop, and what they read."""

import json
from itertools import pairwise

import hjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.json import parse
from dslint.documents.tree import Source

PIECES = [
    "{", "}", "[", "]", ",", ":", '"a"', '"b"', "'c'", "a", "b", "true", "null", "1", "0", "-1", "1.5",
    "2e8", "1e+8", "1e400", "01", ".5", "+1", "NaN", "Infinity", "-Infinity", "True", " ", "\n", "\n",
    "\r\n", "\r", "\t", "# c", "// c", "/* c */", "/*", "'''", '"', "\\", "\\n", "\\u0041", "\\u00",
    "\\'", "auto", "\u00a0", "\ufeff", "“", '"x\\"y"', '"a": 1,', '{"a": 1', "}\n", "],", "$x",
    "{{ y }}", "٣", '"\\ud83d\\ude00"', '"\\ud83d"', "a: 1\n", "'''\n x\n '''",
]  # fmt: skip


def refuse_duplicates(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate keys")
    return dict(pairs)


def outcome(load, text):
    """Whether a loader accepts the text, and what it reads. Both open files with universal newlines."""
    try:
        return True, load(text.replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, IndexError, OverflowError):
        return False, None


def read_json(text):
    return outcome(json.loads, text)


def read_hjson(text):
    return outcome(lambda text: hjson.loads(text, object_pairs_hook=refuse_duplicates), text)


def accepts(document, loader):
    return not any(loader in problem.refused_by for problem in document.problems)


def assert_agrees(text):
    document = parse(Source("ds_config.json", text))
    json_accepts, json_value = read_json(text)
    hjson_accepts, hjson_value = read_hjson(text)
    assert accepts(document, "json") == json_accepts
    assert accepts(document, "hjson") == hjson_accepts
    if json_accepts:
        assert repr(document.root.plain()) == repr(json_value)
        differs = any(problem.kind == "read-differently" for problem in document.problems)
        assert differs == (hjson_accepts and hjson_value != json_value)
    elif hjson_accepts:
        assert document.root.plain() == hjson_value
    else:
        stops = ("duplicate-key", "number-overflow", "constant")
        assert any(len(p.refused_by) == 2 or p.kind in stops for p in document.problems)
    return document


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.sampled_from(["{%s}", "%s", '{"k": %s', "[%s]"]),
)
def test_of_pieces_thrown_together_it_says_what_the_loaders_say(pieces, frame):
    assert_agrees(frame.replace("%s", pieces))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_of_any_text_it_says_what_the_loaders_say(text):
    assert_agrees(text)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 2, "\t"]), st.booleans())
def test_what_json_writes_is_read_back_without_a_problem(value, indent, ascii_only):
    document = parse(Source("x", json.dumps(value, indent=indent, ensure_ascii=ascii_only)))
    assert document.root.plain() == value
    assert document.problems == ()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), values, min_size=1, max_size=5))
def test_what_hjson_writes_is_read_as_hjson_reads_it(value):
    assert_agrees(hjson.dumps(value))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e400}', '{"a": -1e400}', '{"a": 01}', '{"a": 01\n}', '{"a": NaN}', '{"a": NaN\n}',
        '{"a": NaN,\n"b": 1}', '{"a": NaN, // c\n"b": 1}', '{"a": auto, "b": 1}', '{"a": auto\n}',
        '{"a": auto,\n"b": 1}', '{"a": true x\n}', '{"a": 1 2\n}', '{"a": 1,}', "{,}", "[1,,2]",
        "[1 2\n]", '{"a": 1 "b": 2}', '{"a": 1\n"b": 2}', '{"a":1, "a":2}', "a: 1", "a: 1\nb: 2,\n",
        "a: 1, b: 2", "a: }", "a", "5", "5 // c", "true", '"x"', "'x'", "null x", "NaN", "# c\nNaN",
        "", " ", "\ufeff", "\ufeff{}", "\ufeff# c", "# c", "// c\n{}", "/* c", "{}/* c", "{} x",
        "{}{}", "{}\n}", "a : 1", "a b: 1", "{a\n:1}", "{\u00a0a\u00a0 : 1}", "{'a': 'b'}",
        "{\"a\": 'it\\'s'}", '{"a": "\\\'"}', '{"a": "\\x"}', '{"a": "\\u12"}', '{"a": "\\u 12"}',
        '{"a": "\\u+123"}', '{"a": "\\ud83d\\u0041"}', '{"a": "x\ty"}', '{"a": "x\n"}', "{a: '''x'''}",
        "{a: '''x'''\n}", "{\n  a: '''\n  x\n   y\n  '''\n}", "a: '''x'''", "a: '''",
        "{\n a: '''x''''\n}", "{\r\n  a: '''\r\n  x\r\n  '''\r\n}", '{"a": 1٣}', '{"a": null\u00a0}',
        '{"a": {{ x }}}', '{"a": [1}', '{"a": 1]', '{"a": ' + "9" * 5000 + "}", "{\"a\" /* c */ : 1}",
        '{"a": 2e8, "b": 1e+8, "c": 1.0, "d": -0.0, "e": 1E-5}', "a: 1e400, b", "a: 1\na: 2",
        "{''': 1}", "{\"a\": /x\n}", "{a/*b*/: 1}", "{#a: 1\nb: 2}", "[a, b]", "[a\nb\n]",
    ],
)  # fmt: skip
def test_of_a_quirk_it_says_what_the_loaders_say(text):
    assert_agrees(text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(["{%s}", '{"k": %s\n}']))
def test_no_text_has_nodes_out_of_place(pieces, frame):
    text = frame.replace("%s", pieces)
    document = parse(Source("x", text))
    for problem in document.problems:
        assert 0 <= problem.start <= problem.end <= len(text)
    stack = [document.root]
    while stack:
        node = stack.pop()
        assert 0 <= node.start <= node.end <= len(text)
        children = [member.node for member in node.members] + node.items
        for member in node.members:
            assert node.start <= member.key_start <= member.key_end <= member.node.start
        for child, after in pairwise(children):
            assert child.end <= after.start
        for child in children:
            assert node.start <= child.start <= child.end <= node.end
        stack += children


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 2, "\t"]))
def test_the_text_of_a_node_reads_as_the_node(value, indent):
    text = json.dumps(value, indent=indent)
    document = parse(Source("x", text))
    stack = [document.root]
    while stack:
        node = stack.pop()
        assert json.loads(text[node.start : node.end]) == node.plain()
        for member in node.members:
            assert json.loads(text[member.key_start : member.key_end]) == member.key
            stack.append(member.node)
        stack += node.items


def test_of_every_real_config_it_says_what_the_loaders_say(corpus):
    verdicts = [json.loads(line) for line in (corpus / "verdicts.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in verdicts if row["kind"] == "configs"]
    assert rows
    for row in rows:
        document = assert_agrees((corpus / row["file"]).read_bytes().decode("utf-8"))
        assert accepts(document, "hjson") == (row["parse"] == "ok"), row["file"]
