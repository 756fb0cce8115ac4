"""A log as a stream of blocks of bytes: plain or gzip, UTF-8 or UTF-16, a file or a pipe, in constant memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

BLOCK: Final = 1 << 20
LONGEST_MARK: Final = 3
_GZIP: Final = b"\x1f\x8b"
_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class LogError(Exception):
    """The log cannot be read; the sentence says why."""


def read_blocks(stream: BinaryIO, progress: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """The text of a log in blocks of UTF-8 bytes (damaged characters as they are).

    `progress` is told how many raw bytes were read. What a gzip file says is unpacked; one that ends too early, as of a
    job that still writes, ends there without complaint. Raises LogError when nothing of it can be unpacked.
    """
    raw = _raw_blocks(stream, progress)
    first = _start(raw)
    if first[:2] == _GZIP:
        raw = _unpack(first, raw)
        first = _start(raw)
    encoding = _UTF16.get(first[:2])
    if encoding:
        yield from _as_utf8(first[2:], raw, encoding)
        return
    if first.startswith(b"\xef\xbb\xbf"):
        first = first[3:]
    yield first
    yield from raw


def _start(blocks: Iterator[bytes]) -> bytes:
    """The first blocks, as many as tell a gzip file and a byte order mark: a pipe may begin with a single byte."""
    first = b""
    while len(first) < LONGEST_MARK and (block := next(blocks, b"")):
        first += block
    return first


def _raw_blocks(stream: BinaryIO, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    # A pipe gives what it has, so a short read is no end.
    read = getattr(stream, "read1", stream.read)
    while block := read(BLOCK):
        if progress:
            progress(len(block))
        yield block


def _unpack(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    got_any = False
    pending = first
    while True:
        try:
            # Bounded: a small block of gzip may unpack into gigabytes.
            text = unpacker.decompress(pending, BLOCK)
        except zlib.error as error:
            if got_any:
                return
            raise LogError(f"it begins like a gzip file and cannot be unpacked ({error})") from error
        if text:
            got_any = True
            yield text
        if unpacker.eof:
            pending = unpacker.unused_data
            while len(pending) < len(_GZIP) and (block := next(rest, b"")):
                pending += block
            if not pending.startswith(_GZIP):
                return
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif unpacker.unconsumed_tail:
            pending = unpacker.unconsumed_tail
        else:
            pending = next(rest, b"")
            if not pending:
                return


def _as_utf8(first: bytes, rest: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for block in rest:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
