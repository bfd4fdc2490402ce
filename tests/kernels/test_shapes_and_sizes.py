"""Inputs at the edges: no rows, empty segments, many segments, read-only arrays, many variables, ties."""

import time

import numba
import numpy as np
import pytest

from tests.kernels.forced import aggregate
from trendweave.kernels import (
    Aggregate,
    Comparison,
    Condition,
    PairTest,
    Rows,
    Selection,
    Template,
    Way,
    match_starts,
)

KLEENE = Template(np.array([0]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))


def test_no_rows():
    empty = np.empty(0, np.int64)
    for starts in ([0], [0, 0], [0, 0, 0]):
        rows = Rows(np.array(starts), empty, empty, empty, np.empty(0, np.uint64))
        for conditions in (None, [Condition((Comparison(empty, "<", empty),))]):
            results = aggregate(
                rows, KLEENE, conditions, [Aggregate("sum", 1, empty), Aggregate("max", 1, empty / 1.0)]
            )
            assert len(results.count) == 0
            assert len(results.aggregates) == 2
        assert len(match_starts(rows, KLEENE, None)) == 0


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="needs compiled kernels")
@pytest.mark.parametrize("compare", [False, True])
def test_a_million_segments_of_one_row(compare):
    count = 1_000_000
    zero = np.zeros(count, np.int64)
    rows = Rows(np.arange(count + 1), zero, zero, zero, np.ones(count, np.uint64))
    conditions = [Condition((Comparison(zero, "<=", zero),))] if compare else None
    aggregate(rows, KLEENE, conditions)  # compiles
    began = time.process_time()
    results = aggregate(rows, KLEENE, conditions)
    assert time.process_time() - began < 3
    assert (results.count == 1).all()
    assert len(results.count) == count


def test_read_only_and_strided_inputs():
    count = 8
    numbers = np.arange(2 * count)[::2]
    numbers.flags.writeable = False
    zero = np.zeros(count, np.int32)
    zero.flags.writeable = False
    rows = Rows(np.array([0, count]), numbers, zero, zero, np.ones(count, np.uint64))
    results = aggregate(rows, KLEENE, [Condition((Comparison(numbers, "<", numbers),))], [Aggregate("min", 1, numbers)])
    assert results.count[0] == 2**count - 1
    assert results.aggregates[0][0] == 0


