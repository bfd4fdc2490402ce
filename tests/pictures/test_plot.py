"""`plot` and `show`: what is drawn of results, queries, workloads, operators and stores, and what is refused."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from tests.documentation import ROOT, run_page
from trendweave import operators as ops
from trendweave.errors import OptionError
from trendweave.pictures.picture import Picture
from trendweave.pictures.trends import choose_rows

SVG = "{http://www.w3.org/2000/svg}"
START = datetime(2024, 3, 30, 23, 40, tzinfo=UTC)


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Two companies; the prices of X fall, those of Y rise."""
    moments = [START + timedelta(minutes=20 * (i // 2)) for i in range(12)]
    prices = [10.0, 5.0, 9.0, 6.0, 8.0, 7.0, 7.0, 8.0, 6.0, 9.0, 5.0, 10.0]
    columns = {"time": pa.array(moments, pa.timestamp("us", "UTC")), "type": ["Stock"] * 12}
    return pa.table({**columns, "company": ["X", "Y"] * 6, "price": prices})


@pytest.fixture(scope="module")
def falling() -> trendweave.Query:
    return trendweave.query("""
        RETURN company, COUNT(*) AS number, MIN(S.price) AS low PATTERN Stock S+
        WHERE [company] AND S.price > NEXT(S).price GROUP-BY company WITHIN 1 hour SLIDE 20 minutes
    """)


@pytest.fixture(scope="module")
def listing() -> trendweave.Query:
    return trendweave.query("""
        RETURN TRENDS(S.price) PATTERN Stock S+ WHERE [company] AND S.price > NEXT(S).price
        GROUP-BY company LONGEST 1
    """)


def texts(picture: Picture) -> list[str]:
    """Texts, those in several lines as one."""
    found = ElementTree.fromstring(picture.svg()).iter(f"{SVG}text")
    return [one.text or " ".join(line.text or "" for line in one.iter(f"{SVG}tspan")) for one in found]


def count(picture: Picture, tag: str) -> int:
    return len(list(ElementTree.fromstring(picture.svg()).iter(f"{SVG}{tag}")))


@pytest.mark.parametrize(
    "as_kind", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "pl"]
)
def test_windows_of_any_kind_of_table(events: pa.Table, falling: trendweave.Query, as_kind: Any) -> None:
    result = falling.run(events)
    picture = trendweave.plot(as_kind(result), falling, unit="trends")
    assert {"X", "Y", "number (trends)", "number over time by company"} <= set(texts(picture))
    assert count(picture, "circle") == result.num_rows
    assert count(picture, "polyline") == 2


def test_columns_are_found_without_the_query(events: pa.Table, falling: trendweave.Query) -> None:
    result = falling.run(events)
    assert {"low", "X", "Y"} <= set(texts(trendweave.plot(result)))
    assert {"number", "X"} <= set(texts(trendweave.plot(result, value="number", group="company")))
    with pytest.raises(OptionError, match=r"no column lwo(.|\n)*did you mean low"):
        trendweave.plot(result, value="lwo")


@pytest.mark.parametrize(
    ("name", "kind"), [("company", "string"), ("window_end", "timestamp"), ("day", "date32"), ("parts", "list")]
)
def test_what_is_no_number_is_not_drawn(events: pa.Table, falling: trendweave.Query, name: str, kind: str) -> None:
    result = falling.run(events)
    result = result.append_column("day", pa.array([START.date()] * result.num_rows))
    result = result.append_column("parts", pa.array([[1]] * result.num_rows))
    with pytest.raises(OptionError, match=rf"TW408: {name} is not numeric(.|\n)*{kind}(.|\n)*value='number'"):
        trendweave.plot(result, value=name)
    for table in (result, result.slice(0, 1)):
        with pytest.raises(OptionError, match=f"TW408: {name} is not numeric"):
            trendweave.show(table, value=name)


def test_numbers_as_text_are_drawn_where_they_are_asked_for() -> None:
    table = pa.table({"time": [1, 2, 3], "sum": ["12.50", "-3", None], "count": [1, 2, 3]})
    assert count(trendweave.plot(table, value="sum"), "circle") == 2
    coded = table.set_column(1, "sum", pa.array([5, 6, 5]).dictionary_encode())
    assert count(trendweave.plot(coded, value="sum"), "circle") == 3


def test_times_are_marked_in_the_zone_that_is_asked_for(events: pa.Table, falling: trendweave.Query) -> None:
    """In Berlin the clocks go from 2:00 to 3:00 in that night."""
    result = falling.run(events)
    assert "start of the window, 2024-03-30 to 2024-03-31, UTC" in texts(trendweave.plot(result))
    berlin = texts(trendweave.plot(result, zone="Europe/Berlin"))
    assert "start of the window, 2024-03-31, Europe/Berlin" in berlin
    marked = [text for text in berlin if re.fullmatch(r"\d\d:\d\d", text)]
    assert {"01:30", "03:00"} <= set(marked)
    assert not [text for text in marked if text.startswith("02")]
    with pytest.raises(OptionError, match="did you mean Europe/Berlin"):
        trendweave.plot(result, zone="Europe/Berln")
    seconds = pa.table({"time": [1, 2], "count": [3, 4]})
    with pytest.raises(OptionError, match="times have no zone"):
        trendweave.plot(seconds, zone="UTC")


def test_trends_and_trends_on_their_events(events: pa.Table, listing: trendweave.Query) -> None:
    result = listing.run(events)
    lanes = trendweave.plot(result, listing)
    assert {"company X", "company Y", "S"} <= set(texts(lanes))
    assert lanes.note == str(listing)
    on_events = trendweave.plot(result, events=events, unit="EUR")
    assert {"price (EUR)", "all events"} <= set(texts(on_events))
    root = ElementTree.fromstring(on_events.svg())
    courses = [line for line in root.iter(f"{SVG}polyline") if line.get("class") == "quiet"]
    assert [len(line.get("points", "").split()) for line in courses] == [6, 6]
    # All of X is one falling trend, and the longest one of Y has one event.
    trends = [line for line in root.iter(f"{SVG}polyline") if line.get("class") == "line"]
    assert [len(line.get("points", "").split()) for line in trends] == [6, 1]
    assert courses[0].get("points") == trends[0].get("points")
    with pytest.raises(OptionError, match=r"do not tell volume(.|\n)*RETURN TRENDS\(S.volume\)"):
        trendweave.plot(result, events=events, value="volume")


def test_variables_without_dots_are_not_in_the_legend() -> None:
    """Of 500 events the first and the last are dots, and those without a price are nowhere."""
    kind = pa.list_(pa.struct({"variable": pa.string(), "time": pa.int64(), "price": pa.float64()}))
    long = [{"variable": "M", "time": place, "price": 1.0} for place in range(500)]
    ends = [{"variable": name, "time": when, "price": 2.0} for name, when in (("A", -1), ("Z", 500))]
    course = pa.table({"time": range(500), "price": [1.0] * 500})
    found = pa.table({"events": pa.array([[ends[0], *long, ends[1]]], kind)})
    shown = texts(trendweave.plot(found, events=course))
    assert [text for text in shown if text in ("A", "M", "Z")] == ["A", "Z"]
    short = pa.table({"events": pa.array([[ends[0], long[0], {"variable": "N", "time": 3, "price": None}]], kind)})
    shown = texts(trendweave.plot(short, events=course))
    assert [text for text in shown if text in ("A", "M", "N")] == ["A", "M"]


def test_situations_of_a_key_share_lanes() -> None:
    found = pa.table(
        {
            "who": ["x", "x", "y", "x"],
            "name": ["A", "B", "A", "A"],
            "start": [0, 1, 2, 8],
            "end": [1, 3, 5, 9],
        }
    )
    root = ElementTree.fromstring(trendweave.plot(found).svg())
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) == 4
    lanes = [float(bar.get("y", "")) for bar in bars]
    assert (lanes[0] == lanes[1], len(set(lanes))) == (True, 3), "x A twice, x B, y A"
    assert [text for text in texts(trendweave.plot(found)) if text in ("who x", "who y")] == ["who x", "who y"]
    tall = pa.table(
        {"who": [str(i) for i in range(100, 160)], "name": ["A"] * 60, "start": range(60), "end": range(1, 61)}
    )
    assert texts(trendweave.plot(tall)).count("20") == 2, "times are marked twice"


def test_keys_on_a_time_line_stay_apart() -> None:
    keys = [f"the long-distance station number {number} of Frankfurt on the Main" for number in range(9)]
    found = pa.table({"at": keys, "name": ["A"] * 9, "start": range(9), "end": range(1, 10)})
    shown = [text for text in texts(trendweave.plot(found)) if text.startswith("at the")]
    assert len(set(shown)) == len(shown) == 9


def test_unknown_and_empty_keys_have_names() -> None:
    keys = [None, "", "None", "NULL"]
    named = ["NULL", "''", "None", "'NULL'"]
    lines = pa.table({"time": [1] * 4 + [2] * 4, "who": keys * 2, "count": range(8)})
    assert [text for text in texts(trendweave.plot(lines)) if text in named] == sorted(named)
    assert count(trendweave.plot(lines), "polyline") == 4
    assert set(named) <= set(texts(trendweave.plot(lines.slice(0, 4))))
    bars = pa.table({"who": keys, "name": ["A"] * 4, "start": range(4), "end": range(1, 5)})
    assert {f"who {name}" for name in named} <= set(texts(trendweave.plot(bars)))
    kind = pa.list_(pa.struct({"variable": pa.string(), "time": pa.int64()}))
    trends = pa.table({"who": keys, "events": pa.array([[{"variable": "S", "time": 1}]] * 4, kind)})
    assert {f"who {name}" for name in named} <= set(texts(trendweave.plot(trends)))


def test_matches_and_situations() -> None:
    readings = pa.table({"time": [0, 1, 2, 3, 4, 5], "patient": ["P"] * 6, "degrees": [37, 39, 39, 39, 39, 37]})
    text = "FROM R PARTITION BY patient DEFINE Fever AS degrees > 38, Cool AS degrees < 38"
    query = trendweave.query(f"{text} PATTERN Fever before; meets Cool RETURN patient")
    result = query.run(readings)
    for picture in (trendweave.plot(result, query), trendweave.plot(result)):
        assert {"patient P", "Fever", "Cool", "time (seconds)"} <= set(texts(picture))
        assert any("was certain" in text for text in texts(picture))
    situations = trendweave.query("FROM R PARTITION BY patient DEFINE Fever AS degrees > 38 RETURN SITUATIONS")
    assert {"Fever", "patient P"} <= set(texts(trendweave.plot(situations.run(readings))))


def test_queries_workloads_operators_and_plans(falling: trendweave.Query) -> None:
    template = trendweave.plot(falling)
    assert {"S", "Stock", "S.price > NEXT(S).price"} <= set(texts(template))
    assert trendweave.plot(falling.plan) == template
    rules = trendweave.workload(
        {
            "one": "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 1 hour SLIDE 1 hour",
            "two": "RETURN COUNT(*) PATTERN SEQ(C c, B b+) WITHIN 1 hour SLIDE 1 hour",
        }
    )
    assert {"workload of 2 queries", "one", "two", "A", "C"} <= set(texts(trendweave.plot(rules)))
    chain = ops.filter("price < 9") | falling
    assert {"events", "filter", "price < 9", "query", "rows"} <= set(texts(trendweave.plot(chain)))


def test_a_merged_template_that_is_too_large_is_said() -> None:
    rules = {
        f"rule {number}": f"RETURN COUNT(*) PATTERN SEQ(A{number} a, B b+) WITHIN 1 hour SLIDE 1 hour"
        for number in range(70)
    }
    few, many = (trendweave.workload(dict(list(rules.items())[:size])) for size in (5, 70))
    assert not [text for text in texts(trendweave.plot(few)) if "is not drawn" in text]
    told = [text for text in texts(trendweave.plot(many)) if "is not drawn" in text]
    assert len(told) == 1
    assert re.fullmatch(r"the template has \d{2,} states, and is not drawn: these are too many", told[0])


def test_what_a_stored_query_reads(events: pa.Table, falling: trendweave.Query, tmp_path: Path) -> None:
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, keys=["company"], index=["price"])
    store.append(events)
    shown = texts(trendweave.plot(falling, store=store))
    assert {"replay", "row groups", "estimated time (microseconds)"} <= set(shown)
    assert [text for text in shown if re.fullmatch(r"[\d.]+ µs, chosen", text)]
    assert [text for text in shown if re.fullmatch(r"(\d+) of \1", text)], "all row groups are read"
    with pytest.raises(OptionError, match="for a query or a workload"):
        trendweave.plot(events, store=store)


