"""Texts lie inside of their picture and apart from each other, however long titles, units and numbers are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
import pytest

import trendweave
from trendweave.pictures.letters import fit, measure
from trendweave.pictures.picture import Picture
from trendweave.pictures.windows import WindowChart, make_window_chart

SVG = "{http://www.w3.org/2000/svg}"
LONG = (
    "Falling prices of all companies that were listed in the old exchange of the city before the war, "
    "by company and by day, as brokers wrote them"
)
SIZES = {"title": 16.0, "heading": 18.0, "small": 11.5}
#: Where a turned text beside the marks upwards ends.
TURNED = 22.0


class Written(NamedTuple):
    """A text, and from where to where it is written."""

    text: str
    left: float
    right: float
    y: float


def find_texts(picture: Picture) -> Iterator[Written]:
    """Texts that are not turned."""
    yield from _find(ElementTree.fromstring(picture.svg()), 0.0, 0.0)


def _find(element: ElementTree.Element, x: float, y: float) -> Iterator[Written]:
    moved = re.match(r"translate\(([\d.]+) ([\d.]+)\)", element.get("transform", ""))
    if element.tag == f"{SVG}text" and "rotate" not in element.get("transform", ""):
        classes = element.get("class", "").split()
        size = next((SIZES[name] for name in classes if name in SIZES), 13.0)
        text = (element.text or "") + "".join(part.text or "" for part in element.iter(f"{SVG}tspan"))
        width = measure(text, size, bold=bool({"title", "heading"} & set(classes)))
        at = x + float(element.get("x", "0"))
        left = {"middle": at - width / 2, "end": at - width}.get(element.get("text-anchor", ""), at)
        yield Written(text, left, left + width, y + float(element.get("y", "0")))
    elif moved is not None:
        x, y = x + float(moved[1]), y + float(moved[2])
    for inner in element:
        yield from _find(inner, x, y)


def check(picture: Picture) -> list[str]:
    """All texts, which lie inside."""
    found = list(find_texts(picture))
    for one in found:
        assert one.left >= 0, one
        assert one.right <= picture.width, one
        assert one.y <= picture.height, one
    return [one.text for one in found]


def windows(counts: list[float], name: str = "count") -> pa.Table:
    starts = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(hours=place) for place in range(len(counts))]
    return pa.table({"window_start": starts, name: counts})


def listed(groups: int, each: int, price: float = 1.0, start: int = 0) -> pa.Table:
    """Trends of two events each."""
    kind = pa.list_(pa.struct({"variable": pa.string(), "time": pa.int64(), "price": pa.float64()}))
    events = [
        [{"variable": "S", "time": start + place + step, "price": price * (place + step)} for step in (0, 1)]
        for place in range(groups * each)
    ]
    companies = [f"g{place % groups}" for place in range(groups * each)]
    return pa.table({"company": companies, "events": pa.array(events, kind)})


@pytest.mark.parametrize("query", [True, False])
def test_notes_of_workloads(query: bool) -> None:
    keys = "[company, exchange_of_the_first_listing, country_of_the_company]" if query else "[u]"
    rules = trendweave.workload(
        {
            "one": f"RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE {keys} WITHIN 1 hour SLIDE 1 hour",
            "two": f"RETURN COUNT(*) PATTERN SEQ(C c, B b+) WHERE {keys} WITHIN 1 hour SLIDE 1 hour",
        }
    )
    shown = check(trendweave.plot(rules))
    assert "blue states and steps between them are computed once for several queries" in shown


def test_long_titles() -> None:
    shown = check(trendweave.plot(windows([1, 2, 3]), title=LONG))
    (title,) = [text for text in shown if "…" in text]
    assert title.startswith("Falling prices of all")
    assert title.endswith("as brokers wrote them")
    for wide in ("M" * 140, "\u6f22" * 140):
        check(trendweave.plot(windows([1, 2, 3]), title=wide))


def test_what_is_left_out_is_said_below_a_long_heading() -> None:
    many = listed(40, 48)
    shown = check(trendweave.plot(many, title=LONG))
    assert "360 of 1,920 trends, 12 of 40 groups" in shown
    assert "Short: 360 of 1,920 trends, 12 of 40 groups" in check(trendweave.plot(many, title="Short"))


def test_long_units() -> None:
    check(trendweave.plot(windows([7]), unit=LONG))
    check(trendweave.plot(windows([7, 8]), unit=LONG))
    check(trendweave.plot(pa.table({"window_start": [1, 1], "w" * 80: [2, 3]}), unit=LONG))


@pytest.mark.parametrize("counts", [[1, 2e7], [9e6, 1e7, 2.5e7], [-1_234_567.5, 3], [10**4000, 2], [3, 4]])
def test_marks_upwards_do_not_lie_on_what_they_are_about(counts: list[float]) -> None:
    table = windows([str(one) for one in counts] if max(counts) > 10**300 else counts)
    for one in find_texts(make_window_chart(table, WindowChart("count"))):
        assert one.left > TURNED, one


@pytest.mark.parametrize("price", [1.0, 1_000_000.0, 123_456_789.0])
def test_marks_of_trends_on_events(price: float) -> None:
    found = listed(1, 4, price)
    events = pa.table({"time": [0, 1, 2], "company": ["g0"] * 3, "price": [price * place for place in range(3)]})
    picture = trendweave.plot(found, events=events)
    check(picture)
    assert min(one.left for one in find_texts(picture)) > TURNED


@pytest.mark.parametrize("span", [8, 90, 900_000])
def test_marks_of_epoch_seconds(span: int) -> None:
    start = 1_700_000_000
    situations = pa.table({"name": ["A", "A"], "start": [start, start + span - 1], "end": [start + 1, start + span]})
    for picture in (trendweave.plot(situations), trendweave.plot(listed(1, min(span, 9), 1.0, start))):
        check(picture)
        marks = sorted(one for one in find_texts(picture) if re.fullmatch("1,7[0-9,]+", one.text))
        assert len(marks) >= 3
        assert len({one.text for one in marks}) == len(marks)
        for left, right in pairwise(sorted(marks, key=lambda one: one.left)):
            assert right.left > left.right


def test_texts_are_cut_where_room_ends() -> None:
    assert fit("short", 100) == "short"
    cut = fit("a" * 50 + "b" * 50, 200)
    assert measure(cut) <= 200
    assert re.fullmatch("a+…b+", cut)
    assert measure(fit("a" * 100, 200, 16, bold=True), 16, bold=True) <= 200
    assert fit("abcdefgh", 0) == "ab…gh"
