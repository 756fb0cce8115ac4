"""Configs fitted to a trial, errors matched with findings, and fixes kept from the file that the engine refuses."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from dslint.api import lint
from dslint.documents.tree import Source
from dslint.engine import explaining, fitting, gate
from dslint.engine.explaining import explain, matching
from dslint.engine.trial import EngineError, Record, Trial
from dslint.engine.verdict import Verdict
from dslint.fixing.mend import mend
from dslint.launches.discover import discover
from dslint.linting import Context
from dslint.linting import lint as lint_files
from dslint.rules import book
from dslint.workspace import Workspace


class TestFitting:
    BATCH = (
        '{\n  // for eight\n  "train_batch_size": 64,\n'
        '  "train_micro_batch_size_per_gpu": 2,\n  "gradient_accumulation_steps": 4\n}\n'
    )

    def test_a_config_for_more_processes_leaves_its_batch_size_to_the_engine(self):
        fitted = fitting.fit(self.BATCH, "a.json", 1)
        assert "train_batch_size" not in json.loads(fitted.text.replace("// for eight", ""))
        assert "for 8 processes" in fitted.notes[0]
        assert "train_batch_size of 8" in fitted.notes[0]

    def test_a_config_for_as_many_processes_as_run_is_left(self):
        assert fitting.fit(self.BATCH, "a.json", 8).text == self.BATCH

    @pytest.mark.parametrize(
        "text",
        [
            '{"train_batch_size": 64}',
            '{"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}',
            '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}',
            '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 0, "gradient_accumulation_steps": 1}',
            '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": true, "gradient_accumulation_steps": 1}',
            "[]",
            "{",
            "",
        ],
    )
    def test_what_does_not_tell_its_processes_is_left(self, text):
        assert fitting.fit(text, "a.json", 1) == (text, ())

    def test_auto_is_for_the_trainer(self, monkeypatch):
        monkeypatch.setattr(fitting, "find_spec", lambda name: object())
        framework, notes = fitting.framework_for({"optimizer": {"params": {"lr": "auto"}}})
        assert framework == "transformers"
        assert len(notes) == 1

    def test_precision_left_to_the_trainer_is_said(self, monkeypatch):
        monkeypatch.setattr(fitting, "find_spec", lambda name: object())
        assert "bf16=true" in fitting.framework_for({"bf16": {"enabled": "auto"}})[1][1]

    def test_auto_without_transformers_is_said(self, monkeypatch):
        monkeypatch.setattr(fitting, "find_spec", lambda name: None)
        framework, notes = fitting.framework_for({"train_batch_size": "auto"})
        assert (framework, "not installed" in notes[0]) == ("deepspeed", True)

    def test_a_config_without_auto_goes_to_the_bare_engine(self):
        assert fitting.framework_for({"train_batch_size": 8}) == ("deepspeed", ())


def error_in(text, message, kind="ValidationError", stage="load"):
    """A record of an error for a config's text."""
    error = EngineError(stage, kind, message)
    return Record(Trial(text, "ds_config.json"), "refused", error, {"deepspeed": "0.19.8", "device": "cpu"})


class TestExplaining:
    def names(self, text, message, **more):
        return [finding.name for finding in explain(error_in(text, message, **more)).explaining]

    def test_the_rule_that_quotes_the_engines_words_is_behind_them(self):
        text = '{"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 9}}'
        said = "bfloat16 and fp16 modes cannot be simultaneously enabled"
        assert self.names(text, said, kind="AssertionError") == ["fp16-and-bf16"]

    def test_the_key_that_the_engine_names_tells_the_finding(self):
        text = '{"train_batch_size": 8, "fp16": {"enabled": true, "min_loss_scale": 0.5}, "zero_optimization": {"stage": 9}}'
        said = (
            "1 validation error for DeepSpeedFP16Config\nmin_loss_scale\n  Input should be a valid integer, got a number "
            "with a fractional part [type=int_from_float, input_value=0.5, input_type=float]"
        )
        assert self.names(text, said) == ["min-loss-scale-fractional"]

    def test_a_key_that_stands_in_the_quoted_value_alone_tells_nothing(self):
        text = '{"train_batch_size": 8, "zero_optimization": {"stage": 9, "overlap_com": true}}'
        said = (
            "1 validation error for DeepSpeedZeroConfig\nstage\n  Input should be 0, 1, 2 or 3 [type=enum, "
            "input_value={'stage': 9, 'overlap_com': True}, input_type=dict]"
        )
        assert all(
            "overlap_com" not in (f.place.pointer or "") for f in explain(error_in(text, said)).explaining
        )

    def test_an_error_that_nothing_fits_falls_to_the_only_error_foreseen(self):
        text = '{"train_batch_size": 8, "fp16": {"enabled": true, "min_loss_scale": 0.5}}'
        assert self.names(text, "something else", kind="RuntimeError") == ["min-loss-scale-fractional"]

    def test_of_several_errors_foreseen_none_is_picked_at_random(self):
        text = '{"train_batch_size": 8, "fp16": {"enabled": true, "min_loss_scale": 0.5}, "bf16": {"enabled": true}}'
        assert self.names(text, "something else", kind="RuntimeError") == []

    def test_a_refusal_of_a_sound_config_is_unforeseen(self):
        record = error_in(
            '{"train_batch_size": 8, "gradient_clipping": 1.0}', "something else", kind="RuntimeError"
        )
        explanation = explain(record)
        assert explanation.explaining == ()
        assert explanation.unforeseen(record)

    def test_what_the_catalogue_knows_is_told_where_no_finding_fits(self):
        record = error_in(
            "{}",
            "Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
            kind="Exception",
            stage="step",
        )
        cause = explain(record._replace(ended="died")).cause
        assert cause is not None
        assert cause.message.name == "loss-scale-at-minimum"

    def test_the_file_is_checked_as_it_stands_where_it_was_changed_for_the_trial(self):
        record = error_in("{}", "x")
        original = (
            '{\n\n"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, '
            '"fp16": {"enabled": true, "min_loss_scale": 0.5}}'
        )
        record = record._replace(trial=record.trial._replace(original=original))
        findings = explain(record).findings
        assert [f.place.source.position(f.place.start).row for f in findings if f.code == "DS204"] == [3]
        assert "batch-equation" not in [f.name for f in findings]

    def test_no_findings_explain_nothing(self):
        assert matching(EngineError("load", "E", "x"), [], None, True) == []


