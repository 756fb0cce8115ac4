"""Accelerate's files are known by their content, and the DeepSpeed config that they make has its places in
them.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dslint.documents import yaml
from dslint.documents.tree import UNKNOWN, Place, Source, walk
from dslint.launches.accelerate import AccelerateConfig, accelerate_config, derived_from_flags
from dslint.launches.accelerate_derive import READERS
from dslint.launches.accelerate_faults import faults, refused_beside_file
from dslint.launches.accelerate_keys import DERIVED, LAUNCHING, TOP_KEYS
from dslint.launches.discover import discover
from dslint.launches.launch import Argument
from dslint.linting import Context, lint
from dslint.workspace import Workspace

BASE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_machines: 1
num_processes: 8
machine_rank: 0
"""


def read(text: str, version=None, **flags: object) -> AccelerateConfig:
    [document] = yaml.parse(Source("accelerate.yaml", text))
    script = Source("train.sh", "accelerate launch …")
    given = {name: Argument(value, Place(script, 0, 1)) for name, value in flags.items()}
    config = accelerate_config(document, given, version)
    assert config is not None
    return config


def block(*lines: str, base: str = BASE, rest: str = "") -> str:
    return base + "deepspeed_config:\n" + "".join(f"  {line}\n" for line in lines) + rest


def said(text: str, version=None, **asked) -> list[tuple[str, str, bool]]:
    return [
        (fault.kind, fault.pointer, fault.refused) for fault in faults(read(text, version), version, **asked)
    ]


# --- which files


@pytest.mark.parametrize(
    "text",
    [
        "model: x\ntraining: {}\ndeepspeed_config: configs/x.json\n",
        "model_name_or_path: x\ndeepspeed: ds.json\nbf16: true\nnum_processes: 4\n",
        "distributed_type: DEEPSPEED\nmodel: x\ndata: y\nlr: 1\n",
        "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: 'NO'\nec2_instance_type: x\niam_role_name: y\n",
        "- distributed_type\n",
        "zero_optimization: {stage: 3}\nfp16: {enabled: true}\n",
    ],
)
def test_other_files_are_left_alone(text: str) -> None:
    [document] = yaml.parse(Source("x.yaml", text))
    assert accelerate_config(document) is None


def test_a_file_is_known_by_its_keys_whatever_its_name() -> None:
    config = read("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 2\n")
    assert config.uses_deepspeed is True
    assert config.document.dialect == "accelerate"


@pytest.mark.parametrize(
    ("kind", "uses"),
    [
        ("DEEPSPEED", True),
        ("MULTI_GPU", False),
        ("'NO'", False),
        ("NO", False),
        ("${KIND}", None),
        ("deepspeed", None),
    ],
)
def test_deepspeed_is_used_when_the_distributed_type_says_so(kind: str, uses: bool | None) -> None:
    assert read(block("zero_stage: 2").replace("DEEPSPEED", kind)).uses_deepspeed is uses


def test_a_flag_for_another_way_to_train_wins() -> None:
    assert read(BASE, use_fsdp="").uses_deepspeed is False
    assert read(BASE.replace("DEEPSPEED", "MULTI_GPU"), use_deepspeed="").uses_deepspeed is True


# --- the config that is made


def test_the_made_config_stands_where_its_settings_stand() -> None:
    text = block(
        "zero_stage: 2", "offload_param_device: cpu", "gradient_clipping: 0.5", rest="mixed_precision: bf16\n"
    )
    config = read(text)
    derived = config.derived
    assert derived is not None
    assert derived.derived
    assert derived.dialect == "deepspeed"
    node = derived.node("/zero_optimization/stage")
    assert (node.value, text[node.start : node.end], node.origin) == (2, "2", "/deepspeed_config/zero_stage")
    member = derived.node("/zero_optimization").member("offload_param")
    assert text[member.key_start : member.key_end] == "offload_param_device"
    assert member.node.origin == "/deepspeed_config/offload_param_device"
    assert derived.node("/bf16/enabled").value is True
    assert derived.node("/fp16/enabled").value is False
    assert derived.node("/bf16/enabled").origin == "/mixed_precision"
    assert derived.node("/gradient_clipping").value == 0.5
    assert derived.node("/train_batch_size").value == "auto"
    assert derived.node("/gradient_accumulation_steps").value == "auto"


def test_every_node_of_a_made_config_points_into_the_file() -> None:
    text = block("zero_stage: 3", "offload_optimizer_device: nvme", "zero3_save_16bit_model: yes")
    for _, node in walk(read(text).derived.root):
        assert node.origin is not None
        assert node.origin.startswith(("/deepspeed_config", "/mixed_precision"))
        assert 0 <= node.start <= node.end <= len(text)


