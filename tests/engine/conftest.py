"""One set of engines for all tests of a session."""

from __future__ import annotations

import pytest
from engines import Engines


@pytest.fixture(scope="session")
def engines(request):
    proofs = [item.callspec.params["proof"] for item in request.session.items if has_proof(item)]
    made = Engines(proofs)
    yield made
    made.close()


def has_proof(item: pytest.Item) -> bool:
    return "proof" in getattr(getattr(item, "callspec", None), "params", {})
