"""The parts of the language server that need no client: positions, the cursor in broken text, small edits, words on keys."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from places import ROOT

from dslint.documents.tree import Source, split_pointer
from dslint.fixing.apply import apply
from dslint.fixing.fix import Edit
from dslint.releases.release import KNOWN, NEWEST, parse_version
from dslint.server import options
from dslint.server.buffers import Buffer, Buffers, path_of, uri_for
from dslint.server.completion import Region, complete
from dslint.server.cursor import spot_at
from dslint.server.diagnostics import DEPRECATED, UNNECESSARY
from dslint.server.differing import Replacement, replacements
from dslint.server.index import Index, walked
from dslint.server.knowledge import about, key_at, keys_in, removed_above, type_names
from dslint.server.positions import Lines
from dslint.server.related import MOST, related
from dslint.server.validating import verdict_of

ENCODINGS = ("utf-8", "utf-16", "utf-32")
TEXTS = st.text(
    st.sampled_from('ab"{}:, \t\r\n\u2028\u0085\u000cé学🚀\ufeff'),
    max_size=40,
)


@given(TEXTS, st.sampled_from(ENCODINGS), st.data())
def test_an_offset_is_its_position_and_back(text, encoding, data):
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        return  # between the two there is no position
    lines = Lines(text, encoding)
    place = lines.position(offset)
    assert lines.offset(place) == offset
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    assert place.line == before.count("\n")
    column = before.rpartition("\n")[2]
    assert place.character == len(column.encode(encoding if encoding == "utf-8" else f"{encoding}-le")) // {
        "utf-8": 1,
        "utf-16": 2,
        "utf-32": 4,
    }.get(encoding, 1)


def test_positions_outside_of_the_text_are_drawn_into_it():
    lines = Lines("ab🚀\r\ncd", "utf-16")
    assert lines.offset(types.Position(0, 99)) == 3
    assert lines.offset(types.Position(0, 3)) == 2, "the middle of a character is its beginning"
    assert lines.offset(types.Position(9, 0)) == 7


@given(
    TEXTS,
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), TEXTS), max_size=4),
    st.sampled_from(ENCODINGS),
)
def test_incremental_edits_give_the_text_that_slicing_gives(text, edits, encoding):
    buffer = Buffer("file:///x.json", "/x.json", "json", 1, text)
    for number, (first, last, new) in enumerate(edits, start=2):
        start, end = sorted((min(first, len(text)), min(last, len(text))))
        if any(text[at - 1 : at + 1] == "\r\n" for at in (start, end)):
            continue
        lines = Lines(text, encoding)
        change = types.TextDocumentContentChangePartial(lines.range(start, end), new)
        text = text[:start] + new + text[end:]
        buffer = buffer.changed(number, [change], encoding)
        assert buffer.text == text


def test_documents_without_a_file_are_passed_over():
    buffers = Buffers()
    for uri in ("untitled:Untitled-1", "git:/a/ds_config.json?ref=HEAD", "vscode-notebook-cell:/a.ipynb#1"):
        assert buffers.open(types.TextDocumentItem(uri, "json", 1, "{}")) is None
    spaced = path_of("file:///tmp/a%20b/%E5%AD%A6/ds.json")
    assert spaced is not None
    assert path_of(uri_for(spaced)) == spaced


@pytest.mark.parametrize(
    ("text", "role", "pointer", "keys"),
    [
        ("{|}", "key", "", set()),
        ('{"a": 1, |}', "key", "", {"a"}),
        ('{"fp16": {"en|\n}', "key", "/fp16", set()),
        ('{"fp16": {"en|"}}', "key", "/fp16", set()),
        ('{"fp16": {"loss_scale": 0 "en|', "key", "/fp16", {"loss_scale"}),
        ('{"fp16": {"en|},\n "bf16": {}}', "key", "/fp16", set()),
        ('{"a": |}', "value", "/a", None),
        ('{"a":|, "b": 1}', "value", "/a", None),
        ('{"a": "x|y", "b": 2}', "value", "/a", None),
        ('{"a": {"b": tr|', "value", "/a/b", None),
        ('{"a": [1, {"b": |', "value", "/a/1/b", None),
        ('{"a": 1\n |}', "key", "", {"a"}),
        ("{optimizer: {type: Ad|\n}}", "value", "/optimizer/type", None),
        ("{'fp16': {'enabled': Tr|}}", "value", "/fp16/enabled", None),
        ('// {"x": {\n{"a/b": {"|"}}', "key", "/a~1b", set()),
        ('{ /* {{{ */ "a": {|}}', "key", "/a", set()),
        ('{"zero": {"stage": 2} "fp|}', "key", "", {"zero"}),
    ],
)
def test_the_cursor_in_text_that_need_not_parse(text, role, pointer, keys):
    cursor = text.index("|")
    spot = spot_at(text.replace("|", "", 1), cursor)
    assert spot is not None
    assert (spot.role, spot.pointer) == (role, pointer)
    assert keys is None or spot.keys == keys


@pytest.mark.parametrize(
    "text",
    ["|", "|{}", "{}|", '{"a": 1 |}', '{"a" |}', "// x |\n{}", '{ // x|\n "b": 1}', '{"a": 1} |', "no|thing"],
)
def test_where_nothing_can_be_written_nothing_is_proposed(text):
    cursor = text.index("|")
    assert spot_at(text.replace("|", "", 1), cursor) is None


@given(st.text(st.sampled_from("{}[],:\"'ab \n/#*\\"), max_size=60), st.integers(0, 60))
def test_no_text_is_too_broken_for_the_cursor(text, cursor):
    cursor = min(cursor, len(text))
    spot = spot_at(text, cursor)
    if spot is not None:
        assert spot.start <= cursor <= spot.end
        assert "\n" not in text[spot.start : spot.end], "an edit of completion stays in its row"
    complete(text, cursor, Region(0, len(text), "json", NEWEST, None))


@given(TEXTS, TEXTS)
def test_small_edits_make_the_one_text_the_other(old, new):
    source = Source("x", old)
    edits = [Edit(source, *each) for each in replacements(old, new)]
    assert apply(old, edits) == new


def test_edits_are_small():
    old = "".join(f'  "key{n}": {n},\n' for n in range(2000))
    new = old.replace("key7:", "key7:").replace(": 1000,", ": 1001,").replace('"key3"', '"key_3"')
    found = replacements(old, new)
    assert len(found) == 2
    assert sum(each.end - each.start for each in found) < 10
    assert replacements("a: 1\r\nb: 2\r\n", "a: 1\r\nb: 3\r\n") == [Replacement(9, 10, "3")]


def test_files_that_name_one_another_belong_together():
    texts = {
        "/r/run.sh": "deepspeed train.py --deepspeed_config ds.json",
        "/r/ds.json": "{}",
        "/r/train.py": "import deepspeed",
        "/r/mod.sh": "python -m pkg.train --x",
        "/r/other.json": "{}",
        "/r/other.sh": "deepspeed other.py",
    }
    assert set(related(["/r/ds.json"], texts)) == {"/r/ds.json", "/r/run.sh", "/r/train.py", "/r/mod.sh"}
    crowd = {f"/r/{n}.sh": "ds.json" for n in range(500)} | {"/r/ds.json": ""}
    assert len(related(["/r/ds.json"], crowd)) == MOST
    assert related(["/r/ds.json"], crowd)[0] == "/r/ds.json"


def test_a_walk_ends_and_forgets(tmp_path, monkeypatch):
    monkeypatch.setattr("dslint.server.index.MOST_FILES", 5)
    for number in range(10):
        (tmp_path / f"ds_{number}.json").write_text('{"fp16": {}}')
    from dslint.launches.discover import Patterns

    chosen = Patterns((), ())
    assert len(walked(str(tmp_path), chosen)) == 5
    monkeypatch.setattr("dslint.server.index.MOST_FILES", 50)
    index = Index(str(tmp_path))
    assert len(index.sources(chosen)) == 10
    (tmp_path / "ds_new.json").write_text('{"fp16": {}}')
    (tmp_path / "ds_0.json").write_text("[" * 2_000_000)
    assert len(index.sources(chosen)) == 9, "a text that has become too large is left out at once"
    index.forget()
    assert len(index.sources(chosen)) == 10


def test_the_editors_settings():
    given_options = {
        "dslint": {"worldSize": 8, "select": ["DS2"], "hardware": None, "ignore": [], "framwork": "x"}
    }
    read = options.read(given_options)
    assert read.values == {"world-size": 8, "select": ["DS2"], "ignore": None}
    both = options.over(options.read({"ignore": ["DS2"], "worldSize": 4, "hardware": "a100"}), read)
    assert both.values == {"world-size": 8, "select": ["DS2"], "ignore": None, "hardware": "a100"}
    assert read.faults == ("the editor's settings: there is no framwork; did you mean framework?",)
    (fault,) = options.read({"worldSize": "8"}).faults
    assert "worldSize must be a whole number" in fault
    assert options.read(None) == options.read([]) == options.Options()


def test_every_key_of_every_release_can_be_told():
    """No key lacks a name, a kind and a release; nothing that a release refuses is proposed."""
    for name in ("0.9.5", "0.14.4", "0.17.1", NEWEST.name):
        release = parse_version(name)
        blocks = [""]
        told = 0
        while blocks:
            block = blocks.pop()
            for key in keys_in(release, block, {}):
                text = about(key, release)
                assert ".".join(split_pointer(key.pointer)) in text
                assert "Type: " in text
                assert f"DeepSpeed {name}" in text
                assert "x-removed" not in key.schema
                told += 1
                if key.kind == "object":
                    blocks.append(key.pointer)
        assert told > 150


def test_a_removed_key_says_so():
    key = key_at(NEWEST, "/compression_training", {})
    text = about(key, NEWEST)
    assert "Last in 0.19.6, refused from 0.19.7 on." in text
    assert "Type" not in text
    assert removed_above(NEWEST, "/compression_training/x/y") == key
    assert removed_above(NEWEST, "/fp16/x") is None


def test_the_names_of_optimizers_are_those_that_the_release_takes():
    from dslint.releases.schema import optimizers

    for release in KNOWN:
        names = type_names(release, "/optimizer/type")
        assert {name.lower() for name in names} == set(optimizers(release))
        assert not [name for name in names if name.islower()], "each has a spelling"


def test_tags_name_rules_that_there_are():
    from dslint.rules import book
    from dslint.rules.finding import IGNORE_RULES

    known = {rule.name for rule in book.load()} | {name for _, name in IGNORE_RULES}
    assert known >= UNNECESSARY | DEPRECATED


def test_verdicts():
    report = [
        {"ended": "refused", "headline": "refused while its config was loaded", "error": {"message": "no"}}
    ]
    assert verdict_of(json.dumps(report), "").message == "refused while its config was loaded: no"
    report[0]["explained_by"] = [{"message": "it is so", "code": "DS1"}]
    assert verdict_of(json.dumps(report), "").message == "refused while its config was loaded: it is so (DS1)"
    assert verdict_of(json.dumps([{"ended": "accepted", "headline": "accepted", "error": None}]), "") == (
        "accepted",
        "accepted",
    )
    assert verdict_of("", "x\ndslint: deepspeed is not installed\n") == (
        "failed",
        "deepspeed is not installed",
    )
    assert verdict_of("", "").ended == "failed"


def test_without_pygls_one_line_says_what_to_install():
    code = (
        "import sys\nsys.modules['pygls'] = None\nsys.modules['lsprotocol'] = None\n"
        "sys.argv = ['dslint', 'server']\nfrom dslint.cli.main import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pip install 'deepspeed-lint[server]'" in result.stderr


def test_checking_imports_nothing_of_the_server():
    code = (
        "import sys, dslint.cli.main, dslint.cli.check\n"
        "print([m for m in sys.modules if m.startswith(('pygls', 'lsprotocol', 'dslint.server'))])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_catalogue_entry_is_one_that_schemastore_takes():
    """What its catalogue asks of an entry; and names that no other program's files have."""
    from fnmatch import fnmatch

    entry = json.loads((ROOT / "schemas" / "catalog-entry.json").read_text(encoding="utf-8"))
    assert set(entry) == {"name", "description", "fileMatch", "url", "versions"}
    assert len(set(entry["fileMatch"])) == len(entry["fileMatch"])
    assert all(url.startswith("https://") for url in (entry["url"], *entry["versions"].values()))
    for name in ("ds_config.json", "ds_config_zero3.json", "deepspeed_config.json", "ds_z3_config.json"):
        assert any(fnmatch(name, glob) for glob in entry["fileMatch"]), name
    for name in (
        "config.json",
        "package.json",
        "trainer_state.json",
        "zero.json",
        "ads_config.json",
        "deepspeed.json",
    ):
        assert not any(fnmatch(name, glob) for glob in entry["fileMatch"]), name
