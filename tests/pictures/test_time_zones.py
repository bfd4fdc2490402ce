"""Times are drawn where they are written, on a machine in any zone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pyarrow as pa
import pytest

import trendweave
from trendweave.pictures import TimeLine, draw_time_line, draw_trends, draw_trends_per_window
from trendweave.pictures.times import seconds_of, seconds_of_column


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of the machine, for the length of a test."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


#: Around the hour that Berlin's clocks leave out.
MOMENTS = [datetime(2024, 3, 31, 1, 0) + timedelta(minutes=30 * place) for place in range(6)]


def _events(zone: str | None) -> pa.Table:
    moments = pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp("us", zone))
    return pa.table({"time": moments, "type": ["A"] * 6, "x": [1, 2, 3, 2, 1, 3]})


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_trends_lie_at_their_times(zone: str | None) -> None:
    result = trendweave.query("RETURN TRENDS PATTERN A{6}").run(_events(zone))
    page = draw_trends(result, "")
    labels = re.findall(r'text-anchor="middle"[^>]*>(\d\d:\d\d)<', page)
    assert labels[0] == "01:00"
    assert labels[-1] == "03:30"
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5" fill="[^"]*"><title>', page)]
    steps = [b - a for a, b in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 5, abs=0.2)


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_windows_lie_at_their_times(zone: str | None) -> None:
    result = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN 30 minutes SLIDE 30 minutes").run(_events(zone))
    labels = re.findall(r'text-anchor="middle"[^>]*>(\d\d:\d\d)<', draw_trends_per_window(result, "count", None, ""))
    assert labels[0] == "01:00"


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_bars_lie_at_their_times(zone: str | None) -> None:
    query = trendweave.query("FROM X DEFINE P AS x > 0, Q AS x > 2 PATTERN P contains Q RETURN COUNT(P)")
    result = query.run(_events(zone), type=None)
    bars = [
        tuple(map(float, place))
        for place in re.findall(
            r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"',
            draw_time_line(TimeLine("", "matches", ("P", "Q"), ()), result),
        )
    ]
    # P has begun at 1:00; the first Q is from 2:00 to 2:30.
    (start, width), (inner, length) = bars[:2]
    assert (inner - start) / length == pytest.approx(2, abs=0.02)
    assert width >= inner - start + length


@pytest.mark.usefixtures("_zone")
def test_seconds_of_a_moment() -> None:
    there = timezone(timedelta(hours=2))
    assert seconds_of(datetime(1970, 1, 2)) == 86_400
    assert seconds_of(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400
    assert seconds_of(datetime(1970, 1, 2, 2, tzinfo=there)) == 86_400
    assert seconds_of(date(1970, 1, 2)) == 86_400
    assert seconds_of(1.5) == 1.5
    far = pa.chunked_array([pa.array([2**60], pa.timestamp("us"))])
    assert seconds_of_column(far) == [2**60 / 1e6]
    assert seconds_of_column(pa.chunked_array([MOMENTS])) == [seconds_of(moment) for moment in MOMENTS]


def test_names_that_were_given_up_still_draw() -> None:
    from trendweave import pictures

    for old, new in (("line_chart", "draw_lines"), ("trends_per_window", "draw_trends_per_window")):
        with pytest.warns(DeprecationWarning, match=f"{old} is called {new} now"):
            assert getattr(pictures, old) is getattr(pictures, new)
    with pytest.raises(AttributeError, match="no attribute 'pie_chart'"):
        _ = pictures.pie_chart
