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


def folder_of(release: str) -> Path:
    """Where the unpacked source of a release would lie."""
    return Path(SDISTS or "nowhere") / f"deepspeed-{release}"


def is_here(release: str) -> bool:
    """Is a release installed, or its source there and importable without a build (0.14.5 and newer)?"""
    new_enough = tuple(map(int, release.split("."))) >= (0, 14, 5)
    return release == INSTALLED or (new_enough and folder_of(release).is_dir())


class Engines:
    """Verdicts on demand: every selected proof is handed over at once, so that none waits for another's test."""

    def __init__(self, proofs: list[Proof]) -> None:
        self.pools: dict[str, Pool] = {}
        self.futures: dict[str, Future[Verdict]] = {}
        for proof in proofs:
            if INSTALLED is not None and proof.unshown is None and is_here(proof.release):
                self.futures[proof.name] = self.pool(proof.release).submit(proof.run)

    def pool(self, release: str) -> Pool:
        if release not in self.pools:
            self.pools[release] = Pool(None if release == INSTALLED else folder_of(release))
        return self.pools[release]

    def verdict(self, proof: Proof) -> Verdict:
        if INSTALLED is None:
            pytest.skip("deepspeed is not installed here, so nothing was shown on the real engine")
        if proof.unshown is not None:
            pytest.skip(f"not shown on a CPU: {proof.unshown}")
        if proof.name not in self.futures:
            pytest.skip(
                f"DeepSpeed {proof.release} is not here; DSLINT_SDISTS names the folder of its source"
            )
        return self.futures[proof.name].result()

    def close(self) -> None:
        for pool in self.pools.values():
            pool.close()
