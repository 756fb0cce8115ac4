"""The protocol's messages → what the other modules do, and their answers back."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from dslint import __version__
from dslint.documents import json as json_documents
from dslint.documents.tree import Source
from dslint.launches.discover import KINDS
from dslint.launches.recognise import is_config, is_named
from dslint.rules.finding import Finding
from dslint.server import actions, completion, options
from dslint.server.buffers import Buffer, Buffers, path_of
from dslint.server.desk import Desk, Folder
from dslint.server.diagnostics import diagnostics
from dslint.server.hover import hover
from dslint.server.index import limit_of
from dslint.server.judge import Judgement
from dslint.server.links import links
from dslint.server.positions import Lines
from dslint.server.validating import Verdict, validate

VALIDATE: Final = "dslint.validate"

# What tells the top of a repository, where no workspace folder is given.
MARKS: Final = (".git", "dslint.toml", "pyproject.toml")

# Files whose changes on disk may make a judgement another: those that are read, and those with settings and pins.
WATCHED: Final = (
    "**/*.{" + ",".join(sorted({suffix[1:] for suffix in KINDS} | {"toml", "txt", "cfg", "lock"})) + "}",
    "**/{Makefile,Dockerfile,setup.py,.gitignore}",
)


class Protocol(LanguageServerProtocol):
    """pygls's own protocol, but for the texts, which dslint keeps itself (buffers.py says why)."""

    _server: Server

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.opened(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._server.changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.closed(params)


class Server(LanguageServer):
    """The open texts, the workspace's folders, and what was found in them."""

    def __init__(self) -> None:
        super().__init__("dslint", __version__, protocol_cls=Protocol)
        self.buffers = Buffers()
        self.folders: dict[str, Folder] = {}
        self.desk = Desk(self.buffers_in, self.publish, self.report)
        self.options = options.Options()
        # As given at the start; what the editor's settings say later goes over it.
        self.given: object = None
        self.troubles: set[str] = set()
        self.validating: set[asyncio.Task[Any]] = set()
        self.was_shut_down = False

    # Texts and folders

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        buffer = self.buffers.open(params.text_document)
        if buffer is not None:
            self.judge_again(buffer.path)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        buffer = self.buffers.change(params)
        if buffer is not None:
            self.desk.changed(self.folder_of(buffer.path))

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        buffer = self.buffers.close(params.text_document.uri)
        if buffer is not None:
            # What is wrong in it is told no longer, and the text on disk counts again.
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(buffer.uri, []))
            self.judge_again(buffer.path)

    def judge_again(self, path: str) -> None:
        """A file may be new to its folder's index, or be another on disk than it was."""
        folder = self.folder_of(path)
        folder.judge.forget()
        self.desk.changed(folder)

    def folder_of(self, path: str) -> Folder:
        """The innermost workspace folder that holds a file; without one, the top of its repository."""
        holding = [root for root in self.folders if is_below(path, root)]
        root = max(holding, key=len) if holding else top_of(path)
        return self.folder_at(root)

    def folder_at(self, root: str) -> Folder:
        if root not in self.folders:
            self.folders[root] = Folder(root)
            self.folders[root].judge.options = self.options
        return self.folders[root]

    def buffers_in(self, root: str) -> list[Buffer]:
        return [buffer for buffer in self.buffers if self.folder_of(buffer.path).root == root]

    def all_again(self) -> None:
        """Settings or files on disk have changed: everything that is open is judged anew."""
        for folder in list(self.folders.values()):
            folder.judge.forget()
            self.desk.changed(folder)

    def use(self, given: object) -> None:
        """Take the editor's settings."""
        self.options = options.over(options.read(self.given), options.read(given))
        for fault in self.options.faults:
            if fault not in self.troubles:
                self.say(fault, types.MessageType.Warning)
        self.troubles.update(self.options.faults)
        for folder in self.folders.values():
            folder.judge.options = self.options
        self.all_again()

    # What is told without being asked

    def publish(self, folder: Folder) -> None:
        judgement = folder.judgement
        assert judgement is not None
        lines: dict[int, Lines] = {}

        def lines_of(source: Source) -> Lines:
            if id(source) not in lines:
                lines[id(source)] = Lines(source.text, self.buffers.encoding)
            return lines[id(source)]

        def uri_of(source: Source) -> str:
            return self.buffers.uri_of(judgement.path(source))

        by_path: dict[str, list[Finding]] = {}
        for finding in judgement.findings:
            by_path.setdefault(judgement.path(finding.place.source), []).append(finding)
        for buffer in self.buffers_in(folder.root):
            judged = judgement.versions.get(buffer.path) == buffer.version
            findings = by_path.get(buffer.path, []) if judged else []
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(
                    buffer.uri, diagnostics(findings, lines_of, uri_of), buffer.version
                )
            )
        if judgement.trouble and judgement.trouble != folder.trouble:
            self.say(judgement.trouble, types.MessageType.Error)
        folder.trouble = judgement.trouble

    def report(self, error: Exception) -> None:
        """dslint itself failed: one line in the log, and the editor goes on."""
        text = f"internal error, {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        self.window_log_message(
            types.LogMessageParams(types.MessageType.Error, f"dslint: {text}; please report it with the file")
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        # What was asked of a text that has changed since is no failure.
        if not isinstance(error, JsonRpcContentModified):
            self.report(error)

    def say(self, text: str, kind: types.MessageType) -> None:
        self.window_show_message(types.ShowMessageParams(kind, f"dslint: {text}"))

    # What answers rest on

    async def judged(self, uri: str) -> tuple[Buffer, Folder, Judgement] | None:
        """A text with the judgement of just this version of it; None where it is not open, or changes meanwhile."""
        buffer = self.buffers.of(uri)
        if buffer is None:
            return None
        folder = self.folder_of(buffer.path)
        judgement = await self.desk.fresh(folder)
        if judgement is None or judgement.versions.get(buffer.path) != buffer.version:
            return None
        if self.buffers.of(uri) is not buffer:
            return None
        return buffer, folder, judgement

    def lines(self, buffer: Buffer) -> Lines:
        return buffer.lines(self.buffers.encoding)

    def workspace_edit(self, judgement: Judgement, edits: actions.Edits) -> types.WorkspaceEdit:
        """Edits with the versions that they are for, so that the editor refuses them for any other text."""
        changes: dict[str, list[types.TextEdit]] = {}
        versioned: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
        for path, wanted in edits.items():
            lines = Lines(wanted[0].source.text, self.buffers.encoding)
            texts = [types.TextEdit(lines.range(edit.start, edit.end), edit.content) for edit in wanted]
            uri = self.buffers.uri_of(path)
            changes[uri] = texts
            versioned.append(
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri, judgement.versions.get(path)),
                    list(texts),
                )
            )
        if self.can("workspace.workspaceEdit.documentChanges"):
            return types.WorkspaceEdit(document_changes=versioned)
        return types.WorkspaceEdit(changes=changes)

    def can(self, name: str) -> bool:
        """Does the client say that it can do something? `name` is the path of one of its capabilities."""
        here: Any = self.client_capabilities
        for part in name.split("."):
            here = getattr(here, snake(part), None)
            if here is None:
                return False
        return bool(here)

    def resolves(self, name: str) -> bool:
        """Does the client fetch a code action's edits when the action is chosen?"""
        wanted = self.client_capabilities.text_document
        support = getattr(getattr(wanted, "code_action", None), "resolve_support", None)
        return support is not None and name in support.properties


def snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def top_of(path: str) -> str:
    """The nearest folder above a file that looks like the top of a repository, else the file's own."""
    folder = here = os.path.dirname(path)
    while not any(os.path.exists(os.path.join(here, mark)) for mark in MARKS):
        parent = os.path.dirname(here)
        if parent == here:
            return folder if os.path.isdir(folder) else os.getcwd()
        here = parent
    return here


def make() -> Server:
    """A server that answers; nothing runs yet."""
    # pygls logs each refusal with a traceback; what matters is said to the editor.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = Server()
    add_lifecycle(server)
    add_actions(server)
    add_reading(server)
    return server


def add_lifecycle(server: Server) -> None:
    """Begin and end, settings, folders and files on disk."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.buffers.encoding = server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        uris = [folder.uri for folder in params.workspace_folders or []]
        roots = [path_of(uri) for uri in uris or [uri for uri in (params.root_uri,) if uri]]
        server.given = params.initialization_options
        server.options = options.read(server.given)
        for root in roots:
            if root is not None and os.path.isdir(root):
                server.folder_at(root)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.use(None)
        if server.can("workspace.didChangeWatchedFiles.dynamicRegistration"):
            await watch(server)
        if server.can("workspace.configuration"):
            await ask_for_settings(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        if server.can("workspace.configuration"):
            await ask_for_settings(server)
        else:
            server.use(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def refolded(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for gone in params.event.removed:
            server.folders.pop(path_of(gone.uri) or "", None)
        for new in params.event.added:
            path = path_of(new.uri)
            if path is not None and os.path.isdir(path):
                server.folder_at(path)
        for buffer in server.buffers:
            server.folder_of(buffer.path)
        server.all_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_disk(_: types.DidChangeWatchedFilesParams) -> None:
        server.all_again()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None and not server.can("workspace.didChangeWatchedFiles.dynamicRegistration"):
            server.judge_again(path)

    @server.feature(types.SHUTDOWN)
    def shut_down(_: None) -> None:
        server.was_shut_down = True
        for task in server.validating:
            task.cancel()
        server.desk.close(list(server.folders.values()))


async def watch(server: Server) -> None:
    watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
    registration = types.Registration(
        "dslint-files",
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        types.DidChangeWatchedFilesRegistrationOptions(watchers),
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        server.report(error)


async def ask_for_settings(server: Server) -> None:
    """The editor's settings under `dslint`; what is not set there may have been given at the start."""
    try:
        answer = await server.workspace_configuration_async(
            types.ConfigurationParams([types.ConfigurationItem(section="dslint")])
        )
    except JsonRpcException as error:
        server.report(error)
        return
    server.use(answer[0] if answer else None)


