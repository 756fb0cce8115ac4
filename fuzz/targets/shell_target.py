"""The shell, Makefile and Dockerfile readers: never raise, spans in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dslint.documents.json import parse
from dslint.documents.shell import read_script
from dslint.documents.tree import Source
from dslint.launches.commands import launch_commands
from fuzz import seeds as seed
from fuzz.promises import check_document, check_script, text_of

NAMES: Final = ("a.sh", "Makefile", "Dockerfile")
WORDS: Final = (
    *[
        "$",
        "${",
        "}",
        "'",
        '"',
        "`",
        "$(",
        "((",
        "))",
        "|",
        "&&",
        "||",
        ";",
        "if",
        "then",
        "fi",
        "for",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "[[",
        "]]",
        "A=",
        "A+=(",
        "{a,b}",
        "~/",
        "2>&1",
        ">",
        "<<EOF",
    ],
    *[
        "deepspeed",
        "torchrun",
        "srun",
        "bash",
        "eval",
        "source",
        "cd",
        "shift",
        "set",
        "export",
        "unset",
        "read",
        "tee",
        "sbatch",
        "python",
        "docker",
        "exit",
    ],
    *[
        "return",
        "echo",
        "accelerate",
        "launch",
        "while",
        "function",
        "--nnodes",
        "--deepspeed",
        "--deepspeed_config",
        "--num_gpus",
        "#SBATCH",
    ],
    *[
        "{{x}}",
        "${A[@]}",
        "${!A}",
        "${#A}",
        "${A:-",
        "${A%%",
        "$((",
        "$@",
        "$1",
        "<<-E",
        "EOF",
        "ENV",
        "RUN",
        "CMD",
        "FROM",
        ".PHONY:",
        "$(MAKE)",
        "ds.json",
    ],
    *("\\\n", "\n", "\r\n", "\t@"),
)


def seeds() -> Iterator[bytes]:
    for text in (
        *seed.examples(".sh"),
        *seed.files(seed.CORPUS, "*.sh"),
        *seed.blocks("sh", "bash", "console"),
    ):
        yield b"\x00" + text
    for text in (*seed.examples("Makefile", ".mk"), (seed.ROOT / "Makefile").read_bytes()):
        yield b"\x01" + text
    yield from (b"\x02" + text for text in seed.examples("Dockerfile"))
    yield b'\x02FROM x\nENV A=1\nRUN deepspeed train.py --deepspeed ds.json\nCMD ["torchrun", "t.py"]\n'


def one(data: bytes) -> None:
    """The first byte chooses the kind of file."""
    name = NAMES[data[0] % len(NAMES)] if data else NAMES[0]
    source = Source(name, text_of(data[1:]))
    script = read_script(source)
    check_script(script, len(source.text))
    for heredoc in script.heredocs:
        check_document(parse(source, heredoc.start, heredoc.end, heredoc.substitute))
    launch_commands(script)
