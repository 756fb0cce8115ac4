"""Which release a repository uses: pins in every kind of file, the order among them, what is installed."""

import os
import sys
from pathlib import Path

import pytest

from dslint.documents.tree import Place
from dslint.releases import pins
from dslint.releases.pins import find_pins, forget, installed, resolve_release
from dslint.releases.release import NEWEST


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """An empty repository as the working directory, with no deepspeed installed anywhere."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    forget()
    yield
    forget()


def put(folder, **files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    forget()


def pin(folder, package="deepspeed"):
    return find_pins(folder).get(package)


def shown(found):
    """The text that a pin's place covers, as its file has it."""
    return found.place.source.text[found.place.start : found.place.end]


PINNED = {
    "requirements.txt": {
        "deepspeed==0.14.5\n": "deepspeed==0.14.5",
        "torch\ndeepspeed == 0.14.5  # the last one that works\n": "deepspeed == 0.14.5",
        "DeepSpeed===0.14.5\r\n": "DeepSpeed===0.14.5",
        "deepspeed[1bit,autotuning]==0.14.5; python_version >= '3.9'\n": "deepspeed[1bit,autotuning]==0.14.5",
        "deepspeed==0.14.5 \\\n    --hash=sha256:9a0b \\\n    --hash=sha256:11aa\n": "deepspeed==0.14.5",
        "deepspeed==0.14.5+cu118\n": "deepspeed==0.14.5+cu118",
        "# deepspeed==0.9.5\ndeepspeed==0.14.5": "deepspeed==0.14.5",
        "deepspeed @ git+https://github.com/microsoft/DeepSpeed.git@v0.14.5\n": "/DeepSpeed.git@v0.14.5",
        "git+https://github.com/deepspeedai/DeepSpeed@v0.14.5#egg=deepspeed\n": "/DeepSpeed@v0.14.5",
        "https://example.org/wheels/deepspeed-0.14.5-py3-none-any.whl\n": "/deepspeed-0.14.5",
    },
    "requirements-train.txt": {"deepspeed==0.14.5\n": "deepspeed==0.14.5"},
    "requirements/base.txt": {"deepspeed==0.14.5\n": "deepspeed==0.14.5"},
    "constraints.txt": {"deepspeed==0.14.5\n": "deepspeed==0.14.5"},
    "pyproject.toml": {
        '[project]\ndependencies = [\n  "torch",\n  "deepspeed==0.14.5",\n]\n': "deepspeed==0.14.5",
        "[project]\noptional-dependencies.t = [\"deepspeed[1bit]==0.14.5 ; os_name == 'posix'\"]\n": (
            "deepspeed[1bit]==0.14.5 ; os_name == 'posix'"
        ),
        '[dependency-groups]\ntrain = [{include-group = "dev"}, "deepspeed==0.14.5"]\ndev = []\n': (
            "deepspeed==0.14.5"
        ),
        '# "deepspeed==0.14.5"\n[tool.uv]\noverride-dependencies = ["deepspeed==0.14.5"]\n': (
            "deepspeed==0.14.5"
        ),
        '[tool.poetry.dependencies]\npython = "^3.10"\ndeepspeed = "0.14.5"\n': 'deepspeed = "0.14.5"',
        '[tool.poetry.group.train.dependencies]\ndeepspeed = {version = "==0.14.5", optional = true}\n': (
            'deepspeed = {version = "==0.14.5"'
        ),
    },
    "Pipfile": {'[packages]\ndeepspeed = "==0.14.5"\n': 'deepspeed = "==0.14.5"'},
    "setup.cfg": {
        "[options]\ninstall_requires =\n    torch\n    deepspeed==0.14.5\n": "deepspeed==0.14.5",
        "[options.extras_require]\ntrain = deepspeed==0.14.5\n": "deepspeed==0.14.5",
    },
    "setup.py": {
        'from setuptools import setup\nsetup(install_requires=["torch", "deepspeed==0.14.5"])\n': (
            '"deepspeed==0.14.5"'
        ),
        "needed = ['deepspeed==0.14.5']\nsetup(install_requires=needed)\n": "'deepspeed==0.14.5'",
        'setup(name="é", extras_require={"train": ["deepspeed==0.14.5"]})\n': '"deepspeed==0.14.5"',
    },
    "environment.yml": {
        "dependencies:\n  - python=3.10\n  - deepspeed=0.14.5\n": "deepspeed=0.14.5",
        "dependencies:\n  - conda-forge::deepspeed=0.14.5=py310_0\n": "deepspeed=0.14.5=py310_0",
        "dependencies:\n- pip\n- pip:\n  - deepspeed==0.14.5  # pinned\n": "deepspeed==0.14.5",
        "dependencies:\n  - pip:\n    - 'deepspeed==0.14.5'\n": "deepspeed==0.14.5",
    },
    "uv.lock": {
        'version = 1\n\n[[package]]\nname = "deepspeed"\nversion = "0.14.5"\nsource = { registry = "x" }\n': (
            'name = "deepspeed"\nversion = "0.14.5"'
        )
    },
    "poetry.lock": {
        '[[package]]\nname = "deepspeed"\nversion = "0.14.5"\ndescription = ""\n': (
            'name = "deepspeed"\nversion = "0.14.5"'
        )
    },
    "pdm.lock": {
        '[[package]]\nname = "deepspeed"\nversion = "0.14.5"\nrequires_python = ""\n': (
            'name = "deepspeed"\nversion = "0.14.5"'
        )
    },
    "Pipfile.lock": {
        '{"default": {"deepspeed": {"hashes": ["sha256:0a"], "index": "pypi", "version": "==0.14.5"}}}': (
            '"deepspeed": {"hashes": ["sha256:0a"], "index": "pypi", "version": "==0.14.5"'
        )
    },
    "Dockerfile": {
        "FROM x\nRUN pip install torch && \\\n    pip install 'deepspeed==0.14.5'\n": "deepspeed==0.14.5",
        "ARG DS=0.14.5\nRUN pip install --no-cache-dir deepspeed==${DS} transformers\n": "deepspeed",
        "ENV DS 0.14.5\nRUN uv pip install deepspeed==$DS\n": "deepspeed",
        "RUN pip install git+https://github.com/microsoft/DeepSpeed.git@v0.14.5\n": "/DeepSpeed.git@v0.14.5",
    },
}
EVERY = [(name, text, place) for name, texts in PINNED.items() for text, place in texts.items()]


