"""Files that were made to keep a reader busy: within a second of processor time and 200 MB, whatever their kind.

Each kind is tried just within what dslint reads and at a megabyte. SLACK is for slower machines: the bound itself is told by
bench/results/hostile.md, and a quadratic reader goes far beyond both.
"""

from __future__ import annotations

import json
import os
import socket

import pytest
from safety.hostile import CONFIG, KINDS, START, filled, numbered
from safety.measured import run

SECONDS = 1.0
MEGABYTES = 200
SLACK = float(os.environ.get("DSLINT_SLACK", "4"))
# One of each kind in every run; the rest is slow.
QUICK = {
    "json": "keys in a block",
    "yaml": "many '{{'",
    "sh": "a heredoc",
    "py": "calls",
    "ipynb": "cells",
    "log": "tracebacks",
    "settings": "a long text",
    "rule": "keys",
}
ARGUMENTS = {
    "log": ("diagnose", "a.log"),
    "settings": ("ds_config.json",),
    "rule": ("--isolated", "--rules", "own", "ds_config.json"),
}


def lay(folder, kind, text):
    name = KINDS[kind][0]
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    if kind in ("settings", "rule"):
        (folder / "ds_config.json").write_text(
            '{"train_batch_size": 8, "x": "%s!"}' % ("a" * 40), encoding="utf-8"
        )
    return ARGUMENTS.get(kind, ("--isolated", name))


def assert_bounded(folder, kind, text):
    taken = run(folder, *lay(folder, kind, text))
    assert taken.status in (0, 1, 2), taken.err
    assert "internal error" not in taken.err
    assert "Traceback" not in taken.err
    assert taken.status != 2 or len(taken.err.splitlines()) == 1
    assert taken.seconds < SECONDS * SLACK
    assert taken.megabytes < MEGABYTES


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_made_to_be_slow_is_read_within_bounds(tmp_path, kind):
    _, make, sizes = KINDS[kind]
    assert_bounded(tmp_path, kind, dict(make(sizes[0]))[QUICK[kind]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_of_many_such_files_is_read_within_bounds(tmp_path, kind):
    _, make, sizes = KINDS[kind]
    for size in sizes:
        for number, (_, text) in enumerate(make(size)):
            folder = tmp_path / f"{size}-{number}"
            folder.mkdir()
            assert_bounded(folder, kind, text)


@pytest.mark.parametrize("opener", ["[", '{"a":'])
def test_ten_thousand_levels_are_a_finding(tmp_path, opener):
    assert_bounded(tmp_path, "json", START + opener * 10_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [filled(START + '"', "a", '"}', 50_000_000), filled(START + "[1", ",1", "]}", 50_000_000)]
)
def test_fifty_megabytes_are_one_line_at_once(tmp_path, text):
    (tmp_path / "ds_config.json").write_text(text, encoding="utf-8")
    taken = run(tmp_path, "--isolated", "ds_config.json")
    assert taken.status == 2
    assert taken.err == (
        f"dslint: ds_config.json has {len(text):,} characters, and no config has more than 400,000; it was not checked\n"
    )
    assert taken.seconds < SECONDS * SLACK
    assert taken.megabytes < 400  # the text itself, once as bytes


@pytest.mark.slow
def test_a_million_keys_are_one_line(tmp_path):
    (tmp_path / "ds_config.json").write_text(
        numbered("{", '"k#":1,', '"train_batch_size": 8}', 13_000_000), "utf-8"
    )
    taken = run(tmp_path, "--isolated", "ds_config.json")
    assert taken.status == 2
    assert len(taken.err.splitlines()) == 1
    assert taken.seconds < SECONDS * SLACK


def test_a_long_file_of_a_folder_keeps_no_other_from_being_checked(tmp_path):
    (tmp_path / "data.json").write_text(filled(START + "[1", ",1", "]}", CONFIG + 10_000), encoding="utf-8")
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8, "fp16": 3}', encoding="utf-8")
    taken = run(tmp_path, "--isolated", "--output-format", "json", ".")
    assert taken.status == 1, taken.err
    assert {finding["filename"] for finding in json.loads(taken.out)} == {"ds_config.json"}


def test_links_in_a_circle_pipes_sockets_and_devices_are_passed_over_or_named(tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "loop.json").symlink_to("loop.json")
    (work / "sub" / "up").symlink_to("..")
    (work / "null.json").symlink_to(os.devnull)
    (work / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(work / "pipe.json")
    os.mkfifo(work / ".gitignore")
    os.mkfifo(work / "requirements.txt")
    monkeypatch.chdir(work)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.json")
        (work / "ds_config.json").write_text('{"train_batch_size": 8, "fp16": 3}', encoding="utf-8")
        taken = run(work, "--isolated", "--output-format", "json", ".")
        assert taken.status == 1, taken.err
        assert {finding["filename"] for finding in json.loads(taken.out)} == {"ds_config.json"}
        for name in ("loop.json", "null.json", "zero.json", "pipe.json", "socket.json"):
            named = run(work, "--isolated", name)
            assert named.status == 2
            assert named.err.startswith(f"dslint: {name}"), named.err
            assert len(named.err.splitlines()) == 1


@pytest.mark.parametrize("file", ["dslint.toml", "rules/own.yaml"])
def test_a_pipe_for_settings_or_a_rule_does_not_hang(tmp_path, file):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / file)
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8}', encoding="utf-8")
    option = ("--config", "dslint.toml") if file == "dslint.toml" else ("--isolated", "--rules", "rules")
    taken = run(tmp_path, *option, "ds_config.json", limit=20)
    assert taken.status == 2
    assert len(taken.err.splitlines()) == 1


