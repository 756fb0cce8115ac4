"""Commands of a script → what they launch: launchers, program, arguments, config path, world size, hardware words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from dslint.documents.script import Command, Directive, Job, Script
from dslint.documents.shell_jobs import slurm_job, split_option
from dslint.documents.shell_words import NUMBER, Word
from dslint.documents.tree import Place, Source, Unknown
from dslint.launches.launch_sizes import Step, number_of, size_of
from dslint.launches.launchers import (
    ACCELERATE,
    ACCELERATE_FAMILIES,
    CLOSED,
    LAUNCHERS,
    MODULES,
    OWN_WORDS,
    PYTHON,
    SUBCOMMANDS,
    TOOLS,
    WRAPPERS,
    Table,
)

ProgramKind = Literal["script", "module", "tool", "unknown"]

PYTHON_NAME: Final = re.compile(r"python(?:\d(?:\.\d+)?)?(?:\.exe)?|ipython3?|pypy3?")
WHICH: Final = re.compile(r"\$\(\s*(?:which|command -v|type -p)\s+([\w.-]+)\s*\)")
SETTING: Final = re.compile(r"([A-Za-z_]\w*)=")
# A variable with such a name holds arguments, not a value.
HOLDS_ARGUMENTS: Final = re.compile(
    r"(?:^|_)(?:ARGS?|ARGUMENTS?|OPTS?|OPTIONS?|FLAGS?|PARAMS?|EXTRAS?|CMD|COMMAND)(?:_|$|\d|@|\[|\+)", re.I
)
CONFIG_FILE: Final = re.compile(r".*\.(?:json|hjson|jsonc|json5|ya?ml)", re.I)
CONFIG_NAMES: Final = (
    "deepspeed_config",
    "deepspeed",
    "ds_config",
    "deepspeed_config_file",
    "deepspeed_path",
    "ds_config_path",
)
CONFIG_LIKE: Final = re.compile(r"(?:^|_)(?:deepspeed|ds|deepspeed_config|zero)(?:_|$)")
NAMED_LIKE: Final = re.compile(r"(?:^|[/_.-])(?:ds|deepspeed|zero[_-]?\d?|ds[_-]?z\d)(?:[_.-]|$)", re.I)


class Option(NamedTuple):
    """An option with what follows it up to the next one.

    - name: without dashes, `-` as `_`: `per_device_train_batch_size`.
    - word: where it is written; `--lr=1e-4` is one word, whose value is a part of it.
    - values: none for a flag; more than one for `--betas 0.9 0.95`. A positional argument behind a flag stands here too.
    """

    name: str
    word: Word
    values: tuple[Word, ...] = ()

    @property
    def value(self) -> Word | None:
        return self.values[0] if self.values else None

    @property
    def flag(self) -> str:
        """The option as it is spelled, with its dashes."""
        return self.word.option or self.word.prefix


@dataclass(frozen=True, slots=True)
class Launcher:
    """One launcher of a command.

    - name: deepspeed, torchrun, torch.distributed.launch, accelerate, composer, srun, mpirun, jsrun, python, or a tool's.
    - options: its own options, by name, the last where one stands twice.
    - unknown: options in front of the program that the launcher does not have, in any release.
    - open: an unknown word among its options may be several.
    """

    name: str
    word: Word
    options: Mapping[str, Option] = field(default_factory=dict)
    unknown: tuple[Word, ...] = ()
    open: bool = False

    def value(self, name: str) -> Word | None:
        option = self.options.get(name)
        return option.value if option is not None else None


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command that starts a Python program or a training tool, maybe on several ranks.

    - launchers: outermost first (srun, torchrun); `python` alone when nothing else starts the program.
    - wrappers: names of what stands around them (nohup, docker, poetry, ssh).
    - program: the script's path, the module's name, or a tool's subcommand; None when it is not known.
    - arguments: the program's options by name, the last where one stands twice; `options` holds them all, in order.
    - positionals: the program's arguments in front of its options.
    - open: there may be more arguments than are known, so nothing follows from one that is missing.
    - lost: arguments that a broken continuation cut off; they are not among `arguments`.
    - config_path: the DeepSpeed config that the command names, as it is written, and the option that names it.
    - world_size: ranks in all, where the command and its job say so.
    - tasks, tasks_per_node: how many times srun or mpirun starts the rest, where it is known.
    - visible_devices: the value of CUDA_VISIBLE_DEVICES, where the script sets it.
    - hardware: words that may name a GPU kind, from the job's gres, gpus and constraint.
    - origins: where facts were learned: world_size, hardware, tasks.
    """

    source: Source
    command: Command
    launchers: tuple[Launcher, ...]
    wrappers: tuple[str, ...]
    program: Word | None
    kind: ProgramKind
    options: tuple[Option, ...] = ()
    arguments: Mapping[str, Option] = field(default_factory=dict)
    positionals: tuple[Word, ...] = ()
    open: bool = False
    lost: tuple[Option, ...] = ()
    environment: Mapping[str, Word] = field(default_factory=dict)
    config_path: Word | None = None
    config_option: Option | None = None
    world_size: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    visible_devices: Word | None = None
    hardware: tuple[Word, ...] = ()
    origins: Mapping[str, Place] = field(default_factory=dict)

    def launcher(self, name: str) -> Launcher | None:
        return next((launcher for launcher in self.launchers if launcher.name == name), None)

    def place(self, word: Word) -> Place:
        return Place(self.source, word.start, word.end)


