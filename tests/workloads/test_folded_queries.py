"""Queries of a workload whose events are forgotten, beside others that need them, and while queries come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from trendweave.programs.shared.program import Shared
from trendweave.runners.incremental import Incremental

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string(), "x": pa.int64()})
WINDOW = "WITHIN 4 seconds SLIDE 2 seconds"
FOLDED = f"RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k {WINDOW}"
KEEPING = f"RETURN COUNT(*) PATTERN SEQ(C+, D) WHERE C.x < NEXT(C).x {WINDOW}"
#: Shares its A+ with the first query where both are planned together.
ALIKE = f"RETURN k, COUNT(*) PATTERN SEQ(A+, C) WHERE [k] GROUP-BY k {WINDOW}"


def engine(queries: Mapping[str, str], folds: bool = True) -> Incremental:
    made = trendweave.workload(dict(queries)).incremental(SCHEMA)
    assert isinstance(made._program, Shared)
    return Incremental(replace(made._program, folds=folds))


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def folded_tables(carry: Mapping[str, pa.Table]) -> list[str]:
    return [name for name in carry if "/folded " in name]


EVENTS = hs.lists(
    hs.fixed_dictionaries(
        {
            "time": hs.integers(0, 12),
            "type": hs.sampled_from("AABCD"),
            "k": hs.sampled_from("uv"),
            "x": hs.integers(0, 3),
        }
    ),
    max_size=16,
)


@given(EVENTS, hs.lists(hs.tuples(hs.integers(0, 16), hs.booleans()), min_size=1, max_size=4))
@examples(25)
def test_a_query_folds_beside_one_that_needs_events(events: list[dict[str, Any]], cuts: list[tuple[int, bool]]) -> None:
    """Also where some steps are those of a release that kept all events."""
    events = sorted(events, key=lambda one: one["time"])
    queries = {"folded": FOLDED, "keeping": KEEPING}
    found = []
    for mixed in (False, True):
        keeping, folding = engine(queries, folds=False), engine(queries)
        state, rows, has_folded = keeping.start(), [], False
        for low, (high, fold) in zip([0, *(cut for cut, _ in sorted(cuts))], [*sorted(cuts), (16, True)], strict=True):
            has_folded |= mixed and fold
            asked = folding if has_folded else keeping
            watermark = events[high]["time"] if high < len(events) else None
            piece = pa.Table.from_pylist(events[low:high], SCHEMA)
            state, closed = asked.push(asked.read(state.to_bytes()), piece, watermark)
            rows += rows_of(closed)
        found.append(sorted(rows + rows_of((folding if has_folded else keeping).finish(state))))
    assert found[0] == found[1]


def test_a_query_whose_events_are_gone_is_not_merged_with_others() -> None:
    """A query that comes later is planned together with those that were always there, once that makes no difference."""
    session = trendweave.workload({"folded": FOLDED}).push(SCHEMA)
    alone = trendweave.query(FOLDED).push(SCHEMA)
    rows: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    for time in range(24):
        if time == 3:
            session.with_query("alike", ALIKE)
        if time == 20:
            session.with_query("third", ALIKE.replace("C)", "D)"))
        event = {"time": time, "type": "AABC"[time % 4], "k": "u", "x": time}
        rows += session.send(event)
        expected += alone.send(event)
    rows += session.finish().to_pylist()
    expected += alone.finish().to_pylist()
    own = [{name: row[name] for name in expected[0]} for row in rows if row["query"] == "folded"]
    assert sorted(map(repr, own)) == sorted(map(repr, expected))
    assert any(row["query"] == "alike" for row in rows)


def test_events_are_forgotten_in_a_session_of_a_workload() -> None:
    asked = engine({"folded": FOLDED})
    piece = pa.table({"time": [0, 1, 2], "type": ["A", "B", "A"], "k": ["u", "u", "v"], "x": [1, 2, 3]}, SCHEMA)
    state, _ = asked.push(asked.start(), piece, 3)
    assert state.rows is not None
    assert state.rows.num_rows == 0
    assert folded_tables(state.carry)
