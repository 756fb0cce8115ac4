from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository, pinned so that no release that is installed here plays a part."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("deepspeed==0.19.8\n")
    return tmp_path


@pytest.fixture
def edit(folder: Path) -> Iterator[Callable[..., Editor]]:
    """Starts editors on the folder; what a test leaves running is ended."""
    started: list[Editor] = []

    def start(**capabilities: Any) -> Editor:
        editor = Editor(folder, **capabilities)
        started.append(editor)
        editor.greeting = editor.start()
        return editor

    yield start
    for editor in started:
        editor.kill()
