"""Lists of trends whose links are found first have the rows, in the same order, of those whose links are found on the
way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import TrendweaveError
from trendweave.expressions.compiled.loading import load_plain
from trendweave.expressions.compiled.paired import LEFT, PairCondition
from trendweave.kernels import Rows, Template
from trendweave.programs.trends.linked import choice, ends
from trendweave.programs.trends.linked.reach import find_reach
from trendweave.programs.trends.linked.states import order_states

QUERIES = (
    "RETURN EACH FIRST(A.time) AS a, LAST(B.time) AS b PATTERN SEQ(X A, Y B) WHERE A.v <= B.v WITHIN 7 seconds",
    "RETURN TRENDS PATTERN SEQ(X A, Y B+, X C) WHERE abs(PREV(A).v - B.v) <= 3 AND B.w < NEXT(B).w "
    "AND abs(B.v - C.v) < 4 WITHIN 12 seconds SLIDE 4 seconds SEMANTICS skip-till-next-match",
    "RETURN TRENDS PATTERN SEQ(X A, Y B+, X C) WHERE abs(PREV(A).v - B.v) <= 3 AND B.w < NEXT(B).w "
    "WITHIN 12 seconds SEMANTICS skip-till-next-match",
    "RETURN TRENDS PATTERN (SEQ(X A+, Y B))+ WHERE A.v < NEXT(A).v AND [k] AND A.t != B.t "
    "WITHIN 8 seconds SLIDE 8 seconds",
    "RETURN EACH COUNT(A) AS n, LAST(A.w) AS w PATTERN SEQ(X A+, Y B?) WHERE A.t <= NEXT(A).t AND [A.k] "
    "WITHIN 8 seconds LIMIT 5",
    "RETURN EACH k, COUNT(A) AS n, FIRST(A.time) AS f PATTERN SEQ(X A, X B, X C) WHERE A.w + B.w > 0 "
    "GROUP-BY k WITHIN SESSION 3 seconds SAMPLE 4",
    "RETURN TRENDS PATTERN SEQ(X A, Y B, X C) WHERE A.v - B.v <= B.w AND MAX(C.v) > 2 WITHIN 10 seconds LIMIT 7",
    "RETURN TRENDS PATTERN SEQ(X A, (Y B OR Z D), X C) WHERE A.v - B.v <= B.w AND D.v != C.v LONGEST 3",
    "RETURN TRENDS PATTERN SEQ(X A, Y B+) WHERE B.v <= NEXT(B).v WITHIN 10 seconds "
    "SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST ROW",
)


class PlainLinks:
    """The same by loops of Python."""

    def find_all(
        self,
        condition: PairCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        pairs = sorted((j, i) for i, j in self._find(condition, sources, targets, low, high))
        found = np.array(pairs, np.int64).reshape(-1, 2)
        return (found[:, 1], found[:, 0]) if len(pairs) <= room else None

    def find_first(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        first = np.full(sources.size, -1)
        for i, j in self._find(condition, sources, targets, low, high):
            first[i] = j if first[i] < 0 else first[i]
        return first

    def _find(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[int, int]]:
        test = load_plain(condition.python)
        for i in range(sources.size):
            for j in range(low[i], high[i]):
                if test(*(one.values[sources[i] if one.side == LEFT else targets[j]] for one in condition.columns)):
                    yield i, j


def make_events(rows: int, random: np.random.Generator) -> pa.Table:
    def some(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < 0.1)

    return pa.table(
        {
            "time": np.sort(random.integers(0, max(1, rows // 2), rows)),
            "type": random.choice(np.array(["X", "Y", "Z"]), rows),
            "v": some(random.integers(-5, 6, rows).astype(float)),
            "w": some(random.choice([1.0, 2.0, -3.0, np.nan, np.inf, 0.0, -0.0], rows)),
            "k": random.integers(0, 3, rows),
            "t": some(random.choice(np.array(["a", "b", "c"]), rows)),
        }
    )


def rows_of(query: trendweave.Query, events: pa.Table) -> str:
    try:
        return repr(query.run(events).to_pylist())  # NaN is NaN
    except TrendweaveError as error:
        return str(error)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_rows_are_the_same(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query, random = trendweave.query(QUERIES[number]), np.random.default_rng(number)
    monkeypatch.setattr(choice, "CompiledLinks", PlainLinks)
    shown = 0
    for rows in (0, 1, 7, 40, 80, 80):
        events = make_events(rows, random)
        monkeypatch.setattr(choice, "MANY_PAIRS", 2**62)
        expected = rows_of(query, events)
        monkeypatch.setattr(choice, "MANY_PAIRS", -1)

        assert rows_of(query, events) == expected
        shown += len(expected) > 2
    assert shown >= 2


def test_more_trends_than_are_counted_one_by_one_are_counted_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    query, events = trendweave.query(QUERIES[0]), make_events(80, np.random.default_rng(6))
    expected = rows_of(query, events)
    monkeypatch.setattr(choice, "MANY_PAIRS", -1)
    monkeypatch.setattr(choice, "CompiledLinks", PlainLinks)
    monkeypatch.setattr(ends, "MOST_COUNTED", 3)

    assert rows_of(query, events) == expected
    assert query.run(events).num_rows > 3


def test_compiled_loops_find_what_plain_ones_find(monkeypatch: pytest.MonkeyPatch) -> None:
    query, events = trendweave.query(QUERIES[1]), make_events(400, np.random.default_rng(5))
    expected = rows_of(query, events)
    monkeypatch.setattr(choice, "MANY_PAIRS", -1)

    assert rows_of(query, events) == expected
    assert len(expected) > 1000


def test_conditions_on_many_different_values_are_served() -> None:
    # More pairs of values than are decided beforehand.
    random = np.random.default_rng(1)
    rows = 21_000
    events = pa.table({"time": np.arange(rows), "x": random.permutation(rows).astype(float)})
    query = trendweave.query(
        "RETURN EACH FIRST(A.x) AS a, LAST(B.x) AS b PATTERN SEQ(E A, E B) WHERE abs(A.x - B.x) <= 1 WITHIN 100 seconds"
    )

    found = query.run(events, type=None)

    x = events["x"].to_numpy()
    far = [(x[i], x[i + d]) for d in range(1, 100) for i in np.flatnonzero(np.abs(x[d:] - x[:-d]) <= 1)]
    assert sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)) == sorted(far)


def test_states_come_after_those_that_lead_to_them() -> None:
    # 3 -> 1 (repeats) -> 0, and 2 <-> 4 behind 0
    source, target = np.array([3, 1, 1, 0, 2, 4]), np.array([1, 1, 0, 2, 4, 2])
    nothing = np.zeros(5, np.bool_)

    order, repeats = order_states(Template(np.arange(5), nothing, nothing, source, target))

    assert order == [3, 1, 0, 2, 4]
    assert repeats.tolist() == [False, True, True, False, True]


@pytest.mark.parametrize("offset", [0, 2**60])
def test_reach_ends_with_the_tick_the_window_and_the_segment(offset: int) -> None:
    tick = np.array([0, 0, 1, 3, 3, 4, 4, 5])
    first, last = tick - 2 + offset, tick - np.array([0, 0, 0, 0, 0, 3, 3, 3]) + offset
    first[0:2] = -offset
    rows = Rows(np.array([0, 5, 8]), tick, np.minimum(first, last), last, np.ones(8, np.uint64))

    reach = find_reach(rows)

    assert reach.later.tolist() == [2, 2, 3, 5, 5, 7, 7, 8]
    windows = list(zip(rows.window_first.tolist(), rows.window_last.tolist(), strict=True))
    for row, (_, end) in enumerate(windows):
        stop = 5 if row < 5 else 8
        begin = 0 if row < 5 else 5
        beyond = [other for other in range(begin, stop) if windows[other][0] > end]
        assert reach.beyond[row] == min([*beyond, stop])