def test_what_cannot_be_drawn_is_said(events: pa.Table) -> None:
    with pytest.raises(OptionError, match="no windows, trends or situations"):
        trendweave.plot(pa.table({"x": [1]}))


def test_exact_numbers_as_text_are_drawn(events: pa.Table, falling: trendweave.Query) -> None:
    result = falling.run(events, numbers="text")
    assert pa.types.is_string(result.schema.field("number").type)
    picture = trendweave.plot(result, falling)
    assert picture.title == "number over time by company"
    assert count(picture, "circle") == count(trendweave.plot(falling.run(events), falling), "circle")
    alone = trendweave.query("RETURN COUNT(*) PATTERN Stock S+ WITHIN 1 hour SLIDE 1 hour")
    assert "<svg" in trendweave.show(alone.run(events, numbers="text"), alone)._repr_html_()


def test_logarithms_are_called_so(events: pa.Table, falling: trendweave.Query) -> None:
    all_of_them = trendweave.query("RETURN COUNT(*) AS n, MIN(S.price) AS low PATTERN Stock S+")
    many = pa.table({"time": range(2_000), "type": ["Stock"] * 2_000, "price": [1.0] * 2_000})
    for table in (many, many.to_pandas()):
        result = all_of_them.run(table, numbers="log2")
        assert list(map(float, result["n"].to_numpy())) == [2_000.0], "which may be a count as well"
        assert {"log2 of n", "2,000"} <= set(texts(trendweave.plot(result, all_of_them)))
        assert "log2 of n" in texts(trendweave.plot(result, value="n"))
        assert "low" in texts(trendweave.plot(result, all_of_them, value="low")), "a price is no count"
    windows = falling.run(events, numbers="log2").replace_schema_metadata(None)
    assert "log2 of number" in texts(trendweave.plot(windows, falling)), "no count has a part"
    floats = falling.run(events, numbers="float64")
    assert "number" in texts(trendweave.plot(floats, falling))
    assert "log2 of number" in texts(trendweave.plot(floats, falling, numbers="log2"))
    assert "number" in texts(trendweave.plot(windows, falling, numbers="float64"))


