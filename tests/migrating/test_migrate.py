"""`dslint migrate`: the whole launch to the other format, all files or none."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_repository import FILES, read, write

from dslint.cli.check import command as check
from dslint.cli.migrate import command
from dslint.documents import json
from dslint.documents.editing import changed
from dslint.documents.tree import Source
from dslint.fixing import together
from dslint.fixing.writing import Unwritable
from dslint.migrating.configs import move_config
from dslint.releases.pins import forget
from dslint.releases.release import parse_version


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forget()
    yield
    forget()


def migrate(*words):
    return CliRunner().invoke(command, ["--isolated", *words])


def lint(*words):
    return CliRunner().invoke(check, ["--isolated", "--output-format", "concise", *words])


def moved(files, to="bf16", *words):
    """The texts after the move of a small repository."""
    write(Path.cwd(), files)
    result = migrate("--to", to, *words)
    assert result.exit_code == 0, result.output
    return read(Path.cwd())


# --- the whole repository


def test_a_repository_of_all_kinds_of_files_lints_clean_in_bf16():
    write(Path.cwd())
    assert "gradient-clipping-off" in lint().output
    result = migrate("--to", "bf16")
    assert result.exit_code == 0, result.output
    after = lint()
    assert after.exit_code == 0, after.output
    untouched = {"requirements.txt", "trainer.py", "auto.json"}
    assert {name for name, text in read(Path.cwd()).items() if text == FILES[name]} == untouched


def test_the_move_there_and_back_on_a_v100_lints_clean():
    write(Path.cwd())
    assert migrate("--to", "bf16").exit_code == 0
    result = migrate("--to", "fp16", "--hardware", "v100")
    assert result.exit_code == 0, result.output
    after = lint("--hardware", "v100")
    assert after.exit_code == 0, after.output
    for name, text in read(Path.cwd()).items():
        assert "bf16-mixed" not in text, name
        assert "bfloat16" not in text, name


@pytest.mark.parametrize("to", ["bf16", "fp16"])
def test_a_second_run_has_nothing_to_do(to):
    write(Path.cwd())
    migrate("--to", to)
    before = read(Path.cwd())
    result = migrate("--to", to)
    assert result.exit_code == 0
    assert "nothing to do" in result.output
    assert read(Path.cwd()) == before


def test_a_diff_writes_nothing_and_patches_to_the_same():
    write(Path.cwd())
    result = migrate("--to", "bf16", "--diff")
    assert result.exit_code == 0
    assert read(Path.cwd()) == FILES
    assert '-  "fp16": { "enabled": true, "loss_scale": 0, "initial_scale_power": 16 },' in result.stdout
    assert "files would move to bf16" in result.stderr


def test_the_summary_names_each_file_with_what_changed():
    write(
        Path.cwd(),
        {"ds.json": '{"train_batch_size": 8, "fp16": {"enabled": true}, "gradient_clipping": 1.0}\n'},
    )
    assert migrate("--to", "bf16").stdout == "ds.json: fp16 → bf16\n1 file moved to bf16\n"


def test_a_file_that_a_named_script_names_moves_with_it():
    write(Path.cwd())
    assert migrate("--to", "bf16", "Makefile").exit_code == 0
    changed_files = {name for name, text in read(Path.cwd()).items() if text != FILES[name]}
    assert changed_files == {"Makefile", "bare.py", "pair.json"}


# --- all or none


def test_when_one_write_fails_no_file_is_changed(monkeypatch):
    write(Path.cwd())
    real, written = together.write, []

    def failing(path, old, new):
        if Path(path).name == "llamafactory.yaml":
            raise Unwritable(f"{path} was not written: no space left on device")
        written.append(Path(path).name)
        real(path, old, new)

    monkeypatch.setattr(together, "write", failing)
    result = migrate("--to", "bf16")
    assert result.exit_code == 2
    assert "no space left on device; no file was changed" in result.output
    assert len(written) > 2
    assert read(Path.cwd()) == FILES


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes read-only files")
def test_a_read_only_file_holds_everything_back():
    write(Path.cwd())
    Path("train.sh").chmod(0o444)
    result = migrate("--to", "bf16")
    assert result.exit_code == 2
    assert "train.sh was not written: it is read-only" in result.output
    assert read(Path.cwd()) == FILES


def test_an_interrupt_puts_back_what_was_written(monkeypatch):
    write(Path.cwd())
    real = together.write

    def interrupted(path, old, new):
        real(path, old, new)
        if Path(path).name == "axolotl.yaml" and new != FILES["axolotl.yaml"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(together, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        together.write_all(
            [
                together.Rewrite("accelerate.yaml", FILES["accelerate.yaml"], "a: 1\n"),
                together.Rewrite("Makefile", FILES["Makefile"], "x:\n"),
                together.Rewrite("axolotl.yaml", FILES["axolotl.yaml"], "b: 1\n"),
            ]
        )
    assert read(Path.cwd()) == FILES


def test_a_value_that_is_known_but_stands_elsewhere_refuses_the_move():
    text = (
        'ON = True\nconfig = {"train_batch_size": 8, "fp16": {"enabled": ON}, "bf16": {"enabled": False}}\n'
    )
    text = "import deepspeed\n" + text + "deepspeed.initialize(model=None, config=config)\n"
    write(Path.cwd(), {"run.py": text, "ds.json": '{"train_batch_size": 8, "fp16": {"enabled": true}}\n'})
    result = migrate("--to", "bf16")
    assert result.exit_code == 2
    assert "run.py:3: `fp16.enabled` comes from `ON`; change it there" in result.output
    assert '"fp16"' in read(Path.cwd())["ds.json"]


# --- hardware


def test_bf16_on_a_v100_is_refused_with_what_to_do_instead():
    write(Path.cwd())
    result = migrate("--to", "bf16", "--hardware", "v100")
    assert result.exit_code == 2
    for word in (
        "V100 has no bf16",
        "fp16",
        "smaller learning rate",
        "gradient_clipping",
        "fp32",
        "gradient checkpointing",
    ):
        assert word in result.output
    assert read(Path.cwd()) == FILES


def test_hardware_that_the_job_names_counts_too():
    script = "#!/bin/bash\n#SBATCH --gres=gpu:v100:4\nsrun torchrun t.py --fp16 --deepspeed auto.json\n"
    write(Path.cwd(), {"run.sbatch": script, "auto.json": FILES["auto.json"]})
    result = migrate("--to", "bf16")
    assert result.exit_code == 2
    assert "run.sbatch:2: the NVIDIA Tesla V100 has no bf16" in result.output


def test_fp16_where_deepspeed_refuses_it_is_refused():
    write(Path.cwd(), {"ds.json": '{"train_batch_size": 8, "bf16": {"enabled": true}}\n'})
    result = migrate("--to", "fp16", "--hardware", "p100")
    assert result.exit_code == 2
    assert "P100 has no fp16" in result.output
    assert "fp32" in result.output


# --- what is not known


def test_a_value_from_the_environment_is_named_and_left():
    script = (
        'deepspeed t.py --output_dir o --per_device_train_batch_size 2 --fp16 "$HALF" --deepspeed auto.json\n'
    )
    write(Path.cwd(), {"run.sh": script, "auto.json": FILES["auto.json"]})
    result = migrate("--to", "bf16")
    assert result.exit_code == 1
    assert "run.sh:1: left for you: the value of --fp16 is only known to a run" in result.stderr


def test_a_switch_that_the_program_does_not_have_is_named_and_left():
    program = (
        "import argparse, deepspeed\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--fp16", action="store_true")\nparser.add_argument("--local_rank", type=int)\n'
        "deepspeed.add_config_arguments(parser)\nargs = parser.parse_args()\n"
    )
    script = "deepspeed t.py --fp16 --deepspeed_config ds.json\n"
    config = '{"train_batch_size": 8, "fp16": {"enabled": true}, "gradient_clipping": 1.0}\n'
    write(Path.cwd(), {"t.py": program, "run.sh": script, "ds.json": config})
    result = migrate("--to", "bf16")
    assert result.exit_code == 1
    assert "t.py has an option --fp16 of its own and none for bf16" in result.stderr
    assert read(Path.cwd())["run.sh"] == script
    assert '"bf16"' in read(Path.cwd())["ds.json"]


def test_other_programs_of_a_script_keep_their_options():
    script = (
        "python convert.py --dtype fp16 --fp16\n"
        "deepspeed t.py --output_dir o --per_device_train_batch_size 2 --fp16 --deepspeed auto.json\n"
    )
    after = moved({"run.sh": script, "auto.json": FILES["auto.json"]})["run.sh"]
    assert after.splitlines()[0] == "python convert.py --dtype fp16 --fp16"
    assert "--bf16 --deepspeed" in after


def test_fp32_stays_fp32():
    config = '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}\n'
    assert moved({"ds.json": config})["ds.json"] == config


# --- configs alone


def config_after(text, to="bf16", release="0.18.9", framework=None):
    found = parse_version(release)
    document = json.parse(Source("ds.json", text))
    return changed(document.root.plain(), move_config(document.root, to, found, framework).changes)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            '{"fp16": {"enabled": true}, "gradient_clipping": 1}',
            {"bf16": {"enabled": True}, "gradient_clipping": 1},
        ),
        (
            '{"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}, "gradient_clipping": 1}',
            {"bf16": {"enabled": True, "bf16_master_weights_and_grads": True}, "gradient_clipping": 1},
        ),
        (
            '{"fp16": {"enabled": true, "opt_level": "O2"}, "gradient_clipping": 1}',
            {"bf16": {"enabled": True}, "gradient_clipping": 1},
        ),
        (
            '{"fp16": {"enabled": true, "loss_scale": 0}, "bfloat16": {"enabled": false}, "gradient_clipping": 1}',
            {"fp16": {"enabled": False}, "bfloat16": {"enabled": True}, "gradient_clipping": 1},
        ),
        (
            '{"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}}',
            {"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}},
        ),
        (
            '{"fp16": {"enabled": false}, "bf16": {"enabled": true}}',
            {"fp16": {"enabled": False}, "bf16": {"enabled": True}},
        ),
        (
            '{"amp": {"enabled": true}, "gradient_clipping": 1}',
            {"gradient_clipping": 1, "bf16": {"enabled": True}},
        ),
        (
            '{"fp16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp16"}, "gradient_clipping": 1}',
            {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "bf16"}, "gradient_clipping": 1},
        ),
    ],
)
def test_a_config_moves_to_bf16(text, wanted):
    assert config_after(text) == wanted


def test_clipping_comes_only_where_the_release_does_not_clip_by_itself():
    text = '{"fp16": {"enabled": true}}'
    assert config_after(text, release="0.19.2") == {"bf16": {"enabled": True}, "gradient_clipping": 1.0}
    assert config_after(text, release="0.19.3") == {"bf16": {"enabled": True}}


def test_clipping_is_the_trainers_where_the_config_leaves_things_to_it():
    text = '{"train_batch_size": "auto", "fp16": {"enabled": true}}'
    assert config_after(text, framework="transformers")["gradient_clipping"] == "auto"
    assert config_after(text, framework="lightning").keys() == {"train_batch_size", "bf16"}


def test_settings_of_bf16_do_not_come_along_to_fp16():
    text = '{"bf16": {"enabled": true, "check_grad_overflow": true, "immediate_grad_update": true}, "gradient_clipping": 1}'
    assert config_after(text, "fp16") == {"fp16": {"enabled": True}, "gradient_clipping": 1}


# --- single styles


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--fp16", "--bf16"),
        ("--fp16 True", "--bf16 True"),
        ("--fp16=true", "--bf16=true"),
        ("--bf16 --fp16", "--bf16"),
        ("--fp16 \\\n  --bf16", "--bf16"),
        ("--fp16_full_eval", "--bf16_full_eval"),
        ("--mixed_precision fp16", "--mixed_precision bf16"),
        ("--torch_dtype 'float16'", "--torch_dtype 'bfloat16'"),
        ("--fp16 False", "--fp16 False"),
    ],
)
def test_options_of_a_script(before, after):
    head = "deepspeed t.py --output_dir o --per_device_train_batch_size 2 --deepspeed auto.json"
    files = {"run.sh": f"{head} {before}\n", "auto.json": FILES["auto.json"]}
    text = moved(files)["run.sh"]
    assert text.replace("\\\n  ", "").rstrip() == f"{head} {after}"


def test_a_removed_option_takes_its_row_along():
    head = "deepspeed t.py --output_dir o --per_device_train_batch_size 2 \\\n"
    script = head + "    --fp16 \\\n    --bf16 \\\n    --deepspeed auto.json\n"
    after = moved({"run.sh": script, "auto.json": FILES["auto.json"]})["run.sh"]
    assert after == script.replace("    --fp16 \\\n", "")


def test_neighbouring_arguments_of_a_call_go_together():
    after = moved({"lightning_run.py": FILES["lightning_run.py"]})["lightning_run.py"]
    assert (
        'precision="bf16-mixed",\n    strategy=DeepSpeedStrategy(stage=2),\n    gradient_clip_val=1.0,\n)'
        in after
    )
