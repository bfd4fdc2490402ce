"""Averages of floats: what is not finite stays in the windows that hold it."""

import numpy as np
import pytest

from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates.exact_numbers import average_floats

KLEENE = Template(np.zeros(1, np.int64), np.ones(1, bool), np.ones(1, bool), *[np.zeros(1, np.int64)] * 2)


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
    wanted = [Aggregate("count", 1), Aggregate("sum", 1, values)]
    found = aggregate(rows, KLEENE, conditions, wanted)
    expected = float(sum(special))
    counts, sums = found.aggregates
    np.testing.assert_array_equal(average_floats(sums, counts), [1.5, expected, 1.5])
    np.testing.assert_array_equal(sums.astype(float), [np.inf, expected, 1.5 * 3 * 4])
    assert found.count.tolist() == [2**many - 1, 2**many - 1, 2**3 - 1]
