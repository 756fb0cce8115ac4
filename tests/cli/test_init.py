"""`dslint init`."""

import json
import sys

import pytest
from click.testing import CliRunner

from dslint.cli.init import command
from dslint.releases.pins import forget


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    forget()
    yield
    forget()


def run(line):
    return CliRunner().invoke(command, line.split())


def test_the_config_alone_is_on_standard_output():
    result = run("--hardware a100-80gb --gpus 8 --params 7b --deepspeed-version 0.19.8")
    assert result.exit_code == 0
    config = json.loads(result.stdout)
    assert config["bf16"] == {"enabled": True}
    assert config["zero_optimization"]["stage"] == 1
    assert result.stdout == json.dumps(config, indent=2) + "\n"


def test_the_memory_arithmetic_is_on_standard_error():
    result = run("--hardware a100-80gb --gpus 8 --params 7b --deepspeed-version 0.19.8")
    lines = result.stderr.splitlines()
    assert "8 × NVIDIA A100, 80 GB; bf16; 7 B parameters" in lines[0]
    assert lines[0].endswith("DeepSpeed 0.19.8 (--deepspeed-version)")
    assert "  optimizer states              10.5  12 bytes × 7 B ÷ 8" in lines
    figures = [float(line[28:36]) for line in lines[lines.index("ZeRO-1, on one GPU, in GB") + 1 :][:6]]
    total = next(float(line[28:36]) for line in lines if line.startswith("in all"))
    usable = next(float(line[28:36]) for line in lines if line.startswith("of "))
    assert sum(figures) == pytest.approx(total, abs=0.3)
    assert total <= usable


def test_explain_shows_everything_that_was_weighed_and_what_is_assumed():
    result = run("--hardware a100-40gb --gpus 8 --params 7b --explain")
    assert "ZeRO-1                                    45.8  -            needs 45.8 GB of a GPU's 35.0" in (
        result.stderr
    )
    assert "taken" in result.stderr
    assert "without checkpointing\n  activations would take" in result.stderr
    assert "gradient_clipping: written out" in result.stderr
    assert "weighed" not in run("--hardware a100-40gb --gpus 8 --params 7b").stderr


def test_where_nothing_fits_there_is_no_config_but_what_to_do_and_exit_1(tmp_path):
    result = run("--hardware h100 --gpus 8 --params 405b --output ds_config.json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert not (tmp_path / "ds_config.json").exists()
    assert "Nothing fits" in result.stderr
    assert "--nodes" in result.stderr
    assert "LoRA" in result.stderr


def test_output_is_written_to_a_file_and_an_existing_one_is_kept(tmp_path):
    line = "--hardware v100 --gpus 4 --params 350m --output ds_config.json"
    assert run(line).stdout == ""
    written = (tmp_path / "ds_config.json").read_text()
    assert json.loads(written)["fp16"]["min_loss_scale"] == 1
    again = run(line.replace("v100", "a100"))
    assert again.exit_code == 2
    assert "ds_config.json exists already" in again.stderr
    assert (tmp_path / "ds_config.json").read_text() == written
    forced = run(line.replace("v100", "a100") + " --force")
    assert forced.exit_code == 0
    assert "bf16" in json.loads((tmp_path / "ds_config.json").read_text())


def test_a_folder_that_is_missing_is_one_line_and_exit_2():
    result = run("--hardware v100 --gpus 4 --output missing/ds_config.json")
    assert result.exit_code == 2
    assert "missing/ds_config.json cannot be written: no such file or directory." in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--hardware v1000 --gpus 1", "Did you mean v100"),
        ("--hardware ampere --gpus 1", "Name the model"),
        ("--hardware a100 --gpus 0", "0 is not in the range"),
        ("--hardware a100 --gpus 8 --params 8x7b", "all experts counted"),
        ("--hardware a100 --gpus 8 --params 7", "no number of parameters"),
        ("--hardware a100 --gpus 8 --deepspeed-version banana", "DeepSpeed banana is not known"),
        ("--hardware a100 --gpus 8 --deepspeed-version 0.3.1", "0.9.5 to"),
        ("--hardware a100", "Missing option '--gpus'"),
    ],
)
def test_bad_usage_is_said_clearly_and_exits_2(line, said):
    result = run(line)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""


@pytest.mark.parametrize("params", ["7b", "7B", "7e9", "7000m", "7_000_000_000", "0.007t"])
def test_parameters_are_counted_however_they_are_written(params):
    assert "; 7 B parameters;" in run(f"--hardware a100-80gb --gpus 8 --params {params}").stderr


def test_auto_asks_this_machine(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!{sys.executable}\nprint('Tesla V100-SXM2-32GB, 7.0, 32768\\n' * 4)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("--hardware auto --gpus 4 --params 1.3b")
    assert result.exit_code == 0
    assert "nvidia-smi reports 4 GPUs: 4 × Tesla V100-SXM2-32GB" in result.stderr
    assert "fp16" in json.loads(result.stdout)


def test_the_release_is_the_one_that_the_repository_pins(tmp_path):
    (tmp_path / "requirements.txt").write_text("deepspeed==0.14.5\n")
    assert "DeepSpeed 0.14.5 (as requirements.txt pins it)" in run("--hardware a100 --gpus 8").stderr


def test_without_params_it_says_what_fits():
    result = run("--hardware v100-16gb --gpus 4")
    assert result.exit_code == 0
    assert "ZeRO-2                                 up to 1.5 B" in result.stderr
    assert json.loads(result.stdout)["zero_optimization"]["stage"] == 2


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        ("transformers", "Start the script with --fp16, --per_device_train_batch_size"),
        ("accelerate", 'Set mixed_precision: "fp16"'),
        ("lightning", 'Trainer(precision="16-mixed", accumulate_grad_batches='),
        ("deepspeed", "The learning rate, 2e-05"),
    ],
)
def test_what_the_config_cannot_say_is_said_for_the_framework(framework, said):
    assert said in run(f"--hardware v100-32gb --gpus 8 --params 1.3b --framework {framework}").stderr


def test_a_name_with_several_memory_sizes_says_which_it_planned_for():
    said = run("--hardware a100 --gpus 8 --params 1b").stderr
    assert "NVIDIA A100, 40 GB" in said
    assert "--hardware a100-80gb plans for that" in said


def test_the_same_command_writes_the_same_bytes():
    line = "--hardware h100 --gpus 8 --params 70b --framework transformers"
    assert run(line).stdout == run(line).stdout
