"""What tests of random workloads share: units of queries are made of two queries already, where users have more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def small_units() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trendweave.sharing.constants.LEAST", 2)
        yield
