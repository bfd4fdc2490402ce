"""S+ in segments of few rows, with guards, sums, NULLs and numbers at the edge of 64 bits: against plain sums."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.random_cases import examples
from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates.one_state import few_rows

KLEENE = Template(np.array([1]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
LARGEST = 2**63 - 1


def random_rows(rng):
    """Up to six segments of up to 40 rows, some of which are read by no state or in no window."""
    sizes = [int(rng.integers(0, int(rng.choice([3, 12, 41])))) for _ in range(int(rng.integers(1, 7)))]
    slide, overlap = int(rng.integers(1, 8)), int(rng.choice([1, 2, 5, 9, 20]))
    tick = np.concatenate([np.cumsum(rng.integers(0, 3, size)) for size in sizes]).astype(np.int64)
    first, last = tick // slide - overlap + 1, tick // slide
    if rng.random() < 0.3:  # windows that leave gaps
        first = np.where(tick % slide >= slide // 2, last + 1, first)
        first = np.concatenate([np.maximum.accumulate(part) for part in np.split(first, np.cumsum(sizes)[:-1])])
    letters = np.where(rng.random(tick.size) < rng.choice([0.7, 1.0]), 2, 1).astype(np.uint64)
    return Rows(np.concatenate([[0], np.cumsum(sizes)]), tick, first, last, letters)


def random_codes(rng, count):
    """Codes with ties, with NULLs, and as large as codes can be."""
    codes = rng.integers(0, int(rng.choice([2, 8, 100])), count)
    if rng.random() < 0.3:
        codes = LARGEST - codes
    codes[rng.random(count) < 0.1] = -1
    return codes.astype(np.int64)


def guards_of(rng, rows, as_last):
    """No guard, or windows that a row may not begin trends before (or end them behind); they never fall."""
    if rng.random() < 0.4:
        return {}
    moved = np.where(as_last, rows.window_last, rows.window_first) + rng.integers(-2, 3, rows.tick.size)
    parts = np.split(moved, rows.segment_starts[1:-1])
    return {0: np.concatenate([np.maximum.accumulate(part) for part in parts]).astype(np.int64)}


def members_of(rows):
    """(segment, window) -> the rows of state S in it, in order."""
    found: dict = {}
    for segment in range(rows.segment_starts.size - 1):
        for row in range(rows.segment_starts[segment], rows.segment_starts[segment + 1]):
            for window in range(rows.window_first[row], rows.window_last[row] + 1):
                if rows.letters[row] == 2:
                    found.setdefault((segment, int(window)), []).append(row)
    return found


def expected_of(rows, condition, values, valid, starts, finals):
    """(segment, window) -> trends, occurrences of rows with a value in them, and the sum of their values."""
    previous, name, following = condition
    expected = {}
    for (segment, window), members in members_of(rows).items():
        vectors: dict = {}
        totals = [0, 0, 0]
        for e in members:
            begins = 0 not in starts or window >= starts[0][e]
            vector = [int(begins), 0, 0]
            for p, before in vectors.items():
                ordered = previous[p] >= 0 and following[e] >= 0 and OPERATORS[name](previous[p], following[e])
                if rows.tick[p] < rows.tick[e] and ordered:
                    vector = [a + b for a, b in zip(vector, before, strict=True)]
            if valid[e]:
                vector[1] += vector[0]
                vector[2] += vector[0] * values[e]
            vectors[e] = vector
            if 0 not in finals or window <= finals[0][e]:
                totals = [a + b for a, b in zip(totals, vector, strict=True)]
        if totals[0]:
            expected[segment, window] = tuple(totals)
    return expected


def found_of(results):
    keys = zip(results.segment.tolist(), results.window.tolist(), strict=True)
    columns = (results.count, *results.aggregates)
    return dict(zip(keys, zip(*(column.tolist() for column in columns), strict=True), strict=True))


@pytest.mark.parametrize("few", [few_rows.FEW_ROWS, 3, 0])
@examples(120)
@given(seed=st.integers(0, 2**32))
def test_counts_and_sums(seed, few):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    count = rows.tick.size
    condition = Comparison(random_codes(rng, count), str(rng.choice(list(OPERATORS))), random_codes(rng, count))
    if rng.random() < 0.5:
        condition = condition._replace(next=condition.previous)
    largest = int(rng.choice([3, 2**30, 2**55, LARGEST]))
    values = rng.integers(-largest, largest, count, endpoint=True)
    valid = rng.random(count) < rng.choice([0.8, 1.0])
    starts, finals = guards_of(rng, rows, as_last=False), guards_of(rng, rows, as_last=True)
    wanted = [Aggregate("count", 2, None, valid), Aggregate("sum", 2, values, valid)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "FEW_ROWS", few)
        results = aggregate(rows, KLEENE, [Condition((condition,))], wanted, start_guards=starts, final_guards=finals)
        floats = aggregate(
            rows, KLEENE, [Condition((condition,))], wanted, numbers="float64", start_guards=starts, final_guards=finals
        )
    expected = expected_of(rows, condition, values.tolist(), valid, starts, finals)
    assert found_of(results) == expected
    inexact = found_of(floats)
    assert inexact.keys() == expected.keys()
    for key, numbers in expected.items():
        assert inexact[key][:2] == numbers[:2]  # few enough to be whole floats
        assert math.isclose(inexact[key][2], numbers[2], rel_tol=1e-9, abs_tol=1e-9 * largest * (1 + numbers[1]))


def extrema_of(rows, condition, values, valid, starts, finals):
    """(segment, window) -> the largest value of rows in trends, and the smallest; None where no trend has a value."""
    previous, name, following = condition
    expected = {}
    for (segment, window), members in members_of(rows).items():
        vectors: dict = {}
        ended = []
        for e in members:
            vector = [[]] if 0 not in starts or window >= starts[0][e] else []
            for p, before in vectors.items():
                ordered = previous[p] >= 0 and following[e] >= 0 and OPERATORS[name](previous[p], following[e])
                if rows.tick[p] < rows.tick[e] and ordered:
                    vector += before
            # Of all trends that end here, only the values that can be extremes are kept.
            found = [value for one in vector for value in one] + ([values[e]] if vector and valid[e] else [])
            vectors[e] = [[min(found), max(found)] if found else []] if vector else []
            if 0 not in finals or window <= finals[0][e]:
                ended += vectors[e]
        if ended:
            found = [value for one in ended for value in one]
            expected[segment, window] = (max(found), min(found)) if found else (None, None)
    return expected


@pytest.mark.parametrize("few", [few_rows.FEW_ROWS, 3, 0])
@examples(120)
@given(seed=st.integers(0, 2**32))
def test_extrema(seed, few):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    count = rows.tick.size
    condition = Comparison(random_codes(rng, count), str(rng.choice(list(OPERATORS))), random_codes(rng, count))
    largest = int(rng.choice([3, 2**55, LARGEST]))
    values = rng.integers(-largest, largest, count, endpoint=True)
    valid = rng.random(count) < rng.choice([0.3, 0.8, 1.0])
    starts, finals = guards_of(rng, rows, as_last=False), guards_of(rng, rows, as_last=True)
    wanted = [Aggregate("max", 2, values, valid), Aggregate("min", 2, values, valid), Aggregate("max", 2, values / 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "FEW_ROWS", few)
        results = aggregate(rows, KLEENE, [Condition((condition,))], wanted, start_guards=starts, final_guards=finals)
    expected = extrema_of(rows, condition, values.tolist(), valid, starts, finals)
    keys = list(zip(results.segment.tolist(), results.window.tolist(), strict=True))
    assert set(keys) == expected.keys()
    for number, key in enumerate(keys):
        ours = tuple(
            column.tolist()[number] if known is None or known[number] else None
            for column, known in zip(results.aggregates[:2], results.valid[:2], strict=True)
        )
        assert ours == expected[key]
    everything = extrema_of(rows, condition, (values / 2).tolist(), np.ones(count, bool), starts, finals)
    assert results.aggregates[2].tolist() == [everything[key][0] for key in keys]


def test_no_number_of_one_window_comes_into_another():
    """Rows a1, a2, a3 in windows 0, 0 to 1, and 1: NaN and infinity of a1 and a3 stay where they are."""
    rows = Rows(np.array([0, 3]), np.arange(3), np.array([0, 0, 1]), np.array([0, 1, 1]), np.full(3, 2, np.uint64))
    codes = np.arange(3)
    for values, sums in (
        ([np.nan, 1.0, 2.0], [np.nan, 1.0 + 2.0 + 1.0 + 2.0]),
        ([1.0, 1.0, np.inf], [1.0 + 1.0 + 1.0 + 1.0, np.inf]),
        ([-np.inf, 1.0, np.nan], [-np.inf, np.nan]),
    ):
        asked = [Aggregate("sum", 2, np.array(values))]
        for numbers in ("exact", "float64"):
            found = aggregate(rows, KLEENE, [Condition((Comparison(codes, "<", codes),))], asked, numbers=numbers)
            np.testing.assert_array_equal(found.aggregates[0], sums)


@pytest.mark.parametrize("value", [2**58, -(2**58), 2**61, -(2**63)])
def test_sums_leave_64_bits_in_few_rows(value):
    """All subsets of n rows, each row in half of them."""
    for count in range(1, 9):
        zero = np.zeros(count, np.int64)
        rows = Rows(np.array([0, count]), np.arange(count), zero, zero, np.full(count, 2, np.uint64))
        asked = [Aggregate("sum", 2, np.full(count, value)), Aggregate("avg", 2, np.full(count, value))]
        codes = np.arange(count)
        found = aggregate(rows, KLEENE, [Condition((Comparison(codes, "<", codes),))], asked)
        assert found.count.tolist() == [2**count - 1]
        assert found.aggregates[0].tolist() == [count * 2 ** (count - 1) * value]
        assert Fraction(found.aggregates[1].tolist()[0]) == value
