"""Windowed joins with random windows, keys and conditions against the slow twin, in every way that finds pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from random import Random
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.operators.conditions import Condition, pair_conditions
from tests.operators.running import as_events, assert_rows, cuts, in_pieces
from tests.operators.strategies import Stream, clocks, join_windows, keys, make_stream, streams
from tests.profiles import examples
from tests.reference.operators.events import Event, key_of
from tests.reference.operators.joining import window_join
from tests.reference.operators.windows import Rows, Span
from trendweave import operators as ops
from trendweave.errors import DataError
from trendweave.planning.operator_plans import JoinPlan
from trendweave.programs.operators.joins import searches
from trendweave.programs.operators.joins.program import WindowJoin, bind_join
from trendweave.programs.operators.joins.sides import merge_sides
from trendweave.programs.program import Carry
from trendweave.rows.times import as_steps

COLUMNS = ("x", "f", "n", "small", "word")


@dataclass(frozen=True)
class Case:
    """A join of two streams, or of one with itself."""

    left: Stream
    right: Stream | None
    condition: Condition | None
    windows: dict[str, str]
    twins: tuple[Rows | Span, Rows | Span]
    keys: list[str]
    order_by: list[str]

    @property
    def operator(self) -> ops.Operator:
        text = None if self.condition is None else self.condition.text
        return ops.window_join(text, keys=self.keys, order_by=self.order_by, **self.windows)

    @property
    def expected(self) -> list[Event]:
        right = self.left if self.right is None else self.right
        return window_join(
            self.left.events,
            right.events,
            None if self.condition is None else self.condition.of_pair,
            *self.twins,
            self.keys,
            self.order_by,
            left_schema=self.left.schema,
            right_schema=right.schema,
        )

    @property
    def program(self) -> tuple[WindowJoin, pa.Table]:
        plan = self.operator.task
        assert isinstance(plan, JoinPlan)
        events = self.left.table if self.right is None else merge_sides(self.left.table, self.right.table, plan, "time")
        return bind_join(plan, events.schema, "time"), events


@st.composite
def cases(draw: st.DrawFn, most: int = 12, columns: tuple[str, ...] = COLUMNS) -> Case:
    clock = draw(clocks)
    condition = draw(st.none() | pair_conditions)
    left_window, left_twin = draw(join_windows(clock))
    right_window, right_twin = draw(join_windows(clock))
    chosen = draw(keys)
    order_by = draw(st.lists(st.sampled_from(["x", "n", "word"]), max_size=1))
    used = tuple(sorted({*columns, *chosen}))
    left = draw(streams(clock, used, most))
    right = draw(st.none() | streams(clock, used, most))
    note(f"{left_window} / {right_window}: {None if condition is None else condition.text}")
    return Case(
        left, right, condition, {"left": left_window, "right": right_window}, (left_twin, right_twin), chosen, order_by
    )


def run(case: Case) -> list[Event]:
    program, events = case.program
    found = pa.Table.from_batches(program.compute(program.prepare(events)[0]).batches, program.schema)
    return as_events(found, case.left.clock)


@contextmanager
def found_by(way: str) -> Iterator[None]:
    """Pairs are found by sorted values wherever there is a band, by compiled scans, or by Arrow alone."""
    with ExitStack() as patches:
        if way == "bands":
            patches.enter_context(mock.patch.object(searches.SortedBand, "is_narrow", True))
            patches.enter_context(mock.patch.object(searches, "_FEW_PAIRS", -1))
        else:
            patches.enter_context(mock.patch.object(searches, "sort_band", return_value=None))
            patches.enter_context(mock.patch.object(searches, "FEW", -1 if way == "scans" else 2**62))
        yield


@examples(50)
@given(cases())
def test_whole_tables(case: Case) -> None:
    tables = [case.left.table] if case.right is None else [case.left.table, case.right.table]
    found = case.operator.run(*tables)
    assert_rows(as_events(found, case.left.clock), case.expected)


@examples(40)
@given(cases(), st.sampled_from(["bands", "batches"]))
def test_ways(case: Case, way: str) -> None:
    with found_by(way):
        assert_rows(run(case), case.expected)


@examples(15)
@given(cases(most=40))
def test_more_events(case: Case) -> None:
    assert_rows(run(case), case.expected)


@examples(30)
@given(cases(), cuts)
def test_pieces(case: Case, shares: list[float]) -> None:
    events = case.left.table
    if case.right is not None:
        # One table has one order of columns.
        case = replace(case, right=make_stream(case.right.table.select(case.left.schema), case.left.clock))
        events = _marked(case)
    found = in_pieces(case.operator, events, shares)
    assert_rows(as_events(found, case.left.clock), case.expected)


@examples(30)
@given(cases(), st.lists(st.integers(-20, 20), max_size=3))
def test_steps_of_two_streams(case: Case, ticks: list[int]) -> None:
    """As Spark has them: rows of both sides as one stream, cut by watermarks."""
    program, events = case.program
    steps = program.steps()
    assert steps is not None
    rows = program.prepare(events)[0]
    times = as_steps(rows.column("time"), program.time_type)
    carry: Carry = {}
    before, found = None, []
    for watermark in [*sorted(tick * case.left.clock.tick for tick in ticks), None]:
        low, high = steps.reads(before, watermark)
        keeps = low if before is None else max(low, steps.keeps_from(before))
        step = steps.step(rows.filter(pa.array((times >= keeps) & (times < high))), carry, before, watermark)
        found += step.batches
        carry, before = step.carry, watermark
    assert_rows(as_events(pa.Table.from_batches(found, program.schema), case.left.clock), case.expected)


def _marked(case: Case) -> pa.Table:
    """Both sides as one table with a column `side`."""
    assert case.right is not None
    tables = [case.left.table, case.right.table]
    marked = [
        table.append_column("side", pa.array([side] * table.num_rows, pa.string()))
        for side, table in zip(("left", "right"), tables, strict=True)
    ]
    return pa.concat_tables(marked)


@contextmanager
def plain_loops() -> Iterator[None]:
    """Loops around conditions in plain Python: their text is tested without the time to compile it."""
    searches._load_loop.cache_clear()
    plain = searches.AROUND_CONDITION.replace(
        "import numpy as np", "import numpy as np\nloop = called = lambda made: made"
    )
    with mock.patch.object(searches, "AROUND_CONDITION", plain), np.errstate(all="ignore"):
        yield
    searches._load_loop.cache_clear()


@examples(40)
@given(cases())
def test_scans(case: Case) -> None:
    with plain_loops(), found_by("scans"):
        assert_rows(run(case), case.expected)


@examples(40)
@given(cases())
def test_compiled_bands(case: Case) -> None:
    with plain_loops(), found_by("bands"), mock.patch.object(searches, "FEW", -1):
        assert_rows(run(case), case.expected)


def test_blocks_that_are_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few pairs, and blocks of which more pairs come than were expected."""
    monkeypatch.setattr(searches, "_TARGET", 8)
    monkeypatch.setattr(searches, "_PASSING", dict.fromkeys(searches._PASSING, 1.0))
    times = np.sort(np.random.default_rng(3).integers(0, 120, 160))
    values = np.where(times < 80, np.arange(160), 0)  # few pairs first, then many
    table = pa.table({"time": times, "x": values.astype(float)})
    plan = ops.window_join("abs(left.x - right.x) <= 1", left="20 seconds", right="30 rows").task
    assert isinstance(plan, JoinPlan)
    program = bind_join(plan, table.schema, "time")
    events = table.to_pylist()
    close = lambda one, two: abs(one["x"] - two["x"]) <= 1  # noqa: E731
    expected = window_join(events, events, close, Span(20), Rows(30), left_schema=["x"], right_schema=["x"])
    for way in ("bands", "scans", "batches"):
        with plain_loops(), found_by(way):
            batches = list(program.compute(program.prepare(table)[0]).batches)
        assert len(batches) > 20, "blocks are small"
        assert_rows(pa.Table.from_batches(batches).to_pylist(), expected)


