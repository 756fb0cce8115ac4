"""What becomes of a file that is fixed: the whole old text or the whole new one, with all that was true of it beside its text."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat

import pytest
from safety.processes import BAD, PAUSED, Done, fix, start, wait_for

ROOT_USER = getattr(os, "geteuid", lambda: 1)() == 0
# What lets the superuser write where nobody may.
WITHOUT = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    (made / "ds_config.json").write_text(BAD, encoding="utf-8")
    return made


@pytest.fixture
def new(tmp_path):
    """What the fix makes of BAD."""
    made = tmp_path / "alone"
    made.mkdir()
    (made / "ds_config.json").write_text(BAD, encoding="utf-8")
    fix(made)
    text = (made / "ds_config.json").read_text(encoding="utf-8")
    assert text != BAD
    return text


def unprivileged():
    if not ROOT_USER:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root writes everywhere and setpriv is absent, so a closed file was not tried")
    return WITHOUT


def test_mode_line_ends_and_byte_order_mark_stay(folder):
    path = folder / "ds_config.json"
    path.write_bytes(b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    fix(folder)
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf{\r\n")
    assert data.count(b"\n") == data.count(b"\r\n") == BAD.count("\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert json.loads(data.decode("utf-8-sig"))["fp16"] == {"enabled": False}


@pytest.mark.skipif(not ROOT_USER, reason="only root gives files away")
def test_owner_stays(folder):
    os.chown(folder / "ds_config.json", 1234, 2345)
    fix(folder)
    status = (folder / "ds_config.json").stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


def test_extended_attributes_stay(folder):
    path = folder / "ds_config.json"
    try:
        os.setxattr(path, "user.team", b"infra")
    except (AttributeError, OSError):
        pytest.skip("this system has no extended attributes, so none was kept")
    fix(folder)
    assert os.getxattr(path, "user.team") == b"infra"


def test_a_symbolic_link_stays_one(folder, new):
    (folder / "real").mkdir()
    (folder / "ds_config.json").rename(folder / "real" / "config.json")
    (folder / "ds_config.json").symlink_to("real/config.json")
    fix(folder)
    assert os.readlink(folder / "ds_config.json") == "real/config.json"
    assert (folder / "real" / "config.json").read_text(encoding="utf-8") == new


def test_hard_links_are_not_parted(folder):
    os.link(folder / "ds_config.json", folder / "other.txt")
    done = fix(folder)
    assert done.status == 2
    assert "2 names (hard links)" in done.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == BAD
    assert (folder / "ds_config.json").stat().st_nlink == 2


def test_a_read_only_file_is_one_line(folder):
    before = unprivileged()
    (folder / "ds_config.json").chmod(0o444)
    done = fix(folder, before=before)
    assert done.status == 2
    assert "ds_config.json was not written: it is read-only" in done.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == BAD


def test_a_read_only_folder_is_one_line(folder):
    before = unprivileged()
    folder.chmod(0o555)
    try:
        done = fix(folder, before=before)
    finally:
        folder.chmod(0o755)
    assert done.status == 2
    assert "ds_config.json was not written: permission denied" in done.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == BAD
    assert os.listdir(folder) == ["ds_config.json"]


FULL = "import os\ndef fsync(descriptor):\n    raise OSError(28, os.strerror(28))\nos.fsync = fsync\n"
SMALL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"


@pytest.mark.parametrize(("patch", "reason"), [(FULL, "no space left"), (SMALL, "file too large")])
def test_a_full_disk_is_one_line(folder, patch, reason):
    done = fix(folder, patch=patch)
    assert done.status == 2
    assert f"ds_config.json was not written: {reason}" in done.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == BAD
    assert os.listdir(folder) == ["ds_config.json"]


KILLED = """
import os, pathlib, signal
{name} = {module}.{name}
def dies(*arguments, **options):
    {before}
    done = {name}(*arguments, **options)
    {after}
    return done
{module}.{name} = dies
"""
DIE = "os.kill(os.getpid(), signal.SIGKILL)"
MOMENTS = {
    "with the new text half written": KILLED.format(module="os", name="fsync", before=DIE, after="pass"),
    "in front of the rename": KILLED.format(module="os", name="replace", before=DIE, after="pass"),
    "behind the rename": KILLED.format(module="os", name="replace", before="pass", after=DIE),
}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills otherwise")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_leaves_the_old_text_or_the_new_and_nothing_that_hinders(folder, new, moment):
    done = fix(folder, patch=MOMENTS[moment])
    assert done.status == -signal.SIGKILL
    text = (folder / "ds_config.json").read_text(encoding="utf-8")
    assert text == (new if moment == "behind the rename" else BAD)
    again = fix(folder)
    assert again.status in (0, 1), again.err
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == new
    # What the killed run left behind went with the next write; it is no config in between.
    if moment != "behind the rename":
        assert os.listdir(folder) == ["ds_config.json"]


def test_what_an_editor_saves_meanwhile_is_not_lost(folder, tmp_path):
    """The file changes between the check and the last step; an editor takes no lock."""
    there, go = tmp_path / "there", tmp_path / "go"
    process = start(
        folder, "--isolated", "--fix", "--unsafe-fixes", "ds_config.json",
        patch=PAUSED.format(there=str(there), go=str(go)),
    )  # fmt: skip
    wait_for(there, process)
    (folder / "ds_config.json").write_text('{"mine": 1}', encoding="utf-8")
    go.touch()
    done = Done(process)
    assert done.status == 2
    assert "ds_config.json was not written: it has changed since it was read" in done.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == '{"mine": 1}'
    assert os.listdir(folder) == ["ds_config.json"]


WAITING = """
import fcntl
flock = fcntl.flock
def told(descriptor, operation):
    try:
        return flock(descriptor, operation)
    except BlockingIOError:
        open({waits!r}, "w").close()
        raise
