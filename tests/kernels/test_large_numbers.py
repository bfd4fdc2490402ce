"""Numbers near and beyond 64 bits: exact, or refused, never wrong."""

import numpy as np
import pytest

from tests.kernels import brute_force
from tests.kernels.forced import aggregate
from trendweave.kernels import Aggregate, Comparison, Condition, CountTooLargeError, Rows, Template
from trendweave.kernels.aggregates import passes
from trendweave.kernels.aggregates.exact_numbers import average_floats

pytestmark = pytest.mark.usefixtures("large_whole_numbers")

KLEENE = Template(np.array([0]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))


def one_window(count, letters=None):
    zero = np.zeros(count, np.int64)
    letters = np.ones(count, np.uint64) if letters is None else letters
    return Rows(np.array([0, count]), np.arange(count), zero, zero, letters)


@pytest.mark.parametrize("force_way", [None, "general", "scan"])
@pytest.mark.parametrize("count", [1, 50, 59, 60, 61, 62, 63, 64, 65, 126, 127, 128, 129, 700])
def test_kleene_plus_at_every_border(count, force_way):
    # PATTERN A+: 2^n - 1 trends, each event in 2^(n-1) of them
    values = np.arange(count) - 7
    wanted = [Aggregate("count", 1), Aggregate("sum", 1, values), Aggregate("sum", 1, values / 4)]
    results = aggregate(one_window(count), KLEENE, None, wanted, force_way=force_way)
    each = 2 ** (count - 1)
    assert int(results.count[0]) == 2**count - 1
    assert int(results.aggregates[0][0]) == count * each
    assert int(results.aggregates[1][0]) == int(values.sum()) * each
    average = average_floats(results.aggregates[2], results.aggregates[0])
    assert average[0] == pytest.approx(values.sum() / 4 / count)
    assert results.count.dtype == (np.int64 if count < 64 else object)


def test_ten_thousand_bits():
    assert aggregate(one_window(10_000), KLEENE).count[0] == 2**10_000 - 1


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62, -(2**62), 2**31, -(2**31) - 1])
@pytest.mark.parametrize("force_way", [None, "general", "scan"])
def test_sums_of_extreme_values(value, force_way):
    for count in (1, 2, 5, 80):
        values = np.full(count, value, np.int64)
        results = aggregate(one_window(count), KLEENE, None, [Aggregate("sum", 1, values)], force_way=force_way)
        assert int(results.aggregates[0][0]) == value * count * 2 ** (count - 1)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 0.1])
def test_sums_of_floats_beyond_float_range(scale):
    count = 1500
    values = (np.arange(count) % 7 - 3) * scale
    results = aggregate(one_window(count), KLEENE, None, [Aggregate("count", 1), Aggregate("sum", 1, values)])
    assert average_floats(*results.aggregates[::-1])[0] == pytest.approx(values.mean(), rel=1e-9)


def test_average_of_zeros_over_more_trends_than_floats_can_count():
    results = aggregate(one_window(1500), KLEENE, None, [Aggregate("count", 1), Aggregate("sum", 1, np.zeros(1500))])
    assert average_floats(*results.aggregates[::-1])[0] == 0.0


ENOUGH = 1400  # rows of A+, of which even two per tick have more trends than the largest float


@pytest.mark.parametrize("force_way", [None, "general", "scan"])
@pytest.mark.parametrize("aggregates", [[], [Aggregate("sum", 1, np.ones(ENOUGH))]])
@pytest.mark.parametrize("windows_per_row", [1, 20])
@pytest.mark.parametrize("rows_per_tick", [1, 2])
def test_floats_beyond_their_range_are_infinite(rows_per_tick, windows_per_row, aggregates, force_way):
    tick = np.arange(ENOUGH) // rows_per_tick
    last = tick // 100 if windows_per_row > 1 else np.zeros(ENOUGH, np.int64)
    rows = Rows(np.array([0, ENOUGH]), tick, last - windows_per_row + 1, last, np.ones(ENOUGH, np.uint64))
    for conditions in (None, [Condition((Comparison(tick, "<=", tick),))]):
        results = aggregate(rows, KLEENE, conditions, aggregates, numbers="float64", force_way=force_way)
        for column in (results.count, *results.aggregates):
            assert not np.isnan(column).any()
            assert np.isposinf(column.max())


def test_sum_of_two_extremes_cancels_exactly():
    # SEQ(A, B): the sum over both events of one trend
    template = Template(np.array([0, 1]), np.array([1, 0], bool), np.array([0, 1], bool), np.array([0]), np.array([1]))
    values = np.array([2**63 - 1, -(2**63)])
    rows = one_window(2, np.array([1, 2], np.uint64))
    assert aggregate(rows, template, None, [Aggregate("sum", 3, values)]).aggregates[0][0] == -1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("force_way", [None, "general", "scan"])
