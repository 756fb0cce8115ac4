"""A whole session with `dslint server` in a process of its own: what an editor sends, and what it gets."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys

import pytest
from lsp_editor import Refusal, edited, offset, position, span

CONFIG = """{
  "train_batch_size": 8,
  "fp16": {"enabled": true, "min_loss_scale": 0.5},
  "zero_optimization": {"stage": 2}
}
"""
BAD = CONFIG.replace('"zero', '"bf16": {"enabled": true},\n  "zero')
pytestmark = pytest.mark.slow

WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


def at(text, part, extra=0):
    return position(text, text.index(part) + extra)


def test_opens_diagnoses_fixes_on_save_and_shuts_down(folder, edit):
    """The way of a whole day in one: every step rests on the one before it."""
    editor = edit()
    (folder / "ds_config.json").write_text(BAD)
    editor.open("ds_config.json")
    first = {one["code"]: one for one in editor.diagnostics("ds_config.json")}
    assert {"DS201", "DS204"} <= set(first)
    assert first["DS204"]["severity"] == 1
    assert first["DS204"]["source"] == "dslint"
    assert first["DS204"]["codeDescription"]["href"].endswith("/min-loss-scale-fractional/")
    assert first["DS204"]["range"] == span(BAD, "0.5")
    assert first["DS204"]["data"]["fix"] == "safe"

    # bf16 goes, keystroke by keystroke as far as the server can tell.
    line = '  "bf16": {"enabled": true},\n'
    editor.texts["ds_config.json"] = CONFIG
    editor.change("ds_config.json", {"range": span(BAD, line), "text": ""})
    assert editor.codes("ds_config.json") == ["DS204"]

    hover = editor.at("textDocument/hover", "ds_config.json", position=at(CONFIG, "min_loss"))
    assert "fp16.min_loss_scale" in hover["contents"]["value"]
    assert hover["range"] == span(CONFIG, '"min_loss_scale"')

    (fix_all,) = editor.actions("ds_config.json", WHOLE, ["source.fixAll.dslint"])
    editor.apply(fix_all["edit"])
    assert editor.texts["ds_config.json"] == CONFIG.replace("0.5", "1")
    assert editor.codes("ds_config.json") == []
    editor.save("ds_config.json")
    assert editor.actions("ds_config.json", WHOLE, ["source.fixAll.dslint"]) == []
    assert editor.stop() == 0
    assert editor.said().startswith("it said on stderr: ''"), editor.said()


def test_says_what_it_can_do(edit):
    can = edit().greeting["capabilities"]
    assert can["textDocumentSync"]["change"] == 2
    assert can["codeActionProvider"]["codeActionKinds"] == ["quickfix", "source.fixAll.dslint"]
    assert can["executeCommandProvider"]["commands"] == ["dslint.validate"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_count_in_the_units_that_were_agreed_on(edit, encoding):
    editor = edit(encodings=[encoding])
    assert editor.greeting["capabilities"]["positionEncoding"] == encoding
    before = '{"//": "学习 🚀 é", "fp16": {"enabled": true, "min_loss_scale": '
    editor.open("ds_config.json", before + '0.5}, "train_batch_size": 8, "zero_optimization": {"stage": 2}}')
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    units = len(before.encode(encoding if encoding == "utf-8" else encoding + "-le")) // width
    (found,) = (one for one in editor.diagnostics("ds_config.json") if one["code"] == "DS204")
    assert found["range"]["start"] == {"line": 0, "character": units}
    assert found["range"]["end"] == {"line": 0, "character": units + 3}
    # An edit in the same units, behind the emoji, mends it.
    editor.change("ds_config.json", {"range": found["range"], "text": "1"})
    assert "DS204" not in editor.codes("ds_config.json")


def test_rows_end_where_the_protocol_says(edit):
    """U+2028 and a form feed end a row in Python's eyes; an edit below them must not go astray."""
    editor = edit()
    text = '{"//": "a\u2028b\u0085c\u000bd",\r\n "train_batch_size": 8,\r"fp16": {"min_loss_scale": 0.5}}\n'
    editor.open("ds_config.json", text)
    (found,) = (one for one in editor.diagnostics("ds_config.json") if one["code"] == "DS204")
    assert found["range"]["start"] == {"line": 2, "character": len('"fp16": {"min_loss_scale": ')}
    editor.change("ds_config.json", {"range": found["range"], "text": "2"})
    assert "DS204" not in editor.codes("ds_config.json")