def test_a_scan_by_numba() -> None:
    numbers = np.random.default_rng(4)
    table = pa.table({"time": np.arange(300), "x": numbers.random(300), "y": numbers.random(300).astype(np.float32)})
    text = "(left.x - right.x) * (left.x - right.x) + (left.y - right.y) * (left.y - right.y) < 0.01"
    plan = ops.window_join(text, left="100 rows", right="50 seconds").task
    assert isinstance(plan, JoinPlan)
    program = bind_join(plan, table.schema, "time")
    rows = program.prepare(table)[0]
    found = []
    for way in ("scans", "batches"):
        with found_by(way):
            found.append(pa.Table.from_batches(program.compute(rows).batches))
    assert found[0].num_rows > 500
    assert found[0].equals(found[1])


def test_sides_are_told() -> None:
    table = pa.table({"time": [1, 2], "side": ["left", "middle"]})
    with pytest.raises(DataError, match="'middle' is none"):
        ops.window_join(None, left="2 rows", right="2 rows").run(table)


@examples(20)
@given(cases(), st.randoms(use_true_random=False))
def test_rows_of_several_places_are_put_in_order(case: Case, chance: Random) -> None:
    program, events = case.program
    rows = pa.Table.from_batches(program.compute(program.prepare(events)[0]).batches, program.schema)
    keys = [key_of(row, case.keys) for row in rows.to_pylist()]
    places = {key: chance.random() for key in keys}
    parts = sorted(range(rows.num_rows), key=lambda row: places[keys[row]])
    found = program.arrange(rows.take(pa.array(parts, pa.int64())))
    assert_rows(as_events(found, case.left.clock), as_events(rows, case.left.clock))


