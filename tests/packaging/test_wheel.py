"""The wheel carries all that a run needs, is the same bytes each time, and works far from any checkout."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest
from source_copy import copy_sources

pytestmark = pytest.mark.slow

SAMPLE = '{"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}}\n'
LOG = "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled\n"


def build(sources, target, *options):
    pytest.importorskip(
        "build", reason="the package `build` is absent, so no wheel was built; install the test extra"
    )
    done = subprocess.run(
        [sys.executable, "-m", "build", *options, "--outdir", str(target), str(sources)],
        capture_output=True, text=True, check=False, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return copy_sources(tmp_path_factory.mktemp("sources") / "dslint")


@pytest.fixture(scope="module")
def built(sources, tmp_path_factory):
    """The sdist, and the wheel that is built from it: the road that an upload goes."""
    target = tmp_path_factory.mktemp("dist")
    build(sources, target)
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder with nothing in it, and a dslint beside it that was installed from the wheel alone."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home / "venv", with_pip=True)
    binaries = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([binaries / "python", "-m", "pip", "install", "-q", built[1]], check=True)
    (home / "work").mkdir()

    def run(*arguments, stdin=""):
        return subprocess.run(
            [binaries / "dslint", *arguments], cwd=home / "work", input=stdin, capture_output=True,
            text=True, check=False, env={"PATH": str(binaries), "HOME": str(home)},
        )  # fmt: skip

    run.python = binaries / "python"
    run.work = home / "work"
    return run


def names(wheel):
    with zipfile.ZipFile(wheel) as file:
        return set(file.namelist())


def test_the_wheel_holds_every_rule_and_schema_and_what_is_compiled_of_them(built, sources):
    inside = names(built[1])
    rules = {path for path in (sources / "rules").rglob("*.yaml") if path.parent.name != "messages"}
    wanted = {f"dslint/data/{path.relative_to(sources).as_posix()}" for path in rules}
    wanted |= {
        f"dslint/data/schemas/deepspeed/{path.name}"
        for path in (sources / "schemas/deepspeed").glob("*.json")
    }
    wanted |= {"dslint/data/rules/compiled.json", "dslint/data/messages.json", "dslint/py.typed"}
    assert wanted <= inside


def test_the_wheel_leaves_out_what_only_a_checkout_needs(built):
    unwanted = [
        name for name in names(built[1]) if name.startswith(("tests/", "rules/", "schemas/", "bench/"))
    ]
    unwanted += [name for name in names(built[1]) if "/overlay/" in name or name.endswith("generate.py")]
    unwanted += [name for name in names(built[1]) if "/rules/messages" in name]
    assert unwanted == []


def test_the_sdist_holds_the_tests_and_nothing_that_was_made(built):
    with tarfile.open(built[0]) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    assert {"tests/conftest.py", "hatch_build.py", "samples/ds_config.json", "Makefile"} <= inside
    assert not {"rules/compiled.json", "rules/messages.compiled.json"} & inside


def test_two_builds_give_the_same_bytes(built, sources, tmp_path):
    for path in (sources / "rules").rglob("*.yaml"):
        os.utime(path)
    build(sources, tmp_path, "--wheel")
    (again,) = tmp_path.glob("*.whl")
    first, second = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (built[1], again))
    assert first == second


def test_an_installed_wheel_finds_faults_and_mends_them(installed):
    config = installed.work / "ds_config.json"
    config.write_text(SAMPLE, encoding="utf-8")
    found = installed("--output-format", "json", "ds_config.json")
    assert found.returncode == 1, found.stderr
    assert "fp16-and-bf16" in {finding["name"] for finding in json.loads(found.stdout)}
    mended = installed("--fix", "--unsafe-fixes", "--select", "fp16-and-bf16", "ds_config.json")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert json.loads(config.read_text(encoding="utf-8"))["fp16"] == {"enabled": False}


def test_an_installed_wheel_explains_rules_prints_schemas_and_knows_hardware(installed):
    assert "DS201" in installed("rule", "fp16-and-bf16").stdout
    assert json.loads(installed("schema", "--release", "0.18.9").stdout)["$schema"].endswith("2020-12/schema")
    assert "a100" in installed("hardware").stdout.lower()


def test_an_installed_wheel_reads_logs(installed):
    told = installed("diagnose", "-", stdin=LOG)
    assert "fp16" in told.stdout, told.stderr
    assert "internal error" not in told.stderr


def test_an_installed_wheel_writes_nothing_into_itself(installed):
    code = "import dslint, os; print(os.path.dirname(dslint.__file__))"
    # -I: nothing of this checkout may lend itself to the import.
    done = subprocess.run([installed.python, "-I", "-c", code], capture_output=True, text=True, check=True)
    data = os.path.join(done.stdout.strip(), "data")
    before = {name: os.stat(os.path.join(data, name)).st_mtime_ns for name in os.listdir(data)}
    installed("rule")
    installed("diagnose", "-", stdin=LOG)
    assert before == {name: os.stat(os.path.join(data, name)).st_mtime_ns for name in os.listdir(data)}
