"""When to judge: a little after the last change, one folder at a time, and never for texts that have changed since."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from dslint.server.buffers import Buffer
from dslint.server.judge import Judge, Judgement, Stale

T = TypeVar("T")

# Seconds without a change before the texts are judged.
PAUSE: Final = 0.2


class Folder:
    """A workspace folder at work: `generation` counts the changes that may make its judgement another."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.judge = Judge(root)
        self.generation = 0
        self.judgement: Judgement | None = None
        # What was last said of settings that could not be used.
        self.trouble = ""
        self.task: asyncio.Task[None] | None = None
        self.hurry = asyncio.Event()

    @property
    def is_fresh(self) -> bool:
        return self.judgement is not None and self.judgement.generation == self.generation


class Desk:
    """Puts folders' judgements off until typing pauses, and tells of each through `done` or `failed`.

    All that dslint works out runs in one thread, so that no two runs meet and the editor is answered meanwhile.
    """

    def __init__(
        self,
        buffers: Callable[[str], list[Buffer]],
        done: Callable[[Folder], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._buffers = buffers
        self._done = done
        self._failed = failed
        self._thread = ThreadPoolExecutor(1, "dslint")

    def changed(self, folder: Folder) -> None:
        """Something that a judgement rests on has changed: what is under way is stale, and another is due."""
        folder.generation += 1
        if folder.task is not None:
            folder.task.cancel()
        folder.hurry = asyncio.Event()
        folder.task = asyncio.get_running_loop().create_task(self._later(folder))

    async def fresh(self, folder: Folder) -> Judgement | None:
        """The judgement of the texts as they are now, without the pause; None when they change while it is made."""
        generation = folder.generation
        task = folder.task
        if not folder.is_fresh and task is not None:
            folder.hurry.set()
            await asyncio.wait([task])
        return folder.judgement if folder.is_fresh and folder.generation == generation else None

    async def work(self, folder: Folder, job: Callable[..., T], *arguments: Any) -> T:
        """Run something in dslint's thread, with the folder as the working directory."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, at_home, folder.root, job, arguments)

    async def _later(self, folder: Folder) -> None:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(folder.hurry.wait(), PAUSE)
        generation = folder.generation
        buffers = self._buffers(folder.root)
        try:
            judgement = await self.work(
                folder, folder.judge.judge, buffers, generation, lambda: folder.generation != generation
            )
        except Stale:
            return
        except Exception as error:
            self._failed(error)
            return
        if folder.generation == generation:
            folder.judgement = judgement
            self._done(folder)

    def close(self, folders: list[Folder]) -> None:
        """Nothing more is judged; what is under way is given up."""
        for folder in folders:
            folder.generation += 1
            if folder.task is not None:
                folder.task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def at_home(root: str, job: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    os.chdir(root)
    return job(*arguments)
