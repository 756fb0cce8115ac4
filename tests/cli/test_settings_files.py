"""Every setting, from [tool.dslint] and from dslint.toml, by what the command then does; and what it says of them."""

import json

import pytest
from cli_runs import BOTH, GOOD, dslint, write

from dslint.settings import READERS

OFF = '{"train_batch_size": 8, "fp16": {"enabled": true}}\n'
OWN = """code: OWN001
name: our-stage
severity: error
summary: Stage 2 is what we train with
when:
  zero_optimization.stage: 1
at: zero_optimization.stage
message: stage 1 is not what we train with
fix: {safety: safe, set: {zero_optimization.stage: 2}}
why: We agreed on it.
sources: [our-wiki]
examples:
  - bad: '{"train_batch_size": 8, "zero_optimization": {"stage": 1}}'
    fixed: '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}'
"""


@pytest.fixture(params=["dslint.toml", "pyproject.toml"])
def setting(request, tmp_path):
    """Writes settings into the folder, the way that the parameter says, and gives the folder."""

    def written(text, files=()):
        write(tmp_path, dict(files))
        if request.param == "pyproject.toml":
            text = "[tool.dslint]\n" + text.replace("[per-file", "[tool.dslint.per-file").replace(
                "[severity", "[tool.dslint.severity"
            )
        write(tmp_path, {request.param: text})
        return tmp_path

    return written


def found(folder, *arguments):
    """Names by file, of a run whose status is that of its findings."""
    done = dslint(folder, "--output-format", "json", "--fail-on", "never", *arguments)
    assert done.returncode == 0, done.err
    return {(finding["filename"], finding["name"]) for finding in json.loads(done.out)}


def names(folder, *arguments):
    return {name for _, name in found(folder, *arguments)}


FRACTIONAL = (
    '{"train_batch_size": 8, "gradient_clipping": 1.0, "fp16": {"enabled": true, "min_loss_scale": 0.5}}\n'
)


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ("", [], {"min-loss-scale-fractional"}),
        ("", ["--ignore", "DS204"], set()),
        ("", ["--ignore", "min-loss-scale-fractional"], set()),
        ("", ["--ignore", "DS2"], set()),
        ('ignore = ["DS204"]', [], set()),
        ('ignore = ["DS204"]', ["--extend-select", "DS204"], {"min-loss-scale-fractional"}),
        ('ignore = ["DS204"]', ["--select", "DS111"], {"wrong-type-refused"}),
        ("", ["--select", "DS111"], {"wrong-type-refused"}),
        ("", ["--select", "DS111", "--ignore", "DS204"], set()),
        ('ignore = ["ALL"]\nextend-select = ["DS111"]', [], {"wrong-type-refused"}),
        ('[per-file-ignores]\n"*.json" = ["DS204"]', [], set()),
    ],
)
def test_a_generic_rule_says_nothing_in_place_of_an_ignored_one(setting, settings, options, expected):
    folder = setting(settings, {"ds_config.json": FRACTIONAL})
    assert names(folder, "--deepspeed-version", "0.19.8", *options) == expected


def test_a_generic_rule_speaks_elsewhere_when_another_is_ignored(setting):
    text = FRACTIONAL.replace("true", 'true, "loss_scale_window": "many"')
    folder = setting('ignore = ["DS204"]', {"ds_config.json": text})
    assert names(folder, "--deepspeed-version", "0.19.8") == {"wrong-type-refused"}


def test_select_ignore_and_extend_select(setting):
    files = {"ds_config.json": BOTH.replace('"train', '"steps_per_prnt": 1,\n  "train')}
    assert names(setting('select = ["DS201"]', files)) == {"fp16-and-bf16"}
    assert names(setting('select = ["DS201"]\nextend-select = ["unknown-key"]')) == {
        "fp16-and-bf16",
        "unknown-key",
    }
    assert "fp16-and-bf16" not in names(setting('ignore = ["DS2"]'))
    assert "fp16-and-bf16" in names(setting('ignore = ["DS2"]'), "--extend-select", "DS201")


def test_per_file_ignores_are_relative_to_the_settings_file(setting):
    folder = setting(
        '[per-file-ignores]\n"old/**" = ["fp16-and-bf16"]\n',
        {"old/ds_config.json": BOTH, "new/ds_config.json": BOTH, "new/old/ds_config.json": BOTH},
    )
    expected = {("new/ds_config.json", "fp16-and-bf16"), ("new/old/ds_config.json", "fp16-and-bf16")}
    assert found(folder, "--select", "DS201") == expected
    assert found(folder / "old", "--select", "DS201") == set()


def test_include_and_exclude_are_relative_to_the_settings_file(setting):
    files = {"a/ds_config.json": BOTH, "b/ds_config.json": BOTH, "b/a/ds_config.json": BOTH}
    folder = setting('include = ["/a/"]', files)
    assert {name for name, _ in found(folder)} == {"a/ds_config.json"}
    assert {name for name, _ in found(folder / "a")} == {"ds_config.json"}
    assert found(folder / "b") == set()
    folder = setting('exclude = ["/b/"]')
    assert {name for name, _ in found(folder)} == {"a/ds_config.json"}
    assert found(folder / "b") == set()
    assert found(folder / "b", "ds_config.json") == set()
    assert {name for name, _ in found(folder / "b", "../a")} == {"../a/ds_config.json"}


