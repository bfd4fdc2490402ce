"""Charts: well-formed, with a mark for every number, on the scale that suits, whatever names and numbers there are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from trendweave.errors import DataError
from trendweave.pictures import Series, draw_lines, draw_trends_per_window, write_picture
from trendweave.pictures.axes import make_counting_axis, make_number_axis, make_time_axis, write_power
from trendweave.pictures.times import seconds_of_column

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def marks(root: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter(f"{SVG}circle")]


def result(counts: list[object], groups: list[str] | None = None, step: timedelta = timedelta(hours=1)) -> pa.Table:
    """One row per window, or per window and group in turn."""
    groups = groups or ["x"]
    start = datetime(2024, 3, 1, tzinfo=UTC)
    moments = [start + step * (i // len(groups)) for i in range(len(counts))]
    names = [groups[i % len(groups)] for i in range(len(counts))]
    return pa.table({"window_start": moments, "window_end": moments, "group": names, "trends": counts})


def test_a_line_and_marks_per_group() -> None:
    root = drawn(draw_trends_per_window(result([1, 2, 3, 4, 5, 6], ["b", "a"]), "trends", "group", "Title"))
    assert len(marks(root)) == 6
    assert len(list(root.iter(f"{SVG}polyline"))) == 2
    colours = {line.get("stroke") for line in root.iter(f"{SVG}polyline")}
    assert len(colours) == 2
    assert [text for text in texts(root) if text in ("a", "b")] == ["a", "b"]
    assert {"Title", "trends", "start of the window, 2024-03-01, UTC"} <= set(texts(root))


def test_everything_lies_inside() -> None:
    counts = [7**i for i in range(60)]
    root = drawn(
        draw_trends_per_window(result([Decimal(c % 10**37) for c in counts], ["a", "b", "c"]), "trends", "group", "")
    )
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for x, y in marks(root):
        assert 60 < x < width - 10
        assert 70 < y < height - 50
    for text in root.iter(f"{SVG}text"):
        if "x" in text.attrib:
            assert 0 <= float(text.get("x", "")) <= width
            assert 0 <= float(text.get("y", "")) <= height


def test_larger_numbers_are_higher_and_later_ones_further_right() -> None:
    for counts in ([1, 5, 9, 12], [1, 10**9, 10**18, 10**27]):
        places = marks(drawn(draw_trends_per_window(result([Decimal(c) for c in counts]), "trends", None, "")))
        assert places == sorted(places)
        assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_near_counts_have_a_plain_scale_from_zero() -> None:
    root = drawn(draw_trends_per_window(result([100, 150, 900]), "trends", None, ""))
    assert "trends" in texts(root)
    assert {"0", "200", "400", "600", "800", "1,000"} <= set(texts(root))


def test_huge_counts_have_a_logarithmic_scale() -> None:
    """Beyond all floats: as text, 10^5000 and its like."""
    root = drawn(draw_trends_per_window(result(["1", "1" + "0" * 2_500, "1" + "0" * 5_000]), "trends", None, ""))
    assert "trends (logarithmic)" in texts(root)
    (_, low), (_, middle), (_, high) = marks(root)
    assert low - middle == pytest.approx(middle - high, abs=0.2)
    powers = [text for text in root.iter(f"{SVG}text") if text.find(f"{SVG}tspan") is not None]
    assert {text.text for text in powers} == {"10"}
    assert {"1000", "5000"} <= {text.findtext(f"{SVG}tspan") for text in powers}
    assert "1" in texts(root)


def test_huge_counts_of_one_size() -> None:
    root = drawn(draw_trends_per_window(result([str(10**400), str(2 * 10**400)]), "trends", None, ""))
    (_, first), (_, second) = marks(root)
    assert second < first


def test_zero_lies_below_a_logarithmic_scale() -> None:
    """A gap would say that the window has no row."""
    root = drawn(draw_trends_per_window(result([1, 10**6, 0, 10**6, 5]), "trends", None, ""))
    assert len(marks(root)) == 5
    assert len(list(root.iter(f"{SVG}polyline"))) == 1
    one, most, zero, *_ = [y for _, y in marks(root)]
    assert most < one < zero - 10
    assert "trends (logarithmic above 0)" in texts(root)
    assert "0" in texts(root)
    huge = drawn(draw_trends_per_window(result([str(10**400), "0", "-7"]), "trends", None, ""))
    assert len(marks(huge)) == 3
    assert "0 or less" in texts(huge)


def test_a_window_without_a_row_is_a_gap() -> None:
    table = result([1, 2, 3, 4, 5])
    root = drawn(draw_trends_per_window(table.filter([True, True, False, True, True]), "trends", None, ""))
    assert [len(line.get("points", "").split()) for line in root.iter(f"{SVG}polyline")] == [2, 2]
    assert len(marks(root)) == 4


@pytest.mark.parametrize("by", ["query", "length"])
def test_lines_of_unlike_windows(by: str) -> None:
    """Each minute with a gap, and each hour without one."""
    minutes = [60 * place for place in range(120) if place != 50]
    table = pa.table(
        {
            ("query" if by == "query" else "name"): ["minutes"] * 119 + ["hours"] * 3,
            "window_start": [*minutes, 0, 3_600, 7_200],
            "window_end": [*(start + 60 for start in minutes), 3_600, 7_200, 10_800],
            "trends": [1] * 122,
        }
    )
    root = drawn(draw_trends_per_window(table, "trends", table.column_names[0], ""))
    lines = [len(line.get("points", "").split()) for line in root.iter(f"{SVG}polyline")]
    assert sorted(lines) == [3, 50, 69]


def test_a_line_that_lacks_every_second_window_is_dots() -> None:
    table = result([1, 2] * 6, ["a", "b"])
    kept = table.filter([group == "a" or place % 4 == 1 for place, group in enumerate(["a", "b"] * 6)])
    root = drawn(draw_trends_per_window(kept, "trends", "group", ""))
    assert [len(line.get("points", "").split()) for line in root.iter(f"{SVG}polyline")] == [6]
    assert len(marks(root)) == 9


def test_null_and_nan_are_not_drawn() -> None:
    values = pa.array([1.0, None, float("nan"), float("inf"), -3.0])
    assert len(marks(drawn(draw_trends_per_window(result(values.to_pylist()), "trends", None, "")))) == 2


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a & b", '"quoted"', "]]>", "null\x00 and\x1b[1m", "ü €"]
)
def test_names_are_only_text(tmp_path: Path, name: str) -> None:
    svg = draw_trends_per_window(result([1, 2], [name, "other"]), "trends", "group", name)
    visible = "".join(letter if letter.isprintable() else " " for letter in name)
    assert visible in texts(drawn(svg))
    assert "<script" not in svg
    write_picture(tmp_path / "page.html", svg, name, name)
    page = ElementTree.fromstring((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.findtext("head/title") == visible
    assert page.findtext("body/pre") == visible


def test_long_names_keep_their_ends() -> None:
    names = [f"a very long name of a group, which never ends, number {i}" for i in range(6)]
    shown = texts(drawn(draw_trends_per_window(result([1] * 12, names), "trends", "group", "")))
    assert len({text for text in shown if "…" in text}) == 6


def test_the_largest_groups_are_drawn_and_the_others_counted() -> None:
    names = [f"g{i:02}" for i in range(20)]
    root = drawn(draw_trends_per_window(result(list(range(1, 21)) * 2, names), "trends", "group", ""))
    assert [text for text in texts(root) if text.startswith("g")] == names[12:]
    assert "and 12 more" in texts(root)


def test_many_windows_are_a_line_without_marks() -> None:
    root = drawn(draw_trends_per_window(result(list(range(1_000))), "trends", None, ""))
    assert marks(root) == []
    (line,) = root.iter(f"{SVG}polyline")
    assert len(line.get("points", "").split()) == 1_000


def test_whole_seconds_and_moving_windows() -> None:
    table = pa.table({"time": [0, 60, 120], "trends": [1, 2, 3]})
    root = drawn(draw_trends_per_window(table, "trends", None, ""))
    assert {"time (seconds)", "0", "60", "120"} <= set(texts(root))


def bars(root: ElementTree.Element) -> list[tuple[float, float]]:
    """Where bars begin, and how long they are."""
    found = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    return [(float(rect.get("x", "")), float(rect.get("width", ""))) for rect in found]


def test_one_window_is_a_bar_per_group() -> None:
    root = drawn(draw_trends_per_window(result([2, 8, 4], ["a", "b", "c"]), "trends", "group", "Title"))
    (first, b), (second, c), (third, a) = bars(root)
    assert first == second == third
    assert (b, c) == (pytest.approx(4 * a, abs=0.2), pytest.approx(2 * a, abs=0.2))
    assert [text for text in texts(root) if text in "abc"] == ["b", "c", "a"]
    assert "2024-03-01 00:00 to 2024-03-01 00:00 UTC" in texts(root)
    whole = pa.table({"window_start": pa.array([None, None], pa.int64()), "trends": [5.0, -10.0]})
    (left, wide), (down, deep) = bars(drawn(draw_trends_per_window(whole, "trends", None, "")))
    assert down + deep == pytest.approx(left, abs=0.2), "what is below 0 goes to the other side"
    assert deep == pytest.approx(2 * wide, abs=0.2)


def test_bars_of_any_number_and_size() -> None:
    many = drawn(
        draw_trends_per_window(result(list(range(1, 41)), [f"g{i}" for i in range(40)]), "trends", "group", "")
    )
    assert len(bars(many)) == 24
    assert any("the largest 24 of 40" in text for text in texts(many))
    huge = drawn(draw_trends_per_window(result([str(10**400), "1", "0"], ["a", "b", "c"]), "trends", "group", ""))
    assert "trends (logarithmic)" in texts(huge)
    assert [width for _, width in bars(huge)][1:] == [1.5, 1.5]


def test_nothing_is_said() -> None:
    nothing = drawn(draw_trends_per_window(result([5]).slice(0, 0), "trends", None, ""))
    assert marks(nothing) == bars(nothing) == []
    assert "no rows" in texts(nothing)
    unknown = result([float("nan"), None])
    assert "no rows" in texts(drawn(draw_trends_per_window(unknown, "trends", None, "")))
    assert "trends is NULL in all rows" in texts(drawn(draw_trends_per_window(unknown.slice(1), "trends", None, "")))


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    write_picture(tmp_path / "page.html", draw_lines([Series("a", ((0, 1),))], "t", "x", "y", in_time=False), "t")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert re.findall(r"https?://[^\"' ]+", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<(script|link|img)|url\(|@import", page)


def test_an_svg_file_is_the_chart_alone(tmp_path: Path) -> None:
    write_picture(tmp_path / "chart.svg", draw_lines([], "t", "x", "y", in_time=True), "t")
    assert ElementTree.parse(tmp_path / "chart.svg").getroot().tag == f"{SVG}svg"
    with pytest.raises(DataError, match=r"TW308: chart\.svg cannot be written"):
        write_picture(tmp_path / "none" / "chart.svg", "", "t")


# Axes


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        (timedelta(seconds=8), ["00:00:00", "00:00:01", "00:00:02"]),
        (timedelta(minutes=40), ["00:00", "00:05", "00:10"]),
        (timedelta(hours=20), ["00:00", "03:00", "06:00"]),
        (timedelta(days=2), ["1 Mar", "06:00", "12:00"]),
        (timedelta(days=8), ["1 Mar", "2 Mar", "3 Mar"]),
        (timedelta(days=150), ["Mar 2024", "Apr", "May"]),
        (timedelta(days=700), ["Apr 2024", "Jul", "Oct"]),
        (timedelta(days=2_000), ["2025", "2026", "2027"]),
        (timedelta(days=40_000), ["2040", "2060", "2080"]),
    ],
)
def test_times_are_marked_where_they_are_round(span: timedelta, labels: list[str]) -> None:
    start = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    axis = make_time_axis(start, start + span.total_seconds(), 0, 100)
    assert [axis.label(tick) for tick in axis.ticks][:3] == labels
    assert 2 <= len(axis.ticks) <= 10


@pytest.mark.parametrize(
    ("unit", "step", "labels"),
    [
        ("ms", 250, ["00:00:00.0", "00:00:00.2", "00:00:00.4"]),
        ("ms", 1, ["00:00:00.000", "00:00:00.001", "00:00:00.002"]),
        ("us", 20, ["00:00:00.00000", "00:00:00.00002", "00:00:00.00004"]),
        ("us", 1, ["00:00:00.000000", "00:00:00.000001", "00:00:00.000002"]),
        ("ns", 300, ["00:00:00.0000000", "00:00:00.0000002", "00:00:00.0000004"]),
        ("ns", 1, ["00:00:00.000000000", "00:00:00.000000001", "00:00:00.000000002"]),
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_parts_of_a_second_are_marked(unit: str, step: int, labels: list[str], zone: str | None) -> None:
    midnight = datetime(2024, 3, 1, tzinfo=ZoneInfo(zone or "UTC"))
    start = int(midnight.timestamp()) * {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moments = pa.array([start + step * place for place in range(6)], pa.timestamp(unit, zone))
    seconds = seconds_of_column(pa.chunked_array([moments]))
    axis = make_time_axis(seconds[0], seconds[-1], 0, 100, None if zone is None else ZoneInfo(zone))
    shown = [axis.label(tick) for tick in axis.ticks]
    assert shown[:3] == labels
    assert len(set(shown)) == len(shown) <= 10
    assert [axis.place(one) for one in seconds] == pytest.approx([0, 20, 40, 60, 80, 100], abs=5)
    assert axis.tell is not None
    assert len({axis.tell(one) for one in seconds}) == 6
    root = drawn(draw_trends_per_window(pa.table({"window_start": moments, "trends": range(6)}), "trends", None, ""))
    assert len({x for x, _ in marks(root)}) == 6
    assert len([text for text in texts(root) if text.startswith("00:00:00")]) >= 3
    (line,) = root.iter(f"{SVG}polyline")
    assert len(line.get("points", "").split()) == 6, "there is no gap"


def test_one_moment_inside_of_a_second() -> None:
    axis = make_time_axis(1.25, 1.25, 0, 100)
    assert [axis.label(tick) for tick in axis.ticks] == ["00:00:01.25"]
    whole = make_time_axis(1.0, 1.0, 0, 100)
    assert [whole.label(tick) for tick in whole.ticks] == ["00:00:01"]


def test_parts_of_seconds_since_1970() -> None:
    axis = make_number_axis(1_700_000_000, 1_700_000_000.001, 0, 100)
    shown = [axis.label(tick) for tick in axis.ticks]
    assert len(set(shown)) == len(shown) > 2


def test_months_begin_at_midnight_of_a_zone() -> None:
    start = datetime(2024, 2, 10, tzinfo=UTC).timestamp()
    axis = make_time_axis(start, start + 200 * 86_400, 0, 100, ZoneInfo("Europe/Berlin"))
    assert [datetime.fromtimestamp(tick, UTC).isoformat() for tick in axis.ticks[:2]] == [
        "2024-02-29T23:00:00+00:00",
        "2024-03-31T22:00:00+00:00",
    ]
    assert axis.tell is not None
    assert axis.tell(axis.ticks[0]) == "2024-03-01 00:00"


def test_names_that_are_numbers_are_in_their_order() -> None:
    root = drawn(draw_trends_per_window(result([1] * 6, ["8", "25", "3"]), "trends", "group", ""))
    assert [text for text in texts(root) if text in ("3", "8", "25")] == ["3", "8", "25"]


@pytest.mark.parametrize("high", [1e-9, 0.7, 1, 9, 10, 99, 12_345, 1e12, 1e290])
def test_numbers_are_marked_where_they_are_round(high: float) -> None:
    for axis in (make_number_axis(0, high, 0, 100), make_counting_axis([high], 0, 100)):
        assert 2 <= len(axis.ticks) <= 11
        assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)
        assert axis.place(high) == pytest.approx(100, abs=50)


def test_times_without_a_date() -> None:
    assert len(make_time_axis(-1e14, 1e14, 0, 100).ticks) > 1


def test_powers() -> None:
    assert write_power(10**21) == "10²¹"
    assert write_power(2**100) == "1.27 \N{MULTIPLICATION SIGN} 10³⁰"
    assert write_power(7 * 10**5_000) == "7.00 \N{MULTIPLICATION SIGN} 10⁵⁰⁰⁰"
    assert write_power(1e-7) == "10⁻⁷"
