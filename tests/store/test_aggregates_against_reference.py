"""Aggregates of random stores, by the index, by replay and by whichever is cheaper, against the slow twin."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.reference.operators.aggregation import Rounded
from tests.reference.stored_aggregates import aggregate_by_events, aggregate_by_groups, aggregate_by_time
from tests.store.random_stores import Folders, Written, stores
from trendweave.errors import OptionError, TrendweaveError
from trendweave.store.event_store import EventStore

WANTED = [
    ("COUNT", None),
    *((function, column) for column in ("x", "k", "small") for function in ("COUNT", "SUM", "AVG", "MIN", "MAX")),
    ("SUM", "price"),
    ("AVG", "price"),
    ("MIN", "price"),
    ("COUNT", "word"),
]
BOUNDS = st.tuples(*[st.none() | st.integers(-70, 70)] * 2).filter(
    lambda pair: pair[0] is None or pair[1] is None or pair[0] <= pair[1]
)


def plain(value: Any) -> Any:
    """Values in a form in which NaN equals itself, zeros have no sign, and decimals are exact."""
    if isinstance(value, Rounded):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def question(wanted: list[tuple[str, str | None]]) -> str:
    return ", ".join(f"{function}({column or '*'})" for function, column in wanted)


def as_rows(table: pa.Table) -> list[list[Any]]:
    for name in table.column_names:
        if pa.types.is_timestamp(table.schema.field(name).type):
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast(pa.int64()))
    return [[plain(value) for value in row.values()] for row in table.to_pylist()]


def expect(rows: list[list[Any]]) -> list[list[Any]]:
    return [[plain(Decimal(value) if isinstance(value, int) else value) for value in row] for row in rows]


def known(store: Written, wanted: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Aggregates of columns that some file has."""
    names = {name for table in store.files for name in table.column_names}
    return [one for one in wanted if one[1] is None or one[1] in names]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("stores"))


@examples(40)
@given(
    stores(),
    st.lists(st.sampled_from(WANTED), min_size=1, max_size=5, unique=True),
    st.none() | st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda pair: (max(pair), min(pair))),
    BOUNDS,
)
def test_windows_of_time(
    folders: Folders,
    store: Written,
    wanted: list[tuple[str, str | None]],
    windows: tuple[int, int] | None,
    between: tuple[int | None, int | None],
) -> None:
    wanted = known(store, wanted) or [("COUNT", None)]
    opened = store.make(folders())
    length, slide = windows or (None, None)
    expected = aggregate_by_time(store.events, wanted, length, slide, between)
    texts = [None if number is None else f"{number} microseconds" for number in (length, slide)]
    moments = [None if moment is None else pa.scalar(moment, pa.timestamp("us")) for moment in between]
    for using in ("index", "replay", "auto"):
        found = opened.aggregate(question(wanted), *texts, between=moments, using=using)
        assert as_rows(found) == expect(expected), using


@examples(25)
@given(
    stores(),
    st.lists(st.sampled_from(WANTED), min_size=1, max_size=4, unique=True),
    st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda pair: (max(pair), min(pair))),
    BOUNDS,
)
def test_windows_of_events(
    folders: Folders,
    store: Written,
    wanted: list[tuple[str, str | None]],
    windows: tuple[int, int],
    between: tuple[int | None, int | None],
) -> None:
    wanted = known(store, wanted) or [("COUNT", None)]
    opened = store.make(folders())
    expected = aggregate_by_events(store.events, wanted, *windows, between)
    texts = [f"{number} events" for number in windows]
    moments = [None if moment is None else pa.scalar(moment, pa.timestamp("us")) for moment in between]
    for using in ("index", "replay", "auto"):
        found = opened.aggregate(question(wanted), *texts, between=moments, using=using)
        assert as_rows(found) == expect(expected), using


@examples(30)
@given(
    stores(),
    st.lists(st.sampled_from(WANTED), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["x", "k", "small", "word", "same"]), min_size=1, max_size=2, unique=True),
    st.none() | st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda pair: (max(pair), min(pair))),
    BOUNDS,
)
def test_groups(
    folders: Folders,
    store: Written,
    wanted: list[tuple[str, str | None]],
    by: list[str],
    windows: tuple[int, int] | None,
    between: tuple[int | None, int | None],
) -> None:
    wanted = known(store, wanted) or [("COUNT", None)]
    store = with_groups(store)
    by = [name for name in by if any(name in table.column_names for table in store.files)] or ["same"]
    opened = store.make(folders())
    length, slide = windows or (None, None)
    expected = aggregate_by_groups(store.events, wanted, by, length, slide, between)
    texts = [None if number is None else f"{number} microseconds" for number in (length, slide)]
    moments = [None if moment is None else pa.scalar(moment, pa.timestamp("us")) for moment in between]
    for using in ("index", "replay", "auto"):
        found = opened.aggregate(question(wanted), *texts, between=moments, using=using, by=by)
        assert as_rows(found) == expect(expected), using


