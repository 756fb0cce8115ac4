"""The JSON parser: kinds of problems, where they stand, what it makes of broken and of very large texts."""

import re
import time

import pytest

from dslint.documents import json as parser
from dslint.documents.json import MAX_DEPTH, MAX_PROBLEMS, parse
from dslint.documents.tree import UNKNOWN, Member, Source, find, find_member


def read(text, **options):
    return parse(Source("ds_config.json", text), **options)


def kinds(text):
    return [problem.kind for problem in read(text).problems]


@pytest.mark.parametrize(
    ("text", "kind", "span", "pointer", "refused_by"),
    [
        ('{"a": 1 // c\n}', "comment", "// c", "", "json"),
        ('{"a": 1, # c\n"b": 2}', "comment", "# c", "", "json"),
        ('{"a": /* c */ 1}', "comment", "/* c */", "/a", "json"),
        ('{"a": {"b": 1,}}', "trailing-comma", ",", "/a", "json"),
        ('{"a": 1\n"b": 2}', "missing-comma", "", "", "json"),
        ('{"a": {b: 1}}', "quoteless-key", "b", "/a/b", "json"),
        ('{"a": auto\n}', "quoteless", "auto", "/a", "json"),
        ('{"a": auto,\n"b": 1}', "quoteless-swallows", "auto,", "/a", "json"),
        ('{"a": True,\n"b": 1}', "quoteless-swallows", "True,", "/a", "json"),
        ('{"a": 01,\n"b": 1}', "quoteless-swallows", "01,", "/a", "json"),
        ('{"a": True\n}', "constant", "True", "/a", "json"),
        ('{"a": 01\n}', "number-form", "01", "/a", "json"),
        ("{'a': 1}", "single-quotes", "'a'", "/a", "json"),
        ('{"a": [1, \'b\']}', "single-quotes", "'b'", "/a/1", "json"),
        ("{\n\"a\": '''b'''\n}", "multiline-string", "'''b'''", "/a", "json"),
        ('{"a": "\\\'"}', "escape", "\\'", "/a", "json"),
        ('{\u00a0a: 1}', "odd-space", "\u00a0a", "/\u00a0a", "json"),
        ("{“a”: 1}", "typographic-quotes", "“a”", "/“a”", "json"),
        ("a: 1", "missing-braces", "a: 1", "", "json"),
        ("\ufeff{}", "bom", "\ufeff", "", "json"),
        ("# c\n", "empty", "# c\n", "", "json"),
        ('{"a": {"b": 1, "b": 2}}', "duplicate-key", '"b"', "/a/b", "hjson"),
        ('{"a": 1e400}', "number-overflow", "1e400", "/a", "hjson"),
        ('{"a": NaN}', "constant", "NaN", "/a", "hjson"),
        ('{"a": NaN\n}', "read-differently", "NaN", "/a", ""),
        ("[1]", "not-an-object", "[1]", "", ""),
        ('{"a": {{ lr }}}', "placeholder", "{{ lr }}", "/a", "hjson json"),
        ('{"a": ' + "1" * 5000 + "}", "number-too-long", "1" * 5000, "/a", "hjson json"),
    ],
)  # fmt: skip
def test_a_problem_has_its_kind_place_and_loaders(text, kind, span, pointer, refused_by):
    (problem,) = [p for p in read(text).problems if p.kind == kind]
    assert text[problem.start : problem.end] == span
    assert problem.pointer == pointer
    assert " ".join(sorted(problem.refused_by)) == refused_by


def test_every_kind_that_is_noted_is_documented():
    documented = set(re.findall(r"^    ([a-z-]+) ", parser.__doc__, re.MULTILINE))
    assert {"syntax", "quoteless-swallows", "read-differently"} <= documented
    text = "{'a': '\\'', b: NaN, // c\n a: 01\n c: x,y\n d: “z”\n e: 1e400\n f: [1,]\n'''g''': 1}"
    assert set(kinds(text)) <= documented


