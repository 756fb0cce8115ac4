"""The linter and auto-fixer for DeepSpeed training.

`dslint.lint(path)` and `dslint.fix(path)` are the Python API; they are imported when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dslint.api import Fixed, fix, lint
    from dslint.rules.finding import Finding

__version__ = "0.1.0"
__all__ = ["Finding", "Fixed", "__version__", "fix", "lint"]


def __getattr__(name: str) -> Any:
    # A cold start of the command needs none of these.
    if name in ("Fixed", "fix", "lint"):
        from dslint import api

        return getattr(api, name)
    if name == "Finding":
        from dslint.rules.finding import Finding

        return Finding
    raise AttributeError(f"module 'dslint' has no attribute {name!r}")