def test_more_than_64_variables():
    # SEQ(V0, V1, ..., V69), one row each
    count = 70
    letters = np.zeros((count, 2), np.uint64)
    for v in range(count):
        letters[v, v // 64] = np.uint64(1) << np.uint64(v % 64)
    template = Template(
        np.arange(count), np.arange(count) == 0, np.arange(count) == count - 1, np.arange(count - 1),
        np.arange(1, count),
    )  # fmt: skip
    zero = np.zeros(count, np.int64)
    rows = Rows(np.array([0, count]), np.arange(count), zero, zero, letters)
    for way in (None, "general", "scan"):
        results = aggregate(rows, template, force_way=way, aggregates=[Aggregate("count", 1 << 69)])
        assert results.count[0] == 1
        assert results.aggregates[0][0] == 1


def test_each_transition_has_its_own_pair_test():
    # SEQ(A, B, C) on a0 b1 b2 c3 c4, with answers of different widths
    letters = np.array([1, 2, 2, 4, 4], np.uint64)
    zero = np.zeros(5, np.int64)
    rows = Rows(np.array([0, 5]), np.arange(5), zero, zero, letters)
    template = Template(np.arange(3), np.arange(3) == 0, np.arange(3) == 2, np.array([0, 1]), np.array([1, 2]))
    only_b2 = PairTest(zero, np.array([0, 1, 2, 0, 0]), np.array([[False, False, True]]))
    only_c4 = PairTest(np.array([0, 0, 1, 0, 0]), np.array([0, 0, 0, 0, 1]), np.array([[True, True], [False, True]]))
    for first, second, trends in ((only_b2, only_c4, 1), (only_b2, None, 2), (None, only_c4, 3), (None, None, 4)):
        conditions = [Condition(pair_test=first), Condition(pair_test=second)]
        assert aggregate(rows, template, conditions).count.tolist() == [trends]


def test_all_rows_at_one_time():
    count = 1000
    zero = np.zeros(count, np.int64)
    rows = Rows(np.array([0, count]), zero, zero, zero, np.ones(count, np.uint64))
    for way in (None, "general", "scan"):
        assert aggregate(rows, KLEENE, force_way=way).count[0] == count


def test_nan_is_the_largest_and_zeros_are_equal():
    values = np.array([np.nan, -0.0, np.inf, -np.inf])
    rows = Rows(np.array([0, 4]), np.arange(4), np.arange(4), np.arange(4), np.ones(4, np.uint64))
    results = aggregate(rows, KLEENE, None, [Aggregate("max", 1, values), Aggregate("min", 1, values)])
    assert np.isnan(results.aggregates[0][0])
    assert results.aggregates[1][3] == -np.inf
    assert results.aggregates[0][1] == 0.0


def test_extreme_integers_in_min_and_max():
    values = np.array([-(2**63), 2**63 - 1])
    rows = Rows(np.array([0, 2]), np.arange(2), np.zeros(2, int), np.zeros(2, int), np.ones(2, np.uint64))
    results = aggregate(rows, KLEENE, None, [Aggregate("max", 1, values), Aggregate("min", 1, values)])
    assert results.aggregates[0][0] == 2**63 - 1
    assert results.aggregates[1][0] == -(2**63)


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ({"selection": "first"}, "selection"),
        ({"numbers": "log2"}, "numbers"),
        ({"aggregates": [Aggregate("median", 1)]}, "aggregate"),
        ({"transition_conditions": [None, None]}, "condition"),
    ],
)
def test_unknown_arguments_are_refused(argument, named):
    rows = Rows(np.array([0, 1]), *[np.zeros(1, np.int64)] * 3, np.ones(1, np.uint64))
    with pytest.raises(ValueError, match=named):
        aggregate(rows, KLEENE, **argument)


@pytest.mark.parametrize(
    ("condition", "further", "named"),
    [
        (Condition((), np.zeros(1, np.int64), way=Way.RUNNING), {}, "RUNNING"),
        (Condition(way=Way.QUEUE), {}, "QUEUE"),
        (Condition(way=Way.RANKED), {}, "RANKED"),
        (Condition((Comparison(np.zeros(1, int), "!=", np.zeros(1, int)),), way=Way.RANKED), {}, "RANKED"),
        (Condition((Comparison(np.zeros(1, int), "<", np.zeros(1, int)),)), {"folds": True}, "totals"),
        (Condition(), {"folds": True, "selection": Selection.NEXT}, "totals"),
    ],
)
def test_ways_and_kernels_that_cannot_serve_are_refused(condition, further, named):
    rows = Rows(np.array([0, 1]), *[np.zeros(1, np.int64)] * 3, np.ones(1, np.uint64))
    with pytest.raises(ValueError, match=named):
        aggregate(rows, KLEENE, [condition], **{"folds": False, **further})


def test_floats_after_a_guard_cannot_be_searched_by_rank():
    ranked = Condition((Comparison(np.zeros(1, int), "<", np.zeros(1, int)),), np.zeros(1, int), None, Way.RANKED)
    rows = Rows(np.array([0, 1]), *[np.zeros(1, np.int64)] * 3, np.ones(1, np.uint64))
    assert aggregate(rows, KLEENE, [ranked]).count.tolist() == [1]
    with pytest.raises(ValueError, match="RANKED"):
        aggregate(rows, KLEENE, [ranked._replace(inexact_way=Way.RANKED)], numbers="float64")


def test_with_skip_till_next_match_all_transitions_of_a_state_are_scanned_or_none():
    two = Template(np.array([0, 0]), np.ones(2, bool), np.ones(2, bool), np.array([0, 0]), np.array([0, 1]))
    rows = Rows(np.array([0, 1]), *[np.zeros(1, np.int64)] * 3, np.ones(1, np.uint64))
    with pytest.raises(ValueError, match="must be scanned"):
        aggregate(rows, two, [Condition(way=Way.RUNNING), Condition(way=Way.SCAN)], selection=Selection.NEXT)
