"""Settings files: settings, or one line that says what is wrong; nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dslint.settings import READERS, SettingsError, of_folder, selected, severity_of, shown
from fuzz import seeds as seed

WORDS: Final = (
    *(
        "[tool.dslint]\n",
        "[tool.dslint.severity]\n",
        " = ",
        '"""',
        "'''",
        "[",
        "]",
        "{",
        "}",
        '"DS201"',
        "true",
    ),
    *(
        "1979-05-27T07:32:00Z",
        "inf",
        "nan",
        "0x1",
        "[[",
        "]]",
        ".",
        "#",
        "\r\n",
        "\\u0041",
        "\ufeff",
        *READERS,
    ),
)
FOLDER: Final = Path(tempfile.mkdtemp(prefix="dslint-fuzz-"))


def seeds() -> Iterator[bytes]:
    yield from (b"\x00" + text for text in seed.blocks("toml"))
    yield b"\x01" + (seed.ROOT / "pyproject.toml").read_bytes()
    yield b'\x00select = ["DS2"]\nignore = ["DS201"]\nfail-on = "error"\n[severity]\nDS201 = "info"\n'
    yield b'\x01[tool.dslint]\nworld-size = 8\nrules = ["a"]\n[tool.dslint.per-file-ignores]\n"x/*" = ["DS2"]\n'


def one(data: bytes) -> None:
    """The first byte chooses dslint.toml or pyproject.toml."""
    name, other = ("dslint.toml", "pyproject.toml")[:: 1 if not data or data[0] % 2 == 0 else -1]
    (FOLDER / other).unlink(missing_ok=True)
    (FOLDER / name).write_bytes(data[1:])
    try:
        settings = of_folder(str(FOLDER))
    except SettingsError as error:
        assert "\n" not in str(error).strip(), f"more than a line: {error}"
        return
    if settings is not None:
        shown(settings)
        selected("DS201", "fp16-and-bf16", settings)
        severity_of("DS201", "fp16-and-bf16", "error", settings)
