"""What all tests share: where the repository and the real files beside it lie, and how hypothesis chooses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from places import SHARED

pytest_plugins = ["proving"]

# The same examples in every run, so that a red build is red for all; `make fuzz` looks for new ones.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real configs, beside the repository; tests that need it are skipped where it is absent."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip(f"the real files are not here: {folder} is absent, so nothing was checked against them")
    return folder
