"""Averages are rounded once, and what is not finite stays in the windows that hold it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.random_cases import examples
from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates.entry import divide_sums

KLEENE = Template(np.zeros(1, np.int64), np.ones(1, bool), np.ones(1, bool), *[np.zeros(1, np.int64)] * 2)
ONE_EVENT = KLEENE._replace(source=np.empty(0, np.int64), target=np.empty(0, np.int64))


def nearest(total, count):
    return float(Fraction(total, count))


@examples(50)
@given(seed=st.integers(0, 2**32), largest=st.sampled_from([1, 10, 2**20, 2**63 - 1]))
def test_whole_numbers_are_rounded_once(seed, largest):
    rng = np.random.default_rng(seed)
    totals = rng.integers(-(2**63), 2**63 - 1, 50, endpoint=True) >> rng.integers(0, 12, 50)
    counts = rng.integers(1, largest, 50, endpoint=True)
    expected = [nearest(*pair) for pair in zip(totals.tolist(), counts.tolist(), strict=True)]
    assert divide_sums(totals, counts).tolist() == expected


def test_an_average_of_events_is_rounded_once():
    """Three events whose sum has 55 bits: rounded before it is divided, the average would be another float."""
    values = [2**54 + 3, 5, 6]
    assert (float(sum(values)) / 3) != nearest(sum(values), 3)
    zero = np.zeros(3, np.int64)
    rows = Rows(np.array([0, 3]), np.arange(3), zero, zero, np.ones(3, np.uint64))
    found = aggregate(rows, ONE_EVENT, None, [Aggregate("avg", 1, np.array(values))])
    assert found.aggregates[0].tolist() == [nearest(sum(values), 3)]


@pytest.mark.parametrize("special", [[np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.inf, np.nan]])
@pytest.mark.parametrize("ordered", [False, True])
def test_what_is_not_finite_stays_in_its_window(special, ordered):
    """Segments of more trends than floats can count: without and with values that are not finite; and a short one."""
    many, count = 1_100, 2_203
    values = np.full(count, 1.5)
    values[many + 500 : many + 500 + len(special)] = special
    zero = np.zeros(count, np.int64)
    ticks = np.arange(count)
    rows = Rows(np.array([0, many, 2 * many, count]), ticks, zero, zero, np.ones(count, np.uint64))
    conditions = [Condition((Comparison(ticks, "<", ticks),))] if ordered else None
    wanted = [Aggregate("avg", 1, values), Aggregate("sum", 1, values)]
    found = aggregate(rows, KLEENE, conditions, wanted)
    expected = float(sum(special))
    np.testing.assert_array_equal(found.aggregates[0], [1.5, expected, 1.5])
    np.testing.assert_array_equal(found.aggregates[1], [np.inf, expected, 1.5 * 3 * 4])
    assert found.count.tolist() == [2**many - 1, 2**many - 1, 2**3 - 1]