NAMES = [
    "new\nline.json",
    "::error file=x::hi\r\n::set-output name=a::b.json",
    "\x1b[2J\x1b]0;title\x07ds_config.json",
    "right\u202eto left.json",
    b"no utf-8 \xff.json",
    "<b>&amp;\"'.json",
    "%0A%25 100%.json",
    "--fix.json",
    "\u2028line.json",
]
# Beside the newlines that a report is made of, nothing may reach a terminal, or an annotation's reader.
HARMLESS = {"\n"}


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github", "gitlab", "junit"])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_odd_names_and_texts_are_never_printed_raw(tmp_path, name, form):
    path = os.path.join(os.fsencode(tmp_path), name if isinstance(name, bytes) else name.encode())
    key = "\x1b[31m\u202e\x00".replace("\x00", "\\u0000")
    text = (
        f'{{"train_batch_size": 8, "fp16": {{"enabled": true, "a\\u001b[31m\\ud800{key}\\n::error::": 1}}}}'
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    taken = run(tmp_path, "--isolated", "--output-format", form, ".")
    assert taken.status in (0, 1), taken.err
    assert "internal error" not in taken.err
    odd = {char for char in taken.out + taken.err if not char.isprintable()} - HARMLESS
    assert odd == set()
    if form == "github":
        assert all(
            line.startswith(("::error ", "::warning ", "::notice ", "::group", "::endgroup"))
            for line in taken.out.splitlines()
        )


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_an_odd_name_that_cannot_be_read_is_one_harmless_line(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name if isinstance(name, bytes) else name.encode())
    with open(path, "wb") as file:
        file.write(b"\xff\xfe\x00")
    named = os.path.join(".", os.fsdecode(os.path.basename(path)))
    taken = run(tmp_path, "--isolated", named)
    assert taken.status == 2
    assert len(taken.err.split("\n")) == 2
    assert {char for char in taken.err if not char.isprintable()} <= HARMLESS


@pytest.mark.parametrize(
    "data", [b'{"a": "\xff"}', b"{\x00}", '{"a": 1}'.encode("utf-16"), b'{"a": "\xed\xa0\x80"}', b"\xfe\xff"]
)
def test_what_is_no_utf8_text_is_one_line(tmp_path, data):
    (tmp_path / "ds_config.json").write_bytes(data)
    taken = run(tmp_path, "--isolated", "ds_config.json")
    assert taken.status == 2
    assert len(taken.err.splitlines()) == 1


def test_lone_surrogates_in_a_config_reach_every_report(tmp_path):
    (tmp_path / "ds_config.json").write_text(
        '{"train_batch_size": 8, "\\ud800": "\\udfff"}', encoding="utf-8"
    )
    for form in ("full", "concise", "json", "sarif", "github", "gitlab", "junit"):
        taken = run(tmp_path, "--isolated", "--output-format", form, "ds_config.json")
        assert taken.status in (0, 1), taken.err


@pytest.mark.parametrize(
    "name",
    [".gitignore", "requirements.txt", "pyproject.toml", "rules/own.yaml", "dslint.toml", "environment.yml"],
)
@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_a_link_to_what_has_no_end_is_not_read(tmp_path, name, target):
    """git carries links, so a pull request can bring them."""
    (tmp_path / "rules").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / name).symlink_to(target if target.startswith("/") else tmp_path / target)
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8}', encoding="utf-8")
    taken = run(tmp_path, "--rules", "rules", ".")
    assert taken.status in (0, 1, 2)
    assert (taken.status == 2) == (name == "rules/own.yaml"), taken.err
    assert taken.seconds < 10
    assert taken.megabytes < MEGABYTES


@pytest.mark.parametrize("pattern", ["*a" * 30 + "b", "**/a/" * 12 + "b", "[", "!", "\\", "//"])
def test_no_pattern_of_a_gitignore_keeps_the_matching_busy(tmp_path, pattern):
    (tmp_path / ".gitignore").write_text(f"{pattern}\n*.yaml\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    deep = tmp_path.joinpath(*"a" * 30)
    deep.mkdir(parents=True)
    (deep / ("a" * 240 + ".json")).write_text("{}", encoding="utf-8")
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8, "fp16": 3}', encoding="utf-8")
    taken = run(tmp_path, "--isolated", "--output-format", "json", ".")
    assert taken.status == 1, taken.err
    assert taken.seconds < SECONDS * SLACK
