"""Scripts inside commands: what `bash -c "…"`, `ssh host "…"` and their like are given to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dslint.documents.shell_words import Piece, Word

SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash"})
# Programs that start the program in their arguments, so that a `bash -c "…"` among them is run.
WRAPPERS: Final = frozenset(
    [
        "srun",
        "mpirun",
        "mpiexec",
        "horovodrun",
        "jsrun",
        "aprun",
        "ibrun",
        "orterun",
        "sudo",
        "env",
        "nohup",
        "time",
        "timeout",
        "exec",
        "command",
        "numactl",
        "taskset",
        "nice",
        "ionice",
        "stdbuf",
        "setsid",
        "singularity",
        "apptainer",
        "docker",
        "podman",
        "nerdctl",
        "kubectl",
        "ssh",
        "xargs",
        "parallel",
        "screen",
        "tmux",
        "conda",
        "mamba",
        "micromamba",
        "poetry",
        "uv",
        "pipenv",
        "pdm",
        "pixi",
        "hatch",
        "unbuffer",
        "strace",
        "nsys",
        "ncu",
        "pdsh",
        "enroot",
        "salloc",
        "sbatch",
        "su",
        "script",
        "watch",
        "flock",
    ]
)
# Those whose programs do not see this script's variables and folder.
REMOTE: Final = frozenset({"ssh", "docker", "podman", "nerdctl", "kubectl", "pdsh", "su"})
BATCH: Final = frozenset({"sbatch", "qsub", "bsub", "salloc"})


def names_of(words: Sequence[Word]) -> list[str]:
    """The words that are known, without the folders in front of programs' names."""
    return [word.text.rpartition("/")[2] for word in words if isinstance(word.text, str)]


def script_argument(words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Piece]] | None:
    """The words in front of a shell that a command starts, and the script that the shell is given."""
    name = names_of(words[:1])[0] if isinstance(words[0].text, str) else None
    if name in SHELLS or name in WRAPPERS or name is None:
        for index, argument in enumerate(words):
            text = argument.text
            if isinstance(text, str) and text.rpartition("/")[2] in SHELLS:
                script = after_c(words[index + 1 :])
                if script is not None:
                    return words[:index], script.pieces
    if name in ("sbatch", "salloc"):
        for index, argument in enumerate(words):
            if argument.prefix.startswith("--wrap="):
                return words[:index], argument.after(7).pieces
            if argument.text == "--wrap" and index + 1 < len(words):
                return words[:index], words[index + 1].pieces
    if (
        name == "ssh"
        and len(words) > 2
        and isinstance(words[-1].text, str)
        and words[-1].quoted
        and " " in words[-1].text
    ):
        return words[:-1], words[-1].pieces
    if name in ("tmux", "screen", "pdsh", "su", "script", "docker", "kubectl") and words[-1].quoted:
        last = next(
            (argument for argument in reversed(words) if argument.text not in ("C-m", "Enter", "ENTER")),
            words[-1],
        )
        if last.quoted and isinstance(last.text, str) and " " in last.text:
            return words[: words.index(last)], last.pieces
    return None


def after_c(words: Sequence[Word]) -> Word | None:
    """The script of `bash -lc "…"`."""
    index = 0
    while index < len(words):
        text = words[index].text
        if not isinstance(text, str) or text[:1] not in ("-", "+"):
            return None
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", text):
            if index + 1 < len(words) and words[index + 1].text in ("-o", "+o") and index + 3 < len(words):
                index += 2
            return words[index + 1] if index + 1 < len(words) else None
        index += 2 if re.fullmatch(r"[-+][A-Za-z]*o|[-+]O", text) else 1
    return None
