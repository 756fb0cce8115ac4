"""A log of any length is read in constant memory, and its progress is told."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
from made_logs import START, diagnosed, names, realistic, steps

from dslint.diagnosis.diagnose import diagnose
from dslint.diagnosis.reading import read_blocks

ROOT = Path(__file__).parents[2]

LONG = """
import io, resource, sys
sys.path.insert(0, {root!r})
from dslint.diagnosis.diagnose import diagnose

BLOCK = b"".join(
    b"{{'loss': 1.%03d, 'grad_norm': 0.9, 'learning_rate': 1e-05, 'epoch': 0.1}}\\n"
    b"[rank%d]: UserWarning: something at 0x%x\\n" % (at % 1000, at % 8, at * 7919) for at in range(20_000)
)

class Log(io.RawIOBase):
    left = {megabytes} * 1_000_000 // len(BLOCK)
    def readable(self): return True
    def read(self, size=-1):
        self.left -= 1
        return BLOCK if self.left >= 0 else b""

diagnosis = diagnose(Log())
print(diagnosis.bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def memory_for(megabytes: int) -> tuple[int, int]:
    """The bytes that were read, and the process's peak in MiB."""
    code = LONG.format(root=str(ROOT), megabytes=megabytes)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    read, peak = map(int, done.stdout.split())
    return read, peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log():
    _, small = memory_for(4)
    read, large = memory_for(160)
    assert read > 150_000_000
    assert large < small + 12


def test_a_message_at_any_distance_from_the_edge_of_a_block_is_found():
    message = "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled\n"
    filler = steps(1, 12_000)
    assert len(filler) > 1 << 20
    for cut in range((1 << 20) - 400, (1 << 20) + 100, 37):
        log = filler[:cut].rpartition("\n")[0] + "\n" + message + filler[:50_000]
        diagnosis = diagnosed(log)
        assert names(diagnosis) == ["both-precisions-on"]
        assert log.split("\n")[diagnosis.causes[0].evidence.line - 1] + "\n" == message


def test_progress_counts_the_bytes_of_the_file():
    log = gzip.compress((START + steps(1, 2000)).encode())
    told: list[int] = []
    diagnose(io.BytesIO(log), progress=told.append)
    assert sum(told) == len(log)


def test_a_pipe_that_gives_a_little_at_a_time():
    log = realistic("AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled").encode()

    class Drip(io.RawIOBase):
        at = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            piece = log[self.at : self.at + 97]
            self.at += len(piece)
            buffer[: len(piece)] = piece
            return len(piece)

    assert names(diagnose(io.BufferedReader(Drip()))) == ["both-precisions-on"]


def test_blocks_are_what_the_log_holds():
    data = bytes(range(256)) * 10_000
    assert b"".join(read_blocks(io.BytesIO(data))) == data
    assert b"".join(read_blocks(io.BytesIO(gzip.compress(data)))) == data
    assert b"".join(read_blocks(io.BytesIO(b""))) == b""


def test_lines_are_counted_as_editors_count_them():
    assert diagnosed(START).lines == START.count("\n")
    assert diagnosed("one\ntwo").lines == 2
    assert diagnosed("").lines == 0