def test_script_and_config_are_judged_together(folder, edit):
    """The Trainer's arguments stand in the script, what they must agree with in the config; neither is on disk so."""
    (folder / "run.sh").write_text("echo nothing\n")
    (folder / "ds.json").write_text("{}")
    (folder / "train.py").write_text(
        "from transformers import HfArgumentParser, TrainingArguments\n"
        "args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    )
    script = "deepspeed --num_gpus 8 train.py --deepspeed ds.json --output_dir out --fp16 true\n"
    config = '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": false}, "zero_optimization": {"stage": 2}}\n'
    editor = edit()
    editor.open("run.sh", script, "shellscript")
    editor.diagnostics("run.sh")
    editor.open("ds.json", config)
    found = {one["code"]: one for one in editor.diagnostics("ds.json")}
    assert "DS701" in found
    assert found["DS701"]["relatedInformation"][0]["location"]["uri"] == editor.uri("run.sh")

    # Only the script changes; the config's diagnostics follow.
    editor.change("run.sh", {"range": span(script, " --fp16 true"), "text": ""})
    editor.versions["ds.json"] = 1
    assert "DS701" not in editor.codes("ds.json")

    (link,) = editor.at("textDocument/documentLink", "run.sh")
    assert link["target"] == editor.uri("ds.json")
    assert link["range"] == span(script, "ds.json")


def test_two_configs_keep_apart(edit):
    editor = edit()
    editor.open("ds_a.json", BAD)
    assert "DS201" in editor.codes("ds_a.json")
    editor.open("ds_b.json", CONFIG.replace("0.5", "1"))
    assert editor.codes("ds_b.json") == []
    editor.write("ds_b.json", BAD)
    assert "DS201" in editor.codes("ds_b.json")
    editor.close("ds_a.json")
    gone = editor.wait(
        lambda m: (
            m.get("method") == "textDocument/publishDiagnostics"
            and m["params"]["uri"] == editor.uri("ds_a.json")
            and m["params"].get("version") is None
        ),
        "the diagnostics of what was closed, taken back",
    )
    assert gone["params"]["diagnostics"] == []


def test_files_that_are_no_configs_get_nothing(edit):
    editor = edit()
    editor.open("package.json", '{"name": "x", "dependencies": {}, "optimizer": {"type": "nonsense"}}')
    assert editor.diagnostics("package.json") == []
    assert editor.at("textDocument/hover", "package.json", position={"line": 0, "character": 5}) is None
    assert editor.at("textDocument/completion", "package.json", position={"line": 0, "character": 2}) is None
    assert editor.at("textDocument/codeLens", "package.json") == []
    editor.open("notes.txt", "deepspeed", "plaintext")
    assert editor.diagnostics("notes.txt") == []


def test_quick_fixes_name_their_risk_and_their_version(edit):
    editor = edit()
    text = BAD.replace(', "min_loss_scale": 0.5', "")
    editor.open("ds_config.json", text)
    found = editor.diagnostics("ds_config.json")
    actions = editor.actions("ds_config.json", span(text, '"fp16": {"enabled": true}'))
    kinds = {action["kind"] for action in actions}
    assert kinds <= {"quickfix", "source.fixAll.dslint"}
    unsafe = [action for action in actions if "unsafe" in action["title"]]
    assert unsafe, [action["title"] for action in actions]
    assert not any(action.get("isPreferred") for action in unsafe)
    (document,) = unsafe[0]["edit"]["documentChanges"]
    assert document["textDocument"]["version"] == 1
    changed = edited(text, document["edits"])
    assert changed != text
    editor.write("ds_config.json", changed)
    assert len(editor.codes("ds_config.json")) < len(found)


def test_an_edit_leaves_the_rest_alone(edit):
    """No edit spans more than the row that it changes."""
    editor = edit()
    rows = "".join(f'  "//{n}": "row {n}",\n' for n in range(50))
    text = "{\n" + rows + CONFIG[2:].replace('"stage"', '"stag"')
    editor.open("ds_config.json", text)
    editor.diagnostics("ds_config.json")
    (action,) = editor.actions("ds_config.json", WHOLE, ["source.fixAll"])
    edits = action["edit"]["documentChanges"][0]["edits"]
    assert len(edits) == 2
    for one in edits:
        start, end = offset(text, one["range"]["start"]), offset(text, one["range"]["end"])
        assert end - start < 10
    assert edited(text, edits) == text.replace("0.5", "1").replace('"stag"', '"stage"')


def test_fixes_in_many_rounds_arrive_as_small_edits_too(edit):
    editor = edit()
    text = (
        '{\n  "train_batch_size": 8,\n  "fp16": {"enabled": true},\n  "bf16": {"enabled": true,\n'
        '    "loss_scale": 0,\n    "hysteresis": 2},\n  "zero_optimization": true\n}\n'
    )
    editor.open("ds_config.json", text)
    editor.diagnostics("ds_config.json")
    (action,) = editor.actions("ds_config.json", WHOLE, ["source.fixAll"])
    edits = action["edit"]["documentChanges"][0]["edits"]
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "dslint.cli.main",
            "-",
            "--fix",
            "--isolated",
            "--deepspeed-version",
            "0.19.8",
        ],
        input=text,
        capture_output=True,
        text=True,
    )
    assert edited(text, edits) == result.stdout
    assert '"fp16": {"enabled": true},\n' not in "".join(one["newText"] for one in edits)