def add_actions(server: Server) -> None:
    """Fixes and ignores, and the command that validates."""

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            [types.CodeActionKind.QuickFix, actions.FIX_ALL],
            resolve_provider=True,
        ),
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        judged = await server.judged(params.text_document.uri)
        if judged is None:
            return None
        buffer, folder, judgement = judged
        only = params.context.only and [str(getattr(kind, "value", kind)) for kind in params.context.only]
        found: list[types.CodeAction] = []
        if actions.wanted(actions.QUICK, only):
            lines = server.lines(buffer)
            start, end = lines.offset(params.range.start), lines.offset(params.range.end)
            offers = await server.desk.work(folder, actions.quick_offers, judgement, buffer.path, start, end)
            found += [quick_action(server, judgement, offer, params.context.diagnostics) for offer in offers]
        if actions.wanted(actions.FIX_ALL, only) and actions.has_safe_fixes(judgement, buffer.path):
            action = types.CodeAction(
                "Fix all that dslint can mend safely",
                kind=actions.FIX_ALL,
                data={"uri": buffer.uri, "version": buffer.version},
            )
            # On save an editor asks for this kind alone, and may not fetch the edits afterwards.
            if only is not None or not server.resolves("edit"):
                edits = await server.desk.work(folder, actions.fix_all_edits, judgement, buffer.path)
                if not edits:
                    return found
                action.edit = server.workspace_edit(judgement, edits)
            found.append(action)
        return found if server.buffers.of(buffer.uri) is buffer else None

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        if action.edit is not None or "uri" not in data:
            return action
        judged = await server.judged(data["uri"])
        if judged is None or judged[0].version != data.get("version"):
            raise JsonRpcContentModified("the text has changed since; ask for the fixes again")
        buffer, folder, judgement = judged
        edits = await server.desk.work(folder, actions.fix_all_edits, judgement, buffer.path)
        if server.buffers.of(buffer.uri) is not buffer:
            raise JsonRpcContentModified("the text has changed since; ask for the fixes again")
        action.edit = server.workspace_edit(judgement, edits)
        return action

    @server.command(VALIDATE)
    async def run_validate(uri: str) -> dict[str, Any]:
        return (await validated(server, uri)).as_json()


def quick_action(
    server: Server, judgement: Judgement, offer: actions.Offer, asked: Sequence[types.Diagnostic]
) -> types.CodeAction:
    finding = offer.finding
    met = [
        one
        for one in asked
        if finding is not None and one.code == finding.code and one.message == finding.message
    ]
    return types.CodeAction(
        offer.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=met or None,
        is_preferred=True if offer.preferred else None,
        edit=server.workspace_edit(judgement, offer.edits),
    )


async def validated(server: Server, uri: str) -> Verdict:
    """Run `dslint validate` on a file, and show what came of it."""
    path = path_of(uri)
    if path is None or not os.path.isfile(path):
        verdict = Verdict("failed", f"{uri} is no file on disk; save it first")
    else:
        framework = server.options.values.get("framework")
        task = asyncio.get_running_loop().create_task(validate(path, framework))
        server.validating.add(task)
        try:
            verdict = await task
        finally:
            server.validating.discard(task)
            task.cancel()
    kind = types.MessageType.Info if verdict.ended == "accepted" else types.MessageType.Warning
    server.say(f"{os.path.basename(path or uri)}: {verdict.message}{unsaved(server, path)}", kind)
    return verdict


