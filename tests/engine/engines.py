"""The real engine, one forking process for each release that the selected tests ask for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from concurrent.futures import Future
from pathlib import Path

import pytest

from dslint.engine.pool import Pool
from dslint.engine.proof import Proof
from dslint.engine.verdict import Verdict


def installed() -> str | None:
    """The deepspeed that this interpreter would import, as a version; None when there is none."""
    if importlib.util.find_spec("deepspeed") is None or importlib.util.find_spec("torch") is None:
        return None
    return importlib.metadata.version("deepspeed")


INSTALLED = installed()
SDISTS = os.environ.get("DSLINT_SDISTS")
# Seconds for one run; a busy machine takes many times what a quiet one does.
LIMIT = 300.0


def folder_of(release: str) -> Path:
    """Where the unpacked source of a release would lie."""
    return Path(SDISTS or "nowhere") / f"deepspeed-{release}"


def is_here(release: str) -> bool:
    """Is a release installed, or its source there and importable without a build (0.14.5 and newer)?"""
    new_enough = tuple(map(int, release.split("."))) >= (0, 14, 5)
    return release == INSTALLED or (new_enough and folder_of(release).is_dir())


class Engines:
    """Verdicts on demand. One release's process lives at a time, and is handed all that is selected for it at once.

    Tests in the order of `by_release` start each release once.
    """

    def __init__(self, proofs: list[Proof]) -> None:
        self._proofs = [proof for proof in proofs if proof.unshown is None]
        self._release: str | None = None
        self._pool: Pool | None = None
        self._futures: dict[str, Future[Verdict]] = {}

    def verdict(self, proof: Proof) -> Verdict:
        if INSTALLED is None:
            pytest.skip("deepspeed is not installed here, so nothing was shown on the real engine")
        if proof.unshown is not None:
            pytest.skip(f"not shown on a CPU: {proof.unshown}")
        if not is_here(proof.release):
            pytest.skip(
                f"DeepSpeed {proof.release} is not here; DSLINT_SDISTS names the folder of its source"
            )
        if proof.release != self._release:
            self._start(proof.release)
        return self._futures[proof.name].result()

    def _start(self, release: str) -> None:
        self.close()
        self._release = release
        self._pool = Pool(None if release == INSTALLED else folder_of(release))
        self._futures = {
            proof.name: self._pool.submit(proof.run._replace(limit=LIMIT))
            for proof in self._proofs
            if proof.release == release
        }

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._pool = self._release = None


def by_release(proof: Proof) -> tuple[bool, str]:
    """An order of proofs: the installed release first."""
    return proof.release != INSTALLED, proof.release
