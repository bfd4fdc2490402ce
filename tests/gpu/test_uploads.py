"""Large arrays go to a card in parts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.gpu.uploads import copy_by_threads, put_array


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 1000])
def test_parts_of_an_array(card: SimulatedCard, size: int) -> None:
    given = np.arange(size, dtype=np.int64)

    found = put_array(card, given, part_bytes=800)

    assert found.tolist() == given.tolist()
    assert size == 0 or not np.shares_memory(found, given)


def test_threads_copy_all_of_a_large_array() -> None:
    given = np.arange(1_000_003, dtype=np.int32)
    found = np.zeros_like(given)

    copy_by_threads(given, found)

    assert np.array_equal(found, given)
