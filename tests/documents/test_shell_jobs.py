"""Batch directives are read as the scheduler reads them."""

from __future__ import annotations

import pytest

from dslint.documents.shell import read_script
from dslint.documents.tree import Source


def job(*lines: str, path: str = "job.sh"):
    text = "#!/bin/bash\n" + "\n".join(lines) + "\ndeepspeed t.py\n"
    return read_script(Source(path, text)).job


def counts(*lines: str):
    found = job(*(f"#SBATCH {line}" for line in lines))
    return found.nodes, found.tasks, found.tasks_per_node, found.gpus_per_node, found.gpus


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["--nodes=2", "--ntasks-per-node=1", "--gres=gpu:a100:4"], (2, None, 1, 4, 8)),
        (["-N 2", "-n 8", "--gpus-per-node=4"], (2, 8, None, 4, 8)),
        (["-N2", "-G 16"], (2, None, None, 8, 16)),
        (["--nodes 4 --ntasks-per-node 1  # one launcher a node", "--gres gpu:8"], (4, None, 1, 8, 32)),
        (["--gres=gpu"], (1, None, None, 1, 1)),
        (["--gres=gpu:v100:4(S:0-1),nvme:1"], (1, None, None, 4, 4)),
        (["--nodes=2-4", "--gres=gpu:8"], (None, None, None, 8, None)),
        (["--ntasks=8", "--gres=gpu:8"], (None, 8, None, 8, None)),
        (["--gpus=8", "--ntasks-per-node=2"], (None, None, 2, None, 8)),
        (["--ntasks-per-node=4", "--gpus-per-task=1", "--nodes=1"], (1, None, 4, 4, 4)),
        (["--nodes=$NODES", "--gres=gpu:{{ gpus }}"], (None, None, None, None, None)),
        (["--gres=gpu:a100:2,gpu:v100:2"], (1, None, None, None, None)),
    ],
)
def test_counts_of_a_slurm_job(lines, expected):
    assert counts(*lines) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--gres=gpu:v100:4", ["v100"]),
        ("--gpus=a100:8", ["a100"]),
        ("--gpus-per-node=h100_80gb:4", ["h100_80gb"]),
        ("-C v100-32g", ["v100-32g"]),
        ('--constraint="a100&nvlink"', ["a100", "nvlink"]),
        ("--constraint=a100|h100", []),
        ("--constraint=[a100|v100]", []),
        ("--partition=a100", []),
        ("--account=six@a100", []),
    ],
)
def test_words_that_may_name_the_hardware(line, expected):
    assert [word.text for word in job(f"#SBATCH {line}").hardware] == expected


def test_a_fact_has_its_place():
    text = "#!/bin/bash\n#SBATCH --gres=gpu:v100:4\nx\n"
    found = read_script(Source("job.sh", text)).job
    place = found.places["gpus_per_node"]
    assert text[place.start : place.end] == "gpu:v100:4"
    assert text[found.hardware[0].start : found.hardware[0].end] == "v100"


def test_directives_behind_the_first_command_do_not_count():
    text = "#!/bin/bash\n#SBATCH --nodes=2\n\n# note\n##SBATCH --nodes=3\nset -e\n#SBATCH --nodes=4\n"
    assert read_script(Source("job.sh", text)).job.nodes == 2


def test_a_script_without_directives_has_no_job():
    assert job("# SBATCH --nodes=2") is None


def test_a_heterogeneous_job_is_not_counted():
    found = job("#SBATCH --nodes=1", "#SBATCH hetjob", "#SBATCH --nodes=4")
    assert found.nodes is None


def test_slurm_tells_a_job_its_counts():
    text = "#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node ${SLURM_GPUS_ON_NODE}\n"
    (command,) = read_script(Source("job.sh", text)).commands
    assert [word.text for word in command.words] == ["torchrun", "--nnodes", "2", "--nproc_per_node", "4"]
    assert text[command.words[2].start] == "2"


def test_pbs_and_lsf_as_far_as_gpus_go():
    pbs = job("#PBS -N x", "#PBS -l select=2:ncpus=8:ngpus=4:gpu_model=v100")
    assert (pbs.scheduler, pbs.nodes, pbs.gpus_per_node, pbs.gpus) == ("pbs", 2, 4, 8)
    assert [word.text for word in pbs.hardware] == ["v100"]
    lsf = job("#BSUB -nnodes 3", '#BSUB -gpu "num=4:gmodel=TeslaV100"')
    assert (lsf.scheduler, lsf.nodes, lsf.gpus_per_node) == ("lsf", 3, 4)
