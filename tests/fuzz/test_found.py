"""What fuzzing has found, input by input; each broke a promise until it was mended."""

from __future__ import annotations

import gzip
import time

import pytest

from dslint.documents.json import parse
from dslint.documents.tree import Source
from dslint.launches.launch import Launch
from dslint.releases.release import NEWEST
from dslint.rules.book import BrokenRule, thaw
from dslint.rules.compile import compiled, read_rule
from dslint.rules.evaluate import Evaluator
from fuzz.targets import target

RULE = (
    b"code: OWN001\nname: mine\nseverity: error\nsummary: Mine\nmessage: wrong\nwhy: Because.\nsources: [wiki]\n"
    b"examples: [{bad: '{}'}]\nwhen:\n  %s\n"
)

FOUND = {
    "json": [
        # A value that is missing stood behind the blanks at the text's end, outside of its object.
        b'd:l\n": ',
        b'{"a": {"b": \n',
        b'[{"a": \n ',
        # Members without braces ended before they began where hjson stops behind a key that stands twice.
        b'8:{"":t\n"g":e\n"g":g}\n}}',
    ],
    # PyYAML allows fewer characters in an anchor's name than the reader that dslint's stands on.
    "yaml": [
        b"&:",
        b"a: &\xc3\xa9 1\nb: 2\n",
        b"a: &x:y 1\n",
        b"a: &x\nb: *x:\n",
        b"a: [&x 1, *x]\n",
        b"&d?:",
    ],
    # A key without characters at the edge of two of a cell's strings ended before it began.
    "notebook": [
        b'{"cells":[{"cell_type":"code","":{},"":[],"source":["%%writefile .json\\n","{\\"\\"n\\n","{"]},'
        b'{"":"","":[],"":["Accelerator"]}],"":""}'
    ],
    # Conditions that cannot be asked were met as an internal error, by the first config that came to them.
    "rules": [
        RULE % b"$release: 9",
        RULE % b"optimizer: {$: 1}",
        RULE % b"optimizer.type: {pattern: '?'}",
        RULE % b"optimizer.type: {pattern: '(a|a)*b'}",
        RULE % b"optimizer.type: {type: strong}",
        RULE % b"train_batch_size: {multipleOf: 0}",
        RULE % b"train_batch_size: {minimum: x}",
        RULE % b"train_batch_size: {not: 3}",
        RULE % b"train_batch_size: {anyOf: {const: 3}}",
        RULE % b"$hardware.colour: red",
        RULE % b"$release: absent",
        # Nested deeper than Python's stack.
        RULE % (b"a: " + b"[" * 2000),
        RULE % (b"a: " + b"{b: " * 2000),
        RULE % (b"a:\n" + b"".join(b" " * (n + 3) + b"a:\n" for n in range(300))),
    ],
    # The marks at a log's start were looked for in its first block, which in a pipe may be a single byte.
    "log": [b"learning_rate 0..", b"\xef\xbb\xbf", b"\xff\xfea\0", gzip.compress(b"", mtime=0)[:2]],
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name in FOUND for data in FOUND[name]])
def test_what_was_found_breaks_no_promise(name, data):
    target(name).one(data)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a?){50}a{50}$", "(?:a*b?)*c", "a*a*a*a*a*b"])
def test_a_rule_whose_pattern_may_take_for_ever_is_refused(tmp_path, pattern):
    path = tmp_path / "rule.yaml"
    path.write_bytes(RULE % f"optimizer.type: {{pattern: '{pattern}'}}".encode())
    with pytest.raises(BrokenRule, match=r"rule\.yaml: the file: .*`optimizer\.type`"):
        read_rule(path)


@pytest.mark.parametrize("pattern", ["a*a*a*b$", ".*.*.*x", "\\\\s*[a-z]+\\\\d*$"])
def test_any_other_pattern_ends_soon_on_any_text(tmp_path, pattern):
    path = tmp_path / "rule.yaml"
    path.write_bytes(RULE % f"optimizer.type: {{pattern: '{pattern}'}}".encode())
    (rule,) = thaw([compiled(read_rule(path))])
    text = '{"optimizer": {"type": "%s"}}' % ("a" * 100_000)
    started = time.process_time()
    Evaluator([rule]).findings(Launch(config=parse(Source("x", text)), release=NEWEST))
    assert time.process_time() - started < 10


@pytest.mark.parametrize("piece", ["$A", "$A{", "${", "$(", "`", "$A`", "\\$A"])
@pytest.mark.parametrize("frame", ['{"a": "%s\n}', "{'a': '%s\n}", '{"%s\n: 1}', "{a: %s\n}"])
def test_a_heredoc_of_placeholders_without_a_closing_quote_is_read_in_linear_time(piece, frame):
    text = frame.replace("%s", piece * 10_000)
    started = time.process_time()
    parse(Source("x.sh", text), substitute=lambda name: "value")
    assert time.process_time() - started < 5