def test_nothing_found_is_drawn_as_nothing(events: pa.Table) -> None:
    none = trendweave.query("RETURN TRENDS PATTERN Other O").run(events)
    assert "no rows" in texts(trendweave.plot(none))
    matches = pa.table({"time": [1], "A_start": [0], "A_end": [1]}).slice(0, 0)
    assert {"Matches", "no rows"} <= set(texts(trendweave.plot(matches)))
    assert "Mine" in texts(trendweave.plot(matches, title="Mine"))


def test_one_event_stands_in_the_middle(events: pa.Table) -> None:
    one = trendweave.query("RETURN TRENDS(S.price) PATTERN Stock S").run(events.slice(0, 1))
    for picture in (trendweave.plot(one), trendweave.plot(one, events=events.slice(0, 1))):
        dots = [dot for dot in ElementTree.fromstring(picture.svg()).iter(f"{SVG}circle") if len(dot)]
        assert [300 < float(dot.get("cx", "")) < 620 for dot in dots] == [True]
    assert trendweave.plot(one).title == "one trend"


def test_rows_beside_a_picture(events: pa.Table, falling: trendweave.Query) -> None:
    shown = trendweave.show(falling.run(events.to_pandas().assign(time=events["time"].to_pandas())), falling, rows=3)
    assert isinstance(falling.run(events.to_pandas()), pd.DataFrame), "results stay what they are"
    page = shown._repr_html_()
    assert page.count("<tr>") == 4
    assert "<svg" in page
    assert "3 of 16 rows" in page
    lines = str(shown).splitlines()
    assert len(lines) == 5
    assert lines[0].split() == ["window_start", "window_end", "company", "number", "low"]
    whole = trendweave.show(trendweave.query("RETURN COUNT(*) PATTERN Stock S").run(events))
    assert "<svg" not in whole._repr_html_()
    assert "1 row" in whole._repr_html_()
    one = trendweave.show(pa.table({"window_start": [0, 0], "count": [1, 2]}))
    assert "<polyline" not in one._repr_html_(), "one window is no line"
    assert one._repr_html_().count("</title></rect>") == 2
    with pytest.raises(OptionError, match="no column x"):
        trendweave.show(falling.run(events), value="x")


