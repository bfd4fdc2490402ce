"""Numbers of hundreds of bits, by formula: what is folded is never rounded and never wraps around."""

import numpy as np
import pytest

from trendweave.kernels import Aggregate, Rows, Template, aggregate
from trendweave.kernels.folding import Measured, extend, finish, make_algebra, no_summaries

FLAG = np.ones(1, bool)
KLEENE = Template(np.zeros(1, np.int64), FLAG, FLAG, np.zeros(1, np.int64), np.zeros(1, np.int64))  # A+


def kleene_rows(lengths):
    count = sum(lengths)
    zeros = np.zeros(count, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Rows(starts, np.arange(count), zeros, zeros, np.ones(count, np.uint64))


def fold_kleene(lengths, measures=(), aggregates=(), numbers="exact"):
    """All trends of panes with so many rows, one after another."""
    algebra = make_algebra(KLEENE, measures, numbers)
    panes = extend(algebra, no_summaries(algebra), np.full(len(lengths), -1), kleene_rows(lengths), aggregates)
    return finish(algebra, panes, np.zeros(1, np.int64), np.full(1, len(lengths)))


# up to, at and beyond the borders of words
@pytest.mark.parametrize("rows", [1, 60, 61, 62, 63, 64, 65, 126, 127, 128, 129, 191, 192, 193, 1000])
@pytest.mark.parametrize("panes", [1, 2, 7])
def test_counts_of_kleene_plus(rows, panes):
    lengths = [rows // panes] * (panes - 1) + [rows - rows // panes * (panes - 1)]
    assert int(fold_kleene(lengths).count[0]) == 2**rows - 1


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62, -1, 2**31])
@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 130])
def test_sums_of_extreme_values(rows, value):
    wanted = [Aggregate("sum", 1, np.full(rows, value, np.int64)), Aggregate("avg", 1, np.full(rows, value, np.int64))]
    measures = [Measured("sum", 1, column=0), Measured("avg", 1, column=0)]
    results = fold_kleene([rows // 2, rows - rows // 2], measures, wanted)
    assert int(results.aggregates[0][0]) == value * rows * 2 ** (rows - 1)
    assert results.aggregates[1][0] == float(value)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 0.1, 5e-324])
def test_averages_of_floats_beyond_float_range(scale):
    values = (np.arange(1500) % 7 - 3) * scale
    measures = [Measured("avg", 1, True, 0), Measured("sum", 1, True, 0)]
    wanted = [Aggregate("avg", 1, values), Aggregate("sum", 1, values)]
    results = fold_kleene([700, 300, 500], measures, wanted)
    assert results.aggregates[0][0] == pytest.approx(
        sum(map(int, values / scale)) / 1500 * scale, rel=1e-12, abs=5e-324
    )
    assert int(results.count[0]) == 2**1500 - 1


def test_floats_of_all_exponents_cancel_exactly():
    # every value is there with both signs, and in as many trends
    values = np.array([1e308, 5e-324, 0.1, 3.0, -1e308, -5e-324, -0.1, -3.0])
    results = fold_kleene([3, 2, 3], [Measured("sum", 1, True)], [Aggregate("sum", 1, values)])
    assert results.aggregates[0][0] == 0.0


def test_sums_of_floats_are_rounded_once():
    values = np.array([1e16, 1.0, -1e16])
    assert fold_kleene([3], [Measured("sum", 1, True)], [Aggregate("sum", 1, values)]).aggregates[0][0] == 4.0


def test_floats_beyond_their_range_are_infinite():
    values = np.ones(3000)
    results = fold_kleene([1000] * 3, [Measured("sum", 1, True)], [Aggregate("sum", 1, values)], "float64")
    assert np.isposinf(results.count[0])
    assert np.isposinf(results.aggregates[0][0])


def test_one_key_grows_while_another_stays_small():
    algebra = make_algebra(KLEENE, (), only_beginnings=True)
    folded = no_summaries(algebra)
    which = np.array([-1, -1])
    for step in range(20):
        rows = kleene_rows([1, 30])
        folded = extend(algebra, folded, which, rows._replace(tick=rows.tick + 100 * step), [])
        which = np.arange(2)
        results = finish(algebra, folded, np.arange(2), np.arange(2) + 1)
        assert [int(x) for x in results.count] == [2 ** (step + 1) - 1, 2 ** (30 * (step + 1)) - 1]
    assert folded.width.tolist() == [1, 10]


@pytest.mark.parametrize("values", [np.arange(40), np.arange(40) * 2**50, np.arange(40) / 8])
def test_the_same_types_and_numbers_as_all_rows_at_once(values):
    kinds = ["count", "sum", "avg", "min", "max"]
    wanted = [Aggregate(kind, 1, None if kind == "count" else values) for kind in kinds]
    measures = [Measured(kind, 1, values.dtype == np.float64) for kind in kinds]
    one, other = aggregate(kleene_rows([40]), KLEENE, None, wanted), fold_kleene([15, 25], measures, wanted)
    for column, same in zip((one.count, *one.aggregates), (other.count, *other.aggregates), strict=True):
        assert column.dtype == same.dtype
        assert column.tolist() == same.tolist()


def test_wrong_calls_are_refused():
    with pytest.raises(ValueError, match="one of"):
        make_algebra(KLEENE, (), "decimal")
    with pytest.raises(ValueError, match="the kind of a measure"):
        make_algebra(KLEENE, [Measured("median", 1)])
    algebra = make_algebra(KLEENE, (), only_beginnings=True)
    with pytest.raises(ValueError, match="2 earlier summaries for 1 segments"):
        extend(algebra, no_summaries(algebra), np.array([-1, -1]), kleene_rows([3]), [])
    with pytest.raises(ValueError, match="1 aggregates for 0 measures"):
        extend(algebra, no_summaries(algebra), np.array([-1]), kleene_rows([3]), [Aggregate("count", 1)])
    panes = extend(algebra, no_summaries(algebra), np.array([-1, -1]), kleene_rows([3, 3]), [])
    with pytest.raises(ValueError, match="cannot be put together"):
        finish(algebra, panes, np.zeros(1, np.int64), np.full(1, 2))