def test_ignore_this_finding(edit):
    editor = edit()
    commented = "// mine\n" + CONFIG
    for name, text in (("ds_plain.json", CONFIG), ("ds_commented.json", commented)):
        editor.open(name, text)
        assert "DS204" in editor.codes(name)
        actions = editor.actions(name, span(text, "0.5"), ["quickfix"])
        (ignore,) = [a for a in actions if a["title"] == "Ignore min-loss-scale-fractional here"]
        editor.apply(ignore["edit"])
        assert "ignore[min-loss-scale-fractional]" in editor.texts[name]
        assert "DS204" not in editor.codes(name)


def test_an_old_action_is_refused(edit):
    """The edits of fix-all are fetched when it is chosen; by then the text may be another."""
    editor = edit(
        textDocument={
            "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
        }
    )
    editor.open("ds_config.json", CONFIG)
    editor.diagnostics("ds_config.json")
    actions = editor.actions("ds_config.json", span(CONFIG, "0.5"))
    (fix_all,) = [action for action in actions if action["kind"] == "source.fixAll.dslint"]
    assert "edit" not in fix_all
    resolved = editor.ask("codeAction/resolve", fix_all)
    assert resolved["edit"]["documentChanges"][0]["textDocument"]["version"] == 1
    editor.write("ds_config.json", "\n" + CONFIG)
    with pytest.raises(Refusal) as refused:
        editor.ask("codeAction/resolve", fix_all)
    assert refused.value.code == -32801
    with pytest.raises(AssertionError, match="an edit for version 1"):
        editor.apply(resolved["edit"])


