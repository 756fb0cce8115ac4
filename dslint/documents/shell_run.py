"""Walks a script's syntax tree in the order of a run, without running anything, and notes its commands.

Both ways of a branch are walked and what they disagree on is unknown afterwards; a loop's body is walked once, with all
that it sets unknown at its start; a function is walked at each call, with the call's arguments.
"""

from __future__ import annotations

import os.path
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from dslint.documents.script import Command, Folder, Heredoc, Hint, Job, Redirect
from dslint.documents.shell_conditions import decide, matches
from dslint.documents.shell_expand import EXPANSIONS, HEREDOC, NAME, Expander
from dslint.documents.shell_files import changed_files
from dslint.documents.shell_hints import cause_of_cut
from dslint.documents.shell_jobs import read_job
from dslint.documents.shell_scope import Pieces, Scope, Value, scalar, texts_of, unknown
from dslint.documents.shell_words import Piece, Span, Text, Trail, Word, text_of, word
from dslint.documents.tree import UNKNOWN, Source, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash"})
# Programs that start the program in their arguments, so that a `bash -c "…"` among them is run.
WRAPPERS: Final = frozenset(
    "srun mpirun mpiexec horovodrun jsrun aprun ibrun orterun sudo env nohup time timeout exec command numactl taskset nice "
    "ionice stdbuf setsid singularity apptainer docker podman nerdctl kubectl ssh xargs parallel screen tmux conda mamba "
    "micromamba poetry uv pipenv pdm pixi hatch unbuffer strace nsys ncu pdsh enroot salloc sbatch su script watch flock".split()
)
# Those whose programs do not see this script's variables and folder.
REMOTE: Final = frozenset({"ssh", "docker", "podman", "nerdctl", "kubectl", "pdsh", "su"})
BATCH: Final = frozenset({"sbatch", "qsub", "bsub", "salloc"})
TESTS: Final = frozenset(
    {
        "[",
        "test",
        "grep",
        "egrep",
        "which",
        "type",
        "hash",
        "command",
        "false",
        "ping",
        "cmp",
        "diff",
        "pgrep",
    }
)
# Files that set up an environment and leave a script's own variables alone.
SETUP_FILE: Final = re.compile(
    r"activate$|(^|/)(\.?bash\w*|\.?profile|\.?zshrc|conda\.sh|modules?\.sh|setvars\.sh|lmod\w*)$|^/etc/|/init/"
)
DECLARATIONS: Final = frozenset({"export", "declare", "typeset", "local", "readonly"})
# What the grammar is not shown: it sees a letter for each character of a plain variable.
MASKED: Final = re.compile(rf"\\.|{NAME}", re.DOTALL)
COMMENT_IN_BACKTICKS: Final = re.compile(r"`#[^`\n]*`")
UNREADABLE: Final = re.compile(r"[^\t\n\r -~]")

MOST_STEPS: Final = 8_000
MOST_CALLS: Final = 500
MOST_NODES_A_SCRIPT: Final = 200_000
DEEPEST: Final = 50


@cache
def parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> Node:
    """The syntax tree; its byte offsets are the text's character offsets."""
    # A shell takes every other character as a letter of a word; one byte for each keeps the offsets.
    if not (text.isascii() and text.isprintable()):
        text = UNREADABLE.sub(".", text)
    if "$" in text:
        text = MASKED.sub(lambda match: match[0] if match[0][0] == "\\" else "x" * len(match[0]), text)
    if "`#" in text:
        # A comment within a command, as some write it: it expands to nothing.
        text = COMMENT_IN_BACKTICKS.sub(lambda match: " " * len(match[0]), text)
    if text.rstrip().endswith("\\"):
        # A backslash at the very end has no line to go on with.
        cut = text.rstrip()[:-1]
        text = cut + " " * (len(text) - len(cut))
    if "\r" in text:
        text = text.replace("\\\r\n", " \\\n").replace("\r", " ")
    return parser().parse(text.encode("ascii")).root_node


class Frame(NamedTuple):
    """Where a statement stands: its text, the state of the shell, what it stands inside of."""

    text: Text
    scope: Scope
    outer: tuple[Word, ...] = ()
    job: Job | None = None
    # Whether broken lines of this text are worth a hint.
    top: bool = False
    # The script's own values say that this is not run.
    idle: bool = False
    saved: dict[str, Value | None] | None = None

    def within(self, scope: Scope) -> Frame:
        return self._replace(scope=scope)


class Written(NamedTuple):
    """Text that a command prints or is fed: its span in the frame's text, and whether the shell leaves it as it is."""

    start: int
    end: int
    quoted: bool


class Redirects(NamedTuple):
    files: list[Redirect]
    heredocs: list[Node]
    # Arguments and commands that the grammar puts behind a heredoc's first line.
    arguments: list[Node]
    piped: list[Node]
    followed: list[tuple[str, Node]]

    def and_then(self, other: Redirects) -> Redirects:
        return Redirects(
            self.files + other.files,
            self.heredocs + other.heredocs,
            self.arguments + other.arguments,
            self.piped + other.piped,
            self.followed + other.followed,
        )


