"""One set of engines for all tests of a session, and the proofs in an order in which each release is started once."""

from __future__ import annotations

from typing import Any

import pytest
from engines import Engines, by_release
from proving import tell_proofs


@pytest.fixture(scope="session")
def engines(request):
    made = Engines([proof_of(item) for item in request.session.items if proof_of(item) is not None])
    yield made
    made.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = [place for place, item in enumerate(items) if proof_of(item) is not None]
    ordered = sorted((items[place] for place in places), key=lambda item: by_release(proof_of(item)))
    for place, item in zip(places, ordered, strict=True):
        items[place] = item
    tell_proofs(items, proof_of)


def proof_of(item: pytest.Item) -> Any:
    """The proof that a test is about, None for any other test. The stand-in of an empty set of parameters is none."""
    proof = getattr(getattr(item, "callspec", None), "params", {}).get("proof")
    return proof if hasattr(proof, "release") else None
