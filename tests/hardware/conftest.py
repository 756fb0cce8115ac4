"""The real engine, where it is installed."""

import importlib
import os

import pytest


@pytest.fixture(scope="session")
def deepspeed():
    """DeepSpeed on a CPU; its tests are skipped where it is not installed."""
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    try:
        return importlib.import_module("deepspeed")
    except ImportError as error:
        pytest.skip(f"DeepSpeed is not installed, so its own figures were not compared: {error}")
