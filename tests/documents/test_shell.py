"""Scripts are read into commands whose every word knows where it stands."""

from __future__ import annotations

import pytest

from dslint.documents.script import Folder, Script
from dslint.documents.shell import read_commands, read_script, read_words
from dslint.documents.tree import UNKNOWN, Source


def script(text: str, path: str = "train.sh") -> Script:
    return read_script(Source(path, text))


def words(text: str, name: str = "deepspeed", path: str = "train.sh"):
    (command,) = [c for c in script(text, path).commands if c.name == name]
    return command.words


def texts(text: str, name: str = "deepspeed", path: str = "train.sh"):
    return [word.text for word in words(text, name, path)]


def places(text: str, name: str = "deepspeed", path: str = "train.sh"):
    return [text[word.start : word.end] for word in words(text, name, path)]


def test_a_word_in_the_command_spans_its_quotes():
    text = "deepspeed train.py --note 'a b' --x=\"c\"d\n"
    assert texts(text) == ["deepspeed", "train.py", "--note", "a b", "--x=cd"]
    assert places(text) == ["deepspeed", "train.py", "--note", "'a b'", '--x="c"d']


def test_a_word_of_a_variable_stands_in_its_assignment():
    text = 'ARGS="--lr 1e-4"\nARGS="$ARGS --bf16"\ndeepspeed train.py $ARGS\n'
    found = words(text)
    assert [word.text for word in found[2:]] == ["--lr", "1e-4", "--bf16"]
    assert [text[: word.start].count("\n") for word in found[2:]] == [0, 0, 1]
    assert [text[word.start : word.end] for word in found[2:]] == ["--lr", "1e-4", "--bf16"]
    assert [text[slice(*word.use)] for word in found[2:]] == ["$ARGS"] * 3
    assert not any(word.direct for word in found[2:])


def test_a_value_through_two_variables_stands_where_it_is_written_first():
    text = 'LR=5e-5\nARGS="--lr $LR --wd=$LR"\ndeepspeed t.py $ARGS\n'
    _, _, option, value, both = words(text)
    assert (option.text, value.text, both.text) == ("--lr", "5e-5", "--wd=5e-5")
    assert (value.start, value.end) == (3, 7)
    assert text[both.start : both.end] == "--wd=$LR"
    assert both.after(5).text == "5e-5"
    assert both.after(5).start == 3


def test_the_value_behind_an_equals_sign_is_a_word_of_its_own():
    (_, word) = words("deepspeed --num_gpus=8\n")
    assert word.option == "--num_gpus"
    value = word.after(len("--num_gpus="))
    assert (value.text, value.start, value.end) == ("8", 21, 22)


def test_a_word_that_is_known_in_part_keeps_its_option():
    (_, word) = words("deepspeed --lr=$LR\n")
    assert word.text is UNKNOWN
    assert word.option == "--lr"
    assert word.prefix == "--lr="
    assert not word.open


def test_an_unknown_word_without_quotes_may_be_several():
    (plain,) = script("deepspeed t.py $EXTRA\n").commands
    assert plain.open
    (quoted,) = script('deepspeed t.py "$EXTRA"\n').commands
    assert not quoted.open
    (all_of_them,) = script('deepspeed t.py "$@"\n').commands
    assert all_of_them.open


def test_equal_shapes_are_equal_texts():
    text = (
        "config=./ds.$SLURM_JOB_ID.json\nstamp=$(date)\ncat > $config <<EOF\n{}\nEOF\n"
        "deepspeed t.py --deepspeed_config ./ds.$SLURM_JOB_ID.json $config $stamp $(date)\n"
    )
    read = script(text)
    found = words(text)
    assert found[3].shape == found[4].shape == read.heredocs[0].target.shape
    assert found[5].shape != found[6].shape


def test_a_default_is_kept_beside_an_unknown_value():
    (_, word) = words("deepspeed ${CONFIG:-ds.json}\n")
    assert word.text is UNKNOWN
    assert word.default == "ds.json"


