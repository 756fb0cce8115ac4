"""No text makes the shell reader raise, and every span lies in the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dslint.documents.shell import read_script
from dslint.documents.tree import Source
from dslint.launches.commands import launch_commands
from fuzz.promises import check_script

SHELL = """
$ ${ } " ' ` $( ) (( )) | && || ; if then fi for do done case esac in [[ ]] A= A+=( deepspeed torchrun --nnodes srun
bash -c eval # é {{x}} <ab> [@] ${A[@]} ${!A} ${#A} ${A:- ${A%% $(( source cd "$@" $1 shift set export unset read tee
#SBATCH exit return echo > sbatch python -m docker run accelerate launch while {a,b} * ~/ f() function 2>&1 ENV RUN CMD
[" t: `# \\
"""
TOKENS = st.sampled_from(
    [*SHELL.split(), "<<EOF\n", "EOF\n", "\\\n", "\n", "\x00", "\r\n", "\ue000", "\ud800", "\t@"]
)


def check(source: Source) -> None:
    script = read_script(source)
    check_script(script, len(source.text))
    for heredoc in script.heredocs:
        for text in ("$A", "${A}", "$(x)", "${A:-b}", "`y`", "$", "${", "${A[@]}", ""):
            heredoc.substitute(text)
    launch_commands(script)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["a.sh", "Makefile", "Dockerfile"]),
    st.lists(TOKENS, max_size=60),
    st.sampled_from([" ", "", "\n"]),
)
def test_shell_like_text_is_read(path, tokens, glue):
    check(Source(path, glue.join(tokens)))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["a.sh", "Makefile", "Dockerfile"]), st.text(max_size=300))
def test_any_text_is_read(path, text):
    check(Source(path, text))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 250_000,
        "deepspeed t.py" + " --x 1" * 20_000,
        "(" * 50_000,
        "a && " * 20_000 + "a",
        "if a; then\n" * 5_000,
        "$(" * 30_000,
        "{{" * 30_000,
        "`" * 50_000,
        "'" * 50_001,
        'A="$A x"\n' * 5_000,
        'A="$A$A"\n' * 5_000,
        "cat <<E\n" * 10_000,
        "#SBATCH --nodes=2\n" * 5_000,
        "\x00\x01\xff" * 20_000,
        "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }}\n" for i in range(300)) + "f0\n",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_large_and_odd_texts_end_soon(text):
    started = time.process_time()
    check(Source("a.sh", text))
    assert time.process_time() - started < 10


def test_a_text_of_a_megabyte_is_left_out():
    script = read_script(Source("a.sh", "deepspeed t.py\n" * 100_000))
    assert script.commands == ()
    assert not script.complete