def test_many_limbs_with_sums_and_sliding_windows(seed, force_way):
    rng = np.random.default_rng(seed)
    count = 220
    tick = np.cumsum(rng.random(count) < 0.9)
    first, last = tick // 10 - 11, tick // 10
    price = rng.integers(0, 6, count)
    values = rng.integers(-(2 ** rng.integers(1, 62)), 2**40, count)
    letters = rng.integers(1, 4, count).astype(np.uint64)
    template = Template(np.array([0, 1]), np.ones(2, bool), np.ones(2, bool), np.array([0, 0, 1]), np.array([0, 1, 0]))
    comparisons = [[] if seed % 2 else [(price, ">=", price)], [(price, "<=", price)][: seed % 3], []]
    case = {
        "segment_starts": [0, 60, count], "tick": tick.tolist(), "window_first": first.tolist(),
        "window_last": last.tolist(), "letters": letters.tolist(), "state_variable": [0, 1], "is_start": [True] * 2,
        "is_final": [True] * 2, "source": [0, 0, 1], "target": [0, 1, 0], "guards": [None] * 3,
        "pair_tests": [None] * 3, "selection": "any", "start_guards": {}, "final_guards": {},
        "values": values.tolist(),
        "comparisons": [[(a.tolist(), op, b.tolist()) for a, op, b in c] for c in comparisons],
    }  # fmt: skip
    conditions = [Condition(tuple(Comparison(*c) for c in cs)) for cs in comparisons]
    rows = Rows(np.array([0, 60, count]), tick, first, last, letters)
    results = aggregate(rows, template, conditions, [Aggregate("sum", 3, values)], force_way=force_way)
    truth = brute_force.propagated(case)
    ours = {
        (int(segment), int(window)): (int(count), int(total))
        for segment, window, count, total in zip(*results[:3], results.aggregates[0], strict=True)
    }
    assert ours == {key: (count, total) for key, (count, total, _) in truth.items()}
    assert max(count for count, _, _ in truth.values()) > 2**64


@pytest.mark.parametrize("large_whole_numbers", ["checked", "packs"], indirect=True)
@pytest.mark.parametrize("windows", [1, 10])
@pytest.mark.parametrize("count", [50, 55, 60, 61, 62, 63, 64, 66, 80, 120])
def test_numbers_that_are_powers_of_two_are_found_where_they_take_one_more_limb(count, windows):
    # SEQ(A, B+), one A: 2^k trends end with the k-th B, so the highest limb of one number is 0 with 1 carried out of it
    template = Template(
        np.array([0, 1]), np.array([1, 0], bool), np.array([0, 1], bool), np.array([0, 1]), np.ones(2, int)
    )
    letters = np.full(count, 2, np.uint64)
    letters[0] = 1
    rows = one_window(count, letters)._replace(window_last=np.full(count, windows - 1))
    results = aggregate(rows, template, None, [Aggregate("count", 1)])
    assert [int(x) for x in results.count] == [2 ** (count - 1) - 1] * windows
    assert [int(x) for x in results.aggregates[0]] == [2 ** (count - 1) - 1] * windows
    assert [int(x) for x in aggregate(rows, template).count] == [2 ** (count - 1) - 1] * windows


@pytest.mark.parametrize("large_whole_numbers", ["checked"], indirect=True)
def test_refuses_before_memory_runs_out():
    price = np.zeros(2000, np.int64)
    conditions = [Condition((Comparison(price, ">=", price),))]
    with pytest.raises(CountTooLargeError, match="segment 0, window 0"):
        aggregate(one_window(2000), KLEENE, conditions, memory_limit=1000)


def test_sampling_does_not_change_answers(monkeypatch):
    monkeypatch.setattr(passes, "MANY_BLOCKS", 1)
    rng = np.random.default_rng(3)
    count = 400
    tick = np.arange(count)
    price = rng.integers(0, 50, count)
    rows = Rows(np.array([0, count]), tick, tick // 100, tick // 100, np.ones(count, np.uint64))
    conditions = [Condition((Comparison(price, ">=", price),))]
    sampled = aggregate(rows, KLEENE, conditions)
    monkeypatch.setattr(passes, "MANY_BLOCKS", 10**9)
    plain = aggregate(rows, KLEENE, conditions)
    assert [int(x) for x in sampled.count] == [int(x) for x in plain.count]