def test_an_assigned_variable_needs_no_default():
    assert texts("CONFIG=mine.json\ndeepspeed ${CONFIG:-ds.json}\n") == ["deepspeed", "mine.json"]


def test_branches_that_disagree_leave_candidates():
    text = 'if [ "$1" = 2 ]; then C=z2.json; else C=z3.json; fi\ndeepspeed t.py --deepspeed $C\n'
    word = words(text)[-1]
    assert word.text is UNKNOWN
    assert word.candidates == ("z2.json", "z3.json")
    assert word.default is None


def test_what_a_branch_adds_leaves_what_was_there():
    text = 'A="--lr 1"\nif [ -n "$X" ]; then A="$A --bf16"; fi\ndeepspeed t.py $A --end\n'
    found = words(text)
    assert [word.text for word in found] == ["deepspeed", "t.py", "--lr", "1", UNKNOWN, "--end"]
    assert found[4].open


def test_a_branch_that_leaves_the_script_does_not_count():
    text = 'N=8\nif [ -z "$1" ]; then N=0; exit 1; fi\ndeepspeed --num_gpus $N t.py\n'
    assert texts(text)[2] == "8"


def test_a_test_on_the_scripts_own_values_decides():
    text = "STAGE=3\nif [ $STAGE = 2 ]; then C=z2.json; deepspeed old.py; else C=z3.json; fi\ndeepspeed t.py $C\n"
    idle, run = script(text).commands
    assert (idle.idle, run.idle) == (True, False)
    assert run.words[-1].text == "z3.json"


def test_a_case_on_a_known_value_decides():
    text = "S=b\ncase $S in a) C=1;; b|c) C=2;; *) C=3;; esac\ndeepspeed $C\n"
    assert texts(text) == ["deepspeed", "2"]


def test_a_loop_over_several_values_is_unknown_with_candidates():
    word = words("for s in 2 3; do deepspeed ds_z$s.json; done\n")[-1]
    assert word.text is UNKNOWN
    assert word.candidates == ("ds_z2.json", "ds_z3.json")


def test_a_loop_that_adds_keeps_what_was_there():
    found = words('A=(--lr 1)\nfor d in $(ls); do A+=(--data $d); done\ndeepspeed t.py "${A[@]}"\n')
    assert [word.text for word in found[2:4]] == ["--lr", "1"]
    assert found[4].open


def test_a_function_is_read_once_a_call_with_its_arguments():
    text = "run() { deepspeed t.py --stage $1; }\nrun 2\nrun 3\n"
    stages = [c.words[-1].text for c in script(text).commands if c.name == "deepspeed"]
    assert stages == ["2", "3"]


def test_a_function_that_nothing_calls_is_read_with_unknown_arguments():
    (command,) = script("run() { deepspeed t.py --stage $1; }\n").commands
    assert command.words[-1].text is UNKNOWN


def test_a_function_that_calls_itself_ends():
    read = script("f() { deepspeed t.py; f; }\nf\n")
    assert [c.name for c in read.commands].count("deepspeed") == 1
    assert not read.complete


def test_another_script_may_change_what_was_set():
    assert words("N=8\nsource setup.sh\ndeepspeed $N\n")[1].text is UNKNOWN
    assert texts("N=8\nsource ~/venv/bin/activate\nsource ~/.bashrc\ndeepspeed $N\n") == ["deepspeed", "8"]


def test_exported_variables_and_settings_in_front_reach_a_program():
    text = "export A=1\nB=2\nexport C=3\nD=4 deepspeed t.py\n"
    (command,) = [c for c in script(text).commands if c.name == "deepspeed"]
    assert {name: word.text for name, word in command.environment.items()} == {"A": "1", "C": "3", "D": "4"}
    assert text[command.environment["C"].start] == "3"


