"""Reading never hangs and never guesses; writing replaces a file whole or leaves it alone."""

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from dslint.fixing import writing
from dslint.fixing.writing import Unreadable, Unwritable, read, write


def unreadable(path):
    with pytest.raises(Unreadable) as caught:
        read(path, "shown.json")
    message = str(caught.value)
    assert message.startswith("shown.json ")
    assert "\n" not in message
    return message


def test_a_text_keeps_its_byte_order_mark_and_line_ends(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}\r\n\r')
    source = read(path, "shown.json")
    assert source.text == '\ufeff{"a": "é"}\r\n\r'
    assert source.path == "shown.json"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"a": "\xe9"}', "no UTF-8 text: byte 0xe9 in row 1 (offset 7)"),
        (b'{\n"a": "\xff"}', "byte 0xff in row 2"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b"\xfe\xff\x00{\x00}", "UTF-16"),
        (b"{\x00}", "no text: it has a NUL byte at offset 1"),
        (b'{"a": "\xed\xa0\x80"}', "no UTF-8 text"),
    ],
)
def test_what_is_no_utf8_text_is_said_to_be_so(tmp_path, data, says):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    assert says in unreadable(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    assert "no such file" in unreadable(tmp_path / "none.json")


def test_a_folder_is_no_file(tmp_path):
    assert "is a folder" in unreadable(tmp_path)


def test_a_path_with_a_nul_is_refused():
    assert "cannot be read" in unreadable("a\0b")


def test_a_link_in_a_circle_is_refused(tmp_path):
    path = tmp_path / "a.json"
    path.symlink_to(path)
    assert "cannot be read" in unreadable(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_does_not_hang(tmp_path):
    path = tmp_path / "a.json"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: unreadable(path), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_device_and_a_socket_are_no_regular_files(tmp_path, monkeypatch):
    assert "no regular file" in unreadable(os.devnull)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.json")
        assert "no regular file" in unreadable("s.json")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root reads everything")
def test_a_closed_file_is_said_to_be_closed(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    path.chmod(0)
    assert "permission denied" in unreadable(path)


def test_a_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(writing.MAX_BYTES + 1)
    assert "larger than 64 MB" in unreadable(path)


def test_a_file_is_replaced_with_its_mode_kept(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"{}\r\n")
    path.chmod(0o640)
    write(path, "{}\r\n", "[é]\r\n")
    assert path.read_bytes() == "[é]\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    os.chown(path, 1234, 2345)
    write(path, "{}", "[]")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_of_a_link_the_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.json"
    target.write_text("{}")
    link = tmp_path / "a.json"
    link.symlink_to(Path("real") / "a.json")
    write(link, "{}", "[]")
    assert link.is_symlink()
    assert target.read_text() == "[]"


def refused(path, old="{}", new="[]"):
    with pytest.raises(Unwritable) as caught:
        write(path, old, new)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{ }")
    assert "has changed since it was read" in refused(path)
    assert path.read_text() == "{ }"


def test_a_file_that_is_gone_is_not_made(tmp_path):
    path = tmp_path / "a.json"
    assert "no such file" in refused(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root writes everything")
def test_a_read_only_file_is_left_alone(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    path.chmod(0o444)
    assert "read-only" in refused(path)
    assert path.read_text() == "{}"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_when_a_step_fails_the_file_is_as_it_was_and_nothing_is_left_over(tmp_path, monkeypatch, step):
    path = tmp_path / "a.json"
    path.write_text("{}")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    assert "no space left on device" in refused(path)
    assert path.read_text() == "{}"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_text_that_utf8_cannot_hold_is_not_written(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    refused(path, new='"\ud800"')
    assert path.read_text() == "{}"