@pytest.mark.parametrize("device", ["cpu", "threads"])
def test_chunks_of_time(device: str) -> None:
    numbers = np.random.default_rng(5)
    tables = [
        pa.table(
            {"time": numbers.integers(0, 500, 300), "x": numbers.integers(0, 9, 300).astype(float), "n": range(300)}
        )
        for _ in range(2)
    ]
    operator = ops.window_join("abs(left.x - right.x) <= 1", left="20 seconds", right="30 seconds slide 7 seconds")
    expected = window_join(
        *(table.to_pylist() for table in tables),
        lambda one, two: abs(one["x"] - two["x"]) <= 1,
        Span(20),
        Span(30, 7),
        left_schema=["x", "n"],
        right_schema=["x", "n"],
    )
    assert_rows(operator.run(*tables, device=device).to_pylist(), expected)


@pytest.mark.parametrize(
    ("names", "keys", "message"),
    [
        (["time", "side"], ["side"], "which tells their side"),
        (["time", "trendweave_side", "k"], [], "and k is of none"),
    ],
)
def test_columns_that_tell_sides_are_not_others(names: list[str], keys: list[str], message: str) -> None:
    table = pa.table({name: ["left"] if name == "side" else [1] for name in names})
    with pytest.raises(DataError, match=message):
        ops.window_join(None, left="2 rows", right="2 rows", keys=keys).run(table)


@pytest.mark.parametrize("code", [2, -1, None])
def test_numbers_that_tell_no_side_are_refused(code: int | None) -> None:
    sides = pa.array([0, 1, code], pa.int8())
    events = pa.table({"time": [1, 2, 3], "trendweave_side": sides, "left_x": [1, 2, 3], "right_x": [1, 2, 3]})
    with pytest.raises(DataError, match="0 or 1"):
        ops.window_join(left="1 row", right="1 row").run(events)


