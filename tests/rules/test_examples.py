"""Every rule's examples hold: what is bad is found, what is fixed is so, what is good is left alone."""

from pathlib import Path

import pytest

from dslint.api import everything
from dslint.rules import book
from dslint.rules.checks import check_named
from dslint.rules.compile import rule_files
from dslint.rules.examples import faults

ROOT = Path(__file__).parents[2]
RULES = [rule for _, rule in rule_files(str(ROOT / "rules"))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_examples_of_a_rule_hold(rule):
    assert list(faults(rule, book.load())) == []


@pytest.mark.parametrize(
    ("path", "rule"), list(rule_files(str(ROOT / "rules"))), ids=lambda x: getattr(x, "name", "")
)
def test_a_rule_file_bears_its_rules_name(path, rule):
    assert path.stem == rule.name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_shows_what_it_finds_and_what_it_leaves_alone(rule):
    assert any(example.bad for example in rule.examples)
    assert any(example.good for example in rule.examples)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fix], ids=lambda rule: rule.name)
def test_a_rule_with_a_fix_shows_it(rule):
    assert any(example.fixed for example in rule.examples)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.check], ids=lambda rule: rule.name)
def test_a_rules_check_exists(rule):
    assert callable(check_named(rule.check))


def test_a_fix_that_sets_an_object_is_told_with_the_object():
    [finding] = everything(text='{"train_batch_size": 8, "zero_optimization": true}')
    assert finding.fix.message == 'set zero_optimization to {"stage": 1}'


def test_a_switch_is_not_taken_for_a_slip_of_a_number():
    text = '{"train_batch_size": 8, "zero_optimization": {"stage": 1}, "fp16": {"enabled": true, "dynamic_loss_scale": true}}'
    [finding] = everything(text=text, deepspeed_version="0.19.8")
    assert finding.message.endswith("and stops there")
    assert finding.fix.message == "remove dynamic_loss_scale"
