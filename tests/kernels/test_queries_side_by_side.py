"""Queries side by side in one vector: each gives what it gives alone, whatever the others read, begin, end and skip."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.forced import aggregate
from tests.kernels.random_cases import arguments, cases, dense_case, examples
from trendweave.kernels import (
    Aggregate,
    Comparison,
    Condition,
    QueryLanes,
    Results,
    Rows,
    Selection,
    Template,
    sort_by_query,
)

pytestmark = pytest.mark.usefixtures("whole_numbers")

SEEDS = st.integers(0, 2**32)


def split_queries(results, count):
    """The results of each query, with its own windows."""
    window, query = np.divmod(results.window, count)
    query, results = sort_by_query(results, query, window)
    parts = []
    for number in range(count):
        own = query == number
        columns = tuple(column[own] for column in results.aggregates)
        valid = tuple(None if known is None else known[own] for known in results.valid)
        parts.append(Results(results.segment[own], results.window[own], results.count[own], columns, valid))
    return parts


def draw_queries(rng, template, most=9):
    """Some queries over the states and transitions of a template, and which of their states count per aggregate."""
    states, transitions = len(template.state_variable), len(template.source)
    count = int(rng.integers(1, most + 1))
    variables = int(max(template.state_variable, default=0)) + 1
    variable = rng.integers(0, variables, (states, count))
    if rng.random() < 0.5:
        variable = np.repeat(np.asarray(template.state_variable)[:, None], count, axis=1)
    variable[rng.random((states, count)) < 0.2] = -1
    own = rng.random((transitions, count)) < 0.8
    own[:, 0] |= ~own.any(axis=1)
    flags = [rng.random((states, count)) < 0.7 for _ in range(2)]
    return QueryLanes(count, variable, *flags, own)


def alone(given_, queries, query, counted):
    """The arguments of one query by itself, with a variable of its own for each state."""
    template, rows = given_["template"], given_["rows"]
    states = len(template.state_variable)
    letters = np.zeros(len(rows.tick), np.uint64)
    for state, variable in enumerate(queries.variable[:, query]):
        if variable >= 0:
            letters |= (rows.letters >> np.uint64(variable) & np.uint64(1)) << np.uint64(state)
    kept = np.flatnonzero(queries.transitions[:, query])
    there = queries.variable[:, query] >= 0
    own = Template(
        np.arange(states), queries.is_start[:, query] & there, queries.is_final[:, query] & there,
        np.asarray(template.source)[kept], np.asarray(template.target)[kept],
    )  # fmt: skip
    masks = [sum(1 << s for s in np.flatnonzero(flags[:, query])) for flags in counted]
    parts = [part._replace(variables=mask) for part, mask in zip(given_["aggregates"], masks, strict=True)]
    conditions = [given_["transition_conditions"][t] for t in kept]
    changed = {"rows": rows._replace(letters=letters), "template": own, "aggregates": parts}
    return {**given_, **changed, "transition_conditions": conditions}


def together(given_, queries, counted):
    bits = [np.flatnonzero(flags.reshape(-1)) for flags in counted]
    parts = [
        part._replace(variables=sum(1 << int(b) for b in places))
        for part, places in zip(given_["aggregates"], bits, strict=True)
    ]
    return {**given_, "aggregates": parts, "queries": queries}


def assert_alike(ours, theirs, numbers, added=()):
    """The same windows and numbers; sums of floats to the last digits of the values that were added up."""
    assert ours.segment.tolist() == theirs.segment.tolist()
    assert ours.window.tolist() == theirs.window.tolist()
    values = [None, *(part.values for part in added)]
    columns = [(ours.count, theirs.count), *zip(ours.aggregates, theirs.aggregates, strict=True)]
    for (mine, other), summed in zip(columns, values, strict=True):
        if numbers == "exact" and mine.dtype != np.float64:
            assert mine.tolist() == other.tolist()
        else:
            rounded = numbers != "exact" and summed is not None
            size = np.abs(summed.astype(float)).sum() * theirs.count.astype(float) if rounded else 0
            mine, other = mine.astype(float), other.astype(float)
            assert np.isclose(mine, other, rtol=1e-9, atol=1e-3 + 1e-12 * size, equal_nan=True).all(), (mine, other)
    for mine, other in zip(ours.valid, theirs.valid, strict=True):
        assert (mine is None) == (other is None)
        assert mine is None or mine.tolist() == other.tolist()


def check(given_, queries, rng, numbers="exact", force_way=None):
    states = len(given_["template"].state_variable)
    counted = [rng.random((states, queries.count)) < 0.7 for _ in given_["aggregates"]]
    options = {"numbers": numbers, "force_way": force_way}
    parts = split_queries(aggregate(**together(given_, queries, counted), **options), queries.count)
    for query, ours in enumerate(parts):
        assert_alike(
            ours, aggregate(**alone(given_, queries, query, counted), **options), numbers, given_["aggregates"]
        )
    return parts


@pytest.mark.parametrize("force_way", [None, "scan"])
@examples(80)
@given(seed=SEEDS, floats=st.booleans())
def test_dense_cases(seed, floats, force_way):
    """Ties, guards, windows, all selections, comparisons of all kinds, pair tests; counts, sums and extrema."""
    case, rng = dense_case(seed), np.random.default_rng(seed)
    given_ = arguments(case)
    values = np.array(case["values"], np.int64)
    given_["aggregates"] = [
        Aggregate("sum", 0, values), Aggregate("count", 0), Aggregate("max", 0, values), Aggregate("sum", 0, values / 4)
    ][: rng.integers(0, 5)]  # fmt: skip
    check(given_, draw_queries(rng, given_["template"]), rng, "float64" if floats else "exact", force_way)


@examples(40)
@given(seed=SEEDS, selection=st.sampled_from(["next", "contiguous"]))
def test_guards_where_less_is_skipped(seed, selection):
    """Queues, from which queries take their own vertices."""
    case, rng = dense_case(seed), np.random.default_rng(seed)
    count = len(case["source"])
    thresholds = [np.maximum(np.array(case["tick"]) - int(rng.integers(1, 9)), 0).tolist() for _ in range(count)]
    cut = case["segment_starts"][1]
    for guard in thresholds:
        guard[cut:] = np.maximum.accumulate(guard[cut:]).tolist() if guard[cut:] else []
    case.update(comparisons=[[]] * count, pair_tests=[None] * count, guards=thresholds, selection=selection)
    given_ = arguments(case)
    given_["aggregates"] = [Aggregate("sum", 0, np.array(case["values"], np.int64))]
    check(given_, draw_queries(rng, given_["template"]), rng)


@examples(100)
@given(case=cases(), seed=SEEDS)
def test_small_cases(case, seed):
    """Rows in no window, NULLs, values up to the ends of int64."""
    rng, given_ = np.random.default_rng(seed), arguments(case)
    check(given_, draw_queries(rng, given_["template"]), rng)


@examples(40)
@given(seed=SEEDS, floats=st.booleans(), overlap=st.sampled_from([1, 3, 20]))
def test_falling_prices(seed, floats, overlap):
    """S+ with an order comparison, up to 64 queries: the loop for one state; limbs where numbers grow."""
    rng = np.random.default_rng(seed)
    n, count = 130, int(rng.integers(1, 65))
    tick = np.cumsum(rng.random(n) < 0.9)
    window = tick // 60
    letters = np.ones((n, 2), np.uint64) * np.uint64(2**64 - 1)
    letters[:, 1] = rng.integers(0, 2**60, n)
    rows = Rows(np.array([0, n]), tick, window - overlap + 1, window, letters)
    template = Template(np.zeros(1, int), np.ones(1, bool), np.ones(1, bool), np.zeros(1, int), np.zeros(1, int))
    price = np.arange(n)[::-1] // 2 if rng.random() < 0.5 else rng.integers(0, 50, n)
    conditions = [Condition((Comparison(price, ">", price),))]
    everywhere = np.ones((1, count), bool)
    starts, finals = (rng.random((1, count)) < rng.choice([0.7, 1, 1, 1]) for _ in range(2))
    variable = rng.integers(0, 120, (1, count))
    queries = QueryLanes(count, variable, starts, finals, everywhere)
    numbers = "float64" if floats else "exact"
    ours = aggregate(rows, template, conditions, numbers=numbers, queries=queries)
    for query, part in enumerate(split_queries(ours, count)):
        one = Template(variable[:, query], starts[:, query], finals[:, query], *template[3:])
        assert_alike(part, aggregate(rows, one, conditions, numbers=numbers), numbers)


@pytest.mark.parametrize("size", [1, 2**55, 2**62])
def test_rows_add_nothing_to_overlapping_windows_that_they_are_not_in(size):
    """SEQ(A+, B) and A+ over a0, b3: only the last of four windows holds both."""
    rows = Rows(np.array([0, 2]), np.array([0, 3]), np.array([-3, 0]), np.array([0, 3]), np.array([1, 2], np.uint64))
    template = Template(np.array([0, 1]), np.array([1, 0]), np.array([1, 1]), np.array([0, 0]), np.array([0, 1]))
    rising = Condition((Comparison(np.arange(2), "<", np.arange(2)),))
    queries = QueryLanes(
        2,
        np.array([[0, 0], [1, -1]]),
        np.array([[1, 1], [0, 0]]),
        np.array([[0, 1], [1, 0]]),
        np.array([[1, 1], [1, 0]]),
    )
    total = [Aggregate("sum", 0b0100, np.array([0, size]))]
    results = aggregate(rows, template, [rising, None], total, queries=queries)
    first, second = split_queries(results, 2)
    assert (first.window.tolist(), first.count.tolist()) == ([0], [1])
    assert first.aggregates[0].tolist() == [size]
    assert (second.window.tolist(), second.count.tolist()) == ([-3, -2, -1, 0], [1] * 4)


def test_skip_till_next_match_skips_per_query():
    """SEQ(A, B) twice over a1, b2, b3; the second query reads only b3 as B, so its a1 waits for it."""
    rows = Rows(np.array([0, 3]), np.arange(3), np.zeros(3, int), np.zeros(3, int), np.array([1, 2, 6], np.uint64))
    template = Template(np.array([0, 1]), np.array([1, 0]), np.array([0, 1]), np.array([0]), np.array([1]))
    lanes = QueryLanes(
        2, np.array([[0, 0], [1, 2]]), np.array([[1, 1], [0, 0]]), np.array([[0, 0], [1, 1]]), np.ones((1, 2))
    )
    value = [Aggregate("max", 0b1100, np.arange(3))]
    for way in (None, "scan"):
        results = aggregate(rows, template, None, value, Selection.NEXT, force_way=way, queries=lanes)
        assert [part.count.tolist() for part in split_queries(results, 2)] == [[1], [1]]
        assert [part.aggregates[0].tolist() for part in split_queries(results, 2)] == [[1], [2]]


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        (QueryLanes(65, *[np.ones((1, 65), int)] * 4), "1 to 64 queries"),
        (QueryLanes(2, *[np.ones((1, 2), int)] * 3, np.ones((2, 2), int)), "one entry per state"),
        (QueryLanes(2, *[np.ones((1, 2), int)] * 3, np.zeros((1, 2), int)), "for one query at least"),
    ],
)
def test_refused(lanes, message):
    one = np.zeros(1, np.int64)
    rows = Rows(np.array([0, 1]), one, one, one, np.ones(1, np.uint64))
    with pytest.raises(ValueError, match=message):
        aggregate(rows, Template(one, one == 0, one == 0, one, one), queries=lanes)
