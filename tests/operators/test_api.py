"""Operators as users hold them: made, written, chained, run in this process."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from trendweave import EventStore, State, TrendweaveError
from trendweave import operators as ops

EVENTS = pa.table(
    {
        "time": [5, 1, 3, None, 4, 2, 2],
        "machine": ["a", "b", "a", "a", "b", "b", "a"],
        "heat": [81.0, 85.0, None, 99.0, 87.0, math.nan, 70.0],
    }
)
HOT = ops.filter("heat > 80")
COUNTS = ops.match(
    "RETURN machine, COUNT(*), MAX(S.time) AS time PATTERN S+ WHERE [machine] GROUP-BY machine "
    "WITHIN 2 seconds SLIDE 1 second"
)


def test_a_filter_keeps_all_columns_in_order_of_time() -> None:
    rows = HOT.run(EVENTS)

    assert rows.schema.names == EVENTS.schema.names
    assert rows.column("time").to_pylist() == [1, 2, 4, 5]  # NaN is above all numbers, NULL is not
    assert HOT.schema(EVENTS).equals(rows.schema)


def test_events_of_one_time_stay_in_their_order() -> None:
    events = pa.table({"time": [2, 1, 2, 1], "n": [0, 1, 2, 3]})

    assert ops.filter("n >= 0").run(events).column("n").to_pylist() == [1, 3, 0, 2]


def test_rows_come_in_the_kind_of_table_that_events_came_in() -> None:
    frame = pl.from_arrow(EVENTS)
    expected = HOT.run(EVENTS).select(["time", "machine"]).to_pylist()

    assert HOT.run(frame).select("time", "machine").to_dicts() == expected
    assert list(HOT.run(EVENTS.to_pandas())["machine"]) == ["b", "b", "a"]  # pandas has one thing for NULL and NaN


def test_columns_of_a_filter_keep_their_types() -> None:
    events = pa.table(
        {
            "time": [1, 2, 3],
            "code": pa.array([1, 1, 2]).dictionary_encode(),
            "big": pa.array([100, 200, None], pa.decimal128(5, 0)).cast(pa.decimal128(5, -2)),
            "run": pc.run_end_encode(pa.array([7, 7, 8])),
            "name": pa.array(["a", "b", "c"], pa.string_view()),
        }
    )

    rows = ops.filter("code = 1 AND run > 6").run(events)

    assert rows.schema.remove_metadata().equals(events.schema)
    assert rows.column("run").to_pylist() == [7, 7]
    assert ops.filter("code = 1").schema(events).equals(events.schema)


def test_a_query_is_an_operator() -> None:
    asked = COUNTS.task

    assert HOT | asked == HOT | COUNTS
    assert asked | HOT == COUNTS | HOT
    assert asked | (HOT | asked) == COUNTS | HOT | COUNTS
    with pytest.raises(TypeError):
        HOT | "FILTER heat > 80"


def test_dropped_rows_are_told(caplog: pytest.LogCaptureFixture) -> None:
    HOT.run(EVENTS)

    assert "dropped 1 rows without a time" in caplog.text


def test_the_time_column_may_have_another_name() -> None:
    events = EVENTS.rename_columns(["ts", "machine", "heat"]).append_column("time", pa.array(["x"] * 7))

    assert HOT.run(events, time="ts").column("ts").to_pylist() == [1, 2, 4, 5]
    assert HOT.run(events, time="ts").column("time").to_pylist() == ["x"] * 4


def test_rows_of_one_operator_are_events_of_the_next() -> None:
    chain = HOT | COUNTS | ops.filter("machine = 'b'")
    kept = HOT.run(EVENTS)
    alone = COUNTS.task.run(kept, type=None)

    rows = chain.run(EVENTS)

    assert rows.to_pylist() == [row for row in alone.to_pylist() if row["machine"] == "b"]
    assert rows.num_rows > 2
    assert pa.Table.from_batches(chain.iter(EVENTS)).equals(rows)
    assert chain.schema(EVENTS).equals(rows.schema.remove_metadata())


@pytest.mark.parametrize("size", [1, 2, 7])
def test_pieces_and_pushed_events_give_the_rows_of_one_table(size: int) -> None:
    chain = HOT | COUNTS | ops.filter("count > 0")
    events = EVENTS.filter(pa.compute.is_valid(EVENTS.column("time"))).sort_by("time")
    expected = chain.run(events).to_pylist()
    engine, found = chain.incremental(events), []
    state = engine.start()
    for start in range(0, events.num_rows, size):
        piece = events.slice(start, size)
        state, rows = engine.push(state, piece, piece.column("time")[-1].as_py())
        state = State.from_bytes(state.to_bytes())
        found += rows.to_pylist()
    found += engine.finish(state).to_pylist()
    session, pushed = chain.push(events), []
    for event in events.to_pylist():
        pushed += session.send(event)

    assert found == expected
    assert pushed + session.finish().to_pylist() == expected


def test_a_filter_alone_runs_piece_by_piece() -> None:
    engine = HOT.incremental(EVENTS)
    state, first = engine.push(engine.start(), EVENTS, 4)

    assert first.column("time").to_pylist() == [1, 2]
    assert engine.finish(state).column("time").to_pylist() == [4, 5]


@pytest.mark.parametrize(
    "text",
    [
        "FILTER heat > 80 AND NOT machine LIKE 'a|b%'",
        "FILTER `over` > 1 | FILTER `by` = 'FILTER | x'",
        "AGGREGATE AVG(heat) AS mean, COUNT(*) OVER 100 ROWS SLIDE 10 ROWS BY machine ORDER BY number",
        "AGGREGATE SUM(heat) OVER 100 ROWS BY `a b`, machine",
        "AGGREGATE SUM(heat) AS `over` OVER 1 ROW",
        "AGGREGATE MIN(heat), MAX(heat) OVER 1 minute SLIDE 10 seconds",
        "AGGREGATE COUNT(heat), MAX(heat) - MIN(heat) OVER 1 day",
        "JOIN ABS(left.x - right.x) <= 0.1 LEFT 10 seconds RIGHT 100 ROWS BY machine ORDER BY number",
        "JOIN LEFT 100 ROWS SLIDE 10 ROWS RIGHT 10 seconds SLIDE 1 second",
        "JOIN left.x = right.x LEFT 1 ROW RIGHT 1 ROW",
        "MATCH RETURN EACH LAST(S.time) AS time PATTERN S+ WHERE S.x < NEXT(S).x WITHIN 1 minute SLIDE 10 seconds",
        "FILTER a > 1 | MATCH RETURN COUNT(*)\nPATTERN SEQ(A, B)\nWHERE A.x = 'two\n| lines'\nWITHIN 1 day | FILTER b",
    ],
)
def test_text_is_read_as_it_was_written(text: str) -> None:
    chain = ops.pipe(text)

    assert str(chain) == text
    assert ops.pipe(str(chain)) == chain
    assert repr(chain).endswith(f"({text!r})")


def test_functions_and_text_make_the_same_operators() -> None:
    aggregate = ops.window_aggregate("avg(heat) as mean", rows=100, slide_rows=10, keys=["machine"], order_by="n")
    join = ops.window_join("left.x < right.x", left="10 seconds", right="100 rows slide 5 rows", keys="machine")

    assert aggregate == ops.pipe("aggregate AVG(heat) AS mean over 100 rows slide 10 rows by machine order by n")
    assert join == ops.pipe("JOIN left.x < right.x LEFT 10 s RIGHT 100 rows SLIDE 5 rows -- pairs\n BY machine")
    assert ops.window_aggregate("COUNT(*)", within="1 minute") == ops.pipe("AGGREGATE COUNT(*) OVER 60 seconds")
    assert ops.filter("heat>80") == HOT
    assert ops.pipe(f"{HOT} | {COUNTS}") == HOT | COUNTS


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("FILTR x", "TW121", (1, 1)),
        ("", "TW121", (1, 1)),
        ("FILTER x > 1 |", "TW121", (1, 15)),
        ("FILTER x > 1 |\nFILTER y >", "TW101", (2, 11)),
        ("AGGREGATE AVG(x)", "TW121", (1, 11)),
        ("AGGREGATE AVG(x) OVER 3 ROWS BY a b", "TW121", (1, 35)),
        ("AGGREGATE AVG(x) OVER 3 ROWS BY", "TW121", (1, 32)),
        ("AGGREGATE AVG(x) - y OVER 3 ROWS", "TW282", (1, 20)),
        ("AGGREGATE 1 + 2 OVER 3 ROWS", "TW282", (1, 11)),
        ("AGGREGATE COUNT(DISTINCT x) OVER 3 ROWS", "TW282", (1, 11)),
        ("AGGREGATE AVG(*) OVER 3 ROWS", "TW213", (1, 11)),
        ("AGGREGATE AVG(x), AVG(x) OVER 3 ROWS", "TW214", (None, None)),
        ("AGGREGATE AVG(x) OVER 0 ROWS", "TW281", (1, 23)),
        ("AGGREGATE AVG(x) OVER 1.5 ROWS", "TW281", (1, 23)),
        ("AGGREGATE AVG(x) OVER 10 seconds SLIDE 3 ROWS", "TW281", (1, 23)),
        ("AGGREGATE AVG(x) OVER 1 second SLIDE 2 seconds", "TW220", (1, 23)),
        ("FILTER x > 1\n| AGGREGATE AVG(x) OVER 3 parsecs BY a", "TW106", (2, 25)),
        ("AGGREGATE AVG(x) OVER BY a", "TW121", (1, 23)),
        ("AGGREGATE AVG(x) OVER 3 ROWS GROUP BY a", "TW121", (1, 30)),
        ("AGGREGATE OVER 3 ROWS", "TW121", (1, 11)),
        ("FILTER x > 1 | FILTER", "TW121", (1, 22)),
        ("JOIN LEFT 0 ROWS RIGHT 3 miles", "TW281", (1, 11)),
        ("JOIN LEFT 1 ROW RIGHT 3 miles", "TW106", (1, 23)),
        ("JOIN LEFT 3 ROWS", "TW121", (1, 6)),
        ("JOIN x < RIGHT 3 ROWS LEFT 3 ROWS", "TW121", (1, 6)),
        ("FILTER AVG(x) > 1", "TW282", (1, 8)),
        ("MATCH RETURN COUNT(*)", "TW104", (1, 1)),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, code: str, place: tuple[int, int]) -> None:
    with pytest.raises(TrendweaveError) as raised:
        ops.pipe(text)

    first = raised.value.problems[0]
    assert (first.code, (first.line, first.column)) == (code, place)


@pytest.mark.parametrize("word", ["GROUP", "partition"])
def test_keys_as_other_languages_write_them_are_told(word: str) -> None:
    with pytest.raises(TrendweaveError) as raised:
        ops.pipe(f"AGGREGATE AVG(x) OVER 3 ROWS {word} BY machine, `a b` ORDER BY n")

    assert raised.value.problems[0].hint == "write BY machine, `a b`"
    assert raised.value.problems[0].length == len(word) + len(" BY")


def test_windows_are_quoted_without_blanks() -> None:
    with pytest.raises(TrendweaveError, match="OVER: '3 long days' is not a duration"):
        ops.pipe("AGGREGATE AVG(x) OVER 3 long days BY machine")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "TW281"),
        ({"within": "1 minute", "rows": 3}, "TW281"),
        ({"within": "1 minute", "slide_rows": 3}, "TW281"),
        ({"rows": 3, "slide": "1 minute"}, "TW281"),
        ({"rows": 3.0}, "TW281"),
        ({"within": "1 parsec"}, "TW106"),
        ({"rows": 3, "keys": [3]}, "TW282"),
    ],
)
def test_windows_that_do_not_go_together_are_refused(options: dict[str, object], code: str) -> None:
    with pytest.raises(TrendweaveError) as raised:
        ops.window_aggregate("COUNT(*)", **options)  # type: ignore[arg-type]

    assert [problem.code for problem in raised.value.problems] == [code]


@pytest.mark.parametrize("windows", [{"left": "1 row"}, {"right": "1 row"}, {"left": 3, "right": "1 row"}])
def test_a_join_has_two_windows(windows: dict[str, object]) -> None:
    with pytest.raises(TrendweaveError, match="TW281"):
        ops.window_join("left.x = right.x", **windows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chain", "codes"),
    [
        (ops.filter("cold > 1 AND machine > 3"), ["TW301", "TW305"]),
        (ops.filter("heat"), ["TW306"]),
        (HOT | ops.filter("cold > 1"), ["TW301"]),
        (ops.match("RETURN COUNT(*) PATTERN S+ WITHIN 1 second SLIDE 1 second") | HOT, ["TW316"]),
        (ops.pipe("AGGREGATE SUM(machine), AVG(cold) OVER 3 ROWS BY town"), ["TW301", "TW304", "TW301"]),
        (ops.pipe("AGGREGATE SUM(heat) AS machine, COUNT(*) AS time OVER 3 ROWS BY machine"), ["TW214", "TW214"]),
        (ops.pipe("AGGREGATE SUM(heat) AS window_end OVER 3 ROWS"), ["TW214"]),
        (ops.pipe("AGGREGATE MIN(machine) - 1 AS less OVER 3 ROWS"), ["TW306"]),
        (ops.pipe("JOIN heat = left.cold LEFT 1 ROW RIGHT 1 ROW"), ["TW203", "TW301"]),
        (ops.pipe("JOIN LEFT 1 ROW RIGHT 1 ROW BY town ORDER BY cold"), ["TW301", "TW301"]),
    ],
)
def test_what_does_not_fit_is_told_before_anything_runs(chain: ops.Chain, codes: list[str]) -> None:
    with pytest.raises(TrendweaveError) as raised:
        chain.check(EVENTS)

    assert sorted(problem.code for problem in raised.value.problems) == sorted(codes)
    if len(chain.operators) > 1:
        assert raised.value.problems[0].message.startswith("operator 2 (FILTER): ")


def test_options_of_other_places_are_refused() -> None:
    for options in ({"between": (0, 3)}, {"metrics": "m"}, {"max_trends": 3}, {"watermark": "1 second"}):
        with pytest.raises(TrendweaveError):
            HOT.run(EVENTS, **options)


def test_two_tables_are_for_joins() -> None:
    with pytest.raises(TrendweaveError, match="TW317"):
        HOT.run(EVENTS, EVENTS)


LEFT = pa.table({"time": [1, 2, 3, 5], "machine": ["a", "b", "a", "a"], "x": [1, 2, 3, 4]})
RIGHT = pa.table({"time": [1, 2, 4, 6], "machine": ["a", "b", "a", None], "y": ["p", "q", None, "r"]})
PAIRS = ops.window_join("right.y IS NULL OR left.x < 3", left="3 seconds", right="2 rows", keys="machine")


def test_two_tables_are_joined_in_the_kind_of_table_of_the_left_one() -> None:
    rows = PAIRS.run(LEFT, RIGHT)

    assert rows.column_names == ["time", "machine", "left_time", "left_x", "right_time", "right_y"]
    assert rows.to_pylist() == [
        {"time": 1, "machine": "a", "left_time": 1, "left_x": 1, "right_time": 1, "right_y": "p"},
        {"time": 2, "machine": "b", "left_time": 2, "left_x": 2, "right_time": 2, "right_y": "q"},
        {"time": 4, "machine": "a", "left_time": 3, "left_x": 3, "right_time": 4, "right_y": None},
        {"time": 5, "machine": "a", "left_time": 5, "left_x": 4, "right_time": 4, "right_y": None},
    ]
    assert PAIRS.schema(LEFT.schema, RIGHT.schema).equals(rows.schema.remove_metadata())
    assert PAIRS.run(pl.from_arrow(LEFT), pl.from_arrow(RIGHT)).to_dicts() == rows.to_pylist()
    assert PAIRS.run(LEFT.to_pandas(), RIGHT.to_pandas())["left_x"].tolist() == [1, 2, 3, 4]


def test_a_store_is_no_side_of_a_join(tmp_path: Path) -> None:
    store = EventStore.create(tmp_path, LEFT.schema)

    for sides in ((store, RIGHT), (LEFT, store)):
        with pytest.raises(TrendweaveError, match=r"TW408.*\n.*read the store first"):
            PAIRS.run(*sides)


def test_two_stores_are_read_before_they_are_joined(tmp_path: Path) -> None:
    stores = [EventStore.create(tmp_path / side, table.schema) for side, table in (("l", LEFT), ("r", RIGHT))]
    for store, table in zip(stores, (LEFT, RIGHT), strict=True):
        store.append(table)

    with pytest.raises(TrendweaveError, match=r"takes one store.*two were given\n.*left\.read\(\) and right\.read\(\)"):
        PAIRS.run(*stores)
    assert PAIRS.run(*(store.read() for store in stores)).equals(PAIRS.run(LEFT, RIGHT))


def test_a_column_tells_the_sides_of_one_table_apart() -> None:
    names = LEFT.column_names
    both = pa.concat_tables(
        [
            LEFT.append_column("side", pa.array(["left"] * 4)),
            RIGHT.rename_columns(names).drop_columns("x").append_column("side", pa.array(["right"] * 4)),
        ],
        promote_options="default",
    )
    pairs = ops.window_join(left="3 seconds", right="2 rows", keys="machine")
    engine = pairs.incremental(both)
    state, first = engine.push(engine.start(), both.sort_by("time"), 4)

    rows = pairs.run(both)

    assert rows.select(["left_time", "right_time"]).to_pylist() == [
        {"left_time": row["left_time"], "right_time": row["right_time"]} for row in pairs.run(LEFT, RIGHT).to_pylist()
    ]
    assert pa.concat_tables([first, engine.finish(state)]).to_pylist() == rows.to_pylist()
    with pytest.raises(TrendweaveError, match="side"):
        pairs.run(both.set_column(3, "side", pa.array(["middle"] * 8)))


def test_rows_of_a_join_are_events_of_the_next_operator() -> None:
    counts = PAIRS | ops.window_aggregate("COUNT(*), MAX(left_x) AS most", within="4 seconds", keys="machine")

    assert counts.run(LEFT, RIGHT).select(["time", "count", "most"]).to_pylist() == [
        {"time": 3, "count": 1, "most": 1},
        {"time": 3, "count": 1, "most": 2},
        {"time": 7, "count": 2, "most": 4},
    ]


@pytest.mark.parametrize(
    ("left", "right", "codes"),
    [
        (LEFT.drop_columns("x"), RIGHT, ["TW301"]),
        (LEFT, RIGHT.drop_columns("machine"), ["TW301"]),
        (LEFT, RIGHT.rename_columns(["when", "machine", "y"]), ["TW302"]),
        (LEFT, RIGHT.set_column(1, "machine", pa.array([1, 2, 3, 4])), ["TW305"]),
    ],
)
def test_sides_that_do_not_fit_are_told(left: pa.Table, right: pa.Table, codes: list[str]) -> None:
    with pytest.raises(TrendweaveError) as raised:
        PAIRS.run(left, right)

    assert [problem.code for problem in raised.value.problems] == codes


def test_explain_tells_of_every_operator_where_it_runs() -> None:
    chain = HOT | ops.window_aggregate("AVG(heat) AS mean", rows=3, keys="machine") | PAIRS_OF_MEANS
    of_text, of_events = chain.explain(), chain.explain(EVENTS, device="auto")

    assert [line for line in of_text.splitlines() if not line.startswith(" ")] == [
        operator.text for operator in chain.operators
    ]
    assert "store: row groups in which the condition may hold" in of_text
    assert "kept on a stream: the last 2 events at most of each machine" in of_events
    assert "on a stream all events meet by: machine" in of_events
    assert "partners are found in sorted order of left.mean and right.mean" in of_events
    assert "device: cpu, of 7 events" in of_events
    told = json.loads(chain.explain(EVENTS.schema, format="json", device="threads"))
    assert [one["keys"] for one in told["operators"]] == [[], ["machine"], ["machine"]]
    assert told["device"] == "threads"
    assert "devices" not in told
    for wrong in ({"format": "dot"}, {"device": "cpu"}):
        with pytest.raises(TrendweaveError, match="TW408"):
            chain.explain(**wrong)


@pytest.mark.parametrize("device", ["cpu", "threads", "gpu"])
def test_explain_tells_one_device_where_one_is_asked_for(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trendweave.gpu.card.has_card", lambda: False)
    told = HOT.explain(EVENTS, device=device).splitlines()

    assert [line for line in told if line.startswith("device: ")] == [f"device: {device}"]
    assert any("TW416" in line for line in told) == (device == "gpu")
    data = json.loads(HOT.explain(EVENTS, format="json", device=device))
    assert data["device"] == device
    assert ("TW416" in data.get("problem", "")) == (device == "gpu")


def test_explain_gives_the_choice_of_a_device_as_data() -> None:
    told = json.loads(HOT.explain(EVENTS, format="json", device="auto"))

    assert (told["device"], told["chosen"], told["events"], told["work"]) == ("auto", "cpu", 7, "filter")
    assert told["devices"].keys() == {"cpu", "threads", "gpu"}
    assert "not taken" in told["devices"]["gpu"] or "from" in told["devices"]["gpu"]


PAIRS_OF_MEANS = ops.pipe("JOIN left.mean < right.mean LEFT 10 seconds RIGHT 3 ROWS BY machine")


@pytest.mark.parametrize("window", ["3 ROWS", "3 seconds", "4 seconds SLIDE 2 seconds"])
def test_aggregates_of_expressions(window: str, tmp_path: Path) -> None:
    """They are those of a column that holds what the expressions give, and are named by their text."""
    events = EVENTS.filter(pc.is_valid(EVENTS.column("time"))).sort_by("time")
    heat = events.column("heat").to_pylist()
    double = [None if value is None else value * 2 for value in heat]
    hot = [1 if value is not None and not value <= 80 else 0 for value in heat]
    calculated = events.append_column("double", pa.array(double)).append_column("hot", pa.array(hot))
    plain = ops.pipe(
        f"AGGREGATE SUM(double), COUNT(double) AS n, SUM(hot) / COUNT(*) AS share OVER {window} BY machine"
    )
    wanted = plain.run(calculated)
    written = "SUM(heat * 2), COUNT(heat * 2) AS n, SUM(CASE WHEN heat > 80 THEN 1 ELSE 0 END) / COUNT(*) AS share"
    operator = ops.pipe(f"AGGREGATE {written} OVER {window} BY machine")

    found = operator.run(events)

    assert "SUM(heat * 2)" in found.column_names
    assert [repr(tuple(row.values())) for row in found.to_pylist()] == [
        repr(tuple(row.values())) for row in wanted.to_pylist()
    ]
    session = operator.push(events.schema)
    sent = [row for event in events.to_pylist() for row in session.send(event)] + session.finish().to_pylist()
    assert sorted(map(repr, sent)) == sorted(map(repr, found.to_pylist()))
    store = EventStore.create(str(tmp_path / "store"), events.schema, type=None)
    store.append(events)
    assert list(map(repr, operator.run(store).to_pylist())) == list(map(repr, found.to_pylist()))
