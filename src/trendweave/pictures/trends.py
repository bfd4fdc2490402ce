"""Trends as lines of their events, coloured by variable: each on a line of its own along time, or all of a group on the
course of a value, which is drawn in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, OptionError, Problem, near_names
from trendweave.pictures.axes import Axis, make_number_axis, make_time_axis, name_days
from trendweave.pictures.frames import (
    PAD,
    WIDTH,
    Frame,
    draw_across,
    draw_legend,
    draw_title,
    draw_upwards,
    find_left,
    thin_out,
)
from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.kinds import is_number
from trendweave.pictures.picture import Picture, write_page
from trendweave.pictures.shapes import COLOURS, assign_colours, describe_trend, dot, path, write_key
from trendweave.pictures.times import choose_zone, refuse_far_times, seconds_of, seconds_of_column

MOST_GROUPS, MOST_TRENDS = 12, 30
_LINE, _HIGH, _BOTTOM = 22, 220, 56
#: Columns of listed trends that are no groups.
_NO_GROUP = ("query", "window_start", "window_end", "time", "length", "events")
#: Events beyond so many are not drawn one by one, but as the line that they make.
_MOST_DOTS = 400
_FEW, _ALL = 80, "all events"


@dataclass(frozen=True, slots=True)
class OnEvents:
    """What is drawn of trends and events.

    Attributes:
        value: The attribute whose course is drawn.
        time: The column of the events that holds the time.
        unit: What values are counted in; empty where that is not known.
        zone: The zone of the times that are marked; None for that of the column.
    """

    value: str
    time: str = "time"
    unit: str = ""
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class _Group:
    """Trends that are drawn of those that a group has, and the variables of all groups with their colours."""

    title: str
    trends: Sequence[Sequence[dict[str, Any]]]
    number: int
    colours: dict[str, str]

    @property
    def used(self) -> list[tuple[str, str]]:
        """The colours of variables of these trends."""
        there = {event["variable"] for events in self.trends for event in events}
        return [(name, colour) for name, colour in self.colours.items() if name in there]


def make_trend_lanes(result: pa.Table, zone: str | None = None) -> list[Picture]:
    """Draw some trends of each group, spread over all that a result has, each on a line of its own.

    Args:
        result: Rows of a query that returns trends.
        zone: The zone of the times that are marked; None for that of the column.
    """
    return [_draw_lanes(group, _kind_of_events(result.schema), zone) for group, _ in _find_groups(result)]


def make_trends_on_events(result: pa.Table, events: pa.Table, about: OnEvents) -> list[Picture]:
    """Draw the trends of each group on the events of that group.

    Args:
        result: Rows of a query that returns trends, with the value among the attributes of their events.
        events: The events that the query ran on.
        about: What is drawn.

    Raises:
        OptionError: Trends do not tell the value.
        DataError: Events lack the value or the time.
    """
    known = find_values(result.schema)
    if about.value not in known:
        message = f"the events of these trends do not tell {about.value}"
        hint = near_names(about.value, known) or f"let the query RETURN TRENDS(S.{about.value})"
        raise OptionError([Problem("TW414", message, hint)])
    for name in (about.value, about.time):
        if name not in events.column_names:
            message = f"the events have no column {name}"
            raise DataError([Problem("TW301", message, near_names(name, events.column_names))])
    keys = [name for name in result.column_names if name not in _NO_GROUP and name in events.column_names]
    kind = _kind_of_events(result.schema)
    return [
        _draw_on_events(group, _find_course(events, keys, row, about), kind, about)
        for group, row in _find_groups(result)
    ]


def find_values(schema: pa.Schema) -> list[str]:
    """The attributes of listed trends that are numbers."""
    fields = schema.field("events").type.value_type
    named = [fields.field(place) for place in range(fields.num_fields)]
    return [one.name for one in named if one.name != "time" and is_number(one.type)]


def describe_shown(result: pa.Table, total: int) -> str:
    """Say how many trends are drawn.

    Args:
        result: Rows, of which some are drawn.
        total: How many there were.
    """
    groups = group_rows(result)
    shown = sum(min(len(rows), MOST_TRENDS) for _, rows in groups[:MOST_GROUPS])
    if shown == total:
        return "one trend" if total == 1 else f"all {total:,} trends"
    note = f"{shown:,} of {total:,} trends"
    return note + (f", {MOST_GROUPS} of {len(groups):,} groups" if len(groups) > MOST_GROUPS else "")


def draw_trends(result: pa.Table, query: str) -> str:
    """Draw trends as a self-contained HTML page; see `make_trend_lanes`.

    Args:
        result: Rows of a query that returns trends.
        query: Its text, which is shown above the pictures.
    """
    hint = "Hover over an event to see its trend."
    shown = describe_shown(result, result.num_rows)
    above = f"<h1>Trends</h1>\n<pre>{highlight_query(query)}</pre>\n<p>{shown}. {hint}</p>\n"
    return write_page("Trends", make_trend_lanes(result), above=above)


def group_rows(result: pa.Table) -> list[tuple[str, list[dict[str, Any]]]]:
    """Sort rows by group; of a result without grouping attributes, all of them."""
    refuse_far_times(result)
    names = [name for name in result.column_names if name not in _NO_GROUP]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.to_pylist():
        title = ", ".join(f"{name} {write_key(row[name])}" for name in names)
        found.setdefault(title, []).append(row)
    return list(found.items())


def choose_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose as many trends as there is place for, spread over all."""
    return [rows[place] for place in spread_places(len(rows), MOST_TRENDS)]


