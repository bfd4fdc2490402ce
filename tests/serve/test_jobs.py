"""What worker processes do, here without a process: checking, columns, plans, runs and streams."""

from __future__ import annotations

import io
import math
import random
from collections import Counter
from dataclasses import asdict, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import trendweave
from tests.serve.serving_here import FALLING, STOCK, asked
from trendweave import datasets
from trendweave.serve.asking import Alert, Stream
from trendweave.serve.samples import SAMPLES
from trendweave.serve.serving import Limits
from trendweave.serve.worker import replaying
from trendweave.serve.worker.__main__ import Said
from trendweave.serve.worker.jobs import run_job
from trendweave.serve.worker.replaying import find_alerts
from trendweave.serve.worker.row_events import describe_events
from trendweave.serve.worker.running import collect

LIMITS = Limits()
MATCHES = "RETURN EACH S.price PATTERN Stock S WHERE S.price > 100 WITHIN 1 minute"


def do(
    kind: str, wanted: Any, folder: Path | None = None, limits: Limits = LIMITS, **stores: str
) -> list[dict[str, Any]]:
    job = {"kind": kind, "asked": wanted, "folder": folder and str(folder), "stores": stores, "limits": asdict(limits)}
    return list(run_job(job))


def only(messages: list[dict[str, Any]], event: str) -> dict[str, Any]:
    (found,) = [message for message in messages if message["event"] == event]
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_examples_of_samples_have_rows(sample: Any) -> None:
    for example in sample.examples:
        messages = do("run", asked(example.text, source={"kind": "sample", "name": sample.name}))
        assert only(messages, "result")["rows"] > 0, messages[-1]
        assert only(messages, "rows")["pictures"]


def test_rows_are_those_of_the_query() -> None:
    messages = do("run", asked(FALLING))
    expected = trendweave.query(FALLING).run(datasets.stock(2_000, seed=1))

    told = only(messages, "rows")
    assert [column["name"] for column in told["columns"]] == expected.column_names
    assert [column["kind"] for column in told["columns"]] == ["time", "time", "number", "number"]
    assert [row[3] for row in told["rows"]] == [str(one) for one in expected.column("falls").to_pylist()]
    assert told["rows"][0][0] == "2024-01-01 00:00:00"
    assert "<svg" in told["pictures"][0]["drawing"]
    assert only(messages, "result")["total"] == expected.num_rows


def test_every_run_says_why_there_are_no_rows(tmp_path: Path) -> None:
    """A worker lives on, and each page is somebody else's."""
    nothing = FALLING.replace("Stock ", "Stocks ")
    (tmp_path / "events.csv").write_text("time,type\n1,Stock\n", encoding="utf-8")
    of_file = asked("RETURN COUNT(*) PATTERN Stocks S+", source={"kind": "file", "name": "events.csv"})
    for wanted in (asked(nothing), asked(nothing), of_file, of_file):
        messages = do("run", wanted, tmp_path)
        assert only(messages, "result")["rows"] == 0
        (note,) = only(messages, "notes")["notes"]
        assert note.startswith("the result is empty: no event is of type Stocks; the types in type are Stock")
        assert note.endswith("did you mean Stock?")


def test_huge_results_are_cut() -> None:
    limits = replace(LIMITS, rows=7)
    counted = do("run", asked(FALLING), limits=limits)
    assert len(only(counted, "rows")["rows"]) == 7
    assert only(counted, "result") | {"reading": 0, "running": 0} == {
        **{"event": "result", "rows": 7, "total": 20, "cut": True, "events": 2_000, "stored": False},
        **{"reading": 0, "running": 0},
    }

    both = do("run", asked(FALLING, FALLING.replace("PATTERN", ", MAX(S.price) PATTERN")), limits=limits)
    parts = [message for message in both if message["event"] == "rows"]
    assert [(part["query"], len(part["rows"]), part["total"]) for part in parts] == [("q0", 3, 20), ("q1", 3, 20)]
    assert [part["drawn"] for part in parts] == [3, 3]
    assert (only(both, "result")["rows"], only(both, "result")["total"]) == (6, 40)

    wide = only(do("run", asked(FALLING), limits=replace(LIMITS, characters=100)), "rows")
    assert not wide["fit"]
    assert 0 < len(wide["rows"]) < 20

    many = do("run", asked("RETURN TRENDS PATTERN Stock S+ WITHIN 1 minute SLIDE 1 minute"))
    assert "a page gets at most 1,000,000" in str(only(many, "problems"))
    assert "max_trends" not in str(many)


