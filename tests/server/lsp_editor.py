"""A small editor: speaks the protocol with `dslint server` in a process of its own, and waits for messages, never for time."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

# Seconds to wait for a message before the test has failed; a loaded machine needs some.
PATIENCE = 120.0


class Silence(AssertionError):
    """The server did not say what was waited for."""


class Editor:
    """One session. `texts` are the open documents by name, at the version that they have."""

    def __init__(self, folder: Path, encodings: list[str] | None = None, **capabilities: Any) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.notices: list[dict[str, Any]] = []
        self.settings: Any = None
        self._number = 0
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dslint.cli.main", "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "DSLINT_DEBUG": "1"},
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._said = bytearray()
        threading.Thread(target=self._read_stderr, daemon=True).start()
        self.capabilities = {
            "general": {"positionEncodings": encodings or ["utf-16"]},
            "workspace": {
                "workspaceEdit": {"documentChanges": True},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
                **capabilities.pop("workspace", {}),
            },
            "textDocument": capabilities.pop("textDocument", {}),
        }
        self.folders = capabilities.pop("folders", True)
        self.options = capabilities.pop("options", None)
        self.greeting: dict[str, Any] = {}

    def start(self) -> dict[str, Any]:
        answer = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": self.folder.as_uri() if self.folders else None,
                "workspaceFolders": [{"uri": self.folder.as_uri(), "name": "test"}] if self.folders else None,
                "capabilities": self.capabilities,
                "initializationOptions": self.options,
            },
        )
        self.tell("initialized", {})
        return answer

    # What an editor does

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None, language: str = "json") -> None:
        if text is None:
            text = (self.folder / name).read_bytes().decode("utf-8")
        self.texts[name], self.versions[name] = text, 1
        item = {"uri": self.uri(name), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def change(self, name: str, *changes: dict[str, Any]) -> None:
        self.versions[name] += 1
        document = {"uri": self.uri(name), "version": self.versions[name]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def write(self, name: str, text: str) -> None:
        """Replace the whole text in the editor."""
        self.texts[name] = text
        self.change(name, {"text": text})

    def save(self, name: str) -> None:
        (self.folder / name).write_bytes(self.texts[name].encode("utf-8"))
        self.tell("textDocument/didSave", {"textDocument": {"uri": self.uri(name)}})

    def close(self, name: str) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def diagnostics(self, name: str) -> list[dict[str, Any]]:
        """The diagnostics for the document's version as it is now."""
        version = self.versions[name]
        message = self.wait(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == self.uri(name)
                and m["params"].get("version") == version
            ),
            f"diagnostics of {name} at version {version}",
        )
        return list(message["params"]["diagnostics"])

    def codes(self, name: str) -> list[str]:
        return [one["code"] for one in self.diagnostics(name)]

    def actions(
        self, name: str, where: dict[str, Any], only: list[str] | None = None
    ) -> list[dict[str, Any]]:
        context: dict[str, Any] = {"diagnostics": []}
        if only is not None:
            context["only"] = only
        return self.at("textDocument/codeAction", name, range=where, context=context) or []

    def at(self, method: str, name: str, **more: Any) -> Any:
        return self.ask(method, {"textDocument": {"uri": self.uri(name)}, **more})

    def apply(self, edit: dict[str, Any]) -> None:
        """Make the edits of a workspace edit, as an editor does: only where the version is the one that is open."""
        for change in edit["documentChanges"]:
            document = change["textDocument"]
            name = next(name for name in self.texts if self.uri(name) == document["uri"])
            if document["version"] != self.versions[name]:
                raise AssertionError(f"an edit for version {document['version']} of {name}")
            self.write(name, edited(self.texts[name], change["edits"]))

    def stop(self) -> int:
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    # The protocol

    def ask(self, method: str, params: Any) -> Any:
        number = self.send_request(method, params)
        answer = self.wait(lambda m: m.get("id") == number and "method" not in m, f"an answer to {method}")
        if "error" in answer:
            raise Refusal(answer["error"])
        return answer.get("result")

    def send_request(self, method: str, params: Any) -> int:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait(self, fits: Any, what: str) -> dict[str, Any]:
        for index, message in enumerate(self.notices):
            if fits(message):
                return self.notices.pop(index)
        while True:
            try:
                message = self._inbox.get(timeout=PATIENCE)
            except queue.Empty:
                raise Silence(f"{what} did not come in {PATIENCE:.0f} s; {self.said()}") from None
            if message is None:
                raise Silence(f"the server ended before {what} came; {self.said()}")
            if "method" in message and "id" in message:
                self._answer(message)
            if fits(message):
                return message
            self.notices.append(message)

    def said(self) -> str:
        return f"it said on stderr: {bytes(self._said).decode('utf-8', 'replace')[-2000:]!r}; {self.notices[-5:]}"

    def _answer(self, request: dict[str, Any]) -> None:
        result = [self.settings] if request["method"] == "workspace/configuration" else None
        self._send({"id": request["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode("utf-8")
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (header := stream.readline()) not in (b"\r\n", b""):
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            if not header:
                self._inbox.put(None)
                return
            self._inbox.put(json.loads(stream.read(length)))

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said += line


class Refusal(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits in UTF-16 positions, all of which count from the old text."""
    spans = [
        (offset(text, e["range"]["start"]), offset(text, e["range"]["end"]), e["newText"]) for e in edits
    ]
    for start, end, new in sorted(spans, key=lambda span: span[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def offset(text: str, position: dict[str, int]) -> int:
    rows = split(text)
    row = rows[position["line"]]
    units = row[1].encode("utf-16-le")[: 2 * position["character"]]
    return row[0] + len(units.decode("utf-16-le"))


def split(text: str) -> list[tuple[int, str]]:
    """Every row with the offset at which it begins."""
    found, start, index = [], 0, 0
    while index <= len(text):
        if index == len(text):
            found.append((start, text[start:index]))
            break
        if text[index] in "\r\n":
            found.append((start, text[start:index]))
            index += 2 if text.startswith("\r\n", index) else 1
            start = index
        else:
            index += 1
    return found


def position(text: str, at: int) -> dict[str, int]:
    """The UTF-16 position of an offset."""
    number = max(index for index, (start, _) in enumerate(split(text)) if start <= at)
    start = split(text)[number][0]
    return {"line": number, "character": len(text[start:at].encode("utf-16-le")) // 2}


def span(text: str, part: str) -> dict[str, Any]:
    """The range of the first occurrence of a part."""
    start = text.index(part)
    return {"start": position(text, start), "end": position(text, start + len(part))}
