"""Files that somebody made to keep a reader busy: a megabyte of each kind, and others just within what dslint reads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator

MEGABYTE = 1_000_000
# Just within the bounds: what is longer is left out, which takes no time.
CONFIG, PROGRAM, SCRIPT, DOCUMENT, SETTINGS, RULE = 395_000, 345_000, 245_000, 98_000, 195_000, 49_000


def filled(head: str, piece: str, tail: str, size: int) -> str:
    return head + piece * ((size - len(head) - len(tail)) // len(piece)) + tail


def numbered(head: str, piece: str, tail: str, size: int) -> str:
    """Pieces with their numbers in them, as many as fit."""
    count = (size - len(head) - len(tail)) // (len(piece) + 5)
    return head + "".join(piece.replace("#", str(number)) for number in range(count)) + tail


START = '{"train_batch_size": 8, "x": '


def configs(size: int) -> Iterator[tuple[str, str]]:
    for piece in (
        "[",
        '{"a":',
        "{{ ",
        '"',
        "'''\n",
        ":",
        ",",
        "}",
        "a: b c, {\n",
        "/* ",
        "// a\n",
        "\\",
        "$A",
        "9",
        "a, ",
    ):
        yield f"many {piece!r}", filled(START, piece, "", size)
    yield "a long text", filled(START + '"', "a", '"}', size)
    yield "escapes", filled(START + '"', "\\u00e9", '"}', size)
    yield "keys", numbered('{"train_batch_size": 8', ', "k#": 1', "}", size)
    yield (
        "keys in a block",
        numbered('{"train_batch_size": 8, "zero_optimization": {"a": 1', ', "k#": 1', "}}", size),
    )
    yield "slips", numbered('{"train_batch_size": 8', ', "train_batch_siz#": 1', "}", size)
    yield "one key", filled('{"train_batch_size": 8', ', "a": 1', "}", size)
    yield "auto", numbered('{"train_batch_size": "auto"', ', "k#": "auto"', "}", size)
    yield "items", filled(START + "[1", ",1", "]}", size)
    yield "objects", filled(START + "[{}", ",{}", "]}", size)


def yamls(size: int) -> Iterator[tuple[str, str]]:
    head = "distributed_type: DEEPSPEED\n"
    for piece in (
        "[",
        "{a: ",
        "- ",
        "? ",
        "'",
        '"',
        "\t#",
        "{{",
        "${",
        "<",
        "&a ",
        "*a ",
        "---\na: 1\n",
        "%",
        "!!x ",
    ):
        yield f"many {piece!r}", filled(head + "x: ", piece, "\n", size)
    yield "keys", numbered(head, "k#: 1\n", "", size)
    yield "depth", head + "".join(" " * depth + "a:\n" for depth in range(400))
    names = "abcdefghijklm"
    bomb = "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in itertools.pairwise(names))
    yield "a bomb of aliases", f"{head}a: &a [x, x]\n{bomb}"
    merges = "".join(f"b{n + 1}: &b{n + 1} {{<<: [*b{n}, *b{n}], y{n}: 1}}\n" for n in range(60))
    yield "a bomb of merges", f"{head}b0: &b0 {{x: 1}}\n{merges}"


def scripts(size: int) -> Iterator[tuple[str, str]]:
    head = "deepspeed t.py --deepspeed ds.json\n"
    for piece in (
        "(",
        "$(",
        "`",
        "'",
        "{{",
        "if a; then\n",
        "case $a in\n x)\n",
        "cat <<E > a.json\n",
        'A="$A$A"\n',
        "a && ",
    ):
        yield f"many {piece!r}", filled(head, piece, "", size)
    yield "one command", filled("deepspeed t.py \\\n", "  --x 1 \\\n", "", size)
    yield "a heredoc", filled(head + 'cat <<E > ds.json\n{"train_batch_size": "', "$A", "\n}\nE\n", size)
    yield "functions", "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(3000)) + "f0\n" + head
    yield (
        "loops",
        "for a in 1 2 3 4 5 6 7 8 9; do\n" * 30 + "deepspeed t.py --deepspeed $a.json\n" + "done\n" * 30,
    )
    yield (
        "a range",
        "deepspeed t.py --num_gpus {1..1000000000}\nfor i in $(seq 1 100000000); do deepspeed t.py; done\n",
    )
    yield "arithmetic", "deepspeed t.py --num_gpus $((9**9**9**9)) --x $((" + "1+" * 100_000 + "1))\n"


LIBRARY = "import deepspeed\n"
CALL = "deepspeed.initialize(config=c)\n"


def programs(size: int) -> Iterator[tuple[str, str]]:
    yield "calls", filled(LIBRARY + "c={}\n", CALL, "", size)
    yield "assignments", numbered(LIBRARY + "c={}\n", "c['k#']=#\n", CALL, size)
    yield "updates", filled(LIBRARY + "c={}\n", "c.update(c)\n", CALL, size)
    yield "a dictionary", numbered(LIBRARY + "c={", "'k#':1,", "}\n" + CALL, size)
    yield "sums", filled(LIBRARY + "c={'a':", "1+", "1}\n" + CALL, size)
    yield "brackets", filled(LIBRARY + "c=", "[", "", size)
    yield "attributes", filled(LIBRARY + "c=a", ".b", "\n" + CALL, size)
    yield "classes", LIBRARY + "".join(f"class A{n}(A{n - 1}): pass\n" for n in range(size // 30)) + CALL
    yield (
        "functions",
        LIBRARY
        + "".join(f"def f{n}(c=1):\n return {{'a':f{n + 1}(),'b':f{n + 1}()}}\n" for n in range(size // 60))
        + "c=f0()\n"
        + CALL,
    )
    yield "an f-string", filled(LIBRARY + "c={'a': f'", "{a}", "'}\n" + CALL, size)
    yield (
        "powers",
        LIBRARY
        + "c={'a':9**9**9**9,'b':'x'*10**12,'c':[1]*10**12,'d':1<<10**10,'e':f'{1:1000000000}'}\n"
        + CALL,
    )
    yield "growth", LIBRARY + "c={'a':1}\n" + "".join(f"c={{'x{n}':c,'y{n}':c}}\n" for n in range(40)) + CALL
    yield (
        "branches",
        LIBRARY + "c={}\n" + "".join(f"if a:\n c={{'x{n}':1}}\n" for n in range(size // 25)) + CALL,
    )


def notebooks(size: int) -> Iterator[tuple[str, str]]:
    for name, code in programs(PROGRAM - 100_000):
        yield name, json.dumps(notebook(code))
    yield "cells", json.dumps(notebook(LIBRARY + "c={}\n" + CALL, count=size // 150))
    yield "magics", json.dumps(notebook(filled(LIBRARY, "%time x\n!deepspeed {x} t.py\n", "", size // 3)))
    yield "brackets", filled('{"cells": ', "[", ' "deepspeed.initialize("', size)
    yield "outputs", json.dumps(notebook(LIBRARY + "c={}\n" + CALL) | {"x": "a" * (size - 500)})


def notebook(code: str, count: int = 1) -> dict[str, object]:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": code}
    return {"cells": [cell] * count, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def logs(size: int) -> Iterator[tuple[str, str]]:
    head = "deepspeed\n"
    for piece in (
        "a\n",
        "a\r",
        "[",
        "'",
        " ",
        "[rank0]: ",
        "\x1b[31m",
        "deepspeed error: ",
        "9",
        "'a', ",
        "loss scale ",
    ):
        yield f"many {piece!r}", filled(head, piece, "", size)
    yield "tracebacks", filled(head, "Traceback (most recent call last):\n", "", size)
    yield (
        "errors",
        filled(
            head,
            'Traceback (most recent call last):\n  File "x.py", line 1, in f\nAssertionError: x\n',
            "",
            size,
        ),
    )
    yield (
        "overflows",
        filled(
            head, "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n", "", size
        ),
    )
    yield "losses", filled(head, "{'loss': 1.0, 'grad_norm': nan, 'learning_rate': 0.0}\n", "", size)
    yield (
        "complaints",
        filled(
            "1 validation error for DeepSpeedZeroConfig\n",
            "stage\n  Input should be a valid integer\n",
            "",
            size,
        ),
    )


def settings(size: int) -> Iterator[tuple[str, str]]:
    yield "selectors", filled("select = [", '"DS2",', "]\n", size)
    yield "brackets", filled("select = ", "[", "", size)
    yield "tables", filled("a = ", "{a=", "", size)
    yield "a key of dots", filled("a", ".a", " = 1\n", size)
    yield "dotted keys", numbered("", "a.b#.c = 1\n", "", size)
    yield "a long text", filled('hardware = "', "a", '"\n', size)
    yield "digits", filled("world-size = ", "9", "\n", size)
    yield "ignores", numbered("[per-file-ignores]\n", '"a#*" = ["DS2"]\n', "", size)
    yield "stars", filled('exclude = ["', "*a", '"]\n', size)
    yield "patterns", numbered("exclude = [", '"**/a#/**",', "]\n", size)


HEAD = "code: OWN001\nname: mine\nseverity: error\nsummary: Mine\nmessage: wrong\nwhy: Because.\nsources: [wiki]\n"
EXAMPLES = "examples:\n  - bad: '{}'\n"


def rules(size: int) -> Iterator[tuple[str, str]]:
    yield "a long text", filled(HEAD + "when: {x: 1}\nexamples:\n  - bad: '", "a", "'\n", size)
    yield "keys", numbered(HEAD + "when:\n", "  k#: 1\n", EXAMPLES, size)
    yield "brackets", filled(HEAD + "when: ", "[", "", size)
    yield "a catastrophe", HEAD + "when: {x: {pattern: '(a+)+$'}}\n" + EXAMPLES
    yield "values", numbered(HEAD + "when: {train_batch_size: {enum: [", "#,", "]}}\n" + EXAMPLES, size)


Kind = tuple[str, Callable[[int], Iterator[tuple[str, str]]], tuple[int, ...]]
KINDS: dict[str, Kind] = {
    "json": ("ds_config.json", configs, (CONFIG, MEGABYTE)),
    "yaml": ("a.yaml", yamls, (DOCUMENT, MEGABYTE)),
    "sh": ("a.sh", scripts, (SCRIPT, MEGABYTE)),
    "py": ("a.py", programs, (PROGRAM, MEGABYTE)),
    "ipynb": ("a.ipynb", notebooks, (MEGABYTE,)),
    "log": ("a.log", logs, (MEGABYTE,)),
    "settings": ("dslint.toml", settings, (SETTINGS, MEGABYTE)),
    "rule": ("own/rule.yaml", rules, (RULE, MEGABYTE)),
}