def launch_commands(script: Script) -> list[LaunchCommand]:
    """The commands of a script that start a Python program or a training tool, in order, each once."""
    found: list[LaunchCommand] = []
    seen: set[tuple[object, ...]] = set()
    for command in script.commands:
        launch = launch_command(script, command)
        if launch is None:
            continue
        key = (command.start, command.end, *(word.shape for word in (*command.outer, *command.words)))
        if key not in seen:
            seen.add(key)
            found.append(launch)
    return found


def launch_command(script: Script, command: Command) -> LaunchCommand | None:
    """What a command launches; None for one that starts no Python."""
    peeled = Peeled(dict(command.environment))
    if command.outer:
        peeled.in_front = True
        peel(command.outer, peeled)
        peeled.in_front = False
        if set(peeled.wrappers) & CLOSED:
            peeled.environment = dict(command.environment)
    if not peel(command.words, peeled) or peeled.kind is None:
        return None
    options, positionals, is_open = arguments_of(peeled.rest)
    lost, _, _ = arguments_of(command.lost)
    step = step_of(command.job, peeled, script.source)
    arguments = {option.name: option for option in options}
    config = named_config(options, lost, peeled)
    devices = peeled.environment.get("CUDA_VISIBLE_DEVICES")
    size = None
    if not command.idle:
        size = size_of(peeled.launchers, peeled.wrappers, peeled.environment, arguments, step, script.source)
    origins: dict[str, Place] = {}
    if size is not None and size.place is not None:
        origins["world_size"] = size.place
    hardware = step.job.hardware if step.job is not None and not set(peeled.wrappers) & {"ssh"} else ()
    if hardware:
        origins["hardware"] = Place(script.source, hardware[0].start, hardware[0].end)
    if step.place is not None:
        origins["tasks"] = step.place
    return LaunchCommand(
        script.source,
        command,
        tuple(peeled.launchers),
        tuple(peeled.wrappers),
        peeled.program,
        peeled.kind,
        tuple(options),
        arguments,
        tuple(positionals),
        is_open or peeled.open or bool(command.lost) or broken(command),
        tuple(lost),
        peeled.environment,
        config.value if config is not None else None,
        config,
        size.ranks if size is not None else None,
        step.tasks,
        step.tasks_per_node,
        devices,
        tuple(hardware),
        origins,
    )


def broken(command: Command) -> bool:
    """Whether the command could not be read whole, for another reason than an unknown word."""
    return command.open and not any(word.open for word in command.words)


# Launchers and wrappers, from the outside in


@dataclass(slots=True)
class Peeled:
    """A command with its launchers and wrappers taken off, as far as the peeling has come."""

    environment: dict[str, Word]
    launchers: list[Launcher] = field(default_factory=list)
    wrappers: list[str] = field(default_factory=list)
    program: Word | None = None
    kind: ProgramKind | None = None
    rest: Sequence[Word] = ()
    open: bool = False
    # The words are those in front of a `bash -c`: no program stands among them.
    in_front: bool = False


