"""Nothing of the linted repository is imported, evaluated or run: a repository of traps, under an audit hook.

Each trap leaves a file when it goes off; the hook stops the run when code of the repository is compiled or run, when a program is
started, or when a socket is opened.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest
from places import ROOT

HOOK = """
import os, sys
REPOSITORY = os.environ["TRAPS"]
STOPPING = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn",
    "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.__new__",
    "ctypes.dlopen", "ctypes.dlsym", "urllib.Request", "pickle.find_class",
    "webbrowser.open", "ftplib.connect", "smtplib.connect", "http.client.connect",
)
def hook(event, arguments):
    if event in STOPPING:
        stop(event, arguments)
    if event == "exec":
        name = getattr(arguments[0], "co_filename", "")
        if name.startswith(REPOSITORY) or is_trap(arguments[0]):
            stop(event, name)
    if event == "import" and str(arguments[1] or "").startswith(REPOSITORY):
        stop(event, arguments[:2])
    if event == "open" and str(arguments[0]).endswith(".pyc") and str(arguments[0]).startswith(REPOSITORY):
        stop(event, arguments[0])
def is_trap(code):
    return "TRAP" in getattr(code, "co_names", ()) or any("SPRUNG" in str(one) for one in getattr(code, "co_consts", ()))
def stop(event, what):
    sys.stderr.write(f"AUDIT: {event}: {what}\\n")
    sys.stderr.flush()
    os._exit(99)
sys.addaudithook(hook)
"""

TRAP = 'TRAP = open({path!r}, "w")  # SPRUNG\n'
MODULES = (
    *(
        "json",
        "re",
        "click",
        "tomllib",
        "yaml",
        "deepspeed",
        "torch",
        "transformers",
        "accelerate",
        "pathspec",
        "ast",
    ),
    *(
        "ruamel",
        "tree_sitter",
        "pydantic",
        "conftest",
        "setup",
        "sitecustomize",
        "usercustomize",
        "hatch_build",
        "noxfile",
    ),
    *(
        "tempfile",
        "pathlib",
        "difflib",
        "hjson",
        "jsonschema",
        "train",
        "tokenize",
        "decimal",
        "bisect",
        "shutil",
    ),
)
FILES = {
    "ds_config.json": '{"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true},'
    ' "optimizer": {"type": "__import__(\'os\').system(\'touch {sprung}\')"}, "x": "{{ cycler.__init__ }}"}',
    "accelerate.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config: !!python/object/apply:os.system ['touch {sprung}']\n"
    "a: !!python/name:os.system\nb: !!python/module:conftest\n",
    "train.sh": "#!/bin/bash\nX=$(touch {sprung})\n"
    "deepspeed train.py --deepspeed `touch {sprung}` $(touch {sprung}) ds_config.json\n"
    "eval 'touch {sprung}'\nsource ./env.sh\ncat > a.json <<EOF\n$(touch {sprung})\nEOF\n",
    "env.sh": "touch {sprung}\n",
    "Makefile": "X := $(shell touch {sprung})\nall:\n\t@touch {sprung}; deepspeed train.py --deepspeed ds_config.json\n",
    "Dockerfile": "FROM x\nRUN touch {sprung} && deepspeed train.py --deepspeed ds_config.json\n",
    "nb.ipynb": json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "metadata": {},
                    "outputs": [],
                    "source": "!touch {sprung}\n%run conftest.py\nimport deepspeed\ndeepspeed.initialize(config=eval('{}'))\n",
                }
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ),
    "pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'hatch_build'\nbackend-path = ['.']\n"
    "[project]\nname = 'traps'\nversion = '1'\ndependencies = ['deepspeed==0.18.9']\n[tool.dslint]\nrules = ['rules']\n",
    ".git/config": "[core]\n\tfsmonitor = touch {sprung}\n\thooksPath = .git/hooks\n\tsshCommand = touch {sprung}\n"
    "[diff]\n\texternal = touch {sprung}\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "dslint.pth": "import os; os.system('touch {sprung}')\n",
    ".gitattributes": "* filter=trap\n",
}
RULE = (
    "code: OWN001\nname: mine\nseverity: warning\nsummary: Mine\nwhen:\n  train_batch_size: 8\n"
    "message: 'of {release.__init__.__globals__} and {train_batch_size.__class__}'\nwhy: Because.\nsources: [wiki]\n"
    "examples: [{bad: '{}'}]\n"
)
PROGRAM = """import os
open({path!r}, "w").close()  # SPRUNG
import deepspeed
config = {{"fp16": {{"enabled": (lambda: os.system("touch {path}"))() or True}}}}
deepspeed.initialize(config={{**config, f"{{os.system('touch {path}')}}": __import__("conftest")}})
"""


class Bomb:
    def __reduce__(self):
        return os.system, ("touch sprung",)


@pytest.fixture(scope="module")
def traps(tmp_path_factory):
    """The repository, and the file that is there once a trap went off."""
    folder = tmp_path_factory.mktemp("traps") / "repository"
    sprung = folder.parent / "sprung"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{sprung}", str(sprung)), encoding="utf-8")
    (folder / "rules").mkdir()
    (folder / "rules" / "own.yaml").write_text(RULE, encoding="utf-8")
    for name in MODULES:
        (folder / f"{name}.py").write_text(TRAP.format(path=str(sprung)), encoding="utf-8")
    (folder / "train.py").write_text(PROGRAM.format(path=str(sprung)), encoding="utf-8")
    (folder / "model.pkl").write_bytes(pickle.dumps(Bomb()))
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    (folder / "ds.pickle.json").write_bytes(b'{"train_batch_size": 8}' + pickle.dumps(Bomb()))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "json.cpython-311.pyc").write_bytes(b"\0" * 64)
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {sprung}\n", encoding="utf-8")
    hook.chmod(0o755)
    return folder, sprung


LAUNCHERS = {
    "the script": ("-c", "import sys; sys.path[:] = [p for p in sys.path if p]; sys.argv[0] = 'dslint'\n"
                   "from dslint.cli.main import main; main()"),
}  # fmt: skip
if sys.version_info >= (3, 11):
    # Without -P, Python itself imports from the working folder before it comes to dslint: docs/trust.md says so.
    LAUNCHERS["python -P -m dslint"] = ("-P", "-m", "dslint")
ARGUMENTS = [
    ("--output-format", "json", "."),
    ("--fail-on", "never", "--output-format", "sarif", "."),
    ("--diff", "--unsafe-fixes", "."),
    ("--deepspeed-version", "0.16.9", "--framework", "transformers", "."),
    ("check", "train.py"),
    ("diagnose", "train.sh", "."),
    ("upgrade", "--to", "0.19.8", "."),
    ("migrate", "--to", "bf16", "--diff", "."),
    ("rule", "fp16-and-bf16"),
]


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=" ".join)
def test_a_repository_of_traps_is_linted_and_no_trap_goes_off(traps, tmp_path, launcher, arguments):
    folder, sprung = traps
    (tmp_path / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *LAUNCHERS[launcher], *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), "TRAPS": str(folder),
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1",
        },
    )  # fmt: skip
    assert "AUDIT" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert not sprung.exists()
    assert "__globals__" not in done.stdout or "{release.__init__" in done.stdout


def test_dash_m_imports_nothing_of_its_own_from_the_working_folder(tmp_path):
    """What Python imports on its own for -m is out of dslint's hands; all that dslint imports is not."""
    folder, sprung = tmp_path / "work", tmp_path / "sprung"
    folder.mkdir()
    for name in (
        "click",
        "yaml",
        "ruamel",
        "pydantic",
        "pathspec",
        "hjson",
        "deepspeed",
        "tomllib",
        "conftest",
        "decimal",
    ):
        (folder / f"{name}.py").write_text(TRAP.format(path=str(sprung)), encoding="utf-8")
    (folder / "dslint.toml").write_text('ignore = ["DS201"]\n', encoding="utf-8")
    (folder / "a.yaml").write_text("distributed_type: DEEPSPEED\ndeepspeed_config: {}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dslint", "."], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert not sprung.exists()


