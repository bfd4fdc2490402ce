"""Where rows that stand by key are cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.runners.threads import dealing
from trendweave.runners.threads.dealing import Runs, cut_runs


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "_LENGTH", 1)


def hashes(*keys: int) -> np.ndarray:
    return np.array(keys, np.uint64)


def test_cuts_are_between_keys_and_near_even_parts() -> None:
    found = Runs.of(hashes(*[7] * 10, *[3] * 2, *[9] * 8))
    assert found is not None
    assert cut_runs([found], [20], 2) == [0, 10, 20]
    assert cut_runs([found], [20], 10) == [0, 10, 12, 20]


def test_a_key_that_comes_again_is_not_cut_off() -> None:
    found = Runs.of(hashes(1, 1, 1, 2, 2, 2, 1, 1))
    assert found is not None
    assert cut_runs([found], [8], 2) is None


def test_a_run_goes_on_in_the_next_slice() -> None:
    slices = [Runs.of(hashes(1, 1, 2)), Runs.of(hashes(2, 2, 3))]
    assert [one for one in slices if one is not None] == slices
    assert cut_runs([one for one in slices if one is not None], [3, 3], 3) == [0, 2, 5, 6]


def test_short_runs_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "_LENGTH", 16)
    assert Runs.of(np.arange(100, dtype=np.uint64)) is None
    assert Runs.of(np.repeat(np.arange(10, dtype=np.uint64), 20)) is not None
    assert Runs.of(hashes(*[5] * 40)) is not None


@given(
    sizes=hs.lists(hs.integers(1, 6), min_size=1, max_size=12),
    cuts=hs.sets(hs.integers(1, 71), max_size=3),
    parts=hs.integers(1, 9),
)
@examples(50)
def test_no_key_is_in_two_parts(sizes: list[int], cuts: set[int], parts: int) -> None:
    keys = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    pieces = [piece for piece in np.split(keys, sorted(cut for cut in cuts if cut < keys.size)) if piece.size]
    found = [one for one in map(Runs.of, pieces) if one is not None]
    borders = cut_runs(found, [piece.size for piece in pieces], parts)
    if len(sizes) == 1:
        assert borders is None
        return
    assert borders is not None
    assert borders[0] == 0
    assert borders[-1] == keys.size
    assert len(borders) <= parts + 1
    for border in borders[1:-1]:
        assert keys[border] != keys[border - 1]
