"""Where the repository and the real files beside it lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
