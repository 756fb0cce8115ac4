"""Static evaluation against Python itself: whatever is said to be known is what a run gives.

Programs are made up from what scripts do to their configs: literals, changes by key, `update`, copies,
aliases, objects put into others, branches, loops and functions. They are executed here, which the reader
never does.
"""

from __future__ import annotations

import copy
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.python import read_program
from dslint.documents.tree import UNKNOWN, Source

NAMES = ["a", "b", "c"]
KEYS = ["stage", "fp16", "k"]
EXAMPLES = int(os.environ.get("DSLINT_FUZZ", "300"))

names = st.sampled_from(NAMES)
keys = st.sampled_from(KEYS)
scalars = st.one_of(
    st.integers(0, 9).map(str),
    st.sampled_from(["True", "None", "'x'", "1024 * 2", "unknown()", "SIZE", "-1.5", "f'{SIZE}x'"]),
)
paths = st.lists(keys, min_size=1, max_size=2).map(lambda path: "".join(f"[{key!r}]" for key in path))


@st.composite
def literals(draw, depth=2):
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.integers(0, 9))
        key = draw(keys)
        if kind < 6 or depth == 0:
            parts.append(f"{key!r}: {draw(scalars)}")
        elif kind < 8:
            parts.append(f"{key!r}: {draw(literals(depth - 1))}")
        elif kind == 8:
            parts.append(f"**{draw(names)}")
        else:
            parts.append(f"{key!r}: {draw(names)}")
    return "{" + ", ".join(parts) + "}"


values = st.one_of(
    scalars,
    literals(),
    names,
    st.tuples(names, paths).map("".join),
    names.map(lambda name: f"{name}.copy()"),
    names.map(lambda name: f"copy.deepcopy({name})"),
    st.tuples(names, keys).map(lambda pair: f"dict({pair[0]}, {pair[1]}=1)"),
    st.tuples(names, keys).map(lambda pair: f"{pair[0]}.get({pair[1]!r}, 3)"),
    st.tuples(names, names).map(lambda pair: f"({pair[0]} | {pair[1]})"),
    st.tuples(names, names).map(lambda pair: f"({pair[0]} if unknown() else {pair[1]})"),
    st.tuples(names, names).map(lambda pair: f"({pair[0]} or {pair[1]})"),
    names.map(lambda name: f"same({name})"),
    names.map(lambda name: f"wrapped({name})"),
)
simple = st.one_of(
    st.tuples(names, values).map(lambda pair: f"{pair[0]} = {pair[1]}"),
    st.tuples(names, literals()).map(lambda pair: f"{pair[0]} = {pair[1]}"),
    st.tuples(names, paths, values).map(lambda triple: f"{triple[0]}{triple[1]} = {triple[2]}"),
    st.tuples(names, literals()).map(lambda pair: f"{pair[0]}.update({pair[1]})"),
    st.tuples(names, keys, values).map(lambda triple: f"{triple[0]}.update({triple[1]}={triple[2]})"),
    st.tuples(names, keys).map(lambda pair: f"{pair[0]}.pop({pair[1]!r}, None)"),
    st.tuples(names, keys).map(lambda pair: f"{pair[0]}.setdefault({pair[1]!r}, 7)"),
    st.tuples(names, literals()).map(lambda pair: f"{pair[0]} |= {pair[1]}"),
    st.tuples(names, scalars).map(lambda pair: f"{pair[0]}[key()] = {pair[1]}"),
    names.map(lambda name: f"change({name})"),
    names.map(lambda name: f"read({name})"),
    names.map(lambda name: f"print({name})"),
    st.tuples(names, names).map(lambda pair: f"{pair[0]}, {pair[1]} = {{}}, {{'k': 1}}"),
    st.tuples(names, names).map(lambda pair: f"{pair[0]} = {pair[1]} = {{'stage': 2}}"),
)


@st.composite
def blocks(draw, depth=2, indent=""):
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 9)) if depth else 0
        if kind < 6:
            lines.append(indent + draw(simple))
        elif kind < 8:
            lines.append(f"{indent}if unknown():")
            lines.append(draw(blocks(depth - 1, indent + "    ")))
            if draw(st.booleans()):
                lines.append(f"{indent}else:")
                lines.append(draw(blocks(depth - 1, indent + "    ")))
        elif kind == 8:
            lines.append(f"{indent}for _ in range(times()):")
            lines.append(draw(blocks(depth - 1, indent + "    ")))
        else:
            lines.append(f"{indent}for v in [{draw(names)}, {draw(names)}]:")
            lines.append(f"{indent}    v[{draw(keys)!r}] = {draw(scalars)}")
    return "\n".join(lines)


HEAD = """import copy, deepspeed
SIZE = 512
def same(x):
    return x
def wrapped(x):
    return {"k": x, "stage": SIZE}
def change(x):
    x["k"] = {"stage": 0}
def read(x):
    print(x)
a = {"stage": 1}
b = {"fp16": {"stage": 2}, "stage": 3}
c = {"k": a}
"""