def test_completes_keys_and_values_in_broken_text(edit):
    editor = edit()
    text = '{"zero_optimization": {"stage": 3, "offl},\n  "fp16": {"enabled": tr'
    editor.open("ds_config.json", text)
    answer = editor.at("textDocument/completion", "ds_config.json", position=at(text, "offl", 4))
    items = {item["label"]: item for item in answer["items"]}
    assert "offload_optimizer" in items
    assert "stage" not in items, "it stands there already"
    assert items["cpu_offload"]["tags"] == [1], "it is deprecated"
    assert items["cpu_offload"]["sortText"] > items["offload_optimizer"]["sortText"]
    assert items["offload_optimizer"]["textEdit"]["newText"] == '"offload_optimizer": '
    assert items["offload_optimizer"]["textEdit"]["range"] == span(text, '"offl')
    assert "DeepSpeed 0.19.8" in items["offload_optimizer"]["documentation"]["value"]

    answer = editor.at("textDocument/completion", "ds_config.json", position=position(text, len(text)))
    assert [item["label"] for item in answer["items"]][:2] == ["true", "false"]


@pytest.mark.parametrize(
    ("text", "expected", "never"),
    [
        ('{"zero_optimization": {"offload_optimizer": {"device": "|"}}}', {"none", "cpu", "nvme"}, {"auto2"}),
        ('{"zero_optimization": {"stage": |}}', {"0", "1", "2", "3"}, set()),
        ('{"gradient_clipping": |}', {"1.0", "auto"}, set()),
        ('{"optimizer": {"type": "|"}}', {"AdamW", "Lamb"}, set()),
        ('{"scheduler": {"type": "|"}}', {"WarmupLR", "WarmupDecayLR"}, set()),
        ('{"optimizer": {"type": "Lamb", "params": {"|', {"lr", "max_coeff"}, {"warmup_min_lr"}),
        ('{"scheduler": {"params": {"|"}, "type": "WarmupCosineLR"}}', {"warmup_num_steps", "cos_min_ratio"}, {"lr"}),
    ],
)  # fmt: skip
def test_values_and_arguments_by_what_they_are_for(edit, text, expected, never):
    editor = edit()
    cursor, text = text.index("|"), text.replace("|", "")
    editor.open("ds_config.json", text)
    answer = editor.at("textDocument/completion", "ds_config.json", position=position(text, cursor))
    labels = {item["label"] for item in answer["items"]}
    assert expected <= labels
    assert not never & labels


def test_completion_and_hover_follow_the_pinned_release(folder, edit):
    (folder / "requirements.txt").write_text("deepspeed==0.14.4\n")
    editor = edit()
    text = '{"zero_optimization": {"compute_grad_norm": true, "'
    editor.open("ds_config.json", text)
    hover = editor.at("textDocument/hover", "ds_config.json", position=at(text, "grad_norm"))
    assert "0.14.4 does not have it; it is there from 0.19.7" in hover["contents"]["value"]
    answer = editor.at("textDocument/completion", "ds_config.json", position=position(text, len(text)))
    labels = {item["label"] for item in answer["items"]}
    assert "round_robin_gradients" in labels
    assert "zenflow" not in labels, "0.17.5 brought it"

    # The pin changes on disk; the editor says so.
    (folder / "requirements.txt").write_text("deepspeed==0.19.8\n")
    change = {"uri": editor.uri("requirements.txt"), "type": 2}
    editor.tell("workspace/didChangeWatchedFiles", {"changes": [change]})
    hover = editor.at("textDocument/hover", "ds_config.json", position=at(text, "grad_norm"))
    assert "DeepSpeed 0.19.8" in hover["contents"]["value"]


def test_hover_says_why(edit):
    editor = edit()
    editor.open("ds_config.json", CONFIG)
    hover = editor.at("textDocument/hover", "ds_config.json", position=at(CONFIG, "0.5"))
    value = hover["contents"]["value"]
    assert "[DS204 min-loss-scale-fractional](https://" in value
    assert "default: `1`" in value


def test_completes_and_diagnoses_in_a_python_dict(edit):
    editor = edit()
    text = (
        "import deepspeed\n"
        "config = {'train_batch_size': 8, 'fp16': {'enabled': True, 'min_loss_scale': 0.5},\n"
        "          'zero_optimization': {'stage': 2, 'o': 1}}\n"
        "engine, *_ = deepspeed.initialize(model=None, config=config)\n"
    )
    editor.open("train.py", text, "python")
    assert "DS204" in editor.codes("train.py")
    answer = editor.at("textDocument/completion", "train.py", position=at(text, "'o'", 2))
    items = {item["label"]: item["textEdit"]["newText"] for item in answer["items"]}
    assert items["overlap_comm"] == "'overlap_comm'"