def test_a_script_in_an_argument_is_read_with_its_places():
    text = "export N=4\nsrun -n 2 bash -c 'deepspeed --num_gpus $N t.py'\n"
    command = script(text).commands[-1]
    assert [word.text for word in command.words] == ["deepspeed", "--num_gpus", "4", "t.py"]
    assert [word.text for word in command.outer] == ["srun", "-n", "2"]
    assert text[command.words[0].start : command.words[0].end] == "deepspeed"
    assert text[command.words[2].start] == "4"


def test_a_script_in_quotes_sees_only_what_is_exported():
    assert words("N=4\nbash -c 'deepspeed $N'\n")[1].text is UNKNOWN
    assert texts('N=4\nbash -c "deepspeed $N"\n') == ["deepspeed", "4"]


def test_eval_reads_the_text_again():
    text = 'CMD="deepspeed t.py --note \'a b\'"\nCMD+=" --bf16"\neval $CMD\n'
    found = words(text)
    assert [word.text for word in found] == ["deepspeed", "t.py", "--note", "a b", "--bf16"]
    assert text[found[1].start : found[1].end] == "t.py"
    assert text[found[4].start : found[4].end] == "--bf16"


def test_commands_on_another_machine_know_no_variables_and_no_folder():
    text = "export N=4\nssh host \"cd /data && deepspeed $N\" \nssh host 'deepspeed $N'\n"
    first, second = [c for c in script(text).commands if c.name == "deepspeed"]
    assert first.words[1].text == "4"
    assert first.folder is not None
    assert first.folder.path == "/data"
    assert second.words[1].text is UNKNOWN
    assert second.folder is None


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("cd examples", Folder("start", "examples")),
        ("cd a/b\ncd ..", Folder("start", "a")),
        ("cd /opt/train", Folder("start", "/opt/train")),
        ('cd "$(dirname "$0")"', Folder("files", "scripts")),
        ('cd "$(dirname "${BASH_SOURCE[0]}")/.."', Folder("files", ".")),
        ('HERE="$( cd "$( dirname "${BASH_SOURCE[0]}" )" && pwd )"\ncd $HERE/../cfg', Folder("files", "cfg")),
        ("cd $SOMEWHERE", None),
        ("(cd sub)", Folder("start", "")),
    ],
)
def test_the_folder_of_a_command_is_followed(line, folder):
    command = script(f"{line}\ndeepspeed t.py\n", "scripts/run.sh").commands[-1]
    assert command.folder == folder


def test_the_scripts_own_folder_is_a_candidate():
    text = 'DIR=$(cd "$(dirname "$0")" && pwd)\ndeepspeed $DIR/ds.json `pwd`/t.py\n'
    _, config, program = words(text, path="scripts/run.sh")
    assert config.text is UNKNOWN
    assert config.candidates == ("scripts/ds.json",)
    assert program.candidates == ("./t.py",)
    assert program.tail == "/t.py"


def test_placeholders_are_unknown():
    found = words("deepspeed --num_gpus {{ gpus }} t.py --model <your model> --x ${{ matrix.x }}\n")
    assert [word.text for word in found] == [
        "deepspeed",
        "--num_gpus",
        UNKNOWN,
        "t.py",
        "--model",
        UNKNOWN,
        "--x",
        UNKNOWN,
    ]


def test_numbers_are_computed_where_they_are_known():
    text = "N=2; G=4\ndeepspeed $((N * G)) $(expr $N \\* $G) $(expr $N + $X) $((N * X))\n"
    assert texts(text) == ["deepspeed", "8", "8", UNKNOWN, UNKNOWN]


def test_files_that_a_pattern_names_are_unknown():
    assert words("deepspeed configs/*.json\n")[1].text is UNKNOWN
    assert texts("deepspeed 'configs/*.json'\n") == ["deepspeed", "configs/*.json"]


def test_a_home_folder_is_unknown():
    (_, word) = words("deepspeed ~/ds.json\n")
    assert word.text is UNKNOWN
    assert word.tail == "/ds.json"