def spread_places(number: int, most: int) -> list[int]:
    """Choose so many of some places, at most, spread evenly from the first to the last one.

    Args:
        number: How many places there are.
        most: How many are chosen; two or more.
    """
    if number <= most:
        return list(range(number))
    return [place * (number - 1) // (most - 1) for place in range(most)]


def make_moment_axis(
    moments: list[float], kind: pa.DataType, zone: str | None, left: float, right: float
) -> tuple[Axis, str]:
    """Make the axis of some moments, and say what it is about."""
    low, high = min(moments), max(moments)
    if not pa.types.is_timestamp(kind):
        return make_number_axis(low, high, left, right), "time (seconds)"
    there, name = choose_zone(kind, zone)
    label = ", ".join(filter(None, ["time", name_days(low, high, there), name]))
    return make_time_axis(low, high, left, right, there), label


def _kind_of_events(schema: pa.Schema) -> pa.DataType:
    """The type of the times of events of listed trends."""
    return schema.field("events").type.value_type.field("time").type


def _find_groups(result: pa.Table) -> list[tuple[_Group, dict[str, Any]]]:
    """The groups that are drawn, each with one of its rows."""
    groups = group_rows(result)
    colours = assign_colours(event["variable"] for _, rows in groups for row in rows for event in row["events"])
    return [
        (_Group(title, [row["events"] for row in choose_rows(rows)], len(rows), colours), rows[0])
        for title, rows in groups[:MOST_GROUPS]
    ]


def _draw_lanes(group: _Group, kind: pa.DataType, zone: str | None) -> Picture:
    moments = [seconds_of(event["time"]) for events in group.trends for event in events]
    across, label = make_moment_axis(moments, kind, zone, PAD + 12, WIDTH - PAD - 12)
    legend, foot = draw_legend(group.used, PAD, 48, "dot")
    frame = Frame(PAD, WIDTH - PAD, foot + 12, foot + 16 + _LINE * len(group.trends))
    title = group.title or "all trends"
    parts = [draw_title(title), *legend, *draw_across(across, frame, label)]
    for lane, events in enumerate(group.trends):
        y, told = frame.top + 2 + _LINE * (lane + 0.5), describe_trend(events)
        places = [(across.place(seconds_of(event["time"])), y) for event in events]
        parts.append(path([places[0], places[-1]], "trend"))
        for place, event in zip(places, events, strict=True):
            parts.append(dot(*place, 5, group.colours[event["variable"]], told))
    return Picture(title, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _find_course(
    events: pa.Table, keys: Sequence[str], row: dict[str, Any], about: OnEvents
) -> list[tuple[float, float]]:
    """Moments and values of the events of a group, in order of time."""
    for name in keys:
        same = pc.is_null(events.column(name)) if row[name] is None else pc.equal(events.column(name), row[name])
        events = events.filter(same)
    events = events.filter(pc.and_(pc.is_valid(events.column(about.value)), pc.is_valid(events.column(about.time))))
    values = events.column(about.value).cast(pa.float64(), safe=False).to_pylist()
    points = sorted(zip(seconds_of_column(events.column(about.time)), values, strict=True))
    return [point for point in points if point[1] == point[1] and abs(point[1]) != float("inf")]


def _draw_on_events(group: _Group, course: list[tuple[float, float]], kind: pa.DataType, about: OnEvents) -> Picture:
    known = [[event for event in events if event[about.value] is not None] for events in group.trends]
    number = sum(map(len, known))
    # The first and last alone, where there are too many.
    dotted = known if number <= _MOST_DOTS else [[*events[:1], *events[-1:]] for events in known]
    radius = 5.0 if number <= _FEW else 2.4 if number <= _MOST_DOTS else 4.0
    points = [*course, *(_place(event, about) for events in known for event in events)]
    values = [value for _, value in points]
    pad = (max(values) - min(values)) * 0.06 or 1.0
    edges = min(values) - pad, max(values) + pad
    left = find_left(make_number_axis(*edges, 1, 0))
    across, label = make_moment_axis([at for at, _ in points], kind, about.zone, left + 12, WIDTH - PAD - 12)
    used = _Group("", dotted, 0, group.colours).used
    legend, foot = draw_legend([*used, (_ALL, COLOURS[-1])], left, 48, "dot")
    frame = Frame(left, WIDTH - PAD, foot + 14, foot + 14 + _HIGH)
    upwards = make_number_axis(*edges, frame.bottom, frame.top)

    def find_places(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(across.place(at), upwards.place(value)) for at, value in points]

    shown = f"{len(known):,} of {group.number:,} trends" if len(known) < group.number else ""
    title = ": ".join(filter(None, [group.title or "trends on their events", shown]))
    about_values = f"{about.value} ({about.unit})" if about.unit else about.value
    parts = [draw_title(title, left), *legend, *draw_upwards(upwards, frame, about_values)]
    places = thin_out(find_places(course))
    parts += [*draw_across(across, frame, label), path(places, "quiet")]
    if len(places) <= _MOST_DOTS:
        parts += [dot(*place, 2.6, style="quiet-dot") for place in places]
    strong = "1" if len(known) <= 10 else "0.5"
    for all_events, events, marked in zip(group.trends, known, dotted, strict=True):
        if not events:
            continue
        first = group.colours[events[0]["variable"]]
        places = find_places([_place(event, about) for event in events])
        parts.append(path(places, "line", stroke=first, stroke_opacity=strong))
        told, style = describe_trend(all_events), "dot" if number <= _FEW else ""
        for event, place in zip(marked, find_places([_place(event, about) for event in marked]), strict=True):
            parts.append(dot(*place, radius, group.colours[event["variable"]], told, style))
    return Picture(title, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _place(event: dict[str, Any], about: OnEvents) -> tuple[float, float]:
    return seconds_of(event["time"]), float(event[about.value])
