"""Commands of scripts are read into launchers, program, arguments, config and world size."""

from __future__ import annotations

import pytest

from dslint.documents.shell import read_script
from dslint.documents.tree import UNKNOWN, Source
from dslint.launches.commands import launch_commands


def launches(text: str, path: str = "train.sh"):
    return launch_commands(read_script(Source(path, text)))


def launch(text: str, path: str = "train.sh"):
    (found,) = launches(text, path)
    return found


def names(found) -> list[str]:
    return [launcher.name for launcher in found.launchers]


@pytest.mark.parametrize(
    ("line", "launchers", "kind", "program"),
    [
        ("deepspeed train.py", ["deepspeed"], "script", "train.py"),
        (
            "deepspeed --num_gpus 8 --master_port=29501 src/train.py --lr 1",
            ["deepspeed"],
            "script",
            "src/train.py",
        ),
        ("deepspeed --module pkg.train --lr 1", ["deepspeed"], "module", "pkg.train"),
        ("torchrun --nproc-per-node=8 -m pkg.train", ["torchrun"], "module", "pkg.train"),
        ("python -m torch.distributed.run --nproc_per_node 8 t.py", ["torchrun"], "script", "t.py"),
        (
            "python3 -u -m torch.distributed.launch --use_env t.py",
            ["torch.distributed.launch"],
            "script",
            "t.py",
        ),
        ("python -m deepspeed.launcher.runner --num_gpus 2 t.py", ["deepspeed"], "script", "t.py"),
        ("accelerate launch --config_file a.yaml --num_processes 8 t.py", ["accelerate"], "script", "t.py"),
        ("accelerate launch -m axolotl.cli.train cfg.yml", ["accelerate"], "module", "axolotl.cli.train"),
        ("python -m accelerate.commands.launch t.py", ["accelerate"], "script", "t.py"),
        ("srun -N 2 torchrun --nnodes 2 t.py", ["srun", "torchrun"], "script", "t.py"),
        ("srun --jobid 3 bash -c 'torchrun --nnodes 2 t.py'", ["srun", "torchrun"], "script", "t.py"),
        ("mpirun -np 8 -x A -mca btl ^openib python t.py", ["mpirun", "python"], "script", "t.py"),
        ("python t.py --lr 1", ["python"], "script", "t.py"),
        ("python -m pkg.train", ["python"], "module", "pkg.train"),
        ("./train.py --lr 1", ["python"], "script", "./train.py"),
        ("composer -n 8 t.py", ["composer"], "script", "t.py"),
        ("llamafactory-cli train cfg.yaml", ["llamafactory-cli"], "tool", "train"),
        ("axolotl train cfg.yml", ["axolotl"], "tool", "train"),
        ("swift sft --deepspeed zero2", ["swift"], "tool", "sft"),
        ("xtuner train cfg --deepspeed deepspeed_zero2", ["xtuner"], "tool", "train"),
        (
            "torchrun $(which llamafactory-cli) train x.yaml",
            ["torchrun", "llamafactory-cli"],
            "tool",
            "train",
        ),
        ("python $(which deepspeed) --num_gpus 2 t.py", ["deepspeed"], "script", "t.py"),
        ("/opt/conda/bin/torchrun t.py", ["torchrun"], "script", "t.py"),
        ("$CONDA_PREFIX/bin/deepspeed t.py", ["deepspeed"], "script", "t.py"),
        ("${PYTHON:-python} t.py", ["python"], "script", "t.py"),
        ("$LAUNCHER t.py --lr 1", ["unknown"], "script", "t.py"),
        ("deepspeed --num_gpu 8 t.py", ["deepspeed"], "script", "t.py"),
    ],
)
def test_launchers_are_taken_off_from_the_outside(line, launchers, kind, program):
    found = launch(line + "\n")
    assert names(found) == launchers
    assert (found.kind, found.program.text) == (kind, program)


