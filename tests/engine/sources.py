"""Fetch the DeepSpeed releases beside the installed one that some rule needs to be proven: python tests/engine/sources.py FOLDER.

Rules about older releases can't be shown on the newest. Their sources are unpacked to FOLDER/deepspeed-X.Y.Z, where they are
imported from without a build; DSLINT_SDISTS=FOLDER lets the tests find them. What is there already is not fetched again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Older ones are not importable without a build.
OLDEST = (0, 14, 5)


def wanted(installed: str) -> list[str]:
    """A few releases that together show at least one claim of each rule that the installed one can't show."""
    from dslint.engine.proof import proofs
    from dslint.rules.compile import rule_files

    shown: dict[str, set[str]] = {}
    for _, rule in rule_files(str(ROOT / "rules")):
        for proof in proofs(rule):
            if proof.unshown is None and proof.side == "bad":
                shown.setdefault(rule.name, set()).add(proof.release)
    return sorted(fewest(releases for releases in shown.values() if installed not in releases))


def fewest(sets: Iterable[set[str]]) -> Iterator[str]:
    """Releases that meet every set that can be met, the one that most ask for first."""
    left = [{release for release in one if new_enough(release)} for one in sets]
    left = [one for one in left if one]
    while left:
        release = max(
            sorted(Counter(release for one in left for release in one).items()), key=lambda c: c[1]
        )[0]
        yield release
        left = [one for one in left if release not in one]


def new_enough(release: str) -> bool:
    return tuple(map(int, release.split("."))) >= OLDEST


def fetch(release: str, folder: Path) -> None:
    """Raises CalledProcessError where pip finds no such source."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        command += [
            "--no-binary",
            ":all:",
            "--no-build-isolation",
            "--dest",
            scratch,
            f"deepspeed=={release}",
        ]
        subprocess.run(command, env={**os.environ, "DS_BUILD_OPS": "0"}, check=True)
        (archive,) = Path(scratch).glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder)


def main(folder: Path) -> None:
    import importlib.metadata

    folder.mkdir(parents=True, exist_ok=True)
    for release in wanted(importlib.metadata.version("deepspeed")):
        if not (folder / f"deepspeed-{release}").is_dir():
            print(f"DeepSpeed {release}, for rules that the newest can't show", flush=True)
            fetch(release, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
