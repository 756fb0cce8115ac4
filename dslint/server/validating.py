"""`dslint validate` on a config, in a process of its own, when somebody asks for it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple


class Verdict(NamedTuple):
    """What the engine says of a config: accepted, refused or died by its own word; `failed` where it could not be asked."""

    ended: str
    message: str

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


async def validate(path: str, framework: str | None) -> Verdict:
    """The verdict on a config as it lies on disk. The process ends when nobody waits for it any more."""
    options = [] if framework in (None, "lightning") else ["--framework", str(framework)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "dslint.cli.main", "validate", path, "--format", "json", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=os.path.dirname(path),
    )
    try:
        out, error = await process.communicate()
    except asyncio.CancelledError:
        # SIGTERM, on which validate ends the processes that it has started.
        process.terminate()
        await process.wait()
        raise
    return verdict_of(out.decode("utf-8", "replace"), error.decode("utf-8", "replace"))


def verdict_of(out: str, error: str) -> Verdict:
    """The verdict in a report; without one, the last line that was said on standard error."""
    try:
        report = json.loads(out)[0]
        return Verdict(str(report["ended"]), f"{report['headline']}{reason(report)}")
    except (ValueError, LookupError, TypeError):
        said = [line.strip() for line in error.splitlines() if line.strip()]
        return Verdict(
            "failed", said[-1].removeprefix("dslint: ") if said else "dslint validate said nothing"
        )


def reason(report: Mapping[str, Any]) -> str:
    """Why, in a line: the findings that explain the error, else the error's own beginning."""
    found = [f"{one['message']} ({one['code']})" for one in report.get("explained_by") or ()]
    if not found and report.get("error"):
        found = [" ".join(str(report["error"]["message"]).split())[:300]]
    return f": {'; '.join(found)}" if found else ""