def test_older_releases_fill_in_other_values() -> None:
    text = block("zero_stage: 2")
    assert read(text, (0, 22, 0)).derived.node("/gradient_accumulation_steps").value == 1
    assert read(text, (0, 29, 3)).derived.node("/gradient_clipping") is None
    assert read(text, (0, 30, 0)).derived.node("/gradient_clipping").value == "auto"


def test_without_a_precision_the_program_may_choose_it() -> None:
    derived = read(block("zero_stage: 2")).derived
    assert derived.node("/bf16").value is UNKNOWN
    assert derived.node("/fp16").value is UNKNOWN


def test_a_named_file_takes_the_place_of_the_made_config() -> None:
    config = read(block("deepspeed_config_file: ds.json"))
    assert config.derived is None
    assert config.config_file.value == "ds.json"
    assert config.config_file.place.pointer == "/deepspeed_config/deepspeed_config_file"
    for none in ("null", "none"):
        config = read(block(f"deepspeed_config_file: {none}", "zero_stage: 2"))
        assert config.config_file is None
        assert config.derived is not None


def test_what_a_flag_changes_is_unknown_in_the_made_config() -> None:
    derived = read(block("zero_stage: 2", "gradient_clipping: 1.0"), zero_stage="3").derived
    assert derived.node("/zero_optimization/stage").value is UNKNOWN
    assert derived.node("/gradient_clipping").value == 1.0
    derived = read(block("gradient_clipping: 1.0"), zero_stage="3").derived
    assert derived.node("/zero_optimization/stage").value is UNKNOWN
    old = read(block("zero_stage: 2"), (1, 4, 0), zero_stage="3")
    assert old.derived.node("/zero_optimization/stage").value == 2
    same = read(block("zero_stage: 2"), zero_stage="2")
    assert same.derived.node("/zero_optimization/stage").value == 2


def test_flags_alone_make_a_config_that_stands_in_the_script() -> None:
    text = "accelerate launch --use_deepspeed --zero_stage 3 --mixed_precision bf16 train.py"
    source = Source("train.sh", text)

    def flag(value: str) -> Argument:
        return Argument(value, Place(source, text.index(value), text.index(value) + len(value)))

    home = Place(source, 0, len("accelerate launch"))
    derived = derived_from_flags(source, {"zero_stage": flag("3"), "mixed_precision": flag("bf16")}, home)
    node = derived.node("/zero_optimization/stage")
    assert (node.value, text[node.start : node.end], node.origin) == (3, "3", None)
    assert derived.node("/bf16/enabled").value is True
    assert derived.node("/gradient_clipping").value == "auto"


# --- how many


@pytest.mark.parametrize(
    ("base", "lines", "size"),
    [
        (BASE, ["zero_stage: 2"], 8),
        (BASE.replace("machines: 1", "machines: 2"), ["deepspeed_multinode_launcher: standard"], 8),
        (BASE.replace("machines: 1", "machines: 3"), ["deepspeed_multinode_launcher: standard"], 6),
        (BASE.replace("machines: 1", "machines: 2"), ["zero_stage: 2"], None),
        (BASE.replace("processes: 8", "processes: $GPUS"), ["zero_stage: 2"], None),
        (BASE.replace("num_processes: 8\n", ""), ["zero_stage: 2"], None),
        (BASE + "parallelism_config:\n  parallelism_config_sp_size: 2\n", ["zero_stage: 2"], None),
    ],
)
def test_the_world_is_the_processes_that_really_start(base: str, lines: list[str], size: int | None) -> None:
    assert read(block(*lines, base=base)).world_size == size


def test_a_flag_sets_the_number_of_processes_and_another_precision() -> None:
    config = read(
        block("zero_stage: 2", rest="mixed_precision: bf16\n"), num_processes="4", mixed_precision="fp16"
    )
    assert config.world_size == 4
    assert config.mixed_precision.value == "fp16"
    assert config.derived.node("/bf16").value is UNKNOWN


# --- faults

