"""`--baseline` and `--write-baseline`: an old repository starts green, and hears of what is new."""

import json

import pytest
from cli_runs import BOTH, GOOD, dslint, write

KNOWN = ("--baseline", "known.json")


@pytest.fixture
def old(tmp_path):
    """A repository that was there before dslint, with its baseline written."""
    write(tmp_path, {"ds_config.json": BOTH, "a/ds_config.json": BOTH})
    done = dslint(tmp_path, *KNOWN, "--write-baseline")
    assert done.returncode == 0, done.out + done.err
    assert "known.json: 2 findings known from now on (2 new)" in done.err
    assert 'write baseline = "known.json" into dslint.toml' in done.err
    return tmp_path


def entries(folder):
    whole = json.loads((folder / "known.json").read_text(encoding="utf-8"))["findings"]
    return {(file, entry["rule"], entry["pointer"]) for file, listed in whole.items() for entry in listed}


def test_an_old_repository_starts_green_and_its_lines_may_move(old):
    write(old, {"ds_config.json": BOTH.replace("{\n", "{\n\n  // a remark\n", 1)})
    done = dslint(old, *KNOWN)
    assert (done.returncode, done.err) == (0, "")
    assert "the baseline knows 2 findings" in done.out


def test_what_is_new_is_reported_and_decides_the_exit_status(old):
    write(old, {"new.json": BOTH})
    done = dslint(old, *KNOWN, "--output-format", "json")
    assert done.returncode == 1
    assert [finding["filename"] for finding in json.loads(done.out)] == ["new.json"]
    assert dslint(old, *KNOWN, "--fail-on", "never").returncode == 0


def test_a_second_fault_of_the_same_key_is_new(tmp_path):
    double = '{"train_batch_size": 8, "gradient_clipp1ng": 1.0, "gradient_clipping": 1.0}'
    text = '{"train_batch_size": 8, "gradient_clipp1ng": 1.0}\n'
    write(tmp_path, {"train.py": f"import deepspeed\nA = {text}deepspeed.initialize(config=A)\n"})
    assert dslint(tmp_path, *KNOWN, "--write-baseline", "--select", "DS102").returncode == 0
    assert dslint(tmp_path, *KNOWN, "--select", "DS102").returncode == 0
    write(
        tmp_path,
        {
            "train.py": f"import deepspeed\nA = {text}deepspeed.initialize(config=A)\n"
            f"B = {double}\ndeepspeed.initialize(config=B)\n"
        },
    )
    done = dslint(tmp_path, *KNOWN, "--select", "DS102", "--output-format", "json")
    assert done.returncode == 1
    assert [finding["location"]["row"] for finding in json.loads(done.out)] == [4]


def test_what_no_longer_occurs_is_told_of_and_dropped_on_the_next_write(old):
    write(old, {"ds_config.json": GOOD})
    (old / "a/ds_config.json").unlink()
    done = dslint(old, *KNOWN)
    assert done.returncode == 0
    assert (
        "2 findings no longer occur: fp16-and-bf16 in a/ds_config.json, fp16-and-bf16 in ds_config"
        in done.err
    )
    assert len(entries(old)) == 2
    assert "(2 dropped)" in dslint(old, *KNOWN, "--write-baseline").err
    assert entries(old) == set()
    assert dslint(old, *KNOWN).err == ""


def test_a_run_on_some_files_says_nothing_of_the_others_and_keeps_them(old):
    write(old, {"ds_config.json": GOOD, "new.json": BOTH})
    assert dslint(old, *KNOWN, "a").err == ""
    assert "3 findings known from now on (1 new)" in dslint(old, *KNOWN, "--write-baseline", "new.json").err
    assert {file for file, _, _ in entries(old)} == {"ds_config.json", "a/ds_config.json", "new.json"}