@pytest.mark.parametrize("unit", ["s", "us", "numbers"])
@pytest.mark.parametrize(
    ("text", "is_inside"),
    [
        ("WITHIN 10 seconds SLIDE 5 seconds", lambda row, time: row["window_start"] <= time < row["window_end"]),
        ("WITHIN SESSION 3 seconds", lambda row, time: row["window_start"] <= time < row["window_end"]),
        ("WITHIN 10 seconds", lambda row, time: row["time"] - 10 < time <= row["time"]),
        ("", lambda row, time: True),
    ],
)
def test_a_row_leads_to_the_events_of_its_window_and_group(
    unit: str, text: str, is_inside: Any, tmp_path: Path
) -> None:
    generator = random.Random(5)
    events = [
        {"time": generator.randrange(60), "type": generator.choice("ABC"), "user": generator.choice([1, 2, None])}
        for _ in range(80)
    ]
    table = pa.Table.from_pylist(events)
    if unit != "numbers":
        table = table.set_column(
            0, "time", table.column("time").cast(pa.timestamp("s")).cast(pa.timestamp(unit, "UTC"))
        )
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    query = f"RETURN user, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY user {text}"
    source, stored = {"kind": "file", "name": "a.parquet"}, {"kind": "store", "name": "s"}
    trendweave.EventStore.create(tmp_path / "store", table.schema).append(table)

    told = only(do("run", asked(query, source=source), tmp_path), "rows")
    names = [column["name"] for column in told["columns"]]
    assert told["events"] == {"of": "window"}
    assert told["rows"]
    for cells in told["rows"]:
        row = dict(zip(names, cells, strict=True))
        found = only(do("events", asked(query, source=source, row=row), tmp_path), "events")
        same = only(do("events", asked(query, source=stored, row=row), s=str(tmp_path / "store")), "events")
        assert sorted(map(str, same["rows"])) == sorted(map(str, found["rows"]))
        moments = {name: _second(text) for name, text in row.items() if name in ("time", "window_start", "window_end")}
        expected = [
            event
            for event in events
            if event["type"] in "AB"
            and str(event["user"] or "") == (row["user"] or "")
            and is_inside(moments, event["time"])
        ]
        shown = [(_second(time), type_, user) for time, type_, user in found["rows"]]
        assert shown == sorted(shown, key=lambda one: one[0])
        assert Counter(shown) == Counter(
            (event["time"], event["type"], None if event["user"] is None else str(event["user"])) for event in expected
        )
        assert found["total"] == len(expected) > 0


def _second(text: str | None) -> Any:
    if text is None:
        return None
    return int(text) if text.isdigit() else int(datetime.fromisoformat(text + "+00:00").timestamp())


def test_a_row_of_a_group_of_one_variable_leads_to_all_events_of_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,type,user\n1,A,x\n1,A,y\n2,B,y\n3,C,x\n", encoding="utf-8")
    query = "RETURN A.user, COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.user WITHIN 9 seconds SLIDE 9 seconds"
    source = {"kind": "file", "name": "a.csv"}
    row = {"window_start": "0", "window_end": "9", "user": "x", "count": "1"}
    found = only(do("events", asked(query, source=source, row=row), tmp_path), "events")
    assert found["rows"] == [["1", "A", "x"], ["2", "B", "y"]]
    for wrong, message in (
        ({"user": "x"}, "the row has no time"),
        ({**row, "window_end": "now"}, "no time of"),
    ):
        refused = only(do("events", asked(query, source=source, row=wrong), tmp_path), "refused")
        assert message in refused["message"]