def test_other_alphabets_and_carriage_returns_keep_their_places():
    text = "# Größe\r\nNAME='日本 é'\r\ndeepspeed \\\r\n  $NAME ü.py\r\n"
    read = script(text)
    assert [word.text for word in read.commands[0].words] == ["deepspeed", "日本", "é", "ü.py"]
    last = read.commands[0].words[-1]
    assert text[last.start : last.end] == "ü.py"
    assert [hint.kind for hint in read.hints] == ["carriage-returns"]


def test_a_comment_in_backticks_is_nothing():
    assert texts("deepspeed t.py \\\n  `# memory` \\\n  --bf16\n") == ["deepspeed", "t.py", "--bf16"]


def test_commands_in_another_file_are_read_in_their_span():
    text = "args: deepspeed t.py --bf16 # end\n"
    start, end = 6, text.index(" #")
    (command,) = read_commands(Source("job.yaml", text), start, end).commands
    assert [word.text for word in command.words] == ["deepspeed", "t.py", "--bf16"]
    assert text[command.words[1].start : command.words[1].end] == "t.py"


def test_words_that_stand_apart_make_a_command():
    text = '["bash", "-c", "deepspeed t.py"]'
    spans = [("bash", 1, 7), ("-c", 9, 13), ("deepspeed t.py", 16, 30)]
    read = read_words(Source("job.yaml", text), spans)
    assert [c.name for c in read.commands] == ["bash", "deepspeed"]
    assert text[read.commands[1].words[1].start : read.commands[1].words[1].end] == "t.py"


def test_a_word_that_kubernetes_fills_in_is_unknown():
    text = '["torchrun", "--nnodes=$(NNODES)", "t.py"]'
    read = read_words(
        Source("job.yaml", text), [("torchrun", 1, 11), ("--nnodes=$(NNODES)", 13, 33), ("t.py", 35, 41)]
    )
    word = read.commands[0].words[1]
    assert word.text is UNKNOWN
    assert word.option == "--nnodes"


# Files


def heredoc(text: str):
    (found,) = script(text).heredocs
    return found


def test_a_heredoc_that_writes_a_config_has_its_place_and_its_values():
    text = 'MICRO=4\nF=ds.json\ncat <<EOT > $F\n  {"a": $MICRO, "b": ${STAGE}}\nEOT\n'
    found = heredoc(text)
    assert found.target.text == "ds.json"
    assert text[found.start : found.end] == '  {"a": $MICRO, "b": ${STAGE}}\n'
    assert found.substitute("$MICRO") == "4"
    assert found.substitute("${MICRO}") == "4"
    assert found.substitute("${MICRO:-9}") == "4"
    assert found.substitute("$((MICRO * 2))") == "8"
    assert found.substitute("${STAGE}") is UNKNOWN
    assert found.substitute("$(date)") is UNKNOWN
    assert not found.quoted


def test_the_values_of_a_heredoc_are_those_of_its_line():
    text = "A=1\ncat <<EOT > a.json\n{}\nEOT\nA=2\n"
    assert heredoc(text).substitute("$A") == "1"


@pytest.mark.parametrize(
    ("text", "target", "body"),
    [
        ("cat > a.json <<'EOF'\n{$A}\nEOF\n", "a.json", "{$A}\n"),
        ("cat <<-EOF >a.json\n\t{}\n\tEOF\n", "a.json", "\t{}\n"),
        ("tee a.json <<EOF\n{}\nEOF\n", "a.json", "{}\n"),
        ("cat <<EOF | tee a.json\n{}\nEOF\n", "a.json", "{}\n"),
        ("cat <<EOF | sudo tee a.json > /dev/null\n{}\nEOF\n", "a.json", "{}\n"),
        ("echo '{\"a\": 1}' > a.json\n", "a.json", '{"a": 1}'),
        ('echo "{$A}" >a.json\n', "a.json", "{$A}"),
        ("printf '%s\\n' '{}' > a.json\n", "a.json", "{}"),
        ("cat > a.json << EOF && deepspeed t.py\n{}\nEOF\n", "a.json", "{}\n"),
        ("python - <<'EOF'\nprint(1)\nEOF\n", None, "print(1)\n"),
    ],
)
def test_text_that_goes_into_a_file_is_found(text, target, body):
    found = heredoc(text)
    assert (found.target.text if found.target is not None else None) == target
    assert text[found.start : found.end] == body


