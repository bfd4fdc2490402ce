"""The stateful operator of workloads: any cut into micro-batches and any change at a restart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import workloads_and_streams
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.streaming.simulated_workloads import SimulatedWorkload
from tests.streaming.test_state_against_reference import END, event, moved
from tests.workloads.judging import planned
from trendweave.errors import DataError
from trendweave.sharing.constants import LEAST

Rows = dict[str, list[dict[str, Any]]]


def add(found: Rows, more: Rows) -> None:
    for name, rows in more.items():
        found.setdefault(name, []).extend(rows)


def alone(text: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows_of(trendweave.query(text).run(table_of(events)))


@given(workloads_and_streams(windowed=True), hs.data())
@examples(25)
def test_any_stream_gives_the_rows_of_each_query_alone(
    case: tuple[tuple[Member, ...], list[dict]], data: hs.DataObject
) -> None:
    taken, events = planned(case[0]), data.draw(hs.permutations(moved(case[1])))
    stream = SimulatedWorkload(taken.workload, data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)))
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=3)))
    found: Rows = {}
    in_time: list[dict[str, Any]] = []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        add(found, stream.advance())
        in_time += [
            one
            for one in events[low:high]
            if one["time"] is None or not stream.watermark or one["time"] * 1_000 >= stream.watermark
        ]
        add(found, stream.push(events[low:high]))
    add(found, stream.push([END]))
    add(found, stream.advance())
    for member in taken.members:
        if member.query is not None:
            member.assert_rows(in_time, found[member.name], in_order=False)


WINDOW = "WITHIN 10 seconds SLIDE 5 seconds"
POOL = {
    "sums": f"RETURN g, COUNT(*), SUM(B.x) AS total PATTERN SEQ(A, B+) WHERE [k] GROUP-BY g {WINDOW}",
    "pairs": f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] AND A.x > 1 {WINDOW}",
    "more pairs": f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] AND A.x > 2 {WINDOW}",
    "other keys": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [g] WITHIN 15 seconds SLIDE 15 seconds",
    "no keys": "RETURN COUNT(*) PATTERN B+ WITHIN 4 seconds SLIDE 2 seconds",
    "moving": "RETURN g, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY g WITHIN 7 seconds",
    "each": "RETURN EACH FIRST(A.x) AS f, LAST(B.x) AS l PATTERN SEQ(A, B) WHERE [k] AND A.x > 0 WITHIN 6 seconds",
    "other each": "RETURN EACH FIRST(A.x) AS f, LAST(B.x) AS l PATTERN SEQ(A, B) WHERE [k] AND A.x > 3 "
    "WITHIN 6 seconds",
    "sessions": "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN SESSION 4 seconds",
    "next to each other": f"RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [k] {WINDOW}",
    "intervals": "FROM events PARTITION BY k DEFINE P AS x > 2, Q AS y > 1 PATTERN P overlaps Q WITHIN 10 seconds",
}
#: From when on rows count, of those that tell it; other queries give what they find in events since then.
FIRST_ROW = {"moving": ("time", 7), "sessions": (None, 0), "each": (None, 0), "other each": (None, 0)} | {
    "intervals": (None, 0)
}


def counting(name: str, rows: list[dict[str, Any]], since: int) -> list[dict[str, Any]]:
    """The rows of a query that came at a time, out of those that it finds in events since then."""
    column, length = FIRST_ROW.get(name, ("window_start", 0))
    return [row for row in rows if column is None or row[column] - length >= since]


@hs.composite
def steady_streams(draw: hs.DrawFn) -> list[dict[str, Any]]:
    """Events in the order of time, a few per second."""
    times = sorted(draw(hs.lists(hs.integers(1_000, 1_060), min_size=20, max_size=60)))
    kinds = draw(hs.lists(hs.sampled_from("ABC"), min_size=len(times), max_size=len(times)))
    numbers = draw(hs.lists(hs.integers(0, 5), min_size=len(times), max_size=len(times)))
    return [
        event(time, kind, number % 2) | {"x": number, "y": float(number), "g": "uvw"[number % 3]}
        for time, kind, number in zip(times, kinds, numbers, strict=True)
    ]


@given(steady_streams(), hs.data())
@examples(25)
def test_queries_come_and_go_at_restarts(events: list[dict[str, Any]], data: hs.DataObject) -> None:
    """Queries that stay have all their rows, each once; new ones have the rows of what begins after they came."""
    some = hs.lists(hs.sampled_from(sorted(POOL)), min_size=1, max_size=5, unique=True)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), min_size=1, max_size=4)))
    names = data.draw(some)
    delay = data.draw(hs.sampled_from([0, 3]))
    stream = SimulatedWorkload(trendweave.workload({name: POOL[name] for name in names}), delay)
    since: dict[str, int | None] = dict.fromkeys(names)
    found: Rows = {}
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        add(found, stream.advance())
        add(found, stream.push(events[low:high]))
        # A run without any row has not told all of the state about its workload.
        if not stream.has_asked or high == len(events) or not data.draw(hs.booleans()):
            continue
        kept = [name for name in names if data.draw(hs.booleans())]
        names = list(dict.fromkeys([*kept, *data.draw(some)]))
        stream.restart(trendweave.workload({name: POOL[name] for name in names}))
        came = None if stream.latest is None else events[high - 1]["time"] + 1
        before, since = since, {}
        for name in names:
            since[name] = before.get(name, came)
            if name not in before:
                found[name] = []
    add(found, stream.push([END]))
    add(found, stream.advance())
    for name in names:
        came = since[name]
        seen = [one for one in events if came is None or one["time"] >= came]
        expected = alone(POOL[name], seen)
        if came is not None:
            expected = counting(name, expected, came)
        assert_same_rows(expected, found[name], f"{name} since {came}")
    assert stream.carries() <= stream.buckets


def test_a_text_that_changed_under_a_name_is_a_new_query() -> None:
    events = [event(time, kind, 1) for time in range(1_000, 1_030) for kind in "AB"]
    stream = SimulatedWorkload(trendweave.workload({"q": POOL["no keys"], "other": POOL["sums"]}), 0)
    stream.push(events[:20])
    stream.restart(trendweave.workload({"q": POOL["no keys"].replace("B+", "A+"), "other": POOL["sums"]}))
    found: Rows = {}
    for batch in (events[20:], [END]):
        add(found, stream.advance())
        add(found, stream.push(batch))
    add(found, stream.advance())
    assert found["q"]
    assert min(row["window_start"] for row in found["q"]) >= 1_010
    assert_same_rows(alone(POOL["sums"], events), found["other"])


def test_dropped_queries_leave_no_state() -> None:
    long = "RETURN COUNT(*) PATTERN SEQ(A, C) WHERE [g] WITHIN 1000 seconds SLIDE 1000 seconds"
    sessions = "RETURN COUNT(*) PATTERN C+ WHERE [k] WITHIN SESSION 500 seconds"
    short = trendweave.workload({"short": POOL["no keys"]})
    stream = SimulatedWorkload(short.with_query("long", long).with_query("sessions", sessions), 0)
    stream.push([event(time, kind, 1) for time in range(1_000, 1_100) for kind in "ABC"])
    stream.advance()
    assert stream.held() > 0
    stream.restart(short)
    for time in (1_200, 1_300):
        stream.push([event(time, "B", 1)])
        stream.advance()
    stream.push([END])
    stream.advance()
    assert (stream.held(), stream.carries()) == (0, 0)


def test_late_events_are_counted_once_whatever_the_number_of_families() -> None:
    workload = trendweave.workload({name: POOL[name] for name in ("pairs", "other keys", "no keys")})
    stream = SimulatedWorkload(workload, 0)
    stream.push([event(1_050, "B", 1)])
    stream.advance()
    stream.push([event(1_000, "B", 1), event(1_060, "B", 1), event(1_060, "A", 1)])
    assert (stream.late, stream.events) == (1, 3)


def test_other_options_are_refused_by_name() -> None:
    """The same query on columns of another type is not the one that the state is of."""
    stream = SimulatedWorkload(trendweave.workload({"pairs": POOL["pairs"], "no keys": POOL["no keys"]}), 0)
    stream.push([event(1_000, "B", 1)])
    changed = SCHEMA.set(SCHEMA.get_field_index("x"), pa.field("x", pa.float64()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.streaming.simulated_workloads.SCHEMA", changed)
        stream.restart(trendweave.workload({"pairs": POOL["pairs"], "no keys": POOL["no keys"]}))
        with pytest.raises(DataError, match=r"TW311.*other columns[\s\S]*query pairs"):
            stream.push([event(1_001, "B", 1)])


def thresholds(window: str, rules: int) -> dict[str, str]:
    """Rules that differ in a constant; few are computed one by one, many together."""
    pairs = "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] AND A.x >"
    return {f"more than {number}": f"{pairs} {number} {window}" for number in range(rules)}


@pytest.mark.parametrize("window", [WINDOW, "WITHIN SESSION 3 seconds"])
@pytest.mark.parametrize(("before", "after"), [(LEAST - 1, LEAST + 1), (LEAST + 1, LEAST - 1), (LEAST, LEAST + 1)])
def test_queries_that_stay_may_be_computed_with_others(window: str, before: int, after: int) -> None:
    """Rows that wait hold what any way to compute them needs."""
    events = [event(second, kind, 1) | {"x": second % 12} for second in range(1_000, 1_040) for kind in ("A", "B")]
    stream = SimulatedWorkload(trendweave.workload(thresholds(window, before)), 3)
    found: Rows = {}
    add(found, stream.push(events[:43]))
    add(found, stream.advance())
    stream.restart(trendweave.workload(thresholds(window, after)))
    for piece in (events[43:], [END]):
        add(found, stream.push(piece))
        add(found, stream.advance())
    for name, text in thresholds(window, min(before, after)).items():
        assert_same_rows(alone(text, events), found[name], name)
