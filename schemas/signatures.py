"""Reads the optimizers and schedulers that a release builds, and the parameters that they really take."""

from __future__ import annotations

from typing import Any

from reading import Package


def optimizer_table(package: Package, overlay: dict[str, Any]) -> dict[str, Any]:
    return {}


def scheduler_table(package: Package) -> dict[str, Any]:
    return {}