def test_text_with_escapes_is_not_taken_for_the_files():
    read = script('echo "{\\"a\\": 1}" > a.json\n')
    assert read.heredocs == ()
    assert read.modified("a.json")


def test_a_heredoc_for_an_interpreter_names_it():
    assert heredoc("python3 - <<EOF\nx\nEOF\n").reader == "python3"


@pytest.mark.parametrize(
    "line",
    [
        "sed -i 's/A/B/' ds.json",
        "sed -i.bak -e s/A/B/ ds.json",
        "perl -pi -e 's/A/B/' ds.json",
        "envsubst < ds.tmpl > ds.json",
        "jq .x other.json > ./ds.json",
        "cp other.json ds.json",
        "python make.py | tee ds.json",
        "wget -O ds.json https://example.com/x",
        "cat a.json b.json > ds.json",
    ],
)
def test_a_file_that_a_command_changes_is_known_only_to_a_run(line):
    read = script(line + "\n")
    assert read.modified("ds.json")
    assert read.written("ds.json")


def test_a_file_that_a_heredoc_writes_is_not_modified():
    read = script("cat > ds.json <<EOF\n{}\nEOF\nsed 's/a/b/' ds.json\ngrep x ds.json > /dev/null\n")
    assert read.written("ds.json")
    assert not read.modified("ds.json")


def test_a_copy_into_a_folder_is_seen():
    assert script("cp a/ds.json configs/\n").written("configs/ds.json")


def test_a_script_that_a_heredoc_holds_is_read():
    text = "sbatch <<EOT\n#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\nsrun deepspeed t.py\nEOT\n"
    command = script(text).commands[-1]
    assert [word.text for word in command.words] == ["srun", "deepspeed", "t.py"]
    assert (command.job.nodes, command.job.gpus_per_node) == (2, 4)
    assert text[command.words[2].start : command.words[2].end] == "t.py"


def test_a_script_that_is_written_first_is_read():
    text = (
        "LR=1\ncat > job.slurm <<EOT\n#SBATCH --nodes=2\n"
        "deepspeed t.py --lr $LR --node \\$SLURM_NNODES\nEOT\nsbatch job.slurm\n"
    )
    assert texts(text) == ["deepspeed", "t.py", "--lr", "1", "--node", "2"]


# Broken lines


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("deepspeed t.py \\ \n  --a 1\n", "blank-after-backslash", "\\ "),
        ("deepspeed t.py \\\n  # note\n  --a 1\n", "comment-in-continuation", "# note"),
        ("deepspeed t.py \\ # note\n  --a 1\n", "comment-after-backslash", "# note"),
        ("deepspeed t.py # note \\\n  --a 1\n", "comment-swallows-backslash", "# note \\"),
        ("deepspeed t.py \\\n\n  --a 1\n", "blank-line-in-continuation", "\n"),
        ("deepspeed t.py --b\n  --a 1\n", "missing-backslash", "b"),
        ("deepspeed t.py \\\t\r\n  --a 1\r\n", "blank-after-backslash", "\\\t"),
    ],
)
def test_a_broken_continuation_is_named_with_what_breaks_it(text, kind, place):
    read = script(text)
    (hint,) = [hint for hint in read.hints if hint.kind != "carriage-returns"]
    assert (hint.kind, text[hint.start : hint.end]) == (kind, place)
    assert text[slice(*hint.rest)] == "--a 1"
    (command,) = read.commands
    assert [word.text for word in command.lost] == ["--a", "1"]
    assert command.open


def test_a_command_that_breaks_twice_has_one_hint():
    text = "deepspeed t.py \\\n # one\n --a 1 \\\n # two\n --b 2\n"
    (hint,) = script(text).hints
    assert [text[slice(*span)] for span in hint.more] == ["# two"]
    assert text[hint.rest[0] : hint.rest[1]].endswith("--b 2")


