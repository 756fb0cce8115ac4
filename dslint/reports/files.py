"""Texts that dslint makes → files, each replaced in one step."""

from __future__ import annotations

import os
import stat


def write_whole(path: str, text: str) -> None:
    """Writes a text as UTF-8: whoever reads the file sees the old text or the new one, never a part.

    A link's target is written; a pipe or a device is written to as it stands.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    # Imported here: most runs write no file.
    from tempfile import mkstemp

    data = text.encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    mode = mode_of(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            file.write(data)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "it is read-only", path)
    descriptor, temporary = mkstemp(prefix=".dslint-", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, usual_mode() if mode is None else stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def usual_mode() -> int:
    """What a new file may be used for, by this process's umask."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
