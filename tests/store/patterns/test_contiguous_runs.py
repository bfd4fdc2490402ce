"""Contiguous patterns over events that never share a time: rows of files tell which events are neighbours (C3)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.store.patterns.layouts import chosen_at_random
from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.index_hits import find_numbering
from trendweave.store.patterns.intervals import Pace

PATTERNS = (
    "SEQ(E a, E b)",
    "SEQ(E a, E b, E t*, E c)",
    "SEQ(E t, E a, E b, E u?, E c, E d)",
    "SEQ(E a{2}, E t*, E b)",
    "SEQ(E a, E t+, E b, E c)",
    "SEQ(NOT E a, E b, E c)",
)


def write(folder: Path, gaps: list[int], values: list[int], cut: int, size: int) -> EventStore:
    times = [sum(gaps[: place + 1]) for place in range(len(gaps))]
    table = pa.table({"time": pa.array(times, pa.int64()), "x": pa.array(values, pa.int64())})
    pq.write_table(table.slice(0, cut), folder / "b.parquet", row_group_size=size)
    pq.write_table(table.slice(cut), folder / "a.parquet", row_group_size=size)
    return EventStore.over(folder, type=None).build_index(["x"])


@given(
    hs.sampled_from(PATTERNS),
    hs.lists(hs.tuples(hs.sampled_from([1, 1, 2, 3, 9]), hs.integers(0, 4)), min_size=1, max_size=25),
    hs.sampled_from(["WITHIN 6 seconds", "WITHIN 8 seconds SLIDE 4 seconds", ""]),
    hs.data(),
)
@examples(40)
def test_rows_are_those_of_a_run_on_all_events(
    pattern: str, events: list[tuple[int, int]], window: str, data: hs.DataObject
) -> None:
    variables = [name for name in "abcdtu" if f"E {name}" in pattern]
    asked = data.draw(hs.lists(hs.sampled_from([name for name in variables if name not in "tu"]), unique=True))
    conditions = [
        f"{name}.x {data.draw(hs.sampled_from(['=', '<', '>=']))} {data.draw(hs.integers(0, 3))}" for name in asked
    ]
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    query = trendweave.query(f"RETURN COUNT(*) PATTERN {pattern} SEMANTICS contiguous {where} {window}")
    with TemporaryDirectory() as folder:
        gaps, values = (list(column) for column in zip(*events, strict=True))
        store = write(Path(folder), gaps, values, data.draw(hs.integers(0, len(events))), data.draw(hs.integers(1, 5)))
        expected = query.run(store.read(), type=None)
        assert query.run(store, using="replay").equals(expected)
        with chosen_at_random(data):
            found = query.run(store, using="index")
        assert found.sort_by([(found.column_names[0], "ascending")]).equals(
            expected.sort_by([(found.column_names[0], "ascending")])
        )


@pytest.mark.parametrize("cut", [0, 1, 4])
def test_events_are_numbered_over_files(tmp_path: Path, cut: int) -> None:
    store = write(tmp_path, [2, 3, 2, 5, 2, 2], [1] * 6, cut, 2)
    plan = trendweave.query("RETURN COUNT(*) PATTERN SEQ(E a, E b) SEMANTICS contiguous WITHIN 9 seconds").plan
    assert isinstance(plan, Plan)
    numbering = find_numbering(plan, store, None)
    assert numbering is not None
    assert numbering.pace == Pace(2, 5)
    names = [file.name for file in store.files]
    assert numbering.starts[names.index("a.parquet")] == cut
    assert numbering.starts[names.index("b.parquet")] == 0


@pytest.mark.parametrize(
    ("text", "times", "why"),
    [
        ("PATTERN SEQ(E a, E b) WITHIN 9 seconds", [1, 2, 3], "events may be skipped"),
        ("PATTERN SEQ(E a, E b) SEMANTICS contiguous WHERE [x] WITHIN 9 seconds", [1, 2, 3], "neighbours of a key"),
        ("PATTERN SEQ(E a, E b) SEMANTICS contiguous WITHIN 9 seconds", [1, 1, 3], "two events share a time"),
        ("PATTERN SEQ(E a, E b) SEMANTICS contiguous WITHIN 9 seconds", [1, 3, 2], "rows are not in order"),
        ("PATTERN SEQ(E a, E b) SEMANTICS contiguous WITHIN 9 seconds", [1, None, 2], "a row is no event"),
    ],
)
def test_where_rows_do_not_tell(tmp_path: Path, text: str, times: list[int | None], why: str) -> None:
    table = pa.table({"time": pa.array(times, pa.int64()), "x": pa.array([1, 2, 3])})
    pq.write_table(table, tmp_path / "a.parquet")
    store = EventStore.over(tmp_path, type=None).build_index(["x"])
    plan = trendweave.query(f"RETURN COUNT(*) {text}").plan
    assert isinstance(plan, Plan)
    assert find_numbering(plan, store, None) is None, why