@pytest.mark.parametrize(
    ("text", "says", "span"),
    [
        ('{"a": 1, "b": {"c": 2}', "the text ends before the `{` of row 1 is closed", "}"),
        ('{\n  "a": {\n    "b": 1,\n  "c": 2\n}\n', "the text ends before the `{` of row 2 is closed", "}"),
        ('{"a": 1 "b": 2}', "a comma is missing here", " "),
        ('{"a": auto, "b": 1}', '`auto` has no quotes: Hjson reads the text `auto, "b": 1}`', "auto"),
        ('{"a": True, "b": 1}', "`True` is no JSON value (JSON writes true)", "True"),
        ('{"a": 01, "b": 1}', "`01` is no number in JSON", "01"),
        ('{"a": 1,, "b": 2}', "two commas in a row", ","),
        ("{, }", "a comma before the first entry", ","),
        ('{"a": 1}}', "one `}` too many", "}"),
        ('{"a": 1}\n```\n', "a Markdown fence after the end of the config", "```"),
        ('```json\n{"a": 1}', "a Markdown fence before the config", "```json"),
        ('config = {\n"a": 1}', "`config =` before the config", "config ="),
        ('{"a": 1} {"b": 2}', "after the end of the config", '{"b": 2}'),
        ('{\n<<<<<<< HEAD\n"a": 1\n}', "a merge conflict's marker", "<<<<<<< HEAD"),
        ('{"a" 1}', "a colon is missing after the key `a`", '"'),
        ('{"a" = 1}', "an equals sign after the key `a`", "="),
        ('{"a": }', "a value is missing before `}`", "}"),
        ('{"a", "b": 1}', "the key `a` has no value", '"'),
        ('{"a": "x\n}', 'has no closing " in its row', '"x'),
        ('{"a: 1,\n"b": 2}', 'has no closing " in its row', '"a'),
        ('{"a": [1, 2}', "this `}` comes before the `[` of row 1 is closed", "}"),
        ('{"a": ["x"\n"c": 1}', "the `[` of row 1 is not closed before the next key", '"'),
        ('{"a": 1]', "a `]` that closes nothing", "]"),
        ('{"a": "C:\\data"}', "\\d is no escape", "\\d"),
        ('{"a": "\\u12"}', "\\u needs four hexadecimal digits", '\\u12'),
        ('{"a": "x\ty"}', "a tab; write \\t", "\t"),
        ("{a b: 1}", "the key `a b` has a blank in it and no quotes", "a b"),
        ("{: 1}", "a colon with no key before it", ":"),
        ('{["a"]}', "`[` stands where a key should", "["),
        ("{config}", "`config` stands where a key and its value should", "config"),
        ("{/* a: 1}", "the comment that starts here has no closing */", "/*"),
        ("{\na: '''x\n}", "has no closing '''", "'''"),
        ("{a: '''x'''}", "crashes on it with an IndexError", "'''x'''"),
        ("\ufeff", "the file is empty", "\ufeff"),
        ("hello\nworld", "this is no config", "hello"),
    ],
)  # fmt: skip
def test_broken_text_is_said_to_be_broken_where_it_is(text, says, span):
    problem = next(p for p in read(text).problems if p.kind == "syntax")
    assert says in problem.message
    assert text[problem.start : problem.end] == span
    assert problem.refused_by == {"json", "hjson"}


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"a": 1, "b": {"c": 2', {"a": 1, "b": {"c": 2}}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ('{"a": auto, "b": True, "c": 1}', {"a": "auto", "b": True, "c": 1}),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": , "b": 2}', {"a": UNKNOWN, "b": 2}),
        ('{"a": "x,\n"b": 2}', {"a": "x", "b": 2}),
        ('{"a: 1,\n"b": 2}', {"a": 1, "b": 2}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('{"a": ["x"\n"c": 1}', {"a": ["x"], "c": 1}),
        ('{"a": {{ lr }}, "b": 2}', {"a": UNKNOWN, "b": 2}),
        ('{"a": 1; "b": 2}', {"a": "1;", "b": 2}),
    ],
)
def test_of_broken_text_the_tree_holds_what_seems_meant(text, content):
    assert read(text).root.plain() == content


def test_of_keys_that_stand_twice_the_last_counts_and_both_are_kept():
    root = read('{"a": 1, "a": 2}').root
    assert [member.node.value for member in root.members] == [1, 2]
    assert root.plain() == {"a": 2}


def test_numbers_keep_their_kind():
    values = [
        member.node.value for member in read('{"a": 2e8, "b": 200000000, "c": 1.0, "d": -0}').root.members
    ]
    assert [type(value) for value in values] == [float, int, float, int]


def test_a_part_of_a_text_is_read_with_its_places_in_the_whole():
    text = 'cat <<EOF\n{"a": "é"}\nEOF\n'
    start = text.index("{")
    document = read(text, start=start, end=text.index("EOF\n", start))
    node = find(document.root, "/a")
    assert text[node.start : node.end] == '"é"'
    assert document.source.position(node.start) == (2, 7)
    assert document.problems == ()


def test_crlf_and_a_byte_order_mark_do_not_shift_places():
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'
    member = find_member(read(text).root, "/a")
    assert text[member.key_start : member.key_end] == '"a"'


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "[" * 10_000,
        "{a:\n" * 10_000,
        "a:\n" * 10_000,
    ],
    ids=["arrays", "objects", "cut off", "without quotes", "keys alone"],
)
def test_ten_thousand_levels_are_read_in_seconds_with_an_ordinary_stack(text):
    began = time.process_time()
    document = read(text)
    document.root.plain()
    assert time.process_time() - began < 10
    assert any("hjson" in problem.refused_by for problem in document.problems)


