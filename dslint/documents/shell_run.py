"""Walks a script's syntax tree in the order of a run, without running anything, and notes its commands.

Both ways of a branch are walked and what they disagree on is unknown afterwards; a loop's body is walked once, with all
that it sets unknown at its start; a function is walked at each call, with the call's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from dslint.documents.script import Command, Hint, Job
from dslint.documents.shell_arithmetic import compute
from dslint.documents.shell_conditions import case_truth, decide
from dslint.documents.shell_expand import Expander
from dslint.documents.shell_files import changed_files
from dslint.documents.shell_hints import cause_of_cut
from dslint.documents.shell_jobs import read_job
from dslint.documents.shell_nested import BATCH, REMOTE, SHELLS, WRAPPERS, names_of, script_argument
from dslint.documents.shell_redirects import NOTHING, Redirects, read_redirects
from dslint.documents.shell_scope import Scope, Value, job_variables, lengthened, scalar, texts_of, unknown
from dslint.documents.shell_state import moved, read_into, set_options, shift, sourced
from dslint.documents.shell_syntax import (
    READERS,
    assigned_names,
    case_items,
    if_ways,
    parse,
    parts_of,
    read_on,
    span_of,
    succeeds,
)
from dslint.documents.shell_words import Piece, Span, Text, Word, text_of, with_blanks, word
from dslint.documents.shell_writes import Writes, heredoc_pieces
from dslint.documents.tree import UNKNOWN, Source

if TYPE_CHECKING:
    from tree_sitter import Node

SCRIPT_FILE: Final = re.compile(r"\.(?:sh|bash|sbatch|slurm|pbs)$")
DECLARATIONS: Final = frozenset({"export", "declare", "typeset", "local", "readonly"})
SEQUENCES: Final = frozenset(
    {
        "program",
        "compound_statement",
        "do_group",
        "negated_command",
        "variable_assignments",
        "else_clause",
        "ERROR",
    }
)
SET_BY_ARITHMETIC: Final = re.compile(
    r"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)

MOST_STEPS: Final = 8_000
MOST_CALLS: Final = 500
DEEPEST: Final = 50


class Frame(NamedTuple):
    """Where a statement stands.

    - text, scope: what it is read from, and the state of the shell.
    - outer: the words in front of the shell that runs it; job: the batch job that it is part of.
    - top: broken lines of this text are worth a hint; idle: the script's own values say that this is not run.
    - saved: a function's local variables, with what they held outside.
    """

    text: Text
    scope: Scope
    outer: tuple[Word, ...] = ()
    job: Job | None = None
    top: bool = False
    idle: bool = False
    saved: dict[str, Value | None] | None = None

    def within(self, scope: Scope) -> Frame:
        return self._replace(scope=scope)

    def apart(self) -> Frame:
        """For a statement that a shell of its own runs: what it sets is gone afterwards."""
        return self.within(self.scope.copy())

    def written(self, node: Node) -> str:
        return self.text.text[node.start_byte : node.end_byte]


class Walker:
    """One walk over a script, and what it found."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.commands: list[Command] = []
        self.hints: list[Hint] = []
        self.writes = Writes(source)
        self.complete = True
        # A function's text and body, and whether it may not be defined after all.
        self._functions: dict[str, tuple[Text, Node, bool]] = {}
        self._called: set[str] = set()
        self._inside: set[tuple[int, int]] = set()
        self._steps = 0
        self._calls = 0
        self._depth = 0
        # How many branches and loops stand around: what is defined in one may not be defined.
        self._maybe = 0
        self._exported: dict[int, tuple[Value, Word]] = {}

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
            cut = read_on(node, frame.text)
            if cut is None:
                self.one_of(node.type, node, frame)
            else:
                # Read again, in two.
                for span in ((node.start_byte, cut), (cut, node.end_byte)):
                    self.read(frame._replace(text=Text(frame.text.pieces(*span), frame.text.flat)))
        finally:
            self._depth -= 1

    def one_of(self, kind: str, node: Node, frame: Frame) -> None:
        if kind == "command":
            self.command(node, frame)
        elif kind == "redirected_statement":
            self.redirected(node, frame)
        elif kind == "variable_assignment":
            self.assignment(node, frame)
        elif kind == "declaration_command":
            self.declaration(node, frame)
        elif kind == "unset_command":
            self.unset(node, frame)
        elif kind == "list":
            self.chain(node, frame)
        elif kind == "pipeline":
            self.pipeline(node.named_children, frame)
        elif kind == "if_statement":
            self.branches(node, frame)
        elif kind == "case_statement":
            self.case(node, frame)
        elif kind in ("for_statement", "c_style_for_statement", "while_statement"):
            self.loop(node, frame)
        elif kind == "function_definition":
            self.define(node, frame)
        elif kind == "subshell":
            self.statements(node.children, frame.apart())
        elif frame.written(node).startswith("(("):
            self.arithmetic(node, frame)
        elif kind in SEQUENCES:
            self.statements(node.children, frame)

    def arithmetic(self, node: Node, frame: Frame) -> None:
        """`((X += 1))`: what it sets is not computed."""
        for match in SET_BY_ARITHMETIC.finditer(frame.written(node)):
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

    def case(self, node: Node, frame: Frame) -> None:
        subject = node.child_by_field_name("value")
        value = text_of(self.expander(frame).one(subject)) if subject is not None else UNKNOWN
        scopes: list[Scope] = []
        decided = False
        for patterns, body in case_items(node, frame.text):
            truth = case_truth(value, patterns)
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

    def loop(self, node: Node, frame: Frame) -> None:
        before = frame.scope.copy()
        inner = frame.apart()
        scope = inner.scope
        for name, adds in assigned_names(node, frame.text, self._functions).items():
            old = scope.values.get(name)
            mark = f"{name}@loop{node.start_byte}"
            if old is not None and adds:
                scope.assign(name, lengthened(old, mark))
            else:
                choices = texts_of(old.first) if old is not None and not old.array else ()
                scope.assign(name, unknown(mark, choices=choices, many=old is not None and old.array))
        if node.type == "for_statement":
            self.loop_variable(node, inner)
        self._maybe += 1
        self.statements([child for child in node.children if is_walked(child, node)], inner)
        self._maybe -= 1
        scope.ended = ""
        frame.scope.become([before, scope], str(node.start_byte))

    def loop_variable(self, node: Node, frame: Frame) -> None:
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        name = frame.written(variable)
        values = self.expander(frame).words(node.children_by_field_name("value"))
        if len(values) == 1 and not values[0].open:
            frame.scope.assign(name, scalar(values[0].pieces))
            return
        choices = tuple(value.text for value in values if isinstance(value.text, str))
        frame.scope.assign(name, unknown(f"{name}@{node.start_byte}", choices=choices))

    def chain(self, node: Node, frame: Frame) -> None:
        """`a && b || c`: what stands behind a test may not run."""
        links: list[tuple[str, Node]] = []
        first = node
        while first.type == "list" and len(first.children) >= 3:
            links.append((first.children[1].type, first.children[-1]))
            first = first.children[0]
        self.statement(first, frame)
        self.follow(first, links[::-1], frame)

    def follow(self, first: Node, links: Sequence[tuple[str, Node]], frame: Frame) -> None:
        """Walk what stands behind `first`, which has been walked."""
        current = frame.scope.copy()
        skipped: list[Scope] = []
        previous = first
        # Whether what stands before succeeds; only told of the first, as what follows may not run at all.
        truth = decide(first, self.expander(frame))
        for operator, node in links:
            if frame.scope.ended:
                break
            if current.ended and not (operator == "||" and skipped):
                continue
            runs = truth if truth is None or operator == "&&" else not truth
            before, current = current, current.copy()
            if operator == "||" and skipped:
                # What stands behind `||` runs after any of those before it that fails.
                current.become([*skipped, before], str(node.start_byte))
                skipped = []
            self._maybe += 1
            self.statement(node, frame._replace(scope=current, idle=frame.idle or runs is False))
            self._maybe -= 1
            if runs is False:
                current = before
                continue
            if runs is None and operator == "||":
                after, current = current, before.copy()
                current.become([before, after], str(node.end_byte))
            elif runs is None and not succeeds(previous, frame.text):
                skipped.append(before)
            previous, truth = node, None
        if not frame.scope.ended:
            frame.scope.become([*skipped, current], str(first.end_byte))

    def pipeline(self, nodes: Sequence[Node], frame: Frame, redirects: Redirects = NOTHING) -> None:
        """Commands that each run in a shell of their own; redirects behind them belong to the last."""
        self.writes.printed = None
        for node in nodes[:-1]:
            self.statement(node, frame.apart())
        if nodes and redirects is not NOTHING:
            self.with_redirects(nodes[-1], redirects, frame.apart())
        elif nodes:
            self.statement(nodes[-1], frame.apart())
        self.writes.printed = None

    def define(self, node: Node, frame: Frame) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[frame.written(name)] = (frame.text, body, self._maybe > 0)

    # Assignments

    def expander(self, frame: Frame) -> Expander:
        def run(node: Node, text: Text, scope: Scope) -> list[Piece] | None:
            return self.substitution(node, frame._replace(text=text, scope=scope, top=False))

        return Expander(frame.text, frame.scope, self.source.path, run)

    def assignment(self, node: Node, frame: Frame) -> None:
        found = self.assigned(node, frame)
        if found is not None:
            frame.scope.assign(*found)

    def assigned(self, node: Node, frame: Frame) -> tuple[str, Value] | None:
        """The variable and the value of an assignment."""
        target = node.child_by_field_name("name")
        name = frame.written(target).partition("[")[0] if target is not None else ""
        if target is None or not name.isidentifier():
            return None
        if target.type == "subscript":
            return name, unknown(f"{name}@{node.start_byte}", many=True)
        expander = self.expander(frame)
        expander.own = name
        value = expander.value(node.child_by_field_name("value"))
        if any(child.type == "+=" for child in node.children):
            value = self.appended(name, value, frame, node)
        return name, value

    def appended(self, name: str, value: Value, frame: Frame, node: Node) -> Value:
        old = frame.scope.values.get(name)
        if old is None:
            symbol = f"${name}[@]" if value.array else f"${name}"
            old = unknown(symbol, frame.text.trail(*span_of(node)), many=value.array)
        if old.array or value.array:
            return Value((*old.items, *value.items), array=True)
        return scalar((*old.first, *value.first))

    def declaration(self, node: Node, frame: Frame) -> None:
        """`export A=1 B`, `local C=2`, `declare -x D`."""
        keyword = node.children[0].type
        words = [frame.written(child) for child in node.children if child.type == "word"]
        flags = "".join(text.lstrip("-") for text in words if text.startswith("-"))
        exports = not set("nf") & set(flags) if keyword == "export" else "x" in flags
        for child in node.children[1:]:
            found = self.assigned(child, frame) if child.type == "variable_assignment" else None
            name = found[0] if found is not None else frame.written(child)
            if child.type not in ("variable_assignment", "variable_name") or not name.isidentifier():
                continue
            if keyword in ("local", "declare", "typeset") and frame.saved is not None:
                frame.saved.setdefault(name, frame.scope.values.get(name))
            if found is not None:
                frame.scope.assign(*found)
            if exports:
                frame.scope.exported.add(name)

    def unset(self, node: Node, frame: Frame) -> None:
        for child in node.named_children:
            name = frame.written(child)
            if name.isidentifier():
                frame.scope.assign(name, scalar(()))

    # Commands

    def redirected(self, node: Node, frame: Frame) -> None:
        body = node.child_by_field_name("body")
        others = [child for child in node.children if child != body]
        self.with_redirects(body, read_redirects(others, self.expander(frame)), frame)

    def with_redirects(self, body: Node | None, redirects: Redirects, frame: Frame) -> None:
        """Walk a statement whose last command has some redirects."""
        if redirects.piped:
            # `cat <<EOF | tee file`: the grammar puts the rest of the pipeline below the heredoc.
            self.writes.printed = None
            self.with_redirects(body, redirects._replace(piped=()), frame.apart())
            for node in redirects.piped:
                for part in node.named_children:
                    self.statement(part, frame.apart())
            self.writes.printed = None
            return
        if body is None:
            self.writes.note((), (), redirects, frame.text, frame.scope)
        elif body.type == "command":
            self.command(body, frame, redirects)
        elif body.type == "list" and len(body.children) >= 3:
            self.last_of_list(body, redirects, frame)
        elif body.type == "pipeline":
            self.pipeline(body.named_children, frame, redirects)
        else:
            self.statement(body, frame)
            self.writes.note((), (), redirects, frame.text, frame.scope)
        if redirects.followed and body is not None:
            self.follow(body, redirects.followed, frame)

    def last_of_list(self, body: Node, redirects: Redirects, frame: Frame) -> None:
        """`a && b > file`: the redirect belongs to `b` alone."""
        self.statement(body.children[0], frame)
        after = frame.apart()
        self.with_redirects(body.children[-1], redirects, after)
        sure = body.children[1].type == "&&" and succeeds(body.children[0], frame.text)
        ways = [after.scope] if sure else [frame.scope.copy(), after.scope]
        frame.scope.become(ways, str(body.start_byte))

    def command(self, node: Node, frame: Frame, redirects: Redirects = NOTHING) -> None:
        prefix, arguments, own = parts_of(node)
        if own:
            redirects = read_redirects(own, self.expander(frame)).and_then(redirects)
        arguments = [*arguments, *redirects.arguments]
        settings = [found for found in (self.assigned(child, frame) for child in prefix) if found is not None]
        if settings and arguments and prefix[-1].end_byte == arguments[0].start_byte:
            # The grammar parts a value in two (`A='x'\$y`).
            name = settings[-1][0]
            settings[-1] = (name, unknown(f"{name}@{node.start_byte}"))
            arguments = arguments[1:]
        words = self.expander(frame).words(arguments)
        if words:
            self.perform(node, words, arguments, dict(settings), redirects, frame)
            return
        for name, value in settings:
            frame.scope.assign(name, value)
        self.writes.note((), (), redirects, frame.text, frame.scope)

    def perform(
        self,
        node: Node,
        words: list[Word],
        arguments: Sequence[Node],
        settings: dict[str, Value],
        redirects: Redirects,
        frame: Frame,
    ) -> None:
        trail = frame.text.trail(*span_of(node))
        start, end = trail[-1] if trail else (words[0].start, words[-1].end)
        command = Command(
            tuple(words),
            start,
            end,
            self.environment(frame.scope, settings),
            redirects.files,
            node.has_error or any(word.open for word in words),
            frame.outer,
            frame.job,
            frame.scope.folder,
            idle=frame.idle,
        )
        if frame.top and words[0].prefix.startswith("-") and self.cut_off(node, command, frame):
            return
        self.commands.append(command)
        self.writes.note(words, arguments, redirects, frame.text, frame.scope)
        self.effects(command, words, settings, redirects, frame)

    def cut_off(self, node: Node, command: Command, frame: Frame) -> bool:
        """Note a command that is the rest of the one before it, whose continuation is broken."""
        cause = cause_of_cut(frame.text.text, node.start_byte)
        if cause is None or not self.commands:
            return False
        kind, start, end = cause
        if kind == "missing-backslash" and not self.complete:
            # In broken syntax, lines are not what they seem.
            return False
        place = frame.text.trail(start, end)[-1]
        before = self.commands[-1]
        last = self.hints[-1] if before.lost and self.hints else None
        if last is not None and last.kind == kind and last.rest is not None:
            # The same command is broken in several places.
            self.hints[-1] = last._replace(rest=(last.rest[0], command.end), more=(*last.more, place))
        else:
            self.hints.append(Hint(kind, *place, (command.start, command.end)))
        self.commands[-1] = replace(before, open=True, lost=(*before.lost, *command.words))
        return True

    def environment(self, scope: Scope, settings: Mapping[str, Value]) -> dict[str, Word]:
        """The variables that a program sees, as words at the places where their values stand."""
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
        redirects: Redirects,
        frame: Frame,
    ) -> None:
        name = command.name
        scope = frame.scope
        if name in self._functions and words[0].text == name:
            self.call(name, words, settings, frame)
        elif name in ("cd", "pushd", "popd"):
            scope.folder = moved(name, words, scope)
        elif name in ("source", ".") and len(words) > 1:
            sourced(words[1], scope)
        elif name == "eval":
            self.evaluate(words[1:], frame)
        elif name in ("exit", "return"):
            scope.ended = "exit" if name == "exit" else "return"
        elif name in READERS:
            self.input(name, words, redirects, frame)
        elif name == "shift":
            shift(words, scope)
        elif name == "set":
            set_options(words, scope)
        elif name not in DECLARATIONS:
            self.start_scripts(words, settings, frame)
            if name == "exec" and len(words) > 1:
                scope.ended = "exit"
        if redirects.heredocs:
            self.fed_script(words, redirects, frame)

    def call(self, name: str, words: Sequence[Word], settings: Mapping[str, Value], frame: Frame) -> None:
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
        scope.arguments(words[1:], words[0].start)
        saved: dict[str, Value | None] = {key: scope.values.get(key) for key in settings}
        scope.values.update(settings)
        self._inside.add(inside)
        self.statement(body, frame._replace(text=text, saved=saved, top=frame.top and text.flat))
        self._inside.discard(inside)
        scope.positional, scope.shifts = outside
        if scope.ended == "return":
            scope.ended = ""
        scope.restore(saved)
        if uncertain:
            after = scope.copy()
            after.ended, scope.ended = scope.ended, ""
            scope.become([before, after], str(words[0].start))

    def evaluate(self, words: Sequence[Word], frame: Frame) -> None:
        """`eval "$cmd"`: the words' text is read as commands of this shell."""
        pieces = with_blanks(words)
        if any(isinstance(piece.text, str) and piece.text.strip() for piece in pieces):
            self.inner(frame._replace(text=Text(pieces), top=False))

    def input(self, name: str, words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
        """`read A B`: what it sets comes from outside, except from a heredoc."""
        names = read_into(name, words, frame.scope)
        if name == "read" and len(names) == 1 and redirects.heredocs:
            body = heredoc_pieces(redirects.heredocs[0], self.expander(frame))
            frame.scope.assign(names[0], scalar(body))

    # Scripts inside commands

    def inner(self, frame: Frame) -> None:
        """Walk a text that stands inside a command's arguments."""
        self._depth += 5
        if self._depth < DEEPEST:
            self.read(frame)
        else:
            self.complete = False
        self._depth -= 5

    def start_scripts(self, words: Sequence[Word], settings: Mapping[str, Value], frame: Frame) -> None:
        """`srun -n 2 bash -c "…"`, `ssh host "…"`, `sbatch --wrap "…"`: commands in an argument."""
        found = script_argument(words)
        if found is None:
            return
        outer, script = found
        if not any(isinstance(piece.text, str) for piece in script):
            return
        remote = bool(REMOTE & set(names_of(words[: len(outer) + 1])))
        scope = Scope() if remote else frame.scope.child()
        if remote:
            scope.folder = None
        scope.values.update(settings)
        scope.exported.update(settings)
        self.inner(Frame(Text(script), scope, (*frame.outer, *outer), frame.job, idle=frame.idle))

    def fed_script(self, words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
        """`bash <<EOF`, `sbatch <<EOF`, `cat > job.sh <<EOF`: the heredoc's lines are commands."""
        names = names_of(words)
        name = names[0] if isinstance(words[0].text, str) else None
        shell = next((index for index, text in enumerate(names) if text in SHELLS), None)
        run = name in SHELLS or name in BATCH or name == "ssh" or (name in WRAPPERS and shell is not None)
        targets = (*changed_files(words), *(to.target for to in redirects.files))
        written = name in ("cat", "tee") and any(SCRIPT_FILE.search(target.tail) for target in targets)
        if not run and not written:
            return
        text = Text(heredoc_pieces(redirects.heredocs[0], self.expander(frame)))
        own = read_job(text, self.source) if written or name in BATCH else None
        remote = bool(REMOTE & set(names))
        scope = Scope() if written or remote else frame.scope.child()
        scope.values.update(job_variables(own))
        scope.exported.update(scope.values)
        if remote:
            scope.folder = None
        outer: tuple[Word, ...] = () if written else frame.outer
        if run and shell:
            outer = (*outer, *words[:shell])
        job = own if own is not None or written else frame.job
        self.inner(Frame(text, scope, outer, job, idle=frame.idle))

    def substitution(self, node: Node, frame: Frame) -> list[Piece] | None:
        """Walk what stands in `$(…)`; what it prints is known for `cat <<EOF`, `echo` and `expr`."""
        inner = frame.apart()
        printed_before = self.writes.printed
        nodes = node.named_children
        self._depth += 1
        if self._depth < DEEPEST:
            self.statements(nodes, inner)
        self._depth -= 1
        self.writes.printed = printed_before
        return self.printed_by(nodes[0], inner) if len(nodes) == 1 else None

    def printed_by(self, node: Node, frame: Frame) -> list[Piece] | None:
        expander = self.expander(frame)
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            others = [child for child in node.children if child != body]
            plain = (
                len(others) == 1 and others[0].type == "heredoc_redirect" and others[0].named_child_count <= 3
            )
            if body is None or frame.written(body).strip() != "cat" or not plain:
                return None
            return without_line_ends(heredoc_pieces(others[0], expander))
        if node.type != "command":
            return None
        prefix, arguments, own = parts_of(node)
        name = frame.written(arguments[0]) if arguments else ""
        if name not in ("echo", "expr") or own or prefix:
            return None
        words = expander.words(arguments[1:])
        if any(word.open or word.prefix.startswith("-") for word in words):
            return None
        if name == "echo":
            return with_blanks(words)
        # `expr $NODES \* $GPUS`
        texts = [word.text for word in words if isinstance(word.text, str)]
        number = compute(" ".join(texts), lambda _: None) if len(texts) == len(words) else None
        return [Piece(str(number), ())] if number is not None else None


def is_walked(child: Node, loop: Node) -> bool:
    """A loop's body, and what a `while` asks before it."""
    if child.type in ("do_group", "compound_statement"):
        return True
    return loop.type == "while_statement" and child.is_named


def without_line_ends(pieces: list[Piece]) -> list[Piece]:
    """What `$(…)` leaves of a text: the line ends at its end go."""
    while pieces and isinstance(pieces[-1].text, str):
        left = pieces[-1].text.rstrip("\r\n")
        if left:
            pieces[-1] = pieces[-1].part(0, len(left))
            break
        pieces.pop()
    return pieces