@pytest.mark.parametrize(("name", "text", "place"), EVERY)
def test_a_pin_is_read_with_its_place(tmp_path, name, text, place):
    put(tmp_path, **{name: text})
    found = pin(tmp_path)
    assert found is not None
    assert (found.version, found.exact) == ("0.14.5", True)
    assert shown(found) == place
    assert found.place.source.path == name


SILENT = {
    "requirements.txt": [
        "",
        "# deepspeed==0.14.5\n",
        "deepspeed-mii==0.14.5\n",
        "my-deepspeed==0.14.5\n",
        "deepspeedx==0.14.5\n",
        "git+https://github.com/microsoft/DeepSpeed.git@master\n",
        "git+https://github.com/microsoft/DeepSpeed.git@8d98e171\n",
    ],
    "pyproject.toml": [
        '[project]\nkeywords = ["deepspeed==0.14.5"]\n',
        '[project]\ndependencies = ["deepspeed==0.14.5"\n',
        '# dependencies = ["deepspeed==0.14.5"]\n',
    ],
    "setup.cfg": ["[metadata]\nname = deepspeed==0.14.5\n"],
    "setup.py": [
        "print('deepspeed==0.14.5')\n",
        "setup(install_requires=[f'deepspeed=={version}'])\n",
        "def (",
    ],
    "environment.yml": ["# - deepspeed=0.14.5\n", "channels:\n  - deepspeed-nightly=0.14.5\n"],
    "uv.lock": ['[[package]]\nname = "deepspeed-mii"\nversion = "0.14.5"\n'],
    "Dockerfile": ["# RUN pip install deepspeed==0.14.5\n", "RUN pip install deepspeed==${DS}\n"],
    "notes.txt": ["deepspeed==0.14.5\n"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in SILENT.items() for t in texts])
