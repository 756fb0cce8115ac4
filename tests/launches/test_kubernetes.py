"""A manifest's containers become commands whose words stand where the YAML has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents import yaml
from dslint.documents.tree import UNKNOWN, Source, walk
from dslint.launches.discover import File
from dslint.launches.kubernetes import Workload, embedded_files, workloads
from dslint.linting import Context, lint
from dslint.rules import book
from dslint.workspace import Workspace


def read(text: str) -> list[Workload]:
    return [workload for document in yaml.parse(Source("job.yaml", text)) for workload in workloads(document)]


def words(workload: Workload, index: int = 0) -> list[object]:
    return [word.text for word in workload.script.commands[index].words]


PYTORCHJOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector:
            nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
          containers:
            - name: pytorch
              image: x
              command:
                - torchrun
                - --nproc_per_node=8
                - train.py
              args: ["--deepspeed", "ds.json", "--lr", "$(LR)"]
              env:
                - {name: NCCL_DEBUG, value: INFO}
                - name: POD
                  valueFrom: {fieldRef: {fieldPath: metadata.name}}
              resources:
                limits: {nvidia.com/gpu: 8}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
            - name: pytorch
              command: [bash, -c]
              args:
                - |
                  export A=1
                  deepspeed --num_gpus 4 train.py \\
                    --deepspeed_config ds.json
"""


def test_words_apart_are_one_command_with_their_places() -> None:
    master, _ = read(PYTORCHJOB)
    assert words(master) == [
        "torchrun",
        "--nproc_per_node=8",
        "train.py",
        "--deepspeed",
        "ds.json",
        "--lr",
        UNKNOWN,
    ]
    word = master.script.commands[0].words[4]
    assert PYTORCHJOB[word.start : word.end] == "ds.json"


def test_a_script_within_is_read_as_the_shell_reads_it() -> None:
    _, worker = read(PYTORCHJOB)
    [command] = [command for command in worker.script.commands if command.name == "deepspeed"]
    texts = [word.text for word in command.words]
    assert texts == ["deepspeed", "--num_gpus", "4", "train.py", "--deepspeed_config", "ds.json"]
    word = command.words[-1]
    assert PYTORCHJOB[word.start : word.end] == "ds.json"


def test_gpus_pods_and_hardware_are_what_the_manifest_asks_for() -> None:
    master, worker = read(PYTORCHJOB)
    assert (master.kind, master.name, master.pods) == ("PyTorchJob", "train", 4)
    assert master.gpus.value == 8
    assert master.gpus.place.pointer.endswith("/containers/0/resources/limits/nvidia.com~1gpu")
    assert master.hardware.value == "NVIDIA-A100-SXM4-80GB"
    assert worker.gpus is None
    assert master.environment["NCCL_DEBUG"].value == "INFO"
    assert master.environment["POD"].value is UNKNOWN


def job(command: str) -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: t}}
spec:
  template:
    spec:
      containers:
      - name: t
{command}"""


@pytest.mark.parametrize(
    "command",
    [
        "        command: ['/bin/bash', '-lc', 'torchrun --nproc_per_node 2 train.py']\n",
        '        command: ["bash", "-c", "torchrun --nproc_per_node 2 train.py"]\n',
        "        command: [sh, -c]\n        args: [torchrun --nproc_per_node 2 train.py]\n",
        "        command:\n        - bash\n        - -c\n"
        "        - >-\n          torchrun\n          --nproc_per_node 2\n          train.py\n",
        "        args: [torchrun, --nproc_per_node, '2', train.py]\n",
    ],
)
def test_every_way_to_write_a_command_is_read(command: str) -> None:
    text = job(command)
    [workload] = read(text)
    assert words(workload) == ["torchrun", "--nproc_per_node", "2", "train.py"]
    for word in workload.script.commands[0].words:
        assert text[word.start : word.end] == word.text
    assert workload.pods == 1


@pytest.mark.parametrize(
    "command",
    [
        "        image: x\n",
        '        command: ["bash", "-c", "echo \\"a\\" && torchrun train.py"]\n',
        "        command:\n        - bash\n        - -c\n"
        "        - >-\n          echo 'a'\n          && torchrun train.py\n",
    ],
)
def test_what_cannot_be_taken_word_for_word_is_left_out(command: str) -> None:
    assert all(not workload.script.commands for workload in read(job(command)))


def test_other_yaml_has_no_workloads() -> None:
    assert read("containers:\n- command: [torchrun, train.py]\n") == []
    assert read("kind: Job\nspec:\n  containers:\n  - command: [torchrun]\n") == []


CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  ds_config.json: |
    {"train_batch_size": 8}
  accelerate.yaml: |
    distributed_type: DEEPSPEED
    num_processes: 4
  note: x
"""


def test_the_files_of_a_configmap_have_their_places() -> None:
    [document] = yaml.parse(Source("c.yaml", CONFIGMAP))
    files = list(embedded_files(document))
    assert [file.name for file in files] == ["ds_config.json", "accelerate.yaml"]
    assert CONFIGMAP[files[0].start : files[0].end].strip() == '{"train_batch_size": 8}'
    [inner] = yaml.parse(document.source, files[1].start, files[1].end)
    assert inner.root.plain() == {"distributed_type": "DEEPSPEED", "num_processes": 4}
    node = inner.node("/num_processes")
    assert CONFIGMAP[node.start : node.end] == "4"


def test_a_manifest_is_linted_like_the_script_and_the_files_that_it_holds(tmp_path: Path) -> None:
    text = (
        job(
            "        command: [bash, -c]\n"
            "        args:\n        - |\n"
            "          CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 4 train.py --deepspeed in_the_image.json\n"
        )
        + "---\n"
        + CONFIGMAP.replace("8}", '8, "bf16": {"enabled": true}, "fp16": {"enabled": true}}')
    )
    path = tmp_path / "job.yaml"
    path.write_text(text)
    file = File(str(path), "job.yaml", "yaml", True)
    outcome = lint([file], Context(rules=tuple(book.load()), release="0.19.8"), Workspace())
    found = {finding.name: finding.place for finding in outcome.findings if finding.severity != "info"}
    assert set(found) == {"visible-devices-ignored", "fp16-and-bf16"}
    place = found["fp16-and-bf16"]
    assert text[: place.start].endswith('"fp16": {"enabled": ')
    assert place.pointer == "/fp16/enabled"


@settings(max_examples=100, deadline=None)
@given(st.text("ab-$ '\"|>\n\\;&{}[]:#", max_size=30), st.text("cd-$ '\"|>\n\\;&{}[]:#", max_size=30))
def test_any_command_is_read_without_failing(first: str, second: str) -> None:
    text = job(f"        command: [bash, -c, {first}]\n        args:\n        - {second}\n")
    for workload in read(text):
        for command in workload.script.commands:
            for word in command.words:
                assert 0 <= word.start <= word.end <= len(text)
    for document in yaml.parse(Source("x", text)):
        list(walk(document.root))
