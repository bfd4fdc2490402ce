"""Queries with device="gpu" on a simulated card: the same rows as on a processor."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.gpu.simulator import SimulatedCard
from trendweave.errors import ExecutionError

QUERIES = {
    "no predicate": "RETURN COUNT(*), SUM(A.x), AVG(B.y) PATTERN SEQ(A, B+)",
    "overlapping windows": "RETURN COUNT(*), MIN(A.x), MAX(A.y) PATTERN A+ WITHIN 8 seconds SLIDE 2 seconds",
    "one comparison": "RETURN COUNT(*), SUM(A.x), AVG(A.y), MAX(A.y) PATTERN A+ WHERE A.x < NEXT(A).x GROUP-BY k",
    "an equality": "RETURN COUNT(*), COUNT(A) PATTERN A+ WHERE A.k = NEXT(A).k WITHIN 10 seconds SLIDE 5 seconds",
    "an equality and a comparison": "RETURN COUNT(*), MIN(A.y) PATTERN A+ WHERE A.k = NEXT(A).k AND A.x >= NEXT(A).x",
    "three comparisons": "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y != NEXT(A).y AND A.k <= NEXT(A).k",
    "arithmetic on two events": "RETURN COUNT(*) PATTERN A+ WHERE A.x + NEXT(A).x > 4",
    "nested": "RETURN COUNT(*), COUNT(B) PATTERN (SEQ(A+, B))+ WHERE A.x < NEXT(A).x",
    "NOT inside": "RETURN COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE A.x <= NEXT(A).x WITHIN 12 seconds SLIDE 3 seconds",
    "NOT first": "RETURN COUNT(*) PATTERN SEQ(NOT C, A+, B) WITHIN 9 seconds SLIDE 3 seconds",
    "NOT last": "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B, NOT C) WITHIN 9 seconds SLIDE 3 seconds",
    "contiguous": "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE A.x < NEXT(A).x",
    "earlier events": "RETURN COUNT(*), SUM(B.x), MIN(A.x) PATTERN SEQ(A, C*, B) WHERE A.x < B.x GROUP-BY k",
    "the first event": "RETURN COUNT(*) PATTERN A+ WHERE A.x > FIRST(A).x WITHIN 8 seconds SLIDE 4 seconds",
    "moving windows": "RETURN COUNT(*), MAX(A.x) PATTERN A+ WHERE A.x > NEXT(A).x WITHIN 6 seconds",
    "moving windows and NOT": "RETURN COUNT(*) PATTERN SEQ(NOT C, A+) WITHIN 6 seconds",
    "sessions": "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [k] WITHIN SESSION 3 seconds",
    "a conjunction": "RETURN COUNT(*) PATTERN A AND B WITHIN 8 seconds SLIDE 4 seconds",
    "alternatives and options": "RETURN COUNT(*), COUNT(C) PATTERN SEQ(A, (B OR C)+, A?) WHERE B.x <= NEXT(C).x",
    "bounds": "RETURN COUNT(*) PATTERN A{2,4} WHERE A.x != NEXT(A).x",
    "keys of one variable": "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [A.k] AND A.x < NEXT(A).x",
    "statistics": "RETURN STDDEV(A.y), VARIANCE(A.x), COUNT(DISTINCT A.x) PATTERN A+ WHERE A.x < NEXT(A).x",
}


@pytest.fixture(autouse=True)
def there_is_a_card(gpu: SimulatedCard, monkeypatch: pytest.MonkeyPatch) -> SimulatedCard:
    monkeypatch.setattr("trendweave.runners.options.require_card", lambda: None, raising=False)
    return gpu


def make_events(seed: int, count: int = 40) -> pa.Table:
    """Ties in time, NULLs, NaN and values that repeat."""
    rng = np.random.default_rng(seed)
    x = [None if rng.random() < 0.1 else int(rng.integers(-3, 6)) for _ in range(count)]
    y = [None if rng.random() < 0.1 else float(rng.choice([0.25, -1.5, 7.0, 1e9, np.nan])) for _ in range(count)]
    return pa.table(
        {
            "time": pa.array(np.cumsum(rng.choice([0, 1, 1, 2], count))),
            "type": pa.array(rng.choice(["A", "A", "A", "B", "C"], count)),
            "k": pa.array(rng.integers(0, 3, count)),
            "x": pa.array(x, pa.int64()),
            "y": pa.array(y, pa.float64()),
        }
    )


def check_same(ours: pa.Table, theirs: pa.Table) -> None:
    assert ours.schema == theirs.schema
    for name in theirs.column_names:
        found, expected = ours[name].to_pylist(), theirs[name].to_pylist()
        if pa.types.is_floating(theirs.schema.field(name).type):
            assert [value is None for value in found] == [value is None for value in expected]
            shown = ([np.nan if value is None else value for value in column] for column in (found, expected))
            np.testing.assert_allclose(*shown, rtol=1e-9, atol=1e-9)
        else:
            assert found == expected


@pytest.mark.parametrize("numbers", [None, "float64"])
@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_a_processor(there_is_a_card, name, numbers):
    query, events = trendweave.query(QUERIES[name]), make_events(len(name))
    options = {} if numbers is None else {"numbers": numbers}
    before = there_is_a_card.launches
    found = query.run(events, device="gpu", **options)
    assert there_is_a_card.launches > before
    check_same(found, query.run(events, device="cpu", **options))


@pytest.mark.parametrize("where", ["", "WHERE A.x != NEXT(A).x", "WHERE A.x + NEXT(A).x < 100"])
def test_counts_of_any_size(where):
    events = make_events(3, 240).set_column(1, "type", pa.array(["A"] * 240))
    query = trendweave.query(f"RETURN COUNT(*), SUM(A.x) PATTERN A+ {where} WITHIN 200 seconds SLIDE 100 seconds")
    found = query.run(events, device="gpu", numbers="text")
    assert max(len(count) for count in found["count"].to_pylist()) > 20
    check_same(found, query.run(events, device="cpu", numbers="text"))


def test_nothing_and_one_event():
    query = trendweave.query("RETURN COUNT(*), MAX(A.x) PATTERN A+ WHERE A.x < NEXT(A).x")
    for events in (make_events(0).slice(0, 0), make_events(0).slice(0, 1)):
        check_same(query.run(events, device="gpu"), query.run(events, device="cpu"))


def test_what_no_card_does_is_refused():
    query = trendweave.query("RETURN COUNT(*) PATTERN A+ SEMANTICS skip-till-next-match WHERE A.x < NEXT(A).x")
    with pytest.raises(ExecutionError, match=r"(?s)skip-till-next-match.*device='cpu'"):
        query.run(make_events(0), device="gpu")
