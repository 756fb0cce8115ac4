"""What fuzzing has found, input by input; each broke a promise until it was mended."""

from __future__ import annotations

import gzip
import time

import pytest

from dslint.documents.json import parse
from dslint.documents.tree import Source
from fuzz.targets import target

FOUND = {
    "json": [
        # A value that is missing stood behind the blanks at the text's end, outside of its object.
        b'd:l\n": ',
        b'{"a": {"b": \n',
        b'[{"a": \n ',
    ],
    # The marks at a log's start were looked for in its first block, which in a pipe may be a single byte.
    "log": [b"\xef\xbb\xbf", b"\xff\xfea\0", gzip.compress(b"", mtime=0)[:2]],
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name in FOUND for data in FOUND[name]])
def test_what_was_found_breaks_no_promise(name, data):
    target(name).one(data)


@pytest.mark.parametrize("piece", ["$A", "$A{", "${", "$(", "`", "$A`", "\\$A"])
@pytest.mark.parametrize("frame", ['{"a": "%s\n}', "{'a': '%s\n}", '{"%s\n: 1}', "{a: %s\n}"])
def test_a_heredoc_of_placeholders_without_a_closing_quote_is_read_in_linear_time(piece, frame):
    text = frame.replace("%s", piece * 10_000)
    started = time.process_time()
    parse(Source("x.sh", text), substitute=lambda name: "value")
    assert time.process_time() - started < 5
