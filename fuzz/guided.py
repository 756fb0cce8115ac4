"""One target under atheris, in a process of its own: libFuzzer ends the process that it runs in."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import atheris

from fuzz.mutate import mutate


def main(name: str, seconds: int, work: str, findings: str, most: int) -> None:
    """Fuzz a target; what came of it stands in `findings`/NAME.json, and in libFuzzer's own words on standard error."""
    with atheris.instrument_imports(include=["dslint"]):
        from fuzz.targets import target

        chosen = target(name)
        # Also what the target would import at its first input.
        prepare(chosen)
    from fuzz.findings import Recorder

    record = Recorder(name, chosen, Path(findings), Path(findings) / f"{name}.json")
    words = [word.encode() for word in chosen.WORDS]
    others = list(chosen.seeds())
    structured = getattr(chosen, "mutated", None)

    def custom(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if structured is not None:
            made = structured(bytes(data), chance)
            if made is not None and len(made) <= size:
                return bytes(made)
        if chance.random() < 0.5:
            return mutate(bytes(data), others, words, chance, size)
        return bytes(atheris.Mutate(data, size))

    options = [
        f"-max_total_time={seconds}", f"-max_len={most}", "-print_final_stats=1", "-rss_limit_mb=3000",
        "-timeout=120", f"-artifact_prefix={findings}/{name}-stopped-", "-len_control=0", "-reload=0",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, work], record, custom_mutator=custom)
    atheris.Fuzz()


def prepare(chosen: object) -> None:
    """Run some seeds, so that every module that is imported late is imported while imports are instrumented."""
    for number, data in enumerate(chosen.seeds()):  # type: ignore[attr-defined]
        if number % 7 == 0:
            try:
                chosen.one(data)  # type: ignore[attr-defined]
            except Exception:
                continue  # It is found again, and told, when fuzzing begins.


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