def test_moments_of_several_zones_meet() -> None:
    times = [pa.array([0, 5, 9], pa.timestamp("s")).cast(pa.timestamp("s", "UTC")) for _ in range(2)]
    left = pa.table({"time": times[0].cast(pa.timestamp("ms", "Asia/Tokyo")), "n": [1, 2, 3]})
    right = pa.table({"time": times[1].cast(pa.timestamp("s", "America/New_York")), "n": [1, 2, 3]})

    rows = ops.window_join(None, left="1 second", right="1 second").run(left, right)

    assert rows.column("left_n").to_pylist() == rows.column("right_n").to_pylist() == [1, 2, 3]
    assert [rows.schema.field(name).type for name in ("time", "left_time", "right_time")] == [
        pa.timestamp("ms", "UTC"),
        pa.timestamp("ms", "Asia/Tokyo"),
        pa.timestamp("s", "America/New_York"),
    ]


@pytest.mark.parametrize("name", ["time", "k"])
def test_moments_and_times_without_a_zone_do_not_meet(name: str) -> None:
    zoned = pa.table({"time": pa.array([0, 5], pa.timestamp("us", "UTC")), "k": pa.array([1, 2], pa.timestamp("s"))})
    naive = zoned.set_column(0, "time", zoned.column("time").cast(pa.timestamp("us")))
    if name == "k":
        naive = zoned.set_column(1, "k", zoned.column("k").cast(pa.timestamp("s", "UTC")))
    join = ops.window_join(None, left="1 second", right="1 second", keys=["k"])
    for sides in ((zoned, naive), (naive, zoned)):
        with pytest.raises(DataError, match=f"{name} is a timestamp with.* zone on the right") as error:
            join.run(*sides)
        assert [problem.code for problem in error.value.problems] == ["TW305"]
        assert "cast one of them" in error.value.problems[0].hint
        with pytest.raises(DataError, match="cannot be compared"):
            merge_sides(*sides, join.task, "time")  # type: ignore[arg-type]


def test_columns_without_an_order_do_not_order_ties() -> None:
    spans = pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval())
    table = pa.table({"time": [1, 1], "s": spans, "n": [2, 1]})

    rows = ops.window_join(None, left="2 rows", right="2 rows").run(table)

    assert rows.column("left_n").to_pylist() == [1, 1, 2, 2]  # NULL is first


@pytest.mark.parametrize("target", [1 << 20, 4], ids=["large blocks", "blocks done again"])
def test_all_cores_find_the_same_pairs(monkeypatch: pytest.MonkeyPatch, target: int) -> None:
    monkeypatch.setattr(searches, "_FEW_TO_DEAL", 10)
    monkeypatch.setattr(searches, "count_cores", lambda: 3)
    monkeypatch.setattr(searches, "_TARGET", target)
    numbers = np.random.default_rng(6)
    table = pa.table({"time": np.sort(numbers.integers(0, 90, 200)), "x": numbers.random(200)})
    plan = ops.window_join("left.x - right.x < 0.02 AND right.x - left.x < 0.02", left="90 rows", right="70 rows").task
    assert isinstance(plan, JoinPlan)
    program = bind_join(plan, table.schema, "time")
    rows = program.prepare(table)[0]
    for way in ("bands", "batches"):
        with found_by(way):
            one, all_cores = (
                pa.Table.from_batches(replace(program, device=device).compute(rows).batches)
                for device in ("cpu", "threads")
            )
        assert one.equals(all_cores)
        assert one.num_rows > 500


@pytest.mark.parametrize("times", [[-(2**63), -(2**63) + 2], [2**63 - 3, 2**63 - 1], [-(2**63), 2**63 - 1], [0, 2**62]])
@pytest.mark.parametrize("window", ["3 seconds", "2 rows"])
def test_times_at_the_end_of_64_bits(times: list[int], window: str) -> None:
    table = pa.table({"time": times * 2, "k": [1, 1, 2, 2]})
    twin = Span(3) if window == "3 seconds" else Rows(2)

    rows = ops.window_join(None, left=window, right=window, keys=["k"]).run(table).to_pylist()

    assert_rows(rows, window_join(table.to_pylist(), table.to_pylist(), None, twin, twin, ["k"], left_schema=["k"]))
