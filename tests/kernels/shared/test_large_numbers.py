"""Counts and sums near and beyond 64 bits, of many queries: exact under every setting, or refused."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from tests.kernels.shared.cases import mask_of, to_answers, to_measures, to_rows, to_template
from tests.reference.merged_templates import Case, answers
from trendweave.kernels import Aggregate, CountTooLargeError
from trendweave.kernels.many_queries import aggregate_shared

pytestmark = pytest.mark.usefixtures("whole_numbers")

SETTINGS = ["auto", "always", "never"]
X, T, Y, U = 1, 0, 2, 70  # U in the second word


def ride_sharing(word, queries=3, ticks=None, values=(), segments=(), windows=None, own=False):
    """SEQ(X, T+, Y) for each query, T shared (with `own`, the last reads U instead); a word is a string of x, t, y, u
    (t and u), s (nothing). Query i begins with i more x."""
    letters = {"x": 1 << X, "t": 1 << T | 1 << U, "y": 1 << Y, "u": 1 << T, "s": 0}
    n = len(word)
    states = {"class": []}
    transitions, finals, variables = [], [], []
    for i in range(queries):
        x, t, y = 3 * i, 3 * i + 1, 3 * i + 2
        states["class"] += [1 + 2 * i, 0, 2 + 2 * i]
        variables += [X, U if own and i == queries - 1 else T, Y]
        transitions += [(x, t, -1), (t, t, -1), (t, y, -1)]
        finals.append((i, y))
    first, last = windows or ([0] * n, [0] * n)
    case = Case(
        [0, *segments, n], ticks or list(range(n)), [letters[letter] for letter in word], [first], [last],
        [0] * 3 * queries, variables, [True, False, False] * queries, transitions, finals, [0] * queries,
        [([False, True, False] * queries, list(v)) for v in values],
    )  # fmt: skip
    return case, states


def check(case, states, measures=None):
    expected = answers(case)
    for sharing in SETTINGS:
        results = aggregate_shared(to_rows(case), to_template(case, states), measures or to_measures(case), sharing)
        assert to_answers(results) == expected
        if sharing == "always":
            assert results.counts.bursts_shared > 0
            assert results.counts.snapshots >= results.counts.bursts_shared
        if sharing == "never":
            assert results.counts.bursts_shared == results.counts.snapshots == 0
    return expected


@pytest.mark.parametrize("length", [1, 27, 28, 29, 31, 57, 58, 59, 60, 61, 62, 63, 64, 65, 130, 300])
def test_every_border(length):
    expected = check(*ride_sharing("xx" + "t" * length + "y"))
    assert expected[0, 0, 0].count == 2 * (2**length - 1)


def test_bursts_beyond_two_hundred_bits_with_negative_sums():
    word = "".join("x" + "t" * k + "y" for k in (3, 40, 90, 1, 100, 2))
    values = [[(-7) ** (i % 5) for i in range(len(word))], [(-1) ** i * (2**62 - i) for i in range(len(word))]]
    expected = check(*ride_sharing(word, values=values))
    assert max(abs(answer.linear[1]) for answer in expected.values()).bit_length() > 250


def test_several_ways_back_to_a_state():
    case, states = ride_sharing("x" + "t" * 200 + "y", values=[[3] * 202])
    back = [(t, t, blocker) for t in (1, 4, 7) for blocker in (71, 72)]
    expected = check(replace(case, transitions=[*case.transitions, *back]), states)
    assert expected[0, 0, 0].count == (4**200 - 1) // 3


def test_the_largest_values():
    word = "x" + "t" * 40 + "y"
    check(*ride_sharing(word, values=[[-(2**63)] * len(word), [2**63 - 1] * len(word), [2**27] * len(word)]))


def test_bundles_that_part_beyond_64_bits():
    check(*ride_sharing("x" + "tttuttt" * 15 + "y" + "ut" * 40 + "y", own=True, values=[list(range(188))]))


@pytest.mark.parametrize("own", [False, True])
def test_bursts_are_shared_where_it_pays(own):
    # 8 queries in 25 windows: a burst of 150 rows is shared, with `own` by 7 of them; those of one row are not
    word = "x" + "t" * 100 + "u" * 50 + "y" + "txty" * 4
    windows = [0] * len(word), [24] * len(word)
    case, states = ride_sharing(word, queries=8, own=own, windows=windows)
    expected = answers(case)
    for numbers in ("exact", "float64"):
        results = aggregate_shared(to_rows(case), to_template(case, states), sharing="auto", numbers=numbers)
        assert results.counts.bursts_shared == results.counts.splits == 1
        assert results.counts.bursts_alone > 6
        found = to_answers(results)
        assert found.keys() == expected.keys()
        assert all(found[key].count == pytest.approx(answer.count, rel=1e-12) for key, answer in expected.items())
        assert numbers == "float64" or found == expected


def test_large_and_small_segments_in_turn():
    parts = ["xtty", "x" + "t" * 70 + "y", "xty", "", "x" + "t" * 90 + "yy", "x" + "t" * 500 + "y", "xxty"]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    word = "".join(parts)
    check(*ride_sharing(word, segments=ends[:-1], values=[[5] * len(word)]))


def test_many_rows_of_one_tick():
    word = "x" + "t" * 400 + "y" + "t" * 30 + "y"
    ticks = [0] + [1] * 150 + [2] * 250 + [3] + list(range(4, 34)) + [34]
    check(*ride_sharing(word, ticks=ticks, values=[[2**26] * len(word)]))


def test_overlapping_windows():
    word = ("xt" * 20 + "t" * 60 + "y") * 3
    n = len(word)
    windows = ([max(0, i // 20 - 5) for i in range(n)], [i // 20 for i in range(n)])
    check(*ride_sharing(word, windows=windows, values=[[-3] * n]))


def test_sums_of_floats_beyond_their_range():
    word = "x" + "t" * 1100 + "y"
    case, states = ride_sharing(word, values=[[0] * len(word)])
    values = np.where(np.arange(len(word)) % 2 == 0, 1.5, -0.5)
    values[:5] = 2.0
    measures = [Aggregate("sum", mask_of(case.linear[0][0]), values)]
    for sharing in SETTINGS:
        _, found, _ = aggregate_shared(to_rows(case), to_template(case, states), measures, sharing)
        expected = int(values[1:-1].sum() * 2) * 2**1099 // 2
        assert all(abs(Decimal(v) - expected) < Decimal(expected) / 10**30 for v in found.aggregates[0])
        _, floats, _ = aggregate_shared(to_rows(case), to_template(case, states), measures, sharing, "float64")
        assert np.isinf(floats.count).all()


def test_values_that_are_no_numbers_stay_with_their_query():
    # the second query reads no row that is NaN
    case, states = ride_sharing("x" + "ttutt" + "y", queries=2, own=True, values=[[0] * 7])
    values = np.array([0.0, 1, 1, np.nan, 1, 1, 0])
    measures = [Aggregate("sum", mask_of(case.linear[0][0]), values)]
    for sharing in SETTINGS:
        for numbers in ("exact", "float64"):
            _, found, _ = aggregate_shared(to_rows(case), to_template(case, states), measures, sharing, numbers)
            assert np.isnan(found.aggregates[0][0])
            assert found.aggregates[0][1] == 4 * 2**3


@pytest.mark.parametrize("whole_numbers", ["checked"], indirect=True)
def test_too_much_memory_is_refused():
    case, states = ride_sharing("x" + "t" * 3000 + "y")
    with pytest.raises(CountTooLargeError, match="segment 0: exact numbers need more than 0 MiB"):
        aggregate_shared(to_rows(case), to_template(case, states), memory_limit=5000)


@pytest.mark.parametrize("wrong", [{"sharing": "sometimes"}, {"numbers": "int8"}])
def test_what_is_no_choice_is_refused(wrong):
    case, states = ride_sharing("xty")
    with pytest.raises(ValueError, match="is one of"):
        aggregate_shared(to_rows(case), to_template(case, states), **wrong)