def peel(words: Sequence[Word], peeled: Peeled) -> bool:
    """Take launchers off until the program is found; False for words that start no Python program."""
    rest = list(words)
    while rest:
        word = rest[0]
        name = name_of(word)
        if name is None:
            return unknown_start(rest, peeled)
        setting = SETTING.match(name) if peeled.wrappers else None
        if setting is not None and isinstance(word.text, str):
            assigned = SETTING.match(word.text)
            if assigned is not None:
                peeled.environment[assigned[1]] = word.after(assigned.end())
                rest = rest[1:]
                continue
        if name in WRAPPERS:
            after = unwrapped(name, rest, peeled)
            if after is None:
                return False
            if WRAPPERS[name].follows == "script":
                return script(after, peeled, word)
            rest = after
            continue
        if name == "accelerate" and len(rest) > 1 and rest[1].text == "launch":
            launcher, rest = launched("accelerate", ACCELERATE, word, rest[2:])
        elif name in ("accelerate-launch", "accelerate_launch"):
            launcher, rest = launched("accelerate", ACCELERATE, word, rest[1:])
        elif name in LAUNCHERS:
            launcher, rest = launched(*LAUNCHERS[name], word, rest[1:], peeled.in_front)
        elif PYTHON_NAME.fullmatch(name):
            return python(rest, peeled)
        elif name in TOOLS:
            return tool(name, rest, peeled)
        elif name.endswith(".py"):
            by_python(word, peeled)
            return program("script", word, rest[1:], peeled)
        else:
            return False
        if launcher is None:
            return False
        peeled.launchers.append(launcher)
        if launcher.name in ("srun", "mpirun", "jsrun") or "no_python" in launcher.options:
            continue
        return script(rest, peeled, word, "module" in launcher.options)
    return bool(peeled.launchers or peeled.wrappers)


def name_of(word: Word) -> str | None:
    """A program's name: `torchrun` for `/opt/bin/torchrun`, `$(which torchrun)` and `${RUN:-torchrun}`."""
    text = word.text
    if isinstance(text, Unknown):
        which = WHICH.match(word.pieces[0].symbol) if len(word.pieces) == 1 else None
        if which is not None:
            return which[1]
        tail = word.tail.rpartition("/")
        # `$CONDA_PREFIX/bin/python`: the folder is not known, the name is.
        name = tail[2] if tail[1] and tail[2] else word.default
        return name.rpartition("/")[2] if name is not None else None
    return text.rpartition("/")[2]


def unknown_start(rest: Sequence[Word], peeled: Peeled) -> bool:
    """A command whose first word is not known: `$LAUNCHER train.py …`, `$PREFIX torchrun …`."""
    peeled.launchers.append(Launcher("unknown", rest[0], open=True))
    for index, word in enumerate(rest[1:], 1):
        name = name_of(word)
        if name is None or word.prefix.startswith("-"):
            continue
        if name in LAUNCHERS or PYTHON_NAME.fullmatch(name) or name in TOOLS or name == "accelerate":
            return peel(rest[index:], peeled)
        if name.endswith(".py"):
            return program("script", word, rest[index + 1 :], peeled)
    return False


def unwrapped(name: str, rest: Sequence[Word], peeled: Peeled) -> list[Word] | None:
    """What a wrapper starts, or None when it starts nothing here."""
    table = WRAPPERS[name]
    index = 1
    if name in SUBCOMMANDS:
        options, index, _ = own_options(table, rest, index, peeled.in_front)
        if index >= len(rest) or rest[index].text not in SUBCOMMANDS[name]:
            return None
        index += 1
    options, index, is_open = own_options(table, rest, index, peeled.in_front)
    if name in ("docker", "podman", "nerdctl"):
        closed_environment(options, peeled)
    elif name in CLOSED:
        peeled.environment.clear()
    peeled.wrappers.append(name)
    own = OWN_WORDS.get(name, 0)
    index += own
    if index < len(rest) and rest[index].text == "--":
        index += 1
    peeled.open |= is_open
    return list(rest[index:])


