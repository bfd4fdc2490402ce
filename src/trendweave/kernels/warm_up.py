"""Compile (or load from the disk cache) what queries need, before the first query is timed."""

import numpy as np

from trendweave.kernels.aggregates.entry import aggregate
from trendweave.kernels.aggregates.match_starts import match_starts
from trendweave.kernels.inputs import Aggregate, Comparison, Condition, QueryLanes, Rows, Selection, Template
from trendweave.kernels.lists.contiguous import Automaton, write_count
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import (
    ExtremumMeasure,
    LinearMeasure,
    SharedMeasures,
    SharedRows,
    aggregate_shared,
)
from trendweave.kernels.query_masks import first_seen

ROWS = 40  # more than are compared one by one
MANY_ROWS = 70  # so many that there are more trends than 64 bits hold
MANY_WINDOWS = 400  # in so many that vectors are cut into several blocks


def warm_up() -> None:
    """Run every kernel on a few rows, with whole numbers and with floats.

    A kernel is compiled once per type of number; everything else (the template, conditions, selection, sizes) is data
    to it. So these calls stand for all others.
    """
    numbers = np.arange(ROWS)
    window = np.zeros(ROWS, np.int64)
    letters = np.ones(ROWS, np.uint64)
    # A+
    template = Template(np.zeros(1, np.int64), np.ones(1, bool), np.ones(1, bool), *[np.zeros(1, np.int64)] * 2)
    one_window = Rows(np.array([0, 1, ROWS]), numbers, window, window, letters)  # few rows, and more of them
    overlapping = one_window._replace(window_first=numbers - MANY_WINDOWS, window_last=numbers)
    falling = [Condition((Comparison(numbers, ">", numbers),))]
    wanted = [Aggregate("sum", 1, numbers), Aggregate("sum", 1, numbers / 2), Aggregate("max", 1, numbers)]
    for rows in (one_window, overlapping):
        for conditions in (None, falling):
            for kind in ("exact", "float64"):
                aggregate(rows, template, conditions, wanted, numbers=kind)
                aggregate(rows, template, conditions, numbers=kind)
    for kind in ("exact", "float64"):  # what only the loop for everything runs
        aggregate(one_window, template, falling, wanted, Selection.NEXT, numbers=kind)
    times, window = np.arange(MANY_ROWS), np.zeros(MANY_ROWS, np.int64)
    many_trends = Rows(np.array([0, MANY_ROWS]), times, window, window, np.ones(MANY_ROWS, np.uint64))
    aggregate(many_trends, template)
    aggregate(many_trends, template, None, [Aggregate("count", 1)])
    match_starts(one_window, template, falling)
    count_steps(numbers)


def warm_up_shared() -> None:
    """The same, and what only workloads call."""
    warm_up()
    run_side_by_side()
    run_shared()


def run_side_by_side() -> None:
    """Two queries A+ in one vector: masks are compiled into kernels of their own."""
    numbers, window = np.arange(ROWS), np.zeros(ROWS, np.int64)
    letters = np.ones((ROWS, 1), np.uint64)
    one, yes = np.zeros(1, np.int64), np.ones((1, 2), bool)
    rows = Rows(np.array([0, ROWS]), numbers, window, window, letters)
    queries = QueryLanes(2, np.zeros((1, 2), np.int64), yes, yes, yes)
    falling = [Condition((Comparison(numbers, ">", numbers),))]
    wanted = [Aggregate("sum", 3, numbers), Aggregate("sum", 3, numbers / 2), Aggregate("max", 3, numbers)]
    for kind in ("exact", "float64"):
        for asked in ([], wanted):
            aggregate(rows, Template(one, yes[0], yes[0], one, one), falling, asked, numbers=kind, queries=queries)
    first_seen(letters, rows.segment_starts, letters[:2])


def count_steps(numbers: np.ndarray) -> None:
    """A+, contiguous."""
    loop, bits = write_count(Automaton((0,), (0,), (0,), ((0, 0),)), prunes=False), np.ones(ROWS, np.uint8)
    loop.run({"steps": bits, "begins": bits, "low": numbers, "high": numbers + 1, "counts": np.zeros(ROWS)})


def run_shared() -> None:
    """Two queries A+ in one pass."""
    numbers, zero, both = np.arange(ROWS), np.zeros(2, np.int64), np.arange(2)
    template = MergedTemplate(
        zero, zero, zero == 0, both, both, zero - 1, both, both, zero, zero, both, queries=2, query_window=zero
    )
    window = np.zeros((1, ROWS), np.int64)
    rows = SharedRows(np.array([0, ROWS]), numbers, np.ones((ROWS, 1), np.uint64), window, window)
    linear = LinearMeasure(zero == 0, numbers), LinearMeasure(zero == 0, numbers / 2)
    aggregate_shared(rows, template, SharedMeasures(linear, (ExtremumMeasure(zero == 0, numbers),)))