STAGE = "zero_stage: 2"
D = "/deepspeed_config"
TWO = BASE.replace("machines: 1", "machines: 2")
CASES = [
    (block(STAGE), []),
    (block(STAGE, rest="lr_scheduler: cosine\n"), [("unknown-key", "/lr_scheduler", True)]),
    (block(STAGE, rest="ipex_config: {}\n"), []),
    (
        block(STAGE, base=BASE.replace("distributed_type: DEEPSPEED\n", "")),
        [("no-distributed-type", "/distributed_type", True)],
    ),
    (block(STAGE).replace("DEEPSPEED", "deepspeed"), [("bad-distributed-type", "/distributed_type", True)]),
    (block(STAGE).replace("DEEPSPEED", "FSDP"), [("not-deepspeed", D, False)]),
    (BASE.replace("DEEPSPEED", "FSDP") + "deepspeed_config: {}\n", []),
    (BASE + "deepspeed_config: ds.json\n", [("block-not-mapping", D, True)]),
    (BASE + "deepspeed_config: null\n", []),
    (block(STAGE, rest="gpu_ids: 0\n"), [("gpu-ids-not-text", "/gpu_ids", True)]),
    (block(STAGE, rest="gpu_ids: 0,1\n"), [("too-few-gpus", "/gpu_ids", False)]),
    (block(STAGE, rest="gpu_ids: all\n"), []),
    (block(STAGE, rest="mixed_precision: no\n"), [("precision-not-text", "/mixed_precision", False)]),
    (block(STAGE, rest="mixed_precision: 'no'\n"), []),
    (block(STAGE, rest="mixed_precision: float16\n"), [("bad-precision", "/mixed_precision", True)]),
    (
        block(
            "deepspeed_config_file: a.json", STAGE, "zero3_init_flag: true", rest="mixed_precision: 'no'\n"
        ),
        [("beside-file", D + "/zero_stage", True), ("beside-file", "/mixed_precision", True)],
    ),
    (block("deepspeed_config_file: a.json", rest="mixed_precision: null\nfp16: false\n"), []),
    (block("deepspeed_config_file: a.json", rest="fp16: true\n"), [("beside-file", "/fp16", True)]),
    (block("deepspeed_config_file: a.json", "deepspeed_multinode_launcher: standard"), []),
    (
        block("zero_optimization: {stage: 0}", "num_processes: 4"),
        [("dropped-key", D + "/zero_optimization", False)],
    ),
    (block("train_batch_size: auto", "train_micro_batch_size_per_gpu: auto"), []),
    (block("train_batch_size: 8"), [("dropped-key", D + "/train_batch_size", False)]),
    (block("zero_stage: auto"), [("bad-value", D + "/zero_stage", True)]),
    (block("zero_stage: [2, 3]"), [("bad-value", D + "/zero_stage", True)]),
    (block("gradient_clipping: false"), [("bad-value", D + "/gradient_clipping", True)]),
    (block("gradient_clipping: none"), []),
    (block("gradient_clipping: 0.0"), [("zero-clipping", D + "/gradient_clipping", False)]),
    (block("zero_stage: 3", "zero3_init_flag: auto"), [("bad-value", D + "/zero3_init_flag", True)]),
    (
        block("zero_stage: 3", "zero3_save_16bit_model: 1"),
        [("save-not-true", D + "/zero3_save_16bit_model", False)],
    ),
    (block(STAGE, "zero3_init_flag: true"), [("init-flag-at-stage", D + "/zero3_init_flag", False)]),
    (block("zero3_init_flag: true"), [("init-flag-at-stage", D + "/zero3_init_flag", False)]),
    (block("zero_stage: $STAGE", "zero3_init_flag: true"), []),
    (
        block("zero_stage: 3", "offload_param_device: nvme", "offload_param_nvme_path: /nvme"),
        [("nvme-path-dropped", D + "/offload_param_nvme_path", False)],
    ),
    (block(STAGE, base=TWO), [("lone-machines", D + "/deepspeed_multinode_launcher", False)]),
    (block("deepspeed_hostfile: hosts", base=TWO), []),
    (block("deepspeed_multinode_launcher: standard", base=TWO), []),
    (
        block("deepspeed_multinode_launcher: standard", "deepspeed_hostfile: hosts", base=TWO),
        [("hosts-ignored", D + "/deepspeed_hostfile", False)],
    ),
    (
        block("deepspeed_inclusion_filter: 'localhost:2,3'"),
        [("hosts-ignored", D + "/deepspeed_inclusion_filter", False)],
    ),
    (
        block("deepspeed_multinode_launcher: Standard", "deepspeed_hostfile: hosts", base=TWO),
        [("unknown-launcher", D + "/deepspeed_multinode_launcher", True)],
    ),
    (
        block("deepspeed_multinode_launcher: standard", base=TWO.replace("processes: 8", "processes: 1")),
        [("too-few-processes", "/num_processes", True)],
    ),
    (
        block("deepspeed_multinode_launcher: standard", base=TWO.replace("processes: 8", "processes: 7")),
        [("uneven-machines", "/num_processes", False)],
    ),
    (
        block(STAGE, base=BASE.replace("machines: 1", "machines: '1'")),
        [("count-not-number", "/num_machines", True)],
    ),
    (block(STAGE, rest="---\na: 1\n"), [("several-documents", "", True)]),
]


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_faults_are_found_where_they_stand(text: str, wanted: list[tuple[str, str, bool]]) -> None:
    document = yaml.parse(Source("accelerate.yaml", text))[0]
    found = [(fault.kind, fault.pointer, fault.refused) for fault in faults(accelerate_config(document))]
    assert sorted(found) == sorted(wanted)