def closed_environment(options: Sequence[Option], peeled: Peeled) -> None:
    """A container sees the variables that `-e NAME=value` gives it."""
    outside = dict(peeled.environment)
    peeled.environment.clear()
    for option in options:
        value = option.value
        if option.name not in ("e", "env") or value is None:
            continue
        assigned = SETTING.match(value.prefix)
        if assigned is not None:
            peeled.environment[assigned[1]] = value.after(assigned.end())
        elif isinstance(value.text, str) and value.text in outside:
            peeled.environment[value.text] = outside[value.text]


def launched(
    name: str, table: Table, word: Word, rest: Sequence[Word], in_front: bool = False
) -> tuple[Launcher | None, list[Word]]:
    """A launcher with its own options, and the words behind them."""
    options, index, is_open = own_options(table, rest, 0, in_front)
    unknown = tuple(option.word for option in options if not table.lenient and not known(option.word, table))
    if index < len(rest) and rest[index].text == "--":
        index += 1
    named = {option.name: option for option in options}
    return Launcher(name, word, named, unknown, is_open), list(rest[index:])


def own_options(
    table: Table, words: Sequence[Word], index: int, in_front: bool = False
) -> tuple[list[Option], int, bool]:
    """The options of a launcher from `index` on, up to the first word that is none, and whether there may be more."""
    found: list[Option] = []
    is_open = False
    while index < len(words):
        word = words[index]
        if word.open and (in_front or any(starts_program(later) for later in words[index + 1 :])):
            # `deepspeed $DEEPSPEED_ARGS train.py`: options, as a program follows.
            is_open = True
            index += 1
            continue
        if not word.prefix.startswith("-") or word.text in ("-", "--"):
            break
        spelling, equals, _ = word.prefix.partition("=")
        name, takes = meaning(spelling, table)
        index += 1
        if equals:
            found.append(Option(name, word, (word.after(len(spelling) + 1),)))
        elif takes:
            values = tuple(words[index : index + takes])
            found.append(Option(name, word, values))
            index += takes
        elif attached := attached_value(word, table):
            found.append(attached)
        else:
            found.append(Option(name, word))
    return found, min(index, len(words)), is_open


def starts_program(word: Word) -> bool:
    """Whether a word is one that stands in the place of a program, or heads an option behind which one stands."""
    return word.tail.endswith(".py") or word.text in ("-m", "--module") or word.prefix.startswith("--")


def meaning(spelling: str, table: Table) -> tuple[str, int]:
    """An option's name, and how many values it takes as words of their own."""
    if spelling in table.values:
        return table.values[spelling], 1
    if spelling in table.pairs:
        return table.pairs[spelling], 2
    if spelling in table.flags:
        return table.flags[spelling], 0
    if table.abbreviated and spelling.startswith("--"):
        names = {
            name for long, name in (*table.values.items(), *table.flags.items()) if long.startswith(spelling)
        }
        if len(names) == 1:
            name = names.pop()
            return name, int(name in table.values.values())
    takes = 1 if table is ACCELERATE and spelling.startswith(ACCELERATE_FAMILIES) else 0
    return spelling.lstrip("-").replace("-", "_"), takes


def attached_value(word: Word, table: Table) -> Option | None:
    """`-N2`: a short option with its value in one word."""
    short = word.prefix[:2]
    if short in table.values and len(word.prefix) > 2 and not word.prefix.startswith("--"):
        return Option(table.values[short], word, (word.after(2),))
    return None


def known(word: Word, table: Table) -> bool:
    spelling = word.prefix.partition("=")[0]
    if spelling in table.values or spelling in table.flags or spelling in table.pairs:
        return True
    if table is ACCELERATE and spelling.startswith(ACCELERATE_FAMILIES):
        return True
    if not spelling.startswith("--"):
        return spelling[:2] in table.values or spelling[:2] in table.flags
    return table.abbreviated and any(long.startswith(spelling) for long in (*table.values, *table.flags))


def python(rest: Sequence[Word], peeled: Peeled) -> bool:
    """`python [options] script.py …` and `python -m module …`."""
    word = rest[0]
    index = 1
    while index < len(rest):
        text = rest[index].text
        if rest[index].prefix.startswith("-m") and rest[index].prefix != "-":
            module = rest[index + 1] if text == "-m" and index + 1 < len(rest) else None
            if isinstance(text, str) and text != "-m":
                module, index = rest[index].after(2), index - 1
            return module is not None and run_module(word, module, rest[index + 2 :], peeled)
        if text == "-c" or not rest[index].prefix.startswith("-") or text == "-":
            break
        index += 2 if rest[index].prefix in PYTHON.values else 1
    if index >= len(rest) or rest[index].text in ("-c", "-"):
        return False
    name = name_of(rest[index])
    if name in LAUNCHERS or name == "accelerate" or name in TOOLS or name in WRAPPERS:
        # `python $(which deepspeed) …`, `python -u /opt/bin/torchrun …`
        return peel(rest[index:], peeled)
    by_python(word, peeled)
    return program("script", rest[index], rest[index + 1 :], peeled)


