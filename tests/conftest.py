"""What all tests share: where the repository and the real files beside it lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import SHARED


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real configs, beside the repository; tests that need it are skipped where it is absent."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip(f"the real files are not here: {folder} is absent, so nothing was checked against them")
    return folder
