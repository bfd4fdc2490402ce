"""Longer, denser cases than enumeration can judge: guards, ties, windows and selections against Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import brute_force
from tests.kernels.forced import aggregate
from tests.kernels.random_cases import arguments, dense_case, examples
from trendweave.kernels import Aggregate

pytestmark = pytest.mark.usefixtures("whole_numbers")

ALL_VARIABLES = 7
SEEDS = st.integers(0, 2**32)


def assert_same_windows(results, truth):
    assert list(zip(results.segment.tolist(), results.window.tolist(), strict=True)) == sorted(truth)


def assert_close_sums(sums, truth, values):
    """Floats: values of both signs cancel, so errors are measured against the number of trends."""
    expected = np.array([float(total) for _, total, _ in truth])
    scale = np.array([float(count) for count, _, _ in truth]) * len(values) * max(map(abs, values), default=0)
    assert (np.abs(sums.astype(float) - expected) <= 1e-9 * scale).all()


@pytest.mark.parametrize("force_way", [None, "general", "scan"])
@examples(100)
@given(seed=SEEDS)
def test_counts_sums_and_maxima(seed, force_way):
    case = dense_case(seed)
    truth = brute_force.propagated(case)
    in_order = [truth[key] for key in sorted(truth)]
    values = np.array(case["values"], np.int64)
    given_ = arguments(case)
    given_["aggregates"] = [Aggregate("sum", ALL_VARIABLES, values), Aggregate("max", ALL_VARIABLES, values)]

    exact = aggregate(**given_, force_way=force_way)
    assert_same_windows(exact, truth)
    ours = zip(exact.count.tolist(), *(column.tolist() for column in exact.aggregates), strict=True)
    assert list(ours) == in_order

    floats = aggregate(**given_, force_way=force_way, numbers="float64")
    assert_same_windows(floats, truth)
    np.testing.assert_allclose(floats.count, [float(count) for count, _, _ in in_order], rtol=1e-9)
    assert_close_sums(floats.aggregates[0], in_order, case["values"])
    assert floats.aggregates[1].tolist() == [largest for _, _, largest in in_order]


@examples(100)
@given(seed=SEEDS, with_sum=st.booleans())
def test_templates_without_conditions(seed, with_sum):
    """The shortcuts for whole templates: totals per state, and sliding them."""
    case = dense_case(seed)
    no_conditions = [None] * len(case["source"])
    case.update(comparisons=[[] for _ in no_conditions], guards=no_conditions, pair_tests=no_conditions)
    case.update(selection="any", start_guards={}, final_guards={})
    truth = brute_force.propagated(case)
    in_order = [truth[key] for key in sorted(truth)]
    given_ = arguments(case)
    given_["aggregates"] = [Aggregate("sum", ALL_VARIABLES, np.array(case["values"], np.int64))] * with_sum

    exact = aggregate(**given_)
    assert_same_windows(exact, truth)
    assert exact.count.tolist() == [count for count, _, _ in in_order]
    for sums in exact.aggregates:
        assert sums.tolist() == [total for _, total, _ in in_order]

    floats = aggregate(**given_, numbers="float64")
    assert_same_windows(floats, truth)
    np.testing.assert_allclose(floats.count, [float(count) for count, _, _ in in_order], rtol=1e-9)
    for sums in floats.aggregates:
        assert_close_sums(sums, in_order, case["values"])