def test_times_of_shown_rows_are_short_and_in_the_zone_of_the_picture() -> None:
    start = datetime(2024, 3, 1, 23, tzinfo=UTC)
    table = pa.table({"window_start": [start, start + timedelta(hours=1)], "count": [1, 2]})
    page = trendweave.show(table)._repr_html_()
    assert ">2024-03-01 23:00<" in page
    assert "2 rows; times in UTC" in page
    assert ">2024-03-02 00:00<" in trendweave.show(table, zone="Europe/Berlin")._repr_html_()
    assert "2024-03-02 00:00:00+01:00" in str(trendweave.show(table, zone="Europe/Berlin"))
    seconds = table.set_column(0, "window_start", [[start, start + timedelta(seconds=1)]])
    assert ">2024-03-01 23:00:01<" in trendweave.show(seconds)._repr_html_()


def test_many_rows_are_drawn_in_few_places(events: pa.Table) -> None:
    number = 50_000
    wave = [float(place % 100) for place in range(number)]
    wave[20_000] = 1_000.0
    picture = trendweave.plot(pa.table({"time": list(range(number)), "count": wave}))
    (line,) = ElementTree.fromstring(picture.svg()).iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
    assert len(points) < 4_000
    highest = min(points, key=lambda point: point[1])
    first, last = points[0][0], points[-1][0]
    assert highest[0] == pytest.approx(first + 0.4 * (last - first), abs=1), "what stands out is not lost"
    listed = trendweave.query("RETURN TRENDS PATTERN Stock S+ WHERE [company] GROUP-BY company").run(events)
    assert listed.num_rows == 126
    assert "60 of 126 trends" in texts(trendweave.plot(listed))
    assert trendweave.plot(listed.slice(0, 3)).title == "all 3 trends"