class Stop(Exception):
    """A made-up program that doesn't run to its end tells nothing."""


def run(code: str, answers: list[int]) -> list:
    """What `observe` is given, as deep copies, when unknown things come out as `answers` say."""
    seen: list = []
    turn = iter(range(10**6))

    def answer() -> int:
        return answers[next(turn) % len(answers)]

    class Library:
        @staticmethod
        def initialize(config):
            json.dumps(config)  # a dict inside of itself is no config: ValueError
            seen.append(copy.deepcopy(config))

    scope = {
        "unknown": lambda: answer() % 2,
        "times": lambda: answer() % 3,
        "key": lambda: KEYS[answer() % 3],
        "print": lambda value: None,
    }
    code = code.replace("import copy, deepspeed", "import copy")
    try:
        exec(compile(code, "made-up", "exec"), {**scope, "deepspeed": Library})
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise Stop from error
    return seen


def contradiction(node, actual) -> str:
    """Where a tree says something else than a run; "" when it doesn't."""
    if node.kind == "unknown":
        return ""
    if node.kind == "object":
        if not isinstance(actual, dict):
            return f"{actual!r} is no dict"
        known = {member.key for member in node.members}
        for member in map(node.member, known):
            # What may be removed is unknown, not absent.
            if member.key not in actual:
                if member.node.kind != "unknown":
                    return f"{member.key} is absent"
                continue
            inner = contradiction(member.node, actual[member.key])
            if inner:
                return f"{member.key}: {inner}"
        return "" if node.open or set(actual) <= known else f"{set(actual) - known} not seen"
    return (
        ""
        if node.value == actual and type(node.value) is type(actual)
        else f"{actual!r} is not {node.value!r}"
    )


def check(code: str, answers: list[int]) -> None:
    program = read_program(Source("made_up.py", code))
    assert program.problem is None
    try:
        seen = run(code, answers)
    except Stop:
        return
    calls = program.named("deepspeed.initialize")
    assert len(calls) == 1
    given = calls[0].arguments["config"]
    if given.node is None:
        return
    for actual in seen:
        found = contradiction(given.node, actual)
        assert not found, f"{found}\n{code}"
        if given.value is not UNKNOWN and given.node.kind not in ("object", "array"):
            assert given.value == actual


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks(), names, st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_what_is_known_of_a_module_is_what_a_run_gives(body, name, answers):
    check(f"{HEAD}{body}\ndeepspeed.initialize(config={name})\n", answers)


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks(), blocks(indent="    "), names, st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_what_is_known_in_a_function_is_what_a_run_gives(body, inside, name, answers):
    # The names that the function binds itself are its own from its start.
    own = "    a, b, c = {}, {'k': 1}, {'stage': 2}\n"
    check(
        f"{HEAD}{body}\ndef main(a):\n{own}{inside}\n    deepspeed.initialize(config={name})\nmain(b)\n",
        answers,
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks(), st.integers(0, 3), names, st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_what_is_known_of_a_parameter_is_what_a_run_gives(body, changes, name, answers):
    inside = "".join(f"    config[{key!r}] = {number}\n" for number, key in enumerate(KEYS[:changes]))
    check(
        f"{HEAD}{body}\ndef main(config):\n{inside}    deepspeed.initialize(config=config)\nmain({name})\n"
        f"{name}['stage'] = 99\n",
        answers,
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks(indent="        "), names, st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_what_is_known_of_an_attribute_is_what_a_run_gives(body, name, answers):
    own = "        a, b, c = {}, {'k': 1}, {'stage': 2}\n"
    check(
        f"{HEAD}class Job:\n    def __init__(self):\n{own}{body}\n        self.config = {name}\n"
        f"        {name}['fp16'] = 5\n        if unknown():\n            self.config['k'] = 8\n"
        "    def run(self):\n        deepspeed.initialize(config=self.config)\nJob().run()\n",
        answers,
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(blocks(), names, blocks(depth=1), st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_what_is_known_in_a_loop_is_what_a_run_gives(body, name, after, answers):
    indented = "\n".join(f"    {line}" for line in after.splitlines())
    check(f"{HEAD}{body}\nfor _ in range(2):\n    deepspeed.initialize(config={name})\n{indented}\n", answers)


@pytest.mark.parametrize(
    "body",
    [
        "c['k']['stage'] = 0\na['stage'] = 1",
        "d = a\nd['stage'] = 0\na['stage'] = 1\nc = d",
        "c = dict(k=a)\nc['k'].update(stage=0)\na['stage'] = 1",
        "a.update(stage=a.get('stage', 3))",
    ],
)
def test_two_names_of_one_object_change_it_in_no_known_order(body):
    check(f"{HEAD}{body}\ndeepspeed.initialize(config=c)\n", [0])
    check(f"{HEAD}{body}\nfor _ in range(2):\n    deepspeed.initialize(config=c)\n    a['stage'] = 7\n", [0])
