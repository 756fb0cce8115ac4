"""YAML is read as PyYAML's `safe_load` reads it, with exact spans, and never fails."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents import yaml
from dslint.documents.tree import UNKNOWN, Document, Source, find_member, walk
from dslint.documents.yaml_scalars import plain

SHARED = Path(__file__).parents[2] / "../shared"


def read(text: str) -> Document:
    documents = yaml.parse(Source("x.yaml", text))
    assert len(documents) == 1, [document.root for document in documents]
    return documents[0]


def content(text: str) -> object:
    return read(text).root.plain()


def spanned(document: Document, pointer: str) -> str:
    node = document.node(pointer)
    assert node is not None
    return document.source.text[node.start : node.end]


def problems(text: str) -> list[tuple[str, str]]:
    return [(p.kind, text[p.start : p.end]) for d in yaml.parse(Source("x", text)) for p in d.problems]


# --- values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", True),
        ("No", False),
        ("on", True),
        ("OFF", False),
        ("y", "y"),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("5e-5", "5e-5"),
        ("1.0e5", "1.0e5"),
        ("5.0e-5", 5e-5),
        ("1.e-5", 1e-5),
        ("-.5", "-.5"),
        (".5", 0.5),
        ("017", 15),
        ("0o17", "0o17"),
        ("08", "08"),
        ("0x1F", 31),
        ("0b101", 5),
        ("500_000", 500000),
        ("1:30", 90),
        ("1:30.5", 90.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 5", "5"),
        ("!!float 5e-5", 5e-5),
        ("! 5", "5"),
        ("2024-01-02", UNKNOWN),
    ],
)
def test_a_scalar_has_the_type_that_yaml_1_1_gives_it(written: str, value: object) -> None:
    got = content(f"a: {written}\n")
    assert got == {"a": value}
    assert type(got["a"]) is type(value)


def test_what_a_template_leaves_open_is_unknown() -> None:
    text = (
        "a: ${LR}\nb: $HOME/x\nc: {{ lr }}\nd: '{{ lr }}'\ne: <path>\nf: p-${x}\ng: [${a}, $b]\n"
        'h: "${{ secrets.X }}"\ni: cost$\n'
    )
    got = content(text)
    assert got["i"] == "cost$"
    del got["i"]
    assert all(value is UNKNOWN for key, value in got.items() if key != "g")
    assert got["g"] == [UNKNOWN, UNKNOWN]
    assert problems(text) == []


def test_lines_that_only_steer_a_template_are_skipped() -> None:
    assert content("{{- if .Values.x }}\na: 1\n{% endif %}\n{{ end }}\nb: 2\n") == {"a": 1, "b": 2}


def test_a_template_that_is_no_yaml_before_it_is_filled_in_is_left_alone() -> None:
    assert yaml.parse(Source("x", "a: {{ x }}\n b: {{ y }}: c: d\n")) == []


# --- places


def test_spans_cover_the_value_and_the_key_with_its_quotes() -> None:
    text = "\"k\" : 'v'  # c\nl:\n  - one two\n  - {a: [1], b: x}\nm: &x !!str 5\nempty:\nn: *x\n"
    document = read(text)
    member = find_member(document.root, "/k")
    assert text[member.key_start : member.key_end] == '"k"'
    assert spanned(document, "/k") == "'v'"
    assert spanned(document, "/l") == "- one two\n  - {a: [1], b: x}"
    assert spanned(document, "/l/1") == "{a: [1], b: x}"
    assert spanned(document, "/l/1/a") == "[1]"
    assert spanned(document, "/m") == "5"
    assert spanned(document, "/n") == "*x"
    assert spanned(document, "/empty") == ""
    assert text[: document.node("/empty").start].endswith("empty:")
    assert document.node("/n").value == "5"


def test_a_block_ends_with_its_last_value() -> None:
    text = "a:\n  b: 1\n  # a comment\n\nc: |\n  x\n  y\n\nd: 2\n"
    document = read(text)
    assert spanned(document, "/a") == "b: 1"
    assert spanned(document, "/c") == "|\n  x\n  y"


def test_a_part_of_a_source_has_its_places_in_the_whole() -> None:
    text = "cat <<EOF\nzero_stage: 3\nEOF\n"
    [document] = yaml.parse(Source("x.sh", text), 10, 24)
    assert spanned(document, "/zero_stage") == "3"
    assert document.source.position(document.node("/zero_stage").start) == (2, 13)


def test_a_bom_and_windows_line_ends_move_nothing() -> None:
    text = "\ufeffa: 1\r\nb:\r\n  c: x y\r\n"
    document = read(text)
    assert document.root.plain() == {"a": 1, "b": {"c": "x y"}}
    assert spanned(document, "/b/c") == "x y"
    assert document.problems == ()


def test_every_document_of_a_stream_is_read_and_a_second_one_is_noted() -> None:
    documents = yaml.parse(Source("x", "# c\n---\na: 1\n--- # d\nb: 2\n...\n---\nc: |\n  x\n"))
    assert [document.root.plain() for document in documents] == [{"a": 1}, {"b": 2}, {"c": "x\n"}]
    assert {p.kind for document in documents for p in document.problems} == {"several-documents"}
    assert spanned(documents[1], "/b") == "2"


def test_a_fault_in_one_document_leaves_the_others_alone() -> None:
    broken, sound = yaml.parse(Source("x", "a: [1\n---\nb: 2\n"))
    assert yaml.is_refused(broken)
    assert not yaml.is_refused(sound)
    assert sound.root.plain() == {"b": 2}


@pytest.mark.parametrize("text", ["", "\n\n", "# only this\n", "---\n...\n# x"])
def test_a_text_without_content_gives_nothing_to_check(text: str) -> None:
    assert all(document.root.kind == "null" for document in yaml.parse(Source("x", text)))


# --- aliases and merges


def test_an_alias_stands_for_its_anchor() -> None:
    got = content("a: &x {b: 1}\nc: *x\nd: [*x]\n")
    assert got == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}


def test_merged_keys_come_in_and_own_ones_win() -> None:
    document = read("base: &x\n  b: 1\n  c: 2\nrun:\n  <<: *x\n  c: 3\n")
    assert document.node("/run").plain() == {"b": 1, "c": 3}
    assert [member.key for member in document.node("/run").members] == ["b", "c"]


def test_a_key_that_two_merges_bring_differently_is_unknown() -> None:
    document = read("a: &a {key: 1}\nb: &b {key: 2}\nc: {<<: [*a, *b]}\n")
    assert document.node("/c").plain() == {"key": UNKNOWN}


def test_an_alias_within_its_own_anchor_is_unknown() -> None:
    assert content("a: &x [1, *x]\n") == {"a": [1, UNKNOWN]}


# --- problems


@pytest.mark.parametrize(
    ("text", "kind", "spot"),
    [
        ("a: b: c\n", "syntax", ""),
        ("a: 'open\n", "syntax", ""),
        ("a:\tb\n", "tab", "\t"),
        ("a:\n\tb: 1\n", "tab", "\t"),
        ("a: !mine b\n", "unknown-tag", "b"),
        ("a: !mine {b: 1}\n", "unknown-tag", ""),
        ("a: 2024-13-45\n", "bad-scalar", "2024-13-45"),
        ("a: =\n", "bad-scalar", "="),
        ("? [a]\n: b\n", "key-type", "[a]"),
        ("a: *nobody\n", "undefined-alias", "*nobody"),
        ("a: &x 1\nb: &x 2\n", "duplicate-anchor", ""),
        ("a:\n  <<: 5\n", "merge", "<<"),
    ],
)
def test_what_pyyaml_stops_at_is_a_refusal(text: str, kind: str, spot: str) -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    with pytest.raises((pyyaml.YAMLError, ValueError)):
        pyyaml.safe_load(text)
    [document] = yaml.parse(Source("x", text))
    assert yaml.is_refused(document)
    assert (kind, spot) in problems(text)


def test_a_key_that_stands_twice_is_noted_but_not_refused() -> None:
    text = "zero_stage: 2\nb: 1\nzero_stage: 3\n"
    document = read(text)
    assert document.root.plain() == {"zero_stage": 3, "b": 1}
    [problem] = document.problems
    assert (problem.kind, problem.pointer, problem.start) == ("duplicate-key", "/zero_stage", 0)
    assert not yaml.is_refused(document)


def test_keys_that_python_tells_apart_are_no_duplicates() -> None:
    document = read("1: a\n'1': b\n")
    assert document.problems == ()
    assert [member.key for member in document.root.members] == ["1", "1"]


def test_keys_are_text_as_written() -> None:
    assert [member.key for member in read("on: 1\n3.0: 2\n~: 3\n'q r': 4\n").root.members] == [
        "on",
        "3.0",
        "~",
        "q r",
    ]


def test_a_broken_text_keeps_what_came_before_the_fault() -> None:
    document = read("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  x: [1, 2\nb: 1\n")
    assert document.node("/deepspeed_config/zero_stage").value == 3
    assert yaml.is_refused(document)


@pytest.mark.parametrize(
    "text", ["a: 1\t# c\n", "# a\tb\na: 1\n", "a: 'x\ty'\n", "a: |\n  x\ty\n", 'a: "\t"\n']
)
def test_tabs_that_harm_nothing_are_left_alone(text: str) -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    try:
        pyyaml.safe_load(text)
    except pyyaml.YAMLError:
        assert yaml.is_refused(read(text))
    else:
        assert problems(text) == []


# --- bounds

LAUGH = "a: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"b{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 20)
)
SIZE = 99_000
BOMBS = {
    "laughs": LAUGH,
    "merges": "m: &m {" + ",".join(f"k{i}: 1" for i in range(1000)) + "}\n" + "a: {<<: *m}\n" * 3000,
    "brackets": "[" * SIZE,
    "braces": "{" * SIZE,
    "dashes": "- " * (SIZE // 2),
    "deep mapping": "".join(" " * i + "a:\n" for i in range(600)),
    "quotes": "'" * SIZE,
    "tabs": "a: b #" + "\t#" * (SIZE // 2),
    "templates": "{%" * (SIZE // 2),
    "tags": "!" * SIZE,
    "blanks": " " * SIZE,
    "markers": "---\n" * (SIZE // 4),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_text_takes_bounded_time_and_memory(name: str) -> None:
    start = time.process_time()
    documents = yaml.parse(Source("x", BOMBS[name]))
    nodes = sum(1 for document in documents for _ in walk(document.root))
    assert nodes < 250_000
    assert time.process_time() - start < 15


def test_a_megabyte_that_is_no_configuration_costs_nothing() -> None:
    text = "- {name: a, size: 1}\n" * 50_000
    start = time.process_time()
    assert not yaml.looks_relevant(text)
    assert yaml.parse(Source("x", text)) == []
    [document] = yaml.parse(Source("x", "deepspeed: 1\n" + text))
    assert [problem.kind for problem in document.problems] == ["too-long"]
    assert time.process_time() - start < 0.5


def test_a_long_stream_is_read_where_it_matters() -> None:
    stream = "a: 1\n---\n" * 60_000 + "distributed_type: DEEPSPEED\n"
    documents = yaml.parse(Source("x", stream))
    assert [document.root.plain() for document in documents] == [{"distributed_type": "DEEPSPEED"}]
    assert len(yaml.parse(Source("x", "deepspeed: 1\n---\n" * 2000))) == yaml.MOST


# --- against PyYAML

ODD_WORDS = """
    yes No on ~ null 1e5 1.0e-5 1.e+3 .5 -.5 017 08 0x1f 0b1 1_000 1:30 +.inf .nan - -- : a:b #x x#y a,b
    =x <<x 2024-01-02 0o7 +1 -0 00 1. _1 é 中 @x"""
ODD = st.sampled_from(ODD_WORDS.split())
WORDS = st.text("abcXYZ019 _.-+:eExo~", min_size=1, max_size=8).map(str.strip).filter(bool)


def is_plain(text: str) -> bool:
    """Can this text stand unquoted in a block?"""
    return not (text[0] in "-?:,[]{}#&*!|>'\"%@`= " or ": " in text or " #" in text or text.endswith(":"))


SCALARS = st.one_of(
    ODD.filter(is_plain),
    WORDS.filter(is_plain),
    st.integers().map(str),
    st.floats().map(str),
    st.one_of(WORDS, ODD).map(lambda text: "'" + text.replace("'", "''") + "'"),
    st.one_of(WORDS, ODD).map(lambda text: '"' + text + '"'),
    st.just(""),
)


def in_block(value: object, indent: int) -> str:
    pad = " " * indent
    if isinstance(value, str):
        return f" {value}\n"
    if not value:
        return " {}\n" if isinstance(value, dict) else " []\n"
    if isinstance(value, dict):
        return "\n" + "".join(f"{pad}{key}:{in_block(item, indent + 2)}" for key, item in value.items())
    return "\n" + "".join(f"{pad}-{in_block(item, indent + 2)}" for item in value)


KEYS = st.from_regex(r"[a-z_]{1,9}", fullmatch=True).filter(
    lambda key: key not in ("y", "n", "on", "no", "yes", "off")
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def agrees(got: object, wanted: object) -> bool:
    if got is UNKNOWN:
        return True
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and list(got) == list(wanted)
            and all(agrees(got[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(agrees, got, wanted))
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(got, float) and math.isnan(got)
    return type(got) is type(wanted) and got == wanted


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=5))
def test_values_are_those_of_pyyaml(tree: dict[str, object]) -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    text = "".join(f"{key}:{in_block(value, 2)}" for key, value in tree.items())
    document = read(text)
    try:
        wanted = pyyaml.safe_load(text)
    except (pyyaml.YAMLError, ValueError):
        assert yaml.is_refused(document), text
        return
    assert not yaml.is_refused(document), (text, document.problems)
    assert agrees(document.root.plain(), wanted), text


@settings(max_examples=500, deadline=None)
@given(st.text("0123456789_.:+-eExXobBaAfFnN", max_size=9))
def test_a_scalar_is_a_number_where_pyyaml_has_one(text: str) -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    loader = pyyaml.SafeLoader("")
    node = pyyaml.ScalarNode(loader.resolve(pyyaml.ScalarNode, text, (True, False)), text)
    scalar = plain(text)
    try:
        wanted = loader.construct_object(node)
    except ValueError:
        assert scalar.trouble
        return
    assert scalar.trouble is None
    assert agrees(scalar.value, wanted), (text, scalar, wanted)


@settings(max_examples=300, deadline=None)
@given(st.text("ab:-#{}[],&*!|>'\"%@`?~< \n\t\r\ufeff", max_size=40))
def test_any_text_is_read_with_spans_inside_it(text: str) -> None:
    for document in yaml.parse(Source("x", text)):
        for _, node in walk(document.root):
            assert 0 <= node.start <= node.end <= len(text)
        for problem in document.problems:
            assert 0 <= problem.start <= problem.end <= len(text)


def corpus_files() -> list[Path]:
    return sorted([*SHARED.glob("corpus/accelerate/*"), *SHARED.glob("corpus/yaml/*")])


def test_every_public_file_reads_as_pyyaml_reads_it() -> None:
    pyyaml = pytest.importorskip("yaml", reason="PyYAML is the judge of these texts and is not installed")
    files = corpus_files()
    if not files:
        pytest.skip("the corpus of public files is not beside the repository")
    for file in files:
        text = file.read_text(encoding="utf-8")
        document = read(text)
        assert document.problems == (), file.name
        assert agrees(document.root.plain(), pyyaml.safe_load(text)), file.name