def test_diagnoses_yaml_a_heredoc_and_a_notebook(edit):
    editor = edit()
    script = (
        "cat > ds_config.json <<'EOF'\n"
        + CONFIG
        + "EOF\ndeepspeed train.py --deepspeed_config ds_config.json\n"
    )
    editor.open("run.sbatch", script, "shellscript")
    found = {one["code"]: one["range"] for one in editor.diagnostics("run.sbatch")}
    assert found["DS204"] == span(script, "0.5")
    accelerate = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf17\n"
        "deepspeed_config:\n  zero_stage: 2\n"
    )
    editor.open("accelerate.yaml", accelerate, "yaml")
    assert "DS908" in editor.codes("accelerate.yaml")
    code = [
        "import deepspeed\n",
        "deepspeed.initialize(config={'train_batch_size': 8, 'fp16': {'enabled': True, 'min_loss_scale': 0.5}})\n",
    ]
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code}
    editor.open(
        "train.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    assert "DS204" in editor.codes("train.ipynb")


def test_broken_text_and_back(edit):
    editor = edit()
    editor.open("ds_config.json", CONFIG)
    assert editor.codes("ds_config.json") == ["DS204"]
    for broken in ("{", "", '{"fp16": {"min_loss_scale": 0.5', "\ufeff[[[", "\ud83d", "{" * 3000):
        editor.write("ds_config.json", broken)
        editor.diagnostics("ds_config.json")
    editor.write("ds_config.json", CONFIG)
    assert editor.codes("ds_config.json") == ["DS204"]
    assert not [m for m in editor.notices if m.get("method") == "window/logMessage"]


def test_a_huge_file_is_left_alone_and_the_rest_goes_on(edit):
    editor = edit()
    huge = '{"zero_optimization": {"stag": 2, "x": [' + "0, " * 500_000 + "0]}}"
    editor.open("ds_huge.json", huge)
    assert editor.diagnostics("ds_huge.json") == []
    assert editor.at("textDocument/completion", "ds_huge.json", position={"line": 0, "character": 25}) is None
    editor.open("ds_config.json", CONFIG)
    assert editor.codes("ds_config.json") == ["DS204"]


def test_typing_fast_is_answered_for_the_last_text_alone(edit):
    """A hundred changes in a row: the diagnostics that come are those of the last version."""
    editor = edit()
    editor.open("ds_config.json", BAD)
    text = BAD
    for digit in range(100):
        editor.change("ds_config.json", {"range": span(text, "8,"), "text": "8,"})
        assert digit >= 0
    editor.change("ds_config.json", {"range": span(text, "0.5"), "text": "1"})
    assert editor.versions["ds_config.json"] == 102
    codes = editor.codes("ds_config.json")
    assert "DS204" not in codes
    assert "DS201" in codes
    versions = [
        m["params"]["version"] for m in editor.notices if m.get("method") == "textDocument/publishDiagnostics"
    ]
    assert len(versions) < 50, "each change was judged, though the next one was there already"


def test_cli_fix_beside_the_editor_loses_nothing(folder, edit):
    """`dslint --fix` writes while the file is open: the editor hears of it, and an edit for the old text is refused."""
    (folder / "ds_config.json").write_text(CONFIG)
    (folder / "run.sh").write_text("deepspeed train.py --deepspeed_config ds_config.json\n")
    editor = edit()
    editor.open("ds_config.json")
    assert editor.codes("ds_config.json") == ["DS204"]
    (fix_all,) = editor.actions("ds_config.json", WHOLE, ["source.fixAll"])
    command = [sys.executable, "-m", "dslint.cli.main", "--fix", "--isolated", "--quiet", "ds_config.json"]
    assert subprocess.run(command, cwd=folder).returncode == 0
    fixed = (folder / "ds_config.json").read_text()
    assert fixed == CONFIG.replace("0.5", "1")
    # The editor's text still counts for the open file, until the editor reads the new one.
    change = {"uri": editor.uri("ds_config.json"), "type": 2}
    editor.tell("workspace/didChangeWatchedFiles", {"changes": [change]})
    assert editor.codes("ds_config.json") == ["DS204"]
    editor.write("ds_config.json", fixed)
    assert editor.codes("ds_config.json") == []
    with pytest.raises(AssertionError, match="an edit for version 1"):
        editor.apply(fix_all["edit"])
    assert (folder / "ds_config.json").read_text() == fixed, "the server itself has written nothing"


def test_a_file_that_changes_on_disk_counts_for_those_that_are_open(folder, edit):
    """The config is not open; the command line mends it, and the open script's link follows a rename too."""
    (folder / "ds_config.json").write_text(CONFIG)
    editor = edit()
    editor.open("run.sh", "deepspeed train.py --deepspeed_config ds_config.json\n", "shellscript")
    assert len(editor.at("textDocument/documentLink", "run.sh")) == 1
    (folder / "ds_config.json").unlink()
    editor.tell(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("ds_config.json"), "type": 3}]}
    )
    editor.diagnostics("run.sh")
    assert editor.at("textDocument/documentLink", "run.sh") == []


