"""Rule files: a rule that can be compiled and asked of any config, or one line that says what is wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dslint.documents import json
from dslint.documents.tree import Source
from dslint.launches.launch import Launch
from dslint.releases.release import NEWEST
from dslint.rules.book import BrokenRule, thaw
from dslint.rules.checks import check_named
from dslint.rules.compile import compiled, read_rule
from dslint.rules.evaluate import Evaluator
from fuzz import seeds as seed

WORDS: Final = (
    *("code: ", "name: ", "severity: error\n", "when:\n  ", "any:\n", "check: ", "at: ", "message: ", "fix: {safety: "),
    *("set: {", "remove: ", "rename: ", "move: ", "absent", "{enum: [", "{pattern: ", "{minimum: ", "$release: ", "$"),
    *("{not: ", "{type: ", "{const: ", "related:", "examples:\n", "  - bad: '{}'\n", "{value}", "{release}", "*", "<0.19.3"),
)  # fmt: skip
FILE: Final = Path(tempfile.mkdtemp(prefix="dslint-fuzz-")) / "rule.yaml"
CONFIGS: Final = (
    '{"train_batch_size": 8, "fp16": {"enabled": true, "loss_scale": 0}, "zero_optimization": {"stage": 3},'
    ' "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.9, 0.999]}}, "gradient_clipping": 1.0}',
    '{"fp16": [], "zero_optimization": "x", "bf16": null, "optimizer": {"params": {"a/b": {"~": [[1]]}}}}',
    "{}",
    "[1, 2]",
)


def seeds() -> Iterator[bytes]:
    for path in sorted((seed.ROOT / "rules").rglob("*.yaml")):
        if "messages" not in path.parts:
            yield path.read_bytes()


def one(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        (rule,) = thaw([compiled(read_rule(FILE))])
        if rule.check is not None:
            check_named(rule.check)
    except BrokenRule as error:
        assert "\n" not in str(error), f"more than a line: {error}"
        return
    except KeyError:
        return
    for text in CONFIGS:
        config = json.parse(Source("ds_config.json", text))
        for finding in Evaluator([rule]).findings(Launch(config=config, release=NEWEST)):
            assert 0 <= finding.place.start <= finding.place.end <= len(text)
