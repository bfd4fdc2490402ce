"""Trends on a time line: one picture per group, one line per trend, events coloured by variable."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from trendweave.pictures.axes import Axis, make_number_axis
from trendweave.pictures.colours import assign_colours
from trendweave.pictures.frames import WIDTH, Frame, draw_across, draw_legend, draw_title
from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.picture import Picture, write_page
from trendweave.pictures.texts import describe_trend, quote, write_key
from trendweave.pictures.time_axis import make_time_axis, name_days
from trendweave.pictures.times import choose_zone, refuse_far_times, seconds_of

MOST_GROUPS, MOST_TRENDS = 12, 30
_LEFT, _RIGHT, _LINE, _BOTTOM = 24, 24, 22, 56
#: Columns of listed trends that are no groups.
NO_GROUP = ("query", "window_start", "window_end", "time", "length", "events")


def make_trend_lanes(result: pa.Table, zone: str | None = None) -> list[Picture]:
    """Draw some trends of each group, spread over all that a result has, each on a line of its own.

    Args:
        result: Rows of a query that returns trends.
        zone: The zone of the times that are marked; None for that of the column.
    """
    groups = group_rows(result)
    colours = assign_colours(event["variable"] for _, rows in groups for row in rows for event in row["events"])
    return [_draw_group(title, rows, colours, result.schema, zone) for title, rows in groups[:MOST_GROUPS]]


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
    names = [name for name in result.column_names if name not in NO_GROUP]
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


def kind_of_events(schema: pa.Schema) -> pa.DataType:
    """The type of the times of events of listed trends."""
    return schema.field("events").type.value_type.field("time").type


def _draw_group(
    title: str, rows: list[dict[str, Any]], colours: dict[str, str], schema: pa.Schema, zone: str | None
) -> Picture:
    chosen = choose_rows(rows)
    moments = [seconds_of(event["time"]) for row in chosen for event in row["events"]]
    axis, label = make_moment_axis(moments, kind_of_events(schema), zone, _LEFT + 12, WIDTH - _RIGHT - 12)
    used = [name for name in colours if any(event["variable"] == name for row in chosen for event in row["events"])]
    legend, foot = draw_legend([(name, colours[name]) for name in used], _LEFT, 48, "dot")
    frame = Frame(_LEFT, WIDTH - _RIGHT, foot + 12, foot + 16 + _LINE * len(chosen))
    parts = [draw_title(title or "all trends", _LEFT), *legend, *draw_across(axis, frame, label)]
    for place, row in enumerate(chosen):
        parts += _draw_trend(row, frame.top + 2 + _LINE * place + _LINE / 2, axis, colours)
    return Picture(title or "all trends", WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _draw_trend(row: dict[str, Any], y: float, axis: Axis, colours: dict[str, str]) -> list[str]:
    places = [(axis.place(seconds_of(event["time"])), event) for event in row["events"]]
    label = quote(describe_trend(row["events"]))
    parts = [f'<line class="trend" x1="{places[0][0]:.1f}" x2="{places[-1][0]:.1f}" y1="{y}" y2="{y}"/>']
    for x, event in places:
        circle = f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colours[event["variable"]]}">'
        parts.append(f"{circle}<title>{label}</title></circle>")
    return parts