def test_settings_of_the_workspace_and_of_the_editor(folder, edit):
    (folder / "dslint.toml").write_text('ignore = ["min-loss-scale-fractional"]\n')
    editor = edit(options={"ignore": ["DS201"], "worldSise": 8})
    warning = editor.wait(lambda m: m.get("method") == "window/showMessage", "a word on the wrong setting")
    assert "did you mean worldSize" in warning["params"]["message"]
    editor.open("ds_config.json", BAD)
    assert not {"DS201", "DS204"} & set(editor.codes("ds_config.json"))
    editor.tell("workspace/didChangeConfiguration", {"settings": {"dslint": {"ignore": []}}})
    assert "DS201" in editor.codes("ds_config.json")

    (folder / "dslint.toml").write_text('ignor = ["DS204"]\n')
    editor.tell(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("dslint.toml"), "type": 2}]}
    )
    fault = editor.wait(lambda m: m.get("method") == "window/showMessage", "a word on the broken settings")
    assert "did you mean `ignore`" in fault["params"]["message"]
    assert "DS204" not in editor.codes("ds_config.json"), "the last good settings stay in force"


def test_a_baseline_and_excluded_files_count_as_on_the_command_line(folder, edit):
    (folder / "ds_old.json").write_text(CONFIG)
    (folder / "dslint.toml").write_text('baseline = "known.json"\nexclude = ["third_party/"]\n')
    command = [sys.executable, "-m", "dslint.cli.main", "--write-baseline", "--quiet", "."]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    editor = edit()
    editor.open("ds_old.json")
    assert editor.codes("ds_old.json") == []
    editor.write("ds_old.json", BAD)
    codes = editor.codes("ds_old.json")
    assert "DS201" in codes, "it is new"
    assert "DS204" not in codes, "it is known"
    editor.open("third_party/ds_config.json", BAD)
    assert editor.codes("third_party/ds_config.json") == []


def test_settings_that_are_asked_for(edit):
    """A client that answers workspace/configuration: hardware and release from there."""
    editor = edit(workspace={"configuration": True})
    editor.settings = {"hardware": "V100", "deepspeedVersion": "0.16.4"}
    editor.tell("workspace/didChangeConfiguration", {"settings": None})
    editor.open(
        "ds_config.json",
        '{"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
    )
    editor.wait(
        lambda m: (
            m.get("method") == "textDocument/publishDiagnostics"
            and any(one["code"] == "DS202" and "V100" in one["message"] for one in m["params"]["diagnostics"])
        ),
        "a finding that rests on the hardware",
    )