def unsaved(server: Server, path: str | None) -> str:
    """A word of warning where the editor's text is not the one that was validated."""
    buffer = None if path is None else server.buffers.at(path)
    if buffer is None:
        return ""
    try:
        with open(buffer.path, encoding="utf-8-sig", newline="") as file:
            same = file.read() == buffer.text.removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError):
        same = False
    return "" if same else " (of the file on disk; the text in the editor is not saved)"


def add_reading(server: Server) -> None:
    """Hover, completion, links and lenses."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        judged = await server.judged(params.text_document.uri)
        if judged is None:
            return None
        buffer, folder, judgement = judged
        lines = server.lines(buffer)
        told = await server.desk.work(folder, hover, judgement, buffer.path, lines.offset(params.position))
        if told is None:
            return None
        return types.Hover(
            types.MarkupContent(types.MarkupKind.Markdown, told.text), lines.range(told.start, told.end)
        )

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=['"', "'", ":"])
    )
    async def completed(params: types.CompletionParams) -> types.CompletionList | None:
        buffer = server.buffers.of(params.text_document.uri)
        if buffer is None or buffer.kind is None or len(buffer.text) > limit_of(buffer.kind):
            return None
        cursor = server.lines(buffer).offset(params.position)
        region = await region_at(server, buffer, cursor)
        if region is None:
            return None
        items = completion.complete(buffer.text, cursor, region)
        lines = server.lines(buffer)
        return types.CompletionList(
            False, [completion_item(item, lines, rank) for rank, item in enumerate(items)]
        )

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def linked(params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
        judged = await server.judged(params.text_document.uri)
        if judged is None:
            return None
        buffer, _, judgement = judged
        lines = server.lines(buffer)
        return [
            types.DocumentLink(
                lines.range(link.start, link.end),
                server.buffers.uri_of(link.target),
                "Open the DeepSpeed config",
            )
            for link in links(judgement, buffer.path)
        ]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(False))
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        judged = await server.judged(params.text_document.uri)
        if judged is None:
            return None
        buffer, _, judgement = judged
        launches = judgement.launches_at(buffer.path) if buffer.kind == "json" else []
        if not launches:
            return []
        place = server.lines(buffer).position(launches[0].config.root.start)
        command = types.Command("Validate on DeepSpeed", VALIDATE, arguments=[buffer.uri])
        return [types.CodeLens(types.Range(place, place), command)]


async def region_at(server: Server, buffer: Buffer, cursor: int) -> completion.Region | None:
    """The config that a cursor stands in: a file, or the part of a script or a program that was last seen as one."""
    folder = server.folder_of(buffer.path)
    if folder.judgement is None:
        await server.desk.fresh(folder)
    judgement = folder.judgement
    if judgement is None or buffer.path not in judgement.releases:
        return None
    launches = judgement.launches_at(buffer.path)
    if buffer.kind == "json":
        if not launches and not may_become_config(buffer):
            return None
        release = launches[0].release if launches else judgement.releases[buffer.path]
        framework = launches[0].framework if launches else judgement.job.context.framework
        return completion.Region(0, len(buffer.text), "json", release, framework)
    if judgement.versions.get(buffer.path) != buffer.version:
        fresh = await server.desk.fresh(folder)
        launches = [] if fresh is None else fresh.launches_at(buffer.path)
    for launch in launches:
        root = launch.config.root
        if root.start < cursor < root.end and launch.config.syntax in ("json", "python"):
            return completion.Region(
                root.start, root.end, launch.config.syntax, launch.release, launch.framework
            )
    return None


def may_become_config(buffer: Buffer) -> bool:
    """A new file is no config by its content yet, but may be one by its name."""
    return is_named(buffer.path) or is_config(json_documents.parse(Source(buffer.path, buffer.text)))


def completion_item(item: completion.Item, lines: Lines, rank: int) -> types.CompletionItem:
    kind = types.CompletionItemKind.Property if item.is_key else types.CompletionItemKind.Value
    return types.CompletionItem(
        item.label,
        kind=kind,
        detail=item.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, item.about),
        deprecated=True if item.deprecated else None,
        tags=[types.CompletionItemTag.Deprecated] if item.deprecated else None,
        # Those that the release would rather not have come last; else the schema's order stays.
        sort_text=f"{int(item.deprecated)}{rank:04}",
        filter_text=item.text.strip(),
        text_edit=types.TextEdit(lines.range(item.start, item.end), item.text),
    )
