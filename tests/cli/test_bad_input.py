"""What is no config, or not even text: one clear line and status 2, or a finding; never a traceback, never a changed file."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from places import ROOT

START = '{"train_batch_size": 8, "fp16": {"enabled": true}, "x": '

UNREADABLE = {
    "binary": (bytes(range(256)) * 40, "NUL byte"),
    "invalid UTF-8": (b'{"train_batch_size": 8, "x": "\xff\xfe"}', "no UTF-8 text: byte 0xff in row 1"),
    "a NUL": (b'{"train_batch_size": 8,\n "a\x00b": 1}', "NUL byte at offset 27"),
    "UTF-16": ('{"train_batch_size": 8}'.encode("utf-16"), "UTF-16"),
}
FAULTY = {
    "empty": ("", "empty-config"),
    "blank": (" \n\t\n", "empty-config"),
    "10,000 lists deep": (START + "[" * 10_000 + "]" * 10_000 + "}", "syntax-error"),
    "10,000 objects deep": (START + '{"a":' * 10_000 + "1" + "}" * 10_000 + "}", "syntax-error"),
    "10,000 lists open": (START + "[" * 10_000, "syntax-error"),
    "a number of 10,000 digits": (START + "9" * 10_000 + "}", "syntax-error"),
    "half a file": ('{"train_batch_size": 8, "fp16": {"ena', "syntax-error"),
    "a list": ("[1, 2]", "not-an-object"),
    "prose": ("nothing of a config\n", "not-an-object"),
    "kinds at random": ('{"train_batch_size": [], "fp16": 3, "optimizer": [7]}', "wrong-type-refused"),
}


def dslint(folder, *arguments, before=(), stdin=b""):
    done = subprocess.run(
        [*before, sys.executable, "-m", "dslint.cli.main", *arguments],
        cwd=folder, input=stdin, capture_output=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)},
    )  # fmt: skip
    done.out, done.err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.out + done.err
    assert "internal error" not in done.err
    return done


def only_line(done):
    """The one line that is said; the status is 2."""
    assert done.returncode == 2, done.out + done.err
    (line,) = (done.out + done.err).splitlines()
    assert line.startswith("dslint: ")
    return line


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("options", [(), ("--fix", "--unsafe-fixes"), ("--diff",)], ids=" ".join)
def test_what_is_no_text_gets_one_line_and_stays(tmp_path, kind, options):
    data, reason = UNREADABLE[kind]
    (tmp_path / "ds_config.json").write_bytes(data)
    line = only_line(dslint(tmp_path, *options, "ds_config.json"))
    assert "ds_config.json" in line
    assert reason in line
    assert (tmp_path / "ds_config.json").read_bytes() == data


@pytest.mark.parametrize("kind", FAULTY)
def test_what_is_no_config_is_a_finding_and_stays(tmp_path, kind):
    text, name = FAULTY[kind]
    path = tmp_path / "ds_config.json"
    path.write_text(text, encoding="utf-8")
    done = dslint(tmp_path, "--output-format", "json", "ds_config.json")
    assert done.returncode == 1, done.err
    assert name in {finding["name"] for finding in json.loads(done.out)}
    assert dslint(tmp_path, "--fix", "--unsafe-fixes", "ds_config.json").returncode == 1
    assert path.read_text(encoding="utf-8") == text


def test_unreadable_files_of_a_folder_do_not_keep_the_others_from_being_read(tmp_path):
    (tmp_path / "binary.json").write_bytes(UNREADABLE["binary"][0])
    (tmp_path / "ds_config.json").write_text("[]", encoding="utf-8")
    done = dslint(tmp_path, "--output-format", "json", ".")
    assert done.returncode == 1
    assert [finding["name"] for finding in json.loads(done.out)] == ["not-an-object"]


@pytest.mark.slow
def test_a_file_of_50_mb_is_read_or_refused_but_never_changed(tmp_path):
    path = tmp_path / "ds_config.json"
    text = START + '"' + "a" * (50 * 1024 * 1024) + '"}\n'
    path.write_text(text, encoding="utf-8")
    done = dslint(tmp_path, "--fix", "--unsafe-fixes", "ds_config.json")
    assert done.returncode in (1, 2)
    assert len(done.out + done.err) < 10_000
    assert path.read_text(encoding="utf-8") == text


def test_a_file_above_the_limit_gets_one_line(tmp_path):
    with open(tmp_path / "ds_config.json", "wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert "larger than 64 MB" in only_line(dslint(tmp_path, "ds_config.json"))


@pytest.mark.parametrize("options", [(), ("--fix",)], ids=" ".join)
def test_a_file_closed_to_this_user_gets_one_line(tmp_path, options):
    path = tmp_path / "ds_config.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0)
    before = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root reads every file and setpriv is absent, so a closed file was not tried")
        before = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
    line = only_line(dslint(tmp_path, *options, "ds_config.json", before=before))
    assert "ds_config.json cannot be read: permission denied" in line


def test_a_missing_path_gets_one_line(tmp_path):
    assert "nowhere.json" in only_line(dslint(tmp_path, "nowhere.json"))


def test_a_pipe_does_not_make_it_wait(tmp_path):
    os.mkfifo(tmp_path / "ds_config.json")
    assert "no regular file" in only_line(dslint(tmp_path, "ds_config.json"))


def test_standard_input_that_is_no_text_gets_one_line(tmp_path):
    assert "standard input" in only_line(dslint(tmp_path, "-", stdin=b"\xff\xfe\x00"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dslint.toml", "hardware = "),
        ("dslint.toml", 'hardwear = "a100"\n'),
        ("dslint.toml", "world-size = 'many'\n"),
        ("dslint.toml", 'select = ["no-such-rule"]\n'),
        ("dslint.toml", 'hardware = "abacus"\n'),
        ("pyproject.toml", "[tool.dslint]\nworld-size = -1\n"),
        ("pyproject.toml", "[tool.dslint\n"),
    ],
)
def test_a_broken_settings_file_gets_one_line_that_names_the_fault(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "ds_config.json").write_text("{}", encoding="utf-8")
    line = only_line(dslint(tmp_path, "ds_config.json"))
    fault = text.strip().splitlines()[-1].split(" = ")
    assert name in line or fault[-1].strip("\"'[]") in line


def test_a_settings_file_that_is_not_there_gets_one_line(tmp_path):
    assert "gone.toml" in only_line(dslint(tmp_path, "--config", "gone.toml", "."))


@pytest.mark.parametrize(
    "text",
    [
        "code: [",
        "code: DS999\nname: mine\n",
        "- a\n- list\n",
        "just words\n",
        "",
        "a: &a [*a]\n",
        "code: X001\x00\n",
    ],
)
def test_a_broken_rule_file_gets_one_line_that_names_it(tmp_path, text):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text(text, encoding="utf-8")
    assert "mine.yaml" in only_line(dslint(tmp_path, "--isolated", "--rules", "own", "."))


def test_a_rule_that_names_a_check_which_is_not_there_gets_one_line(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text(
        "code: OWN001\nname: mine\nseverity: error\nsummary: Mine\ncheck: no-such-check\nmessage: wrong\n"
        "why: Because.\nsources: [our-wiki]\nexamples:\n  - bad: '{}'\n",
        encoding="utf-8",
    )
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8}', encoding="utf-8")
    assert "no-such-check" in only_line(dslint(tmp_path, "--isolated", "--rules", "own", "."))


def test_a_folder_of_rules_that_is_not_there_gets_one_line(tmp_path):
    assert "gone" in only_line(dslint(tmp_path, "--isolated", "--rules", "gone", "."))


def test_a_report_that_cannot_be_written_gets_one_line(tmp_path):
    (tmp_path / "ds_config.json").write_text(
        '{"train_batch_size": 8, "gradient_clipping": 1.0}', encoding="utf-8"
    )
    line = only_line(dslint(tmp_path, "--output-file", "no/such/folder/report.txt", "ds_config.json"))
    assert "no/such/folder/report.txt" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("--deepspeed-version", "latest", "."),
        ("--hardware", "abacus", "."),
        ("--select", "no-such-rule", "."),
        ("rule", "no-such-rule"),
        ("schema", "--release", "newest"),
        ("diagnose", "gone.log"),
    ],
    ids=" ".join,
)
def test_a_wrong_word_gets_one_line(tmp_path, arguments):
    only_line(dslint(tmp_path, *arguments))


@pytest.mark.parametrize(
    "arguments", [("--world-size", "0", "."), ("--fail-on", "never-ever", "."), ("--no-such", ".")]
)
def test_wrong_usage_is_status_2(tmp_path, arguments):
    done = dslint(tmp_path, *arguments)
    assert done.returncode == 2
    assert "Error: " in done.err


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that a process is in")
@pytest.mark.parametrize("arguments", [".", "-", "upgrade --to 0.19.8", "migrate --to bf16"])
def test_a_working_directory_that_is_gone_gets_one_line(tmp_path, arguments):
    done = subprocess.run(
        ["sh", "-c", f'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m dslint.cli.main {arguments}', sys.executable],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "dslint: the working directory is not there any more; change into one that is\n"
