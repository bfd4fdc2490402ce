"""Row groups that are left unread hold no row that a query takes, and those that can be told are left unread."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some

import trendweave
from tests.profiles import examples
from trendweave.programs.bind import bind
from trendweave.programs.program import Program
from trendweave.runners.options import Settings
from trendweave.runners.spark.parquet_files import EventFile, File
from trendweave.runners.spark.reading import count_by_bounds, count_rows, keep_known, may_be_taken

MOMENT = datetime(2024, 3, 1, tzinfo=UTC)
COLUMNS = pa.schema(
    {
        "time": pa.int64(),
        "type": pa.string(),
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "d": pa.decimal128(10, 2),
        "t": pa.timestamp("us", "UTC"),
        "b": pa.bool_(),
    }
)
_NUMBERS = [-(2**63), -3, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1]
VALUES: dict[str, some.SearchStrategy[Any]] = {
    "time": some.none() | some.integers(0, 5),
    "type": some.sampled_from([None, "A", "B", "C", ""]),
    "i": some.none() | some.sampled_from(_NUMBERS),
    "f": some.sampled_from([None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5, 2.0**53, 1e300]),
    "s": some.sampled_from([None, "", "a", "ab", "b", "é", "\U0001f600", "~" * 70]),
    "d": some.sampled_from([None, Decimal("-1.00"), Decimal("0.00"), Decimal("0.01"), Decimal("99999999.99")]),
    "t": some.none() | some.integers(-2, 2).map(lambda days: MOMENT + timedelta(days=days)),
    "b": some.sampled_from([None, True, False]),
}
CONDITIONS = [
    *(f"A.i {sign} {value}" for sign in ("<", "<=", "=", "!=", ">=", ">") for value in (0, 1, "9007199254740992.0")),
    *(
        f"A.f {sign} {value}"
        for sign in ("<", "<=", "=", "!=", ">=", ">")
        for value in (0, 1.5, "CAST('NaN' AS DOUBLE)")
    ),
    *(f"A.s {sign} {value}" for sign in ("<", "=", "!=", ">") for value in ("'ab'", "''", "'é'")),
    *(f"A.d {sign} {value}" for sign in ("<", "=", ">") for value in ("0", "0.01", "9000000000000000000", "1e20")),
    *(f"A.t {sign} TIMESTAMP '2024-03-01 00:00:00'" for sign in ("<", "=", "!=", ">=")),
    "A.b = TRUE",
    "1 > A.i",
    "A.i = NULL",
    "A.i IN (1, 2)",
    "A.i NOT IN (1, 2)",
    "A.i BETWEEN 1 AND 2",
    "A.f NOT BETWEEN 0 AND 2",
    "A.i IS NULL",
    "A.s IS NOT NULL",
    "A.i + 1 > 2",
    "A.i < A.f",
    "NOT A.i > 1",
    "(A.i > 1 OR A.f < 1) AND A.s LIKE 'a%'",
    "A.s = 'a' AND A.i IS NULL",
]
PATTERNS = [
    "PATTERN A WHERE {} WITHIN 1 minute SLIDE 1 minute",
    "PATTERN SEQ(A, NOT C, B) WHERE {} AND [s] WITHIN 1 minute SLIDE 1 minute",
    "SEMANTICS contiguous PATTERN A+ WHERE {} GROUP-BY s WITHIN 1 minute SLIDE 1 minute",
]
_ROW = some.fixed_dictionaries({name: VALUES[name] for name in COLUMNS.names})


def make_program(text: str, type_: str | None = "type") -> Program:
    return bind(trendweave.query(text).plan, COLUMNS, "time", type_, Settings())


@examples(60)
@given(
    rows=some.lists(_ROW, min_size=1, max_size=8),
    size=some.integers(1, 3),
    condition=some.sampled_from(CONDITIONS),
    pattern=some.sampled_from(PATTERNS),
)
def test_nothing_that_is_needed_is_left_unread(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], size: int, condition: str, pattern: str
) -> None:
    program = make_program(f"RETURN COUNT(*) {pattern.format(condition)}")
    events = write(tmp_path_factory.getbasetemp() / "random.parquet", pa.Table.from_pylist(rows, COLUMNS), size)

    for group in events.groups(0, 2**62):
        (table,) = events.tables([group], COLUMNS.names)
        if not may_be_taken(program.needs, events.bounds(group)):
            kept = keep_known(program.prepare(table)[0], program.needs)
            assert kept.num_rows == 0, (condition, table.to_pylist())
    events.close()


@examples(60)
@given(rows=some.lists(_ROW, min_size=1, max_size=4), float_times=some.booleans(), typed=some.booleans())
def test_counts_of_unread_rows_are_those_of_read_ones(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], float_times: bool, typed: bool
) -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute SLIDE 1 minute"
    query = trendweave.query(text if typed else "RETURN COUNT(*) PATTERN A WITHIN 1 minute SLIDE 1 minute")
    type_ = "type" if typed else None
    program = bind(query.plan, COLUMNS, "f" if float_times else "time", type_, Settings())
    table = pa.Table.from_pylist(rows, COLUMNS)
    events = write(tmp_path_factory.getbasetemp() / "counted.parquet", table, len(rows))
    found = count_by_bounds(program.needs, events.bounds(0))
    events.close()

    assert count_rows(program.needs, table) == program.prepare(table)[1]
    assert found in (None, program.prepare(table)[1])


@pytest.mark.parametrize(
    ("times", "types", "known"),
    [
        ([1, 2], ["A", "A"], True),
        ([1, 2], ["C", "D"], True),
        ([1, 2], [None, None], True),
        ([None, None], ["A", None], True),
        ([None, 2], ["C", "C"], True),
        ([1, 2], ["A", "C"], False),
        ([None, 2, 3], [None, "C", "C"], False),
    ],
)
def test_counts_are_told_by_bounds(
    tmp_path: Path, times: list[int | None], types: list[str | None], known: bool
) -> None:
    rows = [{"time": time, "type": name} for time, name in zip(times, types, strict=True)]
    table = pa.Table.from_pylist(rows, COLUMNS)
    events = write(tmp_path / "told.parquet", table, 9)
    program = make_program("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute SLIDE 1 minute")

    assert count_by_bounds(program.needs, events.bounds(0)) == (program.prepare(table)[1] if known else None)


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("A.i > 2", [1]),
        ("A.i <= 2", [0]),
        ("3 = A.i", [1]),
        ("A.i != 3", [0, 1]),
        ("A.f < 2", [0]),
        ("A.f > 9", [0, 1]),  # NaN is not in the statistics, and above all
        ("A.s = 'a'", [0]),
        ("A.s IN ('c', 'd')", [1]),
        ("A.s BETWEEN 'b' AND 'bb'", [0]),
        ("A.d > 1", [1]),
        ("A.t < TIMESTAMP '2024-03-02 00:00:00'", [0]),
        ("A.b = TRUE", [0, 1]),
        ("A.i > 2 AND A.f < 2", []),
        ("A.i > 2 OR A.f < 2", [0, 1]),
        ("A.i IS NULL", []),
        ("A.i IS NOT NULL", [0, 1]),
    ],
)
def test_what_bounds_tell_is_left_unread(tmp_path: Path, condition: str, read: list[int]) -> None:
    rows = [
        {"time": place, "type": "A", "i": place, "f": float(place), "s": "abcd"[place - 1], "d": Decimal(place - 1),
         "t": MOMENT + timedelta(days=place - 1), "b": place % 2 == 0}
        for place in (1, 2, 3, 4)
    ]  # fmt: skip
    rows[2]["d"] = Decimal("1.01")
    rows[1]["d"] = Decimal("1.00")
    events = write(tmp_path / "four.parquet", pa.Table.from_pylist(rows, COLUMNS), 2)
    needs = make_program(f"RETURN COUNT(*) PATTERN A WHERE {condition} WITHIN 1 minute SLIDE 1 minute").needs

    assert [group for group in (0, 1) if may_be_taken(needs, events.bounds(group))] == read


def test_types_tell_where_only_they_are_read(tmp_path: Path) -> None:
    rows = [{"time": 1, "type": name} for name in "AABBCC"]
    events = write(tmp_path / "types.parquet", pa.Table.from_pylist(rows, COLUMNS), 2)
    groups = events.groups(0, 2**62)
    of_sequence = make_program("RETURN COUNT(*) PATTERN SEQ(A, NOT C, A) WITHIN 1 minute SLIDE 1 minute").needs
    of_neighbours = make_program("SEMANTICS contiguous RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 1 minute").needs
    of_situations = make_program("FROM B DEFINE X AS i > 1 RETURN SITUATIONS").needs

    assert [may_be_taken(of_sequence, events.bounds(group)) for group in groups] == [True, False, True]
    assert [may_be_taken(of_neighbours, events.bounds(group)) for group in groups] == [True, True, True]
    assert [may_be_taken(of_situations, events.bounds(group)) for group in groups] == [False, True, False]


def test_rows_without_a_time_are_left_unread(tmp_path: Path) -> None:
    rows = [{"time": time, "type": "A"} for time in (None, None, 1, None)]
    events = write(tmp_path / "times.parquet", pa.Table.from_pylist(rows, COLUMNS), 2)
    needs = make_program("RETURN COUNT(*) PATTERN A WITHIN 1 minute SLIDE 1 minute").needs

    assert [may_be_taken(needs, events.bounds(group)) for group in (0, 1)] == [False, True]


def test_a_file_without_statistics_is_read(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"time": 1, "type": "Z"}], COLUMNS)
    pq.write_table(table, tmp_path / "plain.parquet", write_statistics=False)
    events = EventFile(File(str(tmp_path / "plain.parquet"), None), COLUMNS)
    needs = make_program("RETURN COUNT(*) PATTERN A WHERE A.i > 1 WITHIN 1 minute SLIDE 1 minute").needs

    assert may_be_taken(needs, events.bounds(0))


def test_folders_and_missing_columns_have_bounds(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1, 2]}), tmp_path / "short.parquet")
    events = EventFile(File(str(tmp_path / "short.parquet"), None, (("type", "A"), ("i", "7"))), COLUMNS)

    def is_read(text: str) -> bool:
        return may_be_taken(make_program(f"RETURN COUNT(*) {text}").needs, events.bounds(0))

    assert is_read("PATTERN A WHERE A.i = 7")
    assert not is_read("PATTERN A WHERE A.i = 8")
    assert not is_read("PATTERN B")
    assert not is_read("PATTERN A WHERE A.s = 'a'")
    assert is_read("PATTERN A WHERE A.s IS NULL")
    (table,) = events.tables([0], ["i", "s", "type", "time"])
    assert table.to_pylist() == [
        {"i": 7, "s": None, "type": "A", "time": 1},
        {"i": 7, "s": None, "type": "A", "time": 2},
    ]


def write(path: Path, table: pa.Table, rows: int) -> EventFile:
    pq.write_table(table, path, row_group_size=rows)
    return EventFile(File(str(path), path.stat().st_size), COLUMNS)
