"""Where the rule book and the schemas lie: beside the package in an installed wheel, at the root of a checkout."""

from __future__ import annotations

import os
from typing import Final

PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))
INSTALLED: Final = os.path.join(PACKAGE, "data")
CHECKOUT: Final = os.path.dirname(PACKAGE)


def is_checkout() -> bool:
    """Does this package stand in its source tree, where rule files can change under it?"""
    return not os.path.isdir(INSTALLED)


def folder(name: str) -> str:
    """The path of the folder `rules` or `schemas`."""
    return os.path.join(CHECKOUT if is_checkout() else INSTALLED, name)
