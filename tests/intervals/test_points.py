"""Points and intervals in one query: events inside or outside of situations, against flags that are found naively."""

from __future__ import annotations

from itertools import groupby, pairwise
from math import inf
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from trendweave.errors import DataError, TrendweaveError

TREND = "RETURN k, COUNT(*), SUM(S.v) PATTERN SEQ(E S+, E T) WHERE [k] AND {s} AND {t} AND S.v <= NEXT(S).v GROUP-BY k"
DEFINED = " FROM E DEFINE X AS v > 2 AT LEAST 2 seconds, Y AS v < PREV(v) AT MOST 3 seconds"
SCHEMA = pa.schema([("time", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("v", pa.int64())])

events = hs.lists(
    hs.fixed_dictionaries(
        {
            "time": hs.integers(0, 12) | hs.none(),
            "type": hs.sampled_from(["E", "E", "E", "E", "F", None]),
            "k": hs.sampled_from(["p", "q"]),
            "v": hs.integers(0, 5) | hs.none(),
        }
    ),
    max_size=14,
)


def naive_flags(rows: list[dict[str, Any]], source: str | None = "E") -> list[dict[str, Any]]:
    """Every row with x and y: does it lie in a situation of its partition? Those are made by events of one type, or by
    all events."""
    flagged = [row | {"x": False, "y": False} for row in rows]
    for key in {row["k"] for row in rows}:
        own = sorted(
            (
                row
                for row in rows
                if row["k"] == key
                and row["time"] is not None
                and (row["type"] == source if source is not None else row["type"] is not None)
            ),
            key=lambda row: row["time"],
        )
        steps = [(time, [row["v"] for row in group]) for time, group in groupby(own, key=lambda row: row["time"])]
        holds_x = [all(v is not None and v > 2 for v in values) for _, values in steps]
        holds_y = [
            i > 0 and all(v is not None and w is not None and v < w for v in steps[i][1] for w in steps[i - 1][1])
            for i in range(len(steps))
        ]
        for name, holds, least, most in (("x", holds_x, 2, inf), ("y", holds_y, 0, 3)):
            i = 0
            while i < len(steps):
                if not holds[i]:
                    i += 1
                    continue
                j = i
                while j < len(steps) and holds[j]:
                    j += 1
                start, end = steps[i][0], steps[j][0] if j < len(steps) else None
                # What has not ended goes on: it is longer than any bound.
                length = inf if end is None else end - start
                if least <= length <= most:
                    for row in flagged:
                        if row["k"] == key and row["time"] is not None and row["time"] >= start:
                            row[name] |= end is None or row["time"] < end
                i = j
    return flagged


@pytest.mark.parametrize("source", ["E", None])
@examples(100)
@given(rows=events)
def test_events_inside_and_outside_of_situations(source: str | None, rows: list[dict[str, Any]]) -> None:
    defined = DEFINED if source is not None else DEFINED.replace("FROM E ", "")
    query = trendweave.query(TREND.format(s="S DURING X", t="T NOT DURING Y") + defined)
    plain = trendweave.query(TREND.format(s="S.x = TRUE", t="NOT T.y"))
    schema = SCHEMA.append(pa.field("x", pa.bool_())).append(pa.field("y", pa.bool_()))
    expected = plain.run(pa.Table.from_pylist(naive_flags(rows, source), schema)).to_pylist()
    assert_same_rows(expected, query.run(pa.Table.from_pylist(rows, SCHEMA)).to_pylist())


@pytest.mark.parametrize("window", ["", "WITHIN 6 seconds SLIDE 3 seconds", "SEMANTICS contiguous WITHIN 5 seconds"])
@examples(60)
@given(rows=events, data=hs.data())
def test_columns_order_events_of_one_time(window: str, rows: list[dict[str, Any]], data: hs.DataObject) -> None:
    """Situations begin and end at times; trends inside of them have the finer order."""
    numbers = data.draw(hs.lists(hs.integers(0, 2) | hs.none(), min_size=len(rows), max_size=len(rows)))
    rows = [row | {"number": number} for row, number in zip(rows, numbers, strict=True)]
    query = trendweave.query(f"{TREND.format(s='S DURING X', t='T NOT DURING Y')} {window} {DEFINED}")
    plain = trendweave.query(f"{TREND.format(s='S.x = TRUE', t='NOT T.y')} {window}")
    schema = SCHEMA.append(pa.field("number", pa.int64()))
    flagged = pa.Table.from_pylist(
        naive_flags(rows), schema.append(pa.field("x", pa.bool_())).append(pa.field("y", pa.bool_()))
    )
    expected = plain.run(flagged, order_by="number").to_pylist()
    assert_same_rows(expected, query.run(pa.Table.from_pylist(rows, schema), order_by="number").to_pylist())
    if not window:
        return
    engine = query.incremental(schema, order_by="number")
    state, found = engine.start(), []
    known = sorted((row for row in rows if row["time"] is not None), key=lambda row: row["time"])
    cut = data.draw(hs.integers(0, len(known)))
    for piece, rest in ((known[:cut], known[cut:]), (known[cut:], [])):
        watermark = rest[0]["time"] if rest else None
        state, result = engine.push(state, pa.Table.from_pylist(piece, schema), watermark)
        found += result.to_pylist()
    assert_same_rows(expected, found + engine.finish(state).to_pylist())


def test_printed_and_read_again_it_is_the_same_query() -> None:
    query = trendweave.query(TREND.format(s="S DURING X", t="T NOT DURING Y") + DEFINED)
    assert query.kind == "trends in situations"
    assert trendweave.query(str(query)) == query
    assert "S DURING X AND NOT T DURING Y" in str(query)
    assert "situations that events lie in" in query.explain()
    assert query.schema(SCHEMA).names == ["window_start", "window_end", "k", "count", "sum_S_v"]


def test_unknown_situations_and_taken_columns_are_refused() -> None:
    with pytest.raises(TrendweaveError, match="unknown situation Z"):
        trendweave.query(TREND.format(s="S DURING Z", t="T DURING X") + DEFINED)
    query = trendweave.query(TREND.format(s="S DURING X", t="T DURING Y") + DEFINED)
    with pytest.raises(DataError, match="during X"):
        query.check(SCHEMA.append(pa.field("during X", pa.bool_())))
    with pytest.raises(DataError, match="unknown column v"):
        query.check(SCHEMA.remove(3))


@pytest.mark.parametrize(
    "window",
    ["WITHIN 4 seconds SLIDE 2 seconds", "WITHIN 3 seconds", "SEMANTICS contiguous WITHIN 6 seconds SLIDE 6 seconds"],
)
@examples(60)
@given(events, hs.lists(hs.integers(0, 14), max_size=3), hs.integers(0, 3), hs.booleans())
def test_piece_by_piece_it_is_the_same(
    window: str, rows: list[dict[str, Any]], cuts: list[int], delay: int, through_bytes: bool
) -> None:
    query = trendweave.query(f"{TREND.format(s='S DURING X', t='T NOT DURING Y')} {window} {DEFINED}")
    engine = query.incremental(SCHEMA)
    state, found, in_time, latest, watermark = engine.start(), [], [], None, None
    borders = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
    for first, last in pairwise(borders):
        piece = rows[first:last]
        # What has no time or no type is no event, and so never late.
        in_time += [
            row
            for row in piece
            if row["time"] is None or row["type"] is None or watermark is None or row["time"] >= watermark
        ]
        latest = max([row["time"] for row in piece if row["time"] is not None], default=latest or 0)
        watermark = max(latest - delay, watermark or -delay)
        state, result = engine.push(state, pa.Table.from_pylist(piece, SCHEMA), watermark)
        found += result.to_pylist()
        if through_bytes:
            state = engine.read(state.to_bytes())
    assert state.late == len(rows) - len(in_time)
    found += engine.finish(state).to_pylist()
    assert_same_rows(query.run(pa.Table.from_pylist(in_time, SCHEMA)).to_pylist(), found)


def test_a_window_waits_until_its_events_are_settled() -> None:
    query = trendweave.query(f"{TREND.format(s='S DURING X', t='T DURING X')} WITHIN 2 s SLIDE 2 s {DEFINED}")
    session = query.push(SCHEMA)
    for moment in range(5):
        assert session.send({"time": moment, "type": "E", "k": "p", "v": 4}) == []
    closed = session.send({"time": 5, "type": "E", "k": "p", "v": 4})
    # Three seconds after its end: Y, which is at most so long, could still turn out to hold.
    assert [(row["window_start"], row["count"]) for row in closed] == [(0, 1)]


@examples(60)
@given(events)
def test_trends_of_events_in_situations(rows: list[dict[str, Any]]) -> None:
    text = "RETURN TRENDS(S.v) PATTERN E S+ WHERE [k] AND {s} AND S.v <= NEXT(S).v"
    query = trendweave.query(text.format(s="S DURING X") + DEFINED)
    plain = trendweave.query(text.format(s="S.x = TRUE"))
    schema = SCHEMA.append(pa.field("x", pa.bool_())).append(pa.field("y", pa.bool_()))
    expected = plain.run(pa.Table.from_pylist(naive_flags(rows), schema)).to_pylist()
    table = pa.Table.from_pylist(rows, SCHEMA)
    assert_same_rows(expected, query.run(table).to_pylist())
    assert_same_rows(expected, pa.Table.from_batches(query.iter(table), query.schema(table)).to_pylist())
