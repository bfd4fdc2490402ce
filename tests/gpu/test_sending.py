"""Columns on their way to a card."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.gpu import columns


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 1000])
def test_large_columns_go_in_parts(card: SimulatedCard, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PART_BYTES", 800)
    monkeypatch.setattr(columns, "SENDERS", {})
    given = np.arange(size, dtype=np.int64)

    found = columns.send(card, given)

    assert found.tolist() == given.tolist()
    assert size == 0 or not np.shares_memory(np.asarray(found), given)
    assert bool(columns.SENDERS) == (size > 100)


def test_threads_copy_all_of_a_large_array() -> None:
    given = np.arange(1_000_003, dtype=np.int32)
    found = np.zeros_like(given)

    columns.copy_by_threads(given, found)

    assert np.array_equal(found, given)