@pytest.mark.parametrize(
    ("line", "wrappers"),
    [
        ("nohup deepspeed t.py > log 2>&1 &", ["nohup"]),
        ("time deepspeed t.py", ["time"]),
        ("env -u X A=1 deepspeed t.py", ["env"]),
        ("numactl --cpunodebind=0 --membind 0 deepspeed t.py", ["numactl"]),
        ("timeout -k 5 2h deepspeed t.py", ["timeout"]),
        ("taskset -c 0-3 deepspeed t.py", ["taskset"]),
        ("singularity exec --nv -B /data:/data image.sif deepspeed t.py", ["singularity"]),
        ("docker run --gpus all --rm -it -v a:b --shm-size=16g img:tag deepspeed t.py", ["docker"]),
        ("poetry run deepspeed t.py", ["poetry"]),
        ("uv run --extra gpu deepspeed t.py", ["uv"]),
        ("conda run -n env deepspeed t.py", ["conda"]),
        ("nsys profile -o out --trace=cuda deepspeed t.py", ["nsys"]),
        ("exec deepspeed t.py", ["exec"]),
        ("sudo -E env A=1 deepspeed t.py", ["sudo", "env"]),
    ],
)
def test_wrappers_are_passed_through(line, wrappers):
    found = launch(line + "\n")
    assert (names(found), list(found.wrappers), found.program.text) == (["deepspeed"], wrappers, "t.py")


@pytest.mark.parametrize(
    "line",
    [
        "echo deepspeed t.py",
        "pip install deepspeed",
        "python -c 'import deepspeed'",
        "python - <<EOF\nx\nEOF",
        "accelerate config",
        "docker build .",
        "swift infer",
        "deepspeed_report",
        "bash other.sh",
        "ls",
    ],
)
def test_other_commands_launch_nothing(line):
    assert launches(line + "\n") == []


def test_arguments_in_both_spellings_with_their_places():
    text = 'LR=1e-4\ndeepspeed t.py pos --lr $LR --wd=0.1 --betas 0.9 -0.95 --bf16 --a-b "x y" --lr 2\n'
    found = launch(text)
    values = {name: [word.text for word in option.values] for name, option in found.arguments.items()}
    assert values == {"lr": ["2"], "wd": ["0.1"], "betas": ["0.9", "-0.95"], "bf16": [], "a_b": ["x y"]}
    assert [word.text for word in found.positionals] == ["pos"]
    assert text[found.arguments["wd"].value.start : found.arguments["wd"].value.end] == "0.1"
    assert found.options[0].value.start == 3
    assert found.arguments["a_b"].flag == "--a-b"
    assert not found.open


@pytest.mark.parametrize(
    ("arguments", "is_open"),
    [
        ("--lr $LR --bf16", False),
        ('--lr "$LR"', False),
        ("--lr=$LR", False),
        ("--bf16 $EXTRA_ARGS", True),
        ("--bf16 $LR $WD", True),
        ("$SOMETHING", True),
        ('"$@"', True),
        ('"${ARGS[@]}"', True),
        ("--lr 1", False),
        ("--zero_stage 2", False),
    ],
)
def test_arguments_are_open_where_more_may_come(arguments, is_open):
    assert launch(f"deepspeed t.py {arguments}\n").open is is_open


def test_an_option_that_a_branch_may_add_is_no_value():
    text = 'O=""\nif [ "$1" = x ]; then O="--offload"; fi\ndeepspeed t.py --deepspeed $O\n'
    assert launch(text).open
    text = 'S=2\nif [ -n "$1" ]; then S=$1; fi\ndeepspeed t.py --stage $S\n'
    assert not launch(text).open


def test_unknown_options_in_front_of_a_shell_leave_its_script_readable():
    found = launch("srun $SRUN_ARGS bash -c 'torchrun --nproc_per_node 4 t.py'\n")
    assert names(found) == ["srun", "torchrun"]
    assert found.launchers[0].open
    assert found.program.text == "t.py"


def test_launcher_options_are_open_where_more_may_come():
    found = launch("deepspeed $DEEPSPEED_ARGS train.py --lr 1\n")
    assert found.launchers[0].open
    assert found.program.text == "train.py"
    assert found.world_size is None


def test_options_that_the_launcher_does_not_have_are_named():
    found = launch("deepspeed --bf16 --num_gpus 2 t.py\n")
    assert [word.text for word in found.launchers[0].unknown] == ["--bf16"]
    assert launch("deepspeed --elastic_training --venv_script x t.py\n").launchers[0].unknown == ()