def with_groups(store: Written) -> Written:
    """With a column that has few values, which are the same in many blocks."""
    files = []
    for number, table in enumerate(store.files):
        values = [["one", "two", None][(number + row // 10) % 3] for row in range(table.num_rows)]
        files.append(table.append_column("same", pa.array(values, pa.string())))
    same = [value for table in files for value in table.column("same").to_pylist()]
    events = [event | {"same": value} for event, value in zip(store.events, same, strict=True)]
    return replace(store, files=files, events=events)


def test_groups_of_the_layout_are_taken_from_the_index(tmp_path: Path) -> None:
    """A folder per group: nothing is read."""
    for name in ("north", "south"):
        (tmp_path / f"shop={name}").mkdir()
        table = pa.table({"time": [1.0, 2.0, 15.0], "x": [1, 2, len(name)]})
        pq.write_table(table, tmp_path / f"shop={name}" / "a.parquet")
    store = EventStore.over(tmp_path).build_index(events_per_block=1)

    plan = store.explain_aggregate("SUM(x)", "10 s", "10 s", by="shop")
    found = store.aggregate("SUM(x)", "10 s", "10 s", by="shop", using="index")

    assert (plan.way, plan.rows) == ("index", 0)
    assert [(row["window_start"], row["shop"], row["sum_x"]) for row in found.to_pylist()] == [
        (0.0, "north", 3), (0.0, "south", 3), (10.0, "north", 5), (10.0, "south", 5)
    ]  # fmt: skip


def test_groups_whose_times_are_far_apart(tmp_path: Path) -> None:
    times = pa.array([-(2**62), 2**62, 5], pa.timestamp("ns"))
    pq.write_table(pa.table({"time": times, "k": [1, 2, 1]}), tmp_path / "a.parquet")
    store = EventStore.over(tmp_path).build_index()

    found = store.aggregate("COUNT(*)", "2 ns", "1 ns", by="k")

    assert found.column("k").to_pylist() == [1, 1, 1, 1, 2, 2]
    assert found.num_rows == 6
    assert found.column("count").to_pylist() == [1] * 6


def test_the_index_is_used(tmp_path: Path) -> None:
    """Windows with round edges take whole blocks; no row group is read."""
    seconds = np.arange(20_000)
    table = pa.table({"time": pa.array(seconds * 10**6, pa.timestamp("us")), "x": seconds / 7})
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=4_096)
    store = EventStore.over(tmp_path).build_index()

    plan = store.explain_aggregate("AVG(x)", "1 hour", "1 hour")

    assert plan.way == "index"
    assert (plan.groups.size, plan.of_groups, plan.of_rows) == (0, 5, 20_000)
    assert str(plan).startswith("index: ")


def test_what_cannot_be_asked_is_told_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1, 2], "x": [1, 2], "k": ["a", "b"]}), tmp_path / "a.parquet")
    store = EventStore.over(tmp_path)
    for text in ("SUM(nope)", "COUNT(*), SUM(nope)", "SUM(nope), COUNT(*)"):
        with pytest.raises(TrendweaveError) as told:
            store.aggregate(text)
        assert [problem.code for problem in told.value.problems] == ["TW301"], text
    for text in ("", " ", "COUNT(*),", "SUM(x) COUNT(*)"):
        with pytest.raises(TrendweaveError) as told:
            store.aggregate(text)
        assert [problem.code for problem in told.value.problems] == ["TW101"], text
    with pytest.raises(OptionError, match=r"windows of events have no groups.*\n.*ops\.window_aggregate"):
        store.aggregate("SUM(x)", within="1 events", slide="1 events", by="k")
    each = trendweave.operators.window_aggregate("SUM(x) AS s", rows=1, keys="k").run(store)
    assert each.select(["k", "s"]).to_pydict() == {"k": ["a", "b"], "s": [Decimal(1), Decimal(2)]}