class Walker:
    """One walk over a script; what it found stands in its lists."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.commands: list[Command] = []
        self.heredocs: dict[tuple[int, int, str], Heredoc] = {}
        self.hints: list[Hint] = []
        self.writes: list[Word] = []
        self.modifies: list[Word] = []
        self.complete = True
        # A function's text and body, and whether it may not be defined after all.
        self._functions: dict[str, tuple[Text, Node, bool]] = {}
        self._called: set[str] = set()
        self._steps = 0
        self._depth = 0
        self._calls = 0
        self._inside: set[tuple[int, int]] = set()
        self._maybe = 0
        self._exported: dict[int, tuple[Value, Word]] = {}
        # The last text that a command of a pipeline printed, for `cat <<EOF | tee file`.
        self._printed: tuple[Frame, Written, str] | None = None

    def read(self, frame: Frame) -> None:
        """Walk a whole text."""
        root = parse(frame.text.text)
        if root.has_error:
            self.complete = False
        self.statements(root.children, frame)

    def finish(self, frame: Frame) -> None:
        """Walk the functions that nothing called: whoever sources the script may."""
        for name, (text, body, _) in list(self._functions.items()):
            if name not in self._called:
                scope = frame.scope.copy()
                scope.positional = None
                scope.shifts = -1
                self.statement(body, frame._replace(text=text, scope=scope, top=frame.top and text.flat))

    # Statements

    def statements(self, nodes: Sequence[Node], frame: Frame) -> None:
        for node in nodes:
            if frame.scope.ended:
                return
            if node.is_named:
                self.statement(node, frame)

    def statement(self, node: Node, frame: Frame) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS or self._depth > DEEPEST:
            self.complete = False
            return
        self._depth += 1
        try:
            self._statement(node, frame)
        finally:
            self._depth -= 1

    def _statement(self, node: Node, frame: Frame) -> None:
        kind = node.type
        if kind == "command":
            self.command(node, frame)
        elif kind == "redirected_statement":
            self.redirected(node, frame)
        elif kind == "variable_assignment":
            self.assignment(node, frame)
        elif kind == "declaration_command":
            self.declaration(node, frame)
        elif kind == "unset_command":
            for child in node.named_children:
                name = frame.text.text[child.start_byte : child.end_byte]
                if not name.startswith("-"):
                    frame.scope.assign(name, scalar(()))
        elif kind == "list":
            self.chain(node, frame)
        elif kind == "pipeline":
            self.pipeline([child for child in node.children if child.is_named], frame)
        elif kind == "if_statement":
            self.branches(node, frame)
        elif kind == "case_statement":
            self.case(node, frame)
        elif kind in ("for_statement", "c_style_for_statement", "while_statement"):
            self.loop(node, frame)
        elif kind == "function_definition":
            self.define(node, frame)
        elif kind == "subshell":
            self.statements(node.children, frame.within(frame.scope.copy()))
        elif kind in (
            "program",
            "compound_statement",
            "do_group",
            "negated_command",
            "ERROR",
            "else_clause",
            "variable_assignments",
        ):
            if node.children and node.children[0].type == "((":
                self.arithmetic(node, frame)
            else:
                self.statements(node.children, frame)
        elif kind in ("test_command", "arithmetic_expansion"):
            self.arithmetic(node, frame)

    def arithmetic(self, node: Node, frame: Frame) -> None:
        """`((X += 1))`: what it sets is not computed."""
        text = frame.text.text[node.start_byte : node.end_byte]
        if text.startswith("(("):
            for match in re.finditer(
                r"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)", text
            ):
                name = match[1] or match[2]
                frame.scope.assign(name, unknown(f"{name}@{node.start_byte}"))

    def branches(self, node: Node, frame: Frame) -> None:
        """An `if`: each way is walked, but one that the script's own values rule out leaves nothing behind."""
        scopes: list[Scope] = []
        decided = False
        for conditions, body in if_ways(node):
            self.statements(conditions, frame)
            tests = [child for child in conditions if child.is_named]
            truth: bool | None = True if not tests else None
            if len(tests) == 1 and not decided:
                truth = decide(tests[0], self.expander(frame))
            way = self.way(body, frame, decided or truth is False)
            if not decided and truth is not False:
                scopes.append(way)
            decided |= truth is True
        if not decided:
            scopes.append(frame.scope.copy())
        frame.scope.become(scopes, str(node.start_byte))

    def way(self, body: Sequence[Node], frame: Frame, idle: bool) -> Scope:
        """Walk one way of a branch with its own copy of the state."""
        scope = frame.scope.copy()
        self._maybe += 1
        self.statements(body, frame._replace(scope=scope, idle=frame.idle or idle))
        self._maybe -= 1
        return scope

    def case(self, node: Node, frame: Frame) -> None:
        value = node.child_by_field_name("value")
        known = text_of(self.expander(frame).one(value)) if value is not None else UNKNOWN
        scopes: list[Scope] = []
        decided = False
        for item in node.children:
            if item.type != "case_item":
                continue
            closing = next((i for i, child in enumerate(item.children) if child.type == ")"), 0)
            patterns = [
                frame.text.text[child.start_byte : child.end_byte] for child in item.children[:closing]
            ]
            truth = case_truth(known, [pattern for pattern in patterns if pattern not in ("(", "|")])
            way = self.way(item.children[closing + 1 :], frame, decided or truth is False)
            if not decided and truth is not False:
                scopes.append(way)
            decided |= truth is True
        if not decided:
            scopes.append(frame.scope.copy())
        frame.scope.become(scopes, str(node.start_byte))

    def loop(self, node: Node, frame: Frame) -> None:
        before = frame.scope.copy()
        scope = frame.scope.copy()
        for name, appends in self.assigned_names(node, frame.text).items():
            old = scope.values.get(name)
            mark = f"{name}@loop{node.start_byte}"
            if old is not None and appends:
                scope.assign(name, lengthened(old, mark))
                continue
            choices = texts_of(old.first) if old is not None and not old.array else ()
            scope.assign(name, unknown(mark, choices=choices, many=old is not None and old.array))
        inner = frame.within(scope)
        if node.type == "for_statement":
            self.loop_variable(node, inner)
        body = [child for child in node.children if child.type in ("do_group", "compound_statement")]
        heads = [child for child in node.children if child.is_named and child not in body]
        self._maybe += 1
        if node.type == "while_statement":
            self.statements(heads, inner)
        self.statements(body, inner)
        self._maybe -= 1
        scope.ended = ""
        frame.scope.become([before, scope], str(node.start_byte))

    def assigned_names(self, node: Node, text: Text) -> dict[str, bool]:
        """Every variable that something below a node may set, and whether it is only ever added to."""
        names: dict[str, bool] = {}
        stack = [(node, text)]
        called: set[str] = set()
        seen = 0
        while stack and seen < MOST_NODES_A_SCRIPT:
            current, where = stack.pop()
            seen += 1
            kind = current.type
            written = where.text[current.start_byte : current.end_byte]
            if kind in ("variable_assignment", "for_statement"):
                target = current.child_by_field_name("name") or current.child_by_field_name("variable")
                if target is not None:
                    name = where.text[target.start_byte : target.end_byte].partition("[")[0]
                    adds = kind == "variable_assignment" and adds_to_itself(current, name, where)
                    names[name] = names.get(name, True) and adds
            elif kind == "command":
                first = re.match(r"(?:\w+=\S*\s+)*(\S+)", written)
                if first is not None and first[1] in (
                    "read",
                    "mapfile",
                    "readarray",
                    "getopts",
                    "let",
                    "printf",
                ):
                    names.update((name, False) for name in re.findall(r"[A-Za-z_]\w*", written))
                elif first is not None and first[1] in self._functions and first[1] not in called:
                    called.add(first[1])
                    body_text, body, _ = self._functions[first[1]]
                    stack.append((body, body_text))
            elif written.startswith("(("):
                names.update((name, False) for name in re.findall(r"[A-Za-z_]\w*", written))
            stack.extend((child, where) for child in current.children)
        return names

    def loop_variable(self, node: Node, frame: Frame) -> None:
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        name = frame.text.text[variable.start_byte : variable.end_byte]
        values = self.expander(frame).words(node.children_by_field_name("value"))
        if len(values) == 1 and not values[0].open:
            frame.scope.assign(name, scalar(values[0].pieces))
            return
        choices = tuple(value.text for value in values if isinstance(value.text, str))
        frame.scope.assign(name, unknown(f"{name}@{node.start_byte}", choices=choices))

    def chain(self, node: Node, frame: Frame) -> None:
        """`a && b || c`: what stands behind a test may not run."""
        links: list[tuple[str, Node]] = []
        left = node
        while left.type == "list" and len(left.children) >= 3:
            links.append((left.children[1].type, left.children[-1]))
            left = left.children[0]
        self.statement(left, frame)
        self.follow(left, links[::-1], frame)

    def follow(self, first: Node, links: Sequence[tuple[str, Node]], frame: Frame) -> None:
        """Walk what stands behind `first`, which has been walked."""
        current = frame.scope.copy()
        skipped: list[Scope] = []
        previous = first
        # Whether what stands before succeeds; only told of the first, as what follows may not run at all.
        truth = decide(first, self.expander(frame))
        for operator, node in links:
            if frame.scope.ended or current.ended:
                break
            runs = truth if truth is None or operator == "&&" else not truth
            before, current = current, current.copy()
            self._maybe += 1
            self.statement(node, frame._replace(scope=current, idle=frame.idle or runs is False))
            self._maybe -= 1
            if runs is False:
                current = before
                continue
            if runs is None and operator == "||":
                after, current = current, before.copy()
                current.become([before, after], str(node.start_byte))
            elif runs is None and not succeeds(previous, frame.text):
                skipped.append(before)
            previous, truth = node, None
        if not frame.scope.ended:
            frame.scope.become([*skipped, current], str(first.end_byte))

    def pipeline(self, nodes: Sequence[Node], frame: Frame) -> None:
        self._printed = None
        for node in nodes:
            self.statement(node, frame.within(frame.scope.copy()))
        self._printed = None

    def define(self, node: Node, frame: Frame) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is not None and body is not None:
            written = frame.text.text[name.start_byte : name.end_byte]
            self._functions[written] = (frame.text, body, self._maybe > 0)

    # Assignments

    def expander(self, frame: Frame) -> Expander:
        def run(node: Node, text: Text, scope: Scope) -> list[Piece] | None:
            return self.substitution(node, frame._replace(text=text, scope=scope, top=False))

        return Expander(frame.text, frame.scope, self.source.path, run)

    def assignment(self, node: Node, frame: Frame) -> None:
        found = self.assigned(node, frame)
        if found is not None:
            self.set(frame, *found)

    def set(self, frame: Frame, name: str, value: Value) -> None:
        frame.scope.assign(name, value)

    def assigned(self, node: Node, frame: Frame) -> tuple[str, Value] | None:
        """The variable and the value of an assignment."""
        target = node.child_by_field_name("name")
        if target is None:
            return None
        written = frame.text.text[target.start_byte : target.end_byte]
        if not written.partition("[")[0].isidentifier():
            return None
        if target.type == "subscript":
            name = written.partition("[")[0]
            return name, unknown(f"{name}@{node.start_byte}", many=True)
        expander = self.expander(frame)
        expander.own = written
        value = expander.value(node.child_by_field_name("value"))
        if any(child.type == "+=" for child in node.children):
            value = self.appended(written, value, frame, node)
        return written, value

    def appended(self, name: str, value: Value, frame: Frame, node: Node) -> Value:
        old = frame.scope.values.get(name)
        if old is None:
            symbol = f"${name}[@]" if value.array else f"${name}"
            use = frame.text.trail(*span_of(node))
            old = unknown(symbol, use, many=value.array)
        if old.array or value.array:
            return Value((*old.items, *value.items), array=True)
        return scalar((*old.first, *value.first))

    def declaration(self, node: Node, frame: Frame) -> None:
        word_of = frame.text.text
        keyword = node.children[0].type
        options = "".join(
            word_of[child.start_byte : child.end_byte].lstrip("-")
            for child in node.children
            if child.type == "word" and word_of[child.start_byte] == "-"
        )
        exports = (keyword == "export" and "n" not in options and "f" not in options) or (
            keyword != "export" and "x" in options
        )
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                found = self.assigned(child, frame)
                if found is None:
                    continue
                name, value = found
                if keyword in ("local", "declare", "typeset") and frame.saved is not None:
                    frame.saved.setdefault(name, frame.scope.values.get(name))
                self.set(frame, name, value)
            elif child.type == "variable_name":
                name = word_of[child.start_byte : child.end_byte]
                if not name.isidentifier():
                    continue
                if keyword == "local" and frame.saved is not None:
                    frame.saved.setdefault(name, frame.scope.values.get(name))
            else:
                continue
            if exports:
                frame.scope.exported.add(name)

    # Commands

    def redirected(self, node: Node, frame: Frame) -> None:
        body = node.child_by_field_name("body")
        redirects = self.redirects(
            [child for child in node.children if child is not body and child != body], frame
        )
        self.with_redirects(body, redirects, frame)

    def with_redirects(self, body: Node | None, redirects: Redirects, frame: Frame) -> None:
        """Run a statement whose last command has some redirects."""
        if redirects.piped:
            # `cat <<EOF | tee file`: the grammar puts the rest of the pipeline below the heredoc.
            inner = redirects._replace(piped=[])
            self._printed = None
            self.with_redirects(body, inner, frame.within(frame.scope.copy()))
            for node in redirects.piped:
                for part in node.named_children if node.type == "pipeline" else [node]:
                    self.statement(part, frame.within(frame.scope.copy()))
            self._printed = None
            return
        if body is None:
            self.note_writes([], redirects, None, frame)
        elif body.type == "command":
            self.command(body, frame, redirects)
        elif body.type == "list" and len(body.children) >= 3:
            # The redirect belongs to the last command alone.
            self.statement(body.children[0], frame)
            before = frame.scope.copy()
            after = frame.scope.copy()
            self.with_redirects(body.children[-1], redirects, frame.within(after))
            sure = body.children[1].type == "&&" and succeeds(body.children[0], frame.text)
            frame.scope.become([after] if sure else [before, after], str(body.start_byte))
        elif body.type == "pipeline":
            parts = [child for child in body.children if child.is_named]
            self._printed = None
            for part in parts[:-1]:
                self.statement(part, frame.within(frame.scope.copy()))
            self.with_redirects(parts[-1] if parts else None, redirects, frame.within(frame.scope.copy()))
            self._printed = None
        else:
            self.statement(body, frame)
            self.note_writes([], redirects, None, frame)
        if redirects.followed and body is not None:
            self.follow(body, redirects.followed, frame)

    def redirects(self, nodes: Sequence[Node], frame: Frame) -> Redirects:
        found = Redirects([], [], [], [], [])
        expander = self.expander(frame)
        for node in nodes:
            if node.type == "heredoc_redirect":
                found.heredocs.append(node)
                self.heredoc_line(node, found, expander)
            elif node.type in ("file_redirect", "herestring_redirect"):
                self.file_redirect(node, found, expander)
        return found

    def heredoc_line(self, node: Node, found: Redirects, expander: Expander) -> None:
        """What stands behind `<<EOF` on its line."""
        operator = ""
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            if child.type == "file_redirect":
                self.file_redirect(child, found, expander)
            elif child.type == "pipeline":
                found.piped.append(child)
            elif field == "argument":
                found.arguments.append(child)
            elif field == "operator":
                operator = child.type
            elif field == "right":
                found.followed.append((operator, child))

    def file_redirect(self, node: Node, found: Redirects, expander: Expander) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "<<<")
        targets = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
        if not targets:
            return
        # The grammar takes the words behind a target as targets too; they are arguments.
        found.arguments.extend(targets[1:])
        if targets[0].type == "number" and operator.endswith("&"):
            return
        found.files.append(Redirect(operator, expander.single(targets[0])))

    def command(self, node: Node, frame: Frame, redirects: Redirects | None = None) -> None:
        prefix, arguments, own = parts_of(node)
        if own:
            more = self.redirects(own, frame)
            redirects = more if redirects is None else more.and_then(redirects)
        if redirects is not None:
            arguments = [*arguments, *redirects.arguments]
        settings = [found for found in (self.assigned(child, frame) for child in prefix) if found is not None]
        if prefix and arguments and prefix[-1].end_byte == arguments[0].start_byte and settings:
            # The grammar parts a value in two (`A='x'\$y`).
            name = settings[-1][0]
            settings[-1] = (name, unknown(f"{name}@{node.start_byte}"))
            arguments = arguments[1:]
        words = self.expander(frame).words(arguments)
        if not words:
            for name, value in settings:
                self.set(frame, name, value)
            self.note_writes([], redirects, node, frame)
            return
        self.perform(node, words, dict(settings), redirects, frame, arguments)

    def perform(
        self,
        node: Node,
        words: list[Word],
        settings: dict[str, Value],
        redirects: Redirects | None,
        frame: Frame,
        arguments: Sequence[Node],
    ) -> None:
        span = frame.text.trail(*span_of(node))
        first, last = span[-1] if span else (words[0].start, words[-1].end)
        command = Command(
            tuple(words),
            first,
            last,
            self.environment(frame.scope, settings),
            tuple(redirects.files) if redirects is not None else (),
            node.has_error or any(word.open for word in words),
            frame.outer,
            frame.job,
            frame.scope.folder,
            idle=frame.idle,
        )
        if frame.top and words[0].prefix.startswith("-") and self.cut_off(node, command, frame):
            return
        self.commands.append(command)
        self.note_writes(words, redirects, node, frame, arguments)
        self.effects(command, words, settings, redirects, frame)

    def cut_off(self, node: Node, command: Command, frame: Frame) -> bool:
        """Note a command that is the rest of the one before it, whose continuation is broken."""
        kind_and_span = cause_of_cut(frame.text.text, node.start_byte)
        if kind_and_span is None or not self.commands:
            return False
        kind, start, end = kind_and_span
        place = frame.text.trail(start, end)[-1]
        self.hints.append(Hint(kind, *place, (command.start, command.end)))
        before = self.commands[-1]
        self.commands[-1] = replace(before, open=True, lost=(*before.lost, *command.words))
        return True

    def environment(self, scope: Scope, settings: Mapping[str, Value]) -> dict[str, Word]:
        found = {
            name: self.exported(value)
            for name, value in scope.values.items()
            if scope.exports(name) and not value.array
        }
        found.update((name, self.exported(value)) for name, value in settings.items())
        return found

    def exported(self, value: Value) -> Word:
        known = self._exported.get(id(value))
        if known is None or known[0] is not value:
            trails = [piece.trail for piece in value.first if piece.trail]
            use: Span = trails[0][0] if trails else (0, 0)
            known = self._exported[id(value)] = (value, word(value.first, use, True, None))
        return known[1]

    # What commands do to the shell

    def effects(
        self,
        command: Command,
        words: list[Word],
        settings: dict[str, Value],
        redirects: Redirects | None,
        frame: Frame,
    ) -> None:
        name = command.name
        scope = frame.scope
        if name in self._functions and words[0].text == name:
            self.call(name, words, settings, frame)
        elif name in ("cd", "pushd", "popd"):
            scope.folder = self.moved(name, words, scope)
        elif name in ("source", ".") and len(words) > 1:
            self.sourced(words[1], frame)
        elif name == "eval":
            self.evaluate(words[1:], frame)
        elif name in ("exit", "return"):
            scope.ended = "exit" if name == "exit" else "return"
        elif name == "exec" and len(words) > 1:
            self.start_scripts(command, words, settings, frame)
            scope.ended = "exit"
        elif name in ("read", "mapfile", "readarray", "getopts", "let", "printf"):
            self.input(name, words, redirects, frame)
        elif name == "shift":
            self.shift(words, scope)
        elif name == "set":
            self.options(words, scope)
        elif name in DECLARATIONS:
            pass
        else:
            self.start_scripts(command, words, settings, frame)
        if redirects is not None and redirects.heredocs:
            self.fed_script(command, words, redirects, frame)

    def call(self, name: str, words: list[Word], settings: dict[str, Value], frame: Frame) -> None:
        text, body, uncertain = self._functions[name]
        self._called.add(name)
        self._calls += 1
        inside = id(text), body.start_byte
        if inside in self._inside or self._calls > MOST_CALLS:
            # A function that calls itself is walked once; what it sets is then not known to the last.
            self.complete = False
            return
        scope = frame.scope
        before = scope.copy()
        outside = scope.positional, scope.shifts
        many = any(word.open for word in words[1:])
        scope.positional = None if many else [word.pieces for word in words[1:]]
        scope.shifts = words[0].start + 1 if many else 0
        saved: dict[str, Value | None] = {key: scope.values.get(key) for key in settings}
        for key, value in settings.items():
            scope.assign(key, value)
        self._inside.add(inside)
        self.statement(body, frame._replace(text=text, saved=saved, top=frame.top and text.flat))
        self._inside.discard(inside)
        scope.positional, scope.shifts = outside
        if scope.ended == "return":
            scope.ended = ""
        for key, old in saved.items():
            if old is None:
                scope.values.pop(key, None)
            else:
                scope.values[key] = old
        if uncertain:
            after = scope.copy()
            after.ended, scope.ended = scope.ended, ""
            scope.become([before, after], str(words[0].start))

    def moved(self, name: str, words: Sequence[Word], scope: Scope) -> Folder | None:
        targets = [word for word in words[1:] if word.text not in ("--", "-P", "-L")]
        if name == "popd" or len(targets) != 1 or targets[0].text == "-":
            return None
        target = targets[0]
        if isinstance(target.text, str):
            if scope.folder is None and not os.path.isabs(target.text):
                return None
            base = scope.folder or Folder("start", "")
            return base._replace(path=posixpath.normpath(posixpath.join(base.path, target.text)))
        first = target.pieces[0]
        own = isinstance(first.text, Unknown) and "dirname" in first.symbol and len(first.choices) == 1
        rest = text_of(target.pieces[1:])
        if own and isinstance(rest, str):
            return Folder("files", posixpath.normpath(f"{first.choices[0]}/{rest}"))
        return None

    def sourced(self, file: Word, frame: Frame) -> None:
        """Another script may set what this one has set before."""
        if SETUP_FILE.search(file.tail):
            return
        scope = frame.scope
        for name, value in list(scope.values.items()):
            if name.startswith("SLURM_"):
                continue
            choices = () if value.array else texts_of(value.first)
            symbol = f"{name}@source{file.start}"
            scope.values[name] = unknown(symbol, choices=choices, many=value.array)

    def evaluate(self, words: Sequence[Word], frame: Frame) -> None:
        """`eval "$cmd"`: the words' text is read as commands of this shell."""
        pieces: list[Piece] = []
        for index, argument in enumerate(words):
            if index:
                pieces.append(Piece(" ", (argument.use,)))
            pieces.extend(argument.pieces)
        if any(isinstance(piece.text, str) and piece.text.strip() for piece in pieces):
            self.inner(frame._replace(text=Text(pieces), top=False))

    def inner(self, frame: Frame) -> None:
        """Walk a text that stands inside a command's arguments."""
        self._depth += 5
        if self._depth < DEEPEST:
            self.read(frame)
        else:
            self.complete = False
        self._depth -= 5

    def input(self, name: str, words: Sequence[Word], redirects: Redirects | None, frame: Frame) -> None:
        """`read A B`: what it sets comes from outside, except from a heredoc."""
        texts = [word.text for word in words[1:] if isinstance(word.text, str)]
        if name == "printf":
            names = texts[1:2] if texts[:1] == ["-v"] else []
        elif name == "let":
            names = [
                match[1]
                for text in texts
                if (match := re.match(r"([A-Za-z_]\w*)\s*[-+*/%]?(?:=|\+\+|--)", text))
            ]
        else:
            names = [text for text in texts if text.isidentifier()]
        for target in names:
            many = name in ("mapfile", "readarray") or "-a" in texts or "-ra" in texts
            frame.scope.assign(target, unknown(f"{target}@{words[0].start}", many=many))
        if name == "read" and len(names) == 1 and redirects is not None and redirects.heredocs:
            body = self.heredoc_pieces(redirects.heredocs[0], frame)
            frame.scope.assign(names[0], scalar(body))

    def shift(self, words: Sequence[Word], scope: Scope) -> None:
        count = words[1].text if len(words) > 1 else "1"
        if scope.positional is None:
            scope.shifts += 1
        elif isinstance(count, str) and count.isdecimal():
            scope.positional = scope.positional[int(count) :]
        else:
            scope.positional = None
            scope.shifts = words[0].start + 1

    def options(self, words: Sequence[Word], scope: Scope) -> None:
        texts = [word.text for word in words[1:]]
        if texts[:1] == ["--"]:
            scope.positional = (
                None if any(word.open for word in words) else [word.pieces for word in words[2:]]
            )
            scope.shifts = words[0].start + 1
        elif "allexport" in texts:
            scope.all_exported = "-o" in texts
        elif texts and isinstance(texts[0], str) and re.fullmatch(r"[-+][a-z]*a[a-z]*", texts[0]):
            scope.all_exported = texts[0][0] == "-"

    # Scripts inside commands

    def start_scripts(
        self, command: Command, words: Sequence[Word], settings: Mapping[str, Value], frame: Frame
    ) -> None:
        """`srun -n 2 bash -c "…"`, `ssh host "…"`, `sbatch --wrap "…"`: commands in an argument."""
        name = command.name
        found = script_argument(name, words)
        if found is None:
            return
        outer, script = found
        if not any(isinstance(piece.text, str) for piece in script):
            return
        remote = any(
            isinstance(word.text, str) and word.text.rpartition("/")[2] in REMOTE
            for word in words[: len(outer) + 1]
        )
        scope = Scope() if remote else frame.scope.child()
        if remote:
            scope.folder = None
        for key, value in settings.items():
            scope.assign(key, value)
            scope.exported.add(key)
        self.inner(Frame(Text(script), scope, (*frame.outer, *outer), frame.job, idle=frame.idle))

    def fed_script(self, command: Command, words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
        """`bash <<EOF`, `sbatch <<EOF`, `ssh host <<EOF`: the heredoc's lines are commands."""
        name = command.name
        names = [word.text.rpartition("/")[2] for word in words if isinstance(word.text, str)]
        shell = next((index for index, text in enumerate(names) if text in SHELLS), None)
        if not (name in SHELLS or name in BATCH or name == "ssh" or (name in WRAPPERS and shell is not None)):
            return
        node = redirects.heredocs[0]
        text = self.heredoc_text(node, frame)
        remote = bool(REMOTE & set(names))
        scope = Scope() if remote else frame.scope.child()
        if remote:
            scope.folder = None
        job = (read_job(text, self.source) if name in BATCH else None) or frame.job
        outer = frame.outer if name in SHELLS or name in BATCH else (*frame.outer, *words[:shell])
        self.inner(Frame(text, scope, outer, job, idle=frame.idle))

    def substitution(self, node: Node, frame: Frame) -> list[Piece] | None:
        """Walk what stands in `$(…)`; what it prints is known for `cat <<EOF` and a plain `echo`."""
        scope = frame.scope.copy()
        inner = frame.within(scope)
        printed_before = self._printed
        nodes = node.named_children
        self._depth += 1
        if self._depth < DEEPEST:
            self.statements(nodes, inner)
        self._depth -= 1
        self._printed = printed_before
        if len(nodes) != 1:
            return None
        return self.printed_by(nodes[0], inner)

    def printed_by(self, node: Node, frame: Frame) -> list[Piece] | None:
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            heredocs = [child for child in node.children if child.type == "heredoc_redirect"]
            others = [child for child in node.children if child.type == "file_redirect"]
            text = frame.text.text[body.start_byte : body.end_byte] if body is not None else ""
            if (
                text.strip() == "cat"
                and len(heredocs) == 1
                and not others
                and not heredocs[0].named_child_count > 3
            ):
                return stripped(self.heredoc_pieces(heredocs[0], frame))
            return None
        if node.type != "command":
            return None
        prefix, arguments, own = parts_of(node)
        first = frame.text.text[arguments[0].start_byte : arguments[0].end_byte] if arguments else ""
        if first != "echo" or own or prefix:
            return None
        words = self.expander(frame).words(arguments[1:])
        if any(word.open or word.prefix.startswith("-") for word in words):
            return None
        pieces: list[Piece] = []
        for index, argument in enumerate(words):
            if index:
                pieces.append(Piece(" ", (argument.use,)))
            pieces.extend(argument.pieces)
        return pieces

    # Files

    def note_writes(
        self,
        words: Sequence[Word],
        redirects: Redirects | None,
        node: Node | None,
        frame: Frame,
        arguments: Sequence[Node] = (),
    ) -> None:
        """The files that a command writes, and the text that it writes into them where the script shows it."""
        name = words[0].text.rpartition("/")[2] if words and isinstance(words[0].text, str) else None
        written = changed_files(words)
        targets = [
            redirect
            for redirect in (redirects.files if redirects is not None else ())
            if ">" in redirect.operator and not is_device(redirect.target)
        ]
        text = self.text_written(name, arguments, redirects, frame)
        if text is not None and not targets and name != "tee":
            self._printed = (frame, text, name or "")
            if redirects is not None and redirects.heredocs:
                self.note_heredoc(None, text, name, False, frame)
        shown: list[Word] = []
        if name == "tee":
            shown = self.note_tee(written, text, words, frame)
        elif text is not None and name in ("cat", "echo", "printf"):
            for redirect in targets:
                self.note_heredoc(redirect.target, text, name, ">>" in redirect.operator, frame)
                shown.append(redirect.target)
        elif text is not None and targets and redirects is not None and redirects.heredocs:
            self.note_heredoc(None, text, name, False, frame)
        files = [*written, *(redirect.target for redirect in targets)]
        self.writes.extend(files)
        self.modifies.extend(file for file in files if file not in shown)

    def note_tee(
        self, written: Sequence[Word], text: Written | None, words: Sequence[Word], frame: Frame
    ) -> list[Word]:
        appends = any(word.text in ("-a", "--append") for word in words)
        if text is not None:
            for target in written:
                self.note_heredoc(target, text, "tee", appends, frame)
            return list(written)
        if self._printed is not None:
            where, printed, name = self._printed
            for target in written:
                self.note_heredoc(target, printed, name, appends, where)
            return list(written)
        return []

    def text_written(
        self, name: str | None, arguments: Sequence[Node], redirects: Redirects | None, frame: Frame
    ) -> Written | None:
        if redirects is not None and redirects.heredocs:
            return heredoc_span(redirects.heredocs[0], frame.text.text)
        if name not in ("echo", "printf"):
            return None
        given = [
            node for node in arguments[1:] if frame.text.text[node.start_byte : node.start_byte + 1] != "-"
        ]
        if (
            name == "printf"
            and len(given) == 2
            and frame.text.text[given[0].start_byte : given[0].end_byte].strip("'\"") in ("%s", "%s\\n")
        ):
            given = given[1:]
        if len(given) != 1:
            return None
        start, end = span_of(given[0])
        inside = frame.text.text[start + 1 : end - 1]
        if given[0].type == "raw_string":
            return Written(start + 1, end - 1, True)
        if given[0].type == "string" and "\\" not in inside:
            return Written(start + 1, end - 1, False)
        return None

    def note_heredoc(
        self, target: Word | None, text: Written, reader: str | None, appends: bool, frame: Frame
    ) -> None:
        if text.end <= text.start:
            return
        first = frame.text.trail(text.start, text.start + 1)
        last = frame.text.trail(text.end - 1, text.end)
        if not first or not last or len(first) != len(last):
            return
        start, end = first[-1][0], last[-1][1]
        if end < start:
            return
        key = (start, end, target.shape if target is not None else "")
        substitute = substitution_in(
            frame.scope.copy(), frame.text.trail(text.start, text.end), self.source.path
        )
        known = self.heredocs.get(key)
        if known is not None:
            earlier = known.substitute
            self.heredocs[key] = replace(
                known, substitute=lambda name: agreed(earlier(name), substitute(name))
            )
            return
        self.heredocs[key] = Heredoc(target, start, end, text.quoted, reader, substitute, appends)

    def heredoc_pieces(self, node: Node, frame: Frame) -> list[Piece]:
        """A heredoc's text as the program reads it."""
        text = heredoc_span(node, frame.text.text)
        if text.quoted:
            return frame.text.pieces(text.start, text.end)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if body is None:
            return []
        expander = self.expander(frame)
        return [
            piece
            for part in expander.between(body, text.start, text.end, HEREDOC, True)
            for item in part.items
            for piece in item
        ]

    def heredoc_text(self, node: Node, frame: Frame) -> Text:
        return Text(self.heredoc_pieces(node, frame))


def span_of(node: Node) -> Span:
    return node.start_byte, node.end_byte


def if_ways(node: Node) -> list[tuple[list[Node], list[Node]]]:
    """The conditions and the body of each way of an `if`; an `else` has no condition."""
    ways: list[tuple[list[Node], list[Node]]] = []
    own: list[Node] = []
    for child in node.children:
        if child.type in ("elif_clause", "else_clause"):
            ways.append(parted(child.children))
        else:
            own.append(child)
    return [parted(own), *ways]


def parted(children: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """What stands before `then`, and what behind it."""
    then = next((index for index, child in enumerate(children) if child.type == "then"), 0)
    return list(children[:then]), list(children[then:])


def case_truth(value: str | Unknown, patterns: Sequence[str]) -> bool | None:
    """Whether a `case` item is the one for a value."""
    if "*" in patterns:
        return True
    if isinstance(value, Unknown):
        return None
    found = [matches(value, pattern) for pattern in patterns]
    if True in found:
        return True
    return None if None in found or not found else False


def parts_of(node: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """A command's assignments, its words' nodes and its redirects."""
    prefix: list[Node] = []
    arguments: list[Node] = []
    redirects: list[Node] = []
    for child in node.children:
        if child.start_byte == child.end_byte:
            # What the grammar misses in a broken text.
            continue
        if child.type == "variable_assignment":
            prefix.append(child)
        elif child.type == "command_name":
            arguments.extend(child.children[:1] or [child])
        elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            redirects.append(child)
        elif child.is_named and child.type not in ("ERROR", "comment"):
            arguments.append(child)
        elif child.type in ("$", "==", "=~") or (not child.is_named and child.type.isalnum()):
            arguments.append(child)
    return prefix, arguments, redirects


def lengthened(value: Value, mark: str) -> Value:
    """What a variable holds inside a loop that adds to it: what it held before, and more that is not known."""
    if value.array:
        return Value((*value.items, *unknown(mark, many=True).items), array=True)
    if not value.first:
        return unknown(mark)
    return scalar((*value.first, Piece(" ", ()), *unknown(mark).first))


def adds_to_itself(node: Node, name: str, text: Text) -> bool:
    """`ARGS+=(--x)` and `ARGS="$ARGS --x"`."""
    if any(child.type == "+=" for child in node.children):
        value = node.child_by_field_name("value")
        # `A+=x` lengthens the last word itself.
        return value is not None and (
            value.type == "array" or text.text[value.start_byte + 1 :][:1].isspace()
        )
    written = text.text[node.start_byte : node.end_byte]
    if not name.isidentifier():
        return False
    return re.match(rf"{name}=\"?\$(?:{name}\s|\{{{name}\}}\s)", written) is not None


def succeeds(node: Node, text: Text) -> bool:
    """Whether a statement is one that scripts count on (`cd dir && …`), rather than a test."""
    while node.type == "list" and node.children:
        node = node.children[-1]
    if node.type in ("test_command", "negated_command"):
        return False
    first = re.match(r"[^\s;&|]+", text.text[node.start_byte : node.end_byte])
    return first is not None and first[0] not in TESTS and not first[0].startswith(("[", "(("))


def heredoc_span(node: Node, text: str) -> Written:
    """The span of a heredoc's lines."""
    start_word = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end_word = next((child for child in node.children if child.type == "heredoc_end"), None)
    quoted = start_word is not None and any(
        c in "'\"\\" for c in text[start_word.start_byte : start_word.end_byte]
    )
    if body is None:
        return Written(node.end_byte, node.end_byte, quoted)
    start = text.rfind("\n", 0, body.start_byte) + 1
    end = text.rfind("\n", 0, end_word.start_byte) + 1 if end_word is not None else body.end_byte
    return Written(start, max(start, end), quoted)


def stripped(pieces: list[Piece]) -> list[Piece]:
    """Without the line ends at the end, as `$(…)` drops them."""
    while pieces and isinstance(pieces[-1].text, str):
        left = pieces[-1].text.rstrip("\r\n")
        if left:
            pieces[-1] = pieces[-1].part(0, len(left))
            break
        pieces.pop()
    return pieces


def is_device(target: Word) -> bool:
    return isinstance(target.text, str) and (
        target.text.startswith("/dev/") or target.text.isdecimal() or target.text == "-"
    )


def agreed(one: str | Unknown, other: str | Unknown) -> str | Unknown:
    return one if isinstance(one, str) and one == other else UNKNOWN


class substitution_in:  # noqa: N801
    """The text of a placeholder, in the state that the shell had at a heredoc."""

    __slots__ = ("_path", "_scope", "_trail")

    def __init__(self, scope: Scope, trail: Trail, path: str) -> None:
        self._scope = scope
        self._trail = trail
        self._path = path

    def __call__(self, placeholder: str) -> str | Unknown:
        span = self._trail[-1] if self._trail else (0, 0)
        text = Text([Piece(placeholder, (span,))])
        commands = parse(placeholder).named_children
        if (
            len(commands) != 1
            or commands[0].type != "command"
            or span_of(commands[0]) != (0, len(placeholder))
        ):
            return UNKNOWN
        _, words, others = parts_of(commands[0])
        if len(words) != 1 or others:
            return UNKNOWN
        expander = Expander(text, self._scope, self._path, lambda *_: None)
        if words[0].type in EXPANSIONS:
            parts = [expander.expansion(words[0], True)]
        else:
            parts = expander.between(words[0], 0, len(placeholder), HEREDOC, True)
        if any(len(part.items) != 1 for part in parts):
            return UNKNOWN
        return text_of(piece for part in parts for piece in part.items[0])


def script_argument(name: str | None, words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Piece]] | None:
    """The words in front of a shell that a command starts, and the script that the shell is given."""
    if name in SHELLS or name in WRAPPERS or name is None:
        for index, argument in enumerate(words):
            text = argument.text
            if isinstance(text, str) and text.rpartition("/")[2] in SHELLS:
                script = after_c(words[index + 1 :])
                if script is not None:
                    return words[:index], script.pieces
    if name in ("sbatch", "salloc"):
        for index, argument in enumerate(words):
            if argument.prefix.startswith("--wrap="):
                return words[:index], argument.after(7).pieces
            if argument.text == "--wrap" and index + 1 < len(words):
                return words[:index], words[index + 1].pieces
    if (
        name == "ssh"
        and len(words) > 2
        and isinstance(words[-1].text, str)
        and words[-1].quoted
        and " " in words[-1].text
    ):
        return words[:-1], words[-1].pieces
    if name in ("tmux", "screen", "pdsh", "su", "script", "docker", "kubectl") and words[-1].quoted:
        last = next(
            (argument for argument in reversed(words) if argument.text not in ("C-m", "Enter", "ENTER")),
            words[-1],
        )
        if last.quoted and isinstance(last.text, str) and " " in last.text:
            return words[: words.index(last)], last.pieces
    return None


def after_c(words: Sequence[Word]) -> Word | None:
    """The script of `bash -lc "…"`."""
    index = 0
    while index < len(words):
        text = words[index].text
        if not isinstance(text, str) or text[:1] not in ("-", "+"):
            return None
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", text):
            if index + 1 < len(words) and words[index + 1].text in ("-o", "+o") and index + 3 < len(words):
                index += 2
            return words[index + 1] if index + 1 < len(words) else None
        index += 2 if re.fullmatch(r"[-+][A-Za-z]*o|[-+]O", text) else 1
    return None


__all__ = ["Frame", "Pieces", "Walker", "parse"]