def test_what_pins_nothing_gives_no_version(tmp_path, name, text):
    put(tmp_path, **{name: text})
    found = pin(tmp_path)
    assert found is None or found.version is None


@pytest.mark.parametrize(
    ("specifier", "version"),
    [
        ("<0.15", "0.14.5"),
        ("<=0.15", "0.15.0"),
        (">=0.10,<0.15", "0.14.5"),
        (">=0.10, !=0.14.5, <0.15", "0.14.4"),
        ("~=0.14.2", "0.14.5"),
        ("==0.14.*", "0.14.5"),
        (">=0.10", None),
        ("!=0.14.5", None),
        ("", None),
        ("<0.5", None),
    ],
)
def test_a_range_gives_the_newest_known_release_below_its_upper_bound(tmp_path, specifier, version):
    put(tmp_path, **{"requirements.txt": f"deepspeed{specifier}\n"})
    found = pin(tmp_path)
    assert (found.version, found.exact) == (version, False)
    assert found.specifier == specifier.replace(" ", "")


@pytest.mark.parametrize(
    ("constraint", "version"),
    [("^0.14.2", "0.14.5"), ("~0.14.2", "0.14.5"), ("~0.14", "0.14.5"), ("*", None), (">=0.10", None)],
)
def test_a_poetry_constraint_is_a_range(tmp_path, constraint, version):
    put(tmp_path, **{"pyproject.toml": f'[tool.poetry.dependencies]\ndeepspeed = "{constraint}"\n'})
    assert pin(tmp_path).version == version


@pytest.mark.parametrize(
    ("constraint", "version"),
    [("=0.14", "0.14.5"), ("=0.14.*", "0.14.5"), (" >=0.10,<0.15", "0.14.5"), (">=0.10", None), ("", None)],
)
def test_a_conda_constraint_is_a_range(tmp_path, constraint, version):
    put(tmp_path, **{"environment.yml": f"dependencies:\n  - deepspeed{constraint}\n"})
    assert pin(tmp_path).version == version


def test_every_package_is_found_whichever_way_its_name_is_written(tmp_path):
    put(
        tmp_path,
        **{"requirements.txt": "Transformers==4.40.0\npytorch_lightning==2.2.0\nms.swift==2.0\ntorch>=2.1\n"},
    )
    found = find_pins(tmp_path)
    assert {package: each.version for package, each in found.items()} == {
        "transformers": "4.40.0",
        "pytorch-lightning": "2.2.0",
        "ms-swift": "2.0.0",
        "torch": None,
    }
    assert found["torch"].specifier == ">=2.1"


def test_a_range_of_another_package_tells_no_version(tmp_path):
    put(tmp_path, **{"requirements.txt": "transformers<4.50\n"})
    found = pin(tmp_path, "transformers")
    assert (found.version, found.specifier) == (None, "<4.50")


def test_the_nearest_folder_wins_up_to_the_root_of_the_repository(tmp_path):
    outside = tmp_path / "repository"
    inside = outside / "examples" / "llama"
    put(tmp_path, **{"requirements.txt": "deepspeed==0.9.5\n"})
    (outside / ".git").mkdir(parents=True)
    inside.mkdir(parents=True)
    assert pin(inside) is None
    put(outside, **{"requirements.txt": "deepspeed==0.14.5\n"})
    assert pin(inside).version == "0.14.5"
    put(inside, **{"requirements.txt": "deepspeed==0.16.0\n"})
    assert pin(inside).version == "0.16.0"
    assert find_pins(inside.parent, stop=inside.parent) == {}