@pytest.mark.parametrize(
    "text",
    [
        "deepspeed t.py \\\n  --a 1 \\\n  # --b 2 \\\n\necho done\n",
        "deepspeed t.py \\\n  --a 1\n",
        "cat > a.txt <<EOF\nx \\ \n --a\nEOF\n",
        "A=(\n  --a 1\n  # note\n  --b 2\n)\n",
        'A="--a 1 \\\n  --b 2"\n',
        "case $1 in\n  --a) shift;;\n  -b) shift;;\nesac\n",
        "# deepspeed t.py \\ \n#  --a 1\n",
    ],
)
def test_sound_lines_have_no_hint(text):
    assert script(text).hints == ()


# Makefiles and Dockerfiles


def test_a_makefile_recipe_is_read_with_its_variables():
    text = (
        "GPUS ?= 8\nCONFIG := cfg/ds.json # the config\nARGS = --bf16 \\\n  --config $(CONFIG)\n"
        "train: data\n\t@deepspeed --num_gpus $(GPUS) train.py $(ARGS) --out $$HOME/x $@\n"
    )
    found = words(text, path="Makefile")
    assert [word.text for word in found] == [
        "deepspeed",
        "--num_gpus",
        UNKNOWN,
        "train.py",
        "--bf16",
        "--config",
        "cfg/ds.json",
        "--out",
        UNKNOWN,
        UNKNOWN,
    ]
    assert found[2].default == "8"
    assert text[found[6].start : found[6].end] == "cfg/ds.json"


def test_a_makefile_recipe_goes_on_over_lines():
    assert texts("t:\n\tdeepspeed t.py \\\n\t  --bf16\n", path="Makefile") == ["deepspeed", "t.py", "--bf16"]


def test_make_definitions_and_shell_calls_are_left_alone():
    read = script(
        "define PY\nimport x\nendef\nV = $(shell ls)\nt:\n\tdeepspeed $(V) $(wildcard *.py)\n", "Makefile"
    )
    (command,) = read.commands
    assert [word.text for word in command.words[1:]] == [UNKNOWN, UNKNOWN]
    assert read.complete


def test_a_dockerfile_is_read_in_both_forms():
    text = (
        "FROM x\nENV N=4 CONFIG=ds.json\nARG M=2\nRUN pip install x \\\n    # a comment\n    y\n"
        'CMD ["deepspeed", "--num_gpus", "4", "t.py"]\n'
    )
    read = script(text, "Dockerfile")
    assert [[word.text for word in c.words] for c in read.commands] == [
        ["pip", "install", "x", "y"],
        ["deepspeed", "--num_gpus", "4", "t.py"],
    ]
    assert read.hints == ()
    last = read.commands[-1].words[-1]
    assert text[last.start : last.end] == '"t.py"'


def test_a_dockerfile_knows_env_and_not_arg():
    text = "ENV N=4\nARG M=2\nCMD deepspeed --num_gpus $N --x $M t.py\n"
    found = words(text, path="Dockerfile")
    assert [word.text for word in found] == ["deepspeed", "--num_gpus", "4", "--x", UNKNOWN, "t.py"]
    assert found[4].default == "2"


def test_an_entrypoint_goes_in_front_of_its_arguments():
    text = 'ENTRYPOINT ["deepspeed"]\nCMD ["t.py", "--bf16"]\n'
    assert [word.text for word in script(text, "Dockerfile").commands[-1].words] == [
        "deepspeed",
        "t.py",
        "--bf16",
    ]


def test_a_run_heredoc_holds_commands():
    text = "RUN <<EOF\nset -e\ndeepspeed t.py\nEOF\nRUN --mount=type=cache,target=/x (deepspeed u.py)\n"
    found = [c.words[-1].text for c in script(text, "Dockerfile").commands if c.name == "deepspeed"]
    assert found == ["t.py", "u.py"]