@pytest.mark.parametrize(
    ("line", "path", "option"),
    [
        ("deepspeed t.py --deepspeed ds.json", "ds.json", "deepspeed"),
        ("deepspeed t.py --deepspeed --deepspeed_config ds.json", "ds.json", "deepspeed_config"),
        ("deepspeed t.py --deepspeed_config=cfg/ds.json --deepspeed", "cfg/ds.json", "deepspeed_config"),
        ("deepspeed t.py --ds_config ds.json", "ds.json", "ds_config"),
        ("deepspeed t.py --config conf/ds_config.json", "conf/ds_config.json", "config"),
        (
            "accelerate launch --use_deepspeed --deepspeed_config_file z3.json t.py",
            "z3.json",
            "deepspeed_config_file",
        ),
        ("deepspeed t.py --deepspeed", None, None),
        ("deepspeed t.py --config model.json", None, None),
        ("swift sft --deepspeed zero2", None, None),
    ],
)
def test_the_config_that_a_command_names(line, path, option):
    found = launch(line + "\n")
    assert (found.config_path.text if found.config_path is not None else None) == path
    assert (found.config_option.name if found.config_option is not None else None) == option


def test_a_config_by_an_unknown_name_is_kept():
    found = launch("deepspeed t.py --deepspeed_config ./ds.$SLURM_JOB_ID.json\n")
    assert found.config_path.text is UNKNOWN
    assert found.config_path.tail == ".json"


def test_arguments_that_a_broken_line_cuts_off_still_name_the_config():
    found = launch("deepspeed t.py \\ \n  --deepspeed --deepspeed_config ds.json\n")
    assert found.arguments == {}
    assert [option.name for option in found.lost] == ["deepspeed", "deepspeed_config"]
    assert found.config_path.text == "ds.json"
    assert found.open


SLURM = "#!/bin/bash\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n#SBATCH --gres=gpu:{}\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("deepspeed --num_gpus 8 t.py", 8),
        ("deepspeed --num_gpus=2 --num_nodes=3 t.py", 6),
        ("deepspeed --num_accelerators 4 t.py", 4),
        ("deepspeed --include localhost:0,1,3 t.py", 3),
        ("deepspeed --include=worker-0:0,1@worker-1:0 t.py", 3),
        ("deepspeed -i worker-0@worker-1:0 t.py", None),
        ("deepspeed --exclude localhost:0 t.py", None),
        ("deepspeed --hostfile hosts --num_gpus 8 t.py", None),
        ("deepspeed --hostfile hosts --num_gpus 8 --num_nodes 2 t.py", 16),
        ("deepspeed -H /dev/null --num_gpus 8 t.py", 8),
        ("deepspeed t.py", None),
        ("deepspeed --num_gpus $N t.py", None),
        ("deepspeed --num_gpus -1 t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1,2 deepspeed t.py", 3),
        ("export CUDA_VISIBLE_DEVICES=0,1\ndeepspeed t.py", 2),
        ("export CUDA_VISIBLE_DEVICES=0,1\ndeepspeed --num_gpus 4 t.py", 4),
        ("export CUDA_VISIBLE_DEVICES=$1\ndeepspeed t.py", None),
        ("deepspeed --elastic_training --num_gpus 8 t.py", None),
        ("torchrun --nproc_per_node 4 t.py", 4),
        ("torchrun --nnodes=2 --nproc-per-node=4 t.py", 8),
        ("torchrun --nnodes 1:4 --nproc_per_node 4 t.py", None),
        ("torchrun --nnodes 2:2 --nproc_per_node 4 t.py", 8),
        ("torchrun --standalone --nproc_per_node 4 t.py", 4),
        ("torchrun --nproc_per_node auto t.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node gpu t.py", 2),
        ("torchrun t.py", None),
        ("N=2; G=4; torchrun --nnodes $N --nproc_per_node $G t.py", 8),
        ("torchrun --nnodes ${NNODES:-1} --nproc_per_node 8 t.py", None),
        ("torchrun --nproc_per 4 t.py", 4),
        ("accelerate launch --num_processes 16 --num_machines 2 t.py", 16),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch t.py", None),
        ("composer -n 4 t.py", 4),
        ("composer -n 4 --world_size 8 t.py", 8),
        ("mpirun -np 8 python t.py", 8),
        ("mpirun -np 2 deepspeed --num_gpus 4 t.py", None),
        ("python t.py", None),
        ("NPROC_PER_NODE=4 swift sft --model x", 4),
        ("NNODES=2 NPROC_PER_NODE=4 xtuner train x", 8),
        ("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train x.yaml", 2),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --model x", None),
        ("docker run img deepspeed --num_gpus 2 t.py", 2),
        ("export CUDA_VISIBLE_DEVICES=0,1\ndocker run img deepspeed t.py", None),
        ("docker run -e CUDA_VISIBLE_DEVICES=0,1 img deepspeed t.py", 2),
        ("if [ 1 = 2 ]; then deepspeed --num_gpus 2 t.py; fi", None),
    ],
)
def test_the_world_size_of_a_command(text, size):
    found = launch(text + "\n")
    assert found.world_size == size
    assert ("world_size" in found.origins) == (size is not None)