@pytest.mark.parametrize("number", [1, 29, 30, 31, 45, 59, 60, 61, 1_000])
def test_some_trends_are_spread_over_all(number: int) -> None:
    chosen = [row["place"] for row in choose_rows([{"place": place} for place in range(number)])]
    assert len(chosen) == min(number, 30)
    assert (chosen[0], chosen[-1]) == (0, number - 1)
    steps = [b - a for a, b in pairwise(chosen)]
    assert max(steps, default=1) - min(steps, default=1) <= 1
    assert min(steps, default=1) >= 1


def test_events_nanoseconds_apart() -> None:
    start = 1_709_251_200 * 10**9
    times = pa.array([start + 40 * place for place in range(4)], pa.timestamp("ns", "UTC"))
    events = pa.table({"time": times, "type": ["A"] * 4, "x": [1.0, 2.0, 3.0, 4.0]})
    found = trendweave.query("RETURN TRENDS(S.x) PATTERN A S{4}").run(events)
    for picture in (trendweave.plot(found), trendweave.plot(found, events=events)):
        dots = [dot for dot in ElementTree.fromstring(picture.svg()).iter(f"{SVG}circle") if len(dot)]
        steps = [float(b.get("cx", "")) - float(a.get("cx", "")) for a, b in pairwise(dots)]
        assert steps == pytest.approx([steps[0]] * 3, abs=0.2)
        assert steps[0] > 200
        assert "00:00:00.00000004" in texts(picture)


def test_texts_of_data_are_only_text() -> None:
    bad = "<script>alert(1)</script>"
    table = pa.table({"time": [1, 2], "who": [bad, bad], "count": [1, 2]})
    assert "<script" not in trendweave.show(table)._repr_html_()
    assert bad in texts(trendweave.plot(table))


def test_options_are_for_stores(events: pa.Table, falling: trendweave.Query) -> None:
    with pytest.raises(OptionError, match="plot has no options using without a store"):
        trendweave.plot(falling, using="index")
    with pytest.raises(OptionError, match="plot has no options numbers without a store"):
        trendweave.plot(falling, numbers="log2")
    with pytest.raises(OptionError, match="TW408: numbers"):
        trendweave.plot(falling.run(events), numbers="logg")  # type: ignore[arg-type]


def test_pictures_of_the_documentation_are_those_that_its_code_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / "pictures.md")
    shown = re.findall(r"\]\(pictures/(\w+\.svg)\)", (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8"))
    assert len(shown) == 5
    for name in shown:
        assert (tmp_path / name).read_bytes() == (ROOT / "docs" / "pictures" / name).read_bytes(), name