def test_what_a_release_knows_decides_when_it_is_known() -> None:
    text = block(STAGE, rest="ipex_config: {}\nparallelism_config: {}\nmixed_precision: no\n")
    assert said(text, (1, 15, 0)) == [
        ("key-of-another-release", "/ipex_config", True),
        ("precision-not-text", "/mixed_precision", True),
    ]
    assert said(text, (0, 33, 0)) == [("key-of-another-release", "/parallelism_config", True)]
    assert ("bad-value", D + "/gradient_clipping", True) in said(block("gradient_clipping: auto"), (0, 29, 0))
    assert said(block("gradient_clipping: auto"), (0, 30, 0)) == []
    moe = block("zero_stage: 3", "deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock")
    assert said(moe) == []
    assert said(moe, (0, 29, 0)) == [("dropped-key", D + "/deepspeed_moe_layer_cls_names", False)]


def test_the_stage_of_a_named_file_decides_on_the_flag_for_zero_init() -> None:
    text = block("deepspeed_config_file: a.json", "zero3_init_flag: true")
    assert said(text) == []
    assert said(text, stage=3) == []
    assert said(text, stage=2) == [("init-flag-at-stage", D + "/zero3_init_flag", False)]


def test_what_only_flags_could_give_is_missed_when_all_flags_are_known() -> None:
    text = block("deepspeed_multinode_launcher: standard", base=TWO.replace("num_processes: 8\n", ""))
    assert said(text) == []
    assert {kind for kind, _, _ in said(text, flags_known=True)} == {"no-processes", "no-address"}


def test_a_config_that_the_program_names_refuses_the_same_keys() -> None:
    config = read(block(STAGE, "zero3_init_flag: false", rest="mixed_precision: bf16\n"))
    assert [fault.pointer for fault in refused_beside_file(config)] == [D + "/zero_stage", "/mixed_precision"]


def test_a_wrong_key_comes_with_the_one_that_was_meant() -> None:
    [fault] = faults(read(block("zero_stages: 3")))
    assert fault.parts["close"] == "zero_stage"
    [fault] = faults(read(block("bf16: {enabled: true}")))
    assert fault.parts["instead"] == "mixed_precision: bf16"


ANYTHING = st.one_of(
    st.sampled_from(
        ["auto", "none", "null", "'2'", "${X}", "{{ y }}", "[1, 2]", "{a: 1}", "true", "no", "1e-5", "*a"]
    ),
    st.integers(-3, 5).map(str),
    st.floats(-2, 2).map(str),
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(TOP_KEYS.keys() - {"deepspeed_config"})), ANYTHING, max_size=8),
    st.dictionaries(st.sampled_from([*DERIVED, *LAUNCHING, *READERS, "bf16", "stage"]), ANYTHING, max_size=8),
    st.sampled_from([None, (0, 21, 0), (0, 34, 0), (1, 15, 0)]),
)
def test_any_values_are_read_without_failing(top: dict[str, str], inner: dict[str, str], version) -> None:
    lines = ["distributed_type: DEEPSPEED", "compute_environment: LOCAL_MACHINE"]
    lines += [
        f"{key}: {value}"
        for key, value in top.items()
        if key not in ("distributed_type", "compute_environment")
    ]
    lines += ["deepspeed_config:", *(f"  {key}: {value}" for key, value in inner.items())]
    documents = yaml.parse(Source("x", "\n".join(lines) + "\n"))
    for document in documents:
        config = accelerate_config(document, version=version)
        if config is not None:
            for fault in faults(config, version):
                assert fault.pointer == "" or fault.pointer.startswith("/")


@pytest.mark.parametrize(
    "flags", ["--zero_stage 3", "--deepspeed_config_file ds.json"], ids=["its own config", "a named one"]
)
def test_flags_alone_make_a_launch_of_accelerate(tmp_path, flags) -> None:
    (tmp_path / "ds.json").write_text(
        '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}'
    )
    (tmp_path / "run.sh").write_text(f"accelerate launch --use_deepspeed {flags} train.py\n")
    outcome = lint(discover([str(tmp_path / "run.sh")]), Context(()), Workspace())
    assert [each.framework for each in outcome.launches if each.config.dialect == "deepspeed"] == [
        "accelerate"
    ]