def by_python(word: Word, peeled: Peeled) -> None:
    """Python itself counts as the launcher when nothing else starts the ranks."""
    if all(launcher.name in ("srun", "mpirun", "jsrun", "unknown") for launcher in peeled.launchers):
        peeled.launchers.append(Launcher("python", word))


def run_module(word: Word, module: Word, rest: Sequence[Word], peeled: Peeled) -> bool:
    text = module.text
    if text in ("accelerate.commands.accelerate_cli", "accelerate") and rest and rest[0].text == "launch":
        text, rest = "accelerate.commands.launch", rest[1:]
    if isinstance(text, str) and text in MODULES:
        launcher, left = launched(*MODULES[text], word, rest)
        if launcher is None:
            return False
        peeled.launchers.append(launcher)
        if "no_python" in launcher.options:
            return peel(left, peeled)
        return script(left, peeled, word, "module" in launcher.options)
    if isinstance(text, str) and text in WRAPPERS:
        after = unwrapped(text, [module, *rest], peeled)
        return after is not None and script(after, peeled, word)
    by_python(word, peeled)
    return program("module", module, rest, peeled)


def script(rest: Sequence[Word], peeled: Peeled, word: Word, module: bool = False) -> bool:
    """What a launcher of Python programs is given."""
    if not rest:
        return program("unknown", None, (), peeled)
    if rest[0].text == "-m" and len(rest) > 1:
        return program("module", rest[1], rest[2:], peeled)
    name = name_of(rest[0])
    if name is not None and name in TOOLS:
        return tool(name, rest, peeled)
    if isinstance(rest[0].text, Unknown) and not rest[0].tail and rest[0].default is None:
        peeled.open = True
        return program("unknown", rest[0], rest[1:], peeled)
    return program("module" if module else "script", rest[0], rest[1:], peeled)


def tool(name: str, rest: Sequence[Word], peeled: Peeled) -> bool:
    if len(rest) < 2 or rest[1].text not in TOOLS[name]:
        return False
    peeled.launchers.append(Launcher(name, rest[0]))
    return program("tool", rest[1], rest[2:], peeled)


def program(kind: ProgramKind, word: Word | None, rest: Sequence[Word], peeled: Peeled) -> bool:
    peeled.kind = kind
    peeled.program = word
    peeled.rest = rest
    return True


# Arguments


def arguments_of(words: Sequence[Word]) -> tuple[list[Option], list[Word], bool]:
    """A program's options and positional arguments, and whether there may be more of them than are known."""
    options: list[Option] = []
    positionals: list[Word] = []
    is_open = False
    closed = False
    for word in words:
        if word.text == "--" and not word.quoted:
            closed = True
            continue
        if not closed and is_option(word):
            options.append(option_of(word))
            continue
        if options and not closed:
            last = options[-1]
            takes = not last.values and "=" not in last.word.prefix
            is_open |= word.open and not (takes and holds_value(word))
            options[-1] = last._replace(values=(*last.values, word))
        else:
            is_open |= word.open
            positionals.append(word)
    return options, positionals, is_open


def is_option(word: Word) -> bool:
    prefix = word.prefix
    return (
        len(prefix) > 1
        and prefix[0] == "-"
        and not NUMBER.fullmatch(prefix)
        and " " not in prefix.partition("=")[0]
    )


def option_of(word: Word) -> Option:
    spelling, equals, _ = word.prefix.partition("=")
    name = spelling.lstrip("-").replace("-", "_")
    return Option(name, word, (word.after(len(spelling) + 1),) if equals else ())