def test_severity_and_fail_on(setting):
    files = {"ds_config.json": BOTH}
    assert dslint(setting("", files)).returncode == 1
    folder = setting('fail-on = "error"\n[severity]\nfp16-and-bf16 = "warning"\n')
    done = dslint(folder)
    assert (done.returncode, "warning[DS201]" in done.out) == (0, True)
    assert dslint(folder, "--fail-on", "warning").returncode == 1
    folder = setting('fail-on = "never"\n')
    assert dslint(folder).returncode == 0


def test_hardware_world_size_framework_and_version(setting):
    files = {
        "ds_config.json": '{"train_batch_size": 9, "bf16": {"enabled": true}, "gradient_accumulation_steps": 3}'
    }
    assert not {"bf16-unsupported", "batch-equation"} & names(setting("", files))
    assert "batch-equation" in names(setting("world-size = 2"))
    hardware = names(setting('hardware = "V100"')) - names(setting(""))
    assert any("bf16" in name for name in hardware), hardware
    write(setting(""), {"ds_config.json": OFF})
    assert "gradient-clipping-off" in names(setting('deepspeed-version = "0.19.2"'))
    assert "gradient-clipping-off" not in names(setting('deepspeed-version = "0.19.3"'))
    write(setting(""), {"ds_config.json": '{"train_micro_batch_size_per_gpu": "auto"}'})
    bare = names(setting('framework = "deepspeed"'))
    assert bare - names(setting('framework = "transformers"'))


def test_rules_unfixable_and_unsafe_fixes(setting):
    files = {
        "infra/own.yaml": OWN,
        "sub/ds_config.json": '{"train_batch_size": 8, "zero_optimization": {"stage": 1}}',
    }
    folder = setting('rules = ["infra"]', files)
    assert names(folder) == names(folder / "sub") == {"our-stage"}
    config = folder / "sub" / "ds_config.json"
    setting('rules = ["infra"]\nunfixable = ["OWN"]')
    assert dslint(folder, "--fix").returncode == 1
    assert '"stage": 1' in config.read_text()
    setting('rules = ["infra"]')
    assert dslint(folder, "--fix").returncode == 0
    assert '"stage": 2' in config.read_text()
    config.write_text(BOTH)
    assert dslint(folder, "--fix").returncode == 1
    setting("unsafe-fixes = true")
    assert dslint(folder, "--fix").returncode == 0
    assert json.loads(config.read_text())["fp16"] == {"enabled": False}


def test_output_format_and_baseline(setting):
    folder = setting('output-format = "concise"\nbaseline = "known.json"\n', {"ds_config.json": BOTH})
    assert dslint(folder, "--write-baseline").returncode == 0
    write(folder, {"sub/new.json": BOTH})
    done = dslint(folder)
    assert done.out.splitlines()[0].startswith("sub/new.json:3:23: error[DS201]")
    assert "the baseline knows 1 more" in done.out


def test_an_unknown_setting_is_one_line_with_what_was_meant(setting):
    done = dslint(setting('fail_on = "error"', {"ds_config.json": GOOD}))
    assert (done.returncode, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert "there is no setting `fail_on`; did you mean `fail-on`?" in line


def test_shown_settings_tell_where_each_comes_from(setting):
    folder = setting(
        'hardware = "A100"\nworld-size = 8\n[severity]\nDS2 = "info"\n',
        {"requirements.txt": "deepspeed==0.18.9\n"},
    )
    (name,) = {path.name for path in folder.iterdir()} - {"requirements.txt"}
    done = dslint(folder, "--show-settings", "--world-size", "4", "--ignore", "DS203")
    assert done.returncode == 0
    first = 2 if name == "pyproject.toml" else 1
    lines = done.out.splitlines()
    assert lines[0].endswith(name)
    assert f'hardware = "A100"  # {name}:{first}' in lines
    assert "world-size = 4  # --world-size" in lines
    assert 'fail-on = "warning"  # default' in lines
    assert f"[severity]  # {name}:{first + 2}" in lines
    assert "# --ignore DS203 goes over these" in lines
    assert "# the DeepSpeed release here: 0.18.9, from requirements.txt:1" in lines
    unset = next(line for line in lines if line.startswith("# not set: "))
    told = {line.split(" ")[0].strip("[]") for line in lines} | set(
        unset.removeprefix("# not set: ").split(", ")
    )
    assert set(READERS) <= told


def test_shown_files_are_those_that_a_run_reads(setting):
    files = {
        "a.json": BOTH, "b/train.sh": "", "c/train.py": "", "d.txt": "", ".hidden/e.json": "", "f/g.yaml": "",
        "ignored.json": "", ".gitignore": "ignored.json\n", ".git/config": "",
    }  # fmt: skip
    folder = setting('exclude = ["c/"]', files)
    done = dslint(folder, "--show-files")
    assert (done.returncode, done.err) == (0, "")
    assert done.out.splitlines() == ["a.json", "b/train.sh", "f/g.yaml"]
    assert dslint(folder, "--show-files", "b", "c/train.py").out == "b/train.sh\n"
    assert dslint(folder, "--show-files", "gone").returncode == 2