@pytest.mark.parametrize(
    ("pattern", "rows", "events"),
    [
        ("SEQ(A, B) WHERE [user] WITHIN 5 seconds", ["2y", "3x"], ["1Ax 3Bx", "1Ay 2By"]),
        (
            "A{2} SEMANTICS skip-till-next-match WHERE [user] WITHIN 5 seconds AFTER MATCH SKIP PAST LAST EVENT",
            ["4x"],
            ["1Ax 4Ax"],
        ),
        ("SEQ(A, NOT B) WHERE [user] WITHIN 4 seconds", ["8x"], ["4Ax"]),
    ],
)
def test_a_row_of_one_trend_leads_to_the_events_of_its_keys(
    pattern: str, rows: list[str], events: list[str], tmp_path: Path
) -> None:
    lines = ["time,type,user", "1,A,x", "1,A,y", "2,B,y", "3,B,x", "4,A,x", "9,B,x"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    wanted = asked(f"RETURN EACH A.user AS who PATTERN {pattern}", source={"kind": "file", "name": "a.csv"})
    told = only(do("run", wanted, tmp_path), "rows")["rows"]
    found = [
        only(do("events", wanted | {"row": {"time": time, "who": who}}, tmp_path), "events")["rows"]
        for time, who in told
    ]
    assert sorted(map("".join, told)) == rows
    assert sorted(" ".join(map("".join, one)) for one in found) == events


def test_a_row_that_shows_a_trend_has_its_events() -> None:
    text = "RETURN TRENDS(A.price) PATTERN SEQ(Stock A, Stock B) WITHIN 2 seconds LIMIT 2"
    told = only(do("run", asked(text)), "rows")
    trends = trendweave.query(text).run(datasets.stock(2_000, seed=1)).column("events").to_pylist()
    assert told["events"]["of"] == "trend"
    assert [column["name"] for column in told["events"]["columns"]] == ["variable", "time", "type", "price"]
    prices = [[event["price"] for event in trend] for trend in trends]
    assert [[float(price) if price else None for *_, price in trend] for trend in told["events"]["trends"]] == prices
    query = trendweave.query(text)
    cut = describe_events(query, query.run(datasets.stock(2_000, seed=1)), 100)
    assert cut is not None
    assert [trend is None for trend in cut["trends"]] == [False] + [True] * (len(trends) - 1), "as many as have room"


def test_rows_of_situations_lead_to_no_window() -> None:
    text = "FROM Stock PARTITION BY company DEFINE High AS price > 100 RETURN SITUATIONS"
    assert only(do("run", asked(text)), "rows")["events"] is None
    refused = only(do("events", asked(text, row={"window_start": "0"})), "refused")
    assert refused["message"] == "only rows of a query for trends have a window"


def test_numbers_that_tell_rows_apart_are_no_values() -> None:
    told = only(do("run", asked("RETURN company, COUNT(*) PATTERN Stock S GROUP-BY company")), "rows")
    assert {column["name"]: column["is_value"] for column in told["columns"]} == {
        "window_start": False,
        "window_end": False,
        "company": False,
        "count": True,
    }


def test_rows_that_are_not_counted_are_not_said_to_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trendweave.serve.worker.running._COUNTING", -1.0)
    batch = pa.record_batch({"query": ["a", "a", "b"], "n": [1, 2, 3]})
    cut = collect([batch] * 3, batch.schema, 2, ("a", "b"))
    assert cut.rows.to_pydict() == {"query": ["a", "b"], "n": [1, 3]}
    assert (cut.totals, [cut.total_of(name) for name in "ab"]) == ({"a": 4, "b": 2}, [None, None])
    whole = collect([batch] * 3, batch.schema, 2, ("a", "b", "c"))
    assert [whole.total_of(name) for name in "abc"] == [6, 3, 0], "while one has room, all are counted"


def test_counts_of_any_size_have_all_their_digits() -> None:
    messages = do("run", asked("RETURN COUNT(*) PATTERN Stock S+"))

    # Of the events of each moment a trend has one or none, and of all moments at least one.
    moments = Counter(datasets.stock(2_000, seed=1).column("time").to_pylist())
    count = math.prod(events + 1 for events in moments.values()) - 1
    assert only(messages, "rows")["rows"] == [[None, None, str(count)]]
    assert only(messages, "rows")["columns"][2]["kind"] == "number"
    notes = [note for message in messages if message["event"] == "notes" for note in message["notes"]]
    assert len(notes) == 2
    assert "more than 38 digits" in notes[0]
    assert notes[1].startswith("2,000 of 2,000 events have the time of others"), "all of this sample"
    assert "order_by" not in notes[1]


def test_problems_have_places_and_carets() -> None:
    told = only(do("check", asked("RETURN SUM(T.price) PATTERN Stock S{5,2}")), "problems")
    first, second = told["problems"]
    assert (first["code"], first["line"], first["column"], first["length"]) == ("TW201", 1, 8, 12)
    assert "           ^^^^^^^^^^^^" in first["shown"].splitlines()
    assert second["hint"] == "write {2,5}"

    unfit = only(do("check", asked("RETURN SUM(S.prize) PATTERN Stock S+")), "problems")
    assert (unfit["stage"], unfit["problems"][0]["hint"]) == ("data", "did you mean price?")
    assert do("check", asked(FALLING)) == [{"event": "ok", "kinds": ["trends"]}]


def test_the_one_column_of_timestamps_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("made at,type\n2024-01-01 10:00:00,A\n", encoding="utf-8")
    source = {"kind": "file", "name": "a.csv", "time": "time", "type": "type"}
    (told,) = only(do("run", asked("RETURN COUNT(*) PATTERN A+", source=source), tmp_path), "problems")["problems"]
    assert told["hint"] == "choose made at under Time, the one column of timestamps"


def test_what_cannot_be_read_does_not_hide_columns_that_are_not_there() -> None:
    texts = ("RETRUN COUNT(*) PATTERN Stock S+", "RETURN SUM(S.prize) PATTERN Stock S+", FALLING)
    told = only(do("check", asked(*texts)), "problems")["problems"]
    assert [(one["query"], one["code"]) for one in told] == [("q0", "TW101"), ("q1", "TW301")]


def test_the_page_speaks_of_its_own_fields(tmp_path: Path) -> None:
    (plan,) = only(do("plan", asked("RETURN COUNT(*) PATTERN SEQ(A, B)")), "plan")["queries"]
    assert "events with the same timestamp never follow each other" in plan["text"]
    (path,) = only(do("check", asked("rules/a.tw")), "problems")["problems"]
    (tmp_path / "a.csv").write_text("times,typ\n1,A\n", encoding="utf-8")
    source = {"kind": "file", "name": "a.csv", "time": "time", "type": "type"}
    missing = only(do("run", asked("RETURN COUNT(*) PATTERN A+", source=source), tmp_path), "problems")["problems"]
    (tmp_path / "b.csv").write_text("time,type\n1,A\n1,B\n", encoding="utf-8")
    source = {"kind": "file", "name": "b.csv"}
    nothing = only(do("run", asked("RETURN COUNT(*) PATTERN SEQ(A, B)", source=source), tmp_path), "notes")["notes"]
    said = [plan["text"], path["shown"], *(one["shown"] for one in missing), *nothing]
    assert not any(python in "\n".join(said) for python in ("order_by", "trendweave.", "Path(", "time=", "type="))
    assert path["hint"].startswith("write the query itself")
    assert [one["hint"] for one in missing] == [
        "did you mean times? Choose it under Time",
        "did you mean typ? Choose it under Type",
    ]
    assert nothing[0].endswith("events with the same timestamp never follow each other")


def test_rules_are_told_apart_and_what_they_share() -> None:
    both = asked(FALLING, FALLING.replace("S.price > NEXT", "S.volume > 5000 AND S.price > NEXT"))
    plan = only(do("plan", both), "plan")
    assert [query["name"] for query in plan["queries"]] == ["q0", "q1"]
    assert "2 of the queries together" in plan["shared"]["text"]
    assert all(f"<title>{name}</title>" in plan["shared"]["drawing"] for name in ("q0", "q1"))
    assert all("<svg" in query["drawing"] for query in plan["queries"])

    parts = [message for message in do("run", both) if message["event"] == "rows"]
    assert [part["query"] for part in parts] == ["q0", "q1"]
    assert all(len(part["rows"]) == 20 for part in parts)

    wrong = only(do("check", asked(FALLING, "RETURN")), "problems")
    assert {problem["query"] for problem in wrong["problems"]} == {"q1"}
    same = {"rules": [{"name": "a", "text": FALLING}] * 2}
    assert only(do("check", same), "refused")["message"] == "two rules have the same name"


def test_a_stream_ends_with_the_rows_of_the_batch() -> None:
    messages = do(
        "live", asked(FALLING, stream={"rate": 0, "alert": {"column": "falls", "comparison": ">", "value": 10**5}})
    )
    expected = trendweave.query(FALLING).run(datasets.stock(2_000, seed=1)).column("falls").to_pylist()

    end = only(messages, "ends")
    assert (end["sent"], end["rows"], end["late"], end["windows"]) == (2_000, len(expected), 0, 2)
    assert end["alerts"] == sum(falls > 10**5 for falls in expected)
    rows = [row for message in messages if "new" in message for row in message["new"]]
    assert sorted(int(row["cells"][3]) for row in rows) == sorted(map(int, expected))
    assert all(row["alert"] == (int(row["cells"][3]) > 10**5) for row in rows)


def test_delays_make_events_late_and_matches_are_alerts() -> None:
    end = only(do("live", asked(MATCHES, stream={"rate": 0, "delay": 60, "watermark": "1 second"})), "ends")
    assert end["late"] > 0
    assert 0 < end["alerts"] == end["rows"]
    assert end["watermark"].startswith("2024-01-01 00:0")

    counted = only(do("live", asked(MATCHES, FALLING, stream={"rate": 0})), "ends")
    assert counted["alerts"] == counted["queries"]["q0"] < counted["rows"]


@pytest.mark.parametrize("rate", [0.5, 20.0, 2_000.0])
def test_a_stream_keeps_its_speed(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    """However long some pieces take, such as those that kernels are compiled for."""
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(replaying, "time", SimpleNamespace(monotonic=lambda: now, sleep=wait))
    table = pa.table({"time": range(int(rate * 60))})
    came: list[tuple[float, int]] = []
    for number, piece in enumerate(replaying._pieces(table, Stream(rate=rate))):
        came.append((now, piece.num_rows))
        wait({0: 5.0, 30: 2.0}.get(number, 0.001))
    assert sum(events for _, events in came) == table.num_rows
    for begin, _ in came:
        in_a_second = sum(events for moment, events in came if begin <= moment < begin + 1)
        assert in_a_second <= 1.13 * rate + 1
    # Only those two pieces are not caught up with.
    assert now == pytest.approx(60 + 5 + 2, rel=0.05)


def test_streams_are_refused_where_they_cannot_be() -> None:
    assert only(do("live", asked("RETURN COUNT(*) PATTERN Stock S+")), "problems")["problems"][0]["code"] == "TW409"
    wrong = asked(FALLING, stream={"rate": 0, "alert": {"column": "falling", "comparison": ">", "value": 1}})
    assert "no column falling" in only(do("live", wrong), "refused")["message"]
    text = {"rate": 0, "alert": {"column": "window_start", "comparison": ">", "value": 1}}
    assert "compares numbers" in only(do("live", asked(FALLING, stream=text)), "refused")["message"]
    assert only(do("live", asked(FALLING, stream={"watermark": "soon"})), "problems")


def test_alerts_compare_all_digits() -> None:
    """As a float, one more than 2^53 would be 2^53."""
    is_alert = find_alerts(trendweave.query(FALLING), Alert("falls", "=", 2**53))
    assert [is_alert({"falls": Decimal(2**53 + more)}) for more in (0, 1)] == [True, False]
    assert not is_alert({"falls": None})


def test_a_column_called_query_is_none_of_a_workload(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,type,query\n1,A,x\n2,A,y\n")
    text = "RETURN query, COUNT(*) PATTERN A WHERE [query] GROUP-BY query WITHIN 1 second SLIDE 1 second"
    told = do("live", asked(text, source={"kind": "file", "name": "a.csv"}, stream={"rate": 0}), tmp_path)
    assert (only(told, "ends")["rows"], only(told, "ends")["queries"]) == (2, {})


def test_files_have_columns_and_rows(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("when,kind,a b\n1,X,2\n2,X,\n")
    (tmp_path / "bad.parquet").write_text("no Parquet")
    odd = {"kind": "file", "name": "odd.csv"}
    seen = only(do("columns", {"source": odd}, tmp_path), "columns")
    assert [column["name"] for column in seen["columns"]] == ["when", "kind", "a b"]
    assert (seen["rows"], seen["type"], seen["sample"][1]) == (2, None, ["2", "X", None])

    chosen = {**odd, "time": "when", "type": "kind"}
    found = do("run", asked("RETURN COUNT(*) PATTERN X+", source=chosen), tmp_path)
    assert only(found, "rows")["rows"] == [[None, None, "3"]]
    assert only(do("columns", {"source": chosen}, tmp_path), "columns")["types"] == ["X"]
    (tmp_path / "odd.csv").write_text("when,kind,c\n1,Y,2\n")
    assert only(do("columns", {"source": chosen}, tmp_path), "columns")["types"] == ["Y"]

    millis = "time,type\n1700000000000,A\n"
    (tmp_path / "millis.csv").write_text(millis)
    told = only(do("columns", {"source": {"kind": "file", "name": "millis.csv"}}, tmp_path), "columns")["note"]
    assert told.endswith("choose milliseconds under Times are")

    broken = do("run", asked(FALLING, source={"kind": "file", "name": "bad.parquet"}), tmp_path)
    assert only(broken, "problems")["problems"][0]["code"] == "TW308"
    outside = do("run", asked(FALLING, source={"kind": "file", "name": "../bad.parquet"}), tmp_path)
    assert "there is no file" in only(outside, "refused")["message"]


@pytest.mark.parametrize(
    ("times", "how"),
    [
        ((1_700_000_000_000, 1_700_000_001_500), "ms"),
        (("2023-11-14T22:13:20", "2023-11-14 22:13:21.500"), "iso"),
        (("2023-11-14T23:13:20+01:00", "2023-11-14T22:13:21.5Z"), "iso"),
        (("14.11.2023 22:13:20.0", "14.11.2023 22:13:21.5"), "%d.%m.%Y %H:%M:%S.%f"),
    ],
)
def test_times_may_be_numbers_or_text(tmp_path: Path, times: Any, how: str) -> None:
    pyarrow.parquet.write_table(pa.table({"time": times, "type": ["A", "A"]}), tmp_path / "a.parquet")
    source = {"kind": "file", "name": "a.parquet", "times": how}
    query = "RETURN COUNT(*) PATTERN A WITHIN 1 second SLIDE 1 second"

    seen = only(do("columns", {"source": source}, tmp_path), "columns")
    assert (seen["first"], seen["last"]) == ("2023-11-14 22:13:20", "2023-11-14 22:13:21.500000")
    rows = only(do("run", asked(query, source=source), tmp_path), "rows")["rows"]
    assert [row[0] for row in rows] == ["2023-11-14 22:13:20", "2023-11-14 22:13:21"]
    assert only(do("live", asked(query, source=source, stream={"rate": 0}), tmp_path), "ends")["rows"] == 2
    wrong = {**source, "times": "iso" if how == "ms" else "ms"}
    (told,) = only(do("run", asked(query, source=wrong), tmp_path), "problems")["problems"]
    assert told["code"] == "TW303"
    assert "under Times are" in told["hint"]


def test_a_stored_month_is_asked_and_nothing_is_written(tmp_path: Path) -> None:
    days = pa.array([1_704_067_200 + 86_400 * day for day in range(60)], pa.int64()).cast(pa.timestamp("s"))
    pyarrow.parquet.write_table(pa.table({"time": days, "type": ["A"] * 60}), tmp_path / "a.parquet")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    month = {"kind": "store", "name": "days", "start": "2024-02-01", "end": "2024-03-01"}
    query = "RETURN COUNT(*) PATTERN A WITHIN 1 day SLIDE 1 day"

    seen = only(do("columns", {"source": month}, days=str(tmp_path)), "columns")
    assert [one["name"] for one in seen["months"]] == ["2024-01", "2024-02"]
    assert seen["types"] == ["A"]
    found = do("run", asked(query, source=month), days=str(tmp_path))
    assert len(only(found, "rows")["rows"]) == 29
    assert only(do("live", asked(query, source=month, stream={"rate": 0}), days=str(tmp_path)), "ends")["sent"] == 29
    assert "row groups" in only(do("plan", asked(query, source=month), days=str(tmp_path)), "plan")["access"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    for kind in ("run", "live"):
        wrong = do(kind, asked(query, source={**month, "end": "soon"}), days=str(tmp_path))
        assert only(wrong, "problems")["problems"][0]["message"] == "'soon' is no moment"
    assert (
        "there is no store"
        in only(do("run", asked(query, source={**month, "name": str(tmp_path)})), "refused")["message"]
    )


@pytest.mark.parametrize("source", [{"kind": "sample", "name": "__init__"}, {"kind": "sample", "name": "os"}, None])
def test_unknown_sources_are_refused(source: Any) -> None:
    assert only(do("run", asked(FALLING, source=source)), "refused")["message"]


def test_what_the_package_says_is_told_to_the_page() -> None:
    told: list[str] = []
    stream = io.StringIO()
    said = Said(stream, told.append)
    print("trendweave: compiling takes some seconds, once, and is kept in /folder", file=said)
    print("something else", file=said, flush=True)
    assert told == ["compiling takes some seconds"]
    assert stream.getvalue().count("\n") == 2


def test_without_a_query_nothing_runs() -> None:
    assert only(do("run", {"source": STOCK}), "refused")["message"] == "there is no query"
