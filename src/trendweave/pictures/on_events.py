"""Trends on their events: the course of a value in grey, and on it the events that make trends, joined by lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, OptionError, Problem, near_names
from trendweave.pictures.axes import Axis, make_number_axis
from trendweave.pictures.charts import thin_out
from trendweave.pictures.colours import COLOURS, assign_colours
from trendweave.pictures.frames import WIDTH, Frame, draw_across, draw_legend, draw_title, draw_upwards, find_left
from trendweave.pictures.kinds import is_number
from trendweave.pictures.picture import Picture
from trendweave.pictures.texts import describe_trend, quote
from trendweave.pictures.times import seconds_of, seconds_of_column
from trendweave.pictures.trends import (
    MOST_GROUPS,
    NO_GROUP,
    choose_rows,
    group_rows,
    kind_of_events,
    make_moment_axis,
)

_RIGHT, _HIGH, _BOTTOM = 24, 220, 56
#: Events beyond so many are not drawn one by one, but as the line that they make.
_MOST_DOTS = 400
_FEW, _ALL = 80, "all events"
#: When an event is, or where; its value, or how high that is; and its variable.
_Event: TypeAlias = tuple[float, float, str]


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


def find_values(schema: pa.Schema) -> list[str]:
    """The attributes of listed trends that are numbers."""
    fields = schema.field("events").type.value_type
    named = [fields.field(place) for place in range(fields.num_fields)]
    return [one.name for one in named if one.name != "time" and is_number(one.type)]


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
    groups = group_rows(result)[:MOST_GROUPS]
    colours = assign_colours(event["variable"] for _, rows in groups for row in rows for event in row["events"])
    keys = [name for name in result.column_names if name not in NO_GROUP and name in events.column_names]
    return [
        _draw_group(title, rows, _select(events, keys, rows[0], about), colours, kind_of_events(result.schema), about)
        for title, rows in groups
    ]


def _select(events: pa.Table, keys: Sequence[str], row: dict[str, Any], about: OnEvents) -> list[tuple[float, float]]:
    """Moments and values of the events of a group, in order of time."""
    for name in keys:
        same = pc.is_null(events.column(name)) if row[name] is None else pc.equal(events.column(name), row[name])
        events = events.filter(same)
    events = events.filter(pc.and_(pc.is_valid(events.column(about.value)), pc.is_valid(events.column(about.time))))
    values = events.column(about.value).cast(pa.float64(), safe=False).to_pylist()
    points = sorted(zip(seconds_of_column(events.column(about.time)), values, strict=True))
    return [point for point in points if point[1] == point[1] and abs(point[1]) != float("inf")]


def _draw_group(
    title: str,
    rows: list[dict[str, Any]],
    points: list[tuple[float, float]],
    colours: dict[str, str],
    kind: pa.DataType,
    about: OnEvents,
) -> Picture:
    chosen = choose_rows(rows)
    trends = [_places(row, about.value) for row in chosen]
    moments = [x for x, _ in points] + [x for trend in trends for x, _, _ in trend]
    values = [y for _, y in points] + [y for trend in trends for _, y, _ in trend]
    pad = (max(values) - min(values)) * 0.06 or 1.0
    edges = min(values) - pad, max(values) + pad
    left = find_left(make_number_axis(*edges, 1, 0))
    across, label = make_moment_axis(moments, kind, about.zone, left + 12, WIDTH - _RIGHT - 12)
    marks = _choose_marks(len(chosen), sum(map(len, trends)))
    dotted = {variable for trend in trends for _, _, variable in marks.choose(trend)}
    used = [name for name in colours if name in dotted]
    legend, foot = draw_legend([*((name, colours[name]) for name in used), (_ALL, COLOURS[-1])], left, 48, "dot")
    frame = Frame(left, WIDTH - _RIGHT, foot + 14, foot + 14 + _HIGH)
    upwards = make_number_axis(*edges, frame.bottom, frame.top)
    y_label = f"{about.value} ({about.unit})" if about.unit else about.value
    shown = f"{len(chosen):,} of {len(rows):,} trends" if len(chosen) < len(rows) else ""
    heading = ": ".join(filter(None, [title or "trends on their events", shown]))
    parts = [draw_title(heading, left), *legend, *draw_upwards(upwards, frame, y_label)]
    parts += [*draw_across(across, frame, label), *_draw_course(points, across, upwards)]
    for row, trend in zip(chosen, trends, strict=True):
        parts += _draw_trend(row, trend, across, upwards, colours, marks)
    return Picture(heading, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _places(row: dict[str, Any], value: str) -> list[_Event]:
    """Events of a trend that tell the value, with their variables."""
    known = [event for event in row["events"] if event[value] is not None]
    return [(seconds_of(event["time"]), float(event[value]), event["variable"]) for event in known]


def _draw_course(points: list[tuple[float, float]], across: Axis, upwards: Axis) -> list[str]:
    placed = thin_out([(across.place(x), upwards.place(y)) for x, y in points])
    parts = [f'<polyline class="quiet" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in placed)}"/>']
    if len(placed) <= _MOST_DOTS:
        parts += [f'<circle class="quiet-dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in placed]
    return parts


@dataclass(frozen=True, slots=True)
class _Marks:
    """How trends are drawn: how strong their lines are, and how large their events; the first and last alone where
    there are too many."""

    weight: float
    radius: float
    style: str
    every: bool

    def choose(self, events: Sequence[_Event]) -> Sequence[_Event]:
        """The events of a trend that are dots."""
        return events if self.every else [*events[:1], *events[-1:]]


def _choose_marks(trends: int, events: int) -> _Marks:
    weight = 1.0 if trends <= 10 else 0.5
    if events <= _FEW:
        return _Marks(weight, 5, "dot", every=True)
    return _Marks(weight, 2.4 if events <= _MOST_DOTS else 4, "plain", every=events <= _MOST_DOTS)


def _draw_trend(
    row: dict[str, Any],
    trend: list[_Event],
    across: Axis,
    upwards: Axis,
    colours: dict[str, str],
    marks: _Marks,
) -> list[str]:
    placed = [(across.place(x), upwards.place(y), variable) for x, y, variable in trend]
    if not placed:
        return []
    label = quote(describe_trend(row["events"]))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in placed)
    first = colours[placed[0][2]]
    parts = [f'<polyline class="line" stroke="{first}" stroke-opacity="{marks.weight}" points="{line}"/>']
    for x, y, variable in marks.choose(placed):
        circle = (
            f'<circle class="{marks.style}" cx="{x:.1f}" cy="{y:.1f}" r="{marks.radius}" fill="{colours[variable]}">'
        )
        parts.append(f"{circle}<title>{label}</title></circle>")
    return parts
