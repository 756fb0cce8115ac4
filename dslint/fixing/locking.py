"""One dslint at a time writes a file. The lock is on the file itself, so it leaves nothing behind, even when killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl: Any = None  # type: ignore[no-redef]  # Windows: there a file that is open cannot be replaced.

PATIENCE: Final = 10.0
"""Seconds to wait for another writer: a write takes milliseconds."""
PAUSE: Final = 0.01


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of the file that has this path now; where there are no locks, hold nothing.

    Raises:
        OSError: the file can't be opened, or another program keeps its lock.
    """
    descriptor = acquired(target) if fcntl is not None else None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def acquired(target: Path) -> int:
    """An open, locked descriptor of the file; a file that was replaced while its lock was awaited is another file."""
    end = time.monotonic() + PATIENCE
    while True:
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not is_busy(descriptor) and os.path.samestat(os.fstat(descriptor), os.stat(target)):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > end:
            raise OSError("another program keeps it locked")
        time.sleep(PAUSE)


def is_busy(descriptor: int) -> bool:
    """Try to take the lock. A file system without locks has none to wait for."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
