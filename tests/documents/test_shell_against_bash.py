"""The words that are read from a script are those that bash itself hands to a program."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dslint.documents.script import Command
from dslint.documents.shell import read_script
from dslint.documents.tree import Source

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(
    BASH is None, reason="bash isn't installed, so nothing can be held against it"
)

# Every word that `probe` gets, ended by \x01; every call ended by \x02.
PRELUDE = "exec 9>&1\nprobe() { { [ $# -gt 0 ] && printf '%s\\1' \"$@\"; printf '\\2'; } >&9; }\n"


FIRST = "A=one\nB='two three'\nC=\nLONG_NAME=dir/file.json\nN=8\nARR=(--x 1)\n"


def words_of_bash(script: str) -> list[list[str]]:
    done = subprocess.run(
        [BASH, "--norc", "-c", PRELUDE + script],
        capture_output=True,
        env={"PATH": "/nowhere", "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
    )
    out = done.stdout.decode("utf-8", "surrogateescape")
    return [call.split("\x01")[:-1] for call in out.split("\x02")[:-1]]


def words_read(script: str) -> list[tuple[list[object], bool]]:
    commands = read_script(Source("train.sh", script)).commands
    return [
        ([word.text for word in c.words[1:]], may_split(c)) for c in commands if c.words[0].text == "probe"
    ]


def may_split(command: Command) -> bool:
    """A text that is unknown in part and stands unquoted is taken for one word, but may be several in a run."""
    return command.open or any(piece.splits or piece.many for word in command.words for piece in word.pieces)


def agrees(read: tuple[list[object], bool], real: list[str]) -> bool:
    words, is_open = read
    if is_open:
        return True
    return len(words) == len(real) and all(
        not isinstance(w, str) or w == r for w, r in zip(words, real, strict=True)
    )


def assert_same(script: str) -> None:
    read, real = words_read(script), words_of_bash(script)
    assert len(read) == len(real), (script, read, real)
    for one, other in zip(read, real, strict=True):
        assert agrees(one, other), (script, one, other)


ATOMS = st.sampled_from(
    [
        "--lr",
        "1e-4",
        "a",
        "b c",
        "ds.json",
        "",
        "-x",
        "it's",
        'say "x"',
        "é",
        "a\\b",
        "#no",
        "x=1",
        "{",
        "~",
        "%",
    ]
)
NAMES = st.sampled_from(["A", "B", "C", "LONG_NAME"])


@st.composite
def parts(draw, arrays: bool = True) -> str:
    kind = draw(st.integers(0, 9 if arrays else 7))
    text = draw(ATOMS)
    name = draw(NAMES)
    if kind == 0:
        return "".join(c for c in text if c.isalnum() or c in "-.=/_") or "w"
    if kind == 1:
        return "'" + text.replace("'", "") + "'"
    if kind == 2:
        escaped = "".join("\\" + c if c in '"\\$`' else c for c in text)
        return f'"{escaped}"'
    if kind == 3:
        return f"${{{name}}}"
    if kind == 4:
        return f'"${name} and ${{{name}}}x"'
    if kind == 5:
        return f"${{{name}:-{draw(st.sampled_from(['d', 'd e', '$B', '-q']))}}}"
    if kind == 6 and draw(st.booleans()):
        other = draw(NAMES)
        return f"${name}/${other}{draw(st.sampled_from(['/c', '.json', ',x=', '']))}"
    if kind == 6:
        return draw(
            st.sampled_from(
                [r"a\ b", r"\"q\"", r"\$A", "$((1 + 2 * 3))", "$((N / 2))", '"${#A}"', "${A%.*}", "${A##*/}"]
            )
        )
    if kind == 7:
        return f'"${{{name}:+alt}}"'
    if kind == 8:
        return '"${ARR[@]}"'
    return draw(st.sampled_from(["${ARR[@]}", "${ARR[0]}", "${ARR[1]}", "${#ARR[@]}", '"${ARR[*]}"']))


@st.composite
def words(draw, arrays: bool = True) -> str:
    return "".join(draw(st.lists(parts(arrays), min_size=1, max_size=3)))


@st.composite
def statements(draw) -> str:
    kind = draw(st.integers(0, 11))
    name = draw(NAMES)
    if kind <= 3:
        glue = draw(st.sampled_from([" ", " \\\n    ", "  "]))
        return glue.join(["probe", *draw(st.lists(words(), max_size=4))])
    if kind <= 5:
        return f"{name}={draw(words(arrays=False))}"
    if kind == 6:
        return f'{name}="${name} {draw(st.sampled_from(["--more", "x", "1 2"]))}"'
    if kind == 7:
        return f"{name}+={draw(words(arrays=False))}"
    if kind == 8:
        return f"ARR=({' '.join(draw(st.lists(words(), max_size=3)))})"
    if kind == 9:
        return f"ARR+=({' '.join(draw(st.lists(words(), max_size=3)))})"
    if kind == 10:
        return f"export {name}={draw(words(arrays=False))}"
    return f"unset {name}"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(statements(), min_size=1, max_size=8))
def test_straight_lines_give_the_words_that_bash_gives(lines):
    assert_same(FIRST + "\n".join(lines) + "\n")


CONDITIONS = st.sampled_from(
    ["true", "false", '[ -n "$A" ]', "[[ $A == one ]]", "[ $# -gt 0 ]", "test -z $C"]
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.builds("if {}; then\n{}\nfi".format, CONDITIONS, body),
        st.builds("if {}; then\n{}\nelse\n{}\nfi".format, CONDITIONS, body, body),
        st.builds("if {}; then\n{}\nelif {}; then\n{}\nfi".format, CONDITIONS, body, CONDITIONS, body),
        st.builds(
            "for I in {}; do\n{}\nprobe $I\ndone".format,
            st.sampled_from(["1 2", "x", "$B", '"${ARR[@]}"', ""]),
            body,
        ),
        st.builds("case $A in one) {}\n;; t*|x) {}\n;; esac".format, body, body),
        st.builds("case $A in one) {}\n;; *) {}\n;; esac".format, body, body),
        st.builds('while [ -n "$A" ]; do\n{}\nbreak\ndone'.format, body),
        st.builds("{} && {}".format, CONDITIONS, inner),
        st.builds("{} || {}".format, CONDITIONS, inner),
        st.builds("{} && {} || {}".format, CONDITIONS, inner, inner),
        st.builds("({}\n)".format, body),
        st.builds("{{ {}\n}}".format, body),
        st.builds("{} | cat".format, inner),
        st.builds('f() {{\n{}\nprobe "$@"\n}}\nf {}'.format, body, words()),
        st.builds("g() {{\nlocal A=in\n{}\nreturn\n}}\ng".format, body),
        st.builds("{} && exit".format, CONDITIONS),
        st.builds("C=$( {}\n)".format, body),
    )


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(st.recursive(statements(), compound, max_leaves=8), min_size=1, max_size=5))
def test_every_call_that_bash_makes_is_among_those_that_are_read(lines):
    script = FIRST + "\n".join(lines) + "\n"
    # A function that is defined anew inside itself may call itself for ever.
    assume(script.count("f() {") < 2 and script.count("g() {") < 2)
    read = words_read(script)
    for real in words_of_bash(script):
        assert any(agrees(one, real) for one in read), (script, read, real)


@pytest.mark.parametrize(
    "script",
    [
        'cmd="probe --lr 1e-4 \'a b\'"\neval $cmd\neval "$cmd --more"\n$cmd\n',
        'f() { probe "$1" $2 "$@" $#; shift; probe "$@"; }\nf \'a b\' c d\nf x\n',
        "f() { local A=in; probe $A; }\nA=out\nf\nprobe $A\n",
        "f() { A=in; return; probe never; }\nA=out\nf\nprobe $A\n",
        "A=1 && B=2 && probe $A $B\n",
        "A=1\n(A=2; probe $A)\nprobe $A\n",
        "A=1\nprobe $A | true\nA=2 true\nprobe $A\n",
        'X=$(cat <<EOF\na b\n  c $((1 + 1))\nEOF\n)\nprobe $X\nprobe "$X"\n',
        "probe $(echo a 'b c')\n",
        "A='x y'\nprobe \"$(echo $A)\" z\n",
        "for i in only; do probe $i; done\n",
        'set -- a \'b c\'\nprobe "$1" $2 "$@"\n',
        "A=x; B=A\nprobe ${!B}\n",
        "A=Mixed\nprobe ${A^^} ${A,,} ${A:1:3} ${A/x/y}\n",
        'probe a\\\nb "c\\\nd"\n',
        "probe a > /dev/null b 2>&1\nprobe 2>/dev/null c\n",
        "probe $'a\\tb' $'it\\'s' \"\"\n",
        "if true; then\n  probe a\nfi\n",
        "probe a; exit 0; probe b\n",
        "A=1\ntrue && A=2\nprobe $A\n",
        'probe {"a":1}\n',
        "probe a#b '#c' # d\n",
        "A='--a 1'\nA+=' --b 2'\nprobe $A \"$A\"\n",
        'ARGS=()\nARGS+=(--a "1 2")\nARGS+=(--b)\nprobe "${ARGS[@]}" ${ARGS[@]}\nprobe "${#ARGS[@]}"\n',
        "read -r -d '' ARGS <<EOF\n--a 1\n--b 2\nEOF\nprobe $ARGS\n",
        "A=5\nprobe $((A * 2)) $(( (A + 1) % 4 )) $((A / 2)) $((-A))\n",
        ': ${NEW:=value}\nprobe "$NEW"x\n',
        "declare -a L=(a b)\nprobe ${L[1]} ${L[@]}\n",
        'probe --x="a b"c \'d\'"e"f\n',
        'A=a\\ b\nprobe $A "$A"\n',
        "echo() { :; }\nA=' lead trail '\nprobe x$A y \"x${A}y\"\n",
        'probe "a $UNSET b" ${UNSET}\n',
        "probe a | cat | cat\nprobe b\nA=1\ntrue && probe $A\nprobe $A\n",
        "A=0\nfalse && A=1 || probe $A\nprobe $A\n",
        "true && false && exit || probe x\nprobe y\n",
        "false || exit\nprobe x\n",
        "A=a; B=b; C=c\nprobe $A/$B/c.$C --x=$A,y=$B,z $A-$B.json ./$A/$B/\nD=$A/$B/d\nprobe $D\n",
        'N=3; M=4\nD=" a "n=$N,m=$M" b "\nprobe $D\n',
        "A=a\nprobe \"\\$A $A \\\\$A\" '$A' \\$A \\\\$A $A$A ${A}$A\"$A\"'$A'\n",
        "A=a\nprobe $A# $A* x$A[1] $A:b {$A,$A}\n",
        "A='1 2'\nfor i in $A; do :; done\nprobe ${A} $A $1 $# \"$@\" end\n",
        "A=(x y); i=1\nprobe $A ${A[i]} ${A[$i]} ${A[-1]}\n",
        "A=one\ncase $A in one) probe yes;; esac\n[ $A = one ] && probe also\n",
    ],
)
def test_a_construct_gives_the_words_that_bash_gives(script):
    assert_same(script)


def test_a_branch_gives_each_call_that_bash_may_make():
    script = (
        'for s in 2 3; do if [ $s = 2 ]; then A="--two"; else A="--three"; fi; probe --stage $s $A; done\n'
    )
    (read,) = words_read(script)
    assert all(agrees(read, real) for real in words_of_bash(script))
