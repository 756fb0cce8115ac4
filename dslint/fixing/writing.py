"""Files ↔ texts: nothing that is read hangs or is guessed at, nothing that is written leaves half a file."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Final

from dslint.documents.tree import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BYTES: Final = 64 * 1024 * 1024
READ_AGAIN: Final = 5
"""How often a file is read that changes meanwhile."""

SUFFIX: Final = ".dslint"

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


class Unreadable(Exception):
    """A file that no text can be had of; the message is one sentence that names it."""


class Unwritable(Exception):
    """A file that was left as it was; the message is one sentence that names it."""


def read(path: str | os.PathLike[str], shown: str) -> Source:
    """The text of a file, its line ends and byte order mark kept. `shown` is the path as messages name it.

    Raises:
        Unreadable: it is missing, no regular file, closed to this user, above MAX_BYTES, or no UTF-8 text.
    """
    return Source(shown, decode(_read_bytes(path, shown), shown))


def _read_bytes(path: str | os.PathLike[str], shown: str) -> bytes:
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        _check(os.stat(path), shown)
        for _ in range(READ_AGAIN):
            descriptor = os.open(path, flags)
            with open(descriptor, "rb") as file:
                before = os.fstat(descriptor)
                _check(before, shown)
                data = file.read(MAX_BYTES + 1)
                after = os.fstat(descriptor)
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                break
        else:
            raise Unreadable(f"{shown} cannot be read: it is being written all the time")
    except (OSError, ValueError) as error:
        raise Unreadable(f"{shown} cannot be read: {_reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise Unreadable(_too_big(shown))
    return data


def _check(status: os.stat_result, shown: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable(f"{shown} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{shown} is no regular file (a pipe, a socket or a device)")
    if status.st_size > MAX_BYTES:
        raise Unreadable(_too_big(shown))


def _too_big(shown: str) -> str:
    return f"{shown} is larger than {MAX_BYTES // 1024 // 1024} MB, which no config is"


def decode(data: bytes, shown: str) -> str:
    if data.startswith(_UTF16):
        raise Unreadable(f"{shown} is UTF-16 text; save it as UTF-8, as the loaders read it")
    if b"\0" in data:
        raise Unreadable(f"{shown} is no text: it has a NUL byte at offset {data.index(0)}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise Unreadable(
            f"{shown} is no UTF-8 text: byte 0x{byte:02x} in row {row} (offset {error.start})"
        ) from None


def write(path: str | os.PathLike[str], old_text: str, new_text: str) -> None:
    """Replace a file's text in one step: whoever reads it sees the old text or the new one, never a part.

    Mode, owner and extended attributes stay; of a symbolic link, the file that it names is replaced. Of two dslint that
    write one file, the second finds it changed.

    Raises:
        Unwritable: the file no longer holds `old_text`, has another name (a hard link, which a replacement would part
            from it), or the system refused a step; the file is as it was.
    """
    # Imported here: a run that writes nothing needs no locks.
    from dslint.fixing.locking import locked

    shown = os.fspath(path)
    old = old_text.encode("utf-8")

    def check() -> None:
        if _read_bytes(target, shown) != old:
            raise Unwritable(f"{shown} was not written: it has changed since it was read")

    try:
        target = resolved(path)
        with locked(target):
            check()
            if not os.access(target, os.W_OK):
                raise Unwritable(f"{shown} was not written: it is read-only")
            links = target.stat().st_nlink
            if links > 1:
                raise Unwritable(
                    f"{shown} was not written: it has {links} names (hard links), and a new file in its place would have "
                    f"one; make it a file of its own first (cp {shown} new && mv new {shown})"
                )
            _replace(target, new_text.encode("utf-8"), check)
    except Unreadable as error:
        raise Unwritable(f"{shown} was not written: {error}") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise Unwritable(f"{shown} was not written: {_reason(error)}") from None


def resolved(path: str | os.PathLike[str]) -> Path:
    """The file that a link leads to."""
    # Imported here: reading needs none of it.
    from pathlib import Path

    return Path(path).resolve(strict=True)


def _replace(target: Path, data: bytes, check: Callable[[], None]) -> None:
    """`check` is asked once more in front of the last step: nothing that came meanwhile is to be lost."""
    # Imported here: a run that writes nothing needs no temporary files.
    from tempfile import mkstemp

    status = target.stat()
    prefix = f".{target.name[:100]}."
    _remove_leftovers(target.parent, prefix)
    descriptor, name = mkstemp(prefix=prefix, suffix=SUFFIX, dir=target.parent)
    temporary = target.parent / os.path.basename(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _take_after(descriptor, temporary, status)
            _take_attributes(target, temporary)
            os.fsync(descriptor)
        check()
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _take_after(descriptor: int, temporary: Path, status: os.stat_result) -> None:
    """Owner first: changing it clears the set-user-id bit. Another owner's file is not taken over silently."""
    if hasattr(os, "fchown"):
        mine = os.fstat(descriptor)
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    temporary.chmod(stat.S_IMODE(status.st_mode))


def _take_attributes(target: Path, temporary: Path) -> None:
    """Extended attributes, access lists among them, where the system has them and lets them be set."""
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(target):
            os.setxattr(temporary, name, os.getxattr(target, name))
    except OSError:
        pass


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """What a run that was killed left of this file. Whoever writes it holds its lock, so nobody is at work on these."""
    made = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}" + re.escape(SUFFIX))
    for entry in os.scandir(folder):
        if made.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            os.unlink(entry.path)


def _sync_folder(folder: Path) -> None:
    """Make the new name last. Some file systems cannot; the data is in place all the same."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    """What the system said, without its number and path."""
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error) or type(error).__name__).lower()