def test_deeper_levels_than_the_limit_are_unknown():
    document = read("[" * 300 + "1" + "]" * 300)
    node, depth = document.root, 1
    while node.items:
        node, depth = node.items[0], depth + 1
    assert node.kind == "unknown"
    assert depth == MAX_DEPTH + 1
    (problem,) = [p for p in document.problems if p.kind == "too-deep"]
    assert problem.refused_by == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "{" + ",\n".join(f'"k{i}": {{"a": 1, "b": [1.5, 2e8], "c": "text"}}' for i in range(7_000)) + "}",
        "{\n" + "\n".join(f"k{i}: {{a: text # c\n}}" for i in range(7_000)) + "\n}",
        '{"a": "' + "x" * 300_000 + '"}',
        '{"a": "' + "\\n" * 150_000 + '"}',
        '{"a": "' + "\\" * 299_999,
        '{"a": ' + "/* " * 100_000,
        '{"a": ' + "9" * 300_000,
        "{" + '"' * 100_000,
        "{" + "," * 100_000,
        "{" + "a" * 300_000,
        "{\n a: '''\n" + " x\n" * 100_000,
        "[" + "{}," * 100_000,
        "$" * 100_000,
        "{" + "'a' " * 50_000,
    ],
    ids=lambda text: text[:12],
)
def test_hundreds_of_thousands_of_characters_are_read_in_seconds(text):
    for options in ({}, {"substitute": lambda placeholder: UNKNOWN}):
        began = time.process_time()
        read(text, **options)
        assert time.process_time() - began < 10


def test_problems_of_a_kind_are_counted_only_so_far():
    assert kinds("{\n" + "# c\n" * 3000 + "}").count("comment") == MAX_PROBLEMS


ENVIRONMENT = {
    "$MICRO": "4",
    "${MICRO}": "4",
    "${LR:-1e-4}": "1e-4",
    "$FLAG": "true",
    "$NAME": "adam",
    "$QUOTED": '"adam"',
    "$KEY": "fp16",
    '$(echo "x y")': "x y",
    "`echo 3`": "3",
}


def in_shell(text):
    return read(text, substitute=lambda placeholder: ENVIRONMENT.get(placeholder, UNKNOWN))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"a": $MICRO, "b": ${MICRO}00, "c": "${MICRO}0"}', {"a": 4, "b": 400, "c": "40"}),
        ('{"a": ${LR:-1e-4}, "b": $FLAG, "c": `echo 3`}', {"a": 1e-4, "b": True, "c": 3}),
        ('{"a": $NAME\n}', {"a": "adam"}),
        ('{"a": $QUOTED, "b": 1}', {"a": "adam", "b": 1}),
        ('{"a": "$(echo "x y")"}', {"a": "x y"}),
        ('{"$KEY": {"enabled": $FLAG}}', {"fp16": {"enabled": True}}),
        ('{"a": "\\$MICRO", "b": "x\\\\ny"}', {"a": "$MICRO", "b": "x\ny"}),
        ('{"a": "5$", "b": "$"}', {"a": "5$", "b": "$"}),
        ('{"a": $X, "b": "x${Y}", "c": [$(date)], "d": $((2*2)), "e": ${Z:-{1,2}}}',
         {"a": UNKNOWN, "b": UNKNOWN, "c": [UNKNOWN], "d": UNKNOWN, "e": UNKNOWN}),
        ('{"a": {"$X": 1}, "b": {$MORE}, "c": {"d": 1,\n$MORE\n}}',
         {"a": UNKNOWN, "b": UNKNOWN, "c": UNKNOWN}),
    ],
)  # fmt: skip
def test_what_a_shell_puts_in_is_known_or_unknown(text, content):
    document = in_shell(text)
    assert document.root.plain() == content
    assert not any("hjson" in problem.refused_by for problem in document.problems)


def test_a_config_whose_keys_a_shell_puts_in_is_unknown():
    assert in_shell('{"a": 1, $MORE}').root.kind == "unknown"


def test_the_place_of_a_placeholder_is_its_place_in_the_script():
    text = '{"a": ${LR:-1e-4}, "b": "x$Y"}'
    root = in_shell(text).root
    assert [text[m.node.start : m.node.end] for m in root.members] == ["${LR:-1e-4}", '"x$Y"']


def test_without_a_shell_a_dollar_is_a_character():
    assert read('{"a": "$HOME"}').root.plain() == {"a": "$HOME"}


def test_keys_of_a_large_object_are_found_at_once_and_the_last_of_a_double_one_counts():
    text = "{" + ", ".join(f'"key{number}": {number}' for number in range(500)) + ', "key7": 1000}'
    root = parse(Source("x.json", text)).root
    assert root.get("key499").value == 499
    assert root.get("key7").value == 1000
    assert root.get("absent") is None
    root.members.append(Member("absent", 0, 0, root.get("key1")))
    assert root.get("absent").value == 1
    root.members = root.members[:300]
    assert root.get("key499") is None
    assert root.get("key299").value == 299
