"""Trends aggregated on a simulated card against the kernels for processors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.gpu.simulator import SimulatedCard
from tests.kernels.random_cases import arguments, cases, dense_case
from tests.profiles import examples
from trendweave.gpu.trends import entry, totals
from trendweave.kernels import Aggregate, Results, aggregate


def on_card(card, numbers="exact", **given):
    given["conditions"] = given.pop("transition_conditions")
    return entry.aggregate(card, numbers=numbers, **given)


def check_same(found: Results, expected: Results) -> None:
    assert found.segment.tolist() == expected.segment.tolist()
    assert found.window.tolist() == expected.window.tolist()
    check_columns(found.count, expected.count)
    for ours, theirs, known, known_there in zip(
        found.aggregates, expected.aggregates, found.valid, expected.valid, strict=True
    ):
        assert (known is None) == (known_there is None)
        if known is not None:
            assert known.tolist() == known_there.tolist()
            ours, theirs = ours[known], theirs[known]
        check_columns(ours, theirs)


def check_columns(ours: np.ndarray, theirs: np.ndarray) -> None:
    if ours.size == 0:
        return
    assert ours.dtype == theirs.dtype
    if ours.dtype == np.float64:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-6)
    else:
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("numbers", ["exact", "float64"])
@examples(60)
@given(case=cases())
def test_small_cases(card: SimulatedCard, numbers, case):
    assume(case["selection"] != "next")
    given = arguments(case)
    check_same(on_card(card, numbers, **given), aggregate(numbers=numbers, **given))


@examples(25)
@given(seed=st.integers(0, 10**6), pieces=st.sampled_from([2, 5, 1024]))
def test_many_trends(card: SimulatedCard, seed, pieces):
    case = dense_case(seed)
    assume(case["selection"] != "next")
    given = arguments(case)
    values = np.array(case["values"])
    given["aggregates"] = [Aggregate("sum", 1, values), Aggregate("count", 3), Aggregate("max", 1, values)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(totals, "PIECE_ROWS", pieces)
        patch.setattr(totals, "FAN", 3)
        patch.setattr(totals, "SHORT_WINDOW", 1024 if pieces == 5 else 0)
        check_same(on_card(card, **given), aggregate(**given))
