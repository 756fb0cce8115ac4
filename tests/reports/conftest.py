"""Findings that between them have everything a report can show."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from dslint.documents import json as json_documents
from dslint.documents.tree import Place, Source
from dslint.fixing.fix import Change, Edit, Fix
from dslint.rules.finding import Finding, Related

CONFIG = (
    '{\n  "train_batch_size": 8,\n  "fp16": {\n    "enabled": true\n  },\n  "bf16": {"enabled": true}\n}\n'
)
SCRIPT = "#!/bin/bash\ndeepspeed train.py --deepspeed ds_config.json --fp16\n"


class Sample(NamedTuple):
    config: Source
    script: Source
    findings: list[Finding]


def place(source: Source, what: str, pointer: str | None = None, after: str = "") -> Place:
    start = source.text.index(what, source.text.index(after))
    return Place(source, start, start + len(what), pointer)


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch):
    """A CI's own variables would reach the reports."""
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sample() -> Sample:
    config = Source("ds_config.json", CONFIG)
    script = Source("scripts/train it.sh", SCRIPT)
    document = json_documents.parse(config)
    both = Finding(
        code="DS201",
        name="fp16-and-bf16",
        severity="error",
        message="fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops",
        place=place(config, "true", "/bf16/enabled", after="bf16"),
        why="The engine asserts\nthat at most one is on. It does so at load.",
        url="https://example.org/rules/fp16-and-bf16/",
        fix=Fix("safe", "turn fp16 off", changes=(Change("set", "/fp16/enabled", False),)),
        related=(
            Related(place(config, "true", "/fp16/enabled"), "fp16 is on here"),
            Related(place(script, "--fp16"), "and asked for here"),
        ),
        document=document,
    )
    clipping = Finding(
        code="DS203",
        name="gradient-clipping-off",
        severity="warning",
        message="gradients are not clipped",
        place=Place(config, 0, 1, "/gradient_clipping"),
        why="Without a limit one bad batch can ruin the weights.",
        url="https://example.org/rules/gradient-clipping-off/",
        fix=Fix(
            "unsafe", "set gradient_clipping to 1.0", changes=(Change("set", "/gradient_clipping", 1.0),)
        ),
        document=document,
    )
    flag = Finding(
        code="DS901",
        name="flag-without-need",
        severity="info",
        message="--fp16 says what the config says",
        place=place(script, "--fp16"),
        fix=Fix("safe", "drop the flag", edits=(Edit(script, *place(script, " --fp16")[1:3], content=""),)),
    )
    return Sample(config, script, [flag, both, clipping])