fcntl.flock = told
"""


def test_of_two_that_fix_one_file_the_second_says_that_it_has_changed(folder, tmp_path, new):
    pytest.importorskip("fcntl", reason="this system has no file locks")
    there, go, waits = tmp_path / "there", tmp_path / "go", tmp_path / "waits"
    arguments = ("--isolated", "--fix", "--unsafe-fixes", "ds_config.json")
    first = start(folder, *arguments, patch=PAUSED.format(there=str(there), go=str(go)))
    wait_for(there, first)
    second = start(folder, *arguments, patch=WAITING.format(waits=str(waits)))
    wait_for(waits, second)
    go.touch()
    one, two = Done(first), Done(second)
    assert one.status in (0, 1)
    assert two.status == 2
    assert "ds_config.json was not written: it has changed since it was read" in two.line
    assert (folder / "ds_config.json").read_text(encoding="utf-8") == new
    assert os.listdir(folder) == ["ds_config.json"]


def test_many_at_once_leave_the_file_whole(folder, new):
    for _ in range(3):
        (folder / "ds_config.json").write_text(BAD, encoding="utf-8")
        racing = [start(folder, "--isolated", "--fix", "--unsafe-fixes", "ds_config.json") for _ in range(3)]
        done = [Done(process) for process in racing]
        assert (folder / "ds_config.json").read_text(encoding="utf-8") == new
        assert os.listdir(folder) == ["ds_config.json"]
        assert any(each.status in (0, 1) for each in done)
        for each in done:
            assert each.status in (0, 1) or "has changed since it was read" in each.line


def test_a_lock_that_is_never_given_back_is_one_line(folder, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="this system has no file locks")
    from dslint.fixing import locking
    from dslint.fixing.writing import Unwritable, write

    monkeypatch.setattr(locking, "PATIENCE", 0.05)
    path = folder / "ds_config.json"
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Unwritable, match="another program keeps it locked"):
            write(path, BAD, "{}")
    assert path.read_text(encoding="utf-8") == BAD


def test_a_file_that_changes_while_it_is_read_is_read_again(folder, monkeypatch):
    from dslint.fixing import writing

    path, times = folder / "ds_config.json", []
    fstat = os.fstat

    def changing(descriptor):
        if len(times) in (0, 2):
            os.utime(path, ns=(1, 10**9 + len(times)))
        times.append(1)
        if len(times) == 2:
            path.write_text('{"longer": "than before"}' + " " * 500, encoding="utf-8")
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", changing)
    assert writing.read(path, "x").text.startswith('{"longer"')


def test_a_file_that_never_rests_is_one_line(folder, monkeypatch):
    from dslint.fixing import writing

    fstat, count = os.fstat, iter(range(10**6))

    def restless(descriptor):
        os.utime(folder / "ds_config.json", ns=(1, 10**9 + next(count)))
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", restless)
    with pytest.raises(writing.Unreadable, match="it is being written all the time"):
        writing.read(folder / "ds_config.json", "x")
