"""Notebooks: cells as one program, with every place in the notebook's own text."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents.notebook import read_notebook
from dslint.documents.tree import Source, walk

EXAMPLES = int(os.environ.get("DSLINT_FUZZ", "200"))


def notebook(*cells, language="python", indent=1, as_list=True, **options):
    """A notebook's text, as Jupyter writes it."""
    made = []
    for cell in cells:
        kind, code = cell if isinstance(cell, tuple) else ("code", cell)
        made.append(
            {"cell_type": kind, "metadata": {}, "source": code.splitlines(keepends=True) if as_list else code}
        )
        if kind == "code":
            made[-1].update(execution_count=None, outputs=[{"data": {"text/plain": "deepspeed {[,"}}])
    metadata = {"language_info": {"name": language}}
    content = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=indent, **options)


def read(text):
    return read_notebook(Source("train.ipynb", text))


def decoded(text, start, end):
    """What a piece of a JSON string's text says."""
    return json.loads(f'"{text[start:end]}"')


CELL = 'import deepspeed\nconfig = {"fp16": {"enabled": True}, "名": "é😀"}\n'


@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_places_are_those_of_the_notebooks_own_text(as_list, ensure_ascii, indent):
    text = notebook(
        CELL,
        "deepspeed.initialize(config=config)\n",
        as_list=as_list,
        ensure_ascii=ensure_ascii,
        indent=indent,
    )
    root = read(text).program.configs[0].document.root
    first, second = root.members
    assert decoded(text, first.key_start, first.key_end) == '"fp16"'
    assert decoded(text, first.node.start, first.node.end) == '{"enabled": True}'
    assert decoded(text, second.key_start, second.key_end) == '"名"'
    assert decoded(text, second.node.start, second.node.end) == '"é😀"'


def test_rows_and_columns_are_the_notebooks():
    text = notebook("import deepspeed\n\ndeepspeed.initialize(config={'a': 1})\n")
    read_source = Source("train.ipynb", text)
    call = read_notebook(read_source).program.calls[0]
    row = text[: call.start].count("\n") + 1
    assert read_source.position(call.start).row == row
    assert '"deepspeed.initialize' in read_source.line(row)


def test_text_cells_and_outputs_are_no_code():
    text = notebook(
        ("markdown", "deepspeed.initialize(config={'a': 1})"), "import deepspeed\n# initialize(\n"
    )
    assert read(text).program.calls == ()


def test_a_notebook_of_another_language_gives_nothing():
    assert read(notebook(CELL + "deepspeed.initialize(config=config)", language="julia")).program.calls == ()


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install deepspeed",
        "%%time",
        "%env A=1",
        "?print",
        "print?",
        "x = !ls",
        "x = %pwd",
    ],
)
def test_magics_do_not_keep_a_cell_from_being_read(magic):
    text = notebook(f"{magic}\nimport deepspeed\ndeepspeed.initialize(config={{'a': 1}})\n")
    found = read(text)
    assert found.program.problem is None
    (config,) = found.program.configs
    assert decoded(text, config.place.start, config.place.end) == "{'a': 1}"


def test_a_magic_within_a_block_keeps_the_block():
    text = notebook("import deepspeed\nif True:\n    !nvidia-smi\ndeepspeed.initialize(config={'a': 1})\n")
    assert len(read(text).program.configs) == 1


def test_a_percent_sign_that_goes_on_an_expression_is_no_magic():
    text = notebook("import deepspeed\nx = ('%s'\n     % deepspeed.initialize(config={'a': 1}))\n")
    assert len(read(text).program.configs) == 1


def test_a_cell_that_python_does_not_read_is_left_out():
    text = notebook("import deepspeed\n", "this is no python\n", "deepspeed.initialize(config={'a': 1})\n")
    found = read(text)
    assert found.program.problem is None
    assert len(found.program.configs) == 1


def test_commands_are_told_with_their_places():
    text = notebook(
        '!deepspeed --num_gpus 2 train.py \\\n    --name "x" --lr {lr}\nimport torch\n',
        "%%bash\nset -e\ndeepspeed a.py\n",
    )
    first, second = read(text).snippets
    assert first.kind == second.kind == "shell"
    assert first.content.text == 'deepspeed --num_gpus 2 train.py \\\n    --name "x" --lr $___\n'
    at = first.content.text.index('"x"')
    assert text[first.content.start(at) : first.content.end(at + 3)] == '\\"x\\"'
    assert second.content.text == "set -e\ndeepspeed a.py\n"
    assert "".join(piece for piece, _, _ in second.content.runs()) == second.content.text
    for piece, start, end in first.content.runs():
        if end - start == len(piece) and "$_" not in piece:
            assert text[start:end] == piece


