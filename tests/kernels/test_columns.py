"""A column is read once, whoever copied it on the way."""

import numpy as np

from trendweave.kernels import Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates import passes
from trendweave.kernels.columns import ColumnList, same_column

KLEENE = Template(np.array([0]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))


def test_columns_are_the_same_by_what_they_hold():
    x = np.array([3, 1, 2])
    assert same_column(x, x.copy())
    assert same_column(None, None)
    assert same_column(x[:0], x[1:1])
    assert not same_column(x, None)
    assert not same_column(x, np.array([3, 0, 2]))
    assert not same_column(x, x[:2])
    assert not same_column(x, x.astype(np.float64))


def test_a_copied_column_keeps_its_number():
    columns = ColumnList()
    x, y = np.arange(5), np.arange(5)[::-1]
    assert [columns.number(column) for column in (x, y, x.copy(), y.copy())] == [0, 1, 0, 1]
    assert columns.matrix(5).tolist() == [x.tolist(), y.tolist()]


def test_copies_do_not_double_the_work(monkeypatch):
    """Comparisons of copied columns ask a kernel for no more than those of one column."""
    asked = []
    run = passes.run_loop

    def recording(name, text, takes, values, interpreted):
        asked.append((len(values["results"]), len(values["codes"]) if "codes" in values else 0, text))
        run(name, text, takes, values, interpreted)

    monkeypatch.setattr(passes, "run_loop", recording)
    x = np.array([3, 1, 2])
    rows = Rows(np.array([0, 3]), np.arange(3), np.zeros(3, np.int64), np.zeros(3, np.int64), np.ones(3, np.uint64))
    one = aggregate(rows, KLEENE, [Condition((Comparison(x, ">", x),))])
    other = aggregate(rows, KLEENE, [Condition((Comparison(x.copy(), ">", x.copy()),))])
    assert asked[0] == asked[1]
    assert one.count.tolist() == other.count.tolist()