FIXABLE = (
    '{"train_batch_size": 8, "gradient_clipping": 1.0, "fp16": {"enabled": true, "min_loss_scale": 0.5}}\n'
)


class TestGate:
    @pytest.fixture
    def mended(self, tmp_path, monkeypatch):
        """Two files with the same fault, mended and not yet written."""
        monkeypatch.chdir(tmp_path)
        for name in ("a.json", "b.json"):
            (tmp_path / name).write_text(FIXABLE)
        workspace, context = Workspace(), Context(book.load(), release="0.19.8")
        files = discover(["."])

        def check(changed):
            return lint_files(files, context, changed)

        return mend(workspace, check, lambda finding: finding.fix is not None), workspace, check

    def test_what_the_engine_takes_is_kept(self, mended):
        gated = gate.gate(*mended, lambda text, shown, framework: Verdict("steps", None))
        assert {os.path.basename(path) for path in gated.mended.texts} == {"a.json", "b.json"}
        assert gated.mended.outcome.findings == []

    def test_what_it_refuses_keeps_its_old_text_and_says_why(self, mended):
        def judge(text, shown, framework):
            return Verdict(None, "ValueError: not\n this one" if shown == "a.json" else None)

        gated = gate.gate(*mended, judge)
        assert {os.path.basename(path) for path in gated.mended.texts} == {"b.json"}
        assert [refused.reason for refused in gated.mended.refused] == [
            "the engine does not take the mended file: ValueError: not this one"
        ]
        assert [finding.place.source.path for finding in gated.mended.outcome.findings] == ["a.json"]

    def test_the_engine_is_asked_about_the_new_text(self, mended):
        asked = []
        gate.gate(
            *mended,
            lambda text, shown, framework: asked.append((text, shown, framework)) or Verdict("steps", None),
        )
        assert [shown for _, shown, _ in asked] == ["a.json", "b.json"]
        assert all(json.loads(text)["fp16"]["min_loss_scale"] == 1 for text, _, _ in asked)
        assert {framework for _, _, framework in asked} == {"deepspeed"}

    def test_each_framework_that_loads_the_file_is_asked(self):
        source = Source("a.json", FIXABLE)
        config = SimpleNamespace(source=source, dialect="deepspeed", derived=False)
        launches = [
            SimpleNamespace(config=config, framework=name)
            for name in ("transformers", "deepspeed", "deepspeed", "lightning")
        ]
        assert list(gate.loaders(source, launches)) == ["transformers", "deepspeed"]

    def test_a_script_is_no_config(self):
        source = Source("train.sh", "deepspeed train.py")
        config = SimpleNamespace(source=source, dialect="deepspeed", derived=False)
        assert list(gate.loaders(source, [SimpleNamespace(config=config, framework=None)])) == []


def test_the_findings_used_here_are_what_dslint_says():
    assert [finding.name for finding in lint(text=FIXABLE, deepspeed_version="0.19.8")] == [
        "min-loss-scale-fractional"
    ]


@pytest.mark.parametrize(
    ("text", "name"), [("[]", "not-an-object"), ('{"train_batch_size": 8', "syntax-error")]
)
def test_what_is_named_as_a_config_is_one_whatever_its_name(text, name):
    found = explaining.lint(Trial(text, "mine.json"), {"deepspeed": "0.19.8"})
    assert [(finding.name, finding.place.source.path) for finding in found] == [(name, "mine.json")]


def test_an_argument_that_says_the_precision_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(fitting, "find_spec", lambda name: object())
    content = {"bf16": {"enabled": "auto"}}
    assert "--argument bf16=true" in fitting.framework_for(content)[1][-1]
    assert "--argument bf16=true" not in fitting.framework_for(content, ["bf16"])[1][-1]