def test_the_traps_are_found_by_what_they_hold(traps, tmp_path):
    """The runs above read the traps, and do not merely pass them by."""
    folder, _ = traps
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main", "--output-format", "json", "."],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    files = {finding["filename"] for finding in json.loads(done.stdout)}
    assert {"ds_config.json", "accelerate.yaml"} <= files, done.stderr


HOOKED = [
    "import os; os.system('true')",
    "import socket; socket.socket()",
    "import subprocess; subprocess.run(['true'])",
    "import sys; sys.path.insert(0, os.environ['TRAPS']); import conftest",
    "exec(open(os.path.join(os.environ['TRAPS'], 'conftest.py')).read())",
    "import ctypes; ctypes.CDLL(None)",
]


@pytest.mark.parametrize("code", HOOKED)
def test_the_hook_stops_what_it_is_there_to_stop(traps, tmp_path, code):
    folder, sprung = traps
    (tmp_path / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", f"import os\n{code}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "TRAPS": str(folder), "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 99, done.stderr
    assert "AUDIT" in done.stderr
    assert not sprung.exists()


@pytest.mark.parametrize(
    "setting", ["plugins", "python", "import", "load-plugins", "custom-checks", "command"]
)
def test_no_setting_names_code(tmp_path, setting):
    (tmp_path / "dslint.toml").write_text(f'{setting} = "conftest:main"\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dslint.cli.main", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert f"there is no setting `{setting}`" in done.stderr