@pytest.mark.parametrize(
    ("directives", "line", "size", "tasks"),
    [
        ((2, 1, 4), "srun torchrun --nnodes 2 --nproc_per_node 4 t.py", 8, 2),
        ((2, 1, 4), "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE t.py", 8, 2),
        ((1, 1, "v100:4"), "deepspeed t.py", 4, None),
        ((1, 4, 4), "srun deepspeed t.py", None, 4),
        ((1, 1, 4), "srun deepspeed --num_gpus 4 t.py", 4, 1),
        ((2, 1, 4), "srun deepspeed --num_gpus 4 t.py", None, 2),
        ((2, 4, 4), "srun python t.py", 8, 8),
        ((2, 4, 4), "srun torchrun --nnodes 2 --nproc_per_node 4 t.py", None, 8),
        ((2, 8, 8), "srun -N 1 -n 2 python t.py", 2, 2),
        ((2, 1, 8), "srun --ntasks-per-node=8 python t.py", 16, 16),
    ],
)
def test_the_world_size_of_a_slurm_job(directives, line, size, tasks):
    found = launch(SLURM.format(*directives) + line + "\n", "job.slurm")
    assert (found.world_size, found.tasks) == (size, tasks)


def test_a_job_with_one_task_a_node_by_default():
    text = "#SBATCH --nodes=2\n#SBATCH --gres=gpu:a100:4\nsrun torchrun --nnodes 2 --nproc_per_node 4 t.py\n"
    found = launch(text, "job.slurm")
    assert (found.world_size, found.tasks, found.tasks_per_node) == (8, 2, 1)
    assert [word.text for word in found.hardware] == ["a100"]
    place = found.origins["hardware"]
    assert text[place.start : place.end] == "a100"
    place = found.origins["world_size"]
    assert text[place.start : place.end] == "4"


def test_what_srun_asks_for_goes_over_the_job():
    text = "#SBATCH --nodes=2\n#SBATCH --gres=gpu:v100:4\nsrun --gres=gpu:a100:8 torchrun --nproc_per_node 8 t.py\n"
    assert [word.text for word in launch(text).hardware] == ["a100"]


def test_devices_that_the_script_sets_are_shown():
    text = "export CUDA_VISIBLE_DEVICES=2,3\ndeepspeed --include localhost:0,1 t.py\n"
    found = launch(text)
    assert found.visible_devices.text == "2,3"
    option = found.launcher("deepspeed").options["include"]
    assert text[option.word.start : option.word.end] == "--include"


def test_each_launch_is_given_once():
    text = "f() { deepspeed t.py --stage $1; }\nf 2\nf 2\nf 3\n"
    assert [found.arguments["stage"].value.text for found in launches(text)] == ["2", "3"]


def test_a_launch_in_a_makefile_and_a_dockerfile():
    assert launch("t:\n\tdeepspeed --num_gpus 2 t.py\n", "Makefile").world_size == 2
    assert launch('CMD ["torchrun", "--nproc_per_node=2", "t.py"]\n', "Dockerfile").world_size == 2