def test_without_a_repository_the_working_directory_is_the_root(tmp_path, monkeypatch):
    (tmp_path / ".git").rmdir()
    here = tmp_path / "here"
    below = here / "configs"
    below.mkdir(parents=True)
    put(tmp_path, **{"requirements.txt": "deepspeed==0.9.5\n"})
    put(here, **{"requirements.txt": "deepspeed==0.14.5\n"})
    monkeypatch.chdir(here)
    assert pin(below).version == "0.14.5"
    monkeypatch.chdir(below)
    assert pin(below) is None
    # Not below the working directory: its own folder alone.
    assert pin(here).version == "0.14.5"


def test_a_lower_bound_near_lets_a_pin_above_speak_if_it_meets_it(tmp_path):
    below = tmp_path / "configs"
    put(tmp_path, **{"requirements.txt": "deepspeed==0.14.5\n"})
    put(below, **{"requirements.txt": "deepspeed>=0.10\n"})
    assert pin(below).version == "0.14.5"
    put(below, **{"requirements.txt": "deepspeed>=0.15\n"})
    assert pin(below).version is None


def test_in_one_folder_a_pin_goes_before_a_range_and_requirements_before_the_rest(tmp_path):
    put(
        tmp_path,
        **{
            "pyproject.toml": '[project]\ndependencies = ["deepspeed==0.15.0"]\n',
            "requirements.txt": "deepspeed<0.16\n",
            "Dockerfile": "RUN pip install deepspeed==0.12.6\n",
        },
    )
    assert pin(tmp_path).version == "0.15.0"
    put(tmp_path, **{"requirements-extra.txt": "deepspeed==0.14.4\n"})
    assert pin(tmp_path).version == "0.14.4"
    put(tmp_path, **{"requirements.txt": "deepspeed==0.14.5\n"})
    assert pin(tmp_path).version == "0.14.5"
    put(tmp_path, **{"requirements-deepspeed.txt": "deepspeed==0.16.0\n"})
    assert pin(tmp_path).version == "0.16.0"


def test_a_lock_goes_before_the_range_that_it_resolves(tmp_path):
    put(
        tmp_path,
        **{
            "pyproject.toml": '[project]\ndependencies = ["deepspeed>=0.10,<0.17"]\n',
            "uv.lock": '[[package]]\nname = "deepspeed"\nversion = "0.16.2"\n',
        },
    )
    assert pin(tmp_path).version == "0.16.2"


def test_where_markers_choose_the_newest_pin_is_taken(tmp_path):
    put(
        tmp_path,
        **{
            "requirements.txt": "deepspeed==0.9.5; python_version < '3.8'\n"
            "deepspeed==0.14.5; python_version >= '3.8'\n"
        },
    )
    assert pin(tmp_path).version == "0.14.5"


def test_a_name_alone_says_less_than_a_range(tmp_path):
    put(
        tmp_path,
        **{"setup.py": "setup(extras_require={'torch': ['torch>=2.0'], 'deepspeed': ['deepspeed<0.15']})\n"},
    )
    assert pin(tmp_path, "torch").specifier == ">=2.0"
    assert pin(tmp_path).version == "0.14.5"


def test_an_included_file_is_read_from_beside_the_one_that_names_it(tmp_path):
    put(
        tmp_path,
        **{
            "requirements.txt": "-r deps/train.in\n-c missing.txt\n",
            "deps/train.in": "-r ../requirements.txt\ndeepspeed==0.14.5\n",
        },
    )
    found = pin(tmp_path)
    assert found.version == "0.14.5"
    assert found.place.source.path == "deps/train.in"