def test_a_json_file_that_a_cell_writes_is_a_document():
    text = notebook('%%writefile conf/ds.json\n{\n  "fp16": {"enabled": true},\n}\n', "!deepspeed train.py\n")
    ((path, document),) = read(text).documents
    assert path == "conf/ds.json"
    assert document.syntax == "json"
    enabled = document.node("/fp16/enabled")
    assert text[enabled.start : enabled.end] == "true"
    member = document.root.member("fp16")
    assert decoded(text, member.key_start, member.key_end) == '"fp16"'
    assert [problem.kind for problem in document.problems] == ["trailing-comma"]
    assert text[document.problems[0].start] == ","


def test_a_program_that_a_cell_writes_is_a_program_of_its_own():
    text = notebook("%%writefile train.py\n" + CELL + "deepspeed.initialize(config=config)\n")
    found = read(text)
    assert found.program.calls == ()
    ((path, program),) = found.programs
    assert path == "train.py"
    root = program.configs[0].document.root
    assert decoded(text, root.members[0].key_start, root.members[0].key_end) == '"fp16"'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "deepspeed initialize(",
        '{"cells": [{"cell_type": "code", "source": ["deepspeed.initialize(',
        '{"cells": {"deepspeed.initialize(": 1}}',
        '{"cells": [1], "x": "deepspeed.initialize("}',
        '{"cells": [{"cell_type": "code", "source": [1, null, "deepspeed.initialize()"]}]}',
        '{"cells": [{"cell_type": "code", "source": 5}], "metadata": {"x": "deepspeed.initialize("}}',
        '["deepspeed.initialize("]',
        '{"cells": [], "metadata": {"language_info": 5}, "x": "deepspeed.initialize("} trailing',
        "[" * 100_000 + "deepspeed.initialize(",
        '{"cells": ' + "[" * 100_000 + '"deepspeed.initialize("',
    ],
)
def test_text_that_is_no_notebook_raises_nothing(text):
    read(text)


pieces = st.sampled_from(
    [
        "import deepspeed\n",
        "config = {'a': \"b\\\\c\", 'é': '😀'}\n",
        "config['k'] = [1, 2]\n",
        '!ls "x" \\\n  y\n',
        "%time x = 1\n",
        "if x:\n    !ls\n",
        "deepspeed.initialize(config=config)\n",
        "x = '''\n%not magic\n'''\n",
        "# 世界\n",
        "broken(\n",
        "\n",
        "\tx = 1\n",
        "%%bash\nls\n",
        '%%writefile a.json\n{"x": [1, {"y": "\\u00e9"}]}\n',
    ]
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.lists(pieces, max_size=4).map("".join), max_size=5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_place_of_a_made_up_notebook_says_what_it_should(cells, as_list, ensure_ascii, marked):
    text = notebook("import deepspeed\n# Config(\n", *cells, as_list=as_list, ensure_ascii=ensure_ascii)
    text = "\ufeff" + text if marked else text
    found = read(text)
    roots = [config.document.root for config in found.program.configs if config.document]
    roots += [document.root for _, document in found.documents]
    for root in roots:
        for _, node in walk(root):
            assert 0 <= node.start < node.end <= len(text)
            for member in node.members:
                said = decoded(text, member.key_start, member.key_end)
                assert said.strip("'\"") == member.key
            if node.kind == "string":
                said = decoded(text, node.start, node.end)
                assert node.value == (
                    json.loads(said) if said.startswith('"') and "\\u" in said else eval(said)
                )
    for snippet in found.snippets:
        for piece, start, end in snippet.content.runs():
            if piece.isascii() and piece.isprintable() and '"' not in piece and "\\" not in piece:
                assert text[start:end] == piece


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_a_damaged_notebook_raises_nothing(data):
    text = notebook(CELL, "!ls\n", "%%bash\nls\n", "deepspeed.initialize(config=config)\n", indent=None)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 8))
        text = text[:at] + data.draw(st.text('{}[]",:\\nu0 é', max_size=4)) + text[at + cut :]
    read(text)
