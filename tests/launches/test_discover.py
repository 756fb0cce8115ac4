"""Which files a run reads: by name and kind, what git ignores left out, nothing twice, nothing that hangs."""

import os

import pytest

from dslint.launches.discover import NoSuchPath, discover


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def shown(*paths, **patterns):
    return [file.shown for file in discover(paths, **patterns)]


def test_a_folder_gives_the_kinds_that_are_read_in_a_stable_order(folder):
    write(folder, "b.json", "a.sh", "c.txt", "sub/d.py", "sub/Makefile", "Dockerfile")
    assert shown(".") == ["Dockerfile", "a.sh", "b.json", "sub/Makefile", "sub/d.py"]


def test_what_git_ignores_is_left_out(folder):
    write(folder, "kept.json", "gone.json", "out/also.json", "sub/back.json")
    (folder / ".gitignore").write_text("*.json\n!kept.json\nout/\n")
    (folder / "sub" / ".gitignore").write_text("!back.json\n")
    assert shown(".") == ["kept.json", "sub/back.json"]


def test_a_gitignore_above_the_folder_counts_within_the_repository(folder):
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("secret.json\n")
    write(folder, "sub/secret.json", "sub/open.json")
    assert shown("sub") == ["sub/open.json"]


def test_environments_and_hidden_folders_are_left_out(folder):
    write(folder, ".hidden/a.json", "node_modules/b.json", "env/c.json", "env/pyvenv.cfg", "d.json")
    assert shown(".") == ["d.json"]


def test_a_file_given_twice_or_through_a_link_is_read_once(folder):
    write(folder, "a.json")
    (folder / "link.json").symlink_to("a.json")
    assert shown("a.json", "./a.json", "link.json", ".") == ["a.json"]


def test_a_loop_of_links_ends(folder):
    write(folder, "sub/a.json")
    (folder / "sub" / "up").symlink_to(folder)
    assert shown(".") == ["sub/a.json"]


def test_a_pipe_in_a_folder_is_no_file(folder):
    write(folder, "a.json")
    os.mkfifo(folder / "b.json")
    assert shown(".") == ["a.json"]


def test_settings_choose_among_what_folders_hold(folder):
    write(folder, "a.json", "b.json", "sub/c.json")
    assert shown(".", include=["sub/"]) == ["sub/c.json"]
    assert shown(".", exclude=["b.json"]) == ["a.json", "sub/c.json"]
    assert shown("b.json", exclude=["b.json"]) == []


def test_a_path_that_is_not_there_is_one_sentence(folder):
    with pytest.raises(NoSuchPath, match=r"gone\.json"):
        discover(["gone.json"])