def test_a_run_that_could_not_judge_a_rule_keeps_what_is_known_of_it(tmp_path):
    write(tmp_path, {"ds_config.json": '{"train_batch_size": 8, "bf16": {"enabled": true}}'})
    done = dslint(tmp_path, *KNOWN, "--write-baseline", "--hardware", "v100")
    known = entries(tmp_path)
    assert known, done.out + done.err
    for options in ((), ("--select", "DS201")):
        assert dslint(tmp_path, *KNOWN, *options).err == ""
        dslint(tmp_path, *KNOWN, "--write-baseline", *options)
        assert entries(tmp_path) == known


def test_the_baseline_of_the_settings_counts_from_their_folder(old):
    write(old, {"dslint.toml": 'baseline = "known.json"\n', "a/new.json": BOTH})
    done = dslint(old / "a", "--output-format", "json")
    assert [finding["filename"] for finding in json.loads(done.out)] == ["new.json"]
    again = dslint(old / "a", "--write-baseline")
    assert "1 new" in again.err
    assert "dslint.toml" not in again.err
    assert dslint(old).returncode == 0
    assert dslint(old, "--isolated").returncode == 1


def test_fix_mends_what_is_known_too_and_says_what_is_gone(old):
    done = dslint(old, *KNOWN, "--fix", "--unsafe-fixes")
    assert done.returncode == 0
    assert "Fixed 2 findings" in done.out
    assert "2 findings no longer occur" in done.err
    assert "0 findings known" in dslint(old, *KNOWN, "--fix", "--write-baseline").err


def test_fix_that_mends_nothing_leaves_what_is_known_green(old):
    done = dslint(old, *KNOWN, "--fix")
    assert done.returncode == 0
    assert "the baseline knows 2 findings" in done.out


def test_diff_shows_the_known_and_its_status_is_that_of_the_new(old):
    done = dslint(old, *KNOWN, "--diff", "--unsafe-fixes")
    assert done.returncode == 0
    assert "--- a/ds_config.json" in done.out
    write(old, {"new.json": BOTH})
    assert dslint(old, *KNOWN, "--diff").returncode == 1


def test_quiet_says_nothing_beside_the_findings(old):
    write(old, {"ds_config.json": GOOD})
    done = dslint(old, *KNOWN, "-q")
    assert (done.out, done.err) == ("", "")
    assert dslint(old, *KNOWN, "-q", "--write-baseline").err == ""


@pytest.mark.parametrize(
    "options",
    [
        ("--write-baseline",),
        (*KNOWN, "--write-baseline", "--diff"),
        (*KNOWN, "--write-baseline", "--changed", "main"),
        (*KNOWN, "--write-baseline", "--add-ignores"),
        (*KNOWN, "--write-baseline", "-"),
    ],
    ids=" ".join,
)
def test_where_a_baseline_would_be_a_part_of_the_truth_none_is_written(tmp_path, options):
    write(tmp_path, {"ds_config.json": BOTH})
    done = dslint(tmp_path, *options)
    assert done.returncode == 2
    assert "--write-baseline needs" in done.err
    assert not (tmp_path / "known.json").exists()


def test_a_baseline_that_is_not_there_or_broken_gets_one_line(tmp_path):
    write(tmp_path, {"ds_config.json": BOTH, "broken.json": "<<<<<<<"})
    for name in ("known.json", "broken.json"):
        done = dslint(tmp_path, "--baseline", name, "ds_config.json")
        assert (done.returncode, done.out) == (2, "")
        assert len(done.err.splitlines()) == 1
        assert name in done.err


def test_a_config_is_never_written_over(tmp_path):
    write(tmp_path, {"ds_config.json": BOTH})
    done = dslint(tmp_path, "--baseline", "ds_config.json", "--write-baseline")
    assert done.returncode == 2
    assert "no baseline, so it was not written over" in done.err
    assert (tmp_path / "ds_config.json").read_text() == BOTH


def test_a_file_that_cannot_be_read_keeps_the_baseline_as_it_is(old):
    before = (old / "known.json").read_text()
    (old / "ds_config.json").write_bytes(b"\xff\x00")
    done = dslint(old, *KNOWN, "--write-baseline", "ds_config.json")
    assert done.returncode == 2
    assert "the baseline was not written" in done.err
    assert (old / "known.json").read_text() == before