def test_lens_and_verdict(folder, edit, monkeypatch):
    (folder / "ds_config.json").write_text(CONFIG)
    # Where an engine is installed it answers, else a line that says how to install it; here both will do.
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    editor = edit()
    editor.open("ds_config.json")
    (lens,) = editor.at("textDocument/codeLens", "ds_config.json")
    assert lens["command"]["command"] == "dslint.validate"
    answer = editor.ask(
        "workspace/executeCommand", {"command": "dslint.validate", "arguments": lens["command"]["arguments"]}
    )
    assert set(answer) == {"ended", "message"}
    assert answer["message"]
    shown = editor.wait(lambda m: m.get("method") == "window/showMessage", "the verdict")
    assert answer["message"] in shown["params"]["message"]


def test_an_exit_without_shutdown_ends_it(edit):
    editor = edit()
    editor.open("ds_config.json", CONFIG)
    editor.tell("exit", None)
    assert editor.process.wait(60) == 1


def test_a_lost_editor_ends_it(edit):
    editor = edit()
    editor.open("ds_config.json", CONFIG)
    editor.process.stdin.close()
    assert editor.process.wait(60) is not None


def test_line_ends_and_a_bom_stay(edit):
    editor = edit()
    text = "\ufeff" + CONFIG.replace("\n", "\r\n").replace('"stage"', '"stag"')
    editor.open("ds_config.json", text)
    editor.diagnostics("ds_config.json")
    (action,) = editor.actions("ds_config.json", WHOLE, ["source.fixAll"])
    editor.apply(action["edit"])
    assert editor.texts["ds_config.json"] == text.replace("0.5", "1").replace('"stag"', '"stage"')


def test_without_a_workspace_the_repository_of_the_file_counts(folder, tmp_path_factory, edit):
    (folder / "dslint.toml").write_text('ignore = ["DS201"]\n')
    editor = edit(folders=False)
    editor.open("ds_config.json", BAD)
    codes = editor.codes("ds_config.json")
    assert "DS204" in codes
    assert "DS201" not in codes


def test_what_is_not_open_gets_no_answer_and_a_cancelled_request_ends(edit):
    editor = edit()
    assert editor.at("textDocument/hover", "nowhere.json", position={"line": 0, "character": 0}) is None
    assert editor.actions("nowhere.json", WHOLE) == []
    editor.open("ds_config.json", BAD)
    number = editor.send_request(
        "textDocument/hover",
        {"textDocument": {"uri": editor.uri("ds_config.json")}, "position": {"line": 2, "character": 5}},
    )
    editor.tell("$/cancelRequest", {"id": number})
    answer = editor.wait(lambda m: m.get("id") == number and "method" not in m, "an answer")
    assert answer.get("error", {}).get("code") == -32800 or "result" in answer
    assert "DS201" in editor.codes("ds_config.json"), "the diagnostics come all the same"


def test_a_port(folder, edit):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "dslint.cli.main", "server", "--tcp", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            connection = connected(process, port)
            with connection, connection.makefile("rwb") as stream:
                for number, method in ((1, "initialize"), (2, "shutdown")):
                    params = {"processId": None, "rootUri": None, "capabilities": {}} if number == 1 else None
                    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                    message = json.dumps(body).encode()
                    stream.write(b"Content-Length: %d\r\n\r\n" % len(message) + message)
                    stream.flush()
                    assert b'"id": %d' % number in answer_on(stream).replace(
                        b'"id":%d' % number, b'"id": %d' % number
                    )
            assert process.wait(60) == 0
        finally:
            process.kill()


def connected(process, port):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended with {process.wait(0.1)}: {process.stderr.read()}")
    return pytest.fail("nobody listens on the port")


def answer_on(stream):
    length = 0
    while (header := stream.readline()) != b"\r\n":
        if header.lower().startswith(b"content-length:"):
            length = int(header.split(b":")[1])
    return stream.read(length)