def holds_value(word: Word) -> bool:
    """Whether an unknown word behind an option is its value: `--lr $LR`, but not `--bf16 $ARGS`.

    The variable's name tells, and what branches put into it (`OFFLOAD="--offload"`).
    """
    if len(word.pieces) != 1 or word.pieces[0].many:
        return False
    piece = word.pieces[0]
    if any(not choice or choice.startswith("-") or re.search(r"\s", choice) for choice in piece.choices):
        return False
    return HOLDS_ARGUMENTS.search(piece.symbol.lstrip("$")) is None


def named_config(options: Sequence[Option], lost: Sequence[Option], peeled: Peeled) -> Option | None:
    """The option that names the DeepSpeed config."""
    for launcher in peeled.launchers:
        given = launcher.options.get("deepspeed_config_file")
        if given is not None and given.value is not None:
            return given
    for group in (options, lost):
        for name in CONFIG_NAMES:
            for option in reversed(group):
                if option.name == name and option.value is not None and may_be_config(option.value):
                    return with_one(option)
        for option in reversed(group):
            value = option.value
            if (
                value is None
                or not isinstance(value.text, str)
                or not value.text.lower().endswith((".json", ".hjson"))
            ):
                continue
            if CONFIG_LIKE.search(option.name.lower()) or NAMED_LIKE.search(value.text):
                return with_one(option)
    return None


def with_one(option: Option) -> Option:
    return option._replace(values=option.values[:1])


def may_be_config(value: Word) -> bool:
    """A path to a config, or a text that may be one; not `zero2` or `True`."""
    if isinstance(value.text, str):
        return CONFIG_FILE.fullmatch(value.text) is not None
    tail = value.tail
    return not tail or "." not in tail.rpartition("/")[2] or CONFIG_FILE.fullmatch(tail) is not None


# srun's own counts


def step_of(job: Job | None, peeled: Peeled, source: Source) -> Step:
    """How often srun or mpirun starts the rest, and on what."""
    for launcher in peeled.launchers:
        if launcher.name == "srun":
            return srun_step(job, launcher, source)
        if launcher.name == "mpirun":
            return mpirun_step(job, launcher, source)
    return Step(job)


def srun_step(job: Job | None, launcher: Launcher, source: Source) -> Step:
    own = slurm_job(list(directives(launcher)), source)
    named = {directive.name for directive in own.directives}
    nodes = own.nodes if named & {"nodes", "ntasks"} else job.nodes if job is not None else None
    per_node, tasks = own.tasks_per_node, own.tasks
    places = {**(job.places if job is not None else {}), **own.places}
    if per_node is None and tasks is None and job is not None:
        per_node, tasks = job.tasks_per_node, job.tasks
        if per_node is None and tasks is None and job.scheduler == "slurm" and job.directives:
            # Slurm starts one task a node unless it is told otherwise.
            per_node = 1
    if tasks is None and nodes is not None and per_node is not None:
        tasks = nodes * per_node
    if per_node is None and tasks is not None and nodes:
        per_node = tasks // nodes if tasks % nodes == 0 else None
    if launcher.open:
        tasks = per_node = nodes = None
    whole = own if job is None else merged(job, own)
    place = places.get("tasks") or places.get("tasks_per_node") or places.get("nodes")
    return Step(whole, nodes, tasks, per_node, place)


def merged(job: Job, own: Job) -> Job:
    """The job with what srun says of its own step over it."""
    return Job(
        job.scheduler,
        job.directives,
        job.nodes,
        job.tasks,
        job.tasks_per_node,
        own.gpus_per_node if own.gpus_per_node is not None else job.gpus_per_node,
        own.gpus if own.gpus is not None else job.gpus,
        own.hardware or job.hardware,
        {**job.places, **own.places},
    )


def directives(launcher: Launcher) -> Iterator[Directive]:
    """srun's options in the shape of `#SBATCH` lines."""
    for option in launcher.options.values():
        name, _ = split_option(option.word.prefix)
        if name is not None:
            yield Directive(name, option.value, option.word.start, option.word.end)


def mpirun_step(job: Job | None, launcher: Launcher, source: Source) -> Step:
    word = launcher.value("np")
    tasks = number_of(word)
    per_node = number_of(launcher.value("per_node"))
    place = Place(source, word.start, word.end) if word is not None else None
    if launcher.open:
        tasks = per_node = None
    return Step(job, None, tasks, per_node, place)