def test_files_that_name_no_package_are_not_parsed(tmp_path, monkeypatch):
    put(
        tmp_path,
        **{
            "pyproject.toml": "[broken",
            "setup.py": "def (",
            "environment.yml": "- torchvision=0.16\n",
            "requirements.txt": "numpy\n",
        },
    )
    monkeypatch.setitem(sys.modules, "dslint.releases.requirement_files", None)
    assert find_pins(tmp_path, packages=("deepspeed",)) == {}


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    listed = []
    real = pins.os.listdir
    monkeypatch.setattr(pins.os, "listdir", lambda folder: listed.append(folder) or real(folder))
    put(tmp_path, **{"requirements.txt": "deepspeed==0.14.5\n"})
    for _ in range(3):
        find_pins(tmp_path)
        find_pins(tmp_path, packages=("deepspeed",))
    assert listed.count(str(tmp_path)) == 1


def test_unreadable_and_binary_files_are_passed_over(tmp_path):
    put(tmp_path, **{"requirements-a.txt": "deepspeed==0.14.5\n"})
    (tmp_path / "requirements.txt").write_bytes(b"\xff\xfe\x00deepspeed\x00==\xff")
    (tmp_path / "pyproject.toml").mkdir()
    forget()
    assert pin(tmp_path).version == "0.14.5"


def distribution(folder, name):
    (folder / name).mkdir(parents=True)
    forget()


def test_what_is_installed_is_told_by_the_name_of_its_metadata(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    distribution(site, "deepspeed-0.16.2+cu121.dist-info")
    distribution(site, "deepspeed_mii-0.3.0.dist-info")
    distribution(site, "pytorch_lightning-2.2.0.dist-info")
    distribution(site, "trl-0.9-py3.10.egg-info")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "missing"), str(site)])
    assert installed("deepspeed") == "0.16.2+cu121"
    assert installed("pytorch-lightning") == "2.2.0"
    assert installed("trl") == "0.9"
    assert installed("transformers") is None
    assert "importlib.metadata" not in pins.__dict__


def test_an_editable_source_tree_tells_its_version_in_its_egg_info(tmp_path, monkeypatch):
    tree = tmp_path / "DeepSpeed"
    distribution(tree, "deepspeed.egg-info")
    (tree / "deepspeed.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nVersion: 0.15.1\n")
    monkeypatch.setattr(sys, "path", [str(tree)])
    assert installed("deepspeed") == "0.15.1"


def test_the_active_environment_counts_where_dslint_has_its_own(tmp_path, monkeypatch):
    distribution(tmp_path / "venv" / "lib" / "python3.12" / "site-packages", "deepspeed-0.17.6.dist-info")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    forget()
    assert installed("deepspeed") == "0.17.6"


def test_the_release_is_the_option_else_the_setting_else_the_pin_else_the_installed_else_the_newest(
    tmp_path, monkeypatch
):
    assert resolve_release(None, None, tmp_path) == (NEWEST.name, "the newest release that dslint knows")
    distribution(tmp_path / "site", "deepspeed-0.16.2+cu121.dist-info")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    assert resolve_release(None, None, tmp_path) == ("0.16.2", "the installed package")
    put(tmp_path, **{"requirements.txt": "deepspeed>=0.10\n"})
    assert resolve_release(None, None, tmp_path) == ("0.16.2", "the installed package")
    put(tmp_path, **{"requirements.txt": "deepspeed==0.14.5\n"})
    name, place = resolve_release(None, None, str(tmp_path))
    assert name == "0.14.5"
    assert isinstance(place, Place)
    assert place.source.position(place.start) == (1, 1)
    assert resolve_release(None, "0.13.5", tmp_path) == ("0.13.5", "the settings")
    assert resolve_release("0.12.6", "0.13.5", tmp_path) == ("0.12.6", "--deepspeed-version")


def test_a_warm_start_without_files_stays_cheap():
    import subprocess

    code = (
        "import sys\n"
        "from dslint.releases.pins import resolve_release\n"
        "resolve_release(None, None, '.')\n"
        "print([n for n in ('importlib.metadata', 'tomllib', 'tomli', 'ruamel', 'ast', 'json', 'pathlib') "
        "if n in sys.modules and n not in before])\n"
    )
    first = "import dataclasses, sys; before = set(sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", first + code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "[]"
